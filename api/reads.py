"""Reading: one snapshot of the database per answer, and a record of who read about whom."""

import contextlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, LiteralString

import psycopg
from eventsourcing.persistence import PersistenceError
from psycopg import IsolationLevel
from psycopg_pool import ConnectionPool, PoolTimeout
from sqlalchemy import exc

from api.auth import Caller
from api.problems import Problem
from ledger import catalogue
from ledger.application import RECONNECT_SECONDS, Ledger
from ledger.core import Event
from ledger.hands.events import hand_stream
from projections import reading, unawaited

PATIENCE_SECONDS: Final = 3.0
"""How long a read waits for a connection before it is answered 503."""

STATEMENT_TIMEOUT: Final = "10s"
"""Longest single query of a read."""

_NO_ANSWER: Final = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    exc.OperationalError,
    exc.InterfaceError,
    exc.TimeoutError,
)
"""What a database that cannot be reached makes of a read of the book."""

_RECORD: Final = """
INSERT INTO audit.reads (read_at, actor, network, what, subject, request_id)
VALUES (%s, %s, %s, %s, %s, %s)
"""

Connection = psycopg.Connection[Any]


class Reads:
    """A small pool of connections for answers, and cold loads of streams."""

    def __init__(self, dsn: str, connections: int) -> None:
        self._pool = self._pool_of(dsn, connections, "reads")
        # One for each read that goes on: none waits for another's connection with its own in hand.
        self._records = self._pool_of(dsn, connections, "records")
        self._book = reading.engine(dsn, pool_size=connections)
        self._ledger = Ledger.at(dsn)

    def _pool_of(self, dsn: str, connections: int, name: str) -> ConnectionPool[Connection]:
        return ConnectionPool(
            dsn,
            min_size=1,
            max_size=connections,
            open=False,
            timeout=PATIENCE_SECONDS,
            kwargs={"application_name": name},
            configure=_configure,
            check=self._check,
            name=name,
        )

    def open(self) -> None:
        """Connect; raises when the database does not answer."""
        for pool in (self._pool, self._records):
            pool.open(wait=True, timeout=30)
            pool.reconnect_timeout = RECONNECT_SECONDS

    def close(self) -> None:
        """Let the connections go."""
        self._pool.close()
        self._records.close()
        self._book.dispose()
        self._ledger.close()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Give a connection that sees one state of the database until the block ends."""
        with self._connection() as connection, connection.transaction():
            yield connection

    @contextlib.contextmanager
    def book(self) -> Iterator[reading.Snapshot]:
        """Give one state of the projections, and its position, until the block ends."""
        try:
            with reading.snapshot(self._book) as at:
                yield at
        except reading.NotProjectedError as fault:
            raise Problem("position-not-reached", str(fault), projected_position=0) from fault
        except _NO_ANSWER as fault:
            raise Problem("database-unavailable", "the database does not answer") from fault

    @contextlib.contextmanager
    def _connection(self, pool: ConnectionPool[Connection] | None = None) -> Iterator[Connection]:
        try:
            with (pool or self._pool).connection() as connection:
                yield connection
        except (PoolTimeout, psycopg.OperationalError, psycopg.InterfaceError) as fault:
            raise Problem("database-unavailable", "the database does not answer") from fault

    def _check(self, connection: Connection) -> None:
        """Find out whether a connection still lives; raises when it does not."""
        if reading.is_quiet(connection):
            return
        try:
            ConnectionPool.check_connection(connection)
        except Exception:
            # Those that were lost with it are replaced at once, not found out one by one.
            self._pool.drain()
            self._records.drain()
            raise

    def state(self, stream: str) -> tuple[Any, int]:
        """Fold a stream as it is now; its state (None without events) and a position.

        The position is one at which the state is true, the latest known.
        """
        with self._connection() as connection:
            head = head_of(connection)
        try:
            state, version = self._ledger.load(stream)
        except PersistenceError as fault:
            raise Problem("database-unavailable", "the database does not answer") from fault
        if not version:
            return None, head
        with self._connection() as connection:
            row = connection.execute(
                "SELECT notification_id FROM journal.events"
                " WHERE originator_id = %s AND originator_version = %s",
                [stream, version],
            ).fetchone()
        return state, max(head, row[0] if row else 0)

    def first(self, stream: str) -> Event | None:
        """Read how a stream began, without folding the rest: a table's has an event per hand."""
        with self._connection() as connection:
            row = connection.execute(
                "SELECT topic, state FROM journal.events"
                " WHERE originator_id = %s AND originator_version = 1",
                [stream],
            ).fetchone()
        return None if row is None else catalogue.decode(row[0], bytes(row[1]))

    @contextlib.contextmanager
    def recording(
        self, caller: Caller, what: str, subject: str, request_id: str, at: datetime
    ) -> Iterator[None]:
        """Write down that somebody is shown something of a player, while the block finds it.

        The record is kept when the block has ended: nothing is shown that is not written down.
        A partner who reads of his own player is a party to the contract, not staff.
        """
        if caller.partner is not None:
            yield
            return
        values = [at, caller.subject, caller.network, what, subject, request_id]
        with self._connection(self._records) as connection:
            unawaited.send(connection, _RECORD, values)
            try:
                yield
            finally:
                unawaited.settle(connection)


def booked_hands(
    connection: Connection, network: str, game_numbers: Iterable[str | None]
) -> frozenset[str]:
    """Return which of these hands are on the books: one that runs or was lost is not."""
    streams = {hand_stream(network, number): number for number in game_numbers if number}
    rows = connection.execute(
        "SELECT originator_id FROM journal.events"
        " WHERE originator_id = ANY(%s) AND originator_version = 1",
        [list(streams)],
    ).fetchall()
    return frozenset(streams[stream] for (stream,) in rows)


def head_of(connection: Connection) -> int:
    """Return the last position of the journal."""
    row = connection.execute("SELECT max(last_position) FROM journal.commits").fetchone()
    return int(row[0]) if row and row[0] is not None else 0


def projected_of(connection: Connection) -> int:
    """Return the position that the projections include; 0 before their first generation."""
    return of_the_book(connection, "SELECT position FROM book.generation")


def of_the_book(connection: Connection, query: LiteralString) -> int:
    """Ask the projections for a number; 0 before their first generation."""
    try:
        with connection.transaction():
            row = connection.execute(query).fetchone()
    except psycopg.errors.UndefinedTable:
        return 0
    return int(row[0]) if row else 0


def _configure(connection: Connection) -> None:
    """Make single statements transactions of their own, and all others snapshots to read."""
    connection.autocommit = True
    connection.isolation_level = IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    connection.execute(f"SET statement_timeout = '{STATEMENT_TIMEOUT}'")
