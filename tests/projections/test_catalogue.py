"""What an auditor finds in the database says what it is: every view, column and function."""

import psycopg
import pytest

from projections.functions import FUNCTIONS
from projections.views import VIEWS

SILENT = """
SELECT format('%%s.%%s', c.relnamespace::regnamespace, c.relname) AS name
  FROM pg_class c WHERE relnamespace = ANY(%(schemas)s::regnamespace[])
   AND relkind IN ('r', 'p', 'v') AND obj_description(c.oid, 'pg_class') IS NULL
UNION ALL
SELECT format('%%s.%%s.%%s', c.relnamespace::regnamespace, c.relname, a.attname)
  FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid
 WHERE relnamespace = ANY(%(schemas)s::regnamespace[]) AND relkind IN ('r', 'p', 'v')
   AND attnum > 0 AND NOT attisdropped AND col_description(c.oid, attnum) IS NULL
UNION ALL
SELECT p.oid::regprocedure::text FROM pg_proc p
 WHERE pronamespace = ANY(%(schemas)s::regnamespace[]) AND obj_description(p.oid, 'pg_proc') IS NULL
UNION ALL
SELECT nspname FROM pg_namespace n WHERE n.oid = ANY(%(schemas)s::regnamespace[])
   AND obj_description(n.oid, 'pg_namespace') IS NULL
 ORDER BY 1
"""
OF_A_TOOL = {"journal.schema_version", "journal.schema_version.version_num"}
"""Alembic makes this one."""


@pytest.mark.parametrize("schema", ["book", "journal", "vault", "audit"])
def test_everything_in_a_schema_is_commented(books: str, schema: str) -> None:
    with psycopg.connect(books) as connection:
        silent = {name for (name,) in connection.execute(SILENT, {"schemas": [schema]})}
    assert silent - OF_A_TOOL == set()


def test_all_views_and_functions_are_there_and_no_others(books: str) -> None:
    with psycopg.connect(books) as connection:
        views = connection.execute(
            "SELECT viewname FROM pg_views WHERE schemaname = 'book' ORDER BY 1"
        ).fetchall()
        functions = connection.execute(
            "SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'book'::regnamespace"
            " ORDER BY 1"
        ).fetchall()
    assert [name for (name,) in views] == sorted(view.name for view in VIEWS)
    assert [name for (name,) in functions] == sorted(function.name for function in FUNCTIONS)
