"""Books with a day in them, and projectors that are stepped by hand."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier

from projections import checkpoints, generations, reading
from projections.runner import BATCH, Projector, connect
from tests.conftest import Server, create_database
from tests.projections.story import Room, write


@contextmanager
def projector(dsn: str, generation: int | None = None, batch: int = BATCH) -> Iterator[Projector]:
    """Give a projector of a generation, the live one unless named."""
    live = generations.ensure(dsn)
    with connect(dsn) as connection, checkpoints.recorder() as recorder:
        yield Projector(connection, recorder, generation or live, batch=batch)


def project(dsn: str, batch: int = BATCH) -> int:
    """Bring the live generation up to the end of the journal."""
    with projector(dsn, batch=batch) as live:
        return live.catch_up()


@pytest.fixture
def room() -> Room:
    return Room()


@pytest.fixture(scope="session")
def day(postgres: Server) -> Iterator[str]:
    """Give the name of a database with a day on the books, projected, to be copied."""
    name = f"cardroom_day_{secrets.token_hex(4)}"
    create_database(postgres, name, postgres.template)
    dsn = make_conninfo(postgres.application, dbname=name)
    write(dsn, Room().day())
    project(dsn)
    yield name
    drop_database(postgres, name)


@contextmanager
def copy_of(postgres: Server, name: str) -> Iterator[str]:
    """Connect to a copy of a database until the block ends."""
    copy = f"cardroom_books_{secrets.token_hex(6)}"
    create_database(postgres, copy, name)
    yield make_conninfo(postgres.application, dbname=copy)
    drop_database(postgres, copy)


@pytest.fixture
def books(postgres: Server, day: str, room: Room) -> Iterator[str]:
    """Connect to a copy of the day; the room has played it, and may play on."""
    room.day()
    with copy_of(postgres, day) as dsn:
        yield dsn


@pytest.fixture
def books_owner(postgres: Server, books: str) -> str:
    """Connect to the same copy as the owner of the journal's tables."""
    return make_conninfo(postgres.owner, dbname=str(conninfo_to_dict(books)["dbname"]))


def drop_database(server: Server, name: str) -> None:
    with psycopg.connect(server.admin, autocommit=True) as connection:
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture
def engine(books: str) -> Iterator[sa.Engine]:
    engine = reading.engine(books, pool_size=2)
    yield engine
    engine.dispose()


@pytest.fixture
def at(engine: sa.Engine) -> Iterator[reading.Snapshot]:
    with reading.snapshot(engine) as snapshot:
        yield snapshot


@pytest.fixture
def auditor(postgres: Server) -> Iterator[str]:
    name = f"cardroom_auditor_{secrets.token_hex(4)}"
    with psycopg.connect(postgres.admin, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name}")
        yield name
        connection.execute(f"DROP ROLE {name}")
