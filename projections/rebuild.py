"""Building a new generation beside the live one, proving the two equal, and swapping the views."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import sql

from projections import checkpoints, generations
from projections.runner import Projector, connect
from projections.schema import book_of

REBUILD_LOCK: Final = 7_215_501_116
"""Held by the session that rebuilds."""

Progress = Callable[[int], None]


class RebuildRunningError(RuntimeError):
    """Another session is rebuilding."""


class GenerationsDifferError(RuntimeError):
    """The events give other rows than the live generation has."""

    def __init__(self, differences: list[str]) -> None:
        super().__init__("; ".join(differences))
        self.differences = differences


class Rebuilt(NamedTuple):
    """What became of a rebuild: the new live generation, and how the one before differed."""

    generation: int
    position: int
    differences: list[str]


def rebuild(
    dsn: str, *, accept_differences: bool = False, on_progress: Progress = lambda _: None
) -> Rebuilt:
    """Build the next generation, compare it with the live one, and show it in its place.

    Hands may be posted meanwhile. Raises GenerationsDifferError, and leaves the live one as it is,
    unless differences are accepted: that is how a damaged generation is repaired.
    """
    with connect(dsn) as connection, _only_one(connection):
        before, number = _begin(connection)
        with checkpoints.recorder() as recorder:
            projector = Projector(connection, recorder, number)
            _follow(projector, before, on_progress)
            differences = _differences(dsn, projector, before)
            if differences and not accept_differences:
                _drop(connection, number)
                raise GenerationsDifferError(differences)
            projector.catch_up()
            _swap(connection, projector, number)
        if before is not None:
            _drop(connection, before)
        return Rebuilt(number, projector.position, differences)


@contextmanager
def _only_one(connection: psycopg.Connection[Any]) -> Iterator[None]:
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", (REBUILD_LOCK,)).fetchone()
    assert row is not None
    if not row[0]:
        raise RebuildRunningError("another rebuild is running")
    yield


def _begin(connection: psycopg.Connection[Any]) -> tuple[int | None, int]:
    """Make the tables of the next generation; drop what an interrupted rebuild left."""
    with connection.transaction(), connection.cursor() as cursor:
        generations.seize(cursor)
        before = generations.live(cursor)
        for left in generations.existing(cursor):
            if left != before:
                generations.drop(cursor, left)
        number = generations.next_number(cursor)
        generations.create(cursor, number)
    return before, number


def _drop(connection: psycopg.Connection[Any], number: int) -> None:
    with connection.transaction(), connection.cursor() as cursor:
        generations.seize(cursor)
        generations.drop(cursor, number)


def _swap(connection: psycopg.Connection[Any], projector: Projector, number: int) -> None:
    """Show the new generation, no less far than the one before, in one transaction."""
    with connection.transaction(), connection.cursor() as cursor:
        generations.seize(cursor)
        while projector.apply():
            pass
        generations.show(cursor, number)


def _follow(projector: Projector, before: int | None, on_progress: Progress) -> None:
    """Build up to where the live generation is, which moves on meanwhile, and never beyond."""
    while True:
        until = None
        if before is not None:
            until = checkpoints.position_of(projector.cursor(), book_of(before))
        if not projector.step(until):
            return
        on_progress(projector.position)


def _differences(dsn: str, projector: Projector, before: int | None) -> list[str]:
    """Compare the generations at one position; the live one is looked at in a snapshot."""
    if before is None:
        return []
    with connect(dsn) as connection, connection.transaction(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        book = book_of(before)
        projector.catch_up(checkpoints.position_of(cursor, book))
        return compare(cursor, book, projector.cursor(), projector.book)


def compare(
    first: psycopg.Cursor[Any], book: str, second: psycopg.Cursor[Any], other: str
) -> list[str]:
    """Compare two generations table by table, each through its own cursor; name what differs."""
    differences = []
    left, right = _tables(first, book), _tables(second, other)
    for table in sorted({**left, **right}):
        common = [name for name in left.get(table, []) if name in right.get(table, [])]
        if not common:
            differences.append(f"{table}: only in one of {book} and {other}")
            continue
        one = _fingerprint(first, book, table, common)
        two = _fingerprint(second, other, table, common)
        if one != two:
            differences.append(f"{table}: {one[0]} rows in {book}, {two[0]} in {other}")
    return differences


def _tables(cursor: psycopg.Cursor[Any], book: str) -> dict[str, list[str]]:
    """Return each table's columns, by name."""
    found = cursor.execute(
        "SELECT relname, array_agg(attname::text ORDER BY attname) FROM pg_class"
        " JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped"
        " WHERE relnamespace = to_regnamespace(%s) AND relkind IN ('r', 'p')"
        " AND NOT relispartition GROUP BY relname",
        (book,),
    )
    return dict(found.fetchall())


def _fingerprint(
    cursor: psycopg.Cursor[Any], book: str, table: str, columns: list[str]
) -> tuple[int, Any, Any]:
    """Count a table's rows and add up two hashes of each, in whatever order they lie."""
    row = cursor.execute(
        sql.SQL(
            "SELECT count(*), sum(hashtextextended(t::text, 1)::numeric),"
            " sum(hashtextextended(t::text, 2)::numeric) FROM (SELECT {} FROM {}) AS t"
        ).format(sql.SQL(", ").join(map(sql.Identifier, columns)), sql.Identifier(book, table))
    ).fetchone()
    assert row is not None
    return (row[0], row[1], row[2])
