"""Streams and what is kept of them: versions without gaps, states as their events fold."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import psycopg
from psycopg import sql

from ledger import catalogue
from projections.check.report import Report
from projections.schema import FOLLOWED

_READ_AHEAD: Final = 2_000

UNFOLDABLE: Final = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError),
    msgspec.MsgspecError,
)
"""What an event raises whose content is not what it was written as."""

_VERSIONS: Final = """
SELECT originator_id, originator_version, notification_id FROM (
  SELECT originator_id, originator_version, notification_id,
         row_number() OVER stream AS expected, lag(notification_id) OVER stream AS before
    FROM journal.events WINDOW stream AS (PARTITION BY originator_id ORDER BY originator_version)
  ) AS numbered
 WHERE originator_version <> expected OR notification_id <= before
"""
_EVENTS: Final = """
SELECT originator_id, topic, state, notification_id FROM journal.events
 WHERE originator_id >= %s AND originator_id < %s AND notification_id <= %s
 ORDER BY originator_id, originator_version
"""


def check_versions(connection: psycopg.Connection[Any], report: Report) -> None:
    """Report streams whose versions have gaps or are not in the journal's order."""
    for stream, version, position in read_on(connection, "versions", _VERSIONS):
        report.add("version-gap", f"position {position}, {stream}", f"unexpected version {version}")


def check_states(
    connection: psycopg.Connection[Any], book: str, position: int, report: Report
) -> None:
    """Fold every followed stream again, and compare with the row that is kept of it."""
    for category in FOLLOWED:
        folded = _folded(connection, category, position)
        kept = _kept(connection, book, category)
        for stream, expected, found in _merged(folded, kept):
            if expected != found:
                report.add(
                    "state-differs",
                    stream,
                    f"kept: {_shown(found)}; its events give {_shown(expected)}",
                    f"{book}.{FOLLOWED[category]}",
                )


State = tuple[int, int, Any]
"""Positions of a stream's first and last event, and its state as JSON: with all that is in it."""


def _folded(
    connection: psycopg.Connection[Any], category: str, position: int
) -> Iterator[tuple[str, State]]:
    evolve = catalogue.STREAMS[category].evolve
    current, state, first, last = "", None, 0, 0
    bounds = (f"{category}:", f"{category};", position)
    for stream, topic, stored, at in read_on(connection, f"events_of_{category}", _EVENTS, bounds):
        if stream != current:
            if current:
                yield current, (first, last, _as_json(state))
            current, state, first = stream, None, at
        try:
            state = evolve(state, catalogue.decode(topic, stored))
        except UNFOLDABLE as error:
            state = f"{type(error).__name__} at {at}"
        last = at
    if current:
        yield current, (first, last, _as_json(state))


def _kept(
    connection: psycopg.Connection[Any], book: str, category: str
) -> Iterator[tuple[str, State]]:
    statement = sql.SQL(
        "SELECT stream, first_position, position, state::text FROM {} ORDER BY stream"
    ).format(sql.Identifier(book, FOLLOWED[category]))
    for stream, first, last, state in read_on(connection, f"kept_of_{category}", statement):
        yield stream, (first, last, msgspec.json.decode(state))


def _merged(
    left: Iterator[tuple[str, State]], right: Iterator[tuple[str, State]]
) -> Iterator[tuple[str, State | None, State | None]]:
    """Walk through two sorted lists at once: key, left's value, right's value."""
    first, second = next(left, None), next(right, None)
    while first is not None or second is not None:
        if second is None or (first is not None and first[0] < second[0]):
            assert first is not None
            yield first[0], first[1], None
            first = next(left, None)
        elif first is None or second[0] < first[0]:
            yield second[0], None, second[1]
            second = next(right, None)
        else:
            yield first[0], first[1], second[1]
            first, second = next(left, None), next(right, None)


def _as_json(state: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(state))


def _shown(state: State | None) -> str:
    if state is None:
        return "nothing"
    first, last, content = state
    return f"{msgspec.json.encode(content).decode()} from {first} to {last}"


def read_on(
    connection: psycopg.Connection[Any],
    name: str,
    statement: Any,
    parameters: tuple[Any, ...] = (),
) -> Iterator[tuple[Any, ...]]:
    """Run a query through a cursor of the server, so that no more than a part is in memory."""
    with connection.cursor(name=name) as cursor:
        cursor.itersize = _READ_AHEAD
        yield from cursor.execute(statement, parameters)
