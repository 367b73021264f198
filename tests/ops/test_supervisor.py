"""The supervisor: what ends is started again, what cannot stay up ends the whole."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import ops
from ops import supervisor
from ops.settings import Settings
from ops.supervisor import GaveUp, Process, Watched, listening
from tests.ops.test_embedded import gone_within, runs

PROJECT = Path(ops.__file__).parent.parent


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Scripted:
    """A part that ends when it is told to."""

    def __init__(self) -> None:
        self.starts = 0
        self.status: int | None = None

    def start(self) -> None:
        self.starts += 1
        self.status = None

    def poll(self) -> int | None:
        return self.status

    def stop(self) -> None:
        self.status = 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(supervisor, "time", clock)
    return clock


def test_what_ends_is_started_again_later_each_time(clock: Clock) -> None:
    part = Scripted()
    watched = Watched("api-1", part)
    watched.start()
    for number, delay in ((1, 0.4), (2, 0.8), (3, 1.6)):
        part.status = 1
        watched.look()
        clock.now += delay - 0.01
        watched.look()
        assert part.starts == number
        clock.now += 0.02
        watched.look()
        assert part.starts == number + 1


def test_what_ends_at_once_five_times_is_given_up_by_name(clock: Clock) -> None:
    part = Scripted()
    watched = Watched("api-1", part)
    watched.start()

    def end_again_and_again() -> None:
        for _ in range(100):
            part.status = 3
            watched.look()
            clock.now += 1.0

    with pytest.raises(GaveUp, match=r"api-1 ended 5 times .* status 3"):
        end_again_and_again()
    assert part.starts == 5


def test_what_has_worked_for_a_while_is_never_given_up(clock: Clock) -> None:
    part = Scripted()
    watched = Watched("api-1", part)
    watched.start()
    for _ in range(20):
        clock.now += supervisor.INSTANT_SECONDS + 1
        part.status = -signal.SIGKILL
        watched.look()
        clock.now += supervisor.LONGEST_DELAY_SECONDS
        watched.look()
    assert part.starts == 21


def test_a_process_that_does_not_end_when_asked_is_killed() -> None:
    process = Process(
        [
            "-c",
            "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
            "print(flush=True); time.sleep(60)",
        ],
        dict(os.environ),
        patience_seconds=0.3,
    )
    process.start()
    time.sleep(0.5)
    began = time.monotonic()
    process.stop()
    assert time.monotonic() - began < 10


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_processes_end_when_the_supervisor_is_killed() -> None:
    script = (
        "import os, time\n"
        "from ops.supervisor import Process\n"
        "process = Process(['-c', 'import time; time.sleep(60)'], os.environ, patience_seconds=1)\n"
        "process.start()\n"
        "print(process._process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(0.3)
    assert runs(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone_within(child, 5)


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with (
            pytest.raises(OSError, match=f"127.0.0.1:{port} cannot be listened on"),
            listening(Settings(port=port)),
        ):
            pass


class Served:
    """A ``cardroom serve`` of its own, with what it printed."""

    def __init__(self, folder: Path, **settings: str) -> None:
        told = {f"CARDROOM_{name.upper()}": value for name, value in settings.items()}
        kept = {name: text for name, text in os.environ.items() if "CARDROOM" not in name}
        self.lines = folder / "lines.json"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ops", "serve"],
            cwd=PROJECT,
            env={**kept, "CARDROOM_DATA_DIR": str(folder), "CARDROOM_PORT": "0", **told},
            stdout=self.lines.open("w"),
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if line.startswith("process"):
                break
        found = re.search(r"http://\S+:\d+", "".join(self.said))
        assert found is not None, f"{self.said}\n{self.lines.read_text()[-3000:]}"
        self.base = found[0]

    def get(self, path: str) -> int:
        try:
            with urllib.request.urlopen(self.base + path, timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def comes_back(self, path: str, seconds: float = 30) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.get(path) == 200:
                    return True
            except OSError:
                pass
            time.sleep(0.1)
        return False

    def children(self, part: str) -> list[int]:
        """Return the processes below the supervisor whose command line has a word."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [
            int(pid)
            for pid in listed.split()
            if part in Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            or Path(f"/proc/{pid}/cmdline").read_text().startswith(part)
        ]

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return status


@pytest.fixture
def served(home: Path) -> Iterator[Served]:
    home.mkdir()
    running = Served(home, api_processes="2")
    yield running
    if running.process.poll() is None:
        running.end()


def counted(served: Served, times: int) -> float:
    """Ask for what is not there over connections of their own; return how often it was counted."""
    for _ in range(times):
        assert served.get("/v1/nothing-here") == 404
    with urllib.request.urlopen(served.base + "/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    return sum(
        float(line.rpartition(" ")[2])
        for line in lines
        if line.startswith("cardroom_requests_total") and 'status="404"' in line
    )


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_served_installation_repairs_itself_and_drains(served: Served) -> None:
    assert served.get("/livez") == 200
    assert any(line.startswith("token for auditor: ") for line in served.said)
    assert served.comes_back("/readyz")

    assert counted(served, 12) >= 12, "a scrape shows what all processes answered"
    first, second = served.children("ops.server")
    os.kill(first, signal.SIGKILL)
    os.kill(second, signal.SIGKILL)
    assert served.comes_back("/readyz")
    (projector,) = served.children("ops.projector")
    (worker,) = served.children("ops.worker")
    os.kill(projector, signal.SIGKILL)
    os.kill(worker, signal.SIGKILL)
    (database,) = [pid for pid in served.children("-D") if pid]
    os.kill(database, signal.SIGKILL)
    assert gone_within(database, 5)
    assert served.comes_back("/readyz")

    parts = ("ops.server", "ops.projector", "ops.worker", "-D")
    children = [pid for part in parts for pid in served.children(part)]
    assert len(children) == 5
    assert served.end() == 0
    assert not any(runs(pid) for pid in children)
