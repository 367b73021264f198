"""``cardroom check`` as an operator sees it."""

import json
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import typer
from typer.testing import CliRunner, Result

from ops.check import check_books, print_anchors
from projections import checkpoints, generations
from projections.runner import Projector, connect
from tests.projections.story import Room, write


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
    return invoke(check_books, dsn, owner_dsn, *options)


def run_anchor(dsn: str, owner_dsn: str) -> Result:
    return invoke(print_anchors, dsn, owner_dsn)


def invoke(command: Callable[..., None], dsn: str, owner_dsn: str, *options: str) -> Result:
    app = typer.Typer()
    app.command()(command)
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
    assert report["counts"]["entry-differs"] == report["entries"]
    first = report["problems"][0]
    assert (first["code"], first["table"]) == ("entry-differs", "book_1.entries")


def test_a_digest_that_was_noted_outside_is_compared(
    books: str, owner_dsn: str, tmp_path: Path
) -> None:
    noted = run_anchor(books, owner_dsn).stdout
    log = tmp_path / "cardroom.log"
    log.write_text(f'{{"event": "anchor", "anchor": "{noted.strip()}"}}\n')
    for against in (noted.strip(), str(log)):
        result = run(books, owner_dsn, "--against", against)
        assert result.exit_code == 0, result.output
        assert "compared with 1 digests that were noted outside" in result.stdout
    other = "0" * 64 + noted.strip()[64:]
    result = run(books, owner_dsn, "--against", str(log), "--against", other)
    assert result.exit_code == 1
    assert "anchor-differs: 1" in result.stdout


def test_what_holds_no_digest_is_refused(books: str, owner_dsn: str, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for against in (str(tmp_path / "empty"), str(tmp_path / "nothing"), "cafe@7"):
        assert run(books, owner_dsn, "--against", against).exit_code == 2


def test_every_check_is_written_down(books: str, owner_dsn: str) -> None:
    run(books, owner_dsn)
    damage(books)
    run(books, owner_dsn)
    with psycopg.connect(books) as connection:
        rows = connection.execute(
            "SELECT position, digest <> '', findings > 0, seconds > 0 FROM audit.checks ORDER BY id"
        ).fetchall()
    position = rows[0][0]
    assert rows == [(position, True, False, True), (position, True, True, True)]
