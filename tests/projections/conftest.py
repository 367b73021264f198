"""Books with a day in them, and projectors that are stepped by hand."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from projections import checkpoints, generations, reading
from projections.runner import BATCH, Projector, connect
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


@pytest.fixture
def books(dsn: str, room: Room) -> str:
    """Give a database with a day on the books, projected."""
    write(dsn, room.day())
    project(dsn)
    return dsn


@pytest.fixture
def engine(books: str) -> Iterator[sa.Engine]:
    engine = reading.engine(books, pool_size=2)
    yield engine
    engine.dispose()


@pytest.fixture
def at(engine: sa.Engine) -> Iterator[reading.Snapshot]:
    with reading.snapshot(engine) as snapshot:
        yield snapshot
