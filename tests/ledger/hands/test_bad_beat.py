"""Which hands hit the bad-beat jackpot, by the rule page of D; every game of RULES 6.

Seats run alice, bob, carol, dave; everyone put 4.00 into the pot.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import pytest

from ledger.hands.judge import Judgement, judge
from ledger.hands.verdict import show
from ledger.rulebooks import Rulebook
from ledger.rulebooks.fees import Jackpot
from tests.ledger.hands.posts import Wins, a_post, codes, judged, read, rules
from tests.ledger.hands.showdowns import a_showdown

FOUR_QUEENS = {"alice": "QhQs", "bob": "AhAs"}
ACES_AND_QUEENS = "QcQdAcAd2c"
"""Alice loses with four queens, both hers, to bob's four aces."""


def two(alice: str, bob: str) -> Mapping[str, str]:
    return {"alice": alice, "bob": bob}


def three(alice: str, bob: str, carol: str) -> Mapping[str, str]:
    return {"alice": alice, "bob": bob, "carol": carol}


def hit(judgement: Judgement) -> str | None:
    """Say who hit the jackpot: ``alice loses to bob``, and what is doubtful about it."""
    found = judgement.bad_beat
    if found is None:
        return None
    names = {player.id: player.name for player in judgement.hand.players}
    losers, winners = (
        " and ".join(names[player] for player in players)
        for players in (found.losers, found.winners)
    )
    said = f"{losers} {'loses' if len(found.losers) == 1 else 'lose'} to {winners}"
    return ", ".join([said, *found.doubts])


class Case(NamedTuple):
    """A showdown, who won the pot, and who hit the jackpot."""

    says: str
    game: str
    hands: Mapping[str, str]
    board: str
    wins: Wins
    hit: str | None


CASES = [
    # hold'em: four queens, with both hole cards
    Case("four queens lose to four aces", "Holdem", FOUR_QUEENS, ACES_AND_QUEENS,
         {"bob": "8"}, "alice loses to bob"),
    Case("four jacks are too little", "Holdem", two("JhJs", "AhAs"), "JcJdAcAd2c",
         {"bob": "8"}, None),
    Case("a full house is too little", "Holdem", two("KhKs", "AhAs"), "KcAcAd2c2d",
         {"bob": "8"}, None),
    Case("a straight flush is more than four queens", "Holdem", two("5h6h", "ThJh"), "7h8h9hQsQc",
         {"bob": "8"}, "alice loses to bob"),
    Case("one queen of the hand and its kicker use both", "Holdem", two("QsKd", "8h9h"),
         "QhQcQdJhTh", {"bob": "8"}, "alice loses to bob"),
    Case("one queen of the hand, the kicker on the board: only one card is used", "Holdem",
         two("Qs2d", "8h9h"), "QhQcQdJhTh", {"bob": "8"}, None),
    Case("a kicker as good on the board: both can be used", "Holdem", two("QsJd", "8h9h"),
         "QhQcQdJhTh", {"bob": "8"}, "alice loses to bob"),
    Case("all four on the board", "Holdem", two("AsKd", "Ad2d"), "KhKcKsQhJh",
         {"alice": "8"}, None),
    Case("the winner needs no both cards", "Holdem", two("KhKs", "Ac2d"), "KcKdAdAhAs",
         {"bob": "8"}, "alice loses to bob"),
    Case("who ties has not lost", "Holdem", two("AsKd", "AdKc"), "QhQcQdQs2h",
         {"alice": "4", "bob": "4"}, None),
    # Omaha: straight flush 6-7-8-9-10
    Case("six to ten in hearts", "Omaha", two("6h7hAsAc", "JhQhKsKc"), "8h9hTh2c3d",
         {"bob": "8"}, "alice loses to bob"),
    Case("five to nine is too little", "Omaha", two("5h6hAsAc", "ThJhKsKc"), "7h8h9h2c3d",
         {"bob": "8"}, None),
    Case("four aces are too little", "Omaha", two("AhAd2c3d", "ThJh4c5d"), "AsAc9h8h7h",
         {"bob": "8"}, None),
    Case("five hole cards as well", "Omaha5", two("6h7hAsAc2s", "JhQhKsKc4d"), "8h9hTh2c3d",
         {"bob": "8"}, "alice loses to bob"),
    # Omaha hi/lo: the same; a share of the low is a part of the main pot
    Case("six to ten in hearts, nobody low", "OmahaHiLo", two("6h7hAsAc", "JhQhKsKc"),
         "8h9hThJcKd", {"bob": "8"}, "alice loses to bob"),
    Case("who wins the low has won a part", "OmahaHiLo", two("6h7hAs2c", "9hTh8cQc"),
         "8h4c5hJh3d", {"alice": "4", "bob": "4"}, None),
    Case("who wins but the low is no winner", "OmahaHiLo",
         three("6h7hKdKs", "JhQh9s9c", "As4cKcTd"), "8h9hTh2c3d",
         {"bob": "6", "carol": "6"}, "alice loses to bob"),
    # Soko: K-K-K-2-2
    Case("kings full of twos", "Soko", two("KhKdKc2s2h", "AhAdAc3s3h"), "",
         {"bob": "8"}, "alice loses to bob"),
    Case("queens full of aces are too little", "Soko", two("QhQdQcAsAh", "KhKdKc2s2h"), "",
         {"bob": "8"}, None),
    Case("a four-flush is nothing here", "Soko", two("AhKhQhJh9c", "2c2d3c3dAs"), "",
         {"bob": "8"}, None),
    Case("a straight flush lost to a higher one", "Soko", two("5h6h7h8h9h", "6s7s8s9sTs"), "",
         {"bob": "8"}, "alice loses to bob"),
    # stud and stud hi/lo: straight flush A-2-3-4-5
    Case("ace to five in hearts", "Stud", two("Ah2h3h4h5hKsKd", "2s3s4s5s6s9c9d"), "",
         {"bob": "8"}, "alice loses to bob"),
    Case("four aces are too little", "Stud", two("AhAdAcAs2d3c7h", "2s3s4s5s6s9c9d"), "",
         {"bob": "8"}, None),
    Case("the same hand in two suits shares the loser's part", "Stud",
         three("Ah2h3h4h5hKsKd", "Ad2d3d4d5dQsQc", "2s3s4s5s6s9c9h"), "",
         {"carol": "12"}, "alice and bob lose to carol"),
    Case("nines full never", "StudHiLo", two("9h9d9s8h8dKsKd", "TsTdThKcKh2d3c"), "",
         {"bob": "8"}, None),
    Case("six to ten, nobody low", "StudHiLo", two("6h7h8h9hThKsKd", "8s9sTsJsQs9c9d"), "",
         {"bob": "8"}, "alice loses to bob"),
    Case("ace to five wins the low", "StudHiLo", two("Ah2h3h4h5hKsKd", "2s3s4s6s5s9c9d"), "",
         {"alice": "4", "bob": "4"}, None),
    # three or more
    Case("of three that qualify the two highest count", "Holdem",
         three("6h7h", "KsKh", "JhQh"), "8h9hThKcKd", {"carol": "12"}, "alice loses to carol"),
    Case("a lower hand that also lost changes nothing", "Omaha",
         three("2c2d3c3d", "6h7hAsAc", "JhQhKsKc"), "8h9hTh2s4d", {"carol": "12"},
         "bob loses to carol"),
    # games that are not listed
    Case("five-card draw is not listed", "FiveCardDraw", two("QhQdQcQs2d", "AhAdAcAs2c"), "",
         {"bob": "8"}, None),
    Case("Telesina is not listed", "Telesina", two("QhQdQcQs7d", "AhAdAcAs7c"), "8d",
         {"bob": "8"}, None),
    Case("Americana is not listed", "Americana", two("QhQdQcQs7d", "AhAdAcAs7c"), "",
         {"bob": "8"}, None),
    Case("triple draw never", "TripleDraw27", two("QhQdQcQs2d", "2c3d4h5s7d"), "",
         {"bob": "8"}, None),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.game}: {case.says}")
def test_a_hit_follows_from_the_cards(case: Case) -> None:
    total = sum(int(won) for won in case.wins.values())
    judgement = judged(a_showdown(case.game, case.hands, [(str(total), case.wins)], case.board))
    of_cards = {"wrong-pot-winner", "duplicate-card", "wrong-card-count", "cards-unknown"}
    assert not of_cards & {finding.code for finding in judgement.findings}
    assert hit(judgement) == case.hit


# -- which pot -----------------------------------------------------------------------------------


def test_a_side_pot_may_be_won_by_who_loses_the_main_pot() -> None:
    hands = three("QhQs", "AhAs", "KhJs")
    pots = [("6", {"bob": "6"}), ("4", {"alice": "4"})]
    antes = {"alice": "4.00", "bob": "2.00", "carol": "4.00"}
    post = a_showdown("Holdem", hands, pots, ACES_AND_QUEENS, antes)
    assert hit(judged(post)) == "alice loses to bob"


def test_several_winners_of_the_main_pot_are_named_together() -> None:
    """Two straight flushes of one height in Soko beat kings full."""
    hands = three("KhKdKc2s2h", "6s7s8s9sTs", "6d7d8d9dTd")
    post = a_showdown("Soko", hands, [("12", {"bob": "6", "carol": "6"})])
    assert hit(judged(post)) == "alice loses to bob and carol"


def test_who_folded_hits_nothing_but_was_dealt_in() -> None:
    post = a_post(
        [
            ("Preflop", "alice deal QhQs, bob deal AhAs, carol deal KhKs,"
             " alice sb 1, bob bb 2, carol fold, alice call 1, bob check"),
            ("Flop: QcQdAc", "alice check, bob check"),
            ("Turn: Ad", "alice check, bob check"),
            ("River: 2c", "alice check, bob check"),
            ("Showdown", "alice show QhQs, bob show AhAs"),
        ],
        [("4", {"bob": "3.80"})],
        {"alice": "100", "bob": "100", "carol": "100"},
        rake="0.20",
        game_type="Holdem",
    )  # fmt: skip
    judgement = judged(post)
    assert judgement.bad_beat is not None
    assert judgement.bad_beat.dealt == [1, 2, 3]


def test_who_leaves_before_the_showdown_hits_nothing() -> None:
    post = a_post(
        [
            ("Preflop", "alice deal QhQs, bob deal AhAs, alice sb 1, bob bb 2, alice call 1,"
             " bob check"),
            ("Flop: QcQdAc", "alice check, bob check"),
            ("Turn: Ad", "alice check, bob check"),
            ("River: 2c", "alice check, bob bet 2, alice fold"),
        ],
        [("4", {"bob": "3.80"})],
        {"alice": "100", "bob": "100"},
        rake="0.20",
        returned={"bob": "2"},
        game_type="Holdem",
    )  # fmt: skip
    assert judged(post).bad_beat is None


# -- where there is no jackpot -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("says", "root"),
    [
        ("at fun-money tables", {"currency": "XPM"}),
        ("at two-seat tables", {"table_size": 2}),
        ("in tournaments", {"tournament": True, "tournament_info": {"tournament_number": "1"},
                            "currency": None}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_the_jackpot_is_never_hit(says: str, root: dict[str, Any]) -> None:
    post = a_showdown("Holdem", FOUR_QUEENS, [("8", {"bob": "8"})], ACES_AND_QUEENS, **root)
    assert judged(post).bad_beat is None, says


@pytest.mark.parametrize("rulebook", ["as-posted", "empire", "gamevelvet"])
def test_a_rulebook_without_a_jackpot_has_no_hits(rulebook: str) -> None:
    post = a_showdown("Holdem", FOUR_QUEENS, [("8", {"bob": "8"})], ACES_AND_QUEENS)
    assert judged(post, rulebook).bad_beat is None


def test_a_game_qualifies_once_the_rulebook_lists_it() -> None:
    post = a_showdown("Americana", two("QhQdQcQs7d", "AhAdAcAs7c"), [("8", {"bob": "8"})])
    least = {"hand": "four-of-a-kind", "ranks": "QQQQ", "hole_cards": "any"}
    judgement = judge(read(post), with_jackpot(qualifying={"Americana": least}))
    assert hit(judgement) == "alice loses to bob"


def with_jackpot(**changes: Any) -> Rulebook:
    """Return the rulebook with another jackpot."""
    book = rules()
    jackpot = {**msgspec.to_builtins(book.jackpot), **changes}
    return msgspec.structs.replace(book, jackpot=msgspec.convert(jackpot, Jackpot))


# -- what is not certain -------------------------------------------------------------------------


def test_a_hit_of_a_hand_run_twice_is_doubtful() -> None:
    """D knows one board; whether one of two is enough is for the room to say."""
    post = a_showdown(
        "Holdem", FOUR_QUEENS, [("8", {"bob": "8"})], ACES_AND_QUEENS, again=[("River: 3c", "")]
    )
    assert hit(judged(post)) == "alice loses to bob, run-twice"


def test_who_wins_on_the_other_board_has_won_a_part() -> None:
    post = a_showdown(
        "Holdem",
        two("6h7h", "JhQh"),
        [("8", {"alice": "4", "bob": "4"})],
        "8h9h2c3dTh",
        again=[("River: 7c", "")],
    )
    assert judged(post).bad_beat is None


def test_a_winner_who_was_not_seen_makes_it_doubtful_and_the_hand_unverified() -> None:
    hands = two("QhQs", "")
    judgement = judged(a_showdown("Holdem", hands, [("8", {"bob": "8"})], ACES_AND_QUEENS))
    assert hit(judgement) == "alice loses to bob, cards-unknown"
    assert "cards-unknown" in [finding.code for finding in judgement.findings]


def test_another_loser_who_was_not_seen_makes_it_doubtful() -> None:
    """Carol may have lost with a higher hand: kings are on the board as well."""
    hands = three("6h7h", "JhQh", "")
    post = a_showdown("Holdem", hands, [("12", {"bob": "12"})], "8h9hThKcKd")
    judgement = judged(post)
    assert hit(judgement) == "alice loses to bob, cards-unknown"
    [finding] = [one for one in judgement.findings if one.code == "cards-unknown"]
    assert (finding.level, finding.posted) == ("unverified", [{"player": 3}])


def test_who_threw_his_cards_away_claims_nothing() -> None:
    post = a_showdown(
        "Holdem", three("6h7h", "JhQh", "muck"), [("12", {"bob": "12"})], "8h9hThKcKd"
    )
    assert hit(judged(post)) == "alice loses to bob"


def test_a_loser_who_was_not_seen_is_no_hit() -> None:
    hands = two("", "AhAs")
    judgement = judged(a_showdown("Holdem", hands, [("8", {"bob": "8"})], ACES_AND_QUEENS))
    assert judgement.bad_beat is None


def test_the_wrong_winner_makes_it_doubtful() -> None:
    judgement = judged(a_showdown("Holdem", FOUR_QUEENS, [("8", {"alice": "8"})], ACES_AND_QUEENS))
    assert hit(judgement) == "alice loses to bob, flagged"


def test_a_board_that_cannot_be_believed_leaves_no_hit() -> None:
    hands = three("QhQs", "AhAs", "2c3h")
    judgement = judged(a_showdown("Holdem", hands, [("12", {"bob": "12"})], "QcQdAcAd3h"))
    assert judgement.bad_beat is None
    assert "duplicate-card" in [finding.code for finding in judgement.findings]


# -- as it is shown ------------------------------------------------------------------------------


def shown(post: Any) -> Any:
    judgement = judged(post)
    verdict = show(judgement.hand, "ok", judgement.expected(), [])
    return msgspec.to_builtins(verdict)["expected"]["bad_beat"]


def test_a_hit_is_shown_by_names() -> None:
    post = a_showdown("Holdem", FOUR_QUEENS, [("8", {"bob": "8"})], ACES_AND_QUEENS)
    assert shown(post) == {"loser": "alice", "winner": "bob", "dealt": ["alice", "bob"]}


def test_several_winners_are_shown_as_a_list() -> None:
    hands = three("KhKdKc2s2h", "6s7s8s9sTs", "6d7d8d9dTd")
    post = a_showdown("Soko", hands, [("12", {"bob": "6", "carol": "6"})])
    assert shown(post) == {
        "loser": "alice",
        "winner": ["bob", "carol"],
        "dealt": ["alice", "bob", "carol"],
    }


def test_no_hit_is_shown_as_null() -> None:
    post = a_showdown("Holdem", two("KhKs", "AhAs"), [("8", {"bob": "8"})], "KcAcAd2c2d")
    assert shown(post) is None


def test_recognising_a_hit_finds_nothing_wrong_with_the_hand() -> None:
    post = a_showdown("Holdem", FOUR_QUEENS, [("8", {"bob": "8"})], ACES_AND_QUEENS)
    without = a_showdown("Holdem", two("KhKs", "AhAs"), [("8", {"bob": "8"})], "KcAcAd2c2d")
    assert codes(post) == codes(without)
