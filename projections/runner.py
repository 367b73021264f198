"""The projector: follows the journal and keeps the live generation up to date."""

import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
import structlog

from ledger.recorder import CHANNEL, CheckpointRecorder
from projections import checkpoints, generations
from projections.fold import Fold
from projections.schema import book_of
from projections.source import next_batch

log = structlog.get_logger(__name__)

RUNNER_LOCK: Final = 7_215_501_115
"""Held by the session that applies batches: there is one projector."""

BATCH: Final = 50_000
"""Events in one batch, unless one commit has more."""

POLL_SECONDS: Final = 1.0
"""How long to wait for a notification before looking by oneself."""

RETRY_SECONDS: Final = 1.0

GATHERED: Final = BATCH // 2
"""A batch of fewer events is followed by a pause, in which commits gather."""

GATHER_SECONDS: Final = 0.05
"""The shortest pause, and how far the projections are behind while little is posted.

A batch costs some milliseconds however small it is; following every commit of hands that are posted
one by one took more processor time than booking them.
"""

GATHER_MOST_SECONDS: Final = 0.5
"""The longest pause, and about half of how far they are behind while much is posted."""

REST: Final = 4
"""Between the two, a pause is so many times as long as the batch took.

Most of what a batch writes is a row for each table and account that it touches, however many hands
they had: five hundred hands at a time cost half as much again as five thousand.
"""


class Projector:
    """Applies batches to one generation, over one connection that it does not own."""

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        recorder: CheckpointRecorder,
        generation: int,
        *,
        batch: int = BATCH,
    ) -> None:
        self._connection = connection
        self._recorder = recorder
        self.book = book_of(generation)
        self._batch = batch
        with connection.transaction(), connection.cursor() as cursor:
            generations.verify_definition(cursor, generation)
            self.position = checkpoints.position_of(cursor, self.book)
            self._fold = Fold(cursor, self.book)

    def cursor(self) -> psycopg.Cursor[Any]:
        """Open a cursor on its connection."""
        return self._connection.cursor()

    def step(self, until: int | None = None) -> bool:
        """Apply the next batch and its checkpoint in one transaction; False at the end.

        After an exception this projector is of no more use: make another.
        """
        with self._connection.transaction():
            return self.apply(until)

    def apply(self, until: int | None = None) -> bool:
        """Do what step does in a transaction that the caller has begun."""
        connection = self._connection
        with _uncollected(), connection.cursor() as cursor:
            batch = next_batch(connection, self.position, self._batch, until)
            if batch is None:
                return False
            self._fold.apply(cursor, batch)
        checkpoints.advance(self._recorder, connection, self.book, batch.last_position)
        self.position = batch.last_position
        return True

    def catch_up(self, until: int | None = None) -> int:
        """Apply batches to the end of the journal, or to a position; return where it stands."""
        while self.step(until):
            pass
        return self.position


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no garbage meanwhile.

    A batch has 100,000 objects that refer to each other in no circle: looking through them, again
    and again while they become more, took a third of the projector's time.
    """
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()


def connect(dsn: str) -> psycopg.Connection[Any]:
    """Open the projector's connection: autocommit, so that transactions are explicit."""
    connection = psycopg.connect(dsn, autocommit=True, application_name="cardroom projector")
    # Entries can be folded again: nothing is lost with the last batches of a crashed server, as
    # their checkpoint is lost with them.
    connection.execute("SET synchronous_commit = off")
    connection.execute("SET jit = off")
    # The journal is read in the order of an index; its events need not be sorted.
    connection.execute("SET enable_bitmapscan = off")
    return connection


def follow(
    dsn: str, stop: threading.Event, *, on_step: Callable[[int], None] | None = None
) -> None:
    """Follow the journal over one connection until told to stop, or until the connection fails.

    Waits for the lock when another projector runs. ``on_step`` is told each new position.
    """
    generations.ensure(dsn)
    with connect(dsn) as connection, checkpoints.recorder() as recorder:
        while not _locked(connection):
            if stop.wait(POLL_SECONDS):
                return
        connection.execute(f"LISTEN {CHANNEL}")
        projector: Projector | None = None
        while not stop.is_set():
            with connection.transaction():
                projector = _live(connection, recorder, projector)
                before, began = projector.position, time.monotonic()
                moved = projector.apply()
            took = time.monotonic() - began
            if not moved:
                _wait(connection)
            elif on_step is not None:
                on_step(projector.position)
            stop.wait(pause_after(projector.position - before, took))


def pause_after(events: int, seconds: float) -> float:
    """Return for how long commits are to gather after a batch of so many events that took so long.

    For no time after a large one: the projections are behind.
    """
    if events >= GATHERED:
        return 0.0
    return min(max(GATHER_SECONDS, REST * seconds), GATHER_MOST_SECONDS)


def run(dsn: str, stop: threading.Event | None = None) -> None:
    """Follow the journal until told to stop; after a lost connection, begin again.

    Raises what is not the connection's fault: a defect is not cured by trying again.
    """
    stop = stop or threading.Event()
    while not stop.is_set():
        try:
            follow(dsn, stop)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            log.warning("projector lost its connection", error=str(error))
            stop.wait(RETRY_SECONDS)


def _locked(connection: psycopg.Connection[Any]) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", (RUNNER_LOCK,)).fetchone()
    assert row is not None
    return bool(row[0])


def _live(
    connection: psycopg.Connection[Any], recorder: CheckpointRecorder, projector: Projector | None
) -> Projector:
    """Return a projector of the live generation: another one after a rebuild was swapped in.

    Until the transaction ends nobody swaps or drops a generation.
    """
    with connection.cursor() as cursor:
        generations.hold(cursor)
        number = generations.live(cursor)
    assert number is not None
    if projector is not None and projector.book == book_of(number):
        return projector
    log.info("projector follows", generation=number)
    return Projector(connection, recorder, number)


def _wait(connection: psycopg.Connection[Any]) -> None:
    for _ in connection.notifies(timeout=POLL_SECONDS, stop_after=1):
        pass
