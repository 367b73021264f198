"""The process that does what is due by itself: ``python -m ops.worker``.

One works at a time, others wait for its lock. It may be killed at any moment: what it asks for
carries a request id that derives from what it is about, so that nothing happens twice.
"""

import signal
import socket
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Final

import psycopg
import structlog
from eventsourcing.persistence import PersistenceError
from sqlalchemy import exc

from api.clock import now
from ledger.application import Ledger
from ledger.core import Command
from ledger.journal import Journal, Outcome, Submission
from ops import logging
from ops.policies import POLICIES, Policy, Seen
from ops.settings import Settings
from projections import reading

log = structlog.get_logger("worker")

WORKER_LOCK: Final = 7_215_501_116
"""Held by the session of the worker that works."""

LOOK_SECONDS: Final = 1.0
"""How long to wait before looking again for what is due."""

CLIENT: Final = "worker"
"""The client under which the requests of policies are recorded."""

_LOST: Final = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    exc.OperationalError,
    exc.InterfaceError,
    PersistenceError,
)


class Committed:
    """States of streams up to the last commit."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def get(self, stream: str) -> Any:
        """Return the state of a stream, or None when it has no events."""
        return self._ledger.load(stream)[0]


class Worker:
    """Looks with every policy and carries out what is due, through a journal of its own."""

    def __init__(self, dsn: str, policies: Sequence[Policy] = POLICIES) -> None:
        self._policies = policies
        self._book = reading.engine(dsn, pool_size=1)
        self._journal = Journal(dsn, writer=f"worker@{socket.gethostname()}")
        self._states = Committed(self._journal.ledger)

    def close(self) -> None:
        """Let the connections go."""
        self._journal.close()
        self._book.dispose()

    def look(self) -> int:
        """Carry out what is due now; return how much of it was new.

        A policy that fails is logged, and the others go on. Raises when the database is lost.
        """
        return sum(self._look(policy) for policy in self._policies)

    def _look(self, policy: Policy) -> int:
        try:
            commands = self._due(policy)
        except reading.NotProjectedError:
            return 0
        except _LOST:
            raise
        except Exception:
            log.exception("policy-failed", policy=policy.name)
            return 0
        outcomes = self._journal.execute([_asked(command) for command in commands])
        self._journal.housekeep()
        return _told(policy, commands, outcomes)

    def _due(self, policy: Policy) -> list[Command]:
        with reading.snapshot(self._book) as at:
            return list(policy.due(Seen(at, self._states, now())))


def _asked(command: Command) -> Submission:
    return Submission(command, CLIENT, command.request_id)


def _told(policy: Policy, commands: Iterable[Command], outcomes: Iterable[Outcome]) -> int:
    """Log what came of what was due; what is answered again is not worth a line."""
    new = 0
    for command, outcome in zip(commands, outcomes, strict=True):
        if outcome.repeated:
            continue
        new += outcome.status == "done"
        say = log.warning if outcome.status == "failed" else log.info
        say(
            "was due",
            status=outcome.status,
            policy=policy.name,
            request=command.request_id,
            network=command.network,
            position=outcome.position,
            code=outcome.refusal and outcome.refusal.code,
        )
    return new


def follow(dsn: str, stop: threading.Event, policies: Sequence[Policy] = POLICIES) -> None:
    """Look again and again until told to stop; waits for the lock when another worker has it.

    Raises when the database is lost.
    """
    with psycopg.connect(dsn, autocommit=True, application_name="cardroom worker") as guard:
        while not _locked(guard):
            if stop.wait(LOOK_SECONDS):
                return
        log.info("worker works")
        worker = Worker(dsn, policies)
        try:
            while not stop.is_set():
                guard.execute("SELECT")  # the lock is lost with its connection
                worker.look()
                stop.wait(LOOK_SECONDS)
        finally:
            worker.close()


def run(dsn: str, stop: threading.Event) -> None:
    """Follow until told to stop; after a lost connection, begin again."""
    while not stop.is_set():
        try:
            follow(dsn, stop)
        except _LOST as error:
            log.warning("worker lost its connection", error=str(error))
            stop.wait(LOOK_SECONDS)


def _locked(guard: psycopg.Connection[Any]) -> bool:
    row = guard.execute("SELECT pg_try_advisory_lock(%s)", (WORKER_LOCK,)).fetchone()
    assert row is not None
    return bool(row[0])


def main() -> None:
    """Work until SIGTERM."""
    settings = Settings()
    logging.configure("worker", settings.log_level)
    assert settings.database_url is not None
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    run(settings.database_url.get_secret_value(), stop)


if __name__ == "__main__":
    main()
