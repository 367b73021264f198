"""What players, tables, partners and the room have, as the story says."""

from datetime import date
from uuid import UUID

import psycopg
import pytest
import sqlalchemy as sa

from projections import reading
from projections.cursors import InvalidCursorError
from projections.queries import (
    bankrolls,
    client_funds,
    jackpots,
    payments,
    players,
    tables,
    trial_balance,
)
from projections.reading import Snapshot
from tests.projections.conftest import project
from tests.projections.story import NETWORK, Room, write

DEPOSITED = 8 * 90_000


def test_client_funds_are_what_was_deposited_less_the_rake(at: Snapshot) -> None:
    (row,) = client_funds.by_currency(at, network=NETWORK)
    components = ("bankroll", "frozen", "withdrawal", "chips", "pot", "jackpot")
    assert row["liability_minor"] == sum(row[f"{name}_minor"] for name in components)
    accounts = trial_balance.house_accounts(at, network=NETWORK)
    earned = sum(one["balance_minor"] for one in accounts if one["component"] == "rake")
    assert earned > 0
    assert row["liability_minor"] == DEPOSITED - earned
    assert row["assets_minor"] == row["transit_minor"] == DEPOSITED
    assert row["coverage_bps"] == DEPOSITED * 10_000 // row["liability_minor"]
    assert (row["money"], row["pot_minor"], row["withdrawal_minor"]) == ("real", 0, 5_000)


def test_funds_by_partner_add_up_to_what_is_owed_to_players(at: Snapshot) -> None:
    (whole,) = client_funds.by_currency(at)
    parts = client_funds.by_partner(at, network=NETWORK)
    assert {row["partner"] for row in parts} == {"north", "south", None}
    assert sum(row["balance_minor"] for row in parts) == whole["liability_minor"]
    south = client_funds.by_partner(at, network=NETWORK, partner="south")
    assert south == [row for row in parts if row["partner"] == "south"]


def test_the_trial_balance_balances(at: Snapshot) -> None:
    answer = trial_balance.balance(at)
    (total,) = answer.totals
    assert answer.position == at.position
    assert total["difference_minor"] == 0
    assert total["debit_minor"] == sum(row["debit_minor"] for row in answer.components)
    assert trial_balance.balance(at, network="elsewhere").components == []


def test_a_players_money_is_where_the_story_left_it(at: Snapshot, room: Room) -> None:
    player = UUID(room.players[0])
    money = bankrolls.one(at, network=NETWORK, player=player)
    (purse,) = money.purses
    (chips,) = money.chips
    assert (purse["cash_minor"], purse["pending_minor"], purse["debt_minor"]) == (25_000, 5_000, 0)
    assert purse["chips_minor"] == chips["chips_minor"]
    table = tables.one(at, network=NETWORK, table_id="Table 1")
    assert table is not None
    assert table["seats"]["1"] == {
        "player": room.players[0],
        "partner": purse["partner"],
        "chips_minor": chips["chips_minor"],
    }
    assert bankrolls.one(at, network="elsewhere", player=player).purses == []


def test_lists_are_paged_by_their_keys(at: Snapshot, room: Room) -> None:
    seen: list[str] = []
    cursor = None
    while True:
        page = players.page(at, network=NETWORK, limit=3, cursor=cursor)
        seen += [str(row["player"]) for row in page.rows]
        money = bankrolls.page(at, network=NETWORK, limit=3, cursor=cursor)
        assert [row["player"] for row in money.rows] == [row["player"] for row in page.rows]
        assert page.cursor == money.cursor
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == sorted(room.players)
    with pytest.raises(InvalidCursorError):
        players.page(at, network=NETWORK, cursor="AAAA")


def test_players_are_found_by_partner_and_standing(at: Snapshot, room: Room) -> None:
    of_north = players.page(at, network=NETWORK, partner="north", status="active").rows
    of_south = players.page(at, network=NETWORK, partner="south", status="active").rows
    assert len(of_north) + len(of_south) == len(room.players)
    one = players.one(at, network=NETWORK, player=of_north[0]["player"])
    assert one == of_north[0]
    assert players.one(at, network="elsewhere", player=of_north[0]["player"]) is None
    assert players.page(at, network=NETWORK, status="closed").rows == []


def test_tables_tell_what_was_played_by_day_and_partner(at: Snapshot, room: Room) -> None:
    listed = tables.page(at, network=NETWORK, status="open").rows
    assert [row["table_id"] for row in listed] == ["Table 1", "Table 2"]
    assert sum(row["hands"] for row in listed) == room.hands == 20
    first, last = date(2024, 2, 29), date(2024, 3, 1)
    hands = rake = contributed = 0
    for row in listed:
        days = tables.days(at, network=NETWORK, table_id=row["table_id"], first=first, last=last)
        assert sum(day["hands"] for day in days.days) == row["hands"]
        assert sum(day["rake_minor"] for day in days.days) == sum(
            part["rake_minor"] for part in days.rake_by_partner
        )
        hands += sum(day["hands"] for day in days.days)
        rake += sum(day["rake_minor"] for day in days.days)
        contributed += sum(day["contribution_minor"] for day in days.days)
    assert hands == 20
    (pool,) = jackpots.pools(at, network=NETWORK)
    assert pool["pool_minor"] == contributed > 0
    accounts = trial_balance.house_accounts(at, network=NETWORK)
    earned = sum(row["balance_minor"] for row in accounts if row["component"] == "rake")
    assert rake == earned + contributed


def test_days_are_those_that_are_asked_for(at: Snapshot) -> None:
    days = tables.days(
        at,
        network=NETWORK,
        table_id="Table 1",
        first=date(2024, 3, 1),
        last=date(2024, 3, 1),
        partner="north",
    )
    assert {row["occurred_day"] for row in days.days} == {date(2024, 3, 1)}
    assert {row["partner"] for row in days.rake_by_partner} == {"north"}


def test_deposits_and_withdrawals_have_their_status(at: Snapshot, room: Room) -> None:
    confirmed = payments.deposits(at, network=NETWORK, status="confirmed").rows
    assert sum(row["amount_minor"] for row in confirmed) == DEPOSITED
    (asked,) = payments.withdrawals(at, network=NETWORK, player=UUID(room.players[0])).rows
    assert (asked["withdrawal"], asked["status"]) == ("w1", "requested")


def test_networks_and_play_money_are_apart(books: str) -> None:
    other = Room(seed=9, network="elsewhere")
    write(books, [list(other.open("Table 1")), list(other.hand("Table 1"))])
    project(books)
    engine = reading.engine(books)
    with reading.snapshot(engine) as at:
        assert [row["network"] for row in client_funds.by_currency(at)] == ["elsewhere", NETWORK]
        (row,) = client_funds.by_currency(at, network="elsewhere")
        assert row["assets_minor"] == 4 * 90_000
    engine.dispose()


def test_an_answer_waits_for_a_position_and_not_for_ever(books: str, engine: sa.Engine) -> None:
    with reading.snapshot(engine) as at:
        now = at.position
    assert reading.wait_for(engine, now, 0.05)
    assert not reading.wait_for(engine, now + 1, 0.05)
    write(books, [list(Room(seed=3, network="later").open("Table 1"))])
    project(books)
    assert reading.wait_for(engine, now + 1, 0.05)


def test_a_snapshot_does_not_move(books: str, engine: sa.Engine) -> None:
    with reading.snapshot(engine) as at:
        before = trial_balance.balance(at)
        write(books, [list(Room(seed=3, network="later").open("Table 1"))])
        project(books)
        assert trial_balance.balance(at) == before
    with reading.snapshot(engine) as after:
        assert after.position > before.position


def test_without_projections_there_is_no_answer(dsn: str) -> None:
    engine = reading.engine(dsn)
    with pytest.raises(reading.NotProjectedError), reading.snapshot(engine):
        pass
    engine.dispose()


def test_every_view_and_column_is_described(books: str) -> None:
    with psycopg.connect(books) as connection:
        missing = connection.execute(
            "SELECT relname, attname FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid"
            " WHERE relnamespace = 'book'::regnamespace AND attnum > 0"
            " AND (col_description(c.oid, attnum) IS NULL OR obj_description(c.oid) IS NULL)"
        ).fetchall()
    assert missing == []
