"""Posts that were right once and were changed in one place, as ``make fuzz`` found them."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.ledger.hands.posts import a_flop, a_post, codes, judged

COUNT, TWICE = "wrong-card-count", "duplicate-card"

ANN, BOB, CAT = "AhAd2c3c9d", "KhKdQcJc8c", "4h5h6h7h9h"


def a_draw(deal: str, draw: str, shown: str = "", pot: str = "6.00") -> dict[str, Any]:
    """Play five-card draw, limit 1/2, blinds of 0.50 and 1.00; ann wins 6.00 that are not raked."""
    rounds = [
        ("Deal", f"ann sb 0.50, bob bb 1, {deal}"),
        ("First Draw", draw),
    ]
    if shown:
        rounds.append(("Showdown", shown))
    return a_post(
        rounds,
        [(pot, {"ann": pot})],
        {"ann": "50", "bob": "50", "cat": "50"},
        returned={},
        game_type="FiveCardDraw",
        bet_limit={"bet_type": "FL"},
        small_blind_amount=0.5,
        big_blind_amount=1,
    )


DEALT = f"ann deal {ANN}, bob deal {BOB}, cat deal {CAT}"
CALLED = "cat call 1, ann call 0.50, bob check"
CHECKED = "ann check, bob check"


@pytest.mark.parametrize(
    ("says", "deal", "draw", "shown", "expected"),
    [
        ("right", f"{DEALT}, cat fold, ann call 0.50, bob check",
         f"ann stand-pat, bob stand-pat, {CHECKED}", f"ann show {ANN}, bob show {BOB}", []),
        ("a player who folds was dealt four cards",
         f"ann deal {ANN}, bob deal {BOB}, cat deal {CAT[:8]}, cat fold, ann call 0.50, bob check",
         f"ann stand-pat, bob stand-pat, {CHECKED}", f"ann show {ANN}, bob show {BOB}", [COUNT]),
        ("a player who folds drew one card less than he threw away", f"{DEALT}, {CALLED}",
         "ann stand-pat, bob stand-pat, cat discard 4h5h, cat deal Ts, ann check, bob check,"
         " cat fold", f"ann show {ANN}, bob show {BOB}", [COUNT]),
        ("a player draws again", f"{DEALT}, cat fold, ann call 0.50, bob check",
         f"ann discard 2c, ann deal Ts, ann discard 3c, ann deal 9s, bob stand-pat, {CHECKED}",
         f"ann show AhAdTs9s9d, bob show {BOB}", [COUNT]),
        ("a player throws away three and four", f"{DEALT}, cat fold, ann call 0.50, bob check",
         f"ann stand-pat, bob discard #3, bob discard #4, {CHECKED}",
         f"ann show {ANN}, bob muck", [COUNT]),
        ("who has folded shows another's cards", f"{DEALT}, cat fold, ann call 0.50, bob check",
         f"ann stand-pat, bob stand-pat, {CHECKED}", f"cat show {ANN}, bob show {BOB}", [TWICE]),
    ],
)  # fmt: skip
def test_draws_are_counted_of_who_folds_as_well(
    says: str, deal: str, draw: str, shown: str, expected: list[str]
) -> None:
    pot = "2.00" if "cat fold, ann call" in deal else "3.00"
    found = codes(a_draw(deal, draw, shown, pot), "as-posted")
    assert sorted(set(found)) == expected, says


@pytest.mark.parametrize(
    "late", ["ann check, bob discard 8c, bob deal 7c, bob check", f"{CHECKED}, bob stand-pat"]
)
def test_nobody_draws_once_the_betting_has_begun(late: str) -> None:
    deal = f"{DEALT}, cat fold, ann call 0.50, bob check"
    post = a_draw(deal, f"ann stand-pat, {late}", pot="2.00")
    assert codes(post, "as-posted") == ["illegal-action"]


def test_cards_are_dealt_on_the_first_street_even_where_no_board_tells_the_others() -> None:
    rounds = [
        ("Preflop", "alice sb 1, bob bb 2, alice fold"),
        ("Showdown", "alice deal AhAd2c3c, bob muck"),
    ]
    post = a_post(
        rounds, [("2.00", {"bob": "2.00"})], {"alice": "50", "bob": "50"}, returned={"bob": "1.00"}
    )
    assert codes(post, "as-posted") == [COUNT]


def test_a_card_that_is_shown_twice_at_once_is_found_though_it_was_shown_before() -> None:
    deal = f"{DEALT}, cat fold, ann call 0.50, bob check"
    draw = f"ann stand-pat, bob stand-pat, {CHECKED}"
    shown = f"ann show {ANN[:4]}, ann show {ANN}Ah, bob show {BOB}"
    assert TWICE in codes(a_draw(deal, draw, shown, "2.00"), "as-posted")
    shown = f"ann show {ANN[:4]}, ann show {ANN}, bob show {BOB}"
    assert codes(a_draw(deal, draw, shown, "2.00"), "as-posted") == []


@pytest.mark.parametrize("number", [1, 7])
def test_the_main_pot_is_number_0(number: int) -> None:
    post = a_flop()
    post["ohh"]["pots"][0]["number"] = number
    assert codes(post) == ["wrong-pot"]


def test_nothing_that_is_returned_is_no_return() -> None:
    post = a_flop()
    post["ohh"]["x_uncalled_returned"].append({"player_id": 1, "amount": 0})
    assert codes(post) == []


def test_a_player_without_chips_may_be_said_to_post_after_he_has_folded() -> None:
    stacks: Mapping[str, str] = {"ann": "0.12", "bob": "0.27"}
    play = "ann bb 0.10, bob sb 0.05, bob raise 0.22!, ann fold"
    post = a_post(
        [("Preflop", play), ("Preflop", play)],
        [("0.20", {"bob": "0.20"})],
        stacks,
        game_type="Holdem",
        small_blind_amount=0.05,
        big_blind_amount=0.1,
    )
    found = [finding.code for finding in judged(post, "as-posted").findings]
    assert "stake-exceeds-chips" in found


def test_posts_do_not_stay_in_the_pot_of_who_is_said_not_to_be_dealt_in() -> None:
    stacks = {"ann": "50", "bob": "50", "cat": "50"}
    play = "ann sb 1, bob bb 2, cat dead 1, ann fold"
    post = a_post([("Preflop", play)], [("4.00", {"bob": "4.00"})], stacks, returned={})
    post["ohh"]["players"][2]["x_dealt"] = False
    assert codes(post, "as-posted") == ["illegal-action"]
