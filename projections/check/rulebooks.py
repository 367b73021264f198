"""Rulebook versions and the days that they judged, read again from the events."""

from collections.abc import Iterable
from typing import Any, Final

import psycopg
from psycopg import sql

from ledger.core import Event, Posting
from ledger.recorder import microseconds
from projections.check.report import Report
from projections.hours import HOUR, HOURS_A_DAY, date_of
from projections.rulebooks import Rulebooks

_DAY: Final = HOUR * HOURS_A_DAY

_VERSIONS: Final = """
SELECT network, rulebook, name, valid_from, revision, position, window_kind, window_days,
       window_zone
  FROM {}.rulebook_versions
"""
_DAYS: Final = """
SELECT network, rulebook, occurred_day, first_position, last_position FROM {}.rulebook_days
"""


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
