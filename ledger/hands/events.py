"""Facts of a hand: what was posted, staked, returned, awarded, raked, found, and done about it.

A hand moves money between the seats of its table, the rake and the jackpot, and nowhere else.
The postings stand here; the table's own stream only mirrors the net.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, Literal, get_args

import msgspec
from msgspec.structs import replace

from ledger import accounts
from ledger.core import Event, Keep, Posting, move, stream
from ledger.hands.findings import Finding
from ledger.hands.verdict import Doubt, Expected


@lru_cache(maxsize=1 << 13)
def hand_stream(network: str, game_number: str) -> str:
    """Name the stream of a hand: plain numbers in their order, anything else by its hash."""
    plain = game_number.isascii() and game_number.isdigit() and game_number[0] != "0"
    if plain and len(game_number) <= 20:
        return stream("hand", network, game_number.rjust(20, "0"))
    digest = hashlib.sha256(game_number.encode("utf-8", "surrogatepass")).hexdigest()
    return stream("hand", network, "~" + digest[:32])


class SeatedPlayer(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A player of the hand: his id inside it, his seat, who he is, his chips before it."""

    id: int
    seat: int
    player: str
    starting_stack_minor: int


class HandPosted(Event, frozen=True, kw_only=True):
    """A hand was booked; ``occurred_at`` is when it started.

    ``record`` is the hand without names (see ``ledger.hands.record``). ``expected`` is kept where
    the rules give something else than what was posted, or the jackpot was hit. Posts under the
    same number that were refused before are found by it in ``journal.refused_hands``.
    """

    NAME = "hand.posted.v1"

    game_number: str
    network: str
    table: str
    game: str
    currency: str
    players: tuple[SeatedPlayer, ...]
    record: bytes
    dictionary: int
    posted_digest: str
    content_digest: str
    verdict: str
    jackpot_contribution_minor: int = 0
    expected: Expected | None = None


class HandStaked(Event, frozen=True, kw_only=True):
    """A player put chips into the pot, all of the hand's together; ``dead_minor`` of them dead."""

    NAME = "hand.staked.v1"

    network: str
    table: str
    currency: str
    player: str
    amount_minor: int
    dead_minor: int = 0

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.chips(self.network, self.table, self.player),
            accounts.pot(self.network, self.table),
            self.currency,
            self.amount_minor,
        )


class PotAdded(Event, frozen=True, kw_only=True):
    """Money from outside the players was added to the pot; the named component pays it."""

    NAME = "hand.pot_added.v1"

    network: str
    table: str
    currency: str
    paid_by: str
    amount_minor: int

    def postings(self) -> tuple[Posting, ...]:
        pot = accounts.pot(self.network, self.table)
        return move(f"{self.paid_by}:{self.network}", pot, self.currency, self.amount_minor)


class HandReturned(Event, frozen=True, kw_only=True):
    """Chips that nobody covered went back to the player; other returns have a reason."""

    NAME = "hand.returned.v1"

    network: str
    table: str
    currency: str
    player: str
    amount_minor: int
    reason: str | None = None

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.pot(self.network, self.table),
            accounts.chips(self.network, self.table, self.player),
            self.currency,
            self.amount_minor,
        )


class HandAwarded(Event, frozen=True, kw_only=True):
    """A player won a pot or a part of it; 0 is the main pot."""

    NAME = "hand.awarded.v1"

    network: str
    table: str
    currency: str
    player: str
    pot: int
    amount_minor: int
    half: str | None = None

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.pot(self.network, self.table),
            accounts.chips(self.network, self.table, self.player),
            self.currency,
            self.amount_minor,
        )


class HandRaked(Event, frozen=True, kw_only=True):
    """The room took its fee, divided among the partners whose players staked. Source: K 10.1.9."""

    NAME = "hand.raked.v1"

    network: str
    table: str
    currency: str
    amount_minor: int
    by_partner_minor: dict[str, int]

    def postings(self) -> tuple[Posting, ...]:
        pot = accounts.pot(self.network, self.table)
        lines = [
            Posting(accounts.rake(self.network, partner), self.currency, -amount)
            for partner, amount in self.by_partner_minor.items()
        ]
        return (Posting(pot, self.currency, self.amount_minor), *lines)


class JackpotContributed(Event, frozen=True, kw_only=True):
    """A jackpot's pool got a share of the partners' rake, or a drop out of the pot. Source: D."""

    NAME = "hand.jackpot_contributed.v1"

    network: str
    table: str
    currency: str
    jackpot: str
    amount_minor: int
    from_pot_minor: int = 0
    from_rake_minor: dict[str, int] = msgspec.field(default_factory=dict)

    def postings(self) -> tuple[Posting, ...]:
        lines = [
            Posting(accounts.rake(self.network, partner), self.currency, amount)
            for partner, amount in self.from_rake_minor.items()
        ]
        if self.from_pot_minor:
            pot = accounts.pot(self.network, self.table)
            lines.append(Posting(pot, self.currency, self.from_pot_minor))
        pool = accounts.jackpot(self.network, self.jackpot)
        return (*lines, Posting(pool, self.currency, -self.amount_minor))


class BadBeatHit(Event, frozen=True, kw_only=True):
    """The hand hit a jackpot; how much that is depends on what was paid before. Source: D.

    The shares are those of the rulebook that judged the hand: of the pool as of this event to the
    ``losers``, to the ``winners``, and to all ``dealt``. With ``review``, or with ``doubts``,
    nobody is paid before a second person has released it.
    """

    NAME = "hand.bad_beat_hit.v1"

    network: str
    game_number: str
    table: str
    currency: str
    jackpot: str
    losers: tuple[str, ...]
    winners: tuple[str, ...]
    dealt: tuple[str, ...]
    loser_bps: int
    winner_bps: int
    dealt_in_bps: int
    dealt_in_includes_winner_and_loser: bool
    review: bool
    doubts: tuple[Doubt, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether it has to be released before it is paid."""
        return self.review or bool(self.doubts)


class HandFlagged(Event, frozen=True, kw_only=True):
    """Something about a booked hand is not as the rules have it; open until it is resolved."""

    NAME = "hand.flagged.v1"

    finding: Finding


class HandContested(Event, frozen=True, kw_only=True):
    """Another content was posted for a hand that is booked; told once for each content."""

    NAME = "hand.contested.v1"

    content_digest: str
    differing: tuple[str, ...]


class FindingExplained(Event, frozen=True, kw_only=True):
    """Somebody found out how a finding came about; it stays open, explained.

    ``finding`` counts the hand's findings in the order in which they were filed, from 1. The text
    names no person: players stand by their ids.
    """

    NAME = "hand.finding_explained.v1"

    game_number: str
    finding: int
    text: str


class FindingResolved(Event, frozen=True, kw_only=True):
    """Somebody decided what becomes of a finding, by one of ``resolving.RESOLUTIONS``.

    ``corrected_by`` is the request that moved the money, where a booking of its own did.
    """

    NAME = "hand.finding_resolved.v1"

    game_number: str
    finding: int
    resolution: str
    reason: str
    corrected_by: str | None = None


class FindingReopened(Event, frozen=True, kw_only=True):
    """A resolved finding is open again, as if nothing had been said about it yet."""

    NAME = "hand.finding_reopened.v1"

    game_number: str
    finding: int
    reason: str


class RefusedHand(Keep, frozen=True, kw_only=True):
    """A hand that was refused, kept so that it can be looked at, and booked when the books allow.

    In the record the players' names are replaced by their nicknames' claim hashes.
    """

    network: str
    hand: str
    game_number: str
    table_id: str | None
    code: str
    retry: str
    digest: bytes
    record: bytes
    dictionary: int


EVENTS: Final[tuple[type[Event], ...]] = (
    HandPosted,
    HandStaked,
    PotAdded,
    HandReturned,
    HandAwarded,
    HandRaked,
    JackpotContributed,
    BadBeatHit,
    HandFlagged,
    HandContested,
    FindingExplained,
    FindingResolved,
    FindingReopened,
)

FindingStatus = Literal["open", "explained", "resolved"]
STATUSES: Final[tuple[FindingStatus, ...]] = get_args(FindingStatus)

BECOMES: Final[dict[type[Event], FindingStatus]] = {
    FindingExplained: "explained",
    FindingResolved: "resolved",
    FindingReopened: "open",
}
"""What becomes of a finding by each event that is about one."""


_MOVEMENTS: Final = frozenset(
    (HandStaked, PotAdded, HandReturned, HandAwarded, HandRaked, JackpotContributed)
)
"""They change nothing in what a hand's id stands for."""


class HandState(msgspec.Struct, frozen=True, kw_only=True):
    """A booked hand: what its id stands for, and what its first post was answered.

    ``answer`` is what whoever posts the same content again gets, marked as repeated; what is done
    about its findings later is no part of it. ``findings`` has how each stands.
    """

    content_digest: str
    table: str
    players: tuple[str, ...]
    record: bytes
    dictionary: int
    answer: dict[str, Any]
    contested: tuple[str, ...] = ()
    findings: tuple[FindingStatus, ...] = ()
    hit: BadBeatHit | None = None


def evolve(state: HandState | None, event: Event) -> HandState | None:
    """Fold an event of a hand's stream."""
    if type(event) in _MOVEMENTS:
        return state
    if isinstance(event, HandPosted):
        return HandState(
            content_digest=event.content_digest,
            table=event.table,
            players=tuple([one.player for one in event.players]),
            record=event.record,
            dictionary=event.dictionary,
            answer=answer(event, hand_stream(event.network, event.game_number)),
        )
    assert state is not None, event
    if isinstance(event, HandFlagged):
        found = [*state.answer["findings"], msgspec.to_builtins(event.finding)]
        answered = {**state.answer, "findings": found}
        return replace(state, answer=answered, findings=(*state.findings, "open"))
    if isinstance(event, BadBeatHit):
        return replace(state, hit=event)
    if isinstance(event, HandContested):
        contested = (*state.contested, event.content_digest)
        return replace(state, contested=contested, findings=(*state.findings, "open"))
    if isinstance(event, FindingExplained | FindingResolved | FindingReopened):
        findings = list(state.findings)
        findings[event.finding - 1] = BECOMES[type(event)]
        return replace(state, findings=tuple(findings))
    return state


def answer(posted: HandPosted, stream_id: str, findings: Sequence[Finding] = ()) -> dict[str, Any]:
    """Return what the poster of a hand is answered; no names, players by their ids in the hand."""
    expected = posted.expected
    return {
        "game_number": posted.game_number,
        "hand": stream_id,
        "verdict": posted.verdict,
        "rulebook": posted.rulebook,
        "jackpot_contribution_minor": posted.jackpot_contribution_minor,
        "expected": None if expected is None else msgspec.to_builtins(expected),
        "findings": [msgspec.to_builtins(finding) for finding in findings],
    }
