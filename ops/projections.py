"""``cardroom projections``: what an operator does with the projections."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ops import database
from ops import settings as configuration
from projections import rebuild as rebuilding
from projections.rebuild import GenerationsDifferError, RebuildRunningError, Rebuilt

app = typer.Typer(help="The tables that answers are read from.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """The tables that answers are read from."""


@app.command()
def rebuild(
    accept_differences: Annotated[
        bool,
        typer.Option(help="Swap even if the live tables are not what the events give."),
    ] = False,
) -> None:
    """Build the projections anew beside the live ones, prove the two equal, and swap them."""
    with database.database(configuration.load()) as found:
        try:
            rebuilt = _rebuilt(found.application, accept_differences=accept_differences)
        except RebuildRunningError as error:
            print(f"cardroom: {error}")
            raise typer.Exit(1) from error
        except GenerationsDifferError as error:
            print("The live projections are not what the events give; they are left as they are:")
            print(*(f"  {difference}" for difference in error.differences), sep="\n")
            print("'cardroom check' names the rows; --accept-differences swaps all the same.")
            raise typer.Exit(1) from error
    for difference in rebuilt.differences:
        print(f"differed: {difference}")
    print(f"Generation {rebuilt.generation} is live, at position {rebuilt.position:,}.")


def _rebuilt(dsn: str, *, accept_differences: bool) -> Rebuilt:
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task("building")
        return rebuilding.rebuild(
            dsn,
            accept_differences=accept_differences,
            on_progress=lambda at: progress.update(task, description=f"built up to {at:,}"),
        )
