"""Soko: a four-flush and a four-straight rank between a pair and two pair. Source: K 10.6.9.

Otherwise the ranking is the ordinary one. Hands tie and are split; suits never count.
"""

from collections.abc import Sequence
from typing import Final

from ledger.hands.ranking import ordinary

_FOUR_STRAIGHT: Final = 5_000
_FOUR_FLUSH: Final = 10_000
_TWO_PAIR: Final = 500_000
"""Where the strengths of these classes begin; a pair and less keep their ordinary strength."""


def _four_straights() -> dict[int, tuple[int, ...]]:
    """Know a four-straight by the set of a hand's ranks: the ace counts low in A-2-3-4 as well."""
    runs = [(2, 1, 0, 12), *((top, top - 1, top - 2, top - 3) for top in range(3, 13))]
    return {sum(1 << rank for rank in {*run, fifth}): run for run in runs for fifth in range(13)}


_RUNS: Final = _four_straights()


def strength(cards: Sequence[int]) -> int:
    """Rank five cards; the highest wins."""
    value = ordinary.value(cards)
    if value <= ordinary.LAST_TWO_PAIR:
        return _TWO_PAIR + ordinary.WEAKEST - value
    suits = [card & 3 for card in cards]
    for suit in suits[:2]:
        if suits.count(suit) == 4:
            return _FOUR_FLUSH + _four_flush(cards, suit)
    ranks = [card >> 2 for card in cards]
    run = _RUNS.get(_set_of(ranks))
    if run is not None:
        return _FOUR_STRAIGHT + 13 * run[0] + sum(ranks) - sum(run)
    return ordinary.WEAKEST + 1 - value


def name(strength: int) -> str:
    """Say which kind of hand a strength is."""
    if strength >= _TWO_PAIR:
        return ordinary.name(strength - _TWO_PAIR + 1)
    if strength >= _FOUR_FLUSH:
        return "four-flush"
    if strength >= _FOUR_STRAIGHT:
        return "four-straight"
    return ordinary.name(strength)


def _four_flush(cards: Sequence[int], suit: int) -> int:
    """Order four-flushes by the ranks of the four, then by the fifth card *(reading)*."""
    four = sorted((card >> 2 for card in cards if card & 3 == suit), reverse=True)
    order = 0
    for rank in four:
        order = order * 13 + rank
    return order * 13 + sum(card >> 2 for card in cards if card & 3 != suit)


def _set_of(ranks: Sequence[int]) -> int:
    found = 0
    for rank in ranks:
        found |= 1 << rank
    return found
