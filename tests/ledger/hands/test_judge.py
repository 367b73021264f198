"""The verdict: what the rules give, and one finding for each thing that is wrong."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from ledger.hands.verdict import show
from tests.ledger.hands.posts import a_flop, a_post, codes, judged, rules

Change = Callable[[dict[str, Any]], None]


def verdict(post: Any, rulebook: str = "entraction") -> dict[str, Any]:
    judgement = judged(post, rulebook)
    findings = judgement.findings
    shown = show(judgement.hand, findings.verdict, judgement.expected(), findings)
    written: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(shown))
    return written


def test_the_verdict_says_what_the_rules_give() -> None:
    assert verdict(a_flop()) == {
        "game_number": "81",
        "verdict": "ok",
        "expected": {
            "pots": [
                {
                    "number": 0,
                    "amount": "6.00",
                    "wins": [{"player": "bob", "amount": "5.70", "half": None}],
                }
            ],
            "uncalled_returned": [{"player": "bob", "amount": "4.00"}],
            "rake": "0.30",
            "jackpot": "0.00",
            "jackpot_contribution": "0.03",
            "bad_beat": None,
        },
        "findings": [],
    }


def at(*path: Any, value: Any) -> Change:
    """Put a value at a path of the hand."""

    def change(hand: dict[str, Any]) -> None:
        inside: Any = hand
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value

    return change


def both(*changes: Change) -> Change:
    def change(hand: dict[str, Any]) -> None:
        for one in changes:
            one(hand)

    return change


POT = ("pots", 0)
WON = ("pots", 0, "player_wins", 0, "win_amount")

WRONG: list[tuple[str, Change, str, str]] = [
    # money
    ("a pot too big", at(*POT, "amount", value=Decimal("6.01")), "money-not-conserved", "pots"),
    ("won too much", at(*WON, value=Decimal("5.71")), "money-not-conserved", "pots"),
    ("no pots", at("pots", value=[]), "money-not-conserved", "pots"),
    ("no winner", at(*POT, "player_wins", value=[]), "money-not-conserved", "pots"),
    (
        "more returned than put in",
        both(
            at("x_uncalled_returned", 0, "player_id", value=1),
            at("x_uncalled_returned", 0, "amount", value=4),
        ),
        "money-not-conserved",
        "x_uncalled_returned[0].amount",
    ),
    (
        "money from outside",
        lambda hand: hand["rounds"][0]["actions"].append({"action": "Add to Pot", "amount": 1}),
        "money-not-conserved",
        "rounds",
    ),
    (
        "money from outside, said to be a player's",
        lambda hand: hand["rounds"][0]["actions"].append(
            {"action": "Add to Pot", "amount": 1, "player_id": 2}
        ),
        "money-not-conserved",
        "rounds",
    ),
    (
        "staked too much",
        at("players", 1, "starting_stack", value=5),
        "stake-exceeds-chips",
        "players[1].starting_stack",
    ),
    ("one id twice", at("players", 1, "id", value=1), "duplicate-player", "players"),
    ("one name twice", at("players", 1, "name", value="alice"), "duplicate-player", "players"),
    ("one seat twice", at("players", 1, "seat", value=1), "duplicate-player", "players"),
    (
        "nobody acts",
        at("rounds", 1, "actions", 0, "player_id", value=9),
        "unknown-player",
        "rounds[1].actions[0].player_id",
    ),
    (
        "nobody wins",
        at(*POT, "player_wins", 0, "player_id", value=9),
        "unknown-player",
        "pots[0].player_wins",
    ),
    (
        "returned to nobody",
        at("x_uncalled_returned", 0, "player_id", value=9),
        "unknown-player",
        "x_uncalled_returned[0].player_id",
    ),
    ("another currency", at("currency", value="USD"), "currency-mismatch", "currency"),
    ("no such game", at("game_type", value="Badugi"), "unknown-game", "game_type"),
    ("an ambiguous game", at("game_type", value="Draw"), "unknown-game", "game_type"),
    # rules
    (
        "returned too little",
        both(
            at("x_uncalled_returned", 0, "amount", value=Decimal("3.90")),
            at(*POT, "amount", value=Decimal("6.10")),
            at(*WON, value=Decimal("5.80")),
        ),
        "wrong-uncalled-return",
        "x_uncalled_returned",
    ),
    (
        "returned to another",
        both(
            at("x_uncalled_returned", 0, "player_id", value=1),
            at("x_uncalled_returned", 0, "amount", value=2),
            at(*POT, "amount", value=8),
            at(*POT, "rake", value=Decimal("0.40")),
            at(*WON, value=Decimal("7.60")),
        ),
        "wrong-uncalled-return",
        "x_uncalled_returned",
    ),
    (
        "a pot taken apart",
        lambda hand: hand.update(
            pots=[
                {**hand["pots"][0], "amount": 5, "player_wins": []},
                {"number": 1, "amount": 1, "player_wins": hand["pots"][0]["player_wins"]},
            ]
        ),
        "wrong-pot",
        "pots",
    ),
    (
        "who folded wins",
        at(*POT, "player_wins", 0, "player_id", value=1),
        "wrong-pot-winner",
        "pots[0].player_wins",
    ),
    (
        "too much rake",
        both(at(*POT, "rake", value=Decimal("0.31")), at(*WON, value=Decimal("5.69"))),
        "wrong-rake",
        "pots[0].rake",
    ),
    (
        "a jackpot's drop",
        both(at(*POT, "jackpot", value=Decimal("0.50")), at(*WON, value=Decimal("5.20"))),
        "wrong-jackpot",
        "pots[0].jackpot",
    ),
    (
        "acts and is not dealt in",
        at("players", 0, "x_dealt", value=False),
        "illegal-action",
        "rounds",
    ),
]


@pytest.mark.parametrize(
    ("change", "code", "where"),
    [case[1:] for case in WRONG],
    ids=[case[0] for case in WRONG],
)
def test_what_is_wrong_is_found_once_and_where_it_is(change: Change, code: str, where: str) -> None:
    post = a_flop()
    change(post["ohh"])
    findings = judged(post).findings
    assert (findings[0].code, findings[0].where) == (code, where)
    follow_up = {"wrong-pot": {"wrong-share"}}.get(code, set())
    assert {finding.code for finding in findings} <= {code, *follow_up}


def test_a_rulebook_may_turn_a_finding_off_or_refuse_it() -> None:
    post = a_flop()
    both(at(*POT, "rake", value=Decimal("0.31")), at(*WON, value=Decimal("5.69")))(post["ohh"])
    assert judged(post).findings.verdict == "flagged"
    assert verdict(post, "as-posted")["verdict"] == "ok"


def test_more_players_than_the_game_seats_are_found() -> None:
    names = [f"p{number}" for number in range(9)]
    folds = ", ".join([f"{name} fold" for name in (*names[2:], "p0")])
    post = a_post(
        [("Preflop", f"p0 sb 1, p1 bb 2, {folds}")],
        [("2.00", {"p1": "2.00"})],
        dict.fromkeys(names, "10"),
        returned={"p1": "1.00"},
        table_size=10,
    )
    assert codes(post) == ["too-many-players"]


# -- returns -----------------------------------------------------------------------------------


def test_what_the_pots_do_not_hold_goes_to_the_one_whose_bet_was_not_covered() -> None:
    post = a_flop()
    del post["ohh"]["x_uncalled_returned"]
    shown = verdict(post)
    assert shown["verdict"] == "ok"
    assert shown["expected"]["uncalled_returned"] == [{"player": "bob", "amount": "4.00"}]


WALK = ("alice sb 1, bob bb 2, alice fold", {"alice": "50", "bob": "50"})


def walk(pot: str, returned: dict[str, str] | None) -> dict[str, Any]:
    return a_post([("Preflop", WALK[0])], [(pot, {"bob": pot})], WALK[1], returned=returned)


def test_an_unmatched_blind_that_stays_in_the_pot_is_one_finding() -> None:
    shown = verdict(walk("3.00", None))
    assert [finding["code"] for finding in shown["findings"]] == ["wrong-uncalled-return"]
    assert shown["findings"][0]["expected"] == [{"player": "bob", "amount": "1.00"}]
    assert shown["expected"]["pots"][0]["amount"] == "2.00"
    assert codes(walk("2.00", {"bob": "1.00"})) == []


def test_a_site_may_treat_an_unmatched_blind_as_it_likes() -> None:
    assert codes(walk("3.00", None), "as-posted") == []
    assert codes(walk("2.00", {"bob": "1.00"}), "as-posted") == []
    assert codes(walk("2.50", {"bob": "0.50"}), "as-posted") == ["wrong-uncalled-return"]


def with_a_stranger(reason: str | None, amount: str = "1") -> dict[str, Any]:
    post = a_post(
        [("Preflop", "carol ante 1, alice ante 1, bob ante 1, alice check, bob fold")],
        [("2.00", {"alice": "2.00"})],
        {"alice": "50", "bob": "50", "carol": "50"},
        returned={"carol": amount},
    )
    if reason is not None:
        post["ohh"]["x_uncalled_returned"][0]["reason"] = reason
    return post


def test_the_ante_of_a_player_who_was_not_dealt_in_goes_back_for_a_reason() -> None:
    assert codes(with_a_stranger("not dealt in"), "as-posted") == []
    assert judged(with_a_stranger("not dealt in"), "as-posted").tally.dealt == 2
    # Without one she is dealt in: she should have acted, and gets nothing back.
    assert codes(with_a_stranger(None), "as-posted") == ["out-of-turn", "wrong-uncalled-return"]


def test_a_hand_in_which_nothing_is_left_in_a_pot_is_right() -> None:
    stacks = {"alice": "50", "bob": "50"}
    post = a_post([("Preflop", "bob bb 2, alice fold")], [], stacks, returned={"bob": "2"})
    assert codes(post, "as-posted") == []


# -- shares ------------------------------------------------------------------------------------


def split_pot(won: dict[str, str], **root: Any) -> dict[str, Any]:
    """Three players are all-in with antes and a dead cent; the dealer has seat 2."""
    stacks = {"alice": "4.01", "bob": "4", "carol": "4"}
    antes = "alice dead 0.01, alice ante 4!, bob ante 4!, carol ante 4!"
    return a_post(
        [("Preflop", antes)], [("12.01", won)], stacks, returned={}, dealer_seat=2, **root
    )


@pytest.mark.parametrize(
    ("won", "expected"),
    [
        # carol sits left of the dealer, alice comes next, then bob
        ({"alice": "6.00", "carol": "6.01"}, []),
        ({"alice": "6.01", "carol": "6.00"}, ["wrong-odd-chip"]),
        ({"alice": "6.01", "bob": "6.00"}, []),
        ({"bob": "6.01", "alice": "6.00"}, ["wrong-odd-chip"]),
        ({"alice": "4.00", "bob": "4.00", "carol": "4.01"}, []),
        ({"alice": "5.00", "carol": "7.01"}, ["wrong-share"]),
        ({"alice": "0.00", "carol": "12.01"}, ["wrong-share"]),
    ],
)
def test_winners_share_equally_and_the_odd_unit_goes_left_of_the_dealer(
    won: dict[str, str], expected: list[str]
) -> None:
    assert codes(split_pot(won, game_type="Holdem"), "as-posted") == expected


def hi_lo(*wins: tuple[int, str, str | None]) -> dict[str, Any]:
    post = split_pot({"alice": "0"}, game_type="OmahaHiLo")
    post["ohh"]["pots"][0]["player_wins"] = [
        {"player_id": player, "win_amount": Decimal(amount), "x_half": half}
        for player, amount, half in wins
    ]
    return post


@pytest.mark.parametrize(
    ("wins", "expected"),
    [
        ([(1, "6.01", "high"), (2, "6.00", "low")], []),
        ([(1, "6.00", "high"), (2, "6.01", "low")], ["wrong-odd-chip"]),
        ([(1, "12.01", "high")], []),
        ([(1, "6.01", "high"), (1, "3.00", "low"), (3, "3.00", "low")], []),
        ([(1, "6.01", "high"), (1, "2.00", "low"), (3, "4.00", "low")], ["wrong-share"]),
        # who won which half is not said: it depends on cards
        ([(1, "9.01", None), (3, "3.00", None)], []),
    ],
)
def test_halves_are_shared_each_by_itself(
    wins: list[tuple[int, str, str | None]], expected: list[str]
) -> None:
    assert codes(hi_lo(*wins), "as-posted") == expected


def test_in_soko_the_odd_unit_goes_to_who_was_dealt_cards_first() -> None:
    post = split_pot({"alice": "6.00", "bob": "6.01"}, game_type="Soko")
    deal = [{"action": "Dealt Cards", "player_id": player} for player in (2, 1, 3)]
    first = post["ohh"]["rounds"][0]
    first.update(street="Second Street", actions=[*first["actions"], *deal])
    assert codes(post, "as-posted") == []


# -- pots, rake and jackpot --------------------------------------------------------------------


def side_pot(rakes: tuple[str, str], for_hand: bool, won: tuple[str, str]) -> dict[str, Any]:
    """A main pot of 30.00 and a side pot of 10.00: 2.00 rake, at three players 0.75.

    Aces win the main pot, queens the side pot.
    """
    post = a_post(
        [
            ("Preflop", "alice sb 1, bob bb 2, carol call 2, alice call 1, bob check"),
            ("Flop: 2c7d9h", "alice bet 8!, bob call 8, carol call 8"),
            ("Turn: Jd", "bob bet 5, carol call 5"),
            ("River: 3s", "bob check, carol check"),
            ("Showdown", "alice show AhAdKcKs, bob show QhQd8c8s, carol muck TdTs4c4s"),
        ],
        [("30.00", {"alice": won[0]}), ("10.00", {"bob": won[1]})],
        {"alice": "10", "bob": "100", "carol": "100"},
        returned={},
        bet_limit={"bet_type": "NL"},
    )
    for pot, rake in zip(post["ohh"]["pots"], rakes, strict=True):
        pot["rake"] = Decimal(rake)
    post["ohh"]["x_rake_is_for_hand"] = for_hand
    return post


def test_a_rake_for_the_hand_is_divided_over_its_pots_by_their_size() -> None:
    # 0.75 x 10/40 is 0.1875: half a cent up.
    assert codes(side_pot(("0.75", "0.00"), True, ("29.44", "9.81"))) == []
    assert codes(side_pot(("0.56", "0.19"), False, ("29.44", "9.81"))) == []
    assert codes(side_pot(("0.75", "0.00"), False, ("29.25", "10.00"))) == ["wrong-rake"]
    assert codes(side_pot(("0.75", "0.00"), True, ("29.25", "10.00"))) == ["wrong-share"] * 2


def test_a_cap_is_taken_once_for_the_hand() -> None:
    shown = verdict(side_pot(("0.75", "0.75"), False, ("29.25", "9.25")))
    assert [finding["code"] for finding in shown["findings"]] == ["wrong-rake"]
    assert (shown["expected"]["rake"], shown["findings"][0]["posted"]) == ("0.75", "1.50")


def test_a_side_pot_cannot_be_won_by_who_did_not_pay_for_it() -> None:
    post = side_pot(("0.75", "0.00"), True, ("29.44", "9.81"))
    post["ohh"]["pots"][1]["player_wins"][0]["player_id"] = 1
    [finding] = verdict(post)["findings"]
    assert finding["code"] == "wrong-pot-winner"
    assert finding["expected"] == [{"player": "bob", "hand": "pair"}]
    assert finding["posted"] == [{"player": "alice"}]


def test_the_order_of_the_pots_in_a_post_does_not_matter() -> None:
    post = side_pot(("0.75", "0.00"), True, ("29.44", "9.81"))
    post["ohh"]["pots"].reverse()
    assert codes(post) == []


def test_play_money_is_not_raked_and_feeds_no_jackpot() -> None:
    assert codes(a_flop(currency="XPM")) == ["wrong-rake"]
    shown = verdict(a_flop(currency="XPM"))["expected"]
    assert (shown["rake"], shown["jackpot_contribution"]) == ("0.00", "0.00")


def test_nothing_is_contributed_at_two_seat_tables() -> None:
    post = a_flop(table_size=2)
    assert verdict(post)["expected"]["jackpot_contribution"] == "0.00"


def test_a_site_s_own_drop_leaves_the_pot_for_the_jackpot() -> None:
    post = a_flop()
    both(at(*POT, "jackpot", value=Decimal("0.50")), at(*WON, value=Decimal("5.20")))(post["ohh"])
    shown = verdict(post, "as-posted")["expected"]
    assert (shown["jackpot"], shown["jackpot_contribution"]) == ("0.50", "0.50")


# -- the examples of RULES 3, to the cent ------------------------------------------------------


Rounds = list[tuple[str, str]]


def credits_hand(
    rounds: Rounds, pots: list[tuple[str, dict[str, str]]], back: str
) -> dict[str, Any]:
    """Play for credits; the ante is what c has, in a game of two it is 10."""
    who, _, returned = back.partition(" ")
    three = "c ante" in rounds[0][1]
    stacks = {"a": "20000", "b": "20000", "c": "50"} if three else {"a": "20000", "b": "20000"}
    return a_post(
        rounds,
        pots,
        stacks,
        returned={who: returned} if back else {},
        game_type="FiveCardDraw",
        bet_limit={"bet_type": "NL"},
        currency="XCR",
        small_blind_amount=0,
        big_blind_amount=0,
        ante_amount=50 if three else 10,
    )


ANTES = "a ante 50, b ante 50, c ante 50!"
SHORT = [("Deal", f"{ANTES}, a bet 50, b fold"), ("First Draw", "")]
THREE = [("Deal", f"{ANTES}, a bet 50, b call 50"), ("First Draw", "a check, b check")]
LEFT = [("Deal", "a ante 10, b ante 10, a bet 500, b raise 10000, b fold left")]


@pytest.mark.parametrize(
    ("play", "pots", "back"),
    [
        (SHORT, [("100", {"c": "100"}), ("50", {"a": "50"})], "a 50"),
        (THREE, [("150", {"c": "150"}), ("100", {"b": "100"})], ""),
        (THREE, [("150", {"c": "150"}), ("100", {"a": "50", "b": "50"})], ""),
        (THREE, [("150", {"b": "75", "c": "75"}), ("100", {"b": "100"})], ""),
        (LEFT, [("1020", {"a": "1020"})], "b 9500"),
    ],
)
def test_the_examples_under_the_finished_rule(
    play: Rounds, pots: list[tuple[str, dict[str, str]]], back: str
) -> None:
    assert rules("gamevelvet").all_in.rule == "finished"
    assert codes(credits_hand(play, pots, back), "gamevelvet") == []


@pytest.mark.parametrize(
    ("play", "pots", "back"),
    [
        (SHORT, [("150", {"c": "150"})], "a 50"),
        (THREE, [("150", {"c": "150"}), ("100", {"b": "100"})], ""),
        (LEFT, [("1020", {"a": "1020"})], "b 9500"),
    ],
)
def test_the_examples_under_the_matched_rule(
    play: Rounds, pots: list[tuple[str, dict[str, str]]], back: str
) -> None:
    assert rules("as-posted").all_in.rule == "matched"
    assert codes(credits_hand(play, pots, back), "as-posted") == []


def test_the_rules_differ_where_they_should() -> None:
    matched = credits_hand(SHORT, [("150", {"c": "150"})], "a 50")
    assert "wrong-pot" in codes(matched, "gamevelvet")
    finished = credits_hand(SHORT, [("100", {"c": "100"}), ("50", {"a": "50"})], "a 50")
    assert "wrong-pot" in codes(finished, "as-posted")
