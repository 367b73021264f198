"""Reading the book: every answer from one snapshot, which has a position."""

import select
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import psycopg
import sqlalchemy as sa
from sqlalchemy.exc import ProgrammingError

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
        isolation_level="REPEATABLE READ",
    )
    sa.event.listen(made, "checkout", _refuse_ended)
    sa.event.listen(made, "do_execute", _execute)
    return made


_PLANNED_ONCE: Final = "planned_once"


def planned_once(statement: str | sa.Select[Any]) -> Any:
    """Mark a statement that is best run in one way, whatever is asked: it is planned once.

    Each connection prepares it. Any other is planned anew for the values that it is run with.
    """
    executable = sa.text(statement) if isinstance(statement, str) else statement
    return executable.execution_options(**{_PLANNED_ONCE: True})


def _execute(cursor: Any, statement: str, parameters: Any, context: Any) -> bool:
    """Run a statement in the place of SQLAlchemy, which has no way to say what is prepared."""
    if isinstance(cursor, psycopg.ServerCursor):
        return False  # It is planned for its values: what it reads comes as it is asked for.
    once = context.execution_options.get(_PLANNED_ONCE, False)
    cursor.execute(statement, parameters, prepare=once)
    return True


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
        if not is_quiet(connection):
            connection.execute("")
            connection.rollback()
    except psycopg.Error as error:
        raise sa.exc.InvalidatePoolError("a connection has ended") from error


def _connect(dsn: str) -> psycopg.Connection[Any]:
    connection = psycopg.connect(dsn, application_name="cardroom reader", autocommit=True)
    # A page takes the first rows of an index, in its order. The planner knows how many entries an
    # account has on average; of one that has a million it would read all and then sort.
    connection.execute("SET enable_bitmapscan = off")
    connection.execute("SET jit = off")
    connection.autocommit = False
    return connection


@contextmanager
def snapshot(source: sa.Engine) -> Iterator[Snapshot]:
    """Open a snapshot. Raises NotProjectedError when nothing has been projected yet."""
    with source.connect() as connection:
        connection.execution_options(postgresql_readonly=True)
        yield Snapshot(connection, position(connection))
        # There is nothing to undo, and a rollback would make psycopg forget what is prepared.
        connection.commit()


_POSITION: Final = planned_once(sa.select(BOOK["generation"].c.position))


def position(connection: sa.Connection) -> int:
    """Return the position that the book is at, in the connection's transaction."""
    try:
        return int(connection.execute(_POSITION).scalar_one())
    except ProgrammingError as error:
        raise NotProjectedError("the projections have not been made yet") from error


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
    at: Snapshot, statement: sa.Select[Any] | sa.TextClause, asked: Mapping[str, Any] | None = None
) -> list[Row]:
    """Run a statement and return its rows as mappings; ``asked`` are a text's parameters."""
    found = at.connection.execute(statement, asked)
    names = tuple(found.keys())
    return [dict(zip(names, row, strict=True)) for row in found.all()]
