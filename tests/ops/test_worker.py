"""The worker: what is due is done once, whoever is killed, and one works at a time."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import ops
from ledger.approvals.commands import RequestApproval
from ledger.core import Command
from ledger.journal import Journal, Submission
from ledger.rulebooks import shipped_texts
from ledger.rulebooks.commands import AdoptRulebook
from ledger.tables.commands import ResyncTable
from ledger.treasury.policies import COVERAGE
from ops import worker
from ops.policies import POLICIES, Policy, Seen
from ops.worker import WORKER_LOCK, Worker
from projections import generations, runner
from tests.ledger.given import NETWORK, MemoryBook, fund, open_table, register, sit
from tests.ledger.treasury.desk import settlement, top_up
from tests.proxy import Proxy

PROJECT = Path(ops.__file__).parent.parent
HOURS = 72
"""After which the rulebook lets a request expire."""

PATIENCE_SECONDS = 60.0


class Room(MemoryBook):
    """A table at which somebody sits, and requests about it that expire when the test says so."""

    def __init__(self, dsn: str) -> None:
        super().__init__()
        self.dsn = dsn
        self.journal = Journal(dsn, writer="test")
        for file, text in shipped_texts():
            self.when(AdoptRulebook(**self.ask(), text=text, file=file))
        open_table(self)
        register(self)
        fund(self, 20_000)
        sit(self, "Etomo", 1)

    def when(self, command: Command) -> Any:
        self.carry_out([command])
        return super().when(command)

    def carry_out(self, commands: Iterable[Command]) -> None:
        for outcome in self.journal.execute([Submission(one, "desk") for one in commands]):
            assert outcome.status == "done", outcome

    def requests(self, expiring: Iterable[datetime], *, first: int = 0) -> None:
        """Ask for resyncs that expire at these instants, numbered from the first on."""
        asked = []
        for number, at in enumerate(expiring, first):
            own: dict[str, Any] = {
                "network": NETWORK,
                "at": at - timedelta(hours=HOURS),
                "actor": "anna",
                "request_id": f"ask-{number}",
            }
            resync = ResyncTable(
                **own,
                table="Etomo",
                chips_minor={1: 9_000},
                ground="technical-failure",
                reason="Hand 82 was lost.",
            )
            asked.append(RequestApproval(**own, approval=f"approval-{number}", command=resync))
        self.carry_out(asked)

    def expired(self) -> Counter[str]:
        """Return how often each request has expired."""
        with psycopg.connect(self.dsn) as connection:
            rows = connection.execute(
                "SELECT originator_id FROM journal.events WHERE topic = 'approval.expired.v1'"
            )
            return Counter(row[0] for row in rows)


def waiting(room: Room) -> int:
    """Return how many requests the book shows as pending."""
    with psycopg.connect(room.dsn) as connection:
        rows = connection.execute("SELECT count(*) FROM book.approvals WHERE status = 'pending'")
        return int(rows.fetchall()[0][0])


@pytest.fixture
def room(dsn: str) -> Iterator[Room]:
    """A room whose projections follow."""
    generations.ensure(dsn)
    room, stop = Room(dsn), threading.Event()
    projector = threading.Thread(target=runner.run, args=(dsn, stop))
    projector.start()
    yield room
    stop.set()
    projector.join()
    room.journal.close()


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the workers of this process look more often than processes of their own do."""
    monkeypatch.setattr(worker, "LOOK_SECONDS", 0.1)


@contextmanager
def working(room: Room, *policies: Policy) -> Iterator[None]:
    """Let a worker follow in a thread until the block ends."""
    stop = threading.Event()
    thread = threading.Thread(target=worker.follow, args=(room.dsn, stop, policies or POLICIES))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def soon(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.005)
    return False


def eventually(room: Room, count: int) -> bool:
    """Wait until so many requests have expired, or more."""
    return soon(lambda: room.expired().total() >= count)


def ago(seconds: float) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds)


def test_what_is_due_is_done_and_what_is_not_is_left(room: Room) -> None:
    room.requests([ago(5), ago(1), ago(-3600)])
    with working(room):
        assert eventually(room, 2)
        time.sleep(2 * worker.LOOK_SECONDS)
    assert room.expired() == {f"approval:{NETWORK}:approval-{n}": 1 for n in (0, 1)}


def test_a_second_worker_waits_until_the_first_is_gone(room: Room) -> None:
    room.requests([ago(1)])
    with psycopg.connect(room.dsn, autocommit=True) as first:
        first.execute("SELECT pg_advisory_lock(%s)", [WORKER_LOCK])
        with working(room):
            time.sleep(3 * worker.LOOK_SECONDS)
            assert not room.expired()
            first.execute("SELECT pg_advisory_unlock(%s)", [WORKER_LOCK])
            assert eventually(room, 1)


def test_workers_that_look_at_the_same_book_do_it_once(room: Room) -> None:
    """Each may hold the lock for a moment: what keeps it from happening twice is the request id."""
    room.requests([ago(1)] * 20)
    assert soon(lambda: waiting(room) == 20)
    workers = [Worker(room.dsn) for _ in range(3)]
    new: list[int] = []
    threads = [threading.Thread(target=lambda one=one: new.append(one.look())) for one in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in workers:
        one.close()
    assert sum(new) == 20
    assert set(room.expired().values()) == {1}


def test_a_policy_that_fails_does_not_keep_others_from_their_work(room: Room) -> None:
    def broken(seen: Seen) -> list[Command]:
        raise ZeroDivisionError

    room.requests([ago(1)])
    with working(room, Policy("broken", broken), *POLICIES):
        assert eventually(room, 1)


def test_a_worker_that_loses_its_answer_and_its_database_begins_again(room: Room) -> None:
    where = conninfo_to_dict(room.dsn)
    stop = threading.Event()
    with Proxy(str(where["host"]), int(str(where["port"]))) as proxy:
        far = make_conninfo(room.dsn, host="127.0.0.1", port=proxy.port)
        thread = threading.Thread(target=worker.run, args=(far, stop))
        thread.start()
        proxy.arm()
        room.requests([ago(1), ago(-1.5), ago(-2)])
        assert eventually(room, 1)
        assert proxy.lost == 1
        proxy.leave()
        time.sleep(1)
        proxy.come_back()
        assert eventually(room, 3)
        stop.set()
        thread.join()
    assert set(room.expired().values()) == {1}


def test_a_worker_without_projections_waits_for_them(dsn: str) -> None:
    one = Worker(dsn)
    assert one.look() == 0
    one.close()


class Process:
    """The worker as it is run, to be killed."""

    def __init__(self, dsn: str) -> None:
        kept = {name: text for name, text in os.environ.items() if "CARDROOM" not in name}
        told = {"DATABASE_URL": dsn, "IDENTITY_KEY": "0f" * 32, "JWT_KEY": "a5" * 32}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ops.worker"],
            cwd=PROJECT,
            env={**kept, **{f"CARDROOM_{name}": text for name, text in told.items()}},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        assert self._process.wait() == -signal.SIGKILL


def test_a_worker_killed_around_expiries_lets_each_request_expire_once(room: Room) -> None:
    rng = Random(int(os.environ.get("CARDROOM_KILL_SEED", "2013")))
    rounds, each = 4, 6
    for turn in range(rounds):
        # Two are due when the workers come up, the others while they work.
        room.requests([ago(1 - number / 2) for number in range(each)], first=turn * each)
        before = room.expired().total()
        with ExitStack() as killed:
            for _ in range(2):
                killed.callback(Process(room.dsn).kill)
            assert eventually(room, before + 1)
            # At once, when its answer is not yet read; in the middle of the next look; between.
            time.sleep(rng.choice([0.0, 0.0, rng.uniform(0, 1.5)]))
    with working(room):
        assert eventually(room, rounds * each)
    everyone = range(rounds * each)
    assert room.expired() == {f"approval:{NETWORK}:approval-{n}": 1 for n in everyone}


def coverage_events(room: Room) -> list[tuple[str, str]]:
    """Return what was told of coverage: the events and the requests that they came from."""
    with psycopg.connect(room.dsn) as connection:
        rows = connection.execute(
            "SELECT topic, convert_from(state, 'UTF8')::jsonb ->> 'request_id'"
            " FROM journal.events WHERE topic LIKE 'treasury.coverage%' ORDER BY notification_id"
        )
        return [(topic, request) for topic, request in rows]


def test_coverage_that_falls_and_is_restored_is_told_once_each(room: Room) -> None:
    policy = next(policy for policy in POLICIES if policy.name == COVERAGE)
    [deposit] = [
        stream.rpartition(":")[2] for stream in room.states if stream.startswith("deposit:")
    ]
    with working(room, policy):
        room.when(settlement(room, deposits=(deposit,), paid_minor=19_900, fee_minor=100))
        assert soon(lambda: len(coverage_events(room)) == 1)
        room.when(top_up(room, 99))
        room.when(top_up(room, 1))
        assert soon(lambda: len(coverage_events(room)) == 2)
        time.sleep(3 * worker.LOOK_SECONDS)
    told = coverage_events(room)
    assert [topic for topic, _ in told] == [
        "treasury.coverage_fell.v1",
        "treasury.coverage_restored.v1",
    ]
    assert all(request.startswith("coverage:EUR:") for _, request in told)
