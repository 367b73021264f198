"""The ordinary ranking, from the royal flush down, and Omaha's two and three."""

from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.hands.ranking import ordinary
from tests.ledger.hands.ranking.hands import hand, is_falling

# K 10.3.6 and D (Håndrangering), each hand beats those under it.
LADDER = [
    ("Ah Kh Qh Jh Th", "royal flush"),
    ("Ks Qs Js Ts 9s", "straight flush"),
    ("5d 4d 3d 2d Ad", "straight flush"),  # the ace is 1 only in a straight
    ("Ac Ad Ah As 2c", "four of a kind"),
    ("2c 2d 2h 2s Ac", "four of a kind"),
    ("Ac Ad Ah 2s 2c", "full house"),
    ("Kc Kd Kh As Ac", "full house"),
    ("Ac Qc 9c 6c 3c", "flush"),
    ("Ac Qc 9c 6c 2c", "flush"),
    ("7s 5s 4s 3s 2s", "flush"),
    ("Ac Kd Qh Js Tc", "straight"),
    ("6c 5d 4h 3s 2c", "straight"),
    ("5c 4d 3h 2s Ac", "straight"),
    ("Ac Ad Ah 3s 2c", "three of a kind"),
    ("Kc Kd Kh As Qc", "three of a kind"),
    ("Ac Ad 3h 3s 2c", "two pair"),
    ("Kc Kd Qh Qs Ac", "two pair"),
    ("Kc Kd Qh Qs Jc", "two pair"),
    ("Ac Ad 4h 3s 2c", "pair"),
    ("Kc Kd Ah Qs Jc", "pair"),
    ("Kc Kd Ah Qs Tc", "pair"),
    ("Ac Kd Qh Js 9c", "high card"),
    ("Ac Kd Qh Js 8c", "high card"),
    ("7c 5d 4h 3s 2c", "high card"),
]


def test_every_hand_of_the_ladder_beats_the_next() -> None:
    assert is_falling([ordinary.strength(hand(cards)) for cards, _ in LADDER])


@pytest.mark.parametrize(("cards", "name"), LADDER)
def test_a_hand_has_its_name(cards: str, name: str) -> None:
    assert ordinary.name(ordinary.strength(hand(cards))) == name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ah Kh Qh Jh Th", "As Ks Qs Js Ts"),
        ("Ac Qc 9c 6c 3c", "As Qs 9s 6s 3s"),
        ("Ac Kd Qh Js 9c", "Ah Ks Qc Jd 9h"),
    ],
)
def test_suits_never_count(one: str, other: str) -> None:
    """K 10.3.6: the same hand splits the pot."""
    assert ordinary.strength(hand(one)) == ordinary.strength(hand(other))


def test_the_best_five_of_seven_count() -> None:
    seven = hand("As Ks 2s 7s 9s 9d 9h")
    assert ordinary.strength(seven) == ordinary.strength(hand("As Ks 9s 7s 2s"))


def test_a_short_deck_has_no_low_straight_but_a_2_3_4_5() -> None:
    """G: the ace ends the highest straight, and begins A-2-3-4-5, which a deck from 7 has not."""
    assert ordinary.name(ordinary.strength(hand("Ac 7d 8h 9s Tc"))) == "high card"
    assert ordinary.name(ordinary.strength(hand("Ac 6d 7h 8s 9c"))) == "high card"
    assert ordinary.name(ordinary.strength(hand("Ac Td Jh Qs Kc"))) == "straight"


def brute(own: list[int], board: list[int]) -> int:
    """Try every two own cards with every three of the board."""
    return max(
        ordinary.strength((*two, *three))
        for two in combinations(own, 2)
        for three in combinations(board, 3)
    )


@pytest.mark.parametrize(
    ("own", "board", "name"),
    [
        # K 10.4.6: exactly two of the hand, so the board's four spades need a second one
        ("As Kd Qd Jd", "2s 5s 8s Ts 3h", "high card"),
        ("As 4s Qd Jd", "2s 5s 8s Ts 3h", "flush"),
        # three aces in the hand are no more than two
        ("Ac Ad Ah Kd", "As 2d 7h 9s Jc", "three of a kind"),
        # the board's straight is not enough
        ("2c 2d Kh Ks", "5c 6d 7h 8s 9c", "pair"),
        # five own cards
        ("2c 2d Kh Ks 3c", "Kc Kd 7h 8s 9c", "four of a kind"),
    ],
)
def test_omaha_uses_two_and_three(own: str, board: str, name: str) -> None:
    assert ordinary.name(ordinary.strength_of_two_and_three(hand(own), hand(board))) == name


@given(st.integers(min_value=0), st.sampled_from([4, 5]))
def test_omaha_takes_the_best_of_all_ways(seed: int, own: int) -> None:
    cards = Random(seed).sample(range(52), own + 5)
    mine, board = cards[:own], cards[own:]
    assert ordinary.strength_of_two_and_three(mine, board) == brute(mine, board)
