"""``cardroom jackpots``: pools, last hits, and of one jackpot its rules and shares."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import structlog

from tests.api.conftest import IDENTITY_KEY, JWT_KEY, Room, fresh_database, serving
from tests.conftest import Server
from tests.ledger.jackpots.hits import PLAYERS
from tests.ops.desk.test_desk import run
from tests.projections.hits import a_day
from tests.projections.story import write


@pytest.fixture(scope="module")
def day(postgres: Server) -> Iterator[Room]:
    """Serve a room in which one hit is settled, one annulled, and one waits."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with fresh_database(postgres) as dsn:
        write(dsn, a_day().commits)
        with psycopg.connect(dsn) as connection:
            for name, player in PLAYERS.items():
                row = ("entraction", player, name)
                connection.execute("INSERT INTO vault.names VALUES (%s, %s, %s, now())", row)
        with serving(dsn) as room:
            room.project()
            yield room
    structlog.reset_defaults()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installation")
    (folder / "jwt.key").write_text(JWT_KEY)
    (folder / "identity.key").write_text(IDENTITY_KEY)
    return folder


def lines(day: Room, folder: Path, *arguments: str) -> list[list[str]]:
    result = run(day, folder, "jackpots", *arguments)
    assert (result.failed, result.status) == (None, 0), result.printed
    assert max(map(len, result.printed.splitlines())) <= 100
    return [line.split() for line in result.printed.splitlines()]


def test_pools_are_shown_with_what_a_hit_would_pay_and_the_last_hits(
    day: Room, folder: Path
) -> None:
    printed = lines(day, folder)
    assert ["bad-beat", "2.55", "EUR", "1.02", "0.51", "0.51", "1"] in printed
    played = ["2013-06-01", "12:30"]
    [settled] = [line for line in printed if line[:1] == ["102"]]
    assert settled[1:] == [*played, "Etomo", "settled", "1.50", "1.20", "EUR", "alice", "bob"]
    assert [line[4] for line in printed if line[:1] in (["104"], ["105"])] == [
        "waiting",
        "annulled",
    ]


def test_one_jackpot_is_shown_with_shares_and_rules(day: Room, folder: Path) -> None:
    printed = lines(day, folder, "bad-beat")
    shares = [line for line in printed if line[:1] == ["102"] and line[2] in ("loser", "winner")]
    assert [line[1:5] for line in shares] == [
        ["alice", "loser", "0.60", "EUR"],
        ["bob", "winner", "0.30", "EUR"],
    ]
    assert ["Holdem", "four-of-a-kind", "Q-Q-Q-Q", "both"] in printed


def test_fewer_hits_are_shown_when_asked_for(day: Room, folder: Path) -> None:
    printed = lines(day, folder, "--most", "1")
    assert [line[0] for line in printed if line[:1] in (["102"], ["104"], ["105"])] == ["105"]


def test_jackpots_are_printed_for_other_programs(day: Room, folder: Path) -> None:
    result = run(day, folder, "jackpots", "--json")
    [found] = json.loads(result.printed)
    assert found["jackpot"]["jackpot"] == "bad-beat"
    assert [hit["status"] for hit in found["hits"]] == ["waiting", "annulled", "settled"]


def test_a_jackpot_that_is_none_is_named(day: Room, folder: Path) -> None:
    assert run(day, folder, "jackpots", "other").failed == "No such jackpot (unknown-jackpot)"


def test_a_room_without_jackpots_says_so(postgres: Server, folder: Path) -> None:
    with fresh_database(postgres) as dsn, serving(dsn) as room:
        room.project()
        assert run(room, folder, "jackpots").printed == "No jackpots.\n"
