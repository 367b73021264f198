"""Reading the book: every answer from one snapshot, which has a position."""

import select
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import psycopg
import sqlalchemy as sa
from psycopg.pq import TransactionStatus

from projections import unawaited
from projections.views import VIEWS

BOOK: Final = {
    view.name: sa.table(view.name, *(sa.column(name) for name in view.columns), schema="book")
    for view in VIEWS
}
"""The views, by name."""

POLL_SECONDS: Final = 0.005

Row = Mapping[str, Any]


class Snapshot(NamedTuple):
    """A read-only transaction and the journal position that all of its answers are true for."""

    connection: sa.Connection
    position: int


class Page(NamedTuple):
    """Some rows of a list; ``cursor`` leads on and is None at the end."""

    position: int
    rows: Sequence[Row]
    cursor: str | None


class NotProjectedError(RuntimeError):
    """The projections have not been made yet."""


def engine(dsn: str, *, pool_size: int = 5) -> sa.Engine:
    """Make a pool of reading connections."""
    made = sa.create_engine(
        "postgresql+psycopg://",
        creator=lambda: _connect(dsn),
        pool_size=pool_size,
        max_overflow=0,
        # A transaction that was begun has been ended: with its end not waited for, or undone.
        pool_reset_on_return=None,
    )
    sa.event.listen(made, "checkout", _refuse_ended)
    return made


class Planned(NamedTuple):
    """A statement that is best run in one way, whatever is asked; see ``planned_once``."""

    text: bytes


def planned_once(statement: str) -> Planned:
    """Have each connection prepare a statement, and run it in one way, whatever is asked.

    Any other is planned anew for the values that it is run with. Parameters are written ``:name``.
    """
    return Planned(str(sa.text(statement).compile(dialect=_PSYCOPG)).encode())


_PSYCOPG: Final = sa.make_url("postgresql+psycopg://").get_dialect()()


class _Connection(psycopg.Connection[Any]):
    """Does not wait until a read has ended: there is nothing to be learned from that."""

    def commit(self) -> None:
        """End the transaction."""
        if self.pgconn.transaction_status != TransactionStatus.IDLE:
            unawaited.send(self, "COMMIT")


def is_quiet(connection: psycopg.Connection[Any]) -> bool:
    """Tell, without asking the server, that nothing has come over an idle connection.

    A server that ends a connection says so or closes it: then there is something to be read.
    """
    idle = select.poll()
    idle.register(connection.fileno(), select.POLLIN)
    return not idle.poll(0)


def _refuse_ended(connection: Any, *_: object) -> None:
    """Have the pool replace a connection that has ended, and all that were made before it."""
    try:
        unawaited.settle(connection)
        if not is_quiet(connection):
            connection.execute("")
    except psycopg.Error as error:
        raise sa.exc.InvalidatePoolError("a connection has ended") from error


def _connect(dsn: str) -> _Connection:
    connection = _Connection.connect(dsn, application_name="cardroom reader", autocommit=True)
    # A page takes the first rows of an index, in its order. The planner knows how many entries an
    # account has on average; of one that has a million it would read all and then sort.
    connection.execute("SET enable_bitmapscan = off")
    connection.execute("SET jit = off")
    # Only what is known to have one best plan is prepared.
    connection.prepare_threshold = sys.maxsize
    return connection


_BEGIN: Final = """
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT position FROM book.generation
"""


@contextmanager
def snapshot(source: sa.Engine) -> Iterator[Snapshot]:
    """Open a snapshot. Raises NotProjectedError when nothing has been projected yet."""
    with source.connect() as connection, connection.begin():
        yield Snapshot(connection, _begin(_driver(connection)))


def _begin(connection: psycopg.Connection[Any]) -> int:
    """Begin to read, and return the position that the book is at: asked together, in one trip."""
    try:
        found = connection.execute(_BEGIN)
    except psycopg.errors.UndefinedTable as error:
        raise NotProjectedError("the projections have not been made yet") from error
    found.nextset()
    [row] = found.fetchall()
    return int(row[0])


def _driver(connection: sa.Connection) -> psycopg.Connection[Any]:
    """Return what SQLAlchemy's connection stands on."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver


def wait_for(source: sa.Engine, wanted: int, timeout_seconds: float) -> bool:
    """Wait until the book includes a position; tell whether it does in time."""
    pause = threading.Event()
    for _ in range(max(1, int(timeout_seconds / POLL_SECONDS))):
        with snapshot(source) as at:
            if at.position >= wanted:
                return True
        pause.wait(POLL_SECONDS)
    return False


def rows(
    at: Snapshot, statement: sa.Select[Any] | Planned, asked: Mapping[str, Any] | None = None
) -> list[Row]:
    """Run a statement and return its rows as mappings; ``asked`` are a planned one's parameters."""
    if isinstance(statement, Planned):
        cursor = _run(at, statement, asked or {})
        assert cursor.description is not None
        names = tuple([column.name for column in cursor.description])
        return [dict(zip(names, row, strict=True)) for row in cursor]
    found = at.connection.execute(statement)
    names = tuple(found.keys())
    return [dict(zip(names, row, strict=True)) for row in found.all()]


def tuples(at: Snapshot, statement: Planned, asked: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run a planned statement and return its rows as they are."""
    return _run(at, statement, asked).fetchall()


def _run(at: Snapshot, statement: Planned, asked: Mapping[str, Any]) -> psycopg.Cursor[Any]:
    return _driver(at.connection).execute(statement.text, asked, prepare=True)
