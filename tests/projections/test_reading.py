"""Reading: what a connection plans once, and what it plans for the values that are asked about."""

import time

import psycopg
import pytest
import sqlalchemy as sa

from projections import reading
from projections.as_of import AsOf
from projections.queries import entries, statements
from projections.queries.entries import Filters
from projections.queries.statements import Period, Subject
from projections.reading import Snapshot, planned_once
from tests.projections.story import NETWORK

READS = 12
"""More than psycopg takes to prepare a statement by itself, and PostgreSQL to try other plans."""


def prepared(at: Snapshot) -> dict[str, tuple[int, int]]:
    """Return the prepared statements of a connection: plans for all values, for certain ones."""
    found = at.connection.exec_driver_sql(
        "SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements"
    )
    return {statement: (generic, custom) for statement, generic, custom in found}


def test_a_statement_that_is_planned_once_stays_prepared_from_read_to_read(books: str) -> None:
    engine = reading.engine(books, pool_size=1)
    once, anew = planned_once("SELECT CAST(:n AS integer) + 1"), sa.text("SELECT :n + 2")
    for n in range(READS):
        with reading.snapshot(engine) as at:
            assert reading.tuples(at, once, {"n": n}) == [(n + 1,)]
            assert at.connection.execute(anew, {"n": n}).scalar() == n + 2
    with reading.snapshot(engine) as at:
        known = prepared(at)
    engine.dispose()
    [plans] = [plans for statement, plans in known.items() if statement.endswith("+ 1")]
    assert sum(plans) == READS
    assert plans[0] > 0
    assert not [statement for statement in known if statement.endswith("+ 2")]


def test_a_read_that_fails_leaves_a_connection_that_reads(books: str) -> None:
    engine = reading.engine(books, pool_size=1)
    with pytest.raises(psycopg.DataError), reading.snapshot(engine) as at:
        reading.tuples(at, planned_once("SELECT 1 / CAST(:n AS integer)"), {"n": 0})
    with reading.snapshot(engine) as at:
        assert at.position > 0
    engine.dispose()


def _others(books: str) -> list[tuple[int, str]]:
    """Return process and state of the readers' connections."""
    with psycopg.connect(books) as connection:
        return connection.execute(
            "SELECT pid, state FROM pg_stat_activity WHERE application_name = 'cardroom reader'"
            " AND datname = current_database()"
        ).fetchall()


def test_a_read_sees_one_state_and_writes_nothing(books: str) -> None:
    engine = reading.engine(books, pool_size=1)
    with reading.snapshot(engine) as at:
        shown = sa.text("SHOW transaction_isolation"), sa.text("SHOW transaction_read_only")
        assert [at.connection.execute(one).scalar() for one in shown] == ["repeatable read", "on"]
    engine.dispose()


def test_a_read_that_has_ended_holds_no_transaction_open(books: str) -> None:
    engine = reading.engine(books, pool_size=1)
    with reading.snapshot(engine) as at:
        assert at.position > 0
    patience = time.monotonic() + 10
    while [state for _, state in _others(books)] != ["idle"] and time.monotonic() < patience:
        time.sleep(0.01)
    assert [state for _, state in _others(books)] == ["idle"]
    engine.dispose()


def test_a_connection_that_ended_after_a_read_is_replaced(books: str) -> None:
    engine = reading.engine(books, pool_size=1)
    with reading.snapshot(engine) as at:
        position = at.position
    [(process, _)] = _others(books)
    with psycopg.connect(books, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", [process])
    with reading.snapshot(engine) as at:
        assert at.position == position
    [(another, _)] = _others(books)
    assert another != process
    engine.dispose()


def test_pages_of_named_accounts_are_planned_once(books: str) -> None:
    """A page that were planned anew each time would take twice as long."""
    engine = reading.engine(books, pool_size=1)
    for n in range(READS):
        with reading.snapshot(engine) as at:
            known = AsOf(at.position)
            subject = Subject(NETWORK, table_id="Table 1")
            statements.page(at, subject, Period(position_from=1 + n), known=known, limit=5)
            entries.page(at, Filters(table_id="Table 1"), limit=5)
    with reading.snapshot(engine) as at:
        pages = [sum(plans) for one, plans in prepared(at).items() if "looked_at" in one]
    engine.dispose()
    assert pages == [READS, READS]  # the oldest first, the newest first
