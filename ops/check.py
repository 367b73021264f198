"""``cardroom check``: prove the books, or say what does not hold and where."""

import gc
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import msgspec
import psycopg
import typer
from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from ops import database
from projections import anchors
from projections.anchors import Anchor
from projections.check.books import Progress, check
from projections.check.report import Report
from projections.generations import StaleGenerationError

SHOWN: Final = 20
"""Findings of one kind that are printed; --json has more."""

TOLD_SECONDS: Final = 30.0
"""How often a check that nobody watches says how far it has come."""


def check_books(
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    against: Annotated[
        list[str],
        typer.Option(
            metavar="FILE|DIGEST@POSITION",
            help="An anchor that was noted outside the database, or a file that holds some: a log,"
            " what 'cardroom anchor' printed. May be given again.",
        ),
    ] = [],  # noqa: B006 (typer reads it, nobody changes it)
) -> None:
    """Prove the books from the first event on; exit status 1 when something does not hold."""
    noted = [anchor for given in against for anchor in noted_in(given)]
    with database.installed() as found:
        try:
            report, seconds = _checked(found.application, noted)
        except StaleGenerationError as error:
            print(f"cardroom: {error}")
            raise typer.Exit(2) from error
        _note(found.application, report, seconds)
    if as_json:
        print(msgspec.json.encode({**msgspec.structs.asdict(report), "seconds": seconds}).decode())
    else:
        print(summary(report))
    if not report.clean:
        raise typer.Exit(1)


def print_anchors() -> None:
    """Print the digests of now, to be kept outside and given to 'cardroom check --against'."""
    with (
        database.installed() as found,
        psycopg.connect(found.application) as connection,
    ):
        print(*anchors.newest(connection), sep="\n")


def noted_in(given: str) -> list[Anchor]:
    """Read the anchors that an option names: one itself, or those in a file."""
    found = list(anchors.parse(given))
    if found:
        return found
    try:
        found = list(anchors.parse(Path(given).read_text(errors="replace")))
    except OSError as error:
        raise typer.BadParameter(f"{given}: {error.strerror}") from None
    if not found:
        raise typer.BadParameter(f"{given} holds no DIGEST@POSITION")
    return found


def prove(dsn: str, tell: Progress, *, against: Iterable[Anchor] = ()) -> Report:
    """Check the books in a process that does nothing else; raises StaleGenerationError."""
    # Millions of small objects come and go, none of them in a cycle.
    gc.set_threshold(100_000, 50, 50)
    return check(dsn, tell, against=against)


def _checked(dsn: str, noted: list[Anchor]) -> tuple[Report, float]:
    started = time.monotonic()
    with _telling() as tell:
        report = prove(dsn, tell, against=noted)
    return report, time.monotonic() - started


@contextmanager
def _telling() -> Iterator[Progress]:
    """Show how far the check has come: at a terminal always, else from time to time."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("checking")
        pace = _Pace()
        yield lambda what, at: bar.update(task, description=pace.describe(what, at))


class _Pace:
    """How far, and how fast."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def describe(self, what: str, at: int) -> str:
        rate = at / max(time.monotonic() - self._started, 0.001)
        pace = f", {rate:,.0f} a second" if what == "events" else ""
        return f"checking {what}, at position {at:,}{pace}"


class _Lines:
    """Writes a line on standard error whenever long enough has gone by."""

    def __init__(self) -> None:
        self._pace = _Pace()
        self._told = time.monotonic()

    def __call__(self, what: str, at: int) -> None:
        if time.monotonic() - self._told >= TOLD_SECONDS:
            self._told = time.monotonic()
            print(self._pace.describe(what, at), file=sys.stderr, flush=True)


def _note(dsn: str, report: Report, seconds: float) -> None:
    """Write down that the books were checked; that it cannot be written makes no check fail."""
    try:
        with psycopg.connect(dsn) as connection:
            connection.execute(
                "INSERT INTO audit.checks"
                " (checked_at, position, digest, seals, findings, seconds)"
                " VALUES (clock_timestamp(), %s, %s, %s, %s, %s)",
                (report.position, report.digest, report.seals, report.total, seconds),
            )
    except psycopg.Error as error:
        print(f"cardroom: the check could not be noted: {error}", file=sys.stderr)


def summary(report: Report) -> str:
    """Write the report for people."""
    lines = [
        f"{report.events:,} events in {report.commits:,} commits, {report.hands:,} hands;"
        f" the journal ends at position {report.position:,}",
        f"digest {report.digest or 'none: the journal is empty'}",
        "no projections yet"
        if report.projected is None
        else f"{report.entries:,} entries; the projections are at position {report.projected:,}",
    ]
    if report.anchors:
        lines.append(f"compared with {report.anchors:,} digests that were noted outside")
    for code, count in report.counts.items():
        lines.append(f"\n{code}: {count:,}")
        shown = [problem for problem in report.problems if problem.code == code][:SHOWN]
        lines += [f"  {one.where}: {one.message} [{one.table}]" for one in shown]
        if count > len(shown):
            lines.append(f"  and {count - len(shown):,} more")
    lines.append("OK: everything holds" if report.clean else f"\nFAILED: {report.total:,} findings")
    return "\n".join(lines)
