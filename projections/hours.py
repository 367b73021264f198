"""Hours and days as the projections count them: whole ones since 2000-01-01, UTC."""

from datetime import UTC, date, datetime, timedelta
from typing import Final

HOUR: Final = 3_600_000_000
"""Microseconds in an hour."""

HOURS_A_DAY: Final = 24

_FIRST_HOUR: Final = datetime(2000, 1, 1, tzinfo=UTC)
_FIRST_DAY: Final = _FIRST_HOUR.toordinal()


def begin_of(hour: int) -> datetime:
    """Return the instant at which an hour begins."""
    return _FIRST_HOUR + timedelta(hours=hour)


def date_of(day: int) -> date:
    """Return the date of a day."""
    return date.fromordinal(_FIRST_DAY + day)
