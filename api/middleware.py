"""What happens to every request: its id, the limit of its body, its log line, its count.

Plain ASGI: a middleware of Starlette's own kind costs a task group per request.
"""

import re
import traceback
from itertools import count
from secrets import token_hex
from time import perf_counter
from typing import Final
from urllib.parse import quote, unquote

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.metrics import Metrics
from api.problems import Problem, answer
from ledger.core import Refused

HOT: Final = "/v1/hands"
"""The one route that reads its own body, to its own limit, and is logged in samples."""

QUIET: Final = frozenset({"/livez", "/readyz", "/metrics"})
"""Asked every few seconds by machines, and logged only when they fail."""

DRAINED_BYTES: Final = 32 * 1024 * 1024
"""How much of a body that is too large is read on before the connection is closed on it."""

_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
INNER_SLASH: Final = "\ufdd0"
"""Stands in a path for a slash that is part of a name; no text may contain it."""

_ENCODED_SLASH: Final = re.compile("%2f", re.IGNORECASE)

_PROCESS: Final = token_hex(12)
_COUNT: Final = count(1)
"""Request ids: a part drawn once per process, and a number. Drawing each would give up the
interpreter's lock each time, and the writer's thread would take it."""

_VISIBLE = frozenset(map(chr, range(0x21, 0x7F)))


class EdgeMiddleware:
    """Gives every request an id and answers for whatever nobody else answered for."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hot: ASGIApp,
        metrics: Metrics,
        max_body_bytes: int,
        log_every: int,
    ) -> None:
        self.app = app
        self._hot = hot
        self._metrics = metrics
        self._max_body_bytes = max_body_bytes
        self._log_every = log_every
        self._unlogged = 0
        self._log = structlog.get_logger("api")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = perf_counter()
        request_id = _request_id(scope)
        scope["request_id"] = request_id
        if b"%" in scope.get("raw_path", b""):
            scope["path"] = _path(scope["raw_path"])
        id_header = (b"x-request-id", request_id.encode())
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), id_header]
            await send(message)

        try:
            if scope["path"] != HOT:
                receive = await self._limited(scope, receive)
            elif scope["method"] == "POST":
                # Straight to its handler: the layers between cost as much as decoding a hand.
                await self._hot(scope, receive, send_with_id)
                return
            await self.app(scope, receive, send_with_id)
        except Refused as refused:
            if not status:
                scope["code"] = refused.code
                await answer(Problem.of_refused(refused), send_with_id, request_id)
        except Problem as problem:
            if not status:
                scope["code"] = problem.code
                await answer(problem, send_with_id, request_id)
        except ClientDisconnect:
            pass
        except Exception as defect:
            self._log.error("defect", request_id=request_id, **_places(defect))
            scope["code"] = "internal-error"
            if not status:
                await answer(_defect(), send_with_id, request_id)
        finally:
            self._account(scope, status, perf_counter() - started)

    async def _limited(self, scope: Scope, receive: Receive) -> Receive:
        limit = self._max_body_bytes
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > limit:
                await drain(receive)
                raise too_large(limit)
        size = 0

        async def receive_limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit:
                if message.get("more_body"):
                    await drain(receive)
                raise too_large(limit)
            return message

        return receive_limited

    def _account(self, scope: Scope, status: int, seconds: float) -> None:
        hot = scope["path"] == HOT and scope["method"] == "POST"
        route = HOT if hot else getattr(scope.get("route"), "path", "unknown")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.observe(method, route, status, seconds)
        if "code" in scope:
            self._metrics.count_refusals([scope["code"]])
        if scope["path"] in QUIET and 200 <= status < 400:
            return
        if hot and status < 500:
            self._unlogged += 1
            if self._unlogged < self._log_every:
                return
            self._unlogged = 0
        caller = scope.get("caller")
        self._log.info(
            "request",
            request_id=scope["request_id"],
            method=scope["method"],
            route=route,
            status=status,
            ms=round(seconds * 1000, 3),
            actor=caller.subject if caller else None,
            network=caller.network if caller else None,
            position=scope.get("position"),
            code=scope.get("code"),
        )


def _defect() -> Problem:
    return Problem("internal-error", "a defect of the ledger; the request id finds its log line")


def too_large(limit: int) -> Problem:
    """The problem of a body beyond the limit, in bytes; the connection ends with it."""
    return Problem(
        "body-too-large",
        f"the body is larger than {limit} bytes",
        headers={"Connection": "close"},
        limit_bytes=limit,
    )


async def drain(receive: Receive, limit: int = DRAINED_BYTES) -> None:
    """Read on and forget: a client that is still sending would miss its answer."""
    left = limit
    while left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        if not message.get("more_body"):
            return


def _path(raw_path: bytes) -> str:
    """Decode a path so that a slash in a name, a key or a number does not divide it."""
    return unquote(_ENCODED_SLASH.sub(quote(INNER_SLASH), raw_path.decode("latin-1")))


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            given: str = value.decode("latin-1")
            if 0 < len(given) <= 128 and _VISIBLE.issuperset(given):
                return given
            break
    return f"{_PROCESS}{next(_COUNT):08x}"


def _places(defect: BaseException) -> dict[str, object]:
    """Name a defect by its type and its lines of code: a message may hold what was posted."""
    frames = traceback.extract_tb(defect.__traceback__)
    return {
        "type": f"{type(defect).__module__}.{type(defect).__qualname__}",
        "at": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-8:]],
    }
