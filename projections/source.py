"""Batches of the journal, cut where a commit ends and where a day of recording ends."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, NamedTuple

import psycopg

Row = tuple[str, str, bytes, int]
"""Stream, stored name, state, position."""

CHUNK: Final = 1_000
"""Rows that are looked at together: so few that a processor's cache holds what becomes of them."""


class Batch(NamedTuple):
    """Whole commits, all recorded on the same day (UTC)."""

    last_position: int
    recorded_day: date
    chunks: Iterator[list[Row]]
    """Their events in order, to be read once, some at a time."""


_FIRST: Final = """
SELECT last_position, recorded_at FROM journal.commits
 WHERE last_position > %s ORDER BY last_position LIMIT 1
"""
# The day is cut by the commits' own order: recorded_at never goes back.
_LAST: Final = """
SELECT last_position FROM journal.commits
 WHERE last_position > %s AND last_position <= %s AND recorded_at < %s
 ORDER BY last_position DESC LIMIT 1
"""
_ROWS: Final = """
SELECT originator_id, topic, state, notification_id FROM journal.events
 WHERE notification_id > %s AND notification_id <= %s ORDER BY notification_id
"""


def next_batch(
    connection: psycopg.Connection[Any], after: int, limit: int, until: int | None = None
) -> Batch | None:
    """Read up to ``limit`` events after a position, but at least one commit; None at the end.

    ``until`` is a position that is not passed. Raises JournalGapError when events are missing.
    """
    with connection.cursor(binary=True) as cursor:
        first = cursor.execute(_FIRST, (after,)).fetchone()
        if first is None or (until is not None and first[0] > until):
            return None
        last, recorded_at = first
        day = recorded_at.astimezone(UTC).date()
        bound = after + limit if until is None else min(after + limit, until)
        if bound > last:
            found = cursor.execute(_LAST, (after, bound, _midnight_after(day))).fetchone()
            last = found[0] if found is not None else last
    rows = connection.cursor(binary=True).execute(_ROWS, (after, last))
    if rows.rowcount != last - after:
        raise JournalGapError(
            f"{last - after} events expected after position {after}, {rows.rowcount} found"
        )
    return Batch(last, day, _chunks(rows))


def _chunks(rows: psycopg.Cursor[Any]) -> Iterator[list[Row]]:
    """Make Python's objects of some rows at a time; all have been sent already."""
    with rows:
        while chunk := rows.fetchmany(CHUNK):
            yield chunk


def _midnight_after(day: date) -> datetime:
    return datetime.combine(day + timedelta(days=1), time(), UTC)


class JournalGapError(RuntimeError):
    """Events that a commit names are not in the journal."""
