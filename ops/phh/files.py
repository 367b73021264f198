"""Reading PHH files: a .phh is one hand, a .phhs numbers its hands.

PokerKit's own reader takes whatever types it finds, and one bad hand ends its reading; here a
hand that cannot be read is refused alone, and says why.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, time, tzinfo
from decimal import Decimal
from functools import cache
from typing import Any, ClassVar, Final, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from ledger.core import Kind, Refused
from ledger.hands.ohh import Malformed

SUFFIXES: Final = (".phh", ".phhs")

MOST_PLAYERS: Final = 64

GAMES: Final[dict[str, tuple[str, str]]] = {
    "FT": ("Holdem", "FL"),
    "NT": ("Holdem", "NL"),
    "PO": ("Omaha", "PL"),
    "FO/8": ("OmahaHiLo", "FL"),
    "F7S": ("Stud", "FL"),
    "F7S/8": ("StudHiLo", "FL"),
    "F2L3D": ("TripleDraw27", "FL"),
}
"""The variants of PHH that are played here: game and limit."""

Amount = int | Decimal


class UnknownVariant(Refused):
    """The hand is of a game that no rulebook has: short deck, razz, badugi, single draw."""

    code = "unknown-game"
    kind: ClassVar[Kind] = "invalid"


class Phh(msgspec.Struct, frozen=True):
    """What is read of a hand; p1 is the player left of the dealer, who comes last.

    ``winnings`` is what each player won of the pots, ``finishing_stacks`` what he had in the end;
    an empty list is as good as none.
    """

    variant: str
    starting_stacks: list[Amount]
    actions: list[str]
    antes: list[Amount] = []
    ante_trimming_status: bool = False
    blinds_or_straddles: list[Amount] = []
    bring_in: Amount | None = None
    small_bet: Amount | None = None
    big_bet: Amount | None = None
    min_bet: Amount | None = None
    finishing_stacks: list[Amount] | None = None
    winnings: list[Amount] | None = None
    players: list[str] | None = None
    seats: list[int] | None = None
    seat_count: int | None = None
    hand: str | int | None = None
    table: str | int | None = None
    event: str | None = None
    venue: str | None = None
    currency: str | None = None
    currency_symbol: str | None = None
    year: int | None = None
    month: int | None = None
    day: int | None = None
    clock: time | None = msgspec.field(default=None, name="time")
    time_zone: str | None = None


class Item(NamedTuple):
    """One hand of a file, not yet read; ``section`` is its heading in a .phhs."""

    section: str | None
    content: Mapping[str, Any]

    @property
    def number(self) -> str | None:
        """The hand's number as the file gives it, else that of its place in the file."""
        said = self.content.get("hand")
        plain = isinstance(said, (int, str)) and not isinstance(said, bool)
        return str(said) if plain and said != "" else self.section

    def where(self, field: str | None) -> str | None:
        """Name a place in the file: the hand's section first, where it has one."""
        if self.section is None:
            return field
        return f"[{self.section}].{field}" if field else f"[{self.section}]"


def split(body: bytes) -> Iterator[Item]:
    """Take a file apart into its hands. Raises Malformed when it is not TOML at all."""
    try:
        content = tomllib.loads(body.decode(), parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise Malformed(f"This is not TOML: {error}.") from None
    if content and all(isinstance(one, dict) for one in content.values()):
        yield from (Item(section, hand) for section, hand in content.items())
    else:
        yield Item(None, content)


def read(item: Item) -> Phh:
    """Read one hand.

    Raises Malformed, with the path of what is wrong as its field, and UnknownVariant.
    """
    try:
        phh = msgspec.convert(item.content, Phh)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$.")
        raise Malformed(f"{message}.", field=path.rstrip("`") or None) from None
    if phh.variant not in GAMES:
        raise UnknownVariant(f"No rulebook has a game {phh.variant!r:.20}.", field="variant")
    players = len(phh.starting_stacks)
    if not 1 <= players <= MOST_PLAYERS:
        message = f"A hand has 1 to {MOST_PLAYERS} players."
        raise Malformed(message, field="starting_stacks")
    for name in (*_AMOUNTS, "players", "seats"):
        values = getattr(phh, name)
        if values and len(values) != players:
            message = f"There are {players} starting stacks, and {len(values)} of these."
            raise Malformed(message, field=name)
    for name in _AMOUNTS:
        _check_amounts(name, getattr(phh, name) or ())
    for name in ("bring_in", "small_bet", "big_bet", "min_bet"):
        _check_amounts(name, [getattr(phh, name) or 0])
    return phh


_AMOUNTS: Final = (
    "starting_stacks",
    "antes",
    "blinds_or_straddles",
    "finishing_stacks",
    "winnings",
)

_BEYOND_REASON: Final = Decimal(2**53)


def _check_amounts(name: str, amounts: Sequence[Amount]) -> None:
    """Refuse what is no number, or more than any hand is about."""
    for amount in amounts:
        decimal = Decimal(amount)
        if not decimal.is_finite() or abs(decimal) > _BEYOND_REASON:
            raise Malformed("This amount is beyond reason.", field=name)


_NOT_SAID: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""When a hand took place that does not say so: on the first day of the shipped rulebooks."""


def started(phh: Phh) -> datetime:
    """Return when a hand took place, in UTC; what it leaves out is the first of its kind.

    Raises Malformed for a date that there is not.
    """
    if phh.year is None:
        return _NOT_SAID
    clock = phh.clock or time()
    try:
        day = datetime(phh.year, phh.month or 1, phh.day or 1, tzinfo=_zone(phh.time_zone))
        return day.replace(hour=clock.hour, minute=clock.minute, second=clock.second).astimezone(
            UTC
        )
    except (ValueError, OverflowError):
        raise Malformed("There is no such day.", field="year") from None


@cache
def _zone(name: str | None) -> tzinfo:
    """Find a time zone; an abbreviation that nobody keeps is taken for UTC."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ValueError, OSError):
        return UTC
