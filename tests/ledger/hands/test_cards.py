"""Cards that cannot be: twice, not of the deck, of another number; and cards not known."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from ledger.hands.judge import judge
from tests.ledger.hands.posts import a_post, judged, read, rules
from tests.ledger.hands.showdowns import a_showdown, found, winners

Change = Callable[[dict[str, Any]], None]

HANDS = {
    "Holdem": {"alice": "AhAd", "bob": "KhKd"},
    "Omaha": {"alice": "AhAd2c3c", "bob": "KhKd4c4s"},
    "Stud": {"alice": "AhAd2c3c9d8h7h", "bob": "KhKdQcJc9c8c4s"},
    "Soko": {"alice": "AhAd2c3c9d", "bob": "KhKdQcJc8c"},
    "Telesina": {"alice": "AhAd9c8c7d", "bob": "KhKdQcJc8h"},
    "FiveCardDraw": {"alice": "AhAd2c3c9d", "bob": "KhKdQcJc8c"},
}
BOARDS = {"Holdem": "2c7d9hJsKc", "Omaha": "5c7d9hJsTh", "Telesina": "Th"}
WINS = {"Holdem": "bob", "Omaha": "alice", "Telesina": "alice"}


def a_hand(game: str) -> dict[str, Any]:
    """Alice's aces are best, but for bob's third king in hold'em."""
    wins = {WINS.get(game, "alice"): "8.00"}
    return a_showdown(game, HANDS[game], [("8.00", wins)], BOARDS.get(game, ""))


def cards_of(hand: dict[str, Any], number: int, player: int, action: str) -> list[str]:
    """Return the cards of a player's action in a round, to be changed in place."""
    found: list[str] = next(
        one["cards"]
        for one in hand["rounds"][number]["actions"]
        if one["action"] == action and one["player_id"] == player
    )
    return found


def card(number: int, player: int, place: int, value: str, shown: bool = True) -> Change:
    """Change a card that was dealt, and where it was shown."""

    def change(hand: dict[str, Any]) -> None:
        dealt = cards_of(hand, number, player, "Dealt Cards")
        if shown:
            told = cards_of(hand, -1, player, "Shows Cards")
            told[told.index(dealt[place])] = value
        dealt[place] = value

    return change


def board(number: int, cards: list[str]) -> Change:
    def change(hand: dict[str, Any]) -> None:
        hand["rounds"][number]["cards"] = cards

    return change


def more(number: int, player: int, cards: list[str]) -> Change:
    """Deal a player further cards."""

    def change(hand: dict[str, Any]) -> None:
        hand["rounds"][number]["actions"].append(
            {"action": "Dealt Cards", "player_id": player, "cards": cards}
        )

    return change


def shows(player: int, cards: list[str]) -> Change:
    def change(hand: dict[str, Any]) -> None:
        cards_of(hand, -1, player, "Shows Cards")[:] = cards

    return change


def river_first(hand: dict[str, Any]) -> None:
    """Take turn and river for each other, with nobody left to act."""
    turn, river = hand["rounds"][2:4]
    turn["actions"], river["actions"] = [], []
    hand["rounds"][2:4] = [river, turn]


WRONG = [
    # a card twice
    ("two players have it", "Holdem", card(0, 1, 0, "Kh"), "duplicate-card"),
    ("a player has it twice", "Holdem", card(0, 1, 0, "Ad", shown=False), "duplicate-card"),
    ("it is on the board too", "Holdem", board(2, ["Ad"]), "duplicate-card"),
    ("the board has it twice", "Holdem", board(3, ["7d"]), "duplicate-card"),
    ("a player shows it twice", "Holdem", shows(1, ["Ah", "Ah"]), "duplicate-card"),
    ("it lies open twice", "Stud", card(1, 2, 0, "3c"), "duplicate-card"),
    ("it is the vela too", "Telesina", board(4, ["Kh"]), "duplicate-card"),
    ("it was dealt before", "FiveCardDraw", card(0, 2, 0, "Ah"), "duplicate-card"),
    # not of the deck
    ("no such rank", "Holdem", card(0, 1, 0, "1h"), "card-not-in-deck"),
    ("no such suit", "Holdem", board(2, ["2x"]), "card-not-in-deck"),
    ("a six in the deck of 32", "Telesina", card(0, 2, 0, "6h"), "card-not-in-deck"),
    ("a deuce as the vela", "Telesina", board(4, ["2h"]), "card-not-in-deck"),
    ("written otherwise", "FiveCardDraw", card(0, 2, 0, "KH"), "card-not-in-deck"),
    # the right number
    ("one hole card", "Holdem", lambda hand: cards_of(hand, 0, 1, "Dealt Cards").pop(),
     "wrong-card-count"),
    ("three hole cards", "Holdem", more(0, 1, ["3s"]), "wrong-card-count"),
    ("five of four hole cards", "Omaha", more(0, 1, ["3s"]), "wrong-card-count"),
    ("another card later", "Omaha", more(2, 1, ["3s"]), "wrong-card-count"),
    ("another hand shown", "Holdem", shows(1, ["Ah", "As"]), "wrong-card-count"),
    ("more shown than dealt", "Soko", shows(1, ["Ah", "Ad", "2c", "3c", "9d", "9h"]),
     "wrong-card-count"),
    ("a flop of two", "Holdem", board(1, ["2c", "7d"]), "wrong-card-count"),
    ("a flop of four", "Holdem", board(1, ["2c", "7d", "9h", "3h"]), "wrong-card-count"),
    ("a turn of two", "Holdem", board(2, ["Js", "3h"]), "wrong-card-count"),
    ("a river before the turn", "Holdem", river_first, "wrong-card-count"),
    ("a board before the flop", "Holdem", board(0, ["3h"]), "wrong-card-count"),
    ("a board in a game without", "Soko", board(2, ["3h"]), "wrong-card-count"),
    ("a board at the draw", "FiveCardDraw", board(1, ["3h"]), "wrong-card-count"),
    ("two velas", "Telesina", board(4, ["Th", "Td"]), "wrong-card-count"),
    ("two cards on a street of one", "Stud", more(2, 1, ["5s"]), "wrong-card-count"),
    ("a shared seventh card while the deck lasts", "Stud", board(4, ["5s"]), "wrong-card-count"),
    ("four cards at the deal", "FiveCardDraw",
     lambda hand: cards_of(hand, 0, 1, "Dealt Cards").pop(), "wrong-card-count"),
    ("a card drawn by who stood pat", "FiveCardDraw", more(1, 1, ["5s"]), "wrong-card-count"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("game", "change", "code"),
    [case[1:] for case in WRONG],
    ids=[f"{case[1]}: {case[0]}" for case in WRONG],
)
def test_cards_that_cannot_be_are_found_once(game: str, change: Change, code: str) -> None:
    post = a_hand(game)
    assert found(post) == []
    change(post["ohh"])
    assert found(post) == [code]


def test_a_finding_says_which_cards_and_where() -> None:
    post = a_hand("Holdem")
    card(0, 1, 0, "Kh")(post["ohh"])
    [finding] = [one for one in judged(post, "as-posted").findings if one.code == "duplicate-card"]
    assert (finding.posted, finding.where) == (["Kh"], "rounds[4].actions[1].cards")
    post = a_hand("Telesina")
    board(4, ["2h"])(post["ohh"])
    [finding] = [
        one for one in judged(post, "as-posted").findings if one.code == "card-not-in-deck"
    ]
    assert (finding.expected, finding.posted) == ("four suits from 7 to A", ["2h"])
    assert finding.where == "rounds[4].cards"


def test_a_card_dealt_after_folding_is_one_too_many() -> None:
    post = a_post(
        [
            ("Second Street", "alice ante 4, bob ante 4, carol ante 4, alice deal 2c3d,"
             " bob deal 4c5d, carol deal 6c7d, alice fold, bob check, carol check"),
            ("Third Street", "alice deal 8c, bob deal 9c, carol deal Tc, bob fold"),
        ],
        [("12.00", {"carol": "12.00"})],
        {"alice": "50", "bob": "50", "carol": "50"},
        returned={}, game_type="Soko",
    )  # fmt: skip
    assert found(post) == ["wrong-card-count"]


# -- decks by players (G) ------------------------------------------------------------------------


def credits_hand(players: int, first: str) -> dict[str, Any]:
    """Five cards each under ``gamevelvet``, of which the first player's first is chosen."""
    pack = [rank + suit for rank in "AKQJT987" for suit in "cdhs"]
    pack += ["6c", "6d", "6h", "6s", "5c", "5d", "5h", "5s"]
    pack.remove(first) if first in pack else None
    names = "abcdefgh"[:players]
    hands = {name: "".join(pack[5 * n : 5 * n + 5]) for n, name in enumerate(names)}
    hands["a"] = first + hands["a"][2:]
    pot = f"{4 * players}.00"
    return a_showdown(
        "FiveCardDraw", hands, [(pot, {"a": pot})],
        table_size=8, currency="XCR", bet_limit={"bet_type": "NL"},
        small_blind_amount=0, big_blind_amount=0, ante_amount=4,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("players", "card", "in_deck"),
    [
        (2, "7c", True), (4, "7c", True), (4, "6c", False),
        (5, "6c", True), (6, "6c", True), (6, "5c", False),
        (7, "5c", True), (7, "4c", False), (8, "4c", True), (8, "3c", False),
    ],
)  # fmt: skip
def test_the_deck_grows_with_the_players(players: int, card: str, in_deck: bool) -> None:
    codes = set(found(credits_hand(players, card), "gamevelvet"))
    assert ("card-not-in-deck" in codes) is not in_deck


# -- cards that are left out ---------------------------------------------------------------------


def left_out(game: str, drop: Change) -> dict[str, Any]:
    post = a_hand(game)
    drop(post["ohh"])
    return post


def undealt(hand: dict[str, Any]) -> None:
    """Leave out all dealing, as a file does that knows nobody's cards before the end."""
    for round_ in hand["rounds"]:
        round_["actions"] = [one for one in round_["actions"] if one["action"] != "Dealt Cards"]


def only_up(hand: dict[str, Any]) -> None:
    """Leave out the cards face down of the first street, as a player at the table sees it."""
    for action in hand["rounds"][0]["actions"]:
        if action["action"] == "Dealt Cards":
            action["cards"] = action["cards"][-1:]


def unshown(hand: dict[str, Any]) -> None:
    """Leave out the showdown: what was dealt is known all the same."""
    hand["rounds"].pop()


def questioned(hand: dict[str, Any]) -> None:
    for action in hand["rounds"][0]["actions"]:
        if action["action"] == "Dealt Cards":
            action["cards"] = ["??"] * len(action["cards"])


@pytest.mark.parametrize("game", HANDS)
@pytest.mark.parametrize("drop", [undealt, questioned, unshown])
def test_what_is_known_another_way_may_be_left_out(game: str, drop: Change) -> None:
    assert found(left_out(game, drop)) == []


@pytest.mark.parametrize("game", ["Stud", "Soko", "Telesina"])
def test_the_cards_face_down_of_the_first_street_may_be_left_out(game: str) -> None:
    assert found(left_out(game, only_up)) == []


@pytest.mark.parametrize("game", HANDS)
def test_a_hand_of_which_no_cards_are_known_is_unverified(game: str) -> None:
    post = left_out(game, lambda hand: (undealt(hand), unshown(hand)))  # type: ignore[arg-type]
    findings = [one for one in judged(post, "as-posted").findings if one.code == "cards-unknown"]
    assert [one.level for one in findings] == ["unverified"]
    assert findings[0].posted == [{"player": 1}, {"player": 2}]
    assert found(post) == ["cards-unknown"]


BOARD = "2c7d9hJsKc"


def shown(hands: Mapping[str, str], winner: str, board: str = BOARD) -> list[str]:
    pot = f"{4 * len(hands)}.00"
    return found(a_showdown("Holdem", hands, [(pot, {winner: pot})], board))


@pytest.mark.parametrize(
    ("says", "hands", "winner", "board", "expected"),
    [
        ("a silent player could have won", {"alice": "AhAd", "bob": ""}, "alice", BOARD,
         ["cards-unknown"]),
        ("the silent player was paid", {"alice": "AhAd", "bob": ""}, "bob", BOARD,
         ["cards-unknown"]),
        ("who mucks does not win", {"alice": "AhAd", "bob": "muck"}, "alice", BOARD, []),
        ("but for who was paid", {"alice": "AhAd", "bob": "muck"}, "bob", BOARD,
         ["cards-unknown"]),
        ("all others mucked", {"alice": "", "bob": "muck"}, "alice", BOARD, []),
        ("all mucked, one was paid", {"alice": "muck", "bob": "muck"}, "alice", BOARD, []),
        ("a mucked hand that is known speaks", {"alice": "AhAd", "bob": "KhKdmuck"}, "alice",
         BOARD, ["wrong-pot-winner"]),
        ("known to lose whatever he holds", {"alice": "AsKs", "bob": ""}, "alice", "QsJsTs2d3d",
         []),
        ("and cannot be paid", {"alice": "AsKs", "bob": ""}, "bob", "QsJsTs2d3d",
         ["wrong-pot-winner"]),
        ("the silent player could share", {"alice": "2d3d", "bob": ""}, "alice", "AsKsQsJsTs",
         ["cards-unknown"]),
        ("a shown hand loses to another shown", {"alice": "AhAd", "bob": "QhQd", "carol": ""},
         "bob", BOARD, ["wrong-pot-winner"]),
        ("of equal hands both win or neither",
         {"alice": "AhQd", "bob": "AdQh", "carol": ""}, "alice", BOARD, ["wrong-pot-winner"]),
        ("one card is known", {"alice": "AhAd", "bob": "Kh??"}, "alice", BOARD,
         ["cards-unknown"]),
        ("one card, and it cannot win", {"alice": "AhAd", "bob": "2h??"}, "alice", "AsAc7d8hKc",
         []),
        ("the river is not known", {"alice": "AhAd", "bob": "KhKd"}, "alice", "2c7d9hJs??",
         ["cards-unknown"]),
    ],
)  # fmt: skip
def test_unknown_cards_matter_only_where_they_decide(
    says: str, hands: Mapping[str, str], winner: str, board: str, expected: list[str]
) -> None:
    assert shown(hands, winner, board) == expected, says


def test_a_pot_won_by_the_last_player_needs_no_cards() -> None:
    post = a_post(
        [("Preflop", "alice sb 1, bob bb 2, alice call 1, bob bet 4, alice fold")],
        [("4.00", {"bob": "4.00"})],
        {"alice": "50", "bob": "50"},
        returned={"bob": "4.00"},
    )
    assert found(post) == []


HI_LO = {"alice": "KhKd9c9d", "bob": ""}


@pytest.mark.parametrize(
    ("board", "wins", "expected"),
    [
        # nobody can beat alice's quads, and no three low cards lie on the board
        ("KcKs8d7hJc", {"alice": "8.00"}, []),
        ("KcKs8d7h3c", {"alice": "8.00"}, ["cards-unknown"]),
        ("KcKs8d7h3c", {"alice": "4.00 high", "bob": "4.00 low"}, ["cards-unknown"]),
        ("KcKs8d7h3c", {"bob": "8.00"}, ["wrong-pot-winner"]),
    ],
)
def test_a_low_that_nobody_can_have_does_not_make_a_hand_unverified(
    board: str, wins: Mapping[str, str], expected: list[str]
) -> None:
    assert found(a_showdown("OmahaHiLo", HI_LO, [("8.00", wins)], board)) == expected


def test_where_cards_are_unknown_the_verdict_names_the_winners_as_posted() -> None:
    hands = {"alice": "AhAd", "bob": ""}
    assert winners(a_showdown("Holdem", hands, [("8.00", {"bob": "8.00"})], BOARD)) == ["bob 8.00"]


def test_an_operator_may_refuse_hands_that_cannot_be_verified() -> None:
    strict = replace(rules("as-posted"), findings={
        **rules("as-posted").findings, "cards-unknown": "refuse",
    })  # fmt: skip
    post = a_showdown("Holdem", {"alice": "AhAd", "bob": ""}, [("8.00", {"alice": "8.00"})], BOARD)
    findings = judge(read(post), strict).findings
    assert [one.level for one in findings if one.code == "cards-unknown"] == ["refuse"]
