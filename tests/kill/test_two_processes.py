"""Two API processes on one database: the same tables through both, answers lost on the way."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier

from ops.serving import Serving, temporary_folder
from ops.settings import key_in
from tests.conftest import Server, create_database
from tests.kill.killing import API, START_SECONDS, Killer
from tests.kill.lines import Line, line_to, metrics
from tests.kill.room import Room
from tests.proxy import Proxy

pytestmark = [
    pytest.mark.kill,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into other processes"),
]

SECONDS = 8.0
AT_LEAST = 200
"""Requests that two processes must have answered for the test to have shown anything."""

COMMIT_OF_THE_JOURNAL = b"NOTIFY"


class Far(NamedTuple):
    """A room whose database is the operator's own, behind a proxy that loses answers."""

    room: Room
    proxy: Proxy
    processes: Sequence[psutil.Process]


@pytest.fixture(scope="module")
def far(postgres: Server, seed: int) -> Iterator[Far]:
    """A room with two API processes; each client has a line to either and takes turns."""
    name = f"cardroom_far_{seed}"
    create_database(postgres, name, postgres.template)
    direct = make_conninfo(postgres.application, dbname=name)
    where = conninfo_to_dict(direct)
    try:
        with (
            Proxy(str(where["host"]), int(str(where["port"]))) as proxy,
            temporary_folder() as folder,
        ):
            settings = {
                "CARDROOM_DATABASE_URL": make_conninfo(direct, host="127.0.0.1", port=proxy.port),
                "CARDROOM_OWNER_DATABASE_URL": make_conninfo(postgres.owner, dbname=name),
                "CARDROOM_JWT_KEY": key_in(folder / "jwt.key"),
                "CARDROOM_IDENTITY_KEY": key_in(folder / "identity.key"),
            }
            with Serving(folder, api_processes=2, settings=settings) as serving:
                processes = Killer(serving).wait_for(API, 2)

                def lines() -> Sequence[Line]:
                    return [line_to(process, lambda: serving.port) for process in processes]

                yield Far(Room(serving, lambda: direct, Random(seed), lines), proxy, processes)
    finally:
        with psycopg.connect(postgres.admin, autocommit=True) as connection:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture
def far_room(far: Far) -> Room:
    """The room of the two processes."""
    return far.room


def test_two_processes_on_the_same_tables_lose_double_and_refuse_nothing(
    far: Far, far_room: Room, tell: Callable[[str], None]
) -> None:
    room = far_room
    room.crowd.go()
    time.sleep(SECONDS)
    tell(room.prove())
    assert room.crowd.tries == 0
    assert room.crowd.answered > AT_LEAST
    counted = [metrics(line_to(process, lambda: room.serving.port)) for process in far.processes]
    batches, again = (
        [int(of_process[name]) for of_process in counted]
        for name in ("cardroom_batches", "cardroom_batches_decided_again")
    )
    tell(f"batches of the two processes {batches}, decided again {again}")
    assert all(again)  # they got in each other's way
    assert [of_process["cardroom_batch_decisions_most"] for of_process in counted] == [2, 2]


def test_lost_acknowledgements_of_the_database_lose_and_double_nothing(
    far: Far, far_room: Room, rounds: int, tell: Callable[[str], None]
) -> None:
    room, proxy = far_room, far.proxy
    room.crowd.go(exact=False)
    for number in range(rounds):
        time.sleep(room.rng.uniform(0.05, 0.5))
        lost = proxy.lost
        proxy.arm(COMMIT_OF_THE_JOURNAL)
        end = time.monotonic() + START_SECONDS
        while proxy.lost == lost:
            assert time.monotonic() < end, "nothing is committed any more"
            time.sleep(0.002)
        if number % 4 == 3:
            # And, at whatever moment this is, every connection of everybody.
            time.sleep(room.rng.uniform(0, 0.2))
            proxy.drop()
    tell(room.prove())
    tell(f"{proxy.lost} commits whose answer was lost")
