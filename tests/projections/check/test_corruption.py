"""Whatever value a superuser changes, in whichever table, is found and named.

The tables and columns are read from the database: one that is added later is covered by itself.
Each change is made and checked in one transaction, which is rolled back.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import msgspec
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from ledger import catalogue
from ledger.tables.events import table_stream
from projections.check.books import Check
from projections.check.report import Report
from projections.schema import book_of
from tests.conftest import Server, create_database
from tests.projections.conftest import drop_database
from tests.projections.story import NETWORK

BOOK: Final = book_of(1)

NOT_PROVEN: Final = {
    ("journal.schema_version", "version_num"): "which migrations ran; no part of the books",
    ("journal.snapshots", "topic"): "a snapshot of another version's state is read by nobody",
}
"""What may be changed unseen, and why nothing is lost by it."""

SAID_ELSEWHERE: Final = {
    "journal.events": {"journal.commits"},  # the digest is the commit's, over all of its events
    "journal.tracking": {f"{BOOK}.entries"},  # they are beyond a checkpoint that is not there
}
"""Tables under whose name a change in another table may be reported."""


class Column(NamedTuple):
    name: str
    kind: str
    generated: bool


Tables = dict[str, list[Column]]


@pytest.fixture(scope="module")
def damaged(postgres: Server, day: str) -> Iterator[psycopg.Connection[Any]]:
    """Connect as a superuser to a day on the books that has a row in every table there is."""
    name = f"{day}_to_damage"
    create_database(postgres, name, day)
    with psycopg.connect(make_conninfo(postgres.admin, dbname=name)) as connection:
        fill(connection)
        connection.commit()
        yield connection
        connection.rollback()
    drop_database(postgres, name)


def fill(connection: psycopg.Connection[Any]) -> None:
    """Add what commands would have added beside the events: answers, refused hands, snapshots."""
    connection.execute(
        "INSERT INTO journal.requests SELECT %s, 'cashier', 'k' || n, %s, %s, 5, now()"
        " FROM generate_series(1, 3) AS n",
        (NETWORK, Jsonb({"amount": "aa"}), Jsonb({"status": "done", "position": 5})),
    )
    connection.execute(
        "INSERT INTO journal.refused_hands VALUES (%s, 'hand:harbour:77', '77', 'Table 1',"
        " 'wrong-starting-stack', 'later', '\\xaa', '\\xbb', 1, now())",
        (NETWORK,),
    )
    connection.execute(
        "INSERT INTO journal.executions VALUES (%s, 'a1', 'one', 'two', sha256('x'), now())",
        (NETWORK,),
    )
    stream = table_stream(NETWORK, "Table 1")
    state, version = None, 0
    for topic, stored in connection.execute(
        "SELECT topic, state FROM journal.events WHERE originator_id = %s"
        " ORDER BY originator_version LIMIT 7",
        (stream,),
    ):
        state = catalogue.STREAMS["table"].evolve(state, catalogue.decode(topic, bytes(stored)))
        version += 1
    connection.execute(
        "INSERT INTO journal.snapshots VALUES (%s, %s, %s, %s)",
        (stream, version, catalogue.SNAPSHOTS["table"], msgspec.json.encode(state)),
    )


def tables_of(connection: psycopg.Connection[Any], schema: str) -> Tables:
    found: Tables = {}
    for table, *column in connection.execute(
        "SELECT c.relname, a.attname, format_type(a.atttypid, NULL), a.attgenerated <> ''"
        "  FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid"
        " WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition"
        "   AND attnum > 0 AND NOT attisdropped ORDER BY 1, attnum",
        (schema,),
    ):
        found.setdefault(table, []).append(Column(*column))
    return found


@contextmanager
def planted(connection: psycopg.Connection[Any], schema: str, table: str) -> Iterator[None]:
    """Let a superuser change a table, triggers off, and undo it afterwards."""
    try:
        if schema != BOOK:
            connection.execute(
                sql.SQL("ALTER TABLE {} DISABLE TRIGGER ALL").format(sql.Identifier(schema, table))
            )
        yield
    finally:
        connection.rollback()


def names(report: Report, schema: str, table: str) -> bool:
    """Tell whether a report names the table, and says where in it."""
    whole = f"{schema}.{table}"
    wanted = {whole, *SAID_ELSEWHERE.get(whole, ())}
    return any(
        one.table in wanted and one.where and one.message
        for one in report.problems
        # That the triggers are off is found as well, and says nothing of a row.
        if one.code != "guard-missing"
    )


CHANGES: Final[dict[str, Sequence[str]]] = {
    "bigint": ("{} + 1", "{} + 1000003"),
    "integer": ("{} + 1", "{} + 1000003"),
    "smallint": ("({} + 1)::smallint", "({} + 1003)::smallint"),
    "text": ("{} || 'x'", "'never'"),
    "character varying": ("{} || 'x'",),
    "boolean": ("NOT {}",),
    "date": ("{} + 1", "{} + 1000"),
    "timestamp with time zone": ("{} + interval '1 microsecond'",),
    "uuid": ("'00000000-0000-4000-8000-000000000000'::uuid",),
    "bytea": ("sha256({})",),
    "jsonb": ("{} || '{{\"planted\": 1}}'", "jsonb_build_array({})"),
}
"""How a value of a type becomes another one; the first that the table's constraints allow."""

VALUES: Final = {
    "bigint": "7",
    "integer": "7",
    "smallint": "7",
    "text": "'planted'",
    "boolean": "true",
    "date": "date '2001-01-01'",
    "timestamp with time zone": "timestamptz '2001-01-01 00:00+00'",
    "uuid": "'00000000-0000-4000-8000-000000000000'::uuid",
    "bytea": "sha256('planted')",
    "jsonb": """'{"planted": 1}'::jsonb""",
}
"""A value of each type, for a row that is made up."""


def change(
    connection: psycopg.Connection[Any], schema: str, table: str, column: Column, row: Any
) -> bool:
    """Change one value of one row; False when the table does not allow it at all."""
    name = sql.Identifier(column.name)
    made_up = sql.SQL(VALUES.get(column.kind, "NULL"))
    for change in CHANGES[column.kind]:
        changed = sql.SQL(change).format(name)
        statement = sql.SQL(
            "UPDATE {} SET {} = coalesce({}, {}) WHERE ctid = %s AND tableoid = %s"
        ).format(sql.Identifier(schema, table), name, changed, made_up)
        try:
            with connection.transaction():
                return connection.execute(statement, row).rowcount == 1
        except psycopg.IntegrityError:
            continue
    return False


def some_row(connection: psycopg.Connection[Any], schema: str, table: str) -> Any:
    """Return where a row from the middle of a table is; None when it is empty."""
    whole = sql.Identifier(schema, table)
    return connection.execute(
        sql.SQL(
            "SELECT ctid, tableoid FROM {} ORDER BY tableoid, ctid"
            " OFFSET (SELECT count(*) / 2 FROM {}) LIMIT 1"
        ).format(whole, whole)
    ).fetchone()


def unnoticed_changes(connection: psycopg.Connection[Any], schema: str) -> list[str]:
    unnoticed = []
    for table, columns in tables_of(connection, schema).items():
        for column in columns:
            if column.generated or (f"{schema}.{table}", column.name) in NOT_PROVEN:
                continue
            with planted(connection, schema, table):
                row = some_row(connection, schema, table)
                if row is None or not change(connection, schema, table, column, row):
                    continue
                if not names(Check(connection).run(), schema, table):
                    unnoticed.append(f"{table}.{column.name}")
    return unnoticed


def test_every_changed_value_of_the_projections_is_found(
    damaged: psycopg.Connection[Any],
) -> None:
    assert unnoticed_changes(damaged, BOOK) == []


def test_every_changed_value_of_the_journal_is_found(damaged: psycopg.Connection[Any]) -> None:
    assert unnoticed_changes(damaged, "journal") == []


@pytest.mark.parametrize("schema", [BOOK, "journal"])
def test_every_row_that_is_taken_away_is_found(
    damaged: psycopg.Connection[Any], schema: str
) -> None:
    unnoticed = []
    # Snapshots are a cache: they may be deleted at any time.
    for table in tables_of(damaged, schema).keys() - {"snapshots", "schema_version"}:
        with planted(damaged, schema, table):
            row = some_row(damaged, schema, table)
            if row is not None:
                damaged.execute(
                    sql.SQL("DELETE FROM {} WHERE ctid = %s AND tableoid = %s").format(
                        sql.Identifier(schema, table)
                    ),
                    row,
                )
                if not names(Check(damaged).run(), schema, table):
                    unnoticed.append(table)
    assert unnoticed == []


@pytest.mark.parametrize("schema", [BOOK, "journal"])
def test_every_row_that_is_made_up_is_found(damaged: psycopg.Connection[Any], schema: str) -> None:
    unnoticed = []
    for table, columns in tables_of(damaged, schema).items():
        if table in {"schema_version", "tracking"}:  # a further reader is no part of the books
            continue
        given = [column for column in columns if not column.generated]
        with planted(damaged, schema, table):
            made_up = insert(damaged, schema, table, given)
            if made_up and not names(Check(damaged).run(), schema, table):
                unnoticed.append(table)
    assert unnoticed == []


def insert(
    connection: psycopg.Connection[Any], schema: str, table: str, columns: Sequence[Column]
) -> bool:
    """Add a row like the one in the middle but for its key, or a made-up one to an empty table.

    False when the table takes neither.
    """
    whole = sql.Identifier(schema, table)
    key = {
        name
        for (name,) in connection.execute(
            "SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid"
            " AND attnum = ANY(indkey) WHERE indrelid = %s::regclass AND indisunique",
            (f"{schema}.{table}",),
        )
    }
    row = some_row(connection, schema, table)
    values: list[sql.Composable] = []
    for name, kind, _ in columns:
        if row and name in key:
            values.append(sql.SQL(CHANGES[kind][-1]).format(sql.Identifier(name)))
        elif row:
            values.append(sql.Identifier(name))
        elif kind == "jsonb":
            values.append(sql.Literal(Jsonb(read_out_of(connection, schema, table))))
        else:
            values.append(sql.SQL(VALUES[kind]))
    statement = sql.SQL("INSERT INTO {} ({}) SELECT {}").format(
        whole,
        sql.SQL(", ").join(sql.Identifier(column.name) for column in columns),
        sql.SQL(", ").join(values),
    )
    if row:
        statement += sql.SQL(" FROM {} WHERE ctid = %s AND tableoid = %s").format(whole)
    try:
        with connection.transaction():
            return connection.execute(statement, row).rowcount == 1
    except psycopg.IntegrityError:
        return False


def read_out_of(connection: psycopg.Connection[Any], schema: str, table: str) -> dict[str, str]:
    """Make up a state that has the fields which the table's generated columns are read out of."""
    found = connection.execute(
        "SELECT (regexp_matches(pg_get_expr(adbin, adrelid), '''(\\w+)''::text', 'g'))[1]"
        " FROM pg_attrdef WHERE adrelid = %s::regclass",
        (f"{schema}.{table}",),
    )
    return {field: "00000000-0000-4000-8000-000000000000" for (field,) in found}


def test_sound_books_with_everything_in_them_pass(damaged: psycopg.Connection[Any]) -> None:
    report = Check(damaged).run()
    damaged.rollback()
    assert report.problems == []
    assert report.seals == 3
