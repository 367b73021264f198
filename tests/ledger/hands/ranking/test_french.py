"""The deck of 32: Americana, and Telesina with its suits. Source: K 10.11, K 10.12."""

from collections import Counter
from functools import cmp_to_key
from itertools import combinations, product
from math import comb
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ledger.hands import deck
from ledger.hands.ranking import french
from tests.ledger.hands.ranking.hands import hand, is_falling

PACK = deck.numbers(sorted(deck.deck("7")))

# K 10.12.9: a flush beats a full house; A-7-8-9-10 is the lowest straight.
AMERICANA = [
    ("Ah Kh Qh Jh Th", "straight flush"),
    ("Jc Tc 9c 8c 7c", "straight flush"),
    ("Tc 9c 8c 7c Ac", "straight flush"),
    ("Ac Ad Ah As 7c", "four of a kind"),
    ("7c 7d 7h 7s Ac", "four of a kind"),
    ("Ac Qc Tc 9c 7c", "flush"),
    ("Qc Jc 9c 8c 7c", "flush"),
    ("Ac Ad Ah Ks Kc", "full house"),
    ("7c 7d 7h 8s 8c", "full house"),
    ("Ac Kd Qh Js Tc", "straight"),
    ("Jc Td 9h 8s 7c", "straight"),
    ("Tc 9d 8h 7s Ac", "straight"),
    ("Ac Ad Ah 8s 7c", "three of a kind"),
    ("Ac Ad 7h 7s 8c", "two pair"),
    ("Kc Kd Qh Qs Ac", "two pair"),
    ("Ac Ad 9h 8s 7c", "pair"),
    ("7c 7d Ah Ks Qc", "pair"),
    ("Ac Kd Qh Js 9c", "high card"),
    ("Qc Jd 9h 8s 7c", "high card"),
]


def test_every_hand_of_americana_s_ladder_beats_the_next() -> None:
    assert is_falling([french.americana(hand(cards)) for cards, _ in AMERICANA])


@pytest.mark.parametrize(("cards", "name"), AMERICANA)
def test_a_hand_has_its_name(cards: str, name: str) -> None:
    assert french.name(french.americana(hand(cards))) == name


def test_in_americana_suits_never_count() -> None:
    for one, other in (
        ("Ah Kh Qh Jh Th", "As Ks Qs Js Ts"),
        ("Ac Qc Tc 9c 7c", "Ah Qh Th 9h 7h"),
        ("Ac Ad 9h 8s 7c", "Ah As 9c 8d 7h"),
    ):
        assert french.americana(hand(one)) == french.americana(hand(other))


# Two players' own cards and the vela: the first wins. Suits: hearts, diamonds, clubs, spades.
TELESINA = [
    ("9.1 the ace's suit before the second card", "AhQc9d8s7c", "AdKc9c8d7s", "Js"),
    ("9.1 rank before suit", "AsQc9d8s7c", "KhQd9c8d7s", "Js"),
    ("9.1 the vela is both's highest: the next by rank", "KsJd9d8s7c", "QhJc9c8d7s", "As"),
    ("9.1 the vela is both's highest: the next by suit", "KhJd9d8s7c", "KcJc9c8d7s", "As"),
    ("9.2 the pair's rank before its kickers", "9s9cQd8s7c", "8h8dAdKc7h", "Js"),
    ("9.2 the kicker's rank before its suit", "9s9cAs8s7c", "9h9dKh8d7h", "Js"),
    ("9.2 the kicker's suit", "9s9cAh8s7c", "9h9dAd8d7h", "Ks"),
    ("9.2 the kicker's suit before the next card", "9s9cAhJs7c", "9h9dAdQd7h", "Ks"),
    ("9.2 the vela is both's kicker: the next by rank", "9s9cKs8s7c", "9h9dQh8d7h", "As"),
    ("9.2 the vela is both's kicker: the next by suit", "9s9cKc8s7c", "9h9dKs8d7h", "As"),
    ("9.2 the vela pairs both", "9sAhKc8s7c", "9hAdQh8d7h", "9c"),
    ("9.3 the higher pair", "AsAc8s8c7s", "KhKdQhQd7h", "9s"),
    ("9.3 the lower pair", "AsAc9s9c7s", "AhAd8h8dTh", "Ks"),
    ("9.3 the kicker's rank", "AsAc9s9cKs", "AhAd9h9dQh", "7s"),
    ("9.3 the kicker's suit (reading)", "AsAc9s9cKd", "AhAd9h9dKc", "7s"),
    ("9.3 the vela is both's kicker: the higher pair's suit", "AhAs9s9c7c", "AdAc9h9d8h", "Ks"),
    ("9.4 three of a kind by rank", "AsAcAdKc7s", "KhKdKs8h9h", "Jc"),
    ("9.5 the straight's highest card", "AsKsQcJdTh", "KhQhJhTd9h", "7c"),
    ("9.5 the highest card's suit", "KhQsJsTc9s", "KdQhJhTh9h", "7c"),
    ("9.5 the lowest straight ends in a ten", "JcTc9d8s7c", "AhTh9h8d7d", "Kd"),
    ("9.5 the ten's suit, not the ace's", "AcTd9c8s7c", "AhTs9h8d7h", "Ks"),
    ("9.5 the vela is both's highest: the next's suit", "QhJsTs9d7s", "QdJhTh9h7h", "Kc"),
    ("9.6 full house by its three", "9s9c9d7c7s", "8h8d8sAhAd", "Kc"),
    ("9.7 a flush by suit alone", "Jh9h8h7hQh", "AdKdQdTd9d", "Kc"),
    ("9.7 a flush beats a full house", "QsJs9s8s7s", "AhAdAcKhKd", "Tc"),
    ("9.8 four of a kind beats a flush", "7s7c7d7hTc", "AhKhQh9h8h", "8s"),
    ("9.9 the highest card before the suit", "KsQsJsTs9s", "QhJhTh9h8h", "7c"),
    ("9.9 the highest card's suit", "QhJhTh9h8h", "QdJdTd9d8d", "7c"),
    ("9.9 the lowest ends in a ten", "JsTs9s8s7s", "AhTh9h8h7h", "Kc"),
    ("9.9 two players: lowest spades, royal hearts", "Ts9s8s7sAs", "AhKhQhJhTh", "8c"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "vela"),
    [case[1:] for case in TELESINA],
    ids=[f"K 10.11.{case[0]}" for case in TELESINA],
)
def test_suits_count_inside_a_hand_of_telesina(one: str, other: str, vela: str) -> None:
    assert len({*hand(one), *hand(other), *hand(vela)}) == 11
    first, second = (french.telesina(hand(own), hand(vela)) for own in (one, other))
    assert french.telesina_beats(first, second, 2)
    assert not french.telesina_beats(second, first, 2)


def test_the_royal_flush_in_hearts_loses_to_the_lowest_in_spades_between_two_players_only() -> None:
    """K 10.11.9.9"""
    royal = french.telesina(hand("AhKhQhJhTh"), hand("7c"))
    lowest = french.telesina(hand("Ts9s8s7sAs"), hand("7c"))
    assert not french.telesina_beats(lowest, royal, 3)
    assert french.telesina_beats(royal, lowest, 3)
    # Neither another royal flush nor another straight flush in spades is meant.
    other_royal = french.telesina(hand("AdKdQdJdTd"), hand("7c"))
    jack_high = french.telesina(hand("JsTs9s8s7s"), hand("7c"))
    assert french.telesina_beats(other_royal, lowest, 2)
    assert french.telesina_beats(royal, jack_high, 2)


# -- the order of Telesina, once more in the words of its rules --------------------------------

SUITS = "scdh"
"""From the lowest to the highest. Source: K 10.11.9.1."""


def kind_of(cards: list[int]) -> str:
    counts = sorted(Counter(card // 4 for card in cards).values(), reverse=True)
    flush = len({card % 4 for card in cards}) == 1
    if counts[0] == 1:
        ranks = "".join(sorted((deck.RANKS[card // 4] for card in cards), key=deck.RANKS.index))
        straight = ranks in deck.RANKS or ranks == "789TA"
        if straight:
            return "straight flush" if flush else "straight"
        return "flush" if flush else "high card"
    return {
        (4, 1): "four of a kind",
        (3, 2): "full house",
        (3, 1, 1): "three of a kind",
        (2, 2, 1): "two pair",
        (2, 1, 1, 1): "pair",
    }[tuple(counts)]


KINDS = ["high card", "pair", "two pair", "three of a kind", "straight", "full house", "flush",
         "four of a kind", "straight flush"]  # fmt: skip


def sign(one: object, other: object) -> int:
    return (one > other) - (one < other)  # type: ignore[operator]


def place(card: int) -> tuple[int, int]:
    """Order a card by rank, then by suit."""
    return card // 4, SUITS.index(deck.SUITS[card % 4])


def with_count(cards: list[int], count: int) -> list[int]:
    """Return the cards whose rank occurs so often, the highest first."""
    ranks = Counter(card // 4 for card in cards)
    return sorted((card for card in cards if ranks[card // 4] == count), key=place, reverse=True)


def top(cards: list[int]) -> list[int]:
    """Order the cards of a straight from its top: in A-7-8-9-10 the ten."""
    ordered = sorted(cards, key=place, reverse=True)
    ranks = [card // 4 for card in ordered[:2]]
    low = ranks == [deck.RANKS.index("A"), deck.RANKS.index("T")]
    return [*ordered[1:], ordered[0]] if low else ordered


def compare(one: list[int], other: list[int]) -> int:
    """Compare two hands of five as K 10.11.9 says: 1 when the first wins, 0 when neither does."""
    kind, other_kind = kind_of(one), kind_of(other)
    if kind != other_kind:
        return sign(KINDS.index(kind), KINDS.index(other_kind))
    if kind == "flush":
        return sign(place(one[0])[1], place(other[0])[1])
    if kind in ("four of a kind", "full house", "three of a kind"):
        count = 4 if kind == "four of a kind" else 3
        return sign(with_count(one, count)[0] // 4, with_count(other, count)[0] // 4)
    if kind in ("straight", "straight flush"):
        return sign([place(card) for card in top(one)], [place(card) for card in top(other)])
    pairs = [sorted({card // 4 for card in with_count(five, 2)}) for five in (one, other)]
    if pairs[0] != pairs[1]:
        return sign(pairs[0][::-1], pairs[1][::-1])
    for kicker, other_kicker in zip(with_count(one, 1), with_count(other, 1), strict=True):
        if kicker != other_kicker:
            return sign(place(kicker), place(other_kicker))
    # All kickers are the same cards: the suits of the (higher) pair.
    highest, other_highest = with_count(one, 2)[:2], with_count(other, 2)[:2]
    return sign([place(card) for card in highest], [place(card) for card in other_highest])


def best(own: list[int], vela: int) -> list[int]:
    return max(map(list, combinations([*own, vela], 5)), key=cmp_to_key(compare))


@given(st.integers(min_value=0))
def test_telesina_is_ordered_as_its_rules_say(seed: int) -> None:
    deal = Random(seed).sample(PACK, 11)
    one, other, vela = deal[:5], deal[5:10], deal[10]
    mine, theirs = french.telesina(one, [vela]), french.telesina(other, [vela])
    expected = compare(best(one, vela), best(other, vela))
    assert sign(mine, theirs) == expected
    # No two hands of one deal are equal.
    assert expected != 0


@given(st.integers(min_value=0))
def test_whoever_beats_the_winner_of_two_beats_both(seed: int) -> None:
    """The order is an order: the exception of the royal flush in hearts apart."""
    rng = Random(seed)
    deals = [rng.sample(PACK, 6) for _ in range(3)]
    hands = [french.telesina(own, [vela]) for vela, *own in deals]
    assume(french.ROYAL_IN_HEARTS not in hands)
    for one, other, third in product(hands, repeat=3):
        beats = french.telesina_beats
        assert not (beats(one, other, 2) and beats(other, one, 2))
        if beats(one, other, 2) and beats(other, third, 2):
            assert beats(one, third, 2)


# -- how often each kind of hand is dealt ------------------------------------------------------


def counts() -> dict[str, int]:
    """Count the hands of five in the deck of 32: eight ranks, five straights."""
    found = {
        "straight flush": 5 * 4,
        "four of a kind": 8 * 28,
        "flush": 4 * comb(8, 5) - 5 * 4,
        "full house": 8 * comb(4, 3) * 7 * comb(4, 2),
        "straight": 5 * 4**5 - 5 * 4,
        "three of a kind": 8 * comb(4, 3) * comb(7, 2) * 4**2,
        "two pair": comb(8, 2) * comb(4, 2) ** 2 * 6 * 4,
        "pair": 8 * comb(4, 2) * comb(7, 3) * 4**3,
    }
    return {**found, "high card": (comb(8, 5) - 5) * (4**5 - 4)}


def test_of_all_hands_of_americana_each_kind_is_as_frequent_as_it_must_be() -> None:
    assert sum(counts().values()) == comb(32, 5) == 201_376
    found = Counter(french.name(french.americana(five)) for five in combinations(PACK, 5))
    assert found == counts()


def test_of_all_hands_of_telesina_each_kind_is_as_frequent_as_it_must_be() -> None:
    found = Counter(french.name(french.telesina(five, ())) for five in combinations(PACK, 5))
    assert found == counts()
