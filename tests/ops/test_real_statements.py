"""Statements of imported players: every hand that they really played, to the cent."""

import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from api import links
from ledger.hands.events import HandAwarded, HandReturned, HandStaked
from projections import reading
from projections.as_of import AsOf
from projections.queries import bankrolls, statements
from projections.queries.statements import Period, Statement, Subject
from projections.reading import Row, Snapshot
from tests.conftest import Server, create_database
from tests.ops.test_import import ABSOLUTE, ENTRACTION, Where, importing, needs_hands
from tests.projections.conftest import project

FILES = {"import-entraction": ENTRACTION, "import-cereus": ABSOLUTE}
Moved = Counter[tuple[str, str, str]]
"""Cents by event, game number and nickname."""


class Imported(NamedTuple):
    """The books of both files, and the names of their players by id."""

    at: Snapshot
    names: dict[tuple[str, UUID], str]

    def statement(
        self, network: str, player: UUID, *, limit: int = 500, period: Period | None = None
    ) -> list[Statement]:
        subject, known = Subject(network, player=player), AsOf(self.at.position)
        period = period or Period()
        pages = [statements.page(self.at, subject, period, known=known, limit=limit)]
        while (cursor := pages[-1].cursor) is not None:
            pages.append(
                statements.page(self.at, subject, period, known=known, limit=limit, cursor=cursor)
            )
        return pages


@pytest.fixture(scope="module")
def imported(postgres: Server) -> Iterator[Imported]:
    """Import both files into one book, and project it."""
    name = f"cardroom_test_{secrets.token_hex(6)}"
    create_database(postgres, name, postgres.template)
    where = Where(
        *(make_conninfo(url, dbname=name) for url in (postgres.application, postgres.owner))
    )
    assert importing(where, ENTRACTION).returncode == 0
    assert importing(where, ABSOLUTE, "--rulebook", "as-posted").returncode == 0
    project(where.application)
    with psycopg.connect(where.application) as connection:
        rows = connection.execute("SELECT network, player_id, nickname FROM vault.names").fetchall()
    engine = reading.engine(where.application, pool_size=1)
    with reading.snapshot(engine) as at:
        yield Imported(at, {(network, player): nickname for network, player, nickname in rows})
    engine.dispose()
    with psycopg.connect(postgres.admin, autocommit=True) as connection:
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def posted(file: Path) -> tuple[Moved, Counter[str]]:
    """Read out of a file what each player put in and won in each hand, and each hand's pots."""
    moved: Moved = Counter()
    pots: Counter[str] = Counter()
    for line in file.read_text().splitlines():
        hand: dict[str, Any] = json.loads(line, parse_float=Decimal)["ohh"]
        number = hand["game_number"]
        names = {player["id"]: player["name"] for player in hand["players"]}
        for street in hand["rounds"]:
            for action in street["actions"]:
                put_in = cents(action.get("amount", 0))
                moved[HandStaked.NAME, number, names[action["player_id"]]] += put_in
        for pot in hand["pots"]:
            pots[number] += cents(pot["amount"])
            for win in pot["player_wins"]:
                won = cents(win["win_amount"])
                moved[HandAwarded.NAME, number, names[win["player_id"]]] += won
    return +moved, pots


def cents(amount: Decimal | int) -> int:
    assert amount * 100 == int(amount * 100)
    return int(amount * 100)


def lines_of(pages: list[Statement]) -> list[Row]:
    return [row for page in pages for row in page.lines]


@needs_hands
@pytest.mark.parametrize("network", [*FILES])
def test_statements_of_real_players_add_up_to_their_hands(imported: Imported, network: str) -> None:
    moved, pots = posted(FILES[network])
    found: Moved = Counter()
    left: Counter[str] = Counter(pots)
    for (of, player), nickname in imported.names.items():
        if of != network:
            continue
        for row in lines_of(imported.statement(network, player)):
            number = links.game_number_of(row["stream"], row["request_id"])
            if number is None:
                continue
            amount = row["debit_minor"] + row["credit_minor"]
            staked = row["event"] == HandStaked.NAME
            assert (row["debit_minor"] > 0) is staked
            if row["event"] == HandReturned.NAME:
                left[number] += amount
                continue
            found[row["event"], number, nickname] += amount
            left[number] -= amount if staked else 0
    assert found == moved
    # What was staked and not given back is what was in the pots.
    assert not +left
    assert not -left


@needs_hands
@pytest.mark.parametrize("limit", [7, 500])
def test_statements_of_real_players_close_with_what_they_have(
    imported: Imported, limit: int
) -> None:
    everybody = sorted(imported.names, key=str)[::9] if limit < 100 else sorted(imported.names)
    for network, player in everybody:
        pages = imported.statement(network, player, limit=limit)
        held: dict[str, int] = defaultdict(int)
        for row in lines_of(pages):
            held[row["code"]] += row["credit_minor"] - row["debit_minor"]
            assert row["balance_minor"] == held[row["code"]] >= 0
        accounts = pages[0].accounts
        assert accounts is not None
        assert {row["code"]: row["closing_minor"] for row in accounts} == held
        [purse] = bankrolls.one(imported.at, network=network, player=player).purses
        assert purse["cash_minor"] + purse["chips_minor"] == sum(held.values())


@needs_hands
def test_days_of_real_players_follow_each_other(imported: Imported) -> None:
    """By the days on which hands were played, each closing balance opens the next day."""
    rows = reading.rows(imported.at, sa.select(reading.BOOK["days"]))
    days = [datetime.combine(row["occurred_day"], time(), UTC) for row in rows]
    days.sort()
    network, player = max(
        imported.names, key=lambda of: len(lines_of(imported.statement(of[0], of[1])))
    )
    held: dict[str, int] = {}
    lines = 0
    for begin, end in pairwise([*days, days[-1] + timedelta(days=1)]):
        pages = imported.statement(
            network, player, period=Period(occurred_from=begin, occurred_before=end)
        )
        accounts = pages[0].accounts
        assert accounts is not None
        opening = {row["code"]: row["opening_minor"] for row in accounts if row["opening_minor"]}
        assert opening == held
        held = {row["code"]: row["closing_minor"] for row in accounts if row["closing_minor"]}
        lines += len(lines_of(pages))
    assert lines == len(lines_of(imported.statement(network, player)))
