"""``cardroom bench``: set up, preload, measure with one API process and with two, and report."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Annotated, Any, Final, NamedTuple

import psycopg
import typer
from psycopg import sql
from rich.console import Console

from ops.bench import limit, questions, restoring
from ops.bench.gauges import PARTS, Room, fsync_ms, machine
from ops.bench.house import TableSpec, furnish
from ops.bench.load import Driven, Driver, Job, drive
from ops.bench.report import Report
from ops.embedded import ADMIN, APPLICATION
from ops.serving import Serving, temporary_folder
from projections.rebuild import rebuild
from projections.schema import book_of

WIDTH: Final = 120
BATCH: Final = 500
LANES: Final = 4
"""Requests that are under way at once when batches are posted."""

CLIENTS: Final = 16
"""Requests that are under way at once when hands are posted one by one."""

WARM_UP: Final = 10
"""Hands of each table before anything is measured."""

HANDS_A_SECOND: Final = 10_000
"""How many of the measured hands start in the same second of the records."""

DAYS: Final = 40
"""Over how many days the hands on the books are spread: protest windows of some close soon."""

BESIDE: Final = 1_000
"""Hands a second that are posted while questions are asked and projections built anew."""

BESIDE_BATCH: Final = 50

LONGEST: Final = 86_400
"""Seconds for which hands are posted beside something else at most."""

MEMORY_LOOKS: Final = 5
FLAT: Final = 1.1
"""A process may hold so much more at the end than after the first part of a long run."""

SLACK_BYTES: Final = 8 << 20
"""... and so much more on top: what an allocator keeps at hand."""


class Sizes(NamedTuple):
    """How many hands each measurement takes."""

    preload: int
    batches: int
    singles: int
    memory: int
    limit: int
    limit_singles: int
    questions: int = 0


class Bench:
    """One run: the tables with their stacks, the next game number, and what was found out."""

    def __init__(self, folder: Path, sizes: Sizes, tables: int, console: Console) -> None:
        self.folder = folder
        self.sizes = sizes
        self.console = console
        self.report = Report(sizes.preload, tables, machine())
        self.next_game = 1
        self.tables: tuple[TableSpec, ...] = ()
        self.measured_from = 0

    # -- the course of a run ---------------------------------------------------------------------

    def run(self, tables: int, *, restore: bool) -> Report:
        """Do everything."""
        with self.serving(2) as (serving, room):
            self.furnish(serving, tables)
            with self.told(f"{self.sizes.preload:,} hands on the books"):
                self.preload(serving, room)
        with self.serving(1) as (serving, room):
            one = self.batches(serving, room, "1 API process")
            self.one_by_one(serving, room)
        with self.serving(2) as (serving, room):
            two = self.batches(serving, room, "2 API processes")
            shared = self.same_tables(serving, room)
            self.memory(serving, room)
            if self.sizes.questions:
                self.ask(serving, room)
                self.rebuild(serving, room)
            most, most_singles = self.limits(serving)
        self.judge(one, two, shared, most, most_singles)
        if restore:
            self.restore()
        return self.report

    @contextmanager
    def serving(self, api_processes: int) -> Iterator[tuple[Serving, Room]]:
        """Run the installation with so many API processes."""
        with (
            Serving(self.folder, api_processes=api_processes) as serving,
            psycopg.connect(serving.dsn(ADMIN), autocommit=True) as connection,
        ):
            yield serving, Room(serving, connection)

    @contextmanager
    def told(self, what: str) -> Iterator[None]:
        """Say what is being done, and how long it took."""
        began = time.monotonic()
        yield
        self.console.print(f"{what}: {time.monotonic() - began:.1f} s")

    def furnish(self, serving: Serving, tables: int) -> None:
        """Open the tables and seat everybody."""
        with self.told(f"{tables:,} tables, their players and their money"):
            self.tables = tuple(furnish(serving, tables))

    # -- measurements ----------------------------------------------------------------------------

    def preload(self, serving: Serving, room: Room) -> None:
        """Put hands on the books over HTTP, as any others, and see what they take up."""
        before, position = room.sizes(), room.position()
        if self.sizes.preload:
            seconds = DAYS * 86_400
            self.drive(
                serving,
                room,
                self.sizes.preload,
                prepared=False,
                opened=time.time() - seconds,
                pace=self.sizes.preload / seconds,
            )
        room.wait_for_projections()
        after, hands = room.sizes(), max(1, self.sizes.preload)
        for part, size in after.items():
            self.report.add(f"bytes per hand, {part}", (size - before[part]) / hands, "bytes")
        self.report.add("events per hand", (room.position() - position) / hands, "")

    def batches(self, serving: Serving, room: Room, label: str) -> tuple[float, float]:
        """Measure batches: acknowledged while nothing else runs, and until projected."""
        self.drive(serving, room, WARM_UP * len(self.tables))
        with self.told(f"batches of {BATCH}, {label}"):
            with room.projector_paused():
                alone = self.drive(serving, room, self.sizes.batches)
            room.wait_for_projections()
            used = room.cpu_seconds()
            self.measured_from = room.position()
            driven = self.drive(serving, room, self.sizes.batches)
            ended = room.wait_for_projections()
            self.cpu(used, room.cpu_seconds(), driven, label)
        whole = driven.hands / (ended - driven.began)
        report = self.report
        note = "the projector held still meanwhile"
        report.add(f"acknowledged, {label}", alone.rate, "hands/s", note)
        report.add(f"acknowledged beside the projector, {label}", driven.rate, "hands/s")
        report.add(f"end to end, {label}", whole, "hands/s", "until the projections had them")
        return alone.rate, whole

    def cpu(
        self, before: dict[str, float], after: dict[str, float], driven: Driven, label: str
    ) -> None:
        """Note the processor time per hand."""
        for part in PARTS:
            value = 1e6 * (after[part] - before[part]) / driven.hands
            self.report.add(f"processor time, {part}, {label}", value, "µs/hand")
        value = 1e6 * driven.cpu_seconds / driven.hands
        self.report.add(f"processor time, the load itself, {label}", value, "µs/hand")

    def one_by_one(self, serving: Serving, room: Room) -> None:
        """Measure hands posted one by one by several clients."""
        with self.told(f"one by one from {CLIENTS} clients"):
            room.wait_for_projections()
            used = room.cpu_seconds()
            driven = self.drive(serving, room, self.sizes.singles, batch=1, lanes=CLIENTS)
            room.wait_for_projections()
            self.cpu(used, room.cpu_seconds(), driven, "one by one")
        self.report.add(f"one by one from {CLIENTS} clients", driven.rate, "hands/s")
        self.report.add("one by one, p50", driven.latency_ms(0.5), "ms")
        self.report.add("one by one, p99", driven.latency_ms(0.99), "ms")
        self.singles = driven

    def same_tables(self, serving: Serving, room: Room) -> float:
        """Measure two API processes that take turns at the same tables."""
        with self.told("two API processes at the same tables"), room.projector_paused():
            driven = self.drive(serving, room, self.sizes.batches, alternate=True)
        self.report.add("acknowledged, 2 API processes at the same tables", driven.rate, "hands/s")
        return driven.rate

    def memory(self, serving: Serving, room: Room) -> None:
        """Watch every process's own memory over a long run."""
        part = self.sizes.memory // MEMORY_LOOKS
        seen: dict[str, dict[str, float]] = {}
        with self.told(f"memory over {self.sizes.memory:,} hands"):
            for number in range(1, MEMORY_LOOKS + 1):
                self.drive(serving, room, part)
                room.wait_for_projections()
                for name, held in room.memory().items():
                    seen.setdefault(name, {})[str(number * part)] = held / 1e6
        lasting = {name: mb for name, mb in seen.items() if len(mb) == MEMORY_LOOKS}
        self.report.memory = [{"process": name, "mb": mb} for name, mb in sorted(lasting.items())]
        growing = [name for name, mb in lasting.items() if not _flat(list(mb.values()))]
        self.report.ask("processes whose memory grows", len(growing), below=1)

    # -- questions -------------------------------------------------------------------------------

    def ask(self, serving: Serving, room: Room) -> None:
        """Time an auditor's questions, with nothing else going on and while hands are posted."""
        about = questions.subjects(room.connection, Random(1))  # noqa: S311
        port, token = serving.port, serving.token("auditor")
        times = self.sizes.questions
        with self.told(f"{times:,} questions of each kind"):
            quiet = questions.timed(port, token, about, times, seed=1)
        with self.told("the same while hands are posted"), self.posting(serving, room):
            beside = questions.timed(port, token, about, times, seed=2)
        self.report.add("entries on the books", self.entries(room), "")
        questions.tell(self.report, quiet, beside, BESIDE)

    def rebuild(self, serving: Serving, room: Room) -> None:
        """Build the projections anew, with nothing else going on and while hands are posted."""
        with self.told("the projections built anew"):
            quiet = self.rebuilt(serving, room)
        with self.told("the same while hands are posted"), self.posting(serving, room):
            beside = self.rebuilt(serving, room)
        self.report.add(f"rebuilt while {BESIDE:,} hands/s are posted", beside, "entries/s")
        self.report.ask("rebuilt", quiet, unit="entries/s", at_least=100_000)
        self.report.ask("rebuilt, quiet / busy", quiet / beside, below=2)

    def rebuilt(self, serving: Serving, room: Room) -> float:
        """Rebuild, compare and swap; return entries per second."""
        began = time.monotonic()
        rebuild(serving.dsn(APPLICATION))
        took = time.monotonic() - began
        return self.entries(room) / took

    def entries(self, room: Room) -> int:
        """Count the entries."""
        [generation] = room.connection.execute("SELECT generation FROM book.generation").fetchall()
        query = sql.SQL("SELECT count(*) FROM {}").format(
            sql.Identifier(book_of(*generation), "entries")
        )
        [(count,)] = room.connection.execute(query).fetchall()
        return int(count)

    @contextmanager
    def posting(self, serving: Serving, room: Room) -> Iterator[None]:
        """Post hands beside what is done, at a steady rate, for as long as it takes."""
        job = self.job(
            serving,
            room,
            BESIDE * LONGEST,
            batch=BESIDE_BATCH,
            rate=BESIDE,
            prepared=False,
        )
        with Driver(job) as driver:
            driver.go()
            yield
            driver.stop()
            self.take_over(job, driver.result())

    # -- restoring -------------------------------------------------------------------------------

    def restore(self) -> None:
        """Back up while hands are posted, and restore to the middle of them.

        It comes last: from the first backup on the log is archived, which takes time, and all of it
        is in the archive only when the installation has stopped.
        """
        with temporary_folder() as backups:
            with (
                self.told("a backup while hands are posted"),
                self.serving(2) as (serving, room),
                self.posting(serving, room),
            ):
                middle = restoring.back_up(serving, room, backups, self.report)
            with self.told("a restore to the middle of them, and its check"):
                restoring.restore_and_check(backups, middle, self.report)

    # -- the limit -------------------------------------------------------------------------------

    def limits(self, serving: Serving) -> tuple[limit.Limit, limit.Limit]:
        """Copy the same rows into a table with the same indexes, and time the disk."""
        dsn, first = serving.dsn(ADMIN), self.measured_from
        with self.told("the limit: COPY of the same rows"):
            many = limit.measure(dsn, first, self.sizes.limit, BATCH)
            single = limit.measure(dsn, first, self.sizes.limit_singles, 1)
        report = self.report
        report.add(f"limit, {BATCH} hands per commit", many.rate, "hands/s", "COPY alone")
        report.add("limit, one hand per commit", single.rate, "hands/s", "COPY alone")
        median, worst = fsync_ms(self.folder)
        report.add("the disk's fsync, p50", median, "ms", "8 kB written and synced")
        report.add("the disk's fsync, p99", worst, "ms")
        return many, single

    def judge(
        self,
        one: tuple[float, float],
        two: tuple[float, float],
        shared: float,
        most: limit.Limit,
        most_singles: limit.Limit,
    ) -> None:
        """Hold what was measured against the limit."""
        ask = self.report.ask
        ask("batches, 1 API process / limit", one[0] / most.rate, at_least=0.2)
        ask("batches, 2 API processes / limit", two[0] / most.rate, at_least=0.35)
        ask("end to end, 2 API processes / limit", two[1] / most.rate, at_least=0.25)
        ask("one by one / one hand per commit", self.singles.rate / most_singles.rate, at_least=2)
        ask("one by one, p99", self.singles.latency_ms(0.99), unit="ms", below=25)
        ask("same tables, 2 API processes / 1", shared / one[0], at_least=0.7)

    # -- posting ---------------------------------------------------------------------------------

    def drive(self, serving: Serving, room: Room, hands: int, **how: Any) -> Driven:
        """Post so many hands and take the tables over as they are then; ``how`` is of ``job``."""
        job = self.job(serving, room, hands, **how)
        driven = drive(job)
        self.take_over(job, driven)
        return driven

    def take_over(self, job: Job, driven: Driven) -> None:
        """Go on with the tables as a job left them, and with numbers that it cannot have used."""
        self.next_game += job.hands
        self.tables = driven.tables

    def job(
        self,
        serving: Serving,
        room: Room,
        hands: int,
        *,
        batch: int = BATCH,
        lanes: int = LANES,
        alternate: bool = False,
        prepared: bool = True,
        opened: float | None = None,
        pace: float = HANDS_A_SECOND,
        rate: float | None = None,
    ) -> Job:
        """Say what to post, on the tables as they are now."""
        return Job(
            port=serving.port,
            token=serving.token("game-server"),
            opened=time.time() if opened is None else opened,
            pace=pace,
            processes=tuple(process.pid for process in room.api),
            tables=self.tables,
            first_game=self.next_game,
            hands=hands,
            batch=batch,
            lanes=lanes,
            alternate=alternate,
            prepared=prepared,
            rate=rate,
        )


def _flat(values: Sequence[float]) -> bool:
    return values[-1] * 1e6 <= values[0] * 1e6 * FLAT + SLACK_BYTES


def bench(
    *,
    preload: Annotated[int, typer.Option(min=0, help="Hands on the books before.")] = 1_000_000,
    tables: Annotated[int, typer.Option(min=16, help="Tables of six.")] = 1_000,
    hands: Annotated[int, typer.Option(min=2_000, help="Hands of each measurement.")] = 100_000,
    singles: Annotated[int, typer.Option(min=100, help="Hands posted one by one.")] = 20_000,
    memory: Annotated[int, typer.Option(min=5_000, help="Hands of the run for memory.")] = 200_000,
    ask: Annotated[int, typer.Option(min=0, help="Questions of each kind; 0: none.")] = 1_000,
    restore: Annotated[
        bool, typer.Option("--restore", help="Restore to the middle of a load, and check it.")
    ] = False,
    json: Annotated[Path | None, typer.Option(help="Write all figures to this file.")] = None,
) -> None:
    """Measure how fast hands are booked, beside what the database alone can do."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    sizes = Sizes(preload, hands, singles, memory, min(hands, 50_000), min(hands, 5_000), ask)
    with temporary_folder() as folder:
        report = Bench(folder, sizes, tables, console).run(tables, restore=restore)
    report.show(console)
    if json is not None:
        report.write(json)
    sys.exit(0 if report.met else 1)
