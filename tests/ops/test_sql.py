"""``cardroom sql``: an auditor reads the books, and nothing but the books."""

import json
import shutil
import stat
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner, Result

from ops.cli import app
from ops.embedded import AUDITOR, OWNER, EmbeddedPostgres
from ops.migrate import migrate
from ops.sql import table
from projections import checkpoints, generations, rebuild
from projections.runner import Projector, connect
from tests.projections.story import Room, write


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Give a data folder whose database runs, with a table and two hands on the books."""
    folder = Path(tempfile.mkdtemp(prefix="cardroom-"))
    folder.chmod(0o711)
    try:
        with EmbeddedPostgres(folder / "postgres") as server:
            migrate(server.dsn(OWNER))
            room = Room()
            commits = [room.open("Table 1"), room.hand("Table 1"), room.hand("Table 1")]
            write(server.dsn(), [list(commit) for commit in commits])
            number = generations.ensure(server.dsn())
            with connect(server.dsn()) as connection, checkpoints.recorder() as recorder:
                Projector(connection, recorder, number).catch_up()
            yield folder
    finally:
        shutil.rmtree(folder)


def ask(folder: Path, *arguments: str, asked: str | None = None) -> Result:
    environment = {"CARDROOM_DATA_DIR": str(folder)}
    return CliRunner().invoke(app, ["sql", *arguments], input=asked, env=environment)


def as_auditor(folder: Path) -> psycopg.Connection[tuple[object, ...]]:
    server = EmbeddedPostgres(folder / "postgres")
    server.attach()
    return psycopg.connect(server.dsn(AUDITOR))


def test_an_answer_is_shown_as_a_table(folder: Path) -> None:
    result = ask(folder, "SELECT network, count(*) AS players FROM book.players GROUP BY 1")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "network | players",
        "--------+--------",
        "harbour |       4",
        "(1 row)",
    ]


def test_a_question_may_come_from_standard_input_and_the_answer_be_csv(folder: Path) -> None:
    result = ask(folder, "--csv", asked="SELECT network, 1.50 AS x FROM book.tables;\n")
    assert (result.exit_code, result.stdout) == (0, "network,x\nharbour,1.50\n")


def test_what_is_wrong_with_a_question_is_said_in_a_line(folder: Path) -> None:
    result = ask(folder, "SELECT * FROM book.nothing")
    assert result.exit_code == 1
    assert result.stderr.startswith('cardroom: relation "book.nothing" does not exist')


def test_as_of_functions_are_the_auditors_too(folder: Path) -> None:
    now = ask(folder, "--csv", "SELECT * FROM book.client_funds")
    at_now = "book.client_funds_as_of(book.position_at(now()))"
    assert ask(folder, "--csv", f"SELECT * FROM {at_now}").stdout == now.stdout
    assert len(now.stdout.splitlines()) == 2
    before = ask(folder, "--csv", "SELECT liability_minor FROM book.client_funds_as_of(5)")
    assert before.stdout.splitlines() == ["liability_minor", "90000"], before.output


def test_rows_beyond_what_is_shown_are_counted(folder: Path) -> None:
    result = ask(folder, "SELECT n FROM generate_series(1, 1200) AS n")
    assert result.stdout.splitlines()[-1] == "... the first 1,000 of 1,200 rows; --csv prints all"


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM vault.names",
        "SELECT * FROM audit.reads",
        "SELECT * FROM journal.requests",
        "SELECT * FROM journal.refused_hands",
        "SELECT * FROM book_1.players",
        "DELETE FROM journal.events",
        "UPDATE journal.commits SET writer = 'x'",
        "CREATE TABLE book.mine (n int)",
        "SET ROLE cardroom_app",
    ],
)
def test_an_auditor_may_neither_see_persons_nor_change_anything(
    folder: Path, statement: str
) -> None:
    with as_auditor(folder) as connection:
        connection.autocommit = True
        # He may lift this by himself, and still has no right.
        connection.execute("SET default_transaction_read_only = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode())


def test_an_auditor_reads_every_view_the_events_and_the_proof(folder: Path) -> None:
    names = [f"book.{view.name}" for view in generations.VIEWS]
    names += ["journal.events", "journal.commits", "journal.seals", "audit.checks"]
    with as_auditor(folder) as connection:
        for name in names:
            connection.execute(f"SELECT * FROM {name} LIMIT 1".encode())
        shown = dict(
            connection.execute(
                "SELECT name, setting FROM pg_settings WHERE name IN"
                " ('default_transaction_read_only', 'statement_timeout')"
            ).fetchall()
        )
    assert shown == {"default_transaction_read_only": "on", "statement_timeout": "60000"}


def test_the_role_that_is_made_is_the_one_that_is_granted_to() -> None:
    assert generations.AUDITOR == AUDITOR


def test_an_auditor_reads_on_after_a_rebuild(folder: Path) -> None:
    server = EmbeddedPostgres(folder / "postgres")
    server.attach()
    assert rebuild.rebuild(server.dsn()).generation > 1
    assert ask(folder, "SELECT count(*) FROM book.entries").exit_code == 0
    assert ask(folder, "SELECT book.position_at(now())").exit_code == 0


def test_a_folder_from_before_there_was_an_auditor_gets_one(home: Path) -> None:
    with EmbeddedPostgres(home) as server, psycopg.connect(server.dsn("postgres")) as connection:
        connection.execute(f"DROP ROLE {AUDITOR}".encode())
    passwords = home / "passwords.json"
    before = json.loads(passwords.read_text())
    passwords.write_text(json.dumps({k: v for k, v in before.items() if k != AUDITOR}))
    with EmbeddedPostgres(home) as server:
        psycopg.connect(server.dsn(AUDITOR)).close()
    after = json.loads(passwords.read_text())
    assert after.keys() == before.keys()
    assert stat.S_IMODE(passwords.stat().st_mode) == 0o600


def test_on_an_operators_server_the_auditors_connection_string_is_asked_for(
    dsn: str,
) -> None:
    own = {
        "CARDROOM_DATABASE_URL": dsn,
        "CARDROOM_IDENTITY_KEY": "0f" * 32,
        "CARDROOM_JWT_KEY": "a5" * 32,
    }
    missing = CliRunner().invoke(app, ["sql", "SELECT 1"], env=own)
    assert "CARDROOM_AUDITOR_DATABASE_URL is not set" in str(missing.exception)
    url = make_conninfo(dsn, options="-c default_transaction_read_only=on")
    told = CliRunner().invoke(
        app, ["sql", "--csv", "SELECT 7 AS n"], env={**own, "CARDROOM_AUDITOR_DATABASE_URL": url}
    )
    assert told.stdout == "n\n7\n"


def test_columns_are_as_wide_as_what_is_in_them() -> None:
    at = datetime(2026, 5, 1, 20, 15, tzinfo=UTC)
    shown = table(["what", "minor"], [("Riverboat", 5), ("", None), (b"\x0f", -12), (at, 0)])
    assert shown.splitlines() == [
        "what                 | minor",
        "---------------------+------",
        "Riverboat            |     5",
        "                     |",
        "0f                   |   -12",
        "2026-05-01T20:15:00Z |     0",
        "(4 rows)",
    ]
