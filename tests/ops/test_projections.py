"""``cardroom projections rebuild`` as an operator sees it."""

import re

import psycopg
from typer.testing import CliRunner, Result

from ops.projections import app
from projections import generations
from projections.check.books import check
from projections.rebuild import REBUILD_LOCK
from tests.projections.story import Room, write


def rebuild(dsn: str, owner_dsn: str, *options: str) -> Result:
    return run("rebuild", dsn, owner_dsn, *options)


def run(command: str, dsn: str, owner_dsn: str, *options: str) -> Result:
    environment = {
        "CARDROOM_DATABASE_URL": dsn,
        "CARDROOM_OWNER_DATABASE_URL": owner_dsn,
        "CARDROOM_IDENTITY_KEY": "0f" * 32,
        "CARDROOM_JWT_KEY": "a5" * 32,
    }
    return CliRunner().invoke(app, [command, *options], env=environment)


def test_a_rebuild_says_what_is_live(dsn: str, owner_dsn: str) -> None:
    last = write(dsn, [list(Room().open("Table 1"))])
    result = rebuild(dsn, owner_dsn)
    assert result.exit_code == 0
    live, held = result.stdout.splitlines()
    assert live == f"Generation 1 is live, at position {last:,}."
    assert re.fullmatch(r"Readers were held for 0\.\d\d s at most\.", held)


def test_differences_are_named_and_not_swapped_unless_accepted(dsn: str, owner_dsn: str) -> None:
    generations.ensure(dsn)
    with psycopg.connect(dsn) as connection:
        connection.execute("INSERT INTO book_1.kinds VALUES (7, 'nothing.v1')")
    refused = rebuild(dsn, owner_dsn)
    assert refused.exit_code == 1
    assert "  kinds: 1 rows in book_1, 0 in book_2" in refused.stdout.splitlines()
    accepted = rebuild(dsn, owner_dsn, "--accept-differences")
    assert accepted.exit_code == 0
    assert accepted.stdout.startswith("replaced: kinds: ")


def test_a_named_table_is_repaired_and_only_that(dsn: str, owner_dsn: str) -> None:
    write(dsn, [list(Room().open("Table 1"))])
    assert rebuild(dsn, owner_dsn).exit_code == 0
    with psycopg.connect(dsn) as connection:
        connection.execute("UPDATE book_1.kinds SET name = name || '!'")
        connection.execute("UPDATE book_1.accounts SET balance_minor = 1")
    refused = rebuild(dsn, owner_dsn, "kinds")
    assert refused.exit_code == 1
    assert [line.split(":")[0] for line in refused.stdout.splitlines() if line[0] == " "] == [
        "  accounts"
    ]
    repaired = rebuild(dsn, owner_dsn, "kinds", "accounts")
    assert repaired.exit_code == 0, repaired.stdout
    assert [line.split(":")[1] for line in repaired.stdout.splitlines()[:2]] == [
        " accounts",
        " kinds",
    ]
    assert check(dsn).clean
    assert rebuild(dsn, owner_dsn, "nothing").exit_code == 2


def test_a_version_prepares_its_projections_beside_those_of_the_one_before(
    dsn: str, owner_dsn: str
) -> None:
    last = write(dsn, [list(Room().open("Table 1"))])
    assert rebuild(dsn, owner_dsn).exit_code == 0
    assert run("prepare", dsn, owner_dsn).stdout.startswith("Nothing to prepare")
    with psycopg.connect(dsn) as connection:
        connection.execute("COMMENT ON SCHEMA book_1 IS 'Projections, generation 1, definition 0'")
    prepared = run("prepare", dsn, owner_dsn).stdout
    assert prepared == f"Generation 2 is prepared, at position {last:,}.\n"
    assert run("list", dsn, owner_dsn).stdout.splitlines() == [
        f"book_1  live, at position {last:,}, of another version",
        f"book_2  beside it, at position {last:,}, of this version",
    ]


def test_a_second_rebuild_says_that_one_is_running(dsn: str, owner_dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (REBUILD_LOCK,))
        result = rebuild(dsn, owner_dsn)
    assert (result.exit_code, result.stdout) == (1, "cardroom: another rebuild is running\n")
