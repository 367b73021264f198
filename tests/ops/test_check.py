"""``cardroom check`` as an operator sees it."""

import json

import psycopg
import pytest
import typer
from typer.testing import CliRunner, Result

from ops.check import check_books
from projections import checkpoints, generations
from projections.runner import Projector, connect
from tests.projections.story import Room, write

app = typer.Typer()
app.command()(check_books)


@pytest.fixture
def books(dsn: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give a database with two hands on the books, which the settings name."""
    room = Room()
    write(dsn, [list(room.open("Table 1")), list(room.hand("Table 1")), list(room.hand("Table 1"))])
    number = generations.ensure(dsn)
    with connect(dsn) as connection, checkpoints.recorder() as recorder:
        Projector(connection, recorder, number).catch_up()
    return dsn


def run(dsn: str, owner_dsn: str, *options: str) -> Result:
    environment = {
        "CARDROOM_DATABASE_URL": dsn,
        "CARDROOM_OWNER_DATABASE_URL": owner_dsn,
        "CARDROOM_IDENTITY_KEY": "0f" * 32,
        "CARDROOM_JWT_KEY": "a5" * 32,
    }
    return CliRunner().invoke(app, list(options), env=environment)


def damage(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("UPDATE book_1.entries SET amount_minor = amount_minor + 1")


def test_sound_books_end_with_ok(books: str, owner_dsn: str) -> None:
    result = run(books, owner_dsn)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "3 commits, 2 hands; the journal ends at position " in lines[0]
    assert lines[-1] == "OK: everything holds"


def test_damage_is_named_and_fails(books: str, owner_dsn: str) -> None:
    damage(books)
    result = run(books, owner_dsn)
    assert result.exit_code == 1
    assert "  entry 5/0: kept: amount 90001," in result.stdout
    assert "more" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("FAILED: ")


def test_the_report_is_there_as_json(books: str, owner_dsn: str) -> None:
    sound = json.loads(run(books, owner_dsn, "--json").stdout)
    assert (sound["hands"], sound["counts"], sound["problems"]) == (2, {}, [])
    damage(books)
    result = run(books, owner_dsn, "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["counts"] == {"entry-differs": report["entries"]}
    assert report["problems"][0]["code"] == "entry-differs"
