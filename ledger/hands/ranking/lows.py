"""Low hands: eight or better, and deuce to seven."""

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import Final

from ledger.hands.deck import RANKS, numbers
from ledger.hands.games import Uses
from ledger.hands.ranking import ordinary

_LOW_RANKS: Final = "A2345678"
_BITS: Final = [1 << _LOW_RANKS.index(rank) if rank in _LOW_RANKS else 0 for rank in RANKS]
"""A bit for each rank that may be in a low, the ace lowest: the higher set of bits is worse."""

_WORST: Final = 1 << len(_LOW_RANKS)


def eight_or_better(uses: Uses, own: Sequence[int], board: Sequence[int]) -> int | None:
    """Rank the best low of five different ranks, eight or lower; the highest wins.

    The ace is low, straights and flushes do not count. None when no such five cards are there.
    Source: K 10.5.6, K 10.8.6.
    """
    if uses == "two-and-three":
        found = _of_two_and_three(_ranks(own), _ranks(board))
    else:
        found = _lowest(_ranks((*own, *board)), 5)
    return None if found is None else _WORST - found


def name(strength: int) -> str:
    """Write a low out: ``8-6-4-2-A low``."""
    found = _WORST - strength
    ranks = [rank for number, rank in enumerate(_LOW_RANKS) if found >> number & 1]
    return "-".join(reversed(ranks)) + " low"


def _ranks(cards: Sequence[int]) -> int:
    found = 0
    for card in cards:
        found |= _BITS[card >> 2]
    return found


@cache
def _of_two_and_three(own: int, board: int) -> int | None:
    lows = (
        sum(two) | sum(three)
        for two in combinations(_bits(own), 2)
        for three in combinations(_bits(board), 3)
    )
    return min((low for low in lows if low.bit_count() == 5), default=None)


def _lowest(ranks: int, count: int) -> int | None:
    bits = _bits(ranks)
    return sum(bits[:count]) if len(bits) >= count else None


def _bits(ranks: int) -> list[int]:
    return [bit for bit in _BITS_UP if ranks & bit]


_BITS_UP: Final = [1 << number for number in range(len(_LOW_RANKS))]


# -- deuce to seven ----------------------------------------------------------------------------


def deuce_to_seven(cards: Sequence[int]) -> int:
    """Rank five cards of which the lowest hand wins: the weaker, the higher the strength.

    Aces are high only, straights and flushes count against. A-2-3-4-5 is therefore no straight,
    but the lowest hand with an ace. Source: K 10.10.1.
    """
    value = ordinary.value(cards)
    return 2 * value if value not in _WHEELS else _WHEELS[value]


def deuce_to_seven_name(strength: int) -> str:
    """Say which kind of hand a strength is; without a pair it is a low one."""
    found = ordinary.name(ordinary.WEAKEST + 1 - strength // 2)
    return "no pair" if found == "high card" else found


def _just_lower_than(*cards: str) -> int:
    return 2 * ordinary.value(numbers(cards)) + 1


_WHEELS: Final = {
    ordinary.value(numbers(("Ac", "2d", "3h", "4s", "5c"))): _just_lower_than(
        "Ac", "2d", "3h", "4s", "6c"
    ),
    ordinary.value(numbers(("Ac", "2c", "3c", "4c", "5c"))): _just_lower_than(
        "Ac", "2c", "3c", "4c", "6c"
    ),
}
"""A-2-3-4-5, of several suits and of one: next to A-2-3-4-6, which it beats."""
