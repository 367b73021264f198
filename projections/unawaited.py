"""Statements that are sent and not waited for; what came of them is read later.

Between the two the connection is used for nothing else.
"""

import select
from collections.abc import Sequence
from typing import Any, LiteralString

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus

Connection = psycopg.Connection[Any]


def send(connection: Connection, statement: LiteralString, values: Sequence[Any] = ()) -> None:
    """Send a statement; ``values`` are put in the place of its ``%s``."""
    text = psycopg.ClientCursor(connection).mogrify(statement, values) if values else statement
    connection.pgconn.send_query(text.encode())
    connection.pgconn.flush()


def settle(connection: Connection) -> None:
    """Wait for what came of the statement that was sent, if one was; raises when it failed."""
    sent_on = connection.pgconn
    if sent_on.transaction_status != TransactionStatus.ACTIVE:
        return
    while sent_on.is_busy():
        _wait(connection)
        sent_on.consume_input()
    failed = None
    while (result := sent_on.get_result()) is not None:
        if result.status == ExecStatus.FATAL_ERROR:
            failed = error_from_result(result)
    if sent_on.status == ConnStatus.BAD:
        raise psycopg.OperationalError("the connection was lost") from failed
    if failed is not None:
        raise failed


def _wait(connection: Connection) -> None:
    answer = select.poll()
    answer.register(connection.fileno(), select.POLLIN)
    answer.poll()
