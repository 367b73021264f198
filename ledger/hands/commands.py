"""Posting a hand: judged, and booked as posted, refused, or answered as before."""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import ClassVar, Final

import msgspec

from ledger.core import Book, Command, Context, Decision, Event, Kind, Refused, Retry
from ledger.hands import all_ins, record
from ledger.hands.booking import Booking
from ledger.hands.events import (
    HandContested,
    HandState,
    RefusedHand,
    answer,
    hand_stream,
)
from ledger.hands.findings import Finding, Findings
from ledger.hands.judge import Judgement, judge
from ledger.hands.ohh import Hand
from ledger.hands.reading import differing_fields
from ledger.hands.seating import check_clock
from ledger.hands.verdict import show, show_findings
from ledger.identity import ClaimState
from ledger.rulebooks import Rulebook, adopted
from ledger.tables.events import HandBegun, TableState, table_id, table_stream

DEFAULT_RULEBOOK: Final = "entraction"
"""The rulebook of a hand when neither request, table nor hand names one."""


class RefusedByFindings(Refused):
    """The hand was judged and may not be booked; ``code`` is that of the finding that decides.

    When every such finding rests on the books alone, the same hand may be right later.
    """

    code = "hand-refused"

    def __init__(self, hand: Hand, findings: Sequence[Finding]) -> None:
        refusing = [finding for finding in findings if finding.level == "refuse"]
        lasting = [finding for finding in refusing if not finding.later]
        first = (lasting or refusing)[0]
        shown = msgspec.to_builtins(show_findings(hand, findings))
        super().__init__(first.message, field=first.where, findings=shown)
        # One class stands for every code that a rulebook may refuse.
        self.code = first.code  # type: ignore[misc]
        self.retry = "after-fix" if lasting else "later"  # type: ignore[misc]


class DifferentContent(Refused):
    """The number belongs to a hand that was booked with another content."""

    code = "different-content"
    kind: ClassVar[Kind] = "invalid"
    retry: ClassVar[Retry] = "never"


class AnotherHandRunning(Refused):
    """The table plays another hand, which must be posted first."""

    code = "hand-running"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "later"


class PostHand(Command, frozen=True, kw_only=True):
    """Book a hand as it was posted, or say why not.

    ``hand`` is what ``reading.read`` gave, ``posted_digest`` the SHA-256 of the bytes, ``claims``
    the stream of each player's nickname claim, by the name in the hand. ``rulebook`` and ``on`` set
    another rulebook or day than the table's and the hand's. ``dry_run`` answers the verdict and
    books nothing.
    ``foreign``: the hand's own ``network_name`` is not the network that it is booked under.
    Raises UnknownRulebook, AnotherHandRunning; refusals by findings and DifferentContent keep
    rows or facts and come with the decision.
    """

    hand: Hand
    posted_digest: str
    claims: Mapping[str, str] = {}
    rulebook: str | None = None
    on: date | None = None
    dry_run: bool = False
    foreign: bool = False

    def touches(self) -> tuple[str, ...]:
        return (
            hand_stream(self.network, self.hand.game_number),
            table_stream(self.network, table_id(self.hand.table_name)),
            *self.claims.values(),
        )

    def decide(self, book: Book) -> Decision:
        hand = self.hand
        key = hand_stream(self.network, hand.game_number)
        table: TableState | None = book.get(table_stream(self.network, table_id(hand.table_name)))
        if self.dry_run:
            return self._dry_run(book, table)
        booked: HandState | None = book.get(key)
        if booked is not None:
            return self._again(key, booked, book)
        if table is None:
            return self._refuse(key, [_no_table()])
        if hand.x_status == "running":
            return self._begin(key, book, table)
        player_ids = self._player_ids(book)
        judgement = judge(hand, self._rules(book, table), table, player_ids)
        check_clock(hand, self.at, judgement.findings)
        counts = self._count_all_ins(book, judgement, player_ids)
        if not self.foreign:
            _check_network(hand, self.network, judgement)
        if judgement.findings.refused:
            return self._refuse(key, judgement.findings)
        decision = self._book(key, table, judgement, player_ids)
        return decision._replace(changes=[*decision.changes, *counts]) if counts else decision

    # -- what a decision rests on ----------------------------------------------------------

    def _rules(self, book: Book, table: TableState | None) -> Rulebook:
        name = self.rulebook or (table.rulebook if table is not None else self.hand.x_rulebook)
        day = self.on or self.hand.started_at.date()
        return adopted(book, self.network, name or DEFAULT_RULEBOOK, day)

    def _player_ids(self, book: Book) -> list[str | None]:
        claims, get = self.claims, book.get
        ids: list[str | None] = []
        for player in self.hand.players:
            claim = claims.get(player.name)
            state: ClaimState | None = get(claim) if claim is not None else None
            ids.append(state.holder if state is not None else None)
        return ids

    def _count_all_ins(
        self, book: Book, judgement: Judgement, player_ids: Sequence[str | None]
    ) -> list[tuple[str, Event]]:
        """Count who could not act and was all-in; beyond the quota it is a finding as well."""
        if not judgement.artificial_all_ins:
            return []
        context = self._context(judgement.rulebook.ref)
        return [
            (
                all_ins.all_ins_stream(self.network, one.player),
                all_ins.AllInCounted(
                    **context,
                    game_number=self.hand.game_number,
                    table=table_id(self.hand.table_name),
                    beyond_quota=one.beyond_quota,
                    measure=one.measure,
                ),
            )
            for one in all_ins.count(book, self.network, judgement, player_ids)
        ]

    # -- the ways it can end ---------------------------------------------------------------

    def _dry_run(self, book: Book, table: TableState | None) -> Decision:
        """Answer the verdict; without a table the hand is judged alone."""
        player_ids = self._player_ids(book)
        judgement = judge(self.hand, self._rules(book, table), table, player_ids)
        self._count_all_ins(book, judgement, player_ids)
        findings = judgement.findings
        check_clock(self.hand, self.at, findings)
        verdict = show(self.hand, findings.verdict, judgement.expected(), findings)
        return Decision(answer=msgspec.to_builtins(verdict))

    def _again(self, key: str, booked: HandState, book: Book) -> Decision:
        """Answer a hand that is booked: the first result again, or that this is another hand."""
        digest = record.digest_of(self.hand)
        if digest == booked.content_digest or self.hand.x_status == "running":
            return Decision(answer={**booked.answer, "repeated": True})
        differing = self._differing(booked, book)
        refusal = DifferentContent(
            f"This number is booked with another content; what differs: {', '.join(differing)}.",
            field=differing[0],
            differing=differing,
        )
        if digest in booked.contested:
            return Decision(refusal=refusal)
        contested = HandContested(
            **self._context(""), content_digest=digest, differing=tuple(differing)
        )
        return Decision(changes=[(key, contested)], refusal=refusal)

    def _differing(self, booked: HandState, book: Book) -> list[str]:
        first = record.unpack(booked.record, booked.dictionary)
        again = record.unnamed(self.hand)
        names = [
            f"players[{index}].name"
            for index, (player, player_id) in enumerate(
                zip(booked.players, self._player_ids(book), strict=False)
            )
            if player != player_id
        ]
        return [*differing_fields(first, again), *names] or ["players"]

    def _refuse(self, key: str, findings: Sequence[Finding]) -> Decision:
        """Refuse, and keep what was posted: it may be looked at, waited for or corrected."""
        refusal = RefusedByFindings(self.hand, findings)
        hashes = [
            self.claims[player.name].rpartition(":")[2] if player.name in self.claims else ""
            for player in self.hand.players
        ]
        kept = RefusedHand(
            network=self.network,
            hand=key,
            game_number=self.hand.game_number,
            table_id=table_id(self.hand.table_name),
            code=refusal.code,
            retry=refusal.retry,
            digest=bytes.fromhex(record.digest_of(self.hand)),
            record=record.pack(record.encode(self.hand, hashes)),
            dictionary=record.CURRENT,
        )
        return Decision(keep=[kept], refusal=refusal)

    def _begin(self, key: str, book: Book, table: TableState) -> Decision:
        """Note that the hand is being played; chips of its seats stay where they are."""
        hand = self.hand
        findings = Findings({}, hand.money)
        check_clock(hand, self.at, findings)
        if findings:
            return self._refuse(key, findings)
        seats = tuple(
            sorted(
                player.seat
                for player in hand.players
                if player.x_dealt is not False and player.seat in table.seats
            )
        )
        said = {"game_number": hand.game_number, "status": "running", "seats": list(seats)}
        if table.running == hand.game_number:
            return Decision(answer=said)
        if table.running is not None:
            raise AnotherHandRunning("Another hand is running.", game_number=table.running)
        begun = HandBegun(
            **self._context(self._rules(book, table).ref), game_number=hand.game_number, seats=seats
        )
        return Decision(changes=[(_stream_of(table), begun)], answer=said)

    def _book(
        self, key: str, table: TableState, judgement: Judgement, player_ids: Sequence[str | None]
    ) -> Decision:
        players = {
            player.id: player_id
            for player, player_id in zip(self.hand.players, player_ids, strict=True)
            if player_id is not None
        }
        booking = Booking(table, judgement, players, actor=self.actor, request_id=self.request_id)
        posted = booking.posted(self.posted_digest)
        changes: list[tuple[str, Event]] = [(key, event) for event in booking.events(posted)]
        changes.append((_stream_of(table), booking.settlement()))
        return Decision(changes, answer(posted, key, judgement.findings))

    def _context(self, rulebook: str) -> Context:
        """Return what the hand's events say alike; they happened when it began."""
        return {
            "occurred_at": self.hand.started_at,
            "actor": self.actor,
            "request_id": self.request_id,
            "rulebook": rulebook,
        }


def _stream_of(table: TableState) -> str:
    return table_stream(table.network, table.table_id)


def _no_table() -> Finding:
    return Finding(
        code="table-closed",
        level="refuse",
        where="table_name",
        message="No table of this name is on the books.",
        later=True,
    )


def _check_network(hand: Hand, network: str, judgement: Judgement) -> None:
    if hand.network_name and _slug(hand.network_name) != network:
        judgement.findings.add(
            "unlike-table",
            "network_name",
            "The hand is of another network.",
            expected=network,
            posted=hand.network_name,
        )


@lru_cache(maxsize=256)
def _slug(name: str) -> str:
    """Write a network's name the way that its id is written."""
    words = "".join(c if c.isalnum() else " " for c in name).split()
    return "-".join(words).lower()
