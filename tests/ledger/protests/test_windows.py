"""When protest windows close: summer time, leap days, the ends of months and years."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.protests.windows import END_OF_TIME, closes_at, closings, window_of
from ledger.rulebooks import shipped
from ledger.rulebooks.conduct import DaysWindow, NextHandWindow

MALTA = DaysWindow(days=30, zone="Europe/Malta")

ENTRACTION = [
    # (what, occurred at, closes at), all UTC
    ("an afternoon in winter", "2013-01-10T15:00", "2013-02-09T23:00"),
    ("an afternoon in summer", "2013-06-10T15:00", "2013-07-10T22:00"),
    # Malta put its clocks forward on 31 March 2013 at 01:00 UTC, back on 27 October.
    ("into summer time", "2013-03-10T15:00", "2013-04-09T22:00"),
    ("the last window of winter time", "2013-02-27T15:00", "2013-03-29T23:00"),
    ("closing as the day of the change begins", "2013-02-28T15:00", "2013-03-30T23:00"),
    ("closing as the day of 23 hours ends", "2013-03-01T15:00", "2013-03-31T22:00"),
    ("out of summer time", "2013-10-01T15:00", "2013-10-31T23:00"),
    ("closing as the day of 25 hours begins", "2013-09-26T15:00", "2013-10-26T22:00"),
    ("closing as the day of 25 hours ends", "2013-09-27T15:00", "2013-10-27T23:00"),
    ("the hour before midnight in winter", "2013-01-10T22:30", "2013-02-09T23:00"),
    ("the last instant of a day in winter", "2013-01-10T22:59:59.999999", "2013-02-09T23:00"),
    ("midnight in winter is the next day", "2013-01-10T23:00", "2013-02-10T23:00"),
    ("the hour after midnight in winter", "2013-01-10T23:30", "2013-02-10T23:00"),
    ("the hour before midnight in summer", "2013-06-10T21:30", "2013-07-10T22:00"),
    ("the hour after midnight in summer", "2013-06-10T22:30", "2013-07-11T22:00"),
    ("the hour before midnight, UTC, in summer", "2013-06-10T23:30", "2013-07-11T22:00"),
    ("the hour that is skipped, before", "2013-03-31T00:59:59", "2013-04-30T22:00"),
    ("the hour that is skipped, after", "2013-03-31T01:00", "2013-04-30T22:00"),
    ("the repeated hour, the first time", "2013-10-27T00:30", "2013-11-26T23:00"),
    ("the repeated hour, the second time", "2013-10-27T01:30", "2013-11-26T23:00"),
    ("the day of 25 hours, its first minute", "2013-10-26T22:00", "2013-11-26T23:00"),
    ("the day of 25 hours, its last minute", "2013-10-27T22:59", "2013-11-26T23:00"),
    ("over a leap day", "2012-02-10T12:00", "2012-03-11T23:00"),
    ("over the end of a short February", "2013-02-10T12:00", "2013-03-12T23:00"),
    ("on a leap day", "2012-02-29T12:00", "2012-03-30T22:00"),
    ("closing at the end of a leap day", "2012-01-30T12:00", "2012-02-29T23:00"),
    ("a century that is no leap year", "2100-01-30T12:00", "2100-03-01T23:00"),
    ("over the end of a year", "2012-12-15T12:00", "2013-01-14T23:00"),
    ("New Year's Eve in Malta, the year before in UTC", "2012-12-31T23:30", "2013-01-31T23:00"),
    ("closing as the year ends", "2013-12-01T12:00", "2013-12-31T23:00"),
]

OTHER_ZONES = [
    # Midnight is skipped in Beirut's spring and comes twice in Havana's autumn; Samoa left out
    # a day.
    (DaysWindow(days=1, zone="Asia/Beirut"), "2013-03-29T12:00", "2013-03-30T22:00"),
    (DaysWindow(days=1, zone="America/Havana"), "2013-11-01T16:00", "2013-11-03T04:00"),
    (DaysWindow(days=7, zone="UTC"), "2013-03-28T23:59", "2013-04-05T00:00"),
    (DaysWindow(days=1, zone="Pacific/Apia"), "2011-12-29T12:00", "2011-12-30T10:00"),
    (DaysWindow(days=14, zone="Australia/Lord_Howe"), "2013-09-22T12:00", "2013-10-06T13:00"),
]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(("occurred", "closes"), [row[1:] for row in ENTRACTION],
                         ids=[row[0] for row in ENTRACTION])  # fmt: skip
def test_a_window_closes_at_the_end_of_the_thirtieth_day_in_malta(
    occurred: str, closes: str
) -> None:
    assert closes_at(utc(occurred), MALTA) == utc(closes)


@pytest.mark.parametrize(("window", "occurred", "closes"), OTHER_ZONES)
def test_a_day_ends_as_it_does_in_the_rulebooks_zone(
    window: DaysWindow, occurred: str, closes: str
) -> None:
    assert closes_at(utc(occurred), window) == utc(closes)


def test_what_closes_beyond_the_calendar_closes_at_its_end() -> None:
    assert closes_at(utc("9999-12-15T12:00"), MALTA) == END_OF_TIME
    assert list(closings(utc("9999-12-31T00:00"), END_OF_TIME, MALTA)) == []


def test_the_shipped_rulebooks_have_the_windows_of_their_sources() -> None:
    windows = {rulebook.ref: window_of(rulebook) for rulebook in shipped()}
    assert windows == {
        "as-posted@2000-01-01": None,
        "empire@2000-01-01": None,
        "entraction@2008-01-01": MALTA,
        "entraction@2013-01-01": MALTA,
        "gamevelvet@2000-01-01": NextHandWindow(),
        "live-tournament@2000-01-01": None,
    }


@pytest.mark.parametrize(
    ("begins", "ends", "days"),
    [
        ("2013-03-30T23:00", "2013-03-31T22:00", [date(2013, 2, 28)]),
        ("2013-03-30T23:00:00.000001", "2013-03-31T22:00", []),
        ("2013-03-30T12:00", "2013-04-02T12:00",
         [date(2013, 2, 28), date(2013, 3, 1), date(2013, 3, 2)]),
        ("2012-02-29T12:00", "2012-03-01T12:00", [date(2012, 1, 30)]),
        ("2013-04-01T00:00", "2013-04-01T00:00", []),
    ],
)  # fmt: skip
def test_a_range_of_closings_leads_back_to_days_of_transactions(
    begins: str, ends: str, days: list[date]
) -> None:
    found = list(closings(utc(begins), utc(ends), MALTA))
    assert [(one.occurred_before - timedelta(hours=12)).date() for one in found] == days
    assert [one.closes_at for one in found] == [
        closes_at(one.occurred_from, MALTA) for one in found
    ]


INSTANTS = st.datetimes(datetime(1975, 1, 1), datetime(2037, 12, 31), timezones=st.just(UTC))
WINDOWS = st.builds(
    DaysWindow,
    days=st.integers(1, 400),
    zone=st.sampled_from(["Europe/Malta", "America/Sao_Paulo", "Asia/Kathmandu", "UTC"]),
)


@settings(max_examples=300, deadline=None)
@given(occurred=INSTANTS, window=WINDOWS)
def test_a_transaction_is_among_those_whose_windows_close_when_its_own_does(
    occurred: datetime, window: DaysWindow
) -> None:
    closes = closes_at(occurred, window)
    [day] = closings(closes, closes + timedelta(microseconds=1), window)
    assert day.closes_at == closes
    assert day.occurred_from <= occurred < day.occurred_before
    assert timedelta(window.days) - timedelta(hours=2) < closes - occurred
    assert closes - occurred < timedelta(window.days + 1, hours=2)


@settings(max_examples=100, deadline=None)
@given(begins=INSTANTS, hours=st.integers(0, 500), window=WINDOWS)
def test_the_days_of_a_range_of_closings_follow_each_other_without_gaps(
    begins: datetime, hours: int, window: DaysWindow
) -> None:
    found = list(closings(begins, begins + timedelta(hours=hours), window))
    assert all(begins <= one.closes_at < begins + timedelta(hours=hours) for one in found)
    for one, following in pairwise(found):
        assert one.occurred_before == following.occurred_from
