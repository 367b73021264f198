"""The demonstration's day ends with books that agree with what it counted itself."""

import io

import pytest
from rich.console import Console

from ops.client import Answer
from ops.demo.refusals import Case
from ops.demo.run import run
from ops.demo.tally import Tally


def test_a_card_room_s_day_ends_with_the_books_as_counted() -> None:
    printed = io.StringIO()
    as_it_must_be = run(250, Console(file=printed, width=100))
    lines = printed.getvalue().splitlines()
    assert as_it_must_be, printed.getvalue()
    assert lines[-1].startswith("OK ")
    assert lines[-1].endswith("EUR owed to players, difference 0.00")
    assert not any(line.startswith("WRONG") for line in lines)


def test_what_is_owed_is_what_came_in_less_what_went_out() -> None:
    tally = Tally(
        deposited=100_00, debts_collected=5_00, taken_back=10_00, paid_out=20_00, resynced=-35
    )
    tally.rake = {"Vallmo": 109, "Tistel": 50}
    tally.jackpot_tables = {"Vallmo"}
    assert tally.jackpots == 10
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
