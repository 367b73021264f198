"""Building a new generation beside the live one, proving the two equal, and swapping the views."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import sql

from ledger.recorder import CheckpointRecorder
from projections import checkpoints, generations
from projections.runner import Projector, connect
from projections.schema import book_of

REBUILD_LOCK: Final = 7_215_501_117
"""Held by the session that rebuilds."""

HELD_SECONDS: Final = 0.3
"""How long a swap waits for a reader, and lets others queue behind it, before it steps back."""

PAUSE_SECONDS: Final = 0.5
"""How long it then lets the readers go on."""

PATIENCE_SECONDS: Final = 3600.0
"""How long a swap is tried while somebody goes on reading in one transaction."""

Progress = Callable[[int], None]
Waiting = Callable[[Sequence[str]], None]
"""Told who keeps a swap waiting."""


class RebuildRunningError(RuntimeError):
    """Another session is rebuilding."""


class SwapBlockedError(RuntimeError):
    """Somebody read on and on in one transaction; the live generation stays as it is."""


class Difference(NamedTuple):
    """A table that is not the same in two generations."""

    table: str
    what: str

    def __str__(self) -> str:
        return f"{self.table}: {self.what}"


class GenerationsDifferError(RuntimeError):
    """The events give other rows than the live generation has."""

    def __init__(self, differences: Sequence[Difference]) -> None:
        super().__init__("; ".join(map(str, differences)))
        self.differences = differences


class Rebuilt(NamedTuple):
    """What became of a rebuild: the new generation, and how the one before differed."""

    generation: int
    position: int
    differences: list[Difference]
    held_seconds: float
    """How long the swap kept any reader waiting, at most."""


class Everything:
    """Every table: what is accepted when differences are, wherever they may be."""

    def __contains__(self, table: object) -> bool:
        return True


EVERYTHING: Final = Everything()
Accepted = Collection[str] | Everything


def rebuild(
    dsn: str,
    *,
    accept: Accepted = (),
    on_progress: Progress = lambda _: None,
    on_wait: Waiting = lambda _: None,
) -> Rebuilt:
    """Build the next generation, compare it with the live one, and show it in its place.

    Hands may be posted meanwhile. ``accept`` names the tables that may differ: that is how a
    damaged one is repaired. Raises GenerationsDifferError for any other, and SwapBlockedError; the
    live generation then stays as it is.
    """
    with connect(dsn) as connection, _only_one(connection), checkpoints.recorder() as recorder:
        before, built = _build(dsn, connection, recorder, accept, on_progress)
        try:
            rebuilt = _swap(connection, recorder, built, on_wait)
        except SwapBlockedError:
            _drop(connection, built.generation)
            raise
        if before is not None:
            _drop(connection, before)
        return rebuilt


def prepare(
    dsn: str, *, accept: Accepted = (), on_progress: Progress = lambda _: None
) -> Rebuilt | None:
    """Build the next generation and leave it beside the live one, for ``adopt``.

    None when the live one was made by this code already. A version that is to be installed
    prepares while the one before it serves. Raises GenerationsDifferError.
    """
    with connect(dsn) as connection:
        if _another_versions(connection) is None:
            return None
        with _only_one(connection), checkpoints.recorder() as recorder:
            _, built = _build(dsn, connection, recorder, accept, on_progress)
            return built


def adopt(dsn: str, *, on_wait: Waiting = lambda _: None) -> Rebuilt | None:
    """Show the generation that this code has prepared, where the live one is another's.

    None when there is nothing to do, or nothing was prepared.
    """
    with connect(dsn) as connection:
        live = _another_versions(connection)
        if live is None:
            return None
        with _only_one(connection), checkpoints.recorder() as recorder:
            with connection.cursor() as cursor:
                beside = [one for one in generations.existing(cursor) if one != live]
                ours = [one for one in beside if generations.is_ours(cursor, one)]
            if not ours:
                return None
            rebuilt = _swap(connection, recorder, Rebuilt(ours[-1], 0, [], 0.0), on_wait)
            _drop(connection, live)
            return rebuilt


def _another_versions(connection: psycopg.Connection[Any]) -> int | None:
    """Return the live generation when other code made it."""
    with connection.cursor() as cursor:
        live = generations.live(cursor)
        return None if live is None or generations.is_ours(cursor, live) else live


def make_ready(dsn: str) -> None:
    """See to it that this code may read the projections: they are its own, and so are the views.

    Shows what it has prepared, makes the first generation of a new book, and gives the live one
    the views of this version. Raises StaleGenerationError when that does not do.
    """
    adopt(dsn)
    generations.verify(dsn)
    generations.ensure(dsn)


@contextmanager
def _only_one(connection: psycopg.Connection[Any]) -> Iterator[None]:
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", (REBUILD_LOCK,)).fetchone()
    assert row is not None
    if not row[0]:
        raise RebuildRunningError("another rebuild is running")
    try:
        yield
    finally:
        # The server may take a moment to see that a connection was closed: the next need not wait.
        with suppress(psycopg.Error):
            connection.execute("SELECT pg_advisory_unlock(%s)", (REBUILD_LOCK,))


def _build(
    dsn: str,
    connection: psycopg.Connection[Any],
    recorder: CheckpointRecorder,
    accept: Accepted,
    on_progress: Progress,
) -> tuple[int | None, Rebuilt]:
    """Build a generation up to where the live one is, and compare them; return both."""
    before, number = _begin(connection)
    projector = Projector(connection, recorder, number)
    _follow(projector, before, on_progress)
    differences = _differences(dsn, projector, before)
    if unexpected := [one for one in differences if one.table not in accept]:
        _drop(connection, number)
        raise GenerationsDifferError(unexpected)
    return before, Rebuilt(number, projector.position, differences, 0.0)


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
    """Drop a generation that nobody is shown; while somebody reads it, the next rebuild does."""
    for _ in range(10):
        try:
            with connection.transaction(), connection.cursor() as cursor:
                generations.seize(cursor)
                _wait_at_most(cursor, HELD_SECONDS)
                generations.drop(cursor, number)
                return
        except psycopg.errors.LockNotAvailable:
            time.sleep(PAUSE_SECONDS)


def _swap(
    connection: psycopg.Connection[Any],
    recorder: CheckpointRecorder,
    built: Rebuilt,
    on_wait: Waiting,
) -> Rebuilt:
    """Show the new generation, no less far than the one before.

    Readers queue behind a swap that waits for one of them, so it waits a moment only, then lets
    them pass and tries again. Raises SwapBlockedError when that went on for too long.
    """
    projector = Projector(connection, recorder, built.generation)
    end = time.monotonic() + PATIENCE_SECONDS
    held = 0.0
    while True:
        projector.catch_up()
        # What is caught up while the projector of the live one is held is committed before the
        # views change: no reader's snapshot is older, and to none does the book go back.
        with _projector_held(connection):
            projector.catch_up(_head(connection))
            began = time.monotonic()
            try:
                with connection.transaction(), connection.cursor() as cursor:
                    _wait_at_most(cursor, HELD_SECONDS)
                    generations.show(cursor, built.generation)
                readers: list[str] | None = None
            except psycopg.errors.LockNotAvailable:
                readers = _readers(connection)
            held = max(held, time.monotonic() - began)
        if readers is None:
            return built._replace(position=projector.position, held_seconds=held)
        if time.monotonic() > end:
            raise SwapBlockedError(
                f"the views are being read all the while by {', '.join(readers)}"
            )
        on_wait(readers)
        time.sleep(PAUSE_SECONDS)


@contextmanager
def _projector_held(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Let no generation be written or dropped by others for a while of several transactions."""
    connection.execute("SELECT pg_advisory_lock(%s)", (generations.GENERATIONS_LOCK,))
    try:
        yield
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", (generations.GENERATIONS_LOCK,))


def _head(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT max(last_position) FROM journal.commits").fetchone()
    return (row and row[0]) or 0


def _wait_at_most(cursor: psycopg.Cursor[Any], seconds: float) -> None:
    cursor.execute("SELECT set_config('lock_timeout', %s, true)", (f"{seconds * 1000:.0f}ms",))


def _readers(connection: psycopg.Connection[Any]) -> list[str]:
    """Name the sessions that hold the views, the longest first."""
    found = connection.execute(
        "SELECT concat(coalesce(nullif(application_name, ''), usename), ', process ', pid,"
        " ', for ', extract(epoch FROM clock_timestamp() - xact_start)::int, ' s')"
        " FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND pid IN (SELECT pid FROM pg_locks JOIN pg_class c"
        " ON c.oid = relation WHERE c.relnamespace = 'book'::regnamespace AND granted)"
        " ORDER BY xact_start"
    )
    return [name for (name,) in found]


def _follow(projector: Projector, before: int | None, on_progress: Progress) -> None:
    """Build up to where the live generation is, which moves on meanwhile, and never beyond."""
    while True:
        until = None
        if before is not None:
            until = checkpoints.position_of(projector.cursor(), book_of(before))
        if not projector.step(until):
            return
        on_progress(projector.position)


def _differences(dsn: str, projector: Projector, before: int | None) -> list[Difference]:
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
) -> list[Difference]:
    """Compare two generations table by table, each through its own cursor; name what differs.

    Both are looked through at the same time, where the cursors are of two connections.
    """
    differences = []
    left, right = tables_of(first, book), tables_of(second, other)
    with ThreadPoolExecutor(2) as threads:
        for table in sorted({**left, **right}):
            common = [name for name in left.get(table, []) if name in right.get(table, [])]
            if not common:
                differences.append(Difference(table, f"only in one of {book} and {other}"))
                continue
            sides = ((first, book), (second, other))
            looked = [threads.submit(_fingerprint, *side, table, common) for side in sides]
            one, two = (side.result() for side in looked)
            if one != two:
                said = f"{one[0]} rows in {book}, {two[0]} in {other}"
                differences.append(Difference(table, said))
    return differences


def tables_of(cursor: psycopg.Cursor[Any], book: str) -> dict[str, list[str]]:
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
            "SELECT count(*), sum(hash_record_extended(t, 1)), sum(hash_record_extended(t, 2))"
            " FROM (SELECT {} FROM {}) AS t"
        ).format(sql.SQL(", ").join(map(sql.Identifier, columns)), sql.Identifier(book, table))
    ).fetchone()
    assert row is not None
    return (row[0], row[1], row[2])
