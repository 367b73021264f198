"""What lets a change through, or shows another figure than the tables hold, is found."""

import psycopg
import pytest

from projections.check.books import check
from projections.check.guards import APPEND_ONLY
from tests.projections.check.test_books import found


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE journal.events DISABLE TRIGGER append_only_rows",
        "ALTER TABLE journal.events ENABLE TRIGGER append_only_rows",
        "ALTER TABLE journal.events ENABLE REPLICA TRIGGER append_only_rows",
        "DROP TRIGGER append_only_rows ON journal.events",
    ],
)
def test_a_table_that_takes_changes_is_found(books: str, books_owner: str, change: str) -> None:
    with psycopg.connect(books_owner) as connection:
        connection.execute(change.encode())
    report = check(books)
    assert found(report) == {"guard-missing": ["trigger append_only_rows"]}
    assert report.problems[0].table == "journal.events"


def test_every_append_only_table_of_the_database_is_looked_at(books: str) -> None:
    with psycopg.connect(books) as connection:
        guarded = {
            table
            for (table,) in connection.execute(
                "SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger"
                " WHERE tgname = 'append_only_rows'"
            )
        }
    assert guarded == set(APPEND_ONLY)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ("CREATE OR REPLACE VIEW book.days AS SELECT occurred_day, first_position,"
         " last_position + 1 AS last_position FROM book_1.days", "view days"),
        ("CREATE OR REPLACE FUNCTION book.position_at(recorded_until timestamptz) RETURNS bigint"
         " LANGUAGE sql STABLE AS 'SELECT 7::bigint'", "function position_at"),
        ("CREATE FUNCTION book.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'", "function mine"),
    ],
)  # fmt: skip
def test_a_view_or_function_that_says_something_else_is_found(
    books: str, change: str, where: str
) -> None:
    with psycopg.connect(books) as connection:
        connection.execute(change.encode())
    assert found(check(books)) == {"view-differs": [where]}


def test_looking_at_the_views_leaves_nothing_behind(books: str) -> None:
    assert check(books).clean
    with psycopg.connect(books) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_class WHERE relname LIKE 'cardroom\\_%'"
        ).fetchone()
    assert row == (0,)
