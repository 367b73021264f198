"""Calendar months in UTC, as the book's days are: ``2026-10``."""

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple

from ledger.bounds import InvalidField

_MONTH: Final = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")
_FIRST_YEAR: Final = 1970


class Month(NamedTuple):
    """A month of the calendar."""

    year: int
    number: int

    def __str__(self) -> str:
        return f"{self.year:04}-{self.number:02}"

    @property
    def begins_at(self) -> datetime:
        """Its first instant."""
        return datetime(self.year, self.number, 1, tzinfo=UTC)

    @property
    def ends_at(self) -> datetime:
        """The first instant of the month after it."""
        return self.following.begins_at

    @property
    def following(self) -> "Month":
        """The month after it."""
        return Month(self.year + self.number // 12, self.number % 12 + 1)

    @property
    def preceding(self) -> "Month":
        """The month before it."""
        return Month(self.year - (self.number == 1), (self.number - 2) % 12 + 1)


def month(name: str, field: str = "month") -> Month:
    """Read a month such as ``2026-10``. Raises InvalidField."""
    found = _MONTH.fullmatch(name)
    if found is None or not _FIRST_YEAR < int(found[1]) < 9999:
        raise InvalidField("A month is written as in 2026-10.", field=field)
    return Month(int(found[1]), int(found[2]))
