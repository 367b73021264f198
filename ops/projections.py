"""``cardroom projections``: what an operator does with the projections."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import psycopg
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ops import database
from projections import generations
from projections import rebuild as rebuilding
from projections.rebuild import (
    EVERYTHING,
    Accepted,
    GenerationsDifferError,
    RebuildRunningError,
    SwapBlockedError,
)
from projections.schema import book_of

app = typer.Typer(help="The tables that answers are read from.", no_args_is_help=True)

AcceptDifferences = Annotated[
    bool, typer.Option(help="Even if any of the live tables is not what the events give.")
]


@app.callback()
def group() -> None:
    """The tables that answers are read from."""


@app.command()
def rebuild(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME]...",
            help="Damaged tables: they are replaced. A difference in any other stops it.",
        ),
    ] = [],  # noqa: B006 (typer reads it, nobody changes it)
    accept_differences: AcceptDifferences = False,
) -> None:
    """Build the projections anew beside the live ones, prove the two equal, and swap them.

    All tables are built, since all come from the same entries; NAME says which of them may differ.
    """
    accept: Accepted = EVERYTHING if accept_differences else names
    with database.installed() as found, _explained(), _showing() as bar:
        _refuse_unknown(found.application, names)
        rebuilt = rebuilding.rebuild(
            found.application,
            accept=accept,
            on_progress=lambda at: bar(f"built up to {at:,}"),
            on_wait=lambda readers: bar(f"waiting for {', '.join(readers)}"),
        )
    for difference in rebuilt.differences:
        print(f"replaced: {difference}")
    print(f"Generation {rebuilt.generation} is live, at position {rebuilt.position:,}.")
    print(f"Readers were held for {rebuilt.held_seconds:.2f} s at most.")


@app.command()
def prepare(accept_differences: AcceptDifferences = False) -> None:
    """Build this version's projections beside those of the version that serves.

    'cardroom serve' of this version then shows them at once.
    """
    accept: Accepted = EVERYTHING if accept_differences else ()
    with database.installed() as found, _explained(), _showing() as bar:
        prepared = rebuilding.prepare(
            found.application, accept=accept, on_progress=lambda at: bar(f"built up to {at:,}")
        )
    if prepared is None:
        print("Nothing to prepare: the live projections are this version's.")
        return
    for difference in prepared.differences:
        print(f"differs: {difference}")
    print(f"Generation {prepared.generation} is prepared, at position {prepared.position:,}.")


@app.command("list")
def list_generations() -> None:
    """List the generations that there are: which is live, how far it has come, whose it is."""
    with (
        database.installed() as found,
        psycopg.connect(found.application) as connection,
        connection.cursor() as cursor,
    ):
        live = generations.live(cursor)
        positions: dict[str, int] = dict(
            cursor.execute(
                "SELECT application_name, notification_id FROM journal.tracking"
            ).fetchall()
        )
        for number in generations.existing(cursor):
            state = "live" if number == live else "beside it"
            whose = "this" if generations.is_ours(cursor, number) else "another"
            at = positions.get(book_of(number), 0)
            print(f"{book_of(number)}  {state}, at position {at:,}, of {whose} version")


@contextmanager
def _explained() -> Iterator[None]:
    """Say in lines what keeps the projections as they are."""
    try:
        yield
    except (RebuildRunningError, SwapBlockedError) as error:
        print(f"cardroom: {error}")
        raise typer.Exit(1) from error
    except GenerationsDifferError as error:
        print("The live projections are not what the events give; they are left as they are:")
        print(*(f"  {difference}" for difference in error.differences), sep="\n")
        print("'cardroom check' names the rows. 'cardroom projections rebuild NAME' replaces those")
        print("of the tables that it is given, --accept-differences those of all.")
        raise typer.Exit(1) from error


@contextmanager
def _showing() -> Iterator[Callable[[str], None]]:
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task("building")
        yield lambda text: progress.update(task, description=text)


def _refuse_unknown(dsn: str, names: Sequence[str]) -> None:
    if not names:
        return
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        live = generations.live(cursor)
        known = [] if live is None else sorted(rebuilding.tables_of(cursor, book_of(live)))
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"{name} is none of the tables: {', '.join(known)}")
