"""What is sent and not waited for: it is done all the same, and how it ended is told later."""

from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from projections import unawaited


@pytest.fixture
def connection(dsn: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TEMPORARY TABLE kept (words text, at timestamptz)")
        yield connection


def test_what_was_sent_is_done_and_the_connection_goes_on(
    connection: psycopg.Connection[tuple[object, ...]],
) -> None:
    at = datetime(2013, 5, 1, 12, 30, tzinfo=UTC)
    words = "it's 100 % \\'; DROP TABLE kept; --"
    unawaited.send(connection, "INSERT INTO kept VALUES (%s, %s)", [words, at])
    unawaited.settle(connection)
    assert connection.execute("SELECT * FROM kept").fetchall() == [(words, at)]
    assert connection.info.transaction_status is TransactionStatus.IDLE


def test_it_is_waited_for_when_it_takes_long(
    connection: psycopg.Connection[tuple[object, ...]],
) -> None:
    unawaited.send(connection, "SELECT pg_sleep(%s)", [0.2])
    assert connection.info.transaction_status is TransactionStatus.ACTIVE
    unawaited.settle(connection)
    assert connection.info.transaction_status is TransactionStatus.IDLE


def test_nothing_was_sent(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    unawaited.settle(connection)
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_why_it_failed_is_told(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    unawaited.send(connection, "SELECT 1 / %s", [0])
    with pytest.raises(psycopg.errors.DivisionByZero):
        unawaited.settle(connection)
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_server_that_ended_meanwhile_is_told(
    dsn: str, connection: psycopg.Connection[tuple[object, ...]]
) -> None:
    unawaited.send(connection, "SELECT pg_sleep(%s)", [60])
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        unawaited.settle(connection)
