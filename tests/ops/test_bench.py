"""The load posts each hand once and in order; the limit copies the journal's own rows."""

import asyncio
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

import msgspec
import psycopg
import pytest
from rich.console import Console

from ledger.hands.reading import read, split
from ops.backup.manifest import Place
from ops.bench import limit, restoring, run
from ops.bench.house import STACK_MINOR, TableSpec
from ops.bench.http import Connection, Disconnected, Requests
from ops.bench.load import Driven, Driver, Job, Lane, LoadFailed
from ops.bench.report import Report
from ops.bench.run import Bench, Sizes
from ops.serving import temporary_folder
from ops.simulator import load
from projections.check.report import Report as Checked

ANSWER = b"HTTP/1.1 201 Created\r\ncontent-type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Wire(asyncio.Transport):
    """A transport that keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__({"sockname": ("127.0.0.1", 40_000)})
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)


# -- connections ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [1, 9, 40, len(ANSWER) - 1, len(ANSWER)])
def test_an_answer_that_comes_in_pieces_is_put_together(cut: int) -> None:
    async def ask() -> tuple[tuple[int, bytes], bytes]:
        connection, wire = Connection(), Wire()
        connection.connection_made(wire)
        asking = asyncio.ensure_future(connection.send(b"GET"))
        await asyncio.sleep(0)
        connection.data_received(ANSWER[:cut])
        connection.data_received(ANSWER[cut:])
        return await asking, wire.written

    assert asyncio.run(ask()) == ((201, b"{}"), b"GET")


def test_a_closed_connection_ends_the_request_that_waits() -> None:
    async def ask() -> None:
        connection = Connection()
        connection.connection_made(Wire())
        asking = asyncio.ensure_future(connection.send(b"GET"))
        await asyncio.sleep(0)
        connection.connection_lost(None)
        await asking

    with pytest.raises(Disconnected):
        asyncio.run(ask())


# -- lanes ---------------------------------------------------------------------------------------


def lanes(*, hands: int, batch: int, count: int, tables: int) -> list[list[bytes]]:
    """Return the bodies that each lane posts."""
    names = [f"Table {number}" for number in range(tables)]
    seats = tuple(f"player-{seat}" for seat in range(6))
    specs = tuple(TableSpec(name, seats, (STACK_MINOR,) * 6) for name in names)
    job = Job(
        port=1, token="t", opened=datetime(2026, 1, 1, tzinfo=UTC).timestamp(), pace=100,
        processes=(1,),
        tables=specs, first_game=101, hands=hands, batch=batch, lanes=count,
    )  # fmt: skip
    scripts = load.scripts(Random(1), each=4)
    requests = Requests(1, "t")
    found = []
    for number in range(count):
        own = [load.LoadTable(*spec) for spec in specs[number::count]]
        lane = Lane(job, number, own, scripts, requests)
        found.append([request.partition(b"\r\n\r\n")[2] for request in lane.requests])
    return found


@pytest.mark.parametrize(("hands", "batch", "count"), [(60, 7, 3), (40, 1, 4), (10, 500, 2)])
def test_every_hand_is_posted_once_and_those_of_a_table_in_order(
    hands: int, batch: int, count: int
) -> None:
    numbers = []
    for bodies in lanes(hands=hands, batch=batch, count=count, tables=8):
        last: dict[str, int] = {}
        for body in bodies:
            items = split(body)
            assert len(items) <= batch
            for hand in map(read, items):
                number = int(hand.game_number)
                assert number > last.get(hand.table_name, 0)
                last[hand.table_name] = number
                numbers.append(number)
    assert sorted(numbers) == list(range(101, 101 + hands))


def test_a_single_hand_is_posted_without_an_array() -> None:
    [[body]] = lanes(hands=1, batch=1, count=1, tables=1)
    assert body.startswith(b'{"ohh":')


def test_latencies_are_read_off_in_order() -> None:
    driven = Driven(4, 0.0, 2.0, (0.004, 0.001, 0.003, 0.002), (), 0.0)
    assert driven.rate == 2
    assert (driven.latency_ms(0.5), driven.latency_ms(0.99)) == (3, 4)


class Room(BaseHTTPRequestHandler):
    """Books whatever comes, or fails at it, and counts the hands."""

    protocol_version = "HTTP/1.1"
    failing = False
    hands = 0

    def do_GET(self) -> None:
        self.answer(200, {})

    def do_POST(self) -> None:
        items = split(self.rfile.read(int(self.headers["content-length"])))
        type(self).hands += len(items)
        results = [{"status": "booked"} for _ in items]
        self.answer(500 if self.failing else 200, {"results": results})

    def answer(self, status: int, content: object) -> None:
        body = msgspec.json.encode(content)
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def steady() -> Iterator[tuple[type[Room], Job]]:
    """Serve a room, and make a job of a given rate that is longer than any test."""

    class Own(Room):
        pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    threading.Thread(target=server.serve_forever).start()
    seats = tuple(f"player-{seat}" for seat in range(6))
    specs = tuple(TableSpec(f"Table {n}", seats, (STACK_MINOR,) * 6) for n in range(8))
    yield (
        Own,
        Job(
            port=server.server_port, token="t", opened=0.0, pace=100, processes=(1,), tables=specs,
            first_game=1, hands=10**6, batch=5, lanes=4, prepared=False, rate=500,
        ),
    )  # fmt: skip
    server.shutdown()
    server.server_close()


def test_a_job_of_a_given_rate_posts_until_it_is_stopped(steady: tuple[type[Room], Job]) -> None:
    room, job = steady
    with Driver(job) as driver:
        driver.go()
        assert not driver.done(1.0)
        driver.stop()
        driven = driver.result()
    assert driven.hands == room.hands == 5 * len(driven.latencies)
    assert 100 < driven.hands <= 500 * driven.seconds + 4 * 5


def test_a_job_that_failed_says_why_when_it_is_stopped(steady: tuple[type[Room], Job]) -> None:
    room, job = steady
    room.failing = True
    with Driver(job) as driver:
        driver.go()
        assert driver.done(30)
        time.sleep(1)  # until its process has ended
        driver.stop()
        with pytest.raises(LoadFailed, match="not everything was booked: 500"):
            driver.result()


# -- the limit -----------------------------------------------------------------------------------


def test_the_limit_copies_the_rows_of_whole_hands(owner_dsn: str) -> None:
    rows = []
    for position in range(1, 31):
        hand = (position - 1) // 3
        state = msgspec.json.encode({"request_id": f"hand:{hand}"})
        rows.append((f"hand:n:{hand}", position, "hand.staked.v1", state, position))
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO journal.events VALUES (%s, %s, %s, %s, %s)", rows)
        measured = limit.measure(owner_dsn, 0, hands=8, per_commit=3)
        assert (measured.hands, measured.events) == (8, 24)
        assert measured.rate > 0
        left = connection.execute("SELECT to_regnamespace('bench_limit')").fetchone()
        assert left == (None,)


# -- restoring -----------------------------------------------------------------------------------


def test_a_restore_to_the_middle_of_a_load_is_checked_and_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(restoring, "POSTED_EVENTS", 500)
    monkeypatch.setattr(run, "BESIDE", 200)
    with temporary_folder() as folder:
        bench = Bench(folder, Sizes(0, 0, 0, 0, 0, 0), 16, Console())
        with bench.serving(1) as (serving, _):
            bench.furnish(serving, 16)
        bench.restore()
    assert [(asked.value, asked.met) for asked in bench.report.asked] == [(0, True), (0, True)]
    measured = {figure.name: figure.value for figure in bench.report.figures}
    assert min(measured.values()) > 0, measured


@pytest.mark.parametrize("restored", [Checked(position=9, digest="0b"), Checked(position=8)])
def test_other_books_than_those_that_were_noted_keep_no_bound(restored: Checked) -> None:
    report = Report(0, 16, "a machine")
    restored.add("digest", "position 4", "is another")
    restoring.compare(Place(9, digest="0a"), restored, report)
    assert [(asked.value, asked.met) for asked in report.asked] == [(1, False), (1, False)]


# -- the report ----------------------------------------------------------------------------------


def test_a_report_is_met_when_every_bound_is_kept() -> None:
    report = Report(1000, 10, "a machine")
    report.ask("a ratio", 0.2, at_least=0.2)
    report.ask("a latency", 24.9, unit="ms", below=25)
    assert report.met
    report.ask("a latency", 25, unit="ms", below=25)
    assert not report.met
