"""Questions are answered by a process of their own; without it, where they are asked."""

import contextlib
import http.client
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from ops.handover import is_question
from ops.serving import Serving, temporary_folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

HANDOVER, LISTENING = "ops.questions", "ops.server"
TABLES = "/v1/tables"


@pytest.mark.parametrize(
    ("begin", "question"),
    [
        (b"GET /v1/tables HTTP/1.1\r\n", True),
        (b"GET /v1/", True),
        (b"GET /v1", False),
        (b"GET /v1/requests/some-key HTTP/1.1\r\n", False),
        (b"GET /readyz HTTP/1.1\r\n", False),
        (b"GET /metrics HTTP/1.1\r\n", False),
        (b"POST /v1/hands HTTP/1.1\r\n", False),
        (b"GET /v1/tables" + b" " * 20_000, False),
        (b"", False),
    ],
)
def test_a_connection_is_one_for_questions_by_how_it_begins(begin: bytes, question: bool) -> None:
    assert is_question(begin) is question


class Room:
    """A served installation whose connections can be followed to the process that has them."""

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.headers = {"Authorization": f"Bearer {serving.token('auditor')}"}

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.serving.port, timeout=30)

    def ask(self, connection: http.client.HTTPConnection, path: str = TABLES) -> int:
        connection.request("GET", path, headers=self.headers)
        return self.answer(connection)

    def answer(self, connection: http.client.HTTPConnection) -> int:
        with connection.getresponse() as response:
            response.read()
            return response.status

    def process(self, module: str) -> psutil.Process:
        for _ in range(200):
            for child in psutil.Process(self.serving.pid).children():
                with contextlib.suppress(psutil.Error):
                    if module in child.cmdline():
                        return child
            time.sleep(0.05)
        raise AssertionError(f"no {module}")

    def who_has(self, connection: http.client.HTTPConnection) -> set[str]:
        """Return the modules of the processes that have the other end of a connection."""
        port = connection.sock.getsockname()[1]
        return {
            module
            for module in (HANDOVER, LISTENING)
            for one in self.process(module).net_connections("tcp")
            if one.raddr and one.raddr.port == port
        }


@pytest.fixture(scope="module")
def room() -> Iterator[Room]:
    with temporary_folder() as folder, Serving(folder) as serving:
        yield Room(serving)


def test_a_connection_stays_where_its_first_request_takes_it(room: Room) -> None:
    for first, where in ((TABLES, HANDOVER), ("/readyz", LISTENING), ("/v1/requests/a", LISTENING)):
        connection = room.connection()
        assert room.ask(connection, first) in {200, 404}
        assert room.who_has(connection) == {where}
        assert room.ask(connection) == 200
        assert room.who_has(connection) == {where}
        connection.request("POST", "/v1/hands", body=b"{}", headers=room.headers)
        assert room.answer(connection) == 403, "no auditor posts hands: the whole API answers"
        assert room.ask(connection, "/readyz") == 200
        assert room.who_has(connection) == {where}
        connection.close()


def test_a_question_that_comes_in_pieces_or_in_a_row_is_answered(room: Room) -> None:
    whole = b"GET /v1/tables HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n" % (
        room.headers["Authorization"].encode()
    )
    for pieces in ([whole[:3], whole[3:]], [whole[:20], whole[20:]], [whole * 3]):
        with socket.create_connection(("127.0.0.1", room.serving.port), timeout=30) as raw:
            for piece in pieces:
                raw.sendall(piece)
                time.sleep(0.1)
            answers, wanted = b"", pieces[-1].count(b"HTTP/1.1") or 1
            while answers.count(b"HTTP/1.1 200") < wanted or not answers.endswith(b"}"):
                answers += raw.recv(65536)


def test_a_client_that_goes_away_at_once_leaves_nothing_open(room: Room) -> None:
    process = room.process(HANDOVER)
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", room.serving.port)) as raw:
            raw.sendall(b"GET /v1/tables HTTP/1.1\r\nHost: x\r\n")
    assert room.ask(room.connection()) == 200
    end = time.monotonic() + 10
    while len(process.net_connections("tcp")) > 1 and time.monotonic() < end:
        time.sleep(0.05)
    assert len(process.net_connections("tcp")) <= 1


def test_questions_are_answered_where_they_are_asked_while_too_many_wait(room: Room) -> None:
    process = room.process(HANDOVER)
    asked = [room.connection() for _ in range(600)]
    process.send_signal(signal.SIGSTOP)
    try:
        for connection in asked:
            connection.request("GET", TABLES, headers=room.headers)
        assert room.answer(asked[-1]) == 200
        assert room.who_has(asked[-1]) == {LISTENING}
    finally:
        process.send_signal(signal.SIGCONT)
    for connection in asked[:-1]:
        assert room.answer(connection) == 200
    assert HANDOVER in room.who_has(asked[0])
    for connection in asked:
        connection.close()


def test_a_question_that_is_asked_while_its_process_is_killed_is_answered_later(room: Room) -> None:
    killed = room.process(HANDOVER)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait(10)
    connection = room.connection()
    assert room.ask(connection, "/readyz") == 200, "the API has not noticed"
    for _ in range(3):
        assert room.ask(room.connection()) == 200
    assert room.process(HANDOVER).pid != killed.pid


def test_without_such_a_process_the_api_answers_itself() -> None:
    with temporary_folder() as folder:
        settings = {"CARDROOM_QUESTION_PROCESSES": "0"}
        with Serving(folder, settings=settings) as serving:
            room = Room(serving)
            connection = room.connection()
            assert room.ask(connection) == 200
            modules = [
                child.cmdline()[child.cmdline().index("-m") + 1]
                for child in psutil.Process(serving.pid).children()
                if "-m" in child.cmdline()
            ]
            assert sorted(modules) == ["ops.projector", "ops.server", "ops.worker"]
