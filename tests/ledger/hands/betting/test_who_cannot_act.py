"""Players who do not act in time: artificial all-ins, folds, and drawing too late."""

from typing import Any

import pytest

from tests.ledger.hands.betting.bets import TWO, codes
from tests.ledger.hands.posts import a_post, judged

NOT_ALLOWED, ACTION = "artificial-all-in-not-allowed", "illegal-action"
BLINDS = "ann sb 1, bob bb 2"
LIMPED = ("Preflop", f"{BLINDS}, cat call 2, dan call 2, ann call 1, bob check")
ON_THE_FLOP = [LIMPED, ("Flop", "ann check timeout!, bob check, cat check, dan check")]

ALL_INS: list[tuple[str, dict[str, Any], str, str | None]] = [
    ("K 10.1.6 fixed limit", {"limit": "FL"}, "cat raise 4, dan fold, ann call timeout!", None),
    ("K 10.1.6 spread limit", {"limit": "SL", "x_spread": [2, 4, 6]},
     "cat raise 4, dan fold, ann call timeout!", None),
    ("K 10.1.6 no limit", {"limit": "NL"}, "cat raise 4, dan fold, ann call timeout!", NOT_ALLOWED),
    ("K 10.1.6 pot limit", {"limit": "PL"}, "cat raise 4, dan fold, ann call timeout!",
     NOT_ALLOWED),
    ("K 10.1.6 half-pot limit", {"limit": "HPL"}, "cat raise 4, dan fold, ann call timeout!",
     NOT_ALLOWED),
    ("K 10.1.6 nothing in the pot", {"limit": "FL"}, "cat call timeout!", NOT_ALLOWED),
    ("K 11.17 a tournament", {"limit": "FL", "tournament": True},
     "cat raise 4, dan fold, ann call timeout!", NOT_ALLOWED),
    ("E limit hold'em", {"limit": "FL", "rulebook": "empire"},
     "cat raise 4, dan fold, ann call disconnect!", None),
    ("E nothing in the pot", {"limit": "FL", "rulebook": "empire"}, "cat call disconnect!",
     NOT_ALLOWED),
    ("L", {"limit": "NL", "rulebook": "live-tournament", "tournament": True},
     "cat raise 4, dan fold, ann call timeout!", NOT_ALLOWED),
    ("as posted", {"limit": "NL", "rulebook": "as-posted"},
     "cat raise 4, dan fold, ann call timeout!", None),
    ("K 10.1.6 out of turn", {"limit": "FL"}, "cat raise 4, ann call timeout!", "out-of-turn"),
]  # fmt: skip


@pytest.mark.parametrize("case", ALL_INS, ids=[one[0] for one in ALL_INS])
def test_who_cannot_act_is_all_in_where_the_rulebook_allows_it(
    case: tuple[str, dict[str, Any], str, str | None],
) -> None:
    _, more, play, code = case
    assert codes(f"{BLINDS}, {play}", **more) == ([code] if code else [])


def test_an_artificial_all_in_takes_no_further_part_in_the_betting() -> None:
    turn = ("Turn", "bob bet 4, cat call 4, dan fold")
    assert codes([*ON_THE_FLOP, turn], limit="FL") == []
    again = ("Turn", "ann check, bob check")
    assert codes([*ON_THE_FLOP, again], limit="FL") == [ACTION]


def test_one_that_is_not_allowed_is_one_finding() -> None:
    turn = ("Turn", "bob bet 8, cat call 8, dan fold")
    assert codes([*ON_THE_FLOP, turn], limit="NL") == [NOT_ALLOWED]


def test_who_cannot_act_may_always_check_or_be_folded() -> None:
    """K 11.17: facing a raise he is folded; absent players post their blinds."""
    tournament = {"rulebook": "live-tournament", "tournament": True}
    flop = ("Flop", "ann check timeout, bob bet 4, cat call 4, dan fold, ann fold timeout")
    assert codes([LIMPED, flop], **tournament) == []


def test_an_artificial_all_in_plays_for_what_he_has_put_in() -> None:
    """K 10.1.5-6: ann cannot call the second bet; bob and cat play on for a side pot."""
    post = a_post(
        [
            ("Preflop", "ann sb 1, bob bb 2, cat call 2, ann call 1, bob check"),
            ("Flop: 2c7d9h", "ann bet 2, bob raise 4, cat call 4, ann call disconnect!"),
            ("Turn: Jd", "bob bet 4, cat call 4"),
            ("River: 3s", "bob check, cat check"),
            ("Showdown", "ann show AhAd, bob show KhKd, cat muck QhQd"),
        ],
        [("12.00", {"ann": "12.00"}), ("12.00", {"bob": "12.00"})],
        dict.fromkeys(("ann", "bob", "cat"), "100"),
        returned={},
        game_type="Holdem",
        bet_limit={"bet_type": "FL"},
        currency="USD",
    )
    judgement = judged(post, "empire")
    assert [finding.code for finding in judgement.findings] == []
    expected = judgement.expected()
    assert expected is not None
    assert [pot.amount_minor for pot in expected.pots] == [1200, 1200]


# -- draws -------------------------------------------------------------------------------------

DRAW: dict[str, Any] = {"game": "FiveCardDraw", "limit": "FL", "table_size": 6}
DEAL = ("Deal", "ann sb 1, bob bb 2, ann call 1, bob check")


@pytest.mark.parametrize(
    ("play", "code"),
    [
        # K 10.9.5: drawing in time, and standing pat of one's own will
        ("ann discard #3, bob stand-pat, ann check, bob bet 4, ann call 4", None),
        # who does not draw in time stands pat: he may check, call or fold
        ("ann discard #3, bob stand-pat timeout, ann check, bob check", None),
        ("ann discard #3, bob stand-pat timeout, ann bet 4, bob call 4", None),
        ("ann discard #3, bob stand-pat timeout, ann bet 4, bob fold", None),
        ("ann discard #3, bob stand-pat timeout, ann check, bob bet 4", ACTION),
        ("ann discard #3, bob stand-pat timeout, ann bet 4, bob raise 8", ACTION),
    ],
)
def test_who_does_not_draw_in_time_neither_bets_nor_raises(play: str, code: str | None) -> None:
    assert codes([DEAL, ("First Draw", play)], TWO, **DRAW) == ([code] if code else [])


def test_drawing_in_time_lets_a_player_bet_again() -> None:
    """K 10.10.6: triple draw."""
    late = ("First Draw", "ann discard #1, bob stand-pat timeout, ann check, bob check")
    triple = {**DRAW, "game": "TripleDraw27"}
    in_time = ("Second Draw", "ann stand-pat, bob discard #2, ann check, bob bet 4, ann call 4")
    assert codes([DEAL, late, in_time], TWO, **triple) == []
    again = ("Second Draw", "ann stand-pat, bob stand-pat timeout, ann check, bob bet 4")
    assert codes([DEAL, late, again], TWO, **triple) == [ACTION]


def test_other_rulebooks_let_who_stands_pat_bet() -> None:
    late = ("First Draw", "ann discard #3, bob stand-pat timeout, ann check, bob bet 4")
    assert codes([DEAL, late], TWO, rulebook="as-posted", **DRAW) == []


def test_who_has_folded_does_not_draw() -> None:
    deal = ("Deal", "ann sb 1, bob bb 2, cat call 2, ann fold, bob check")
    draw = ("First Draw", "ann discard #3, bob stand-pat, cat discard #1, bob check, cat check")
    stacks = {"ann": "100", "bob": "100", "cat": "100"}
    assert codes([deal, draw], stacks, **DRAW) == [ACTION]


def test_who_is_all_in_still_draws() -> None:
    stacks = {"ann": "100", "bob": "2"}
    deal = ("Deal", "ann sb 1, bob bb 2!, ann call 1")
    draw = ("First Draw", "ann discard #3, bob discard #2")
    assert codes([deal, draw], stacks, running=False, **DRAW) == []
