"""Group commit: one thread takes what the requests have queued and carries it out together."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import structlog

from ledger.core import Command, Refused
from ledger.journal import Decisions, Journal, Outcome, Submission

log = structlog.get_logger(__name__)

GATHER_SECONDS: Final = 0.001
"""How long the writer lets single posts gather before it takes them."""

BATCH_LIMIT: Final = 1_000
"""Commands that one transaction carries at most, unless a single caller brings more."""


class QueueFull(Refused):
    """More is queued than can be carried out soon; nothing of it was taken."""

    code = "queue-full"
    kind = "conflict"
    retry = "later"


class _Waiting(NamedTuple):
    submissions: Sequence[Submission]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[list[Outcome]]"


class Writer:
    """A thread around a journal, with a bounded queue in front.

    What was taken is carried out even when its caller has gone away; ``stop`` drains the queue.
    ``prepare`` works out, for many commands at once, what does not depend on the books; it gives
    them back in the same order.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        queue_limit: int = 20_000,
        prepare: Callable[[Sequence[Command]], Sequence[Command]] = lambda commands: commands,
    ) -> None:
        self._journal = journal
        self._prepare = prepare
        self._queue_limit = queue_limit
        self._queue: deque[_Waiting] = deque()
        self._queued = 0
        self._wake = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    @property
    def depth(self) -> int:
        """Commands that wait to be carried out."""
        return self._queued

    @property
    def decisions(self) -> Decisions:
        """How often the batches carried out so far were decided."""
        return self._journal.decisions

    def start(self) -> None:
        """Begin to carry out what is queued."""
        self._thread.start()

    def stop(self, timeout: float = 30.0) -> None:
        """Carry out what is queued, then close the journal."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join(timeout)

    async def submit(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Queue commands and wait for their outcomes; raises QueueFull and takes none."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Outcome]] = loop.create_future()
        with self._wake:
            if self._stopping:
                raise QueueFull("The server is shutting down.")
            if self._queued and self._queued + len(submissions) > self._queue_limit:
                raise QueueFull(f"{self._queued} commands are waiting.", queued=self._queued)
            self._queue.append(_Waiting(submissions, loop, future))
            self._queued += len(submissions)
            self._wake.notify()
        # The caller may go away, and its future with it; the work is done all the same.
        return await future

    def _run(self) -> None:
        while self._wait():
            time.sleep(GATHER_SECONDS)
            taken = self._take()
            outcomes = self._carry_out(taken)
            _answer(taken, outcomes)
            self._journal.housekeep()
        self._journal.close()

    def _wait(self) -> bool:
        with self._wake:
            while not self._queue and not self._stopping:
                self._wake.wait()
            return bool(self._queue)

    def _take(self) -> list[_Waiting]:
        taken: list[_Waiting] = []
        count = 0
        with self._wake:
            while self._queue and (
                not taken or count + len(self._queue[0].submissions) <= BATCH_LIMIT
            ):
                waiting = self._queue.popleft()
                taken.append(waiting)
                count += len(waiting.submissions)
            self._queued -= count
        return taken

    def _carry_out(self, taken: Sequence[_Waiting]) -> list[Outcome] | BaseException:
        try:
            return self._journal.execute(
                self._prepared([s for waiting in taken for s in waiting.submissions])
            )
        except BaseException as error:
            log.exception("writer-failed")
            return error

    def _prepared(self, submissions: list[Submission]) -> list[Submission]:
        try:
            commands = self._prepare([submission.command for submission in submissions])
        except Exception:
            # Whichever it is fails alone, when it is decided.
            log.exception("prepare-failed")
            return submissions
        return [
            submission._replace(command=command)
            for submission, command in zip(submissions, commands, strict=True)
        ]


def _answer(taken: Sequence[_Waiting], outcomes: list[Outcome] | BaseException) -> None:
    start = 0
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Waiting, list[Outcome]]]] = {}
    for waiting in taken:
        mine: list[Outcome] = []
        if not isinstance(outcomes, BaseException):
            mine = outcomes[start : start + len(waiting.submissions)]
            start += len(waiting.submissions)
        by_loop.setdefault(waiting.loop, []).append((waiting, mine))
    for loop, answers in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, answers, outcomes)
        except RuntimeError:
            log.info("callers-gone", callers=len(answers))


def _resolve(
    answers: Sequence[tuple[_Waiting, list[Outcome]]], outcomes: list[Outcome] | BaseException
) -> None:
    for waiting, mine in answers:
        if waiting.future.done():
            continue
        if isinstance(outcomes, BaseException):
            waiting.future.set_exception(RuntimeError("the writer failed"))
        else:
            waiting.future.set_result(mine)
