"""Who is forced to bet before anyone acts, and how much."""

from typing import Any

import pytest

from tests.ledger.hands.betting.bets import FOUR, TWO, codes, findings

MISSING, AMOUNT, ACTION = "missing-forced-bet", "illegal-amount", "illegal-action"

BLINDS: list[tuple[str, str, str, str | None]] = [
    ("K 10.3.3", "small and big blind left of the dealer", "ann sb 1, bob bb 2", None),
    ("K 10.3.3", "the small blind by another player", "cat sb 1, bob bb 2", MISSING),
    ("K 10.3.3", "the big blind by another player", "ann sb 1, cat bb 2", MISSING),
    ("K 10.3.3", "both blinds one seat on", "bob sb 1, cat bb 2", MISSING),
    ("K 10.3.3", "no small blind at a cash table", "bob bb 2", MISSING),
    ("K 10.3.3", "no big blind", "ann sb 1", MISSING),
    ("K 10.3.3", "a small blind of another amount", "ann sb 1.50, bob bb 2", AMOUNT),
    ("K 10.3.3", "a big blind of another amount", "ann sb 1, bob bb 1.99", AMOUNT),
    ("K 10.3.3", "a small blind twice", "ann sb 1, ann sb 1, bob bb 2", ACTION),
    ("K 10.3.3", "a game with blinds has no ante", "ann ante 1, ann sb 1, bob bb 2", AMOUNT),
    ("K 10.3.3", "a game with blinds has no bring-in",
     "ann sb 1, bob bb 2, cat bring-in 2", ACTION),
    ("K 10.1.3", "a newcomer posts the big blind", "ann sb 1, bob bb 2, dan blind 2", None),
    ("K 10.1.3", "a newcomer posts too little", "ann sb 1, bob bb 2, dan blind 1", AMOUNT),
    ("K 10.1.3", "two newcomers", "ann sb 1, bob bb 2, cat blind 2, dan blind 2", None),
    ("K 10.1.3", "a newcomer posts twice", "ann sb 1, bob bb 2, dan blind 2, dan blind 2", ACTION),
    ("K 10.1.3", "a newcomer in the big blind owes nothing more",
     "ann sb 1, bob bb 2, bob blind 2", ACTION),
    ("K 10.1.3", "a newcomer left of the dealer leaves the blinds to the next two",
     "ann blind 2, bob sb 1, cat bb 2", None),
    ("K 10.1.4", "who missed both blinds posts the small one dead",
     "ann sb 1, bob bb 2, dan blind 2, dan dead 1", None),
    ("K 10.1.4", "a dead blind of another amount",
     "ann sb 1, bob bb 2, dan blind 2, dan dead 2", AMOUNT),
    ("K 10.1.4", "a dead blind alone", "ann sb 1, bob bb 2, dan dead 1", MISSING),
    ("OHH", "a straddle", "ann sb 1, bob bb 2, cat straddle 4", None),
    ("OHH", "a straddle is a raise: at least double", "ann sb 1, bob bb 2, cat straddle 3", AMOUNT),
    ("OHH", "a straddle out of turn", "ann sb 1, bob bb 2, dan straddle 4", "out-of-turn"),
    ("OHH", "a straddle over a straddle",
     "ann sb 1, bob bb 2, cat straddle 4, dan straddle 8", None),
    ("K 10.3.3", "a blind said to be all-in with chips left", "ann sb 1!, bob bb 2", AMOUNT),
    ("OHH", "a straddle said to be all-in", "ann sb 1, bob bb 2, cat straddle 4!", AMOUNT),
    ("K 10.3.3", "a blind after the betting has begun", "ann sb 1, bob bb 2, cat fold, dan sb 1",
     ACTION),
]  # fmt: skip


@pytest.mark.parametrize(
    ("play", "code"), [case[2:] for case in BLINDS], ids=[f"{one[0]} {one[1]}" for one in BLINDS]
)
def test_blinds_are_posted_as_the_rulebook_has_them(play: str, code: str | None) -> None:
    assert codes(play) == ([code] if code else [])


def test_whoever_has_less_than_a_blind_posts_all_he_has() -> None:
    short = {**FOUR, "ann": "0.40", "bob": "1.50"}
    assert codes("ann sb 0.40!, bob bb 1.50!", short) == []
    assert codes("ann sb 0.30, bob bb 1.50!", short) == ["illegal-amount"]


def test_a_missing_blind_is_told_with_the_player_who_owes_it() -> None:
    [found] = findings("cat sb 1, bob bb 2")
    assert (found.expected, found.posted) == ([{"player": 1}], [{"player": 3}])
    assert found.where == "rounds[0].actions[4]"


def test_a_dealer_s_seat_that_fits_no_round_is_one_finding() -> None:
    rounds = [
        ("Preflop", "ann sb 1, bob bb 2, cat call 2, dan call 2, ann call 1, bob check"),
        ("Flop", "ann check, bob check, cat check, dan check"),
    ]
    assert codes(rounds) == []
    assert codes(rounds, dealer_seat=2) == [MISSING]


HEADS_UP: list[tuple[str, str, dict[str, Any], str, bool]] = [
    # source, rulebook, table, play (bob is the dealer), is it right?
    ("real hands", "entraction", {"table_size": 2}, "bob sb 1, ann bb 2, bob call 1", True),
    ("real hands", "entraction", {"table_size": 2}, "ann sb 1, bob bb 2, ann call 1", False),
    ("K 11.15", "entraction", {"table_size": 6}, "ann sb 1, bob bb 2, ann call 1", True),
    ("K 11.15", "entraction", {"table_size": 6}, "bob sb 1, ann bb 2, bob call 1", False),
    ("K 11.15", "entraction", {"table_size": 2, "tournament": True},
     "ann sb 1, bob bb 2, ann call 1", True),
    ("L", "live-tournament", {"table_size": 2, "tournament": True},
     "ann sb 1, bob bb 2, ann call 1", True),
    ("as posted", "as-posted", {"table_size": 6}, "bob sb 1, ann bb 2, bob call 1", True),
]  # fmt: skip


@pytest.mark.parametrize("case", HEADS_UP, ids=[f"{one[0]} {one[3][:3]}" for one in HEADS_UP])
def test_of_two_players_the_one_whom_the_rulebook_names_has_the_small_blind(
    case: tuple[str, str, dict[str, Any], str, bool],
) -> None:
    _, rulebook, table, play, right = case
    found = codes(play, TWO, rulebook=rulebook, **table)
    assert found == ([] if right else ["missing-forced-bet"])


@pytest.mark.parametrize(
    ("play", "expected"),
    [
        # K 11.7, L: the small blind's player is out; the one left of the dealer has the big blind
        ("ann bb 2, bob fold, cat fold, dan call 2, ann check", []),
        ("bob bb 2", ["missing-forced-bet"]),
        ("ann sb 1, bob bb 2", []),
        ("ann sb 1, bob bb 2, dan blind 2", ["illegal-action"]),
        ("ann sb 1, bob bb 2, dan dead 1", ["illegal-action"]),
    ],
)
@pytest.mark.parametrize("rulebook", ["entraction", "live-tournament"])
def test_in_tournaments_there_may_be_no_small_blind_and_newcomers_post_nothing(
    play: str, expected: list[str], rulebook: str
) -> None:
    if rulebook == "entraction" and ("blind" in play or "dead" in play):
        expected = [] if "blind" in play else ["missing-forced-bet"]
    assert codes(play, rulebook=rulebook, tournament=True) == expected


def test_everyone_posts_the_ante_of_a_tournament() -> None:
    antes = "ann ante 1, bob ante 1, cat ante 1"
    blinds = "ann sb 1, bob bb 2, cat fold"
    tournament = {"tournament": True, "ante_amount": 1}
    assert codes(f"{antes}, dan ante 1, {blinds}", **tournament) == []
    assert codes(f"{antes}, {blinds}, dan fold", **tournament) == ["missing-forced-bet"]
    assert codes(f"{antes}, dan ante 2, {blinds}", **tournament) == ["illegal-amount"]
    assert codes(f"{antes}, dan ante 1, cat ante 1, {blinds}", **tournament) == ["illegal-action"]


def test_forced_bets_of_an_unknown_site_are_taken_as_posted() -> None:
    odd = "cat sb 1.50, dan bb 2, dan dead 3, ann ante 0.20, bob straddle 3"
    assert codes(odd, rulebook="as-posted") == []


CREDITS = {"game": "FiveCardDraw", "rulebook": "gamevelvet", "currency": "XCR"}


@pytest.mark.parametrize(
    ("play", "expected"),
    [
        # G: everyone antes, and the player on the left of the dealer begins
        ("ann ante 10, bob ante 10, cat ante 10, dan ante 10, ann check, bob bet 10", []),
        ("ann ante 10, bob ante 10, cat ante 10, ann check, bob check, cat check, dan check",
         ["missing-forced-bet"]),
        ("ann ante 10, bob ante 10, cat ante 10, dan ante 9", ["illegal-amount"]),
        ("ann ante 10, bob ante 10, cat ante 10, dan ante 10, ann sb 5", ["illegal-action"]),
        ("ann ante 10, bob ante 10, cat ante 10, dan ante 10, bob check", ["out-of-turn"]),
        # G: who quits before the betting round loses his ante
        ("ann ante 10, bob ante 10, cat ante 10, dan ante 10, ann fold left, bob check", []),
        ("ann ante 10, bob ante 10, bob fold left, cat ante 10, dan ante 10, ann check, cat check",
         []),
    ],
)  # fmt: skip
def test_a_game_for_credits_is_played_with_antes(play: str, expected: list[str]) -> None:
    blinds = {"small_blind_amount": 0, "big_blind_amount": 0, "ante_amount": 10}
    assert codes(play, **CREDITS, **blinds) == expected
