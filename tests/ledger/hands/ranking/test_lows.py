"""Eight or better, and deuce to seven."""

from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.hands.deck import RANKS
from ledger.hands.games import Uses
from ledger.hands.ranking import lows
from tests.ledger.hands.ranking.hands import hand, is_falling

# K 10.5.6, K 10.8.6; ace low, straights and flushes do not count.
EIGHT_OR_BETTER = [
    ("5c 4d 3h 2s Ac", "5-4-3-2-A low"),
    ("6c 4c 3c 2c Ac", "6-4-3-2-A low"),
    ("6c 5d 3h 2s Ac", "6-5-3-2-A low"),
    ("6c 5d 4h 3s 2c", "6-5-4-3-2 low"),
    ("7c 4d 3h 2s Ac", "7-4-3-2-A low"),
    ("8c 4d 3h 2s Ac", "8-4-3-2-A low"),
    ("8c 7d 6h 5s 4c", "8-7-6-5-4 low"),
]


def low(own: str, board: str = "", uses: Uses = "any-five") -> int | None:
    return lows.eight_or_better(uses, hand(own), hand(board))


def test_every_low_of_the_ladder_beats_the_next() -> None:
    assert is_falling([low(cards) or 0 for cards, _ in EIGHT_OR_BETTER])


@pytest.mark.parametrize(("cards", "name"), EIGHT_OR_BETTER)
def test_a_low_is_written_out(cards: str, name: str) -> None:
    assert lows.name(low(cards) or 0) == name


@pytest.mark.parametrize(
    ("own", "board", "uses", "name"),
    [
        # seven cards: the five lowest ranks
        ("Ac Ad 2c 3h 4s 9d Kc", "", "any-five", None),
        ("Ac Ad 2c 3h 4s 8d Kc", "", "any-five", "8-4-3-2-A low"),
        ("Ac 2d 3c 4h 5s 6d 7c", "", "any-five", "5-4-3-2-A low"),
        # exactly two and three: the ace on the board counterfeits the one in the hand
        ("Ac 2d Kh Ks", "3c 4d 8h Ks Qc", "two-and-three", "8-4-3-2-A low"),
        ("Ac 2d Kh Ks", "Ad 4d 8h Ks Qc", "two-and-three", None),
        ("Ac 2d 3h Ks", "Ad 4d 8h Ks Qc", "two-and-three", "8-4-3-2-A low"),
        ("Ac 2d 3h 4s", "5d 6d Kh Ks Qc", "two-and-three", None),
        ("Ac 2d 3h 4s", "5d 6d 7h Ks Qc", "two-and-three", "7-6-5-2-A low"),
        ("Kc Kd Qh 2s", "3d 4d 5h 6s 7c", "two-and-three", None),
    ],
)
def test_which_cards_make_a_low(own: str, board: str, uses: Uses, name: str | None) -> None:
    found = low(own, board, uses)
    assert (found and lows.name(found)) == name


def brute(uses: Uses, own: list[int], board: list[int]) -> list[int] | None:
    """Find the best low by trying all ways, as ranks from the highest down, the ace a 1."""
    ways = (
        [(*two, *three) for two in combinations(own, 2) for three in combinations(board, 3)]
        if uses == "two-and-three"
        else list(combinations([*own, *board], 5))
    )
    low_ranks = [sorted({(card // 4 + 1) % 13 + 1 for card in way}, reverse=True) for way in ways]
    return min((ranks for ranks in low_ranks if len(ranks) == 5 and ranks[0] <= 8), default=None)


@given(
    st.integers(min_value=0),
    st.sampled_from([("two-and-three", 4, 5), ("any-five", 7, 0), ("any-five", 6, 1)]),
)
def test_the_best_low_is_found_in_any_cards(seed: int, game: tuple[Uses, int, int]) -> None:
    uses, own, board = game
    # Low cards only: with all 52, most deals have no low.
    pack = [card for card in range(52) if card // 4 in (12, *range(8))]
    cards = Random(seed).sample(pack, own + board)
    found = lows.eight_or_better(uses, cards[:own], cards[own:])
    expected = brute(uses, cards[:own], cards[own:])
    written = expected and "-".join("?A2345678"[rank] for rank in expected) + " low"
    assert (found and lows.name(found)) == written


# K 10.10.1: the lowest hand wins, aces are high only, straights and flushes count against.
DEUCE_TO_SEVEN = [
    ("7c 5d 4h 3s 2c", "no pair"),
    ("7c 6d 4h 3s 2c", "no pair"),
    ("7c 6d 5h 4s 2c", "no pair"),
    ("8c 5d 4h 3s 2c", "no pair"),
    ("Kc Qd Jh Ts 8c", "no pair"),
    ("Ac 5d 4h 3s 2c", "no pair"),  # an ace high, and no straight
    ("Ac 6d 4h 3s 2c", "no pair"),
    ("Ac Kd Qh Js 9c", "no pair"),
    ("2c 2d 5h 4s 3c", "pair"),
    ("Ac Ad Kh Qs Jc", "pair"),
    ("3c 3d 2h 2s 4c", "two pair"),
    ("2c 2d 2h 4s 3c", "three of a kind"),
    ("6c 5d 4h 3s 2c", "straight"),
    ("Ac Kd Qh Js Tc", "straight"),
    ("7c 5c 4c 3c 2c", "flush"),
    ("Kc Qc Jc Tc 8c", "flush"),
    ("Ac 5c 4c 3c 2c", "flush"),  # no straight flush
    ("Ac 6c 4c 3c 2c", "flush"),
    ("2c 2d 2h 3s 3c", "full house"),
    ("2c 2d 2h 2s 3c", "four of a kind"),
    ("6c 5c 4c 3c 2c", "straight flush"),
    ("Ac Kc Qc Jc Tc", "royal flush"),
]


def test_every_hand_of_the_ladder_is_lower_than_the_next() -> None:
    assert is_falling([lows.deuce_to_seven(hand(cards)) for cards, _ in DEUCE_TO_SEVEN])


@pytest.mark.parametrize(("cards", "name"), DEUCE_TO_SEVEN)
def test_a_hand_of_deuce_to_seven_has_its_name(cards: str, name: str) -> None:
    assert lows.deuce_to_seven_name(lows.deuce_to_seven(hand(cards))) == name


def height(cards: list[int]) -> tuple[object, ...]:
    """Order hands as deuce to seven does, the lowest first, without the evaluator."""
    ranks = sorted((card // 4 for card in cards), reverse=True)
    groups = sorted(((ranks.count(rank), rank) for rank in set(ranks)), reverse=True)
    counts = [count for count, _ in groups]
    straight = len(groups) == 5 and ranks[0] - ranks[4] == 4
    flush = len({card % 4 for card in cards}) == 1
    kinds = [
        [1, 1, 1, 1, 1], [2, 1, 1, 1], [2, 2, 1], [3, 1, 1], "straight", "flush", [3, 2], [4, 1],
    ]  # fmt: skip
    if straight and flush:
        return (8, groups)
    if straight or flush:
        return (kinds.index("straight" if straight else "flush"), groups)
    return (kinds.index(counts), groups)


@given(st.integers(min_value=0))
def test_deuce_to_seven_is_ordered_as_its_rules_say(seed: int) -> None:
    rng = Random(seed)
    # Few ranks: so that pairs, straights and wheels come up.
    pack = [card for card in range(52) if RANKS[card // 4] in "A234567"]
    one, other = rng.sample(pack, 5), rng.sample(pack, 5)
    lower = lows.deuce_to_seven(one) > lows.deuce_to_seven(other)
    assert lower == (height(one) < height(other))
