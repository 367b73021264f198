"""Whose turn it is, what he may do, and when a round is over."""

from typing import Any

import pytest

from tests.ledger.hands.betting.bets import FOUR, TWO, checked, codes, findings
from tests.ledger.hands.posts import a_post, rules

TURN, ACTION = "out-of-turn", "illegal-action"
BLINDS = "ann sb 1, bob bb 2"
LIMPED = f"{BLINDS}, cat call 2, dan call 2, ann call 1, bob check"

FIRST_ROUND: list[tuple[str, str, str, str | None]] = [
    ("K 10.3.5", "left of the big blind begins",
     "cat call 2, dan fold, ann call 1, bob check", None),
    ("K 10.3.5", "the small blind begins", "ann call 1", TURN),
    ("K 10.3.5", "a player is passed over", "cat call 2, ann call 1", TURN),
    ("K 10.3.5", "two players have changed places", "dan fold, cat fold", TURN),
    ("K 10.3.3", "the blinds may raise in turn", "cat call 2, dan fold, ann raise 5", None),
    ("K 10.3.3", "the big blind may raise when nobody has",
     "cat call 2, dan fold, ann call 1, bob raise 4", None),
    ("L", "left of the big blind may not check", "cat check", ACTION),
    ("E", "checking a bet", "cat raise 4, dan check", ACTION),
    ("G", "calling no bet", "cat fold, dan fold, ann call 1, bob call 2", ACTION),
    ("G", "betting a bet", "cat bet 4", ACTION),
    ("E", "folding is possible at any time", "cat call 2, dan fold, ann call 1, bob fold", None),
    ("E", "acting after folding", "cat fold, dan fold, cat call 2", ACTION),
    ("E", "folding and all-in", "cat fold !", ACTION),
    ("K 10.9.5", "drawing where nothing is drawn", "cat stand-pat, cat fold", ACTION),
    ("E", "raising oneself", "cat raise 4, cat raise 4", TURN),
    ("E", "answering twice", "cat call 2, dan call 2, cat check", TURN),
    ("K 10.1.6", "a player who has left folds out of turn",
     "cat call 2, ann fold left, dan call 2, bob check", None),
    ("K 10.1.6", "a player whose connection is lost folds before it is his turn",
     "bob fold disconnect, cat call 2, dan call 2, ann call 1", None),
    ("K 10.1.6", "a player folds out of turn without a reason", "cat call 2, ann fold", TURN),
]  # fmt: skip


@pytest.mark.parametrize(
    ("play", "code"),
    [one[2:] for one in FIRST_ROUND],
    ids=[f"{one[0]} {one[1]}" for one in FIRST_ROUND],
)
def test_players_act_in_turn_and_do_what_they_may(play: str, code: str | None) -> None:
    assert codes(f"{BLINDS}, {play}") == ([code] if code else [])


LATER: list[tuple[str, str, str, str | None]] = [
    ("K 10.3.5", "left of the dealer begins", "ann check, bob check, cat check, dan check", None),
    ("K 10.3.5", "the dealer begins", "dan check, ann check, bob check, cat check", TURN),
    ("K 10.3.5", "the big blind begins", "bob check, ann check", TURN),
    ("G", "raising no bet", "ann raise 4", ACTION),
    ("G", "who has checked answers a bet",
     "ann check, bob bet 4, cat fold, dan call 4, ann call 4", None),
    ("L", "check and raise is permitted",
     "ann check, bob bet 4, cat fold, dan fold, ann raise 8, bob call 4", None),
    ("G", "the round is over when all have matched",
     "ann bet 4, bob call 4, cat call 4, dan call 4", None),
    ("G", "the bettor acts again though nobody raised",
     "ann bet 4, bob call 4, cat call 4, dan call 4, ann check", TURN),
]  # fmt: skip


@pytest.mark.parametrize(
    ("play", "code"), [one[2:] for one in LATER], ids=[f"{one[0]} {one[1]}" for one in LATER]
)
def test_in_later_rounds_the_first_left_of_the_dealer_begins(play: str, code: str | None) -> None:
    assert codes([("Preflop", LIMPED), ("Flop", play)]) == ([code] if code else [])


CHECKED = "ann check, bob check, cat check, dan check"


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([("Preflop", LIMPED), ("Flop", "ann check, bob check"), ("Turn", CHECKED)], [TURN]),
        ([("Preflop", f"{BLINDS}, cat call 2, dan call 2, ann call 1"), ("Flop", CHECKED)], [TURN]),
        ([("Preflop", LIMPED), ("Turn", CHECKED)], [TURN]),
        ([("Preflop", LIMPED), ("Flop", CHECKED)], [TURN]),
        ([("Preflop", LIMPED), ("Flop", CHECKED), ("Showdown", "ann show ????")], [TURN]),
        (
            [
                ("Preflop", LIMPED),
                *((street, CHECKED) for street in ("Flop", "Turn", "River")),
                ("Showdown", "ann show ????, bob muck ????"),
            ],
            [],
        ),
        (
            [
                ("Preflop", LIMPED),
                *((street, CHECKED) for street in ("Flop", "Turn", "River")),
                ("Showdown", "ann bet 2"),
            ],
            [ACTION],
        ),
        ([("Preflop", LIMPED), ("Flop", CHECKED), ("Vela", "ann check")], [ACTION]),
        ([("Preflop", f"{BLINDS}, cat fold, dan fold, ann fold")], []),
        ([("Preflop", f"{BLINDS}, cat fold, dan fold, ann fold, bob check")], [TURN]),
        ([("Preflop", f"{BLINDS}, cat fold, dan fold")], [TURN]),
    ],
)
def test_every_round_is_played_to_its_end(
    rounds: list[tuple[str, str]], expected: list[str]
) -> None:
    assert codes(rounds, running=False) == expected


@pytest.mark.parametrize(
    ("street", "code"), [("Flop", TURN), ("River", TURN), ("Vela", ACTION), ("Showdown", ACTION)]
)
def test_a_hand_begins_with_the_first_street_of_its_game(street: str, code: str) -> None:
    assert codes([(street, f"{BLINDS}, cat fold, dan fold, ann fold")], running=False) == [code]


def limped(game: str, street: str) -> dict[str, Any]:
    """Ann and bob have seen no more than the first round."""
    play = "ann sb 1, bob bb 2, ann call 1, bob check"
    limit = {"bet_type": "NL"}
    return a_post([(street, play)], [], TWO, game_type=game, bet_limit=limit, x_status="running")


@pytest.mark.parametrize("action", ["Dealt Cards", "Shows Cards", "Mucks Cards", "Stand Pat"])
@pytest.mark.parametrize("place", [0, 2, 4])
def test_money_in_what_is_no_bet_is_found(action: str, place: int) -> None:
    post = limped("FiveCardDraw", "Deal")
    paying = {"player_id": 1, "action": action, "amount": 1}
    post["ohh"]["rounds"][0]["actions"].insert(place, paying)
    [found] = checked(post, rules("entraction"))
    assert found.code == ("illegal-action" if action == "Stand Pat" else "illegal-amount")
    assert found.where == f"rounds[0].actions[{place}]"


def test_what_happens_beside_a_hand_moves_no_money_in_it() -> None:
    post = limped("Holdem", "Preflop")
    topped_up = {"player_id": 1, "action": "Added Chips", "amount": 50}
    post["ohh"]["rounds"][0]["actions"].insert(3, topped_up)
    assert checked(post, rules("entraction")) == []


def test_a_hand_that_is_not_finished_may_end_anywhere() -> None:
    assert codes(f"{BLINDS}, cat call 2") == []
    assert codes([("Preflop", LIMPED), ("Flop", "ann check")]) == []
    assert codes([("Preflop", BLINDS), ("Flop", CHECKED)]) == [TURN]


def test_heads_up_the_small_blind_opens_every_round_left_of_the_dealer() -> None:
    """K 11.15: the dealer has the big blind."""
    opening = ("Preflop", "ann sb 1, bob bb 2, ann call 1, bob check")
    assert codes([opening, ("Flop", "ann check, bob check")], TWO) == []
    assert codes([opening, ("Flop", "bob check, ann check")], TWO) == [TURN]


def test_at_a_two_seat_table_the_dealer_opens_before_the_flop_only() -> None:
    opening = ("Preflop", "bob sb 1, ann bb 2, bob call 1, ann check")
    assert codes([opening, ("Flop", "ann check, bob check")], TWO, table_size=2) == []
    assert codes([opening, ("Flop", "bob check, ann check")], TWO, table_size=2) == [TURN]


def test_a_straddle_s_player_acts_last_and_may_raise() -> None:
    play = "ann sb 1, bob bb 2, cat straddle 4, dan call 4, ann call 3, bob call 2"
    assert codes(f"{play}, cat check") == []
    assert codes(f"{play}, cat raise 4") == []
    assert codes("ann sb 1, bob bb 2, cat straddle 4, ann call 3") == [TURN]


def test_a_newcomer_s_blind_is_live() -> None:
    """K 10.1.4: he may check when nobody has raised, and raise in turn."""
    assert codes("ann sb 1, bob bb 2, dan blind 2, cat fold, dan check, ann call 1") == []
    assert codes("ann sb 1, bob bb 2, dan blind 2, cat fold, dan raise 4, ann call 5") == []
    assert codes("ann sb 1, bob bb 2, dan blind 2, dan dead 1, cat fold, dan call 1") == [ACTION]


SHORT = {**FOUR, "ann": "10", "cat": "10"}


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        # E: who is all-in is passed over
        ([("Preflop", LIMPED), ("Flop", "ann bet 8!, bob call 8, cat call 8!, dan call 8"),
          ("Turn", "bob check, dan check")], []),
        ([("Preflop", LIMPED), ("Flop", "ann bet 8!, bob call 8, cat call 8!, dan call 8"),
          ("Turn", "bob check, cat check, dan check")], [ACTION]),
        # L: when one player is left with chips the betting has ended
        ([("Preflop", LIMPED), ("Flop", "ann bet 8!, bob fold, cat call 8!, dan call 8"),
          ("Turn", ""), ("River", ""), ("Showdown", "ann show ????")], []),
        ([("Preflop", LIMPED), ("Flop", "ann bet 8!, bob fold, cat call 8!, dan call 8"),
          ("Turn", "dan bet 10")], [TURN]),
        ([("Preflop", LIMPED), ("Flop", "ann bet 8!, bob fold, cat call 8!, dan raise 20")],
         [ACTION]),
    ],
)  # fmt: skip
def test_who_is_all_in_acts_no_more(rounds: list[tuple[str, str]], expected: list[str]) -> None:
    assert codes(rounds, SHORT) == expected


def test_a_blind_that_is_all_in_for_less_is_called_in_full_or_for_what_was_posted() -> None:
    stacks = {**FOUR, "bob": "1.50"}
    blinds = "ann sb 1, bob bb 1.50!"
    assert codes(f"{blinds}, cat call 2, dan fold, ann call 1", stacks) == []
    assert codes(f"{blinds}, cat call 1.50, dan fold, ann call 0.50", stacks) == []
    assert codes(f"{blinds}, cat call 1.70", stacks) == ["illegal-amount"]
    assert codes(f"{blinds}, cat raise 4, dan raise 6", stacks, limit="FL") == []
    assert codes(f"{blinds}, cat raise 4, dan raise 6.50", stacks, limit="FL") == ["illegal-amount"]
    assert codes(f"{blinds}, cat fold, dan fold", stacks, running=False) == [TURN]


def test_who_has_left_posts_nothing_any_more() -> None:
    stacks = {"ann": "100", "bob": "2"}
    for play in ("ann sb 1, ann fold left, bob bb 2!, ann straddle 4", "ann fold left, ann sb 1"):
        assert codes(play, stacks) == [ACTION]


def test_the_big_blind_need_not_answer_a_small_blind_that_is_all_in() -> None:
    stacks = {"ann": "0.50", "bob": "100"}
    rounds = [("Preflop", "ann sb 0.50!, bob bb 2"), ("Flop", ""), ("Turn", ""), ("River", "")]
    assert codes(rounds, stacks, running=False) == []
    rounds[0] = ("Preflop", "ann sb 0.50!, bob bb 2, bob check")
    assert codes(rounds, stacks, running=False) == []


def test_there_is_no_betting_between_two_boards() -> None:
    """The standard: a street that occurs twice was run twice."""
    all_in = ("Preflop", "ann sb 1, bob bb 2, ann raise 99!, bob call 98!")
    boards = [("Flop", ""), ("Turn", ""), ("River", ""), ("Turn", ""), ("River", "")]
    assert codes([all_in, *boards], TWO, running=False) == []
    bet = [*boards[:3], ("Turn", "ann check"), ("River", "")]
    assert codes([all_in, *bet], TWO, running=False) == [ACTION]
    opening = ("Preflop", "ann sb 1, bob bb 2, ann call 1, bob check")
    checked = [(street, "ann check, bob check") for street in ("Flop", "Turn", "River")]
    again = [opening, *checked, ("River", "ann check, bob check")]
    assert codes(again, TWO, running=False) == [ACTION]


def test_a_bet_that_nobody_covers_is_bet_before_its_player_leaves() -> None:
    """G, fair play: B raises by 10,000 and leaves; A has nothing to do."""
    play = "ann ante 10, bob ante 10, ann bet 500, bob raise 10000, bob fold left"
    table = {"currency": "XCR", "ante_amount": 10, "small_blind_amount": 0, "big_blind_amount": 0}
    stacks = {"ann": "20000", "bob": "20000"}
    found = codes(play, stacks, rulebook="gamevelvet", game="FiveCardDraw", running=False, **table)
    assert found == []


@pytest.mark.parametrize(
    ("play", "where"),
    [
        # one fault, one finding: what comes after it in its round may follow from it
        ("dan fold, cat fold, ann check", "rounds[0].actions[6]"),
        ("cat raise 3, dan raise 3, ann call 7", "rounds[0].actions[6]"),
    ],
)
def test_of_a_round_the_first_fault_is_told(play: str, where: str) -> None:
    assert [one.where for one in findings(f"{BLINDS}, {play}")] == [where]


def test_faults_of_two_rounds_are_two_findings() -> None:
    opening = ("Preflop", f"{BLINDS}, cat raise 3, dan call 3, ann call 2, bob call 1")
    flop = ("Flop", "ann bet 1.50, bob fold, cat fold, dan fold")
    assert [one.where for one in findings([opening, flop])] == [
        "rounds[0].actions[6]",
        "rounds[1].actions[0]",
    ]


def test_nothing_more_is_told_once_it_is_open_who_is_in_the_hand() -> None:
    opening = ("Preflop", f"{BLINDS}, cat call 2, ann fold, dan call 2, bob check")
    assert codes([opening, ("Flop", "ann check, bob check, cat check, dan check")]) == [TURN]
