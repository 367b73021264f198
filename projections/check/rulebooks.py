"""Rulebook versions and the days that they judged, read again from the events."""

from collections.abc import Iterable
from datetime import UTC, datetime, time
from typing import Any, Final

import psycopg
from psycopg import sql

from ledger.core import Event, Posting
from ledger.protests.windows import closes_at
from ledger.recorder import microseconds
from ledger.rulebooks.conduct import DaysWindow
from projections.check.report import Report
from projections.hours import HOUR, HOURS_A_DAY, date_of
from projections.rulebooks import Rulebooks
from projections.views import END_OF_WINDOW

_DAY: Final = HOUR * HOURS_A_DAY

_VERSIONS: Final = """
SELECT network, rulebook, name, valid_from, revision, position, window_kind, window_days,
       window_zone
  FROM {}.rulebook_versions
"""
_DAYS: Final = """
SELECT network, rulebook, occurred_day, first_position, last_position FROM {}.rulebook_days
"""


# The view's own arithmetic over days in place of transactions.
_CLOSINGS: Final = f"""
SELECT t.occurred_at, v.window_days, v.window_zone, day.closes_at
  FROM unnest(%s::timestamptz[], %s::int[], %s::text[]) AS t (occurred_at, days, zone)
 CROSS JOIN LATERAL (
    SELECT 'days' AS window_kind, days AS window_days, zone AS window_zone) AS v
{END_OF_WINDOW}
"""  # noqa: S608


class RulebooksCheck:
    """Notes what was adopted, and by which version each event was judged that moved money."""

    def __init__(self) -> None:
        self._read = Rulebooks("")

    def note(self, stream: str, position: int, event: Event, lines: Iterable[Posting]) -> None:
        """Take an event."""
        category, network, _ = stream.split(":", 2)
        if category == "rulebook":
            self._read.note(stream, event, position)
        elif lines:
            day = microseconds(event.occurred_at) // _DAY
            span = self._read.judge((network, event.rulebook, day), lines, position)
            span[1] = position

    def end(self, connection: psycopg.Connection[Any], book: str, report: Report) -> None:
        """Compare with what is kept."""
        self._check_rows(connection, book, report)
        self._check_zones(connection, report)

    def _check_rows(self, connection: psycopg.Connection[Any], book: str, report: Report) -> None:
        versions = {row[:2]: row for row in self._read.adopted}
        days = {
            (network, rulebook, date_of(day)): (network, rulebook, date_of(day), *span)
            for (network, rulebook, day), span in self._read.judged.items()
        }
        for table, statement, keys, given in (
            ("rulebook_versions", _VERSIONS, 2, versions),
            ("rulebook_days", _DAYS, 3, days),
        ):
            rows = connection.execute(sql.SQL(statement).format(sql.Identifier(book)))
            kept = {row[:keys]: row for row in rows}
            for key in sorted({**kept, **given}):
                if kept.get(key) != given.get(key):
                    report.add(
                        "rulebook-differs",
                        f"{table} {' '.join(map(str, key))}",
                        f"kept: {kept.get(key)}; the events give {given.get(key)}",
                        f"{book}.{table}",
                    )

    def _check_zones(self, connection: psycopg.Connection[Any], report: Report) -> None:
        """Compare when windows close in SQL with when they do: two sets of time zone data.

        The database has its own; where it differs, the views show other instants than count.
        """
        windows = {row[:2]: (row[7], row[8]) for row in self._read.adopted if row[7] is not None}
        cases = [
            (datetime.combine(date_of(day), moment, UTC), *windows[network, rulebook])
            for network, rulebook, day in self._read.judged
            if (network, rulebook) in windows
            for moment in (time.min, time.max)
        ]
        columns = [list(column) for column in zip(*cases, strict=True)] or [[], [], []]
        for occurred, days, zone, shown in connection.execute(_CLOSINGS, columns):
            closes = closes_at(occurred, DaysWindow(days=days, zone=zone))
            if shown != closes:
                report.add(
                    "time-zone-differs",
                    f"{zone}, {days} days after {occurred:%Y-%m-%d}",
                    f"a window closes at {closes}; the database has {shown}",
                    "book.protest_windows",
                )
