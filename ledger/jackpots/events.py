"""Facts of a jackpot: what became of its hits, one after the other, and what it paid.

None of them has postings. What a hit pays is booked on the streams of its players; what the pool
gets is booked by hands.
"""

from typing import ClassVar, Final, Literal

import msgspec
from msgspec.structs import replace

from ledger.core import Event, stream

Part = Literal["loser", "winner", "dealt-in"]


def jackpot_stream(network: str, jackpot: str, currency: str) -> str:
    """Name the stream of a jackpot's pool in a currency."""
    return stream("jackpot", network, f"{jackpot}:{currency}")


class Share(msgspec.Struct, frozen=True):
    """What a player gets for one part that he had in the hit."""

    player: str
    part: Part
    amount_minor: int


class HitReleased(Event, frozen=True, kw_only=True):
    """A hit that waited may be paid."""

    NAME: ClassVar[str] = "jackpot.hit_released.v1"

    network: str
    jackpot: str
    currency: str
    game_number: str
    number: int
    reason: str


class HitAnnulled(Event, frozen=True, kw_only=True):
    """A hit is not paid; the pool stays as it is. Source: D (3)."""

    NAME: ClassVar[str] = "jackpot.hit_annulled.v1"

    network: str
    jackpot: str
    currency: str
    game_number: str
    number: int
    ground: str
    reason: str


class HitSettled(Event, frozen=True, kw_only=True):
    """A hit was shared out. Source: D.

    ``pool_minor`` is what the jackpot had when it was hit: all that it ``got`` up to the position
    of the hit, less what was paid for the hits before this one, whenever that was booked.
    """

    NAME: ClassVar[str] = "jackpot.hit_settled.v1"

    network: str
    jackpot: str
    currency: str
    game_number: str
    number: int
    hit_position: int
    got_minor: int
    paid_before_minor: int
    pool_minor: int
    shares: tuple[Share, ...]
    left_minor: int


EVENTS: Final[tuple[type[Event], ...]] = (HitReleased, HitAnnulled, HitSettled)


class JackpotState(msgspec.Struct, frozen=True, kw_only=True):
    """A jackpot as it stands between two events.

    ``hits`` are those that were settled or annulled, in the order of their positions: the next one
    is number ``hits + 1``. ``released`` is the next hit's game number, once it was released.
    """

    network: str
    jackpot: str
    currency: str
    hits: int = 0
    paid_minor: int = 0
    released: str | None = None


def evolve(state: JackpotState | None, event: Event) -> JackpotState | None:
    """Fold an event of a jackpot's stream."""
    if not isinstance(event, HitReleased | HitAnnulled | HitSettled):
        return state
    if state is None:
        state = JackpotState(network=event.network, jackpot=event.jackpot, currency=event.currency)
    if isinstance(event, HitReleased):
        return replace(state, released=event.game_number)
    paid = sum(share.amount_minor for share in event.shares) if isinstance(event, HitSettled) else 0
    return replace(state, hits=event.number, paid_minor=state.paid_minor + paid, released=None)
