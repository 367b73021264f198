"""What a batch writes, sent as one statement: each by itself costs more than most of them do."""

from collections.abc import Iterable, Sequence
from typing import Any, LiteralString, NamedTuple

import psycopg
from psycopg import sql


class Write(NamedTuple):
    """A statement that writes rows, and its parameters; what is written has no other's rows."""

    statement: str
    parameters: Sequence[Any]


def statement(text: LiteralString, *names: str) -> str:
    """Fill the names of schemas and tables into a statement, once for all batches."""
    return sql.SQL(text).format(*map(sql.Identifier, names)).as_string(None)


def columns(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Turn rows into the columns that a statement unnests."""
    return [list(column) for column in zip(*rows, strict=True)]


def send(cursor: psycopg.Cursor[Any], writes: Sequence[Write]) -> None:
    """Run the statements, all in one: they see none of each other's rows."""
    if not writes:
        return
    *others, last = writes
    parts = [f"w{number} AS ({write.statement})" for number, write in enumerate(others)]
    whole = (f"WITH {', '.join(parts)} " if parts else "") + last.statement
    parameters = [parameter for write in writes for parameter in write.parameters]
    cursor.execute(whole.encode(), parameters)
