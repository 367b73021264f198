"""Months that are closed, in order, and opened again from the last one back."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.bounds import InvalidField
from ledger.core import ApprovalNeeded, Asked, Refused
from ledger.periods.calendar import Month, month
from ledger.periods.commands import (
    ClosePeriod,
    PeriodIsClosed,
    PeriodNotClosed,
    PeriodNotOver,
    PeriodOutOfOrder,
    ReopenPeriod,
)
from ledger.periods.events import PeriodState, period_stream
from tests.ledger.given import NETWORK, MemoryBook, a_book, names

LATER = datetime(2013, 12, 24, tzinfo=UTC)


@pytest.fixture
def book() -> MemoryBook:
    return a_book()


def close(book: MemoryBook, named: str, **fields: Any) -> ClosePeriod:
    asked = {**book.ask(), "at": LATER, "month": named, "rulebook": "entraction", **fields}
    return ClosePeriod(**asked)


def reopen(book: MemoryBook, named: str, reason: str = "A hand was missing.") -> ReopenPeriod:
    asked = {**book.ask(), "at": LATER, "month": named, "rulebook": "entraction"}
    return ReopenPeriod(**asked, reason=reason)


def agreed(book: MemoryBook, command: ClosePeriod | ReopenPeriod) -> list[str]:
    """Let a second person agree; return what that became."""
    assert isinstance(command.approval(book), Asked)
    decision = command.decide_approved(book)
    book.record(decision.changes)
    return names(decision.changes)


def refused(book: MemoryBook, command: ClosePeriod | ReopenPeriod, kind: type[Refused]) -> Refused:
    with pytest.raises(kind) as caught:
        book.when(command)
    return caught.value


def state(book: MemoryBook, named: str) -> PeriodState:
    found: PeriodState = book.states[period_stream(NETWORK, named)]
    return found


def test_the_first_month_that_is_closed_may_be_any(book: MemoryBook) -> None:
    assert agreed(book, close(book, "2013-06")) == ["period.closed.v1", "claim.taken.v1"]
    assert state(book, "2013-06").status == "closed"


def test_a_month_is_closed_by_two_people(book: MemoryBook) -> None:
    refused(book, close(book, "2013-06"), ApprovalNeeded)
    wanted = close(book, "2013-06").approval(book)
    assert wanted is not None
    assert (wanted.action, wanted.summary["month"]) == ("close-period", "2013-06")


def test_months_are_closed_one_after_the_other(book: MemoryBook) -> None:
    agreed(book, close(book, "2013-06"))
    found = refused(book, close(book, "2013-08"), PeriodOutOfOrder)
    assert found.extra["first"] == "2013-07"
    assert agreed(book, close(book, "2013-07")) == ["period.closed.v1"]
    agreed(book, close(book, "2013-08"))


def test_a_month_before_the_first_closed_one_is_not_closed(book: MemoryBook) -> None:
    agreed(book, close(book, "2013-06"))
    refused(book, close(book, "2013-05"), PeriodOutOfOrder)


@pytest.mark.parametrize(
    ("at", "over"),
    [
        (datetime(2013, 6, 30, 23, 59, 59, 999_999, tzinfo=UTC), False),
        (datetime(2013, 7, 1, tzinfo=UTC), True),
        (datetime(2013, 7, 1, 1, 30, tzinfo=UTC) - timedelta(hours=2), False),
    ],
)
def test_a_month_is_closed_when_it_is_over_in_utc(
    book: MemoryBook, at: datetime, over: bool
) -> None:
    command = close(book, "2013-06", at=at)
    if over:
        agreed(book, command)
    else:
        assert refused(book, command, PeriodNotOver).retry == "later"


def test_a_closed_month_is_not_closed_again(book: MemoryBook) -> None:
    agreed(book, close(book, "2013-06"))
    refused(book, close(book, "2013-06"), PeriodIsClosed)


def test_a_month_that_was_reopened_is_closed_again(book: MemoryBook) -> None:
    agreed(book, close(book, "2013-06"))
    refused(book, reopen(book, "2013-06"), ApprovalNeeded)
    assert agreed(book, reopen(book, "2013-06")) == ["period.reopened.v1"]
    assert state(book, "2013-06").reason == "A hand was missing."
    refused(book, close(book, "2013-07"), PeriodOutOfOrder)
    agreed(book, close(book, "2013-06"))
    found = state(book, "2013-06")
    assert (found.status, found.times_closed, found.reopened_by) == ("closed", 2, "test")


def test_months_are_reopened_from_the_last_one_back(book: MemoryBook) -> None:
    for named in ("2013-06", "2013-07"):
        agreed(book, close(book, named))
    assert refused(book, reopen(book, "2013-06"), PeriodOutOfOrder).extra["first"] == "2013-07"
    agreed(book, reopen(book, "2013-07"))
    agreed(book, reopen(book, "2013-06"))


def test_what_is_not_closed_is_not_reopened(book: MemoryBook) -> None:
    refused(book, reopen(book, "2013-06"), PeriodNotClosed)
    agreed(book, close(book, "2013-06"))
    refused(book, reopen(book, "2013-06", " "), InvalidField)


@pytest.mark.parametrize(
    "name", ["2013-13", "2013-00", "2013-6", "13-06", "1970-01", "9999-12", ""]
)
def test_what_is_no_month_is_refused(book: MemoryBook, name: str) -> None:
    assert refused(book, close(book, name), InvalidField).field == "month"


@given(st.integers(1971, 9998), st.integers(1, 12))
def test_months_follow_each_other_without_a_gap(year: int, number: int) -> None:
    one = Month(year, number)
    assert month(str(one)) == one
    assert one.following.preceding == one
    assert one.ends_at == one.following.begins_at
    assert one.ends_at - timedelta(microseconds=1) >= one.begins_at + timedelta(days=27)
