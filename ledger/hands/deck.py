"""The cards, as they are posted and as numbers."""

from collections.abc import Iterable
from functools import cache
from typing import Final

RANKS: Final = "23456789TJQKA"
SUITS: Final = "cdhs"

UNKNOWN: Final = "??"
"""A card that was dealt and is not known."""

CARDS: Final[dict[str, int]] = {
    rank + suit: 4 * number + place
    for number, rank in enumerate(RANKS)
    for place, suit in enumerate(SUITS)
}
"""A card's number: four times its rank (a deuce 0, an ace 12) plus its suit in ``SUITS``."""

_TEXTS: Final = tuple(CARDS)


def text(card: int) -> str:
    """Write a card as it is posted: ``As``."""
    return _TEXTS[card]


def numbers(cards: Iterable[str]) -> list[int]:
    """Return the numbers of known cards."""
    return [CARDS[card] for card in cards]


@cache
def deck(lowest: str) -> frozenset[str]:
    """Return the cards of a deck of four suits, from a rank up to the ace."""
    return frozenset(card for card in CARDS if card[0] in RANKS[RANKS.index(lowest) :])
