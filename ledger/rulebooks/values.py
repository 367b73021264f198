"""The words and values that rulebooks are written in: amounts, games, limits, finding codes."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal, get_args

import msgspec

NoRule = Literal["none"]
"""The operator does not have this rule; leaving the key out is an error instead."""

AsPosted = Literal["as-posted"]
"""Whatever the site posted is taken for right: its rule is not known."""

Count = Annotated[int, msgspec.Meta(ge=1, le=10_000)]
"""How many, how often, how long: never nothing, which is "none"."""

Bps = Annotated[int, msgspec.Meta(ge=0, le=10_000)]
"""Basis points: hundredths of a percent."""

Game = Literal[
    "Holdem",
    "Omaha",
    "OmahaHiLo",
    "Soko",
    "Stud",
    "StudHiLo",
    "FiveCardDraw",
    "TripleDraw27",
    "Telesina",
    "Americana",
]
BetType = Literal["NL", "PL", "HPL", "FL", "SL"]
"""No, pot, half-pot, fixed and spread limit."""

Street = Literal[
    "Flop",
    "Turn",
    "River",
    "Third Street",
    "Fourth Street",
    "Fifth Street",
    "Sixth Street",
    "Seventh Street",
    "Vela",
    "First Draw",
    "Second Draw",
    "Third Draw",
]
Rank = Literal["2", "3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K", "A"]

MoneyCode = Literal[
    "money-not-conserved",
    "negative-amount",
    "stake-exceeds-chips",
    "unknown-player",
    "duplicate-player",
    "wrong-starting-stack",
    "table-closed",
    "unlike-table",
    "currency-mismatch",
    "different-content",
    "malformed",
]
UnknownCode = Literal["unknown-game", "unknown-rulebook"]
RuleCode = Literal[
    "missing-forced-bet",
    "out-of-turn",
    "illegal-action",
    "illegal-amount",
    "artificial-all-in-not-allowed",
    "wrong-uncalled-return",
    "wrong-pot",
    "wrong-pot-winner",
    "wrong-share",
    "wrong-odd-chip",
    "wrong-rake",
    "wrong-jackpot",
    "too-many-players",
    "out-of-sequence",
]
CardCode = Literal["duplicate-card", "card-not-in-deck", "wrong-card-count", "cards-unknown"]
FindingCode = MoneyCode | UnknownCode | RuleCode | CardCode
Level = Literal["refuse", "flag", "off"]

RANKS: Final = "".join(get_args(Rank))
"""From the lowest to the highest."""

GAMES: Final[tuple[str, ...]] = get_args(Game)
BET_TYPES: Final[tuple[str, ...]] = get_args(BetType)
ALWAYS_REFUSED: Final[tuple[str, ...]] = (*get_args(MoneyCode), *get_args(UnknownCode))
"""Codes that no rulebook may soften: a hand with such a finding books nothing."""

FINDING_CODES: Final[tuple[str, ...]] = (
    *ALWAYS_REFUSED,
    *get_args(RuleCode),
    *get_args(CardCode),
)


def _key(field: str) -> str:
    return field.removesuffix("_minor")


class Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename=_key):
    """A part of a rulebook: every key must be there, and no other.

    A field ``cap_minor`` is the key ``cap``, written as a decimal string: ``cap = "0.75"``.
    """


class Range(Rules, frozen=True):
    """Numbers of players, both ends included."""

    players_from: Count
    players_to: Count


def hole_in(ranges: Sequence[Range], last: int) -> str | None:
    """Say what keeps ranges from covering 2 to ``last`` players once each, or None."""
    expected = 2
    for one in ranges:
        if one.players_from != expected or one.players_to < one.players_from:
            return f"{one.players_from}-{one.players_to} should begin at {expected} players"
        expected = one.players_to + 1
    if expected <= last:
        return f"nothing is said about {expected}-{last} players"
    return None
