"""What stands between the rows and whoever reads or writes them: triggers, views, functions."""

from typing import Any, Final

import psycopg
from psycopg import sql

from projections import generations
from projections.check.report import Report
from projections.check.seals import SEALED
from projections.functions import FUNCTIONS
from projections.schema import book_of
from projections.views import PLACEHOLDERS, VIEWS

APPEND_ONLY: Final = (
    *("journal.events", "journal.commits", "journal.requests", "journal.refused_hands"),
    *("journal.executions", "journal.seals", "audit.reads", "audit.checks"),
)
_ALWAYS: Final = "A"

_TRIGGERS: Final = """
SELECT tgrelid::regclass::text, tgname, tgenabled::text, tgfoid::regproc::text
  FROM pg_trigger WHERE NOT tgisinternal
"""
_FUNCTIONS: Final = """
SELECT proname, btrim(prosrc, E' \\n'), lanname, prosecdef, provolatile::text
  FROM pg_proc JOIN pg_language l ON l.oid = prolang
 WHERE pronamespace = to_regnamespace('book')
"""


def check_triggers(connection: psycopg.Connection[Any], report: Report) -> None:
    """Report tables that take changes, because a trigger is gone, off, or another one."""
    found = {(table, name): rest for table, name, *rest in connection.execute(_TRIGGERS)}
    expected = {
        (table, name): [_ALWAYS, "journal.refuse_change"]
        for table in APPEND_ONLY
        for name in ("append_only_rows", "append_only_table")
    }
    expected |= {(f"journal.{table}", "seal"): ["O", f"journal.seal_{table}"] for table in SEALED}
    for (table, name), wanted in expected.items():
        if found.get((table, name)) != wanted:
            report.add(
                "guard-missing",
                f"trigger {name}",
                f"there is {found.get((table, name), 'none')}, not {wanted}",
                table,
            )


def check_views(dsn: str, report: Report) -> None:
    """Report views and functions that do not say what this code's say.

    They are made once more as temporary ones, which are gone at the end, and compared as the
    server writes them; where nothing may be written, on a copy that follows, they are not.
    """
    with psycopg.connect(dsn, application_name="cardroom check") as connection:
        try:
            with connection.cursor() as cursor:
                _compare_views(cursor, report)
        except psycopg.errors.ReadOnlySqlTransaction:
            return
        finally:
            connection.rollback()


def _compare_views(cursor: psycopg.Cursor[Any], report: Report) -> None:
    generations.hold(cursor)
    number = generations.live(cursor)
    if number is None or not generations.shows_ours(cursor, number):
        return
    for view in VIEWS:
        query = view.query.format(book=book_of(number), number=number, **PLACEHOLDERS)
        mine = f"cardroom_{view.name}"
        cursor.execute(
            sql.SQL("CREATE TEMPORARY VIEW {} AS {}").format(sql.Identifier(mine), sql.SQL(query))
        )
        row = cursor.execute(
            "SELECT pg_get_viewdef(to_regclass(%s)), pg_get_viewdef(to_regclass(%s))",
            (f"pg_temp.{mine}", f"book.{view.name}"),
        ).fetchone()
        assert row is not None
        if row[0] != row[1]:
            report.add(
                "view-differs", f"view {view.name}", "its query is another one", f"book.{view.name}"
            )
    kept = {name: rest for name, *rest in cursor.execute(_FUNCTIONS)}
    for function in FUNCTIONS:
        wanted = [function.body.strip(" \n"), function.language, False, "s"]
        if kept.pop(function.name, None) != wanted:
            report.add(
                "view-differs",
                f"function {function.name}",
                "it is another one",
                f"book.{function.name}",
            )
    for name in kept:
        report.add("view-differs", f"function {name}", "nobody made it", f"book.{name}")
