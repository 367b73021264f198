"""Until when a transaction may be protested, by the rulebook version that it was judged by.

The end of a calendar day in a zone is worked out here, with the time zone data of this system, and
this is what counts; the database's arithmetic shows the same instants to those who read in SQL.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from ledger.rulebooks.conduct import DaysWindow, NextHandWindow
from ledger.rulebooks.schema import Rulebook

END_OF_TIME: Final = datetime.max.replace(tzinfo=UTC)
"""What closes later than the calendar goes closes then."""

_DAY: Final = timedelta(days=1)


class Closing(NamedTuple):
    """A day of transactions whose windows close together; both ranges end before their end."""

    occurred_from: datetime
    occurred_before: datetime
    closes_at: datetime


def window_of(rulebook: Rulebook) -> DaysWindow | NextHandWindow | None:
    """Return the window that a rulebook gives; None where there are no protests. Source: L."""
    return None if rulebook.protests == "none" else rulebook.protests.window


def closes_at(occurred_at: datetime, window: DaysWindow) -> datetime:
    """Return the first instant at which a transaction may no longer be protested, in UTC.

    It is the end of the n-th calendar day after the day of the transaction, both in the window's
    zone: days of 23 and of 25 hours count as one. Source: K 6.1.
    """
    zone = ZoneInfo(window.zone)
    try:
        return _start_of(occurred_at.astimezone(zone).date() + _after(window), zone)
    except OverflowError:
        return END_OF_TIME


def closings(
    closing_from: datetime, closing_before: datetime, window: DaysWindow
) -> Iterator[Closing]:
    """Yield the days whose transactions' windows close in a range of time, the earliest first."""
    zone = ZoneInfo(window.zone)
    try:
        day = closing_from.astimezone(zone).date()
        while (closes := _start_of(day, zone)) < closing_before:
            if closes >= closing_from:
                began = day - _after(window)
                yield Closing(_start_of(began, zone), _start_of(began + _DAY, zone), closes)
            day += _DAY
    except OverflowError:
        return


def _after(window: DaysWindow) -> timedelta:
    return timedelta(days=window.days + 1)


def _start_of(day: date, zone: ZoneInfo) -> datetime:
    """Return the midnight that begins a day: of two the first, and of none the change itself."""
    return datetime.combine(day, time(), zone).astimezone(UTC)
