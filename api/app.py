"""The HTTP application: ``create_app`` is the factory that uvicorn is given."""

import gc
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from time import perf_counter
from typing import Final

from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Route

from api import (
    anchors,
    approvals,
    books,
    cashier,
    comparison,
    entries,
    events,
    findings,
    funds,
    hand_list,
    hand_records,
    hands,
    health,
    inbox,
    jackpots,
    lists,
    periods,
    players,
    problems,
    protest_windows,
    requests,
    rulebooks,
    statements,
    tables,
    treasury,
)
from api.auth import Verifier
from api.edge import (
    Edge,
    on_http_exception,
    on_invalid,
    on_invalid_cursor,
)
from api.idempotency import FieldDigests, Running
from api.metrics import Metrics
from api.middleware import HOT, EdgeMiddleware
from api.openapi import describe
from api.reads import Reads
from api.settings import EdgeSettings
from ledger.identity import Identity
from ledger.journal import Journal, Outcome, Submission
from ledger.writer import Writer
from projections.cursors import InvalidCursorError

COLLECT: Final = (5_000, 20, 50)
"""How rarely reference cycles are looked for.

Five hundred hands that are read are twenty thousand lists, all in use: looking through them over
and over took a tenth of the time. A read leaves some hundred objects in cycles, so that looking
for them more rarely still, all at once, holds another read up: fifty thousand took 30 ms.
"""

ROUTERS = (
    lists.router,
    books.router,
    entries.router,
    statements.router,
    comparison.router,
    players.router,
    cashier.router,
    treasury.router,
    funds.router,
    periods.router,
    jackpots.router,
    tables.router,
    protest_windows.router,
    hand_list.router,
    hand_records.router,
    findings.router,
    events.router,
    anchors.router,
    rulebooks.router,
    approvals.router,
    inbox.router,
    requests.router,
    health.router,
    problems.router,
)


SWITCH_SECONDS: Final = 0.001
"""How long a thread waits for the interpreter before another is asked to let it go on."""


def create_app(settings: EdgeSettings | None = None) -> FastAPI:
    """Make the application of one process; without settings they are read from the environment."""
    settings = settings or EdgeSettings()
    app = FastAPI(
        title="cardroom-ledger",
        lifespan=_lifespan(settings),
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
        redoc_url=None,
    )
    app.state.metrics = Metrics(partial(health.gauges, app))
    post_hands = hands.PostHands(app, settings)
    app.router.routes.append(Route(HOT, post_hands, methods=["POST"]))
    for router in ROUTERS:
        app.include_router(router)
    app.add_middleware(
        EdgeMiddleware,
        hot=post_hands,
        metrics=app.state.metrics,
        max_body_bytes=settings.command_body_limit,
        log_every=settings.log_every_hands,
    )
    app.add_exception_handler(HTTPException, on_http_exception)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(InvalidCursorError, on_invalid_cursor)
    describe(app)
    return app


def _lifespan(
    settings: EdgeSettings,
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        edge = await run_in_threadpool(_open, settings, app.state.metrics)
        app.state.edge = edge
        edge.writer.start()
        try:
            await rulebooks.adopt_shipped(edge, settings.network)
            # What lives as long as the process is never garbage: looking through it at every
            # collection is what made single posts wait.
            gc.collect()
            gc.freeze()
            gc.set_threshold(*COLLECT)
            # A read has a thread of its own, and after each look at the database it waits for the
            # interpreter, which decides hands: no longer than this, where five would be usual.
            sys.setswitchinterval(SWITCH_SECONDS)
            yield
        finally:
            await edge.writer.stop()
            edge.reads.close()

    return lifespan


class _TimedWriter(Writer):
    """Counts how long commands take from being queued to their outcome."""

    def __init__(self, journal: Journal, metrics: Metrics, *, queue_limit: int) -> None:
        super().__init__(journal, queue_limit=queue_limit)
        self._seconds = metrics.commits

    async def submit(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Queue commands and wait for their outcomes; raises QueueFull and takes none."""
        began = perf_counter()
        outcomes = await super().submit(submissions)
        self._seconds.observe(perf_counter() - began)
        return outcomes


def _open(settings: EdgeSettings, metrics: Metrics) -> Edge:
    dsn = settings.database_url.get_secret_value()
    reads = Reads(dsn, settings.read_connections)
    reads.open()
    journal = Journal(dsn, writer=settings.writer_name)
    return Edge(
        verifier=Verifier(settings.verification_key, settings.jwt_algorithm),
        identity=Identity(settings.identity_key_bytes),
        digests=FieldDigests(settings.identity_key_bytes),
        running=Running(),
        writer=_TimedWriter(journal, metrics, queue_limit=settings.queue_limit),
        reads=reads,
        settings=settings,
    )
