"""The load: hands posted over kept connections by a process of its own.

A *lane* is a group of tables whose hands are posted one request after the other, so that the
hands of a table arrive in their order. Lanes run side by side.
"""

import asyncio
import multiprocessing
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from multiprocessing.connection import Connection as Pipe
from random import Random
from typing import Any, Final, NamedTuple, Self

import msgspec
import psutil
import uvloop

from ops.bench.house import TableSpec
from ops.bench.http import Connection, Disconnected, Requests
from ops.simulator import load

MOST_CONNECTIONS: Final = 256


class LoadFailed(Exception):
    """The ledger did not book what was posted, or the load's own process ended."""


class Job(NamedTuple):
    """What to post: ``hands`` in requests of ``batch`` each, over ``lanes``.

    ``opened`` is when the first hand started, in seconds since 1970, ``pace`` how many start in a
    second of the records. ``processes`` are the API's; every lane keeps to one of them, in turn, or
    with ``alternate`` sends each request to another one. ``prepared``: everything is written before
    the clock starts. ``rate``: hands a second that are posted at most, by all lanes together; such
    a job can be stopped.
    """

    port: int
    token: str
    opened: float
    pace: float
    processes: tuple[int, ...]
    tables: tuple[TableSpec, ...]
    first_game: int
    hands: int
    batch: int
    lanes: int
    alternate: bool = False
    prepared: bool = True
    rate: float | None = None


class Driven(NamedTuple):
    """What came of a job; times are of the monotonic clock, latencies in seconds per request."""

    hands: int
    began: float
    ended: float
    latencies: tuple[float, ...]
    tables: tuple[TableSpec, ...]
    cpu_seconds: float

    @property
    def seconds(self) -> float:
        """From the first byte sent to the last answer received."""
        return self.ended - self.began

    @property
    def rate(self) -> float:
        """Hands per second."""
        return self.hands / self.seconds

    def latency_ms(self, share: float) -> float:
        """Return the latency that this share of the requests did not exceed, in milliseconds."""
        ordered = sorted(self.latencies)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Driver:
    """A job in a process of its own: made ready by ``with``, begun by ``go``."""

    def __init__(self, job: Job) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(job, theirs), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        self._receive()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.is_alive():
            self._process.terminate()
        self._process.join()

    def go(self) -> None:
        """Start the clock."""
        self._pipe.send("go")

    def stop(self) -> None:
        """Have a job of a given rate end with the requests that are under way."""
        # One that has failed no longer listens; its result says why.
        with suppress(BrokenPipeError, ConnectionResetError):
            self._pipe.send("stop")

    def done(self, seconds: float) -> bool:
        """Wait so long for the end; tell whether it has come."""
        return self._pipe.poll(seconds)

    def result(self) -> Driven:
        """Wait for the end and return what came of it; raises LoadFailed."""
        driven: Driven = self._receive()
        return driven

    def _receive(self) -> Any:
        while not self._pipe.poll(1.0):
            if not self._process.is_alive():
                raise LoadFailed("the process that posts hands has ended")
        received = self._pipe.recv()
        if isinstance(received, str) and received != "ready":
            raise LoadFailed(received)
        return received


def drive(job: Job) -> Driven:
    """Post a job's hands and wait until all are answered; raises LoadFailed."""
    with Driver(job) as driver:
        driver.go()
        return driver.result()


# -- in the load's own process -------------------------------------------------------------------


class _Booked(msgspec.Struct):
    status: str


class _Answer(msgspec.Struct):
    results: list[_Booked]


def _work(job: Job, pipe: Pipe) -> None:
    try:
        pipe.send(uvloop.run(_drive(job, pipe)))
    except Exception as error:  # told to whoever waits at the other end
        pipe.send(f"{type(error).__name__}: {error}")


async def _drive(job: Job, pipe: Pipe) -> Driven:
    scripts = load.scripts(Random(1))  # noqa: S311
    tables = [load.LoadTable(*spec) for spec in job.tables]
    requests = Requests(job.port, job.token)
    lanes = [
        Lane(job, number, tables[number :: job.lanes], scripts, requests)
        for number in range(job.lanes)
    ]
    links = await _links(job, requests)
    pipe.send("ready")
    await asyncio.get_running_loop().run_in_executor(None, pipe.recv)
    used = time.process_time()
    began = time.monotonic()
    await asyncio.gather(*(lane.run(own, pipe) for lane, own in zip(lanes, links, strict=True)))
    ended = time.monotonic()
    for link in (link for own in links for link in own):
        link.close()
    return Driven(
        sum(lane.posted for lane in lanes),
        began,
        ended,
        tuple(latency for lane in lanes for latency in lane.latencies),
        tuple(
            spec._replace(stacks=tuple(table.stacks))
            for spec, table in zip(job.tables, tables, strict=True)
        ),
        time.process_time() - used,
    )


class Lane:
    """A group of tables and the requests that post their hands, written as they are asked for."""

    def __init__(
        self,
        job: Job,
        number: int,
        tables: Sequence[load.LoadTable],
        scripts: Sequence[Sequence[load.Script]],
        requests: Requests,
    ) -> None:
        self.latencies: list[float] = []
        self.posted = 0
        self._batch = job.batch
        self._number = number
        # At a given rate the lanes take turns too: what comes all at once is no steady rate.
        apart = 0.0 if job.rate is None else job.batch / job.rate
        self._begins_after, self._seconds_apart = number * apart, job.lanes * apart
        written = self._write(job, tables, scripts, requests)
        self.requests: Iterable[bytes] = list(written) if job.prepared else written

    def _write(
        self,
        job: Job,
        tables: Sequence[load.LoadTable],
        scripts: Sequence[Sequence[load.Script]],
        requests: Requests,
    ) -> Iterator[bytes]:
        """Write this lane's share of the hands, its tables taking turns."""
        numbers = range(job.first_game + self._number, job.first_game + job.hands, job.lanes)
        batch: list[bytes] = []
        for turn, number in enumerate(numbers):
            started = _second(int(job.opened + (number - job.first_game) / job.pace))
            batch.append(tables[turn % len(tables)].hand(scripts, number, started))
            if len(batch) == job.batch:
                yield self._request(requests, batch)
                batch = []
        if batch:
            yield self._request(requests, batch)

    def _request(self, requests: Requests, batch: Sequence[bytes]) -> bytes:
        return requests.hands(batch[0] if self._batch == 1 else b"[%b]" % b",".join(batch))

    async def run(self, links: Sequence["Link"], pipe: Pipe) -> None:
        """Post everything; one after the other, the links taking turns.

        At a given rate: until the pipe has something.
        """
        next_at = time.monotonic() + self._begins_after
        for turn, request in enumerate(self.requests, self._number):
            if self._seconds_apart:
                await asyncio.sleep(max(0.0, next_at - time.monotonic()))
                next_at += self._seconds_apart
            began = time.monotonic()
            status, body, again = await links[turn % len(links)].send(request)
            self.latencies.append(time.monotonic() - began)
            self._check(status, body, ("booked", "repeated") if again else ("booked",))
            # Before another is written: the tables are as they were left.
            if self._seconds_apart and pipe.poll():
                return

    def _check(self, status: int, body: bytes, expected: Sequence[str]) -> None:
        if status in (200, 201):
            if self._batch == 1:
                results = [msgspec.json.decode(body, type=_Booked)]
            else:
                results = msgspec.json.decode(body, type=_Answer).results
            if all(result.status in expected for result in results):
                self.posted += len(results)
                return
        raise LoadFailed(f"not everything was booked: {status} {body[:2000].decode()}")


class Link:
    """A way to one of the API's processes: its connection, and another when it was closed.

    The API closes a connection on which nothing was asked for some seconds.
    """

    def __init__(self, job: Job, requests: Requests, process: int) -> None:
        self._job = job
        self._requests = requests
        self._process = process
        self._connection: Connection | None = None

    async def open(self) -> None:
        """Connect until the right process takes the connection: the kernel chooses which does."""
        spare: list[Connection] = []
        while self._connection is None or self._connection.closed:
            if len(spare) == MOST_CONNECTIONS:
                raise LoadFailed("one of the API's processes takes no connections")
            connection = await Connection.open(self._job.port)
            await connection.send(self._requests.read("/livez"))
            if _served_by(self._job.processes, connection.local_port) == self._process:
                self._connection = connection
            else:
                spare.append(connection)
        for connection in spare:
            connection.close()

    async def send(self, request: bytes) -> tuple[int, bytes, bool]:
        """Send a request; return status, body, and whether it had to be sent twice."""
        again = False
        while True:
            await self.open()
            assert self._connection is not None
            try:
                status, body = await self._connection.send(request)
            except Disconnected:
                if again:
                    raise
                again = True
            else:
                return status, body, again

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()


@lru_cache(maxsize=16)
def _second(since_1970: int) -> bytes:
    return datetime.fromtimestamp(since_1970, UTC).strftime("%Y-%m-%dT%H:%M:%SZ").encode()


async def _links(job: Job, requests: Requests) -> list[list[Link]]:
    """Connect each lane to its API process, or to every one when they are to alternate."""
    lanes = []
    for lane in range(job.lanes):
        own = job.processes if job.alternate else (job.processes[lane % len(job.processes)],)
        lanes.append([Link(job, requests, process) for process in own])
    for link in (link for own_links in lanes for link in own_links):
        await link.open()
    return lanes


def _served_by(processes: Sequence[int], port: int) -> int:
    """Return which process accepted the connection from a port: the kernel chooses."""
    if len(processes) == 1:
        return processes[0]
    for process in processes:
        for connection in psutil.Process(process).net_connections("tcp"):
            if connection.raddr and connection.raddr.port == port:
                return process
    raise LoadFailed("none of the API's processes has the connection")
