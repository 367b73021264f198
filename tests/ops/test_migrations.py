"""The tables: complete on an empty database, described, and append-only for everyone."""

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.errors import InsufficientPrivilege
from psycopg.sql import SQL, Identifier

from ops.migrate import UnusableDatabase, migrate, revision
from tests.conftest import Server

APPEND_ONLY = {
    "journal.events": (
        "INSERT INTO journal.events VALUES ('player:n:1', 1, 'player.registered.v1', '{}', 1)"
    ),
    "journal.commits": (
        "INSERT INTO journal.commits VALUES (1, 1, '2026-01-01Z', 'w', sha256('')) "
    ),
    "journal.requests": (
        "INSERT INTO journal.requests VALUES ('n', 'c', 'k', '{}', '{}', NULL, '2026-01-01Z')"
    ),
    "journal.refused_hands": (
        "INSERT INTO journal.refused_hands VALUES "
        "('n', 'hand:n:1', '1', NULL, 'table-closed', 'later', 'd', 'r', 0, '2026-01-01Z')"
    ),
    "journal.executions": (
        "INSERT INTO journal.executions VALUES "
        "('n', 'a', 'tess', 'cleo', sha256(''), '2026-01-01Z')"
    ),
    "audit.reads": (
        "INSERT INTO audit.reads (read_at, actor, network, what, subject, request_id) "
        "VALUES ('2026-01-01Z', 'a', 'n', 'player', 'player:n:1', 'r')"
    ),
}
COLUMN = {
    "journal.events": "state",
    "journal.commits": "writer",
    "journal.requests": "key",
    "journal.refused_hands": "code",
    "journal.executions": "checker",
    "audit.reads": "actor",
}


def test_a_role_that_does_not_own_the_database_is_told_so(postgres: Server) -> None:
    name = "of_another"
    if postgres.application == postgres.admin:
        pytest.skip("one role for everything")
    with psycopg.connect(postgres.admin, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        try:
            with pytest.raises(UnusableDatabase, match=f"permission denied for database {name}"):
                migrate(make_conninfo(postgres.owner, dbname=name))
        finally:
            connection.execute(SQL("DROP DATABASE {}").format(Identifier(name)))


def test_migrating_twice_changes_nothing(owner_dsn: str) -> None:
    head = revision(owner_dsn)
    assert head is not None
    assert migrate(owner_dsn) == head
    assert revision(owner_dsn) == head


@pytest.mark.parametrize("table", APPEND_ONLY)
@pytest.mark.parametrize("change", ["UPDATE {0} SET {1} = {1}", "DELETE FROM {0}", "TRUNCATE {0}"])
@pytest.mark.parametrize("role", ["dsn", "owner_dsn"])
def test_what_was_recorded_cannot_be_changed(
    request: pytest.FixtureRequest, role: str, table: str, change: str
) -> None:
    with psycopg.connect(request.getfixturevalue(role)) as connection:
        connection.execute(APPEND_ONLY[table])
        connection.commit()
        with pytest.raises(InsufficientPrivilege):
            connection.execute(change.format(table, COLUMN[table]))
        connection.rollback()
        row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert row == (1,)


def test_a_replication_role_does_not_get_around_the_triggers(
    postgres: tuple[str, ...], database: str
) -> None:
    with psycopg.connect(make_conninfo(postgres[0], dbname=database)) as connection:
        connection.execute(APPEND_ONLY["journal.events"])
        connection.execute("SET session_replication_role = replica")
        with pytest.raises(InsufficientPrivilege, match="append-only"):
            connection.execute("DELETE FROM journal.events")


def test_an_upsert_does_not_get_around_the_triggers(owner_dsn: str) -> None:
    with psycopg.connect(owner_dsn) as connection:
        insert = APPEND_ONLY["journal.events"]
        connection.execute(insert)
        with pytest.raises(InsufficientPrivilege, match="append-only"):
            connection.execute(
                insert + " ON CONFLICT (originator_id, originator_version) "
                "DO UPDATE SET state = excluded.state"
            )


def test_the_application_may_forget_snapshots_and_names(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("INSERT INTO journal.snapshots VALUES ('table:n:1', 7, 't', '{}')")
        connection.execute(
            "INSERT INTO vault.names VALUES ('n', gen_random_uuid(), 'alice', '2026-01-01Z')"
        )
        assert connection.execute("DELETE FROM journal.snapshots").rowcount == 1
        assert connection.execute("DELETE FROM vault.names").rowcount == 1


def test_the_application_creates_projections_beside_the_journal(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE SCHEMA book_1")
        connection.execute("CREATE TABLE book_1.entries (position bigint)")
        connection.execute("CREATE VIEW book.entries AS SELECT * FROM book_1.entries")


def test_the_application_creates_nothing_in_the_journal(dsn: str, owner_dsn: str) -> None:
    if dsn == owner_dsn:
        pytest.skip("the server given by CARDROOM_TEST_DATABASE_URL has one role for both")
    with psycopg.connect(dsn) as connection, pytest.raises(InsufficientPrivilege):
        connection.execute("CREATE TABLE journal.more (position bigint)")


def test_every_table_and_column_is_described(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        undescribed = connection.execute(
            """
            SELECT c.oid::regclass, a.attname
            FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace
            LEFT JOIN pg_attribute a
                ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE n.nspname IN ('journal', 'vault', 'audit') AND c.relkind = 'r'
                AND c.relname <> 'schema_version'
                AND (obj_description(c.oid) IS NULL OR col_description(c.oid, a.attnum) IS NULL)
            """
        ).fetchall()
    assert undescribed == []


def test_a_position_is_given_once(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute(APPEND_ONLY["journal.events"])
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute(
                "INSERT INTO journal.events VALUES ('player:n:2', 1, 'a.b.v1', '{}', 1)"
            )
