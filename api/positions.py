"""Answers from projections may be waited for: a client names the position that it must see."""

import asyncio
from time import monotonic
from typing import Annotated, Final, NamedTuple

from fastapi import Depends, Query, Request
from fastapi.concurrency import run_in_threadpool

from api.auth import Caller, needs
from api.edge import edge_of
from api.problems import Problem
from api.reads import projected_of

LONGEST_WAIT_MS: Final = 10_000
_POLL_SECONDS: Final = (0.002, 0.005, 0.01, 0.02, 0.05)


async def _reach(
    request: Request,
    _: Annotated[Caller, needs()],
    at_least: Annotated[
        int | None, Query(ge=0, description="The position that the answer must include.")
    ] = None,
    wait_ms: Annotated[
        int, Query(ge=0, le=LONGEST_WAIT_MS, description="How long to wait for it.")
    ] = 0,
) -> None:
    if at_least is None:
        return
    deadline = monotonic() + wait_ms / 1000
    polls = 0
    while True:
        projected = await run_in_threadpool(_projected, request)
        if projected >= at_least:
            return
        if monotonic() >= deadline:
            raise Problem(
                "position-not-reached",
                f"the projections are at {projected}",
                field="at_least",
                projected_position=projected,
            )
        pause = _POLL_SECONDS[min(polls, len(_POLL_SECONDS) - 1)]
        polls += 1
        await asyncio.sleep(min(pause, max(deadline - monotonic(), 0)))


def _projected(request: Request) -> int:
    with edge_of(request).reads.snapshot() as connection:
        return projected_of(connection)


Reached = Depends(_reach)
"""Dependency of a read: the projections include ``at_least``, or position-not-reached."""


class Paging(NamedTuple):
    """How much of a list, and from where."""

    limit: int
    cursor: str | None


async def _paging(
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    cursor: Annotated[
        str | None, Query(max_length=2000, description="The cursor of the page before.")
    ] = None,
) -> Paging:
    return Paging(limit, cursor)


Paged = Annotated[Paging, Depends(_paging)]
"""Dependency of a list."""
