"""``cardroom check``: prove the books, or say what does not hold and where."""

import gc
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ops import database
from ops import settings as configuration
from projections.check.books import check
from projections.check.report import Report
from projections.generations import StaleGenerationError

SHOWN: Final = 20
"""Findings of one kind that are printed; --json has more."""


def check_books(
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Prove the books from the first event on; exit status 1 when something does not hold."""
    # Millions of small objects come and go, none of them in a cycle.
    gc.set_threshold(100_000, 50, 50)
    with database.database(configuration.load()) as found:
        try:
            report = _checked(found.application, quiet=as_json)
        except StaleGenerationError as error:
            print(f"cardroom: {error}")
            raise typer.Exit(2) from error
    if as_json:
        print(msgspec.json.encode(report).decode())
    else:
        print(summary(report))
    if not report.clean:
        raise typer.Exit(1)


def _checked(dsn: str, *, quiet: bool) -> Report:
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        return check(dsn)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("checking")
        return check(
            dsn, lambda at: progress.update(task, description=f"checked up to position {at:,}")
        )


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
    for code, count in report.counts.items():
        lines.append(f"\n{code}: {count:,}")
        shown = [problem for problem in report.problems if problem.code == code][:SHOWN]
        lines += [f"  {problem.where}: {problem.message}" for problem in shown]
        if count > len(shown):
            lines.append(f"  and {count - len(shown):,} more")
    total = sum(report.counts.values())
    lines.append("OK: everything holds" if report.clean else f"\nFAILED: {total:,} findings")
    return "\n".join(lines)
