"""What is read off the running installation: processor time, memory, sizes, positions."""

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg

from ledger import compiled
from ops.serving import Serving

PARTS: Final = ("api", "database", "projector", "database for the projector")
FSYNCS: Final = 300
PAGE: Final = b"\0" * 8192


def machine() -> str:
    """Say what is measured on: cores, interpreter, whether the busiest modules are compiled."""
    flavour = "compiled" if compiled.in_use() else "not compiled"
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {flavour}"


class Room:
    """The processes of a running installation, and a connection of our own to its database."""

    def __init__(self, serving: Serving, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        supervisor = psutil.Process(serving.pid)
        self.supervisor = supervisor
        children = supervisor.children()
        self.api = [one for one in children if "ops.server" in one.cmdline()]
        self.questions = [one for one in children if "ops.questions" in one.cmdline()]
        [self.projector] = [one for one in children if "ops.projector" in one.cmdline()]
        [self.postgres] = [one for one in children if one.name().startswith("postgres")]

    # -- time ------------------------------------------------------------------------------------

    def cpu_seconds(self) -> dict[str, float]:
        """Return the processor time that each part has used so far."""
        projecting = self._projecting()
        database = self.postgres.cpu_times()
        used = {
            "api": sum(_cpu(process) for process in self.api),
            "projector": _cpu(self.projector),
            # What ended backends used is in the server's own account.
            "database": _cpu(self.postgres) + database.children_user + database.children_system,
            "database for the projector": 0.0,
        }
        for backend in self.postgres.children():
            with suppress(psutil.NoSuchProcess):
                part = "database for the projector" if backend.pid in projecting else "database"
                used[part] += _cpu(backend)
        return used

    def _projecting(self) -> set[int]:
        rows = self.connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'cardroom projector'"
        )
        return {pid for (pid,) in rows}

    @contextmanager
    def projector_paused(self) -> Iterator[None]:
        """Hold the projector still, so that what is measured is the booking alone."""
        self.wait_for_projections()
        self.projector.suspend()
        try:
            yield
        finally:
            self.projector.resume()

    # -- positions -------------------------------------------------------------------------------

    def position(self) -> int:
        """Return the last position of the journal."""
        return self._number("SELECT coalesce(max(last_position), 0) FROM journal.commits")

    def wait_for_events(self, events: int, seconds: float = 120) -> None:
        """Wait until so many more are in the journal."""
        target, end = self.position() + events, time.monotonic() + seconds
        while self.position() < target:
            if time.monotonic() > end:
                raise TimeoutError("nothing is posted")
            time.sleep(0.02)

    def wait_for_projections(self, seconds: float = 1800) -> float:
        """Wait until the projections include everything; return when that was."""
        target, end = self.position(), time.monotonic() + seconds
        while self._projected() < target:
            if time.monotonic() > end:
                raise TimeoutError("the projections do not catch up")
            time.sleep(0.02)
        return time.monotonic()

    def _projected(self) -> int:
        return self._number(
            "SELECT coalesce(max(notification_id), 0) FROM journal.tracking"
            " WHERE application_name LIKE 'book%'"
        )

    # -- sizes -----------------------------------------------------------------------------------

    def sizes(self) -> dict[str, int]:
        """Return the bytes on disk of the journal, of the projections, and of the log written."""
        journal = self._size_of("journal")
        books = self._size_of("book_%")
        log = self._number("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
        return {"journal": journal, "projections": books, "write-ahead log": log}

    def _size_of(self, schema: str) -> int:
        return self._number(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.relkind IN ('r', 'm') AND n.nspname LIKE %s",
            schema,
        )

    def memory(self) -> dict[str, int]:
        """Return what processes hold alone, in bytes; backends of one purpose are added up."""
        named = [("supervisor", self.supervisor), ("projector", self.projector)]
        for name, processes in (("api", self.api), ("questions", self.questions)):
            named += [(f"{name}-{number}", one) for number, one in enumerate(processes, 1)]
        rows = self.connection.execute(
            "SELECT pid, coalesce(nullif(application_name, ''), backend_type)"
            " FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        ).fetchall()
        for pid, name in rows:
            with suppress(psutil.NoSuchProcess):
                named.append((f"postgres: {name}", psutil.Process(pid)))
        found: dict[str, int] = {}
        for name, process in named:
            with suppress(psutil.NoSuchProcess):
                found[name] = found.get(name, 0) + _own_bytes(process)
        return found

    def _number(self, query: str, *values: Any) -> int:
        row = self.connection.execute(query, values or None).fetchone()
        assert row is not None
        return int(row[0])


def _own_bytes(process: psutil.Process) -> int:
    """Count what is a process's own; pages that PostgreSQL's processes share belong to none."""
    if not hasattr(process, "memory_maps"):
        return int(process.memory_full_info().uss)
    # A shared page that only one of them has looked at yet would count as private to it.
    return sum(one.anonymous for one in process.memory_maps())


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def fsync_ms(folder: Path) -> tuple[float, float]:
    """Return median and 99th percentile of writing 8 kB and syncing it, in milliseconds."""
    path = folder / "fsync.probe"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    taken = []
    try:
        os.pwrite(descriptor, PAGE * FSYNCS, 0)
        os.fsync(descriptor)
        for number in range(FSYNCS):
            began = time.perf_counter()
            os.pwrite(descriptor, PAGE, number * len(PAGE))
            os.fdatasync(descriptor)
            taken.append(1000 * (time.perf_counter() - began))
    finally:
        os.close(descriptor)
        path.unlink()
    taken.sort()
    return taken[FSYNCS // 2], taken[FSYNCS * 99 // 100]
