"""Findings and what was done about them, worked out again from the events of their hands."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec
import psycopg
from psycopg import sql

from ledger.core import Event
from ledger.hands.filed import ABOUT
from projections.check.report import Report
from projections.findings import FindingRow, StepRow, hands

_COUNTS: Final = """
SELECT network, code, level, status, findings FROM {}.finding_counts
"""

Row = FindingRow | StepRow


class _Table(NamedTuple):
    """A table with a row for each event of a kind, by its position."""

    name: str
    kind: type[Row]
    code: str


_TABLES: Final = (
    _Table("findings", FindingRow, "finding-differs"),
    _Table("finding_steps", StepRow, "finding-step-differs"),
)


class FindingsCheck:
    """Notes of which hands anything was found."""

    def __init__(self) -> None:
        self._streams: set[str] = set()

    def note(self, stream: str, position: int, event: Event) -> None:
        """Take an event."""
        if isinstance(event, ABOUT):
            self._streams.add(stream)

    def end(
        self, connection: psycopg.Connection[Any], book: str, projected: int, report: Report
    ) -> None:
        """Compare with what is kept, up to the position that it is projected to."""
        counts: Counter[tuple[str, ...]] = Counter()
        sums = [0 for _ in _TABLES]
        with connection.cursor() as cursor:
            for row in self._told(cursor, projected):
                sums[_number(row)] ^= _digest(row)
                if isinstance(row, FindingRow):
                    counts.update(dict.fromkeys(row.countable(), 0))
                    counts[row.counted] += 1
            for number, table in enumerate(_TABLES):
                for row in _kept(connection, book, table):
                    sums[number] ^= _digest(row)
                if sums[number]:
                    # Only now, when some differ, are all of them held in memory.
                    kept = {row.position: row for row in _kept(connection, book, table)}
                    told = {
                        row.position: row
                        for row in self._told(cursor, projected)
                        if isinstance(row, table.kind)
                    }
                    _compare(table, book, kept, told, report)
        _check_counts(connection, book, counts, report)

    def _told(self, cursor: psycopg.Cursor[Any], projected: int) -> Iterator[Row]:
        """Give the rows of all tables, as the events have them."""
        for _, hand in hands(cursor, self._streams, projected):
            yield from hand.rows()
            yield from hand.steps()


def _compare(
    table: _Table, book: str, kept: Mapping[int, Row], told: Mapping[int, Row], report: Report
) -> None:
    for position in sorted({**kept, **told}):
        if kept.get(position) != told.get(position):
            report.add(
                table.code,
                f"position {position}",
                f"kept: {kept.get(position)}; told: {told.get(position)}",
                f"{book}.{table.name}",
            )


def _kept(connection: psycopg.Connection[Any], book: str, table: _Table) -> Iterator[Row]:
    columns = sql.SQL(", ").join(map(sql.Identifier, table.kind._fields))
    statement = sql.SQL("SELECT {} FROM {}").format(columns, sql.Identifier(book, table.name))
    with connection.cursor(name=f"kept_{table.name}") as cursor:
        for row in cursor.execute(statement):
            yield table.kind(*map(_in_utc, row))


def _in_utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _number(row: Row) -> int:
    return next(number for number, table in enumerate(_TABLES) if isinstance(row, table.kind))


def _digest(row: Row) -> int:
    return hash(msgspec.json.encode(row, order="sorted"))


def _check_counts(
    connection: psycopg.Connection[Any], book: str, counts: Counter[tuple[str, ...]], report: Report
) -> None:
    """Compare how many there are of each kind."""
    kept = {
        row[:-1]: row[-1]
        for row in connection.execute(sql.SQL(_COUNTS).format(sql.Identifier(book)))
    }
    for key in sorted({**kept, **counts}):
        if kept.get(key) != counts.get(key):
            report.add(
                "finding-count-differs",
                " ".join(key),
                f"kept: {kept.get(key)}; there are {counts.get(key)}",
                f"{book}.finding_counts",
            )
