"""The processes of a running installation, and how they are killed."""

import contextlib
import os
import signal
import time
from collections import Counter

import psutil

from ops.serving import Serving
from ops.supervisor import INSTANT_ENDS, INSTANT_SECONDS

API, PROJECTOR, POSTGRESQL = "ops.server", "ops.projector", "-D"
"""Words of their command lines, by which the supervisor's children are told apart."""

GONE_SECONDS = 60.0
START_SECONDS = 60.0


class Killer:
    """Kills parts of one installation at once, without a chance to finish anything.

    What ends too often soon after its start is given up by the supervisor, as it should be. So a
    part that has been killed young some times in a row is left to live that long once. Its age is
    counted from when it was first seen: by the clock that a machine was started with, processes
    may be some tenths of a second older than they are.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._young: Counter[str] = Counter()
        self._seen: dict[int, float] = {}

    def processes(self, word: str) -> list[psutil.Process]:
        """Return the running processes of a part, the oldest first."""
        found = []
        for child in psutil.Process(self._serving.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):
                if word in child.cmdline() and child.status() != psutil.STATUS_ZOMBIE:
                    found.append(child)
                    self._seen.setdefault(child.pid, time.monotonic())
        return sorted(found, key=lambda process: float(process.create_time()))

    def wait_for(self, word: str, count: int = 1) -> list[psutil.Process]:
        """Wait until so many processes of a part run."""
        end = time.monotonic() + START_SECONDS
        while len(found := self.processes(word)) < count:
            assert time.monotonic() < end, f"{word} is not started again"
            time.sleep(0.05)
        return found

    def kill(self, process: psutil.Process) -> None:
        """Kill a process of a part."""
        name = process.environ().get("CARDROOM_WRITER_NAME", "postgresql")
        age = time.monotonic() - self._seen[process.pid]
        if age < INSTANT_SECONDS and self._young[name] >= INSTANT_ENDS - 2:
            time.sleep(INSTANT_SECONDS - age)
            age = INSTANT_SECONDS
        self._young[name] = self._young[name] + 1 if age < INSTANT_SECONDS else 0
        process.send_signal(signal.SIGKILL)
        gone([process])
        del self._seen[process.pid]

    def kill_backends(self) -> int:
        """Kill all processes of PostgreSQL but its first; return how many."""
        [server] = self.processes(POSTGRESQL)
        killed = 0
        for backend in server.children():
            with contextlib.suppress(psutil.NoSuchProcess):
                backend.send_signal(signal.SIGKILL)
                killed += 1
        return killed

    def everything(self) -> list[psutil.Process]:
        """Return the supervisor and everything below it."""
        supervisor = psutil.Process(self._serving.pid)
        return [supervisor, *supervisor.children(recursive=True)]

    def end(self, number: signal.Signals) -> list[psutil.Process]:
        """Send the supervisor a signal and wait until nothing of the installation runs."""
        running = self.everything()
        os.kill(self._serving.pid, number)
        gone(running)
        return running


def gone(processes: list[psutil.Process]) -> None:
    """Wait until processes have ended, by whomever they are buried."""
    end = time.monotonic() + GONE_SECONDS
    while still := [process for process in processes if _runs(process)]:
        assert time.monotonic() < end, f"still running: {still}"
        time.sleep(0.02)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
