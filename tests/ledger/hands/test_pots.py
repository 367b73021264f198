"""Uncalled bets, main and side pots under both all-in rules. Source: K 10.1.5, G."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.hands.contributions import Tally, tally
from ledger.hands.pots import pots_of, uncalled
from tests.ledger.hands.posts import a_post, read

Rule = Literal["matched", "finished"]
RICH = {"a": "100000", "b": "100000", "c": "100000", "d": "100000"}


def counted(play: str, stacks: dict[str, str] | None = None) -> Tally:
    return tally(read(a_post([("Preflop", play)], [], stacks or RICH)))


def worked_out(
    play: str, rule: Rule, stacks: dict[str, str] | None = None
) -> tuple[dict[str, int], list[tuple[int, str]]]:
    """Return what goes back to whom, and each pot with the players who may win it, in whole EUR."""
    result = counted(play, stacks)
    names = dict(enumerate(stacks or RICH, 1))
    back = uncalled(result, {})
    returned = {back.player_id: back.amount} if back else {}
    pots = pots_of(result, returned, rule)
    return (
        {names[player]: amount // 100 for player, amount in returned.items()},
        [(pot.amount // 100, "".join(names[player] for player in pot.entitled)) for pot in pots],
    )


CASES = [
    # everyone matched: one pot
    ("a bet 100, b call 100, c call 100", {}, [(300, "abc")], [(300, "abc")]),
    # all but one fold
    ("a bet 50, b fold, c fold", {"a": 50}, [], []),
    ("a sb 1, b bb 2, a fold", {"b": 1}, [(2, "b")], [(2, "b")]),
    # the example of RULES 3: B folds after 50, C is all-in with 50
    (
        "b bet 50, c call 50!, a raise 100, b fold",
        {"a": 50},
        [(150, "ac")],
        [(100, "ac"), (50, "a")],
    ),
    # G's own example
    (
        "a bet 100, b call 100, c call 50!",
        {},
        [(150, "abc"), (100, "ab")],
        [(150, "abc"), (100, "ab")],
    ),
    # two short all-ins: two side pots
    (
        "a bet 100, b call 60!, c call 20!, d call 100",
        {},
        [(80, "abcd"), (120, "abd"), (80, "ad")],
        [(80, "abcd"), (120, "abd"), (80, "ad")],
    ),
    # who folded put in more than the all-in: what is over goes with the side pot, or to the rest
    (
        "c bet 20!, b call 20, a call 20, b bet 30, a raise 70, b fold",
        {"a": 40},
        [(60, "ac"), (60, "a")],
        [(40, "ac"), (80, "a")],
    ),
    # antes 10 + 10, A bets 500, B raises by 10,000 and drops out
    (
        "a ante 10, b ante 10, a bet 500, b raise 10000, b fold",
        {"b": 9_500},
        [(1_020, "a")],
        [(1_020, "a")],
    ),
    # who could still have called wins what others bet and left behind
    ("a bet 50, b raise 100, c call 100, b fold, c fold", {}, [(250, "a")], [(250, "a")]),
    ("b sb 1, c bb 2, a check, b fold, c fold", {"c": 1}, [(2, "a")], [(2, "a")]),
    # a bet and its only caller leave: the last to go was alone in that pot
    (
        "c bet 50!, a raise 100, b call 100, b fold, a fold",
        {},
        [(150, "c"), (100, "a")],
        [(150, "c"), (100, "a")],
    ),
]


@pytest.mark.parametrize(("play", "back", "matched", "finished"), CASES)
def test_pots_under_both_all_in_rules(
    play: str,
    back: dict[str, int],
    matched: list[tuple[int, str]],
    finished: list[tuple[int, str]],
) -> None:
    assert worked_out(play, "matched") == (back, matched)
    assert worked_out(play, "finished") == (back, finished)


def test_dead_money_matches_nothing_and_is_in_the_main_pot() -> None:
    # B's bet is covered by C's live blind alone, and D is all-in for less than that.
    play = "b sb 1, c bb 2, a blind 2, a dead 1, d call 1!, b raise 39, c fold, a fold"
    assert worked_out(play, "matched") == ({"b": 38}, [(5, "bd"), (3, "b")])


def test_all_chips_staked_are_an_all_in_without_being_said_to_be() -> None:
    stacks = {"a": "200", "b": "50", "c": "50"}
    play = "a bet 50, c call 50, b call 50, b fold, a bet 50, c fold"
    assert counted(play, stacks).players[3].allin
    play = "b bet 50, c call 50, a raise 100, b fold"
    assert worked_out(play, "finished", stacks)[1] == [(100, "ac"), (50, "a")]


def test_who_is_all_in_for_everything_plays_for_the_rest_when_nobody_else_can() -> None:
    play = "b bet 80, a raise 100!, c call 50!, b fold"
    assert worked_out(play, "finished")[1] == [(100, "ac"), (110, "a")]


@pytest.mark.parametrize("rule", ["matched", "finished"])
@given(
    stakes=st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 3), st.booleans(), st.booleans()),
        min_size=2,
        max_size=4,
    )
)
def test_pots_hold_all_that_was_not_returned_and_each_has_somebody_to_win_it(
    rule: Rule, stakes: list[tuple[int, int, bool, bool]]
) -> None:
    names = "abcd"
    play = [f"{names[n]} dead {dead}" for n, (_, dead, _, _) in enumerate(stakes) if dead]
    play += [
        f"{names[n]} bet {live}{'!' if allin else ''}" if live else f"{names[n]} check"
        for n, (live, _, _, allin) in enumerate(stakes)
    ]
    play += [f"{names[n]} fold" for n, (_, _, folds, _) in enumerate(stakes[1:], 1) if folds]
    result = counted(", ".join(play))
    back = uncalled(result, {})
    returned = {back.player_id: back.amount} if back else {}
    pots = pots_of(result, returned, rule)
    assert sum(pot.amount for pot in pots) == result.put_in - sum(returned.values())
    assert all(pot.entitled for pot in pots if pot.amount)
    live = {one.player_id: one.live - returned.get(one.player_id, 0) for one in
            result.players.values()}  # fmt: skip
    dead = sum(one.dead for one in result.players.values())
    if rule == "matched":
        for one in result.finished:
            if not one.allin:
                continue
            mine = sum(pot.amount for pot in pots if one.player_id in pot.entitled)
            covered = sum(min(stake, live[one.player_id]) for stake in live.values())
            assert mine <= covered + dead
