"""What the journal asks of its database, and two ways to ask it: blocking, or in an event loop.

The journal's work is written once, as steps: a generator that yields what it asks and is sent what
the database answers. In a server the steps are taken inside its event loop: while the database
works, the next requests are read, and no second thread competes for the interpreter.
"""

import asyncio
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

T = TypeVar("T")


class Connect(NamedTuple):
    """Be connected; answered with whether the connection is a new one."""


class Query(NamedTuple):
    """Run a statement; answered with its rows."""

    statement: str
    parameters: Sequence[Any] | dict[str, Any] = ()


class Script(NamedTuple):
    """Run several statements in one round trip; answered with the rows of each."""

    statements: str | sql.Composed


class CopyIn(NamedTuple):
    """Copy rows in, in PostgreSQL's binary format."""

    statement: str
    rows: bytes


class Call(NamedTuple):
    """Call what blocks; answered with what it returns."""

    function: Callable[[], Any]


class Pause(NamedTuple):
    """Let time pass; none at all gives others in the event loop their turn."""

    seconds: float = 0.0


class Disconnect(NamedTuple):
    """Close the connection, which is of no more use."""


Ask = Connect | Query | Script | CopyIn | Call | Pause | Disconnect
Steps = Generator[Ask, Any, T]

SETTINGS: Final = "SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '10s'"
_NAME: Final = "journal"


class Link:
    """A connection that blocks its thread."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: psycopg.Connection[Any] | None = None

    @classmethod
    def over(cls, connection: psycopg.Connection[Any]) -> "Link":
        """Use a connection of the caller's."""
        link = cls("")
        link._connection = connection
        return link

    def take(self, steps: Steps[T]) -> T:
        """Take all steps and return what they come to."""
        try:
            ask = next(steps)
            while True:
                try:
                    answer = self._answer(ask)
                except Exception as error:
                    ask = steps.throw(error)
                else:
                    ask = steps.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _answer(self, ask: Ask) -> Any:
        match ask:
            case Query():
                cursor = self._open().cursor(binary=True, row_factory=tuple_row)
                cursor.execute(ask.statement, ask.parameters)
                return cursor.fetchall() if cursor.description else None
            case Script():
                cursor = self._open().cursor(row_factory=tuple_row)
                cursor.execute(ask.statements, prepare=False)
                rows = [cursor.fetchall() if cursor.description else []]
                while cursor.nextset():
                    rows.append(cursor.fetchall() if cursor.description else [])
                return rows
            case CopyIn():
                with self._open().cursor().copy(ask.statement) as copy:
                    copy.write(ask.rows)
            case Call():
                return ask.function()
            case Pause():
                time.sleep(ask.seconds)
            case Connect():
                if self._connection is not None and not self._connection.closed:
                    return False
                self._connection = psycopg.connect(
                    self._dsn, autocommit=True, application_name=_NAME
                )
                self._connection.execute(SETTINGS)
                return True
            case Disconnect():
                self.close()
        return None

    def _open(self) -> psycopg.Connection[Any]:
        assert self._connection is not None
        return self._connection


class AsyncLink:
    """A connection in an event loop, to which it leaves the time in which the database works."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: psycopg.AsyncConnection[Any] | None = None

    async def take(self, steps: Steps[T]) -> T:
        """Take all steps and return what they come to."""
        try:
            ask = next(steps)
            while True:
                try:
                    answer = await self._answer(ask)
                except Exception as error:
                    ask = steps.throw(error)
                else:
                    ask = steps.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    async def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _answer(self, ask: Ask) -> Any:
        match ask:
            case Query():
                cursor = self._open().cursor(binary=True, row_factory=tuple_row)
                await cursor.execute(ask.statement, ask.parameters)
                return await cursor.fetchall() if cursor.description else None
            case Script():
                cursor = self._open().cursor(row_factory=tuple_row)
                await cursor.execute(ask.statements, prepare=False)
                rows = [await cursor.fetchall() if cursor.description else []]
                while cursor.nextset():
                    rows.append(await cursor.fetchall() if cursor.description else [])
                return rows
            case CopyIn():
                async with self._open().cursor().copy(ask.statement) as copy:
                    await copy.write(ask.rows)
            case Call():
                return await asyncio.to_thread(ask.function)
            case Pause():
                await asyncio.sleep(ask.seconds)
            case Connect():
                if self._connection is not None and not self._connection.closed:
                    return False
                self._connection = await psycopg.AsyncConnection.connect(
                    self._dsn, autocommit=True, application_name=_NAME
                )
                await self._connection.execute(SETTINGS)
                return True
            case Disconnect():
                await self.close()
        return None

    def _open(self) -> psycopg.AsyncConnection[Any]:
        assert self._connection is not None
        return self._connection
