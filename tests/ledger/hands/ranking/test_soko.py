"""Soko: four-flushes and four-straights. Source: K 10.6."""

from collections import Counter
from itertools import combinations
from math import comb

import pytest

from ledger.hands.ranking import soko
from tests.ledger.hands.ranking.hands import hand, is_falling

# K 10.6.9; ties inside by the ranks of the four, then the fifth (reading).
LADDER = [
    ("Ah Kh Qh Jh Th", "royal flush"),
    ("9c 8c 7c 6c 5c", "straight flush"),
    ("2c 2d 2h 2s Ac", "four of a kind"),
    ("Kc Kd Kh 2s 2c", "full house"),
    ("7s 5s 4s 3s 2s", "flush"),
    ("5c 4d 3h 2s Ac", "straight"),
    ("2c 2d 2h 4s 3c", "three of a kind"),
    ("3c 3d 2h 2s 4c", "two pair"),
    ("Ah Kh Qh Jh 9c", "four-flush"),
    ("Ah Qh Jh 9h Kc", "four-flush"),  # the four decide before the fifth
    ("Ah 4h 3h 2h Kc", "four-flush"),
    ("Ah 4h 3h 2h Qc", "four-flush"),
    ("Kh Qh Jh 9h Kc", "four-flush"),  # a pair besides is no more than its fifth card
    ("Kh Qh Jh 9h 2c", "four-flush"),
    ("5h 4h 3h 2h Kc", "four-flush"),  # also a four-straight, but a four-flush is more
    ("Ac Kd Qh Js Ad", "four-straight"),
    ("Ac Kd Qh Js 9c", "four-straight"),
    ("Kc Qd Jh Ts 8c", "four-straight"),
    ("8c 7d 6h 5s 8d", "four-straight"),
    ("8c 7d 6h 5s 5c", "four-straight"),
    ("5c 4d 3h 2s Kc", "four-straight"),
    ("4c 3d 2h As Ac", "four-straight"),
    ("4c 3d 2h As Kc", "four-straight"),
    ("4c 3d 2h As 2c", "four-straight"),  # the lowest
    ("Ac Ad Kh Qs 9c", "pair"),
    ("2c 2d 5h 4s 7c", "pair"),
    ("Ac Kd Qh 9s 8c", "high card"),
    ("Kc Ad 2h 3s 7c", "high card"),  # K-A-2-3 does not go round the corner
]


def test_every_hand_of_the_ladder_beats_the_next() -> None:
    assert is_falling([soko.strength(hand(cards)) for cards, _ in LADDER])


@pytest.mark.parametrize(("cards", "name"), LADDER)
def test_a_hand_has_its_name(cards: str, name: str) -> None:
    assert soko.name(soko.strength(hand(cards))) == name


def test_the_same_ranks_split_whatever_their_suits() -> None:
    assert soko.strength(hand("Kh Qh Jh 9h 2c")) == soko.strength(hand("Ks Qs Js 9s 2d"))
    assert soko.strength(hand("Kc Qd Jh Ts 8c")) == soko.strength(hand("Kd Qs Jc Th 8s"))


def four_flushes() -> tuple[int, int]:
    """Count four of a suit and one of another, less the straights among them; those with a pair."""
    straights = 10 * 5 * 4 * 3
    paired = 4 * comb(13, 4) * 4 * 3
    return 4 * comb(13, 4) * 39 - straights, paired


def four_straights() -> tuple[int, int]:
    """Count four in a row and a fifth that neither completes a straight nor makes a four-flush.

    Of eleven runs A-2-3-4 and J-Q-K-A are completed by one rank, the others by two. Five cards of
    five ranks have 4 flushes and 60 four-flushes; with a pair, 12 four-flushes for each suit.
    """
    loose = (2 * 8 + 9 * 7) * (4**5 - 4 - 5 * 4 * 3)
    paired = 11 * (4 * comb(4, 2) * 4**3 - 4 * 4 * 3)
    return loose + paired, paired


def test_of_all_hands_of_five_each_kind_is_as_frequent_as_it_must_be() -> None:
    pairs = 13 * comb(4, 2) * comb(12, 3) * 4**3
    high_cards = (comb(13, 5) - 10) * (4**5 - 4)
    flushes, paired_flushes = four_flushes()
    straights, paired_straights = four_straights()
    expected = {
        "royal flush": 4,
        "straight flush": 36,
        "four of a kind": 13 * 48,
        "full house": 13 * 4 * 12 * 6,
        "flush": 4 * comb(13, 5) - 40,
        "straight": 10 * 4**5 - 40,
        "three of a kind": 13 * 4 * comb(12, 2) * 4**2,
        "two pair": comb(13, 2) * 6 * 6 * 44,
        "four-flush": flushes,
        "four-straight": straights,
        "pair": pairs - paired_flushes - paired_straights,
        "high card": high_cards - (flushes - paired_flushes) - (straights - paired_straights),
    }
    assert (flushes, straights) == (110_940, 92_208)
    assert sum(expected.values()) == comb(52, 5)
    strengths = Counter(map(soko.strength, combinations(range(52), 5)))
    found: Counter[str] = Counter()
    for strength, count in strengths.items():
        found[soko.name(strength)] += count
    assert found == expected
