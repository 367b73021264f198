"""Processes are killed while a crowd pays in, plays and pays out; what was said stays true."""

import signal
import sys
import time
from collections.abc import Callable

import pytest

from tests.kill.killing import API, POSTGRESQL, PROJECTOR, Killer
from tests.kill.room import Room

pytestmark = [
    pytest.mark.kill,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into other processes"),
]

WORKING = 10
"""Answers between two kills, so that each hits an installation that works."""


def test_killed_api_processes_and_projectors_lose_and_double_nothing(
    room: Room, rounds: int, tell: Callable[[str], None]
) -> None:
    killer = Killer(room.serving)
    room.crowd.go()
    for _ in range(rounds):
        room.crowd.progress(WORKING)
        victims = [room.rng.choice(killer.wait_for(API, 2)), *killer.wait_for(PROJECTOR)]
        room.rng.shuffle(victims)
        for victim in victims:
            time.sleep(room.rng.uniform(0, 0.5))
            killer.kill(victim)
    tell(room.prove())


def test_a_killed_postgresql_loses_and_doubles_nothing(
    room: Room, rounds: int, tell: Callable[[str], None]
) -> None:
    killer = Killer(room.serving)
    room.crowd.go(exact=False)
    for number in range(rounds):
        room.crowd.progress(WORKING)
        time.sleep(room.rng.uniform(0, 0.7))
        if number % 3 == 2:
            assert killer.kill_backends() > 0
        else:
            [server] = killer.wait_for(POSTGRESQL)
            killer.kill(server)
    tell(room.prove())


def test_a_killed_supervisor_leaves_nothing_running_and_loses_nothing(
    room: Room, tell: Callable[[str], None]
) -> None:
    room.crowd.go()
    room.crowd.progress(10 * WORKING)
    Killer(room.serving).end(signal.SIGKILL)
    room.serving.stop()
    room.serving.start()
    tell(room.prove())


def test_a_stop_under_load_answers_everything_that_it_books(
    room: Room, tell: Callable[[str], None]
) -> None:
    room.crowd.go()
    room.crowd.progress(10 * WORKING)
    killer = Killer(room.serving)
    killer.end(signal.SIGTERM)
    room.crowd.abandon()
    room.serving.stop()
    unanswered = [one.pending for one in room.crowd.members if one.pending is not None]
    assert unanswered  # the crowd was at work
    room.serving.start()
    booked = room.booked(unanswered)
    assert not booked, "booked and never answered"
    room.crowd.go()
    room.crowd.progress(WORKING)
    tell(room.prove())
