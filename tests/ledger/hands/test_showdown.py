"""Who wins a pot by the cards, in every game; odd units, halves, side pots and two boards.

Seats run alice, bob, carol, dave; the last of them is the dealer, so that alice sits left of him.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest

from tests.ledger.hands.posts import Wins, judged
from tests.ledger.hands.showdowns import a_showdown, found, winners


class Case(NamedTuple):
    """A hand at its end and who wins it; everyone put 4.00 into the pot."""

    says: str
    game: str
    hands: Mapping[str, str]
    board: str
    wins: str


def two(alice: str, bob: str) -> Mapping[str, str]:
    return {"alice": alice, "bob": bob}


def three(alice: str, bob: str, carol: str) -> Mapping[str, str]:
    return {"alice": alice, "bob": bob, "carol": carol}


CASES = [
    # hold'em
    Case("K 10.3.6 the best five of seven", "Holdem", two("AhKd", "QsQc"), "2c7d9hJdQh",
         "bob 8.00"),
    Case("K 10.3.6 one card of the hand", "Holdem", two("Ah2d", "KcQd"), "3h7h9hJh4s",
         "alice 8.00"),
    Case("K 10.3.6 the board plays", "Holdem", two("2c3d", "4h5s"), "AsKsQsJsTs",
         "alice 4.00, bob 4.00"),
    Case("K 10.3.6 the kicker decides", "Holdem", two("AhKd", "AcQd"), "Ad7s5c3h2d",
         "alice 8.00"),
    Case("K 10.3.6 a kicker that does not play", "Holdem", two("Ah3d", "Ac2d"), "AdKsQcJh9d",
         "alice 4.00, bob 4.00"),
    Case("D kickers count before suits, suits never", "Holdem", two("AhTh", "AcTc"), "Kd8s7d4s2d",
         "alice 4.00, bob 4.00"),
    # Omaha
    Case("K 10.4.6 exactly two of the hand", "Omaha", two("AsKdQd2c", "4s3s9d8d"), "5s7s9sJs2h",
         "bob 8.00"),
    Case("K 10.4.6 three of a kind in the hand is a pair", "Omaha", two("AcAdAh2d", "KcKdQhJh"),
         "Ks7d5h3s2c", "bob 8.00"),
    Case("K 10.4.6 exactly three of the board", "Omaha", two("AhAd3c3d", "KhQd7c8d"), "TsJsQsKs2d",
         "bob 8.00"),
    Case("HANDS x_hole_cards: two of five", "Omaha5", two("AcAd2h3h4h", "KcKdQhJh5h"),
         "Ks7d8h9s2c", "bob 8.00"),
    # Omaha hi/lo
    Case("K 10.5.6 high and low", "OmahaHiLo", two("KhKd9c9d", "Ah2d9h9s"), "Kc8d7h3sJc",
         "alice 4.00 high, bob 4.00 low"),
    Case("K 10.5.6 no low, high takes all", "OmahaHiLo", two("KhKd9c9d", "Ah2d9h9s"), "Kc8d7hTsJc",
         "alice 8.00"),
    Case("K 10.5.6 a scoop", "OmahaHiLo", two("AhAd2c3d", "KhKdQcJd"), "Ac8d7h4sJc",
         "alice 4.00 high, alice 4.00 low"),
    Case("K 10.5.6 quartered", "OmahaHiLo", three("Ah2dKhKd", "Ac2cQhQd", "JhJdTc9c"),
         "8d7h3sKsQs", "alice 6.00 high, alice 3.00 low, bob 3.00 low"),
    Case("K 10.5.6 the low's two of the hand", "OmahaHiLo", two("Ah4dKhKd", "2c3cQhQd"),
         "As2d5h9cJc", "alice 8.00"),
    Case("K 10.5.6 a flush does not spoil the low", "OmahaHiLo", two("Ah2hKcQc", "As3sTcTd"),
         "4h5h6h9cJd", "alice 4.00 high, alice 4.00 low"),
    # stud
    Case("K 10.7.6 the best five of seven", "Stud", two("AhKd2c3d5h9s9d", "QhJhTh4h2h7c8c"), "",
         "bob 8.00"),
    Case("K 10.7.6 the same five", "Stud", two("AhKhQdJdTc2s3s", "AcKcQsJsTd4h5h"), "",
         "alice 4.00, bob 4.00"),
    Case("K 10.8.6 high and low of seven", "StudHiLo", two("AhAdAc9d9hKsQs", "2h3d4h6d8cJcJd"), "",
         "alice 4.00 high, bob 4.00 low"),
    Case("K 10.8.6 one hand both ways", "StudHiLo", two("Ah2h3h4h5hKsQs", "KhKdKc9d9h9s8c"), "",
         "alice 4.00 high, alice 4.00 low"),
    Case("K 10.8.6 no low of eight", "StudHiLo", two("AhAdAc9d9hKsQs", "2h3d4h6d9cJcJd"), "",
         "alice 8.00"),
    # Soko
    Case("K 10.6.9 a four-flush beats a pair", "Soko", two("AhAdKc9s8s", "2h5h7h9hJc"), "",
         "bob 8.00"),
    Case("K 10.6.9 a four-straight beats a pair", "Soko", two("AhAdKc9s8s", "2h3d4c5s9h"), "",
         "bob 8.00"),
    Case("K 10.6.9 a four-flush beats a four-straight", "Soko", two("TcJdQhKs2c", "2h5h7h9hJc"),
         "", "bob 8.00"),
    Case("K 10.6.9 two pair beat a four-flush", "Soko", two("2c2d3c3dAs", "AhKhQhJh9c"), "",
         "alice 8.00"),
    Case("K 10.6.9 J-Q-K-A is the highest", "Soko", two("JcQdKhAs2c", "TcJhQsKd8d"), "",
         "alice 8.00"),
    Case("K 10.6.9 the fifth card", "Soko", two("TcJdQhKs3c", "TdJhQsKc4d"), "", "bob 8.00"),
    Case("K 10.6.8 the same hand", "Soko", two("TcJdQhKs3c", "TdJhQsKc3d"), "",
         "alice 4.00, bob 4.00"),
    # five-card draw
    Case("K 10.9.7 the best five", "FiveCardDraw", two("AhAdKc9s8s", "2h2d3c3s9h"), "", "bob 8.00"),
    # deuce to seven
    Case("K 10.10.1 the lowest hand", "TripleDraw27", two("7c5d4h3s2c", "8c5h4s3d2d"), "",
         "alice 8.00"),
    Case("K 10.10.1 a straight counts against", "TripleDraw27", two("6c5d4h3s2c", "KcQdJh9s8c"), "",
         "bob 8.00"),
    Case("K 10.10.1 A-2-3-4-5 is ace high", "TripleDraw27", two("Ac5d4h3s2c", "6d5h4s3d2d"), "",
         "alice 8.00"),
    Case("K 10.10.1 an ace is high", "TripleDraw27", two("Ac5d4h3s2c", "KdQhJs9d2d"), "",
         "bob 8.00"),
    Case("K 10.10.8 the same hand", "TripleDraw27", two("7c5d4h3s2c", "7d5h4s3d2d"), "",
         "alice 4.00, bob 4.00"),
    # Telesina
    Case("K 10.11.9.1 suits inside a hand", "Telesina", two("AhQc9d8s7c", "AdKc9c8d7s"), "Js",
         "alice 8.00"),
    Case("K 10.11.5 the vela improves both", "Telesina", two("KsKcJd9d8s", "QhQdJc9c8c"), "Qs",
         "bob 8.00"),
    Case("K 10.11.9.7 a flush beats a full house", "Telesina", two("QsJs9s8s7s", "AhAdAcKhKd"),
         "Tc", "alice 8.00"),
    Case("K 10.11.9.9 lowest spades, royal hearts", "Telesina", two("Ts9s8s7sAs", "AhKhQhJhTh"),
         "8c", "alice 8.00"),
    Case("K 10.11.9.9 not among three", "Telesina",
         three("Ts9s8s7sAs", "AhKhQhJhTh", "7c8d9cJdQc"), "8c", "bob 12.00"),
    # Americana
    Case("K 10.12.9 a flush beats a full house", "Americana", two("QsJs9s8s7s", "AhAdAcKhKd"), "",
         "alice 8.00"),
    Case("K 10.12.1 A-7-8-9-10 is a straight", "Americana", two("Ah7d8c9sTh", "KhKdKc9h8h"), "",
         "alice 8.00"),
    Case("K 10.12.1 and the lowest", "Americana", two("Ah7d8c9sTh", "7h8h9dTcJc"), "", "bob 8.00"),
    Case("K 10.12.8 no suit ranking", "Americana", two("AhKd9c8s7h", "AdKh9s8c7d"), "",
         "alice 4.00, bob 4.00"),
]  # fmt: skip


def paid(wins: str) -> Wins:
    """Turn ``alice 4.00 high, bob 4.00 low`` into posted wins."""
    posted: dict[str, str] = {}
    for one in wins.split(", "):
        name, won = one.split(" ", 1)
        posted[name] = f"{posted[name]} + {won}" if name in posted else won
    return posted


@pytest.mark.parametrize("case", CASES, ids=[f"{one.game}: {one.says}" for one in CASES])
def test_the_best_hand_wins(case: Case) -> None:
    pot = f"{4 * len(case.hands)}.00"
    right = a_showdown(case.game, case.hands, [(pot, paid(case.wins))], case.board)
    assert found(right) == []
    # Whoever was paid, the verdict names the winner by the rules.
    loser = next((name for name in case.hands if f"{name} " not in case.wins), None)
    if loser is not None:
        wrong = a_showdown(case.game, case.hands, [(pot, {loser: pot})], case.board)
        assert winners(wrong) == [case.wins]
        assert found(wrong) == ["wrong-pot-winner"]


def test_the_cases_cover_every_game() -> None:
    games = {case.game.removesuffix("5") for case in CASES}
    assert len(games) == 10


def test_a_finding_says_what_the_winner_holds() -> None:
    post = a_showdown("OmahaHiLo", two("KhKd9c9d", "Ah2d9h9s"), [("8.00", {"bob": "8.00"})],
                      "Kc8d7h3sJc")  # fmt: skip
    [finding] = [one for one in judged(post, "as-posted").findings if one.where.startswith("pots")]
    assert finding.expected == [
        {"player": 1, "half": "high", "hand": "three of a kind"},
        {"player": 2, "half": "low", "hand": "8-7-3-2-A low"},
    ]
    assert finding.posted == [{"player": 2}]


# -- odd units -----------------------------------------------------------------------------------

TIE = {"alice": "AhKd", "bob": "AcKs", "carol": "2c3d"}
BOARD = "AdKc9h8s4d"


@pytest.mark.parametrize(
    ("dealer", "wins", "expected"),
    [
        # K 10.1.1, D: to the winner nearest to the left of the dealer
        (3, {"alice": "6.01", "bob": "6.00"}, []),
        (3, {"alice": "6.00", "bob": "6.01"}, ["wrong-odd-chip"]),
        (1, {"alice": "6.00", "bob": "6.01"}, []),
        (2, {"alice": "6.01", "bob": "6.00"}, []),
        (3, {"alice": "6.05", "bob": "5.96"}, ["wrong-share"]),
        (3, {"alice": "12.01"}, ["wrong-pot-winner"]),
        (3, {"carol": "12.01"}, ["wrong-pot-winner"]),
        (3, {"alice": "6.00", "bob": "6.00", "carol": "0.01"}, ["wrong-pot-winner"]),
        # who is named and gets nothing has won nothing
        (3, {"alice": "6.01", "bob": "6.00", "carol": "0.00"}, []),
    ],
)
def test_an_odd_unit_goes_to_the_winner_nearest_left_of_the_dealer(
    dealer: int, wins: Wins, expected: list[str]
) -> None:
    post = a_showdown("Holdem", TIE, [("12.01", wins)], BOARD, dead="0.01", dealer_seat=dealer)
    assert found(post) == expected


def test_odd_units_go_one_to_each_winner_in_turn() -> None:
    hands = {**TIE, "carol": "AsKh", "dave": "2c3d"}
    right = {"alice": "5.34", "bob": "5.34", "carol": "5.33"}
    post = a_showdown("Holdem", hands, [("16.01", right)], BOARD, dead="0.01")
    assert found(post) == []
    heaped = {"alice": "5.35", "bob": "5.33", "carol": "5.33"}
    post = a_showdown("Holdem", hands, [("16.01", heaped)], BOARD, dead="0.01")
    assert found(post) == ["wrong-odd-chip"]


def test_in_soko_the_odd_unit_goes_to_who_was_dealt_cards_first() -> None:
    """K 10.6.8, D"""
    hands = two("TcJdQhKs3c", "TdJhQsKc3d")
    for alice, bob, expected in (("4.01", "4.00", []), ("4.00", "4.01", ["wrong-odd-chip"])):
        pots = [("8.01", {"alice": alice, "bob": bob})]
        assert found(a_showdown("Soko", hands, pots, dead="0.01")) == expected
    # bob is dealt first, though alice sits left of the dealer
    post = a_showdown("Soko", hands, [("8.01", {"alice": "4.00", "bob": "4.01"})], dead="0.01")
    post["ohh"]["rounds"][0]["actions"].sort(
        key=lambda action: (action["action"] == "Check", action["player_id"] != 2)
    )
    assert found(post) == []


QUARTERED = {"alice": "Ac2cQhQd", "bob": "Ah2dKhKd", "carol": "JhJdTc9c"}


@pytest.mark.parametrize(
    ("wins", "expected"),
    [
        # K 10.1.1: 12.03 is 6.02 high and 6.01 low; of the low the odd unit is alice's
        ({"bob": "6.02 high + 3.00 low", "alice": "3.01 low"}, []),
        ({"bob": "6.01 high + 3.01 low", "alice": "3.01 low"}, ["wrong-odd-chip"]),
        ({"bob": "6.02 high + 3.01 low", "alice": "3.00 low"}, ["wrong-odd-chip"]),
        ({"bob": "6.02 high + 6.01 low"}, ["wrong-pot-winner"]),
        ({"bob": "12.03 high"}, ["wrong-pot-winner"]),
        ({"bob": "6.02 low + 3.00 high", "alice": "3.01 high"}, ["wrong-pot-winner"]),
        ({"bob": "4.51 high + 4.51 low", "alice": "3.01 low"}, ["wrong-share"]),
        # where the halves are not named, what each player gets must be right
        ({"bob": "9.02", "alice": "3.01"}, []),
        ({"bob": "9.01", "alice": "3.02"}, ["wrong-odd-chip"]),
        ({"bob": "6.02", "alice": "6.01"}, ["wrong-share"]),
        ({"bob": "6.02", "carol": "6.01"}, ["wrong-pot-winner"]),
    ],
)
def test_of_a_quartered_pot_the_odd_units_go_to_high_and_then_to_the_left(
    wins: Wins, expected: list[str]
) -> None:
    post = a_showdown("OmahaHiLo", QUARTERED, [("12.03", wins)], "8d7h3sKsQs", dead="0.03")
    assert found(post) == expected


def test_a_low_that_does_not_qualify_cannot_be_paid() -> None:
    hands, board = two("KhKd9c9d", "Ah2d9h9s"), "Kc8d7hTsJc"
    halves = {"alice": "4.00 high + 4.00 low"}
    assert found(a_showdown("OmahaHiLo", hands, [("8.00", halves)], board)) == ["wrong-pot-winner"]
    assert found(a_showdown("OmahaHiLo", hands, [("8.00", {"alice": "8.00 high"})], board)) == []


@pytest.mark.parametrize(
    ("bob", "wins", "expected"),
    [
        # alice has both halves: once, by halves, or without naming them
        ("KhKdQcJd", "8.00", []),
        ("KhKdQcJd", "8.00 high", []),
        ("KhKdQcJd", "4.00 high + 4.00 low", []),
        ("KhKdQcJd", "4.01 high + 3.99 low", ["wrong-odd-chip"]),
        ("KhKdQcJd", "5.00 high + 3.00 low", ["wrong-share"]),
        # so she has when bob mucks
        ("muck", "8.00", []),
        ("muck", "4.00 high + 4.00 low", []),
    ],
)
def test_a_scoop_may_be_posted_in_one_or_by_halves(
    bob: str, wins: str, expected: list[str]
) -> None:
    hands = {"alice": "AhAd2c3d", "bob": bob}
    post = a_showdown("OmahaHiLo", hands, [("8.00", {"alice": wins})], "Ac8d7h4sJc")
    assert found(post) == expected


# -- side pots -----------------------------------------------------------------------------------

ANTES = {"alice": "2.00", "bob": "6.00", "carol": "10.00", "dave": "10.00"}
"""A main pot of 8.00 for all, one of 12.00 without alice, one of 8.00 for carol and dave."""


@pytest.mark.parametrize(
    ("hands", "wins"),
    [
        # K 10.1.5: each pot is the best hand's among those who put enough into it
        (("AhAd", "KhKd", "QhQd", "JhJd"), ["alice 8.00", "bob 12.00", "carol 8.00"]),
        (("AhAd", "KhKd", "JhJd", "QhQd"), ["alice 8.00", "bob 12.00", "dave 8.00"]),
        (("JhJd", "QhQd", "KhKd", "AhAd"), ["dave 8.00", "dave 12.00", "dave 8.00"]),
        (("AhKd", "AdKh", "QhQd", "JhJd"), ["carol 8.00", "carol 12.00", "carol 8.00"]),
        (("9h9c", "AdKh", "AhKd", "AcKs"),
         ["alice 8.00", "bob 4.00, carol 4.00, dave 4.00", "carol 4.00, dave 4.00"]),
    ],
)  # fmt: skip
def test_every_side_pot_has_its_own_winner(hands: Sequence[str], wins: list[str]) -> None:
    own = dict(zip(ANTES, hands, strict=True))
    amounts = ("8.00", "12.00", "8.00")
    pots = [(amount, paid(won)) for amount, won in zip(amounts, wins, strict=True)]
    post = a_showdown("Holdem", own, pots, "2c7s9sTd3h", ANTES)
    assert found(post) == []
    assert winners(post) == wins


def test_who_wins_the_main_pot_does_not_win_the_side_pot_with_it() -> None:
    own = dict(zip(ANTES, ("AhAd", "KhKd", "QhQd", "JhJd"), strict=True))
    pots = [("8.00", {"bob": "8.00"}), ("12.00", {"carol": "12.00"}), ("8.00", {"bob": "8.00"})]
    judgement = judged(a_showdown("Holdem", own, pots, "2c7s9sTd3h", ANTES), "as-posted")
    wrong = [one for one in judgement.findings if one.code == "wrong-pot-winner"]
    assert [one.where for one in wrong] == [f"pots[{number}].player_wins" for number in range(3)]
    expected = [[winner["player"] for winner in one.expected] for one in wrong]
    assert expected == [[1], [2], [3]]


# -- run twice -----------------------------------------------------------------------------------

TWICE = two("AhAd", "KhKd")


@pytest.mark.parametrize(
    ("river", "wins", "expected"),
    [
        # the first river is bob's king
        ("2s", {"alice": "4.00", "bob": "4.01"}, []),
        ("2s", {"alice": "4.01", "bob": "4.00"}, ["wrong-odd-chip"]),
        ("2s", {"alice": "8.01"}, ["wrong-pot-winner"]),
        ("Ks", {"bob": "8.01"}, []),
        ("Ks", {"alice": "4.00", "bob": "4.01"}, ["wrong-pot-winner"]),
        ("Kc", {"alice": "4.00", "bob": "4.01"}, ["duplicate-card"]),
        ("2s3s", {"alice": "4.00", "bob": "4.01"}, ["wrong-card-count"]),
        ("", {"alice": "4.00", "bob": "4.01"}, []),
    ],
)
def test_each_board_decides_its_share(river: str, wins: Wins, expected: list[str]) -> None:
    again = [(f"River: {river}" if river else "River: ??", "")]
    post = a_showdown("Holdem", TWICE, [("8.01", wins)], "2c7d9hJsKc", dead="0.01", again=again)
    assert found(post) == (expected if river else ["cards-unknown"])


def test_a_hand_may_be_run_twice_from_the_flop_in_hi_lo() -> None:
    """The first board: bob high, alice low; the second: bob high and no low."""
    hands = two("Ah2d9c9s", "KhKdQcQd")
    again = [("Flop: KsTcTh", ""), ("Turn: Jc", ""), ("River: Jd", "")]
    wins = {"bob": "6.00 high", "alice": "2.00 low"}
    post = a_showdown("OmahaHiLo", hands, [("8.00", {"bob": "6.00", "alice": "2.00"})],
                      "Kc8d7h3sJs", again=again)  # fmt: skip
    assert found(post) == []
    assert winners(post) == ["bob 6.00 high, alice 2.00 low"]
    post = a_showdown("OmahaHiLo", hands, [("8.00", wins)], "Kc8d7h3sJs", again=again)
    assert found(post) == []
