"""Facts of a cash table, and what they add up to: seats, the chips in front of them, its hands.

Chips are money owed to players, yet no event of this stream has postings: buy-ins and cash-outs
are booked on the player's stream, hands on the hand's. What stands here mirrors them, so that a
hand can be decided without reading any player.
"""

import re
import unicodedata
from datetime import datetime
from functools import lru_cache
from typing import Final, Literal
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from ledger.core import Event, stream

# Printable ASCII without the separators ":", "/" and the escape "%".
_PLAIN = re.compile(r"[ -$&-.0-9;-~]+")
_KEPT = "".join(c for c in map(chr, range(0x20, 0x7F)) if _PLAIN.fullmatch(c))


@lru_cache(maxsize=1 << 13)
def table_id(name: str) -> str:
    """Return the id of the table with that name: itself, percent-encoded where it must be."""
    if name in (".", ".."):  # a path that holds them leads elsewhere
        return name.replace(".", "%2E")
    if _PLAIN.fullmatch(name):
        return name
    return quote(unicodedata.normalize("NFC", name), safe=_KEPT, errors="surrogatepass")


def table_stream(network: str, table: str) -> str:
    """Name the stream of a table, by its id."""
    return stream("table", network, table)


class Seat(msgspec.Struct, frozen=True, gc=False):
    """Who sits there, whose player he is, and the chips in front of him in minor units."""

    player: str
    partner: str
    chips_minor: int


class TableState(msgspec.Struct, frozen=True, kw_only=True):
    """A cash table as it stands between two events."""

    network: str
    table_id: str
    name: str
    status: Literal["open", "closed"]
    rulebook: str
    """The rulebook's name; which of its versions applies follows from the day."""
    game: str
    bet_type: str
    currency: str
    size: int
    small_blind_minor: int
    big_blind_minor: int
    ante_minor: int
    small_bet_minor: int | None
    big_bet_minor: int | None
    bring_in_minor: int | None
    spread_minor: tuple[int, ...]
    hole_cards: int | None
    min_buy_in_minor: int
    max_buy_in_minor: int | None
    jackpot: str | None
    jackpot_carry: int = 0
    """Contribution that is due and not yet booked, in 1/10000 of a minor unit."""
    seats: dict[int, Seat] = {}
    running: str | None = None
    """Game number of the hand that is being played, when the game server said so."""
    running_seats: tuple[int, ...] = ()
    last_hand: str | None = None
    last_started_at: datetime | None = None
    hands: int = 0
    inferred: bool = False

    def seat_of(self, player: str) -> int | None:
        """Return the seat in which a player sits, if he does."""
        for number, seat in self.seats.items():
            if seat.player == player:
                return number
        return None


class TableOpened(Event, frozen=True, kw_only=True):
    """A table was opened, or opened again, with its game, limit, stakes and buy-in limits."""

    NAME = "table.opened.v1"

    network: str
    table_id: str
    name: str
    game: str
    bet_type: str
    currency: str
    size: int
    small_blind_minor: int = 0
    big_blind_minor: int = 0
    ante_minor: int = 0
    small_bet_minor: int | None = None
    big_bet_minor: int | None = None
    bring_in_minor: int | None = None
    spread_minor: tuple[int, ...] = ()
    hole_cards: int | None = None
    min_buy_in_minor: int
    max_buy_in_minor: int | None = None
    jackpot: str | None = None
    inferred: bool = False


class TableClosed(Event, frozen=True, kw_only=True):
    """A table was closed; its name may be opened again."""

    NAME = "table.closed.v1"

    inferred: bool = False


class ChipsBought(Event, frozen=True, kw_only=True):
    """A player sat down with chips; mirrors ``player.bought_in.v1``."""

    NAME = "table.chips_bought.v1"

    player: str
    partner: str
    seat: int
    amount_minor: int
    inferred: bool = False


class ChipsAdded(Event, frozen=True, kw_only=True):
    """A seated player put more chips in front of him; mirrors ``player.topped_up.v1``."""

    NAME = "table.chips_added.v1"

    player: str
    seat: int
    amount_minor: int
    inferred: bool = False


class SeatLeft(Event, frozen=True, kw_only=True):
    """A player left with all his chips; mirrors ``player.cashed_out.v1``."""

    NAME = "table.seat_left.v1"

    player: str
    seat: int
    amount_minor: int
    inferred: bool = False


class HandBegun(Event, frozen=True, kw_only=True):
    """The game server said that a hand is being played, and which seats are in it."""

    NAME = "table.hand_begun.v1"

    game_number: str
    seats: tuple[int, ...]


class HandSettled(Event, frozen=True, kw_only=True):
    """A hand was booked: net chips per seat, in minor units; mirrors the hand's own postings."""

    NAME = "table.hand_settled.v1"

    game_number: str
    started_at: datetime
    net_minor: dict[int, int]
    jackpot_carry: int = 0
    """What the table carries after the hand, in 1/10000 of a minor unit."""


class TableResynced(Event, frozen=True, kw_only=True):
    """Chips were set to what the game server has; mirrors ``player.chips_corrected.v1``."""

    NAME = "table.resynced.v1"

    game_number: str | None = None
    """The hand that was lost, if its number is known."""
    difference_minor: dict[int, int]
    ground: str
    reason: str


class TableCrashed(Event, frozen=True, kw_only=True):
    """The server crashed: a running hand is cancelled and every seat empties.

    Source: K 10.1.7.
    """

    NAME = "table.crashed.v1"

    game_number: str | None = None
    ground: str
    reason: str


EVENTS: Final[tuple[type[Event], ...]] = (
    TableOpened,
    TableClosed,
    ChipsBought,
    ChipsAdded,
    SeatLeft,
    HandBegun,
    HandSettled,
    TableResynced,
    TableCrashed,
)


def evolve(state: TableState | None, event: Event) -> TableState | None:
    """Fold an event of a table's stream."""
    if type(event) is HandSettled:
        assert state is not None
        return _settled(state, event)
    match event:
        case TableOpened():
            return _opened(state, event)
    assert state is not None, event
    match event:
        case ChipsBought():
            seat = Seat(event.player, event.partner, event.amount_minor)
            return replace(state, seats=dict(sorted({**state.seats, event.seat: seat}.items())))
        case ChipsAdded():
            return replace(state, seats=_changed(state.seats, {event.seat: event.amount_minor}))
        case SeatLeft():
            left = {number: seat for number, seat in state.seats.items() if number != event.seat}
            return replace(state, seats=left)
        case HandBegun():
            return replace(state, running=event.game_number, running_seats=event.seats)
        case TableResynced():
            return replace(
                state,
                seats=_changed(state.seats, event.difference_minor),
                running=None,
                running_seats=(),
                last_hand=event.game_number or state.last_hand,
            )
        case TableCrashed():
            return replace(state, running=None, running_seats=())
        case TableClosed():
            return replace(state, status="closed")
    return state


def _changed(seats: dict[int, Seat], difference: dict[int, int]) -> dict[int, Seat]:
    changed = seats.copy()
    for number, amount in difference.items():
        seat = seats[number]
        changed[number] = Seat(seat.player, seat.partner, seat.chips_minor + amount)
    return changed


def _settled(state: TableState, event: HandSettled) -> TableState:
    # The busiest line of the book: ten thousand hands a second pass here.
    game_number = event.game_number
    going_on = state.running is not None and state.running != game_number
    return replace(
        state,
        seats=_changed(state.seats, event.net_minor),
        jackpot_carry=event.jackpot_carry,
        running=state.running if going_on else None,
        running_seats=state.running_seats if going_on else (),
        last_hand=game_number,
        last_started_at=event.started_at,
        hands=state.hands + 1,
    )


def _opened(state: TableState | None, event: TableOpened) -> TableState:
    before = state
    # What a table still owes the jackpot goes on when the same jackpot is played for again.
    carried = before is not None and (before.jackpot, before.currency) == (
        event.jackpot,
        event.currency,
    )
    return TableState(
        network=event.network,
        table_id=event.table_id,
        name=event.name,
        status="open",
        rulebook=event.rulebook.partition("@")[0],
        game=event.game,
        bet_type=event.bet_type,
        currency=event.currency,
        size=event.size,
        small_blind_minor=event.small_blind_minor,
        big_blind_minor=event.big_blind_minor,
        ante_minor=event.ante_minor,
        small_bet_minor=event.small_bet_minor,
        big_bet_minor=event.big_bet_minor,
        bring_in_minor=event.bring_in_minor,
        spread_minor=event.spread_minor,
        hole_cards=event.hole_cards,
        min_buy_in_minor=event.min_buy_in_minor,
        max_buy_in_minor=event.max_buy_in_minor,
        jackpot=event.jackpot,
        jackpot_carry=before.jackpot_carry if before is not None and carried else 0,
        last_hand=before.last_hand if before is not None else None,
        last_started_at=before.last_started_at if before is not None else None,
        hands=before.hands if before is not None else 0,
        inferred=event.inferred,
    )
