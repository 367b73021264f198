"""A day whose hands were not all recorded in the order in which they were played."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from projections import reading
from projections.reading import Snapshot
from tests.projections.conftest import project
from tests.projections.story import START, Room, write


@pytest.fixture
def disorder(books: str, room: Room) -> Iterator[Snapshot]:
    """Give the day with hands that were recorded later and happened earlier, and some after."""
    later = room.now
    room.now = START - timedelta(hours=1)
    write(books, [list(room.hand("Table 1")) for _ in range(4)])
    room.now = START + timedelta(minutes=20)
    write(books, [[*room.hand("Table 2"), *room.hand("Table 1")]])
    room.now = later + timedelta(hours=3)
    write(books, [list(room.hand("Table 1")) for _ in range(3)])
    project(books)
    engine = reading.engine(books, pool_size=1)
    with reading.snapshot(engine) as at:
        yield at
    engine.dispose()
