"""Five cards of the French deck of 32, seven to ace: Telesina and Americana.

A flush beats a full house, and A-7-8-9-10 is the lowest straight. In Americana suits never
count. Telesina ranks suits inside a hand, so that no two hands of one deal are ever equal.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Final

from ledger.hands import deck

KINDS: Final = (
    "high card",
    "pair",
    "two pair",
    "three of a kind",
    "straight",
    "full house",
    "flush",
    "four of a kind",
    "straight flush",
)
"""From the lowest to the highest. Source: K 10.11.9, K 10.12.9."""

(
    _HIGH_CARD,
    _PAIR,
    _TWO_PAIR,
    _THREE,
    _STRAIGHT,
    _FULL_HOUSE,
    _FLUSH,
    _FOUR,
    _STRAIGHT_FLUSH,
) = range(9)

_OF_GROUPS: Final = {
    (1, 1, 1, 1, 1): _HIGH_CARD,
    (2, 1, 1, 1): _PAIR,
    (2, 2, 1): _TWO_PAIR,
    (3, 1, 1): _THREE,
    (3, 2): _FULL_HOUSE,
    (4, 1): _FOUR,
}

_ACE, _TEN, _SEVEN = 12, 8, 5

_SUITS: Final = {"s": 0, "c": 1, "d": 2, "h": 3}
"""Hearts, diamonds, clubs, spades. Source: K 10.11.9.1."""

_ORDER: Final = tuple(4 * deck.RANKS.index(card[0]) + _SUITS[card[1]] for card in deck.CARDS)
"""A card's place in Telesina by rank, then by suit."""

_DIGITS: Final = 5
_WIDTH: Final = 6
"""A strength is the kind of hand and then so many digits of so many bits."""


def americana(cards: Sequence[int]) -> int:
    """Rank five cards of Americana; the highest wins. Source: K 10.12.9."""
    kind, ordered = _arranged(cards)
    return _strength(kind, [card >> 2 for card in ordered])


def telesina(own: Sequence[int], vela: Sequence[int]) -> int:
    """Rank the best five of a player's five cards and the vela; the highest wins."""
    return max(_telesina(five) for five in combinations((*own, *vela), 5))


def _telesina(five: Sequence[int]) -> int:
    """Rank five cards of Telesina. Source: K 10.11.9.

    The cards are compared in the order in which they decide, each by rank and then by suit.
    Where the deciding card is the vela for both players they are equal there, and the next
    decides *(reading)*.
    """
    kind, ordered = _arranged(five)
    return _strength(kind, _DECIDES[kind]([_ORDER[card] for card in ordered]))


_DECIDES: Final[dict[int, Callable[[Sequence[int]], list[int]]]] = {
    # K 10.11.9.1: rank and suit of the highest card before the second card counts
    _HIGH_CARD: list,
    # K 10.11.9.2: the pair's rank, then the kickers with their suits
    _PAIR: lambda cards: [cards[0] // 4, *cards[2:]],
    # K 10.11.9.3: both pairs' ranks, the kicker; where that is the vela, the higher pair's suits
    _TWO_PAIR: lambda cards: [cards[0] // 4, cards[2] // 4, cards[4], cards[0], cards[1]],
    # K 10.11.9.4, .6, .8: no two players can have the same
    _THREE: lambda cards: [cards[0] // 4],
    _FULL_HOUSE: lambda cards: [cards[0] // 4],
    _FOUR: lambda cards: [cards[0] // 4],
    # K 10.11.9.5: the highest card's rank, then its suit
    _STRAIGHT: list,
    # K 10.11.9.7: the suit alone
    _FLUSH: lambda cards: [cards[0] % 4],
    # K 10.11.9.9: the highest card's rank, then its suit
    _STRAIGHT_FLUSH: lambda cards: [cards[0]],
}
"""What decides between two hands of a kind, the most weighty first."""


def telesina_beats(one: int, other: int, players_left: int) -> bool:
    """Tell whether a hand of Telesina beats another.

    With exactly two players left in the pot the royal flush in hearts loses to the lowest
    straight flush in spades. Source: K 10.11.9.9.
    """
    if players_left == 2:
        if (one, other) == (LOWEST_IN_SPADES, ROYAL_IN_HEARTS):
            return True
        if (one, other) == (ROYAL_IN_HEARTS, LOWEST_IN_SPADES):
            return False
    return one > other


def name(strength: int) -> str:
    """Say which kind of hand a strength is."""
    return KINDS[strength >> _WIDTH * _DIGITS]


def _arranged(five: Sequence[int]) -> tuple[int, Sequence[int]]:
    """Find the kind of hand, and put its cards into the order in which they decide."""
    ranks = [card >> 2 for card in five]
    groups = sorted(((ranks.count(rank), rank) for rank in set(ranks)), reverse=True)
    place = {rank: number for number, (_, rank) in enumerate(groups)}
    ordered = sorted(five, key=lambda card: (place[card >> 2], -_ORDER[card]))
    kind = _OF_GROUPS[tuple(count for count, _ in groups)]
    if kind != _HIGH_CARD:
        return kind, ordered
    flush = len({card & 3 for card in five}) == 1
    straight = max(ranks) - min(ranks) == 4
    if sorted(ranks) == [_SEVEN, _SEVEN + 1, _SEVEN + 2, _TEN, _ACE]:
        straight, ordered = True, [*ordered[1:], ordered[0]]
    if straight:
        return (_STRAIGHT_FLUSH if flush else _STRAIGHT), ordered
    return (_FLUSH if flush else _HIGH_CARD), ordered


def _strength(kind: int, digits: Iterable[int]) -> int:
    strength, left = kind, _DIGITS
    for digit in digits:
        strength = (strength << _WIDTH) + digit
        left -= 1
    return strength << _WIDTH * left


ROYAL_IN_HEARTS: Final = _telesina(deck.numbers(("Ah", "Kh", "Qh", "Jh", "Th")))
LOWEST_IN_SPADES: Final = _telesina(deck.numbers(("Ts", "9s", "8s", "7s", "As")))
