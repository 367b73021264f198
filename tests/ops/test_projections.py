"""``cardroom projections rebuild`` as an operator sees it."""

import psycopg
from typer.testing import CliRunner, Result

from ops.projections import app
from projections import generations
from projections.rebuild import REBUILD_LOCK
from tests.projections.story import Room, write


def rebuild(dsn: str, owner_dsn: str, *options: str) -> Result:
    environment = {
        "CARDROOM_DATABASE_URL": dsn,
        "CARDROOM_OWNER_DATABASE_URL": owner_dsn,
        "CARDROOM_IDENTITY_KEY": "0f" * 32,
        "CARDROOM_JWT_KEY": "a5" * 32,
    }
    return CliRunner().invoke(app, ["rebuild", *options], env=environment)


def test_a_rebuild_says_what_is_live(dsn: str, owner_dsn: str) -> None:
    last = write(dsn, [list(Room().open("Table 1"))])
    result = rebuild(dsn, owner_dsn)
    assert (result.exit_code, result.stdout) == (
        0,
        f"Generation 1 is live, at position {last:,}.\n",
    )


def test_differences_are_named_and_not_swapped_unless_accepted(dsn: str, owner_dsn: str) -> None:
    generations.ensure(dsn)
    with psycopg.connect(dsn) as connection:
        connection.execute("INSERT INTO book_1.kinds VALUES (7, 'nothing.v1')")
    refused = rebuild(dsn, owner_dsn)
    assert refused.exit_code == 1
    assert "  kinds: 1 rows in book_1, 0 in book_2" in refused.stdout.splitlines()
    accepted = rebuild(dsn, owner_dsn, "--accept-differences")
    assert accepted.exit_code == 0
    assert accepted.stdout.startswith("differed: kinds: ")


def test_a_second_rebuild_says_that_one_is_running(dsn: str, owner_dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (REBUILD_LOCK,))
        result = rebuild(dsn, owner_dsn)
    assert (result.exit_code, result.stdout) == (1, "cardroom: another rebuild is running\n")
