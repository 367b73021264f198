"""Hands written short, and who beats whom."""

from collections.abc import Sequence
from itertools import pairwise

from ledger.hands.deck import numbers


def hand(together: str) -> list[int]:
    """Read cards that are written together, ``AhKd``, blanks apart."""
    text = together.replace(" ", "")
    return numbers(text[place : place + 2] for place in range(0, len(text), 2))


def is_falling(strengths: Sequence[int]) -> bool:
    """Tell whether each hand beats the next."""
    return all(one > other for one, other in pairwise(strengths))
