"""Three hundred random hands of each game that PokerKit knows are settled as it settles them.

``make oracle`` tries ten thousand of each.
"""

from collections import Counter

import pytest

from tests.oracle.compare import compare
from tests.oracle.games import GAMES, Game

HANDS = 300


@pytest.mark.parametrize("game", GAMES, ids=[game.title for game in GAMES])
def test_the_judge_settles_hands_as_pokerkit_does(game: Game) -> None:
    seen: Counter[str] = Counter()
    for seed in range(HANDS):
        comparison = compare(game, seed)
        assert comparison.agrees, (game.title, seed, comparison)
        seen["showdowns"] += comparison.showdown
        seen["side pots"] += len(comparison.expected.pots) > 1
        seen["halves"] += any(half for paid in comparison.expected.paid for _, half in paid)
        seen["split"] += any(len(paid) > 1 for paid in comparison.expected.paid)
    # What is compared is worth comparing.
    assert seen["showdowns"] > HANDS // 2
    assert seen["side pots"] > HANDS // 10
    assert bool(seen["halves"]) == game.name.endswith("HiLo")
