"""The demonstration's day ends with books that agree with what it counted itself."""

import io
from random import Random

import pytest
from rich.console import Console

from ops.client import Answer
from ops.demo.jackpot import four_queens
from ops.demo.refusals import Case
from ops.demo.run import run
from ops.demo.tally import Tally
from ops.simulator import cards
from ops.simulator.play import Opening


def test_a_card_room_s_day_ends_with_the_books_as_counted() -> None:
    printed = io.StringIO()
    as_it_must_be = run(250, Console(file=printed, width=100))
    lines = printed.getvalue().splitlines()
    assert as_it_must_be, printed.getvalue()
    assert lines[-1].startswith("OK ")
    assert lines[-1].endswith("EUR owed to players, difference 0.00")
    assert not any(line.startswith("WRONG") for line in lines)
    assert "Hits of the jackpots" in printed.getvalue()


def test_what_is_owed_is_what_came_in_less_what_went_out() -> None:
    tally = Tally(
        deposited=100_00, debts_collected=5_00, taken_back=10_00, paid_out=20_00, resynced=-35
    )
    tally.rake = {"Vallmo": 109, "Tistel": 50}
    tally.jackpot_tables = {"Vallmo"}
    tally.jackpots_paid = 8
    assert (tally.jackpots, tally.pool) == (10, 2)
    assert tally.income == 149
    assert tally.liability == 100_00 - 5_00 - 10_00 - 20_00 - 149 - 35


@pytest.mark.parametrize(
    ("status", "code", "right"),
    [(422, "seat-taken", True), (422, "seat-unknown", False), (201, "seat-taken", False)],
)
def test_a_refusal_is_right_when_it_has_the_code_that_is_due(
    status: int, code: str, right: bool
) -> None:
    case = Case("a taken seat", "seat-taken", Answer(status, {"code": code}, {}))
    assert case.right is right


def test_a_stacked_pack_deals_its_cards_first_and_all_others_once() -> None:
    pack = cards.stacked(Random(1), ["Qh", "Qs", "2c"])
    assert [pack[-1], pack[-2], pack[-3]] == ["Qh", "Qs", "2c"]
    assert sorted(pack) == sorted(cards.PACK)


@pytest.mark.parametrize("players", [2, 3, 10])
def test_the_demonstration_s_pack_holds_no_card_twice(players: int) -> None:
    opening = Opening(tuple(range(players)), {}, 0)
    first = list(four_queens(opening))
    assert len(first) == len(set(first)) == 2 * players + 5
    assert first[:4] == ["Qh", "Qs", "Ah", "As"]
    assert first[-5:] == ["Qc", "Qd", "Ac", "Ad", "2c"]
