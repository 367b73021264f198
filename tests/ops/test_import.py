"""``cardroom import`` of real hands: to the cent, once, and again after it was killed."""

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

import ops
from ledger import accounts, catalogue, money
from ledger.core import Event
from ledger.hands.events import (
    HandAwarded,
    HandPosted,
    HandRaked,
    HandReturned,
    HandStaked,
    JackpotContributed,
)
from ledger.tables.events import TableState
from projections.check.books import check
from tests.conftest import Server, create_database
from tests.projections.conftest import project

PROJECT = Path(ops.__file__).parent.parent
HANDS = PROJECT.parent / "shared" / "data" / "hands"
ENTRACTION = HANDS / "entraction.jsonl"
ABSOLUTE = HANDS / "absolute.jsonl"

needs_hands = pytest.mark.skipif(
    not (ENTRACTION.exists() and ABSOLUTE.exists()),
    reason="the real hands are not in ../shared/data",
)


class Where(NamedTuple):
    """A database, as the application and as the owner of its tables see it."""

    application: str
    owner: str


@pytest.fixture
def where(dsn: str, owner_dsn: str) -> Where:
    return Where(dsn, owner_dsn)


def command(where: Where, *arguments: str | Path) -> tuple[list[str], dict[str, str]]:
    kept = {name: text for name, text in os.environ.items() if "CARDROOM" not in name}
    told = {
        "CARDROOM_DATABASE_URL": where.application,
        "CARDROOM_OWNER_DATABASE_URL": where.owner,
        "CARDROOM_IDENTITY_KEY": "1d" * 32,
        "CARDROOM_JWT_KEY": "2e" * 32,
    }
    return [sys.executable, "-m", "ops", "import", *map(str, arguments)], {**kept, **told}


def importing(where: Where, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    words, environment = command(where, *arguments)
    return subprocess.run(
        words, cwd=PROJECT, env=environment, check=False, capture_output=True, text=True
    )


def history(where: Where) -> list[tuple[str, Event]]:
    """Read every event of a database in order."""
    with psycopg.connect(where.application) as connection:
        rows = connection.execute(
            "SELECT originator_id, topic, state FROM journal.events ORDER BY notification_id"
        ).fetchall()
    return [(stream, catalogue.decode(topic, bytes(state))) for stream, topic, state in rows]


def sums(events: list[tuple[str, Event]]) -> dict[str, int]:
    """Add up, from the events of hands alone, what an import tells at its end."""
    found = Counter[str]()
    for _, event in events:
        match event:
            case HandPosted():
                found["hands"] += 1
            case HandStaked():
                found["put in"] += event.amount_minor
                found["pots"] += event.amount_minor
            case HandReturned():
                found["pots"] -= event.amount_minor
            case HandRaked():
                found["rake"] += event.amount_minor
            case JackpotContributed():
                found["jackpot"] += event.from_pot_minor
            case HandAwarded():
                found["won"] += event.amount_minor
    return dict(found)


def balances(events: list[tuple[str, Event]]) -> Counter[str]:
    found = Counter[str]()
    for _, event in events:
        for posting in event.postings():
            found[posting.account] += posting.amount_minor
    return found


def states(events: list[tuple[str, Event]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for stream, event in events:
        evolve = catalogue.STREAMS[stream[: stream.index(":")]].evolve
        found[stream] = evolve(found.get(stream), event)
    return found


REAL = [
    (ENTRACTION, (), "import-entraction", "EUR",
     {"hands": 183, "put in": 972_639, "pots": 637_318, "rake": 2_505, "won": 634_813}),
    (ABSOLUTE, ("--rulebook", "as-posted"), "import-cereus", "USD",
     {"hands": 620, "put in": 12_632_643, "pots": 8_808_826, "rake": 49_535, "jackpot": 4_900,
      "won": 8_754_391}),
]  # fmt: skip


@needs_hands
@pytest.mark.parametrize(("file", "options", "network", "currency", "known"), REAL)
def test_real_hands_are_booked_to_the_cent_and_only_once(
    where: Where,
    file: Path,
    options: tuple[str, ...],
    network: str,
    currency: str,
    known: dict[str, int],
) -> None:
    first = importing(where, file, *options)
    assert first.returncode == 0, first.stderr
    events = history(where)
    assert sums(events) == known
    assert f"Network {network}: of these files, on the books: {known['hands']}." in first.stdout
    assert f"Hands: {known['hands']} booked, 0 repeated, 0 refused." in first.stdout
    told = ", ".join(
        f"{name} {money.text(known.get(name, 0), currency)}"
        for name in ("put in", "pots", "rake", "jackpot", "won")
    )
    assert f"Totals in {currency}: {told}." in first.stdout

    again = importing(where, file, *options)
    assert again.returncode == 0, again.stderr
    assert f"Hands: 0 booked, {known['hands']} repeated, 0 refused." in again.stdout
    assert f"Totals in {currency}: {told}." in again.stdout
    assert history(where) == events


@needs_hands
def test_imported_books_are_clean_balance_and_agree_with_their_tables(where: Where) -> None:
    importing(where, ENTRACTION)
    importing(where, ABSOLUTE, "--rulebook", "as-posted")
    project(where.application)
    checked = check(where.application)
    assert checked.clean, checked.counts
    assert checked.hands == 183 + 620
    assert checked.projected == checked.position
    events = history(where)
    found = balances(events)
    assert sum(found.values()) == 0
    tables = [state for state in states(events).values() if isinstance(state, TableState)]
    assert len(tables) == 19 + 6
    for table in tables:
        assert found[accounts.pot(table.network, table.table_id)] == 0
        for seat in table.seats.values():
            account = accounts.chips(table.network, table.table_id, seat.player)
            assert found.pop(account) == -seat.chips_minor
    assert not [name for name, amount in found.items() if name.startswith("chips:") and amount]
    assert all(amount <= 0 for name, amount in found.items() if name.startswith("bankroll:"))


@pytest.fixture(scope="module")
def undisturbed(postgres: Server) -> Iterator[list[tuple[str, Event]]]:
    """Give the events of an import that nobody disturbed."""
    name = f"cardroom_test_{secrets.token_hex(6)}"
    create_database(postgres, name, postgres.template)
    where = Where(
        *(make_conninfo(url, dbname=name) for url in (postgres.application, postgres.owner))
    )
    assert importing(where, ABSOLUTE, "--rulebook", "as-posted").returncode == 0
    yield history(where)
    with psycopg.connect(postgres.admin, autocommit=True) as connection:
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@needs_hands
@pytest.mark.parametrize("attempt", range(2))
def test_an_import_that_is_killed_and_run_again_ends_the_same(
    where: Where, undisturbed: list[tuple[str, Event]], attempt: int
) -> None:
    seed = secrets.randbits(32)
    rng = Random(seed)
    words, environment = command(where, ABSOLUTE, "--rulebook", "as-posted", "--batch", "7")
    kills = 0
    for _ in range(2):
        process = subprocess.Popen(
            words,
            cwd=PROJECT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with psycopg.connect(where.application, autocommit=True) as connection:
            enough = _commits(connection) + rng.randint(1, 30)
            while _commits(connection) < enough and process.poll() is None:
                time.sleep(0.002)
        time.sleep(rng.random() / 50)
        kills += process.poll() is None
        process.kill()
        process.wait()
    last = importing(where, ABSOLUTE, "--rulebook", "as-posted")
    assert last.returncode == 0, last.stderr
    assert "0 refused." in last.stdout
    assert kills, f"nothing was killed (seed {seed})"
    # The rulebook was adopted at another moment; everything else is the same, in the same order.
    assert history(where)[1:] == undisturbed[1:], f"seed {seed}"
    project(where.application)
    assert check(where.application).clean


@needs_hands
def test_ctrl_c_ends_an_import_between_two_batches_and_says_how_to_go_on(where: Where) -> None:
    words, environment = command(where, ABSOLUTE, "--rulebook", "as-posted", "--batch", "1")
    process = subprocess.Popen(
        words,
        cwd=PROJECT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with psycopg.connect(where.application, autocommit=True) as connection:
        while _commits(connection) < 5 and process.poll() is None:
            time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    told, problems = process.communicate(timeout=60)
    assert process.returncode == 130, problems
    assert "run the same command again" in problems
    booked = re.search(r"Hands: (\d+) booked", told)
    assert booked is not None
    # A batch that was stopped on its way to the database or back may be there, and is not told.
    assert 0 <= sums(history(where))["hands"] - int(booked[1]) <= 1


def _commits(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT count(*) FROM journal.commits").fetchone()
    return int(row[0]) if row else 0


def test_what_is_broken_is_named_by_file_and_line_and_the_rest_goes_on(
    where: Where, tmp_path: Path
) -> None:
    whole = [json.dumps(_walk(number)) for number in ("1", "2", "3")]
    wrong = _walk("4")
    wrong["ohh"]["pots"][0]["amount"] = 2.5
    late = _walk("5")
    late["ohh"]["start_date_utc"] = "2999-01-01T00:00:00Z"
    file = tmp_path / "hands.jsonl"
    lines = [whole[0], whole[1][:300], whole[2], "??", json.dumps(wrong), json.dumps(late)]
    file.write_text("\n".join(lines) + "\n")
    run = importing(where, file)
    assert run.returncode == 1
    assert "Hands: 2 booked, 0 repeated, 4 refused." in run.stdout
    named = re.findall(rf"{re.escape(str(file))}:(\d+):(?: hand \d+)? ([a-z-]+): ", run.stderr)
    assert sorted(named) == [
        ("2", "malformed"), ("4", "malformed"), ("5", "money-not-conserved"), ("6", "malformed"),
    ]  # fmt: skip
    assert sums(history(where))["hands"] == 2


def test_hands_are_booked_under_the_network_and_rulebook_that_are_asked_for(
    where: Where, tmp_path: Path
) -> None:
    file = tmp_path / "hand.json"
    file.write_text(json.dumps(_walk("1")))
    run = importing(where, file, "--network", "archive", "--rulebook", "as-posted")
    assert run.returncode == 0, run.stderr
    assert "Network archive: of these files, on the books: 1." in run.stdout
    streams = {stream.split(":")[1] for stream, _ in history(where)}
    assert streams == {"archive"}


def test_hands_that_the_rulebook_knows_no_money_of_lead_to_the_one_that_takes_them(
    where: Where, tmp_path: Path
) -> None:
    hand = _walk("1")
    hand["ohh"]["currency"] = "USD"
    file = tmp_path / "hand.json"
    file.write_text(json.dumps(hand))
    refused = importing(where, file)
    assert refused.returncode == 1
    assert "Try --rulebook as-posted." in refused.stdout
    assert "Try" not in importing(where, file, "--rulebook", "as-posted").stdout


@pytest.mark.parametrize(
    "option", [("--network", "No Slug"), ("--rulebook", "unheard-of"), ("--on", "yesterday")]
)
def test_an_option_that_cannot_be_is_told_before_anything_is_booked(
    where: Where, tmp_path: Path, option: tuple[str, str]
) -> None:
    file = tmp_path / "hand.json"
    file.write_text(json.dumps(_walk("1")))
    run = importing(where, file, *option)
    assert run.returncode == 2
    assert option[0] in run.stderr
    assert not history(where)


def _walk(number: str) -> dict[str, Any]:
    """Write down a hand in which everybody folds to the big blind."""
    return {
        "ohh": {
            "game_number": number,
            "start_date_utc": f"2011-03-21T16:00:0{number}Z",
            "network_name": "Some Network",
            "table_name": "Etomo",
            "table_size": 6,
            "game_type": "Holdem",
            "bet_limit": {"bet_type": "NL"},
            "currency": "EUR",
            "dealer_seat": 1,
            "small_blind_amount": 1,
            "big_blind_amount": 2,
            "players": [
                {"id": 1, "seat": 1, "name": "ann", "starting_stack": 50},
                {"id": 2, "seat": 2, "name": "ben", "starting_stack": 50},
            ],
            "rounds": [
                {
                    "street": "Preflop",
                    "actions": [
                        {"player_id": 1, "action": "Post SB", "amount": 1},
                        {"player_id": 2, "action": "Post BB", "amount": 2},
                        {"player_id": 1, "action": "Fold"},
                    ],
                }
            ],
            "pots": [
                {"number": 0, "amount": 2, "player_wins": [{"player_id": 2, "win_amount": 2}]}
            ],
        }
    }
