"""The command line: what an operator can put right is told in a line."""

import os
import subprocess
import sys
from pathlib import Path

import jwt
import psycopg
import pytest
from typer.testing import CliRunner

import ops
from api.tokens import ROLES
from ops.cli import app
from projections import generations

PROJECT = Path(ops.__file__).parent.parent
KEY = "0" * 64


def cardroom(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    kept = {name: text for name, text in os.environ.items() if "CARDROOM" not in name}
    told = {f"CARDROOM_{name}": text for name, text in settings.items()}
    return subprocess.run(
        [sys.executable, "-m", "ops", *arguments],
        cwd=PROJECT,
        env={**kept, "CARDROOM_DATA_DIR": str(folder), **told},
        check=False,
        capture_output=True,
        text=True,
    )


def in_process(folder: Path, *arguments: str, **settings: str) -> tuple[int, str]:
    """Run a command that needs no process of its own; return its status and what it printed."""
    told = {f"CARDROOM_{name}": text for name, text in settings.items()}
    result = CliRunner().invoke(app, arguments, env={"CARDROOM_DATA_DIR": str(folder), **told})
    return result.exit_code, result.stdout


def test_a_wrong_setting_ends_in_a_line_and_status_1(tmp_path: Path) -> None:
    run = cardroom(tmp_path, "serve", PORT="eighty")
    assert run.returncode == 1
    assert run.stderr.startswith("cardroom: CARDROOM_PORT: ")
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "command",
    [
        ("check",),
        ("anchor",),
        ("sql", "SELECT 1"),
        ("projections", "list"),
        ("projections", "rebuild"),
        ("projections", "prepare"),
        ("backup", "backups"),
    ],
    ids=" ".join,
)
def test_where_nothing_is_installed_nothing_is_found_sound_or_made(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    run = cardroom(tmp_path / "var", *command)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith(f"cardroom: There is no installation in {tmp_path / 'var'}: ")
    assert list(tmp_path.iterdir()) == []


def test_who_only_checks_needs_no_keys(dsn: str, owner_dsn: str, tmp_path: Path) -> None:
    generations.ensure(dsn)
    run = cardroom(tmp_path, "check", DATABASE_URL=dsn, OWNER_DATABASE_URL=owner_dsn)
    assert (run.returncode, run.stdout.splitlines()[-1]) == (0, "OK: everything holds")


def test_a_database_that_is_not_there_is_told_without_its_password(tmp_path: Path) -> None:
    key = "0" * 64
    url = "postgresql://app:hush@127.0.0.1:1/cardroom"
    run = cardroom(tmp_path, "migrate", DATABASE_URL=url, IDENTITY_KEY=key, JWT_KEY=key)
    assert run.returncode == 1
    assert run.stderr.startswith("cardroom: The database cannot be reached: ")
    assert "hush" not in run.stderr


def test_projections_of_another_version_are_told_before_anything_is_served(
    tmp_path: Path, dsn: str, owner_dsn: str
) -> None:
    generations.ensure(dsn)
    with psycopg.connect(dsn) as connection:
        connection.execute("COMMENT ON SCHEMA book_1 IS 'made by another version'")
    settings = {
        "DATABASE_URL": dsn,
        "OWNER_DATABASE_URL": owner_dsn,
        "IDENTITY_KEY": KEY,
        "JWT_KEY": KEY,
        "PORT": "0",
    }
    run = cardroom(tmp_path, "serve", **settings)
    assert (run.returncode, len(run.stderr.splitlines())) == (1, 1)
    assert "Run 'cardroom projections rebuild'" in run.stderr


def test_migrating_an_empty_embedded_database_names_the_revision(home: Path) -> None:
    first = cardroom(home, "migrate")
    assert first.returncode == 0, first.stderr
    assert "is at revision" in first.stdout
    assert cardroom(home, "migrate").stdout == first.stdout


@pytest.mark.parametrize("role", sorted(set(ROLES) - {"partner"}))
def test_a_token_carries_the_scopes_of_its_role(tmp_path: Path, role: str) -> None:
    _, printed = in_process(
        tmp_path, "token", role, "--network", "other", "--hours", "1", JWT_KEY=KEY
    )
    claims = jwt.decode(printed.strip(), options={"verify_signature": False})
    assert set(claims["scopes"]) == {scope.value for scope in ROLES[role]}
    assert claims["network"] == "other"
    assert claims["exp"] - claims["iat"] == 3600


def test_a_partners_token_names_the_partner(tmp_path: Path) -> None:
    assert in_process(tmp_path, "token", "partner", JWT_KEY=KEY)[0] == 2
    _, printed = in_process(tmp_path, "token", "partner", "--partner", "north", JWT_KEY=KEY)
    claims = jwt.decode(printed.strip(), options={"verify_signature": False})
    assert claims["partner"] == "north"
    assert not list(tmp_path.rglob("*.key")), "the key was stated, no other one is made"


def test_settings_are_listed_without_their_values(tmp_path: Path) -> None:
    status, printed = in_process(tmp_path, "settings", IDENTITY_KEY="f" * 64)
    assert status == 0
    assert "CARDROOM_API_PROCESSES [1]" in printed
    assert "CARDROOM_QUEUE_LIMIT" in printed
    assert "f" * 64 not in printed


@pytest.mark.parametrize("option", ["--network", "--subject"])
def test_a_token_that_the_api_would_not_accept_is_not_printed(tmp_path: Path, option: str) -> None:
    status, printed = in_process(tmp_path, "token", "auditor", option, "No Slug" * 20, JWT_KEY=KEY)
    assert (status, "eyJ" in printed) == (2, False)


def test_no_token_is_made_where_nothing_is_installed(tmp_path: Path) -> None:
    run = cardroom(tmp_path, "token", "auditor")
    assert (run.returncode, run.stdout) == (1, "")
    assert "There is no installation in" in run.stderr
    assert not list(tmp_path.rglob("*.key"))


def test_with_an_issuer_of_ones_own_no_token_is_made(tmp_path: Path) -> None:
    run = cardroom(tmp_path, "token", "auditor", JWT_ALGORITHM="RS256")
    assert run.returncode == 1
    assert "your own issuer makes the tokens" in run.stderr
    assert run.stdout == ""
    assert not list(tmp_path.rglob("*.key"))
