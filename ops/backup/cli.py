"""``cardroom backup`` and ``cardroom restore``."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ops import database
from ops import settings as configuration
from ops.backup import restore as restoring
from ops.backup import take as taking
from ops.backup.restore import Restored, Target
from ops.backup.take import Taken, Tell, megabytes
from ops.check import summary


def backup(
    folder: Annotated[Path, typer.Argument(help="Folder of backups; each gets one of its own.")],
    keep: Annotated[
        int | None, typer.Option(min=1, help="Remove all but so many, and the log before them.")
    ] = None,
    without_keys: Annotated[
        bool, typer.Option("--without-keys", help="Leave out the keys, which you keep apart.")
    ] = False,
) -> None:
    """Take a backup of the running installation; from the first on its log is archived.

    Exit status 1 without a whole backup, and when the log does not reach the archive.
    """
    database.require_installed(configuration.stated())
    with _progress("backing up") as tell:
        taken = taking.take(
            configuration.load(), folder, keep=keep, with_keys=not without_keys, tell=tell
        )
    print(*_lines(taken), sep="\n")
    if taken.unarchived is not None:
        print(taken.unarchived)
        raise typer.Exit(1)


def _lines(taken: Taken) -> Iterator[str]:
    made = taken.manifest
    verified = "" if made.verified else " (pg_verifybackup is not there: not read again)"
    yield f"{taken.path}: {megabytes(made.size_bytes)}, whole{verified}"
    yield f"position {made.begun.position}, digest {made.begun.digest or 'none'}"
    kept = ", ".join(made.keys_included) or "none; keep them, no player is recognised without them"
    yield f"keys in it: {kept}"
    if made.wal_archive is not None:
        yield f"the log from here on: {made.wal_archive}"
    for name in taken.removed_backups:
        yield f"removed: {name}"
    if taken.removed_backups and taken.removed_segments:
        yield f"removed: {taken.removed_segments} files of the log, which no backup needs"
    yield from taken.notes


def restore(
    backup: Annotated[
        Path, typer.Argument(help="A backup, or a folder of them: the newest that will do.")
    ],
    *,
    into: Annotated[Path, typer.Option(help="A new data folder.")],
    to_position: Annotated[
        int | None, typer.Option(min=1, help="The last commit up to this position.")
    ] = None,
    to_time: Annotated[
        str | None,
        typer.Option(help="The last commit recorded by this instant: 2026-05-01T20:15:00Z."),
    ] = None,
    wal: Annotated[
        list[Path] | None,
        typer.Option(help="Folder with the log, looked in before the archive; may be repeated."),
    ] = None,
    keys: Annotated[
        Path | None, typer.Option(help="Folder with the keys that are not in the backup.")
    ] = None,
) -> None:
    """Restore the books into a new data folder, to the end of the log or to a commit; check them.

    Exit status 1 when it cannot be done, and when what was restored does not pass the check.
    """
    if to_position is not None and to_time is not None:
        raise typer.BadParameter("one of --to-position and --to-time")
    target = Target(to_position, None if to_time is None else _instant(to_time))
    with _progress("restoring") as tell:
        done = restoring.restore(
            backup,
            into,
            target,
            wal=wal or (),
            keys=keys,
            settings=configuration.stated(),
            tell=tell,
        )
    print(*_outcome(done, into), sep="\n")
    if not done.ready:
        raise typer.Exit(1)


def _instant(text: str) -> datetime:
    """Read an instant; without its offset from UTC it would be several."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--to-time") from None
    if instant.tzinfo is None:
        raise typer.BadParameter("needs Z or an offset", param_hint="--to-time")
    return instant


def _outcome(done: Restored, into: Path) -> Iterator[str]:
    yield from done.notes
    yield f"Restored to {done.place}"
    yield f"digest {done.place.digest or 'none: the journal is empty'}"
    if done.report is not None:
        yield summary(done.report)
    if done.ready:
        yield f"Ready: CARDROOM_DATA_DIR={into} cardroom serve"
        yield "Take a backup of it: its log is archived from its first one on."
    else:
        yield (
            f"Not ready. It is kept to be looked at; 'cardroom serve' uses it when {done.marker} "
            "is removed."
        )


@contextmanager
def _progress(what: str) -> Iterator[Tell]:
    """Show on a terminal what is being done."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task(what)
        yield lambda said: progress.update(task, description=said)
