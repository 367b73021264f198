"""Every request: its id, its limit, its answer when nobody else answered."""

import asyncio
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs

from api.metrics import Gauge, Metrics
from api.middleware import EdgeMiddleware
from api.problems import Problem


def run(
    app: Callable[[Scope, Receive, Send], Any],
    *,
    headers: Iterable[tuple[bytes, bytes]] = (),
    chunks: Iterable[bytes] = (b"",),
    limit: int = 1000,
    path: str = "/v1/players",
    method: str = "POST",
    log_every: int = 1,
) -> tuple[int, dict[bytes, bytes], Any]:
    metrics = Metrics(lambda: [])
    edge = EdgeMiddleware(app, hot=app, metrics=metrics, max_body_bytes=limit, log_every=log_every)
    left = list(chunks)
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": list(headers)}
    asyncio.run(edge(scope, receive, send))
    start, body = sent
    return start["status"], dict(start["headers"]), msgspec.json.decode(body["body"] or b"null")


async def answering(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive())["more_body"]:
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(("method", "lines"), [("POST", 0), ("GET", 1)])
def test_posted_hands_are_logged_in_samples_and_lists_of_hands_each(
    method: str, lines: int
) -> None:
    with capture_logs() as logged:
        run(answering, path="/v1/hands", method=method, log_every=2)
    assert len(logged) == lines


@pytest.mark.parametrize("given", [b"abc-1", b"x" * 128])
def test_a_given_request_id_is_kept(given: bytes) -> None:
    _, headers, _ = run(answering, headers=[(b"x-request-id", given)])
    assert headers[b"x-request-id"] == given


@pytest.mark.parametrize("given", [b"", b"x" * 129, b"a b", b"a\r\nset-cookie: x", b"\xe4"])
def test_a_request_id_of_another_form_is_replaced(given: bytes) -> None:
    _, headers, _ = run(answering, headers=[(b"x-request-id", given)])
    assert len(headers[b"x-request-id"]) == 32


@pytest.mark.parametrize(
    ("headers", "chunks"),
    [
        ([(b"content-length", b"1001")], [b""]),
        ([], [b"x" * 500, b"x" * 501]),
        ([(b"content-length", b"2")], [b"x" * 1001]),
    ],
    ids=["announced", "chunked", "longer than announced"],
)
def test_a_body_beyond_the_limit_is_refused_while_it_is_read(
    headers: list[tuple[bytes, bytes]], chunks: list[bytes]
) -> None:
    status, _, problem = run(answering, headers=headers, chunks=chunks)
    assert (status, problem["code"], problem["limit_bytes"]) == (413, "body-too-large", 1000)


def test_a_body_of_exactly_the_limit_is_read() -> None:
    assert run(answering, chunks=[b"x" * 500, b"x" * 500])[0] == 204


def test_a_problem_that_nobody_answered_is_answered() -> None:
    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        raise Problem("token-missing", "none")

    status, headers, problem = run(failing)
    assert (status, problem["code"]) == (401, "token-missing")
    assert headers[b"content-type"] == b"application/problem+json"
    assert problem["request_id"].encode() == headers[b"x-request-id"]


def test_a_defect_is_answered_without_telling_anything_and_logged_without_its_message() -> None:
    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("alice@example.com")

    with structlog.testing.capture_logs() as lines:
        status, _, problem = run(failing)
    assert (status, problem["code"], problem["retry"]) == (500, "internal-error", "later")
    assert "alice" not in str(problem)
    defect = next(line for line in lines if line["event"] == "defect")
    assert defect["type"] == "builtins.ValueError"
    assert "failing" in defect["at"][-1]
    assert "alice" not in str(lines)


def test_a_client_that_goes_away_is_no_defect() -> None:
    async def abandoned(scope: Scope, receive: Receive, send: Send) -> None:
        await answering(scope, receive, send)
        raise ClientDisconnect

    with structlog.testing.capture_logs() as lines:
        run(abandoned)
    assert [line["event"] for line in lines] == ["request"]


def test_a_defect_after_the_answer_began_does_not_begin_another() -> None:
    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        await answering(scope, receive, send)
        raise ValueError

    assert run(failing)[0] == 204


def test_a_request_is_logged_in_one_line() -> None:
    with structlog.testing.capture_logs() as lines:
        run(answering, headers=[(b"x-request-id", b"r-1")])
    [line] = lines
    assert line["request_id"] == "r-1"
    assert (line["method"], line["status"], line["route"]) == ("POST", 204, "unknown")
    assert line["ms"] > 0


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
def test_what_machines_ask_every_few_seconds_is_logged_only_when_it_fails(path: str) -> None:
    async def not_ready(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 503, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def gone(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError

    with structlog.testing.capture_logs() as lines:
        run(answering, path=path)
    assert lines == []
    with structlog.testing.capture_logs() as lines:
        run(not_ready, path=path)
        run(gone, path=path)
    assert [line.get("status") for line in lines] == [503, None, 500]


def test_requests_are_counted_by_route_and_gauges_are_looked_up_at_the_scrape() -> None:
    depth = 3.0
    metrics = Metrics(lambda: [Gauge("cardroom_queue_depth", "Commands that wait.", depth)])
    metrics.observe("POST", "/v1/hands", 201, 0.004)
    metrics.observe("POST", "/v1/hands", 201, 0.006)
    metrics.observe("POST", "/v1/hands", 422, 0.001)
    depth = 5.0
    text = io.StringIO(metrics.exposition().decode())
    lines = {line.rpartition(" ")[0]: line.rpartition(" ")[2].strip() for line in text}
    assert lines['cardroom_requests_total{method="POST",route="/v1/hands",status="201"}'] == "2.0"
    assert lines['cardroom_request_seconds_bucket{le="0.005",route="/v1/hands"}'] == "2.0"
    assert lines["cardroom_queue_depth"] == "5.0"


def test_processes_that_share_a_folder_count_together(tmp_path: Path) -> None:
    program = (
        "from api.metrics import Metrics\n"
        "metrics = Metrics(lambda: [])\n"
        "metrics.observe('POST', '/v1/hands', 201, 0.004)\n"
        "print(metrics.exposition().decode())\n"
    )
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    counted = [
        subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True
        ).stdout.decode()
        for _ in range(2)
    ]
    line = 'cardroom_requests_total{method="POST",route="/v1/hands",status="201"}'
    assert f"{line} 1.0" in counted[0]
    assert f"{line} 2.0" in counted[1]
