"""The pack of 52, and which of several hands is the better one."""

from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import Final

from phevaluator import (  # type: ignore[import-untyped]
    evaluate_cards,
    evaluate_omaha_cards,
)

RANKS: Final = "23456789TJQKA"
SUITS: Final = "cdhs"
"""From the lowest to the highest, as a bring-in ranks them. Source: K 10.7.5."""

PACK: Final = tuple(rank + suit for rank in RANKS for suit in SUITS)

LOWEST_STRAIGHT: Final = 1609
"""In the evaluator's order 1 is the royal flush; from 1610 on there is no straight or better."""


def shuffled(rng: Random) -> list[str]:
    """Shuffle a pack; cards are dealt from its end."""
    pack = list(PACK)
    rng.shuffle(pack)
    return pack


def stacked(rng: Random, first: Sequence[str]) -> list[str]:
    """Shuffle a pack from which these cards are dealt first, in their order."""
    return [card for card in shuffled(rng) if card not in first] + list(reversed(first))


def rank(card: str) -> int:
    """Return a card's rank: 0 for a deuce, 12 for an ace."""
    return RANKS.index(card[0])


def order(card: str) -> tuple[int, int]:
    """Order cards by rank, then by suit."""
    return rank(card), SUITS.index(card[1])


def high(game: str, own: Sequence[str], board: Sequence[str]) -> int:
    """Return the strength of a hand at showdown, 1 being the best."""
    if game in ("Omaha", "OmahaHiLo"):
        return int(evaluate_omaha_cards(*board, *own))
    return int(evaluate_cards(*own, *board))


def low(own: Sequence[str], board: Sequence[str]) -> tuple[int, ...] | None:
    """Return the strength of the best Omaha low, the smallest being the best; None without one.

    Five different ranks, eight or lower, two of them from the hand and three from the board; the
    ace is low, straights and flushes do not count. Source: K 10.6.
    """
    mine = {_low_rank(card) for card in own}
    theirs = {_low_rank(card) for card in board}
    lows = [
        tuple(sorted({*pair, *triple}, reverse=True))
        for pair in combinations([r for r in mine if r <= 8], 2)
        for triple in combinations([r for r in theirs if r <= 8], 3)
    ]
    return min((hand for hand in lows if len(hand) == 5), default=None)


def _low_rank(card: str) -> int:
    return 1 if card[0] == "A" else rank(card) + 2


def showing(cards: Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the strength of up to four cards that lie open, the greatest being the best.

    Pairs, three and four of a kind count; so few cards make neither a straight nor a flush.
    """
    ranks = [rank(card) for card in cards]
    groups = sorted(((ranks.count(r), r) for r in set(ranks)), reverse=True)
    return tuple(count for count, _ in groups), tuple(r for _, r in groups)


def discards(rng: Random, hand: Sequence[str], most: int) -> list[str]:
    """Choose what a player of five-card draw throws away, at most so many cards.

    He stands pat on a straight or better, keeps what is paired, else his two highest cards; now
    and then he does as he pleases.
    """
    whim = rng.random()
    if whim < 0.04:
        return rng.sample(list(hand), min(most, rng.randint(0, 5)))
    if evaluate_cards(*hand) <= LOWEST_STRAIGHT:
        return []
    ranks = [card[0] for card in hand]
    loose = [card for card in hand if ranks.count(card[0]) == 1]
    if len(loose) == 5:
        loose = sorted(hand, key=order)[:3]
    return loose[:most]
