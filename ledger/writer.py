"""Group commit: what the requests have queued is carried out together, in their event loop.

While one batch is appended the next one is decided.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

import structlog

from ledger.core import Refused
from ledger.journal import Decisions, Intent, Journal, Outcome, Submission

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
    future: "asyncio.Future[list[Outcome]]"


class Writer:
    """A task around a journal, with a bounded queue in front.

    What was taken is carried out even when its caller has gone away; ``stop`` drains the queue.
    Started and used in one event loop.
    """

    def __init__(self, journal: Journal, *, queue_limit: int = 20_000) -> None:
        self._journal = journal
        self._queue_limit = queue_limit
        self._queue: deque[_Waiting] = deque()
        self._queued = 0
        self._wake = asyncio.Event()
        self._stopping = False
        self._disturbed = False
        """Whether the batch appended last had to be decided more than once."""
        self._task: asyncio.Task[None] | None = None

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
        self._task = asyncio.get_running_loop().create_task(self._run(), name="writer")

    async def stop(self) -> None:
        """Carry out what is queued, then close the journal."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await self._task

    async def submit(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Queue commands and wait for their outcomes; raises QueueFull and takes none."""
        if self._stopping:
            raise QueueFull("The server is shutting down.")
        if self._queued and self._queued + len(submissions) > self._queue_limit:
            raise QueueFull(f"{self._queued} commands are waiting.", queued=self._queued)
        future: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(submissions, future))
        self._queued += len(submissions)
        self._wake.set()
        # The caller may go away, and its future with it; the work is done all the same.
        return await future

    async def _run(self) -> None:
        appending: asyncio.Task[None] | None = None
        while await self._wait():
            await asyncio.sleep(GATHER_SECONDS)
            taken = self._take()
            intent = await self._decided(taken)
            if appending is not None:
                await appending
            appending = asyncio.create_task(self._append(taken, intent))
            if self._disturbed:
                # Others write to the same streams: what is decided ahead would be decided again.
                await appending
        if appending is not None:
            await appending
        await self._journal.leave()

    async def _wait(self) -> bool:
        while not self._queue and not self._stopping:
            self._wake.clear()
            await self._wake.wait()
        return bool(self._queue)

    def _take(self) -> list[_Waiting]:
        taken: list[_Waiting] = []
        count = 0
        while self._queue and (not taken or count + len(self._queue[0].submissions) <= BATCH_LIMIT):
            waiting = self._queue.popleft()
            taken.append(waiting)
            count += len(waiting.submissions)
        self._queued -= count
        return taken

    async def _decided(self, taken: Sequence[_Waiting]) -> Intent | None:
        try:
            return await self._journal.decide([s for one in taken for s in one.submissions])
        except Exception:
            log.exception("writer-failed")
            return None

    async def _append(self, taken: Sequence[_Waiting], intent: Intent | None) -> None:
        outcomes = None
        try:
            if intent is not None:
                outcomes = await self._journal.append(intent)
        except Exception:
            log.exception("writer-failed")
        self._disturbed = intent is None or intent.times_decided > 1
        _answer(taken, outcomes)
        await self._journal.keep_house()


def _answer(taken: Sequence[_Waiting], outcomes: Sequence[Outcome] | None) -> None:
    start = 0
    for waiting in taken:
        end = start + len(waiting.submissions)
        if waiting.future.done():
            pass
        elif outcomes is None:
            waiting.future.set_exception(RuntimeError("the writer failed"))
        else:
            waiting.future.set_result(list(outcomes[start:end]))
        start = end
