"""Requests as a client remembers them, and the connections that it sends them over."""

import http.client
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import psutil

from ops.serving import HOST

TIMEOUT_SECONDS = 30.0


class Intent(NamedTuple):
    """A request that is sent until it has a definite answer, each time the same bytes."""

    kind: str
    path: str
    body: bytes
    token: str
    key: str | None = None
    hands: tuple[str, ...] = ()
    """Game numbers, in the order of the body."""


class Reply(NamedTuple):
    """What came back."""

    status: int
    content: Any

    @property
    def results(self) -> list[dict[str, Any]]:
        """What became of each hand of a batch; empty for everything else."""
        found: list[dict[str, Any]] = self.content.get("results", [])
        return found

    @property
    def is_definite(self) -> bool:
        """Tell whether it is known what became of the request."""
        if self.status >= 500 or self.content.get("code") == "request-in-progress":
            return False
        return all(result["status"] != "failed" for result in self.results)

    @property
    def is_done(self) -> bool:
        """Tell whether everything that was asked for is booked."""
        return self.status < 300 and all(
            result["status"] in ("booked", "repeated") for result in self.results
        )

    @property
    def repeats(self) -> list[bool]:
        """Tell of each thing that was asked for whether it had been booked before."""
        if self.results:
            return [result["status"] == "repeated" for result in self.results]
        return [self.content.get("repeated", self.content.get("status") == "repeated")]

    @property
    def substance(self) -> Any:
        """What must be the same whenever the request is answered again."""
        if not self.results and "verdict" not in self.content:
            return {**self.content, "repeated": None}
        return [
            (hand["game_number"], hand["verdict"], hand["findings"], hand["rulebook"])
            for hand in self.results or [self.content]
        ]


class Line:
    """One kept connection; after an error the next request opens another."""

    def __init__(self, port: Callable[[], int]) -> None:
        self._port = port
        self._connection: http.client.HTTPConnection | None = None

    def send(self, intent: Intent) -> Reply:
        """Send and wait; raises OSError or HTTPException when there is no answer."""
        self.ask(intent)
        return self.answer()

    def ask(self, intent: Intent) -> None:
        """Send only."""
        headers = {"Authorization": f"Bearer {intent.token}", "Content-Type": "application/json"}
        if intent.key is not None:
            headers["Idempotency-Key"] = intent.key
        try:
            self.connected().request("POST", intent.path, intent.body, headers)
        except BaseException:
            self.close()
            raise

    def answer(self) -> Reply:
        """Wait for the answer to what was sent."""
        try:
            response = self.connected().getresponse()
            return Reply(response.status, json.loads(response.read()))
        except BaseException:
            self.close()
            raise

    def get(self, path: str, token: str) -> Any:
        """Read."""
        self.connected().request("GET", path, headers={"Authorization": f"Bearer {token}"})
        response = self.connected().getresponse()
        body = response.read()
        assert response.status == 200, body
        return json.loads(body)

    def connected(self) -> http.client.HTTPConnection:
        """Return the open connection, or open it."""
        if self._connection is None:
            connection = http.client.HTTPConnection(HOST, self._port(), timeout=TIMEOUT_SECONDS)
            connection.connect()
            self._connection = connection
        return self._connection

    def close(self) -> None:
        """Close it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def line_to(process: psutil.Process, port: Callable[[], int]) -> Line:
    """Open a line to one of the processes that share a port: the kernel chooses, so try."""
    for _ in range(200):
        line = Line(port)
        connection = line.connected()
        connection.request("GET", "/livez")
        connection.getresponse().read()
        mine = connection.sock.getsockname()[1]
        if any(c.raddr and c.raddr.port == mine for c in process.net_connections("tcp")):
            return line
        line.close()
    raise AssertionError(f"process {process.pid} takes no connection")


def metrics(line: Line) -> dict[str, float]:
    """Read the gauges and counters without labels of the process at the end of a line."""
    line.connected().request("GET", "/metrics")
    text = line.connected().getresponse().read().decode()
    pairs: Sequence[list[str]] = [row.split(" ") for row in text.splitlines() if row[:1] != "#"]
    return {name: float(value) for name, value in pairs if "{" not in name}
