"""What the check says of rulebook versions, the days that they judged, and time zones."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from projections.check import rulebooks
from projections.check.books import check
from tests.projections.conftest import project
from tests.projections.queries.test_protests import adopted
from tests.projections.story import Room, write


@pytest.fixture
def judged(dsn: str) -> str:
    """Give a book of a day that was judged by a version that was adopted."""
    write(dsn, [adopted(), *Room().day()])
    project(dsn)
    return dsn


def found(dsn: str) -> dict[str, list[str]]:
    codes: dict[str, list[str]] = {}
    for problem in check(dsn).problems:
        codes.setdefault(problem.code, []).append(problem.where)
    return codes


def test_windows_close_in_the_database_as_they_do_in_the_ledger(
    judged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "time-zone-differs" not in found(judged)
    closes_at: Any = rulebooks.closes_at
    monkeypatch.setattr(rulebooks, "closes_at", lambda *case: closes_at(*case) + timedelta(hours=1))
    places = found(judged)["time-zone-differs"]
    assert places[0] == "Europe/Malta, 30 days after 2024-02-29"
    assert len(places) == 4


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ("UPDATE book_1.rulebook_versions SET window_days = 31 WHERE name = 'entraction'",
         "rulebook_versions harbour entraction@2008-01-01"),
        ("DELETE FROM book_1.rulebook_versions WHERE name = 'empire'",
         "rulebook_versions harbour empire@2000-01-01"),
        ("UPDATE book_1.rulebook_days SET occurred_day = '2024-02-28'"
         " WHERE occurred_day = '2024-02-29'",
         "rulebook_days harbour entraction@2013-01-01 2024-02-28"),
        ("UPDATE book_1.rulebook_days SET first_position = 1 WHERE occurred_day = '2024-03-01'",
         "rulebook_days harbour entraction@2013-01-01 2024-03-01"),
    ],
)  # fmt: skip
def test_a_changed_row_is_found(judged: str, change: str, where: str) -> None:
    assert "rulebook-differs" not in found(judged)
    with psycopg.connect(judged) as connection:
        assert connection.execute(change.encode()).rowcount > 0
    assert found(judged)["rulebook-differs"][0] == where
