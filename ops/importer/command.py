"""One hand of real history as one command: what its starting stacks imply, and the hand itself.

A game server says when somebody buys in. A history does not: it only shows, hand by hand, who sits
where with how many chips. What must have happened in between is inferred here and booked together
with the hand, or not at all. Where the hand is on the books already nothing is inferred, so that a
history may be imported again, whole or from where it was interrupted.
"""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import date
from typing import Any, Final
from uuid import UUID

import msgspec

from ledger import catalogue
from ledger.cashier.commands import AnnounceDeposit, IssuePlayMoney
from ledger.cashier.events import deposit_stream
from ledger.core import Book, Command, Decision, Event, Keep, Refused, category_of
from ledger.hands import seating
from ledger.hands.commands import DEFAULT_RULEBOOK, PostHand, RefusedByFindings
from ledger.hands.events import hand_stream
from ledger.hands.findings import Findings
from ledger.hands.judge import judge
from ledger.hands.ohh import Hand, Player
from ledger.identity import Identity, comparable, holder
from ledger.money import is_real
from ledger.players.commands import RegisterPlayer
from ledger.players.events import PlayerState, player_stream
from ledger.rulebooks import adopted
from ledger.tables.commands import BuyIn, CloseTable, LeaveTable, OpenTable, TopUp
from ledger.tables.events import TableState, table_id, table_stream

ACTOR: Final = "import"
PROVIDER: Final = "import"
"""Whom inferred deposits come from: nobody knows how the money really arrived."""

PARTNER: Final = "imported"


class NotImported(Refused):
    """The table or player is not from imported history: nothing is inferred about its money."""

    code = "not-imported"
    kind = "conflict"


class NotCash(Refused):
    """Only hands of cash games are imported."""

    code = "not-a-cash-hand"


class NotFinished(Refused):
    """The hand is a running one, as a game server tells it: it has no result."""

    code = "hand-not-finished"


class Person(msgspec.Struct, frozen=True):
    """One of a hand's players, with the ids that are his should he not be on the books."""

    seat: int
    stack_minor: int
    nickname: str
    nickname_claim: str
    new_player: str
    deposit: str
    deposit_claim: str


def network_of(hand: Hand) -> str:
    """Name the network of its own that a hand is booked under by default."""
    name = hand.network_name or hand.site_name
    slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:50].strip("-")
    return f"import-{slug}" if slug else "import"


def import_of(
    identity: Identity,
    hand: Hand,
    posted_digest: str,
    *,
    network: str | None = None,
    rulebook: str | None = None,
    on: date | None = None,
) -> "ImportHand":
    """Make the command that imports a hand; what the hand implies is dated when it began.

    ``network``, ``rulebook`` and its day ``on`` replace the hand's own.
    """
    network = network or network_of(hand)
    people = tuple(_person(identity, network, hand, player) for player in hand.players)
    said: Any = {"network": network, "at": hand.started_at, "actor": ACTOR}
    post = PostHand(
        **said,
        request_id=f"hand:{hand.game_number}",
        hand=hand,
        posted_digest=posted_digest,
        claims={person.nickname: person.nickname_claim for person in people},
        rulebook=rulebook,
        on=on,
        foreign=True,
    )
    return ImportHand(
        **said,
        request_id=f"import:{network}:hand:{hand.game_number}",
        hand=hand,
        post=post,
        people=people,
        rulebook=rulebook or hand.x_rulebook or DEFAULT_RULEBOOK,
    )


def _person(identity: Identity, network: str, hand: Hand, player: Player) -> Person:
    """Derive ids that are the same whenever the hand is imported, and that give no name away."""
    occasion = f"{hand.game_number}:{player.seat}"
    deposit_claim = identity.reference_claim(network, "deposit", PROVIDER, occasion)
    hashed = identity.reference_claim(network, "player", PROVIDER, comparable(player.name))
    return Person(
        seat=player.seat,
        stack_minor=player.starting_stack,
        nickname=player.name,
        nickname_claim=identity.nickname_claim(network, player.name),
        new_player=str(UUID(hashed.rpartition(":")[2], version=4)),
        deposit=f"import-{deposit_claim.rpartition(':')[2]}",
        deposit_claim=deposit_claim,
    )


class ImportHand(Command, frozen=True, kw_only=True):
    """Book a hand after what it implies; both or nothing.

    ``post`` books the hand itself; ``rulebook`` is for a table that is not on the books. The
    hand's number is its id: a hand that is on the books is only compared.
    Raises NotCash, NotFinished, NotImported, and whatever booking the hand raises, or what it
    implies.
    """

    hand: Hand
    post: PostHand
    people: tuple[Person, ...]
    rulebook: str

    def touches(self) -> tuple[str, ...]:
        """Name what a hand reads, and what it creates if a player is new or needs money."""
        table = table_stream(self.network, table_id(self.hand.table_name))
        streams = [hand_stream(self.network, self.hand.game_number), table]
        for person in self.people:
            streams += (
                person.nickname_claim,
                player_stream(self.network, person.new_player),
                deposit_stream(self.network, person.deposit),
                person.deposit_claim,
            )
        return tuple(streams)

    def decide(self, book: Book) -> Decision:
        if book.get(hand_stream(self.network, self.hand.game_number)) is not None:
            return self.post.decide(book)
        if self.hand.tournament:
            raise NotCash("Only cash hands are imported.", field="tournament")
        if self.hand.x_status == "running":
            raise NotFinished("The hand is not finished.", field="x_status")
        draft = Draft(book)
        try:
            _Preparation(self, draft).run()
        except Refused:
            # What is wrong with the hand itself says more than what could not be inferred from it.
            self._judge_alone(book)
            raise
        decision = self.post.decide(draft)
        if decision.refusal is not None:
            return decision
        answer = {**decision.answer, "inferred": draft.inferred()}
        return Decision([*draft.changes, *decision.changes], answer, [*draft.keep, *decision.keep])

    def _judge_alone(self, book: Book) -> None:
        day = self.post.on or self.at.date()
        judgement = judge(self.hand, adopted(book, self.network, self.rulebook, day))
        if judgement.findings.refused:
            raise RefusedByFindings(self.hand, judgement.findings)


class Draft:
    """A book with what has been decided so far on top, none of it appended yet."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._states: dict[str, Any] = {}
        self._carried_out: Counter[str] = Counter()
        self.changes: list[tuple[str, Event]] = []
        self.keep: list[Keep] = []
        self.put_in_minor = 0

    def get(self, stream: str) -> Any:
        """Return the state of a stream as the draft would leave it."""
        return self._states[stream] if stream in self._states else self._book.get(stream)

    def carry_out(self, command: Command) -> None:
        """Decide a command on top of those before it; raises Refused."""
        decision = command.decide(self)
        if decision.refusal is not None:
            raise decision.refusal
        for stream, event in decision.changes:
            evolve = catalogue.STREAMS[category_of(stream)].evolve
            self._states[stream] = evolve(self.get(stream), event)
        self.changes += decision.changes
        self.keep += decision.keep
        self._carried_out[type(command).__name__] += 1

    def inferred(self) -> dict[str, Any]:
        """Say what was carried out, by the commands' names, and how much money came in."""
        return {"commands": dict(self._carried_out), "put_in_minor": self.put_in_minor}


class _Preparation:
    """Makes the books such that a hand's starting stacks are true."""

    def __init__(self, command: ImportHand, draft: Draft) -> None:
        self._command = command
        self._hand = command.hand
        self._network = command.network
        self._draft = draft
        self._table = table_id(command.hand.table_name)

    def run(self) -> None:
        """Carry out what is missing; raises Refused."""
        self._open_table()
        seated = [(person, self._player(person)) for person in self._command.people]
        self._empty_seats({player: person for person, player in seated})
        for person, player in seated:
            self._give_chips(person, player)

    def _said(self, what: str) -> dict[str, Any]:
        command = self._command
        return {
            "network": self._network,
            "at": command.at,
            "actor": command.actor,
            "request_id": f"{command.request_id}:{what}",
        }

    # -- the table -------------------------------------------------------------------------------

    def _state(self) -> TableState | None:
        state: TableState | None = self._draft.get(table_stream(self._network, self._table))
        return state

    def _open_table(self) -> None:
        """Open the table; one whose name stands for another game or other stakes by now, anew."""
        table = self._state()
        if table is not None and table.status == "open":
            if not table.inferred:
                raise NotImported("The table was not opened by an import.", field="table_name")
            if self._is_like(table):
                return
            said = self._said("close")
            self._draft.carry_out(
                CloseTable(**said, table=self._table, cash_out=True, inferred=True)
            )
        hand = self._hand
        self._draft.carry_out(
            OpenTable(
                **self._said("open"),
                name=hand.table_name,
                rulebook=self._command.rulebook,
                game=hand.game,
                bet_type=hand.bet_limit.bet_type,
                currency=hand.money,
                size=hand.table_size,
                small_blind_minor=hand.small_blind_amount or 0,
                big_blind_minor=hand.big_blind_amount or 0,
                ante_minor=hand.ante_amount or 0,
                small_bet_minor=hand.x_small_bet,
                big_bet_minor=hand.x_big_bet,
                bring_in_minor=hand.x_bring_in,
                spread_minor=tuple(hand.x_spread),
                hole_cards=hand.x_hole_cards,
                inferred=True,
            )
        )

    def _is_like(self, table: TableState) -> bool:
        day = self._command.at.date()
        rulebook = adopted(self._draft, self._network, table.rulebook, day)
        findings = Findings(rulebook.findings, self._hand.money)
        seating.check_likeness(self._hand, table, findings)
        return not findings

    def _leave(self, player: str) -> None:
        said = self._said(f"leave:{player}")
        self._draft.carry_out(LeaveTable(**said, table=self._table, player=player, inferred=True))

    # -- players and their chips -----------------------------------------------------------------

    def _player(self, person: Person) -> str:
        """Return the id of the player with that nickname, registered now if there is none."""
        player = holder(self._draft, person.nickname_claim)
        if player is not None:
            return player
        self._draft.carry_out(
            RegisterPlayer(
                **self._said(f"register:{person.seat}"),
                player=person.new_player,
                partner=self._hand.x_partner or PARTNER,
                rulebook=self._command.rulebook,
                nickname=person.nickname,
                nickname_claim=person.nickname_claim,
                inferred=True,
            )
        )
        return person.new_player

    def _empty_seats(self, people: Mapping[str, Person]) -> None:
        """Let those leave who are gone, sit elsewhere, or have fewer chips than the table says.

        Chips are not taken off a table by who stays: whoever comes back with fewer has left in
        between, or lost them in hands that are missing; either way they are back with him.
        """
        table = self._state()
        assert table is not None
        for number, seat in table.seats.items():
            person = people.get(seat.player)
            if person is None or person.seat != number or person.stack_minor < seat.chips_minor:
                self._leave(seat.player)

    def _give_chips(self, person: Person, player: str) -> None:
        table = self._state()
        assert table is not None
        seat = table.seats.get(person.seat)
        seated = seat is not None and seat.player == player
        missing = person.stack_minor - (seat.chips_minor if seat is not None and seated else 0)
        if missing == 0:
            # Nobody buys in without chips: who only watches is in the hand, and has no seat.
            return
        self._put_in(person, player, missing)
        if seated:
            said = self._said(f"top-up:{person.seat}")
            self._draft.carry_out(
                TopUp(
                    **said,
                    table=self._table,
                    player=player,
                    currency=self._hand.money,
                    amount_minor=missing,
                    inferred=True,
                )
            )
            return
        self._draft.carry_out(
            BuyIn(
                **self._said(f"buy-in:{person.seat}"),
                table=self._table,
                player=player,
                seat=person.seat,
                currency=self._hand.money,
                amount_minor=missing,
                inferred=True,
            )
        )

    def _put_in(self, person: Person, player: str, needed_minor: int) -> None:
        """Deposit what the bankroll lacks."""
        state: PlayerState = self._draft.get(player_stream(self._network, player))
        if not state.inferred:
            raise NotImported("The player was not registered by an import.", field="players")
        currency = self._hand.money
        lacking = needed_minor - state.purse(currency).bankroll_minor
        if lacking <= 0:
            return
        self._draft.put_in_minor += lacking
        said = self._said(f"deposit:{person.seat}")
        if not is_real(currency):
            self._draft.carry_out(
                IssuePlayMoney(
                    **said, player=player, currency=currency, amount_minor=lacking, inferred=True
                )
            )
            return
        self._draft.carry_out(
            AnnounceDeposit(
                **said,
                deposit=person.deposit,
                player=player,
                provider=PROVIDER,
                instrument=PROVIDER,
                reference_claim=person.deposit_claim,
                currency=currency,
                amount_minor=lacking,
                confirmed=True,
                inferred=True,
            )
        )
