"""``cardroom sql``: questions to the views of schema ``book``, asked as the auditor's role."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Final

import psycopg
import typer

from ops import database
from ops import settings as configuration
from ops.embedded import AUDITOR, programs

SHOWN: Final = 1_000
"""Rows of one answer that are shown as a table; --csv gives any number."""


class NoAuditor(Exception):
    """Nobody is there to ask as; the message says how to make him."""


def ask(
    query: Annotated[
        str | None, typer.Argument(help="Not given: read from standard input, or psql is opened.")
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all rows as CSV.")] = False,
) -> None:
    """Ask the books in SQL, as the auditor's role: it reads views, events and commits, no names."""
    with auditor() as dsn:
        if query is None and sys.stdin.isatty():
            raise typer.Exit(_psql(dsn))
        asked = sys.stdin.read() if query is None else query
        try:
            with psycopg.connect(dsn, application_name="cardroom sql") as connection:
                connection.read_only = True
                if as_csv:
                    _copy(connection, asked)
                else:
                    _show(connection, asked)
        except psycopg.Error as error:
            print(f"cardroom: {str(error).strip()}", file=sys.stderr)
            raise typer.Exit(1) from None


@contextmanager
def auditor() -> Iterator[str]:
    """Give the auditor's connection string: the operator's, or that of the embedded database.

    Raises NoAuditor and NotInstalled.
    """
    settings = configuration.stated()
    if settings.auditor_database_url is not None:
        yield settings.auditor_database_url.get_secret_value()
        return
    if settings.database_url is not None:
        raise NoAuditor(
            "CARDROOM_AUDITOR_DATABASE_URL is not set; ops/runbooks/auditor.md says how to make"
            f" the role {AUDITOR}."
        )
    database.require_installed(settings)
    with database.running(settings) as server:
        try:
            dsn = server.dsn(AUDITOR)
        except KeyError:
            raise NoAuditor(
                f"The database that runs has no role {AUDITOR} yet: start it again with this"
                " version."
            ) from None
        yield dsn


def _psql(dsn: str) -> int:
    """Open psql, the system's or the one that comes with the embedded database."""
    program = shutil.which("psql") or str(programs() / "psql")
    return subprocess.run([program, dsn], check=False).returncode


def _copy(connection: psycopg.Connection[Any], query: str) -> None:
    copied = f"COPY ({query.strip().rstrip(';')}) TO STDOUT (FORMAT csv, HEADER)"
    with connection.cursor().copy(copied.encode()) as copy:
        for block in copy:
            sys.stdout.buffer.write(block)
    sys.stdout.buffer.flush()


def _show(connection: psycopg.Connection[Any], query: str) -> None:
    cursor = connection.execute(query.encode())
    while True:
        if cursor.description is not None:
            rows = cursor.fetchmany(SHOWN + 1)
            print(table([column.name for column in cursor.description], rows[:SHOWN]))
            if len(rows) > SHOWN:
                print(f"... the first {SHOWN:,} of {cursor.rowcount:,} rows; --csv prints all")
        if not cursor.nextset():
            return


def table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Lay rows out in columns, numbers to the right."""
    texts = [[_text(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *texts, strict=True)]
    numbers = [
        any(isinstance(row[place], int | float | Decimal) for row in rows)
        for place in range(len(names))
    ]
    lines = [
        _line(names, widths, numbers),
        "-+-".join("-" * width for width in widths),
        *(_line(row, widths, numbers) for row in texts),
    ]
    return "\n".join([*lines, f"({len(rows)} row{'' if len(rows) == 1 else 's'})"])


def _line(texts: Sequence[str], widths: Sequence[int], numbers: Sequence[bool]) -> str:
    cells = [
        text.rjust(width) if number else text.ljust(width)
        for text, width, number in zip(texts, widths, numbers, strict=True)
    ]
    return " | ".join(cells).rstrip()


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return str(value).replace("\n", " ")
