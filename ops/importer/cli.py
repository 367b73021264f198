"""``cardroom import``."""

import sys
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Annotated

import psycopg
import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from ledger import bounds
from ledger.identity import Identity
from ledger.journal import Journal
from ledger.rulebooks.loader import shipped
from ops import database, logging
from ops import settings as configuration
from ops.importer.report import Refusal
from ops.importer.run import Importer, Options

INTERRUPTED = 130
"""Exit status after Ctrl-C, as the shell has it."""


def import_hands(
    files: Annotated[
        list[Path],
        typer.Argument(exists=True, dir_okay=False, help="Open Hand History: JSON, JSON lines."),
    ],
    network: Annotated[
        str | None, typer.Option(help="Instead of one of their own, named after the site.")
    ] = None,
    rulebook: Annotated[
        str | None, typer.Option(help="Judges the hands; as-posted takes a site's rake as it is.")
    ] = None,
    on: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Day of the rulebook, not that of each hand."),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, max=2000, help="Hands in a transaction.")] = 500,
) -> None:
    """Book real hand histories, and the players, tables and chips that they imply.

    May be interrupted and run again: nothing is booked twice. What is refused is named by file
    and line, and the rest goes on; the exit status is then 1.
    """
    if network is not None:
        try:
            bounds.slug(network, "network")
        except bounds.InvalidField as error:
            raise typer.BadParameter(error.message, param_hint="--network") from None
    known = sorted({one.name for one in shipped()})
    if rulebook is not None and rulebook not in known:
        raise typer.BadParameter(f"one of {', '.join(known)}", param_hint="--rulebook")
    options = Options(network, rulebook, None if on is None else on.date(), batch)
    settings = configuration.load()
    logging.configure("import", "warning")
    with database.database(settings) as found:
        assert settings.identity_key is not None
        identity = Identity(bytes.fromhex(settings.identity_key.get_secret_value()))
        with (
            closing(Journal(found.application, writer="import")) as journal,
            # Closed and no more: Ctrl-C may have left a query on it.
            closing(psycopg.connect(found.application, autocommit=True)) as connection,
        ):
            console = Console(stderr=True, highlight=False)

            def tell(refusal: Refusal) -> None:
                console.print(str(refusal), markup=False, soft_wrap=True)

            importer = Importer(journal, connection, identity, options, tell)
            finished = _run(importer, files, console)
    print(*importer.report.lines(), sep="\n")
    if not finished:
        print("Interrupted: run the same command again to go on.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    if importer.report.refused:
        raise typer.Exit(1)


def _run(importer: Importer, files: Iterable[Path], console: Console) -> bool:
    """Import with a progress bar; False when Ctrl-C ended it."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[hands]} hands"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        try:
            for path in files:
                task = progress.add_task(path.name, total=path.stat().st_size, hands=0)
                before = importer.report.hands
                for done in importer.book(path):
                    hands = importer.report.hands - before
                    progress.update(task, completed=done, hands=hands)
        except KeyboardInterrupt:
            return False
    return True
