"""``cardroom serve``: everything that an installation needs, under one process.

Started in this order, and stopped in reverse: PostgreSQL (unless a database URL is set), the
migrations, the processes of the API, the projector, the worker. What ends by itself is started
again, later each time; what cannot stay up ends the whole with a message, rather than run with a
part missing.
"""

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Protocol

import structlog

from ops import database, handover
from ops.embedded import DatabaseProblem, EmbeddedPostgres, home_in, launcher_command
from ops.migrate import migrate
from ops.settings import Settings, environment
from ops.tokens import own_issuer, roles, token
from projections import rebuild

log = structlog.get_logger("supervisor")

LOOK_SECONDS = 0.1
INSTANT_SECONDS = 5.0
"""What ends sooner after its start has not worked at all."""

INSTANT_ENDS = 5
FIRST_DELAY_SECONDS = 0.2
LONGEST_DELAY_SECONDS = 10.0
BACKLOG = 2048


class GaveUp(Exception):
    """A part does not stay up; the message names it."""


class Part(Protocol):
    """Something that runs: a server, a process."""

    def start(self) -> None:
        """Start it."""

    def poll(self) -> int | None:
        """Return how it ended, or None while it runs."""

    def stop(self) -> None:
        """End it and wait until it has ended."""


class Process:
    """A Python module run as a process, which ends when the supervisor ends, however it ends."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        *,
        patience_seconds: float,
        descriptors: Sequence[int] = (),
    ) -> None:
        self._command = launcher_command(Path(sys.executable), arguments, signal.SIGTERM)
        self._environment = environment
        self._patience_seconds = patience_seconds
        self._descriptors = descriptors
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it in a session of its own: Ctrl-C is for the supervisor alone."""
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            pass_fds=self._descriptors,
            start_new_session=True,
        )

    def poll(self) -> int | None:
        """Return its exit status, negative for a signal, or None while it runs."""
        return None if self._process is None else self._process.poll()

    def ask(self) -> None:
        """Ask it to end."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def stop(self) -> None:
        """Ask it to end, and kill it when it takes longer than its patience."""
        self.ask()
        if self._process is None:
            return
        try:
            self._process.wait(self._patience_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


class Watched:
    """A part, how often it has ended at once, and when it is started again."""

    def __init__(self, name: str, part: Part) -> None:
        self.name = name
        self.part = part
        self._instant_ends = 0
        self._started_at = 0.0
        self._start_at: float | None = None

    def start(self) -> None:
        """Start it now; why a database does not start goes to the caller."""
        self._started_at = time.monotonic()
        self._start_at = None
        self.part.start()

    def look(self) -> None:
        """Start it again when it has ended and its delay is over; raises GaveUp."""
        now = time.monotonic()
        if self._start_at is None:
            status = self.part.poll()
            if status is not None:
                self._has_ended(f"status {status}", now)
        elif now >= self._start_at:
            try:
                self.part.stop()  # lets go of what it held
                self.start()
            except DatabaseProblem as problem:
                self._has_ended(str(problem), now)
            else:
                log.info("started-again", part=self.name)

    def _has_ended(self, how: str, now: float) -> None:
        instant = now - self._started_at < INSTANT_SECONDS
        self._instant_ends = self._instant_ends + 1 if instant else 0
        if self._instant_ends >= INSTANT_ENDS:
            raise GaveUp(
                f"{self.name} ended {INSTANT_ENDS} times within {INSTANT_SECONDS:.0f} seconds of "
                f"its start, the last time with {how}. Its own lines above say why."
            )
        delay = min(FIRST_DELAY_SECONDS * 2**self._instant_ends, LONGEST_DELAY_SECONDS)
        log.warning("ended", part=self.name, how=how, again_in_seconds=delay)
        self._start_at = now + delay


class Supervisor:
    """Starts the parts, keeps them up until it is told to stop, and stops them in reverse."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stop = threading.Event()
        self._stages: list[list[Watched]] = []
        self._counters: tempfile.TemporaryDirectory[str] | None = None
        self._handover: Sequence[socket.socket] = ()

    def run(self) -> None:
        """Run until SIGTERM or SIGINT.

        Raises GaveUp, DatabaseProblem, UnusableDatabase, StaleGenerationError, and OSError when
        the port is taken.
        """
        with listening(self._settings) as listener, self._signals():
            try:
                self._start(listener)
                announced = False
                while not self._stop.wait(LOOK_SECONDS):
                    for watched in (part for stage in self._stages for part in stage):
                        watched.look()
                    if not announced and answers(listener):
                        announce(self._settings, listener, self._stages[0][0].part)
                        announced = True
            finally:
                self._drain()

    def _start(self, listener: socket.socket) -> None:
        configured = database.operators(self._settings)
        if configured is None:
            home = home_in(self._settings.data_dir)
            if not home.is_relative_to(self._settings.data_dir.resolve()):
                print(f"The database is in {home}: {elsewhere_reason(self._settings)}", flush=True)
            server = database.server_of(self._settings)
            self._begin([Watched("postgresql", server)])
            configured = database.embedded(server)
        migrate(configured.owner)
        rebuild.make_ready(configured.application)
        self._begin([*self._apis(listener, configured)])
        self._begin([self._projector(configured)])
        self._begin([self._worker(configured)])

    def _begin(self, stage: list[Watched]) -> None:
        started: list[Watched] = []
        self._stages.append(started)
        for watched in stage:
            watched.start()
            started.append(watched)

    def _apis(self, listener: socket.socket, where: database.Database) -> Iterator[Watched]:
        """Make the processes of the API, and those that are handed what is asked there."""
        given = [listener.fileno()]
        questions = self._settings.question_processes
        if questions:
            # Both ends stay open here: what is handed over while a process is restarted waits.
            self._handover = handover.pair()
            given.append(self._handover[0].fileno())
            taken = self._handover[1].fileno()
            for number in range(1, questions + 1):
                yield self._api(f"questions-{number}", "ops.questions", [taken], where)
        for number in range(1, self._settings.api_processes + 1):
            yield self._api(f"api-{number}", "ops.server", given, where)

    def _api(
        self, name: str, module: str, descriptors: Sequence[int], where: database.Database
    ) -> Watched:
        told = environment(self._settings, where.application, f"{name}@{socket.gethostname()}")
        process = Process(
            ["-m", module, *map(str, descriptors)],
            told | self._counting_together(),
            patience_seconds=self._settings.shutdown_seconds + 5,
            descriptors=descriptors,
        )
        return Watched(name, process)

    def _counting_together(self) -> dict[str, str]:
        """Let several processes of the API share their counters: a scrape meets any of them."""
        if self._settings.api_processes + self._settings.question_processes == 1:
            return {}
        if self._counters is None:
            self._counters = tempfile.TemporaryDirectory(prefix="cardroom-metrics-")
        return {"PROMETHEUS_MULTIPROC_DIR": self._counters.name}

    def _projector(self, where: database.Database) -> Watched:
        process = Process(
            ["-m", "ops.projector"],
            environment(self._settings, where.application, "projector"),
            patience_seconds=self._settings.shutdown_seconds,
        )
        return Watched("projector", process)

    def _worker(self, where: database.Database) -> Watched:
        process = Process(
            ["-m", "ops.worker"],
            environment(self._settings, where.application, "worker"),
            patience_seconds=self._settings.shutdown_seconds,
        )
        return Watched("worker", process)

    def _drain(self) -> None:
        """Stop the parts in reverse; those of one stage end at the same time."""
        while self._stages:
            stage = self._stages.pop()
            for watched in stage:
                if isinstance(watched.part, Process):
                    watched.part.ask()
            for watched in stage:
                watched.part.stop()
                log.info("stopped", part=watched.name)
        if self._counters is not None:
            self._counters.cleanup()
            self._counters = None
        for end in self._handover:
            end.close()
        self._handover = ()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Turn SIGTERM and SIGINT into the wish to stop."""

        def wish(number: int, frame: FrameType | None) -> None:
            self._stop.set()

        before = {number: signal.signal(number, wish) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def listening(settings: Settings) -> Iterator[socket.socket]:
    """Bind the API's address; connections wait in its queue until a process takes them."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server(
            (settings.host, settings.port), family=family, backlog=BACKLOG
        )
    except OSError as error:
        raise OSError(
            error.errno, f"{settings.host}:{settings.port} cannot be listened on: {error.strerror}"
        ) from None
    with listener:
        yield listener


def address(listener: socket.socket) -> tuple[str, int]:
    """Return where a client on this machine reaches the API."""
    host, port = listener.getsockname()[:2]
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port  # noqa: S104


def answers(listener: socket.socket) -> bool:
    """Tell whether the API answers."""
    host, port = address(listener)
    connection = http.client.HTTPConnection(host, port, timeout=1)
    try:
        connection.request("GET", "/livez")
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()


def announce(settings: Settings, listener: socket.socket, first: Part) -> None:
    """Print where everything is and, for the embedded default, a token per role."""
    host, port = address(listener)
    base = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    lines = [f"API        {base}/v1", f"OpenAPI    {base}/docs"]
    if isinstance(first, EmbeddedPostgres):
        lines.append(f"PostgreSQL 127.0.0.1:{first.port}, passwords in {first.home}/passwords.json")
        for role in roles():
            # A partner's token names the partner: there is none that fits everybody.
            if role != "partner" and own_issuer(settings):
                lines.append(f"token for {role}: {token(settings, role)}")
    if own_issuer(settings):
        lines.append("more tokens: cardroom token ROLE, cardroom token partner --partner NAME")
    lines.append(f"process    {os.getpid()}; stop with Ctrl-C")
    print("\n".join(lines), file=sys.stderr, flush=True)


def elsewhere_reason(settings: Settings) -> str:
    """Say why the embedded database is not in the data folder."""
    return (
        f"PostgreSQL does not run as root, and other users may not enter "
        f"{settings.data_dir.resolve()}."
    )
