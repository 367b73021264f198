"""The ordinary ranking of poker hands.

A short deck changes nothing about it: the only low straight is A-2-3-4-5, so that a deck without
deuces has none. Source: D (Håndrangering), K 10.3.6, G.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import combinations
from typing import Final

from phevaluator import (  # type: ignore[import-untyped]
    evaluate_cards,
    evaluate_omaha_cards,
)

WEAKEST: Final = 7462
"""The evaluator's value of 7-5-4-3-2; its best is 1, and the smaller value wins."""

_LAST: Final = (
    (1, "royal flush"),
    (10, "straight flush"),
    (166, "four of a kind"),
    (322, "full house"),
    (1599, "flush"),
    (1609, "straight"),
    (2467, "three of a kind"),
    (3325, "two pair"),
    (6185, "pair"),
    (WEAKEST, "high card"),
)
"""The evaluator's last value of each class."""

_BOUNDS: Final = tuple(last for last, _ in _LAST)

LAST_TWO_PAIR: Final = 3325
"""The evaluator's value of 3-3-2-2-4: smaller ones are better hands."""


def value(cards: Sequence[int]) -> int:
    """Return the evaluator's value of the best five of five to seven cards; the smallest wins."""
    return int(evaluate_cards(*cards))


def strength(cards: Sequence[int]) -> int:
    """Rank the best five of five to seven cards; the highest wins."""
    return WEAKEST + 1 - value(cards)


def strength_of_two_and_three(own: Sequence[int], board: Sequence[int]) -> int:
    """Rank the best hand of exactly two own cards and three of the board. Source: K 10.4.6.

    The evaluator takes four own cards; of five, some four hold the best two.
    """
    if len(own) == 4:
        return WEAKEST + 1 - int(evaluate_omaha_cards(*board, *own))
    return max(strength_of_two_and_three(four, board) for four in combinations(own, 4))


def name(strength: int) -> str:
    """Say which kind of hand a strength is."""
    return _LAST[bisect_left(_BOUNDS, WEAKEST + 1 - strength)][1]
