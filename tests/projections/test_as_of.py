"""Any figure as of any instant: what the events up to it add up to, and it stays so."""

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, NamedTuple

import psycopg
import pytest
import sqlalchemy as sa
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ledger import accounts as chart
from ledger import catalogue
from ledger.core import Posting
from ledger.players.events import PlayerRegistered
from projections import as_of, generations, reading, rebuild
from projections.as_of import AsOf
from projections.functions import ENTRIES_APART, FEW_ACCOUNTS, FUNCTIONS, LATER_BLOCKS
from projections.queries import bankrolls, client_funds, jackpots, trial_balance
from projections.reading import BOOK, Snapshot
from tests.conftest import Server, create_database
from tests.projections.conftest import drop_database, project
from tests.projections.story import START, Room, Written, write

DEBIT_SIDES = ("asset", "expense", "equity", "suspense")


class Line(NamedTuple):
    """A posting with where and when it was booked."""

    position: int
    occurred_at: datetime
    posting: Posting


class Told:
    """The journal, read and added up in the plainest way there is."""

    def __init__(self, dsn: str) -> None:
        self.lines: list[Line] = []
        self.partners: dict[tuple[str, str], str] = {}
        with psycopg.connect(dsn) as connection:
            for topic, state, position in connection.execute(
                "SELECT topic, state, notification_id FROM journal.events ORDER BY notification_id"
            ):
                event = catalogue.decode(topic, state)
                if isinstance(event, PlayerRegistered):
                    self.partners[event.network, event.player] = event.partner
                self.lines += [Line(position, event.occurred_at, one) for one in event.postings()]

    def sums(self, known: AsOf) -> dict[tuple[str, str], list[int]]:
        """Return the debits and credits of each account and currency."""
        sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
        for position, occurred_at, (code, currency, amount) in self.lines:
            if position > known.position:
                break
            if known.occurred_at is None or occurred_at <= known.occurred_at:
                sums[code, currency][amount < 0] += abs(amount)
        return sums

    def partner(self, account: chart.Account) -> str | None:
        """Return whose income it is, or whose player's money."""
        if account.player is None:
            return account.partner
        return self.partners[account.network, account.player]


def on_side(side: str, debit: int, credit: int) -> int:
    return debit - credit if side in DEBIT_SIDES else credit - debit


def expected(told: Told, known: AsOf) -> dict[str, Any]:
    """Return what each question's answer has to say, by the postings alone."""
    by_account: dict[Any, int] = {}
    by_component: dict[Any, list[int]] = defaultdict(lambda: [0, 0])
    funds: dict[Any, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    purses: dict[Any, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for (code, currency), (debit, credit) in told.sums(known).items():
        account = chart.parse(code)
        held = by_account[code, currency] = on_side(account.side, debit, credit)
        place = (account.network, account.component, told.partner(account), currency)
        by_component[place][0] += debit
        by_component[place][1] += credit
        in_funds = funds[account.network, currency]
        if account.component in ("bank", "transit", "debt") or account.side == "player-funds":
            in_funds[account.component] += held
        if account.side == "player-funds":
            in_funds["liability"] += held
        if account.player is not None:
            purses[account.network, account.player, currency][account.component] += held
    return {
        "accounts": by_account,
        "components": dict(by_component),
        "funds": {place: {k: v for k, v in one.items() if v} for place, one in funds.items()},
        "purses": {place: {k: v for k, v in one.items() if v} for place, one in purses.items()},
    }


FUNDS = ("bankroll", "frozen", "withdrawal", "chips", "pot", "jackpot", "liability", "bank")
PURSE = {"cash": "bankroll", "frozen": "frozen", "pending": "withdrawal", "chips": "chips"}


def answered(at: Snapshot, known: AsOf | None) -> dict[str, Any]:
    """Ask every question, and put the answers as they are expected."""
    networks = {row["network"] for row in reading.rows(at, sa.select(BOOK["players"]))}
    accounts = reading.rows(at, sa.select(as_of.view("accounts", known)))
    components = reading.rows(at, sa.select(as_of.view("components", known)))
    funds = client_funds.by_currency(at, known=known)
    purses = [
        row
        for network in networks
        for row in bankrolls.page(at, network=network, limit=1_000, known=known).rows
    ]
    return {
        "accounts": {(row["code"], row["currency"]): row["balance_minor"] for row in accounts},
        "components": {
            (row["network"], row["component"], row["partner"], row["currency"]): [
                row["debit_minor"],
                row["credit_minor"],
            ]
            for row in components
        },
        "funds": {
            (row["network"], row["currency"]): {
                name: row[f"{name}_minor"]
                for name in (*FUNDS, "transit", "debt")
                if row[f"{name}_minor"]
            }
            for row in funds
        },
        "purses": {
            (row["network"], str(row["player"]), row["currency"]): {
                component: row[f"{name}_minor"]
                for name, component in (*PURSE.items(), ("debt", "debt"))
                if row[f"{name}_minor"]
            }
            for row in purses
        },
    }


def of_accounts(at: Snapshot, known: AsOf, named: Container[Any]) -> dict[Any, int]:
    """Ask for what some accounts held, by their numbers."""
    every = reading.rows(at, sa.select(BOOK["accounts"]))
    numbers = [row["account"] for row in every if (row["code"], row["currency"]) in named]
    asked = as_of.view("accounts", known, sa.cast(numbers, sa.ARRAY(sa.Integer)))
    found = reading.rows(at, sa.select(asked))
    return {(row["code"], row["currency"]): row["balance_minor"] for row in found}


class Books(NamedTuple):
    """Books to which histories are appended."""

    dsn: str
    owner_dsn: str
    engine: sa.Engine
    given: list[tuple[AsOf, dict[str, Any]]]
    """Answers that were given, never to change."""


@pytest.fixture(scope="module")
def growing(postgres: Server) -> Iterator[Books]:
    name = "cardroom_as_of"
    create_database(postgres, name, postgres.template)
    dsn = make_conninfo(postgres.application, dbname=name)
    generations.ensure(dsn)
    engine = reading.engine(dsn)
    growing = Books(dsn, make_conninfo(postgres.owner, dbname=name), engine, [])
    append(growing, history(Random(1), "first", hands=300, late=0.05), batch=700)
    yield growing
    engine.dispose()
    drop_database(postgres, name)


def history(random: Random, network: str, *, hands: int, late: float) -> list[list[Written]]:
    """Play hands of which some are booked long after, or dated before, they were played."""
    room = Room(random.randrange(1000), network=network)
    commits = [list(room.open("Table 1")), list(room.open("Table 2"))]
    events: list[Written] = []
    for _ in range(hands):
        now = room.now
        if random.random() < late:
            room.now += timedelta(minutes=random.randrange(-3_000, 500))
        events += room.hand(random.choice([*room.tables]))
        room.now = now + timedelta(minutes=random.choice((0, 1, 20)))
        if random.random() < 0.4:
            commits.append(events)
            events = []
    return [*commits, [*events, *room.withdraw("Table 1")]]


def append(books: Books, commits: Sequence[Sequence[Written]], batch: int) -> None:
    """Book a history as if 90 seconds passed with each event, and project it."""
    write(books.dsn, commits)
    with psycopg.connect(books.owner_dsn) as connection:
        connection.execute("ALTER TABLE journal.commits DISABLE TRIGGER ALL")
        connection.execute(
            "UPDATE journal.commits SET recorded_at = %s + last_position * interval '90 s'",
            (START,),
        )
        connection.execute("ALTER TABLE journal.commits ENABLE ALWAYS TRIGGER append_only_rows")
        connection.execute("ALTER TABLE journal.commits ENABLE ALWAYS TRIGGER append_only_table")
    project(books.dsn, batch)


def instants(random: Random, told: Told, count: int) -> Iterator[AsOf]:
    """Choose positions anywhere, and instants anywhere or next to that of an entry."""
    last = told.lines[-1].position
    for _ in range(count):
        position = random.choice((last, random.randint(0, last), random.randint(0, last)))
        near = random.choice([one for one in told.lines if one.position <= position] or told.lines)
        occurred_at = random.choice(
            (
                None,
                near.occurred_at + timedelta(microseconds=random.randint(-1, 1)),
                near.occurred_at.replace(minute=0) + timedelta(hours=random.randint(0, 1)),
                near.occurred_at + timedelta(minutes=random.randint(-5_000, 5_000)),
            )
        )
        yield AsOf(position, occurred_at)


# Nothing is made smaller after a failure: each example goes on from the books of the ones before.
@settings(max_examples=6, deadline=None, phases=(Phase.generate,))
@given(
    seed=st.integers(0, 10_000),
    hands=st.integers(1, 120),
    late=st.sampled_from((0.0, 0.02, 0.5, 1.0)),
    batch=st.sampled_from((1, 60, 500, 50_000)),
)
def test_an_answer_is_what_the_events_up_to_it_add_up_to_and_never_changes(
    growing: Books, seed: int, hands: int, late: float, batch: int
) -> None:
    random = Random(seed)
    append(growing, history(random, f"room{random.random()}", hands=hands, late=late), batch)
    told = Told(growing.dsn)
    with reading.snapshot(growing.engine) as at:
        for known, answer in random.sample(growing.given, min(10, len(growing.given))):
            assert answered(at, known) == answer, known
        for known in instants(random, told, 25):
            answer = answered(at, known)
            assert answer == expected(told, known), known
            growing.given.append((known, answer))
        assert answered(at, as_of.resolve(at)) == answered(at, None)


def test_the_present_is_the_instant_of_the_last_position(growing: Books) -> None:
    with reading.snapshot(growing.engine) as at:
        for later in (None, datetime(2030, 1, 1, tzinfo=UTC)):
            now = as_of.resolve(at, occurred_at=later)
            for name in ("accounts", "bankrolls", "chips", "client_funds", "components"):
                assert everything(at, as_of.view(name, now)) == everything(at, BOOK[name])
            for name in ("jackpots", "trial_balance"):
                assert everything(at, as_of.view(name, now)) == everything(at, BOOK[name])
            (network, *_) = {row["network"] for row in client_funds.by_currency(at)}
            for ask in (client_funds.by_partner, trial_balance.balance, jackpots.pools):
                assert ask(at, network=network, known=now) == ask(at, network=network)
            house = trial_balance.house_accounts
            assert house(at, network=network, known=now) == house(at, network=network)


def test_a_players_money_as_of_an_instant_is_his_part_of_everybodys(growing: Books) -> None:
    random, told = Random(5), Told(growing.dsn)
    with reading.snapshot(growing.engine) as at:
        for known in instants(random, told, 20):
            purses = bankrolls.page(at, network="first", limit=1_000, known=known).rows
            for player in {row["player"] for row in purses}:
                money = bankrolls.one(at, network="first", player=player, known=known)
                assert money.position == known.position
                assert money.purses == [row for row in purses if row["player"] == player]
                in_play = sum(row["chips_minor"] for row in money.chips)
                assert in_play == sum(row["chips_minor"] for row in money.purses)


ONE_BY_ONE = f"<= {FEW_ACCOUNTS} THEN"
LATER = f"<= {LATER_BLOCKS} THEN"
ALONE = f"> {ENTRIES_APART} THEN"


@pytest.mark.parametrize("otherwise", [(ONE_BY_ONE,), (LATER,), (LATER, ALONE)])
def test_accounts_are_the_same_however_what_happened_later_is_left_out(
    growing: Books, otherwise: Sequence[str]
) -> None:
    told = Told(growing.dsn)
    with psycopg.connect(growing.dsn) as connection:
        (made,) = connection.execute(
            "SELECT pg_get_functiondef('book.accounts_as_of'::regproc)"
        ).fetchone() or ("",)
    for condition in otherwise:
        assert made.count(condition) == 1
        made = made.replace(condition, "> 0 THEN" if condition is ALONE else "< 0 THEN")
    with reading.engine(growing.dsn).connect() as connection:
        connection.exec_driver_sql("BEGIN")  # It is undone when the connection is let go.
        connection.exec_driver_sql(made)
        at = Snapshot(connection, told.lines[-1].position)
        random = Random(6)
        for known in instants(random, told, 20):
            held = expected(told, known)["accounts"]
            assert answered(at, known)["accounts"] == held, known
            for named in (held, dict.fromkeys(random.sample(sorted(held), min(3, len(held))))):
                assert of_accounts(at, known, named) == {one: held[one] for one in named}, known


def test_another_generation_gives_the_same_answers(growing: Books) -> None:
    given = growing.given[:5]
    assert given
    rebuild.rebuild(growing.dsn)
    with reading.snapshot(growing.engine) as at:
        for known, answer in given:
            assert answered(at, known) == answer


def recorded(books: Books) -> list[tuple[datetime, int]]:
    with psycopg.connect(books.dsn) as connection:
        return connection.execute(
            "SELECT recorded_at, last_position FROM journal.commits ORDER BY last_position"
        ).fetchall()


def test_a_recorded_time_is_the_last_position_recorded_by_then(growing: Books) -> None:
    commits = recorded(growing)
    moment = timedelta(microseconds=1)
    with reading.snapshot(growing.engine) as at:
        for number in (0, 1, 7, len(commits) - 2):
            asked, position = commits[number]
            assert as_of.resolve(at, recorded_at=asked) == AsOf(position, None, asked)
            assert as_of.resolve(at, recorded_at=asked + moment).position == position
            before = as_of.resolve(at, recorded_at=asked - moment).position
            assert before == (commits[number - 1][1] if number else 0)
        early = as_of.resolve(at, position=commits[0][1], recorded_at=commits[3][0])
        assert early.position == commits[0][1]


def test_what_is_asked_beyond_the_end_is_answered_there_and_said_so(growing: Books) -> None:
    last, end = recorded(growing)[-1]
    with reading.snapshot(growing.engine) as at:
        for asked, clamped in (
            ({"position": end}, False),
            ({"position": end + 1}, True),
            ({"occurred_at": last + timedelta(days=9)}, False),
            # Another commit may be recorded at the very same instant.
            ({"recorded_at": last}, True),
            ({"recorded_at": last + timedelta(days=9)}, True),
        ):
            found = as_of.resolve(at, **asked)
            assert (found.position, found.clamped) == (end, clamped)
            assert found[1:3] == (asked.get("occurred_at"), asked.get("recorded_at"))


def test_what_is_recorded_and_not_projected_is_beyond_the_end(books: str, room: Room) -> None:
    engine = reading.engine(books)
    with reading.snapshot(engine) as at:
        end = at.position
    write(books, [list(room.hand("Table 1"))])
    with psycopg.connect(books) as connection:
        (last,) = connection.execute("SELECT max(recorded_at) FROM journal.commits").fetchone() or (
            None,
        )
    with reading.snapshot(engine) as at:
        assert as_of.resolve(at, recorded_at=last) == AsOf(end, None, last, clamped=True)
    engine.dispose()


def test_books_without_events_have_nothing_as_of_any_instant(dsn: str) -> None:
    generations.ensure(dsn)
    engine = reading.engine(dsn)
    with reading.snapshot(engine) as at:
        known = as_of.resolve(at, recorded_at=START, occurred_at=START)
        assert known == AsOf(0, START, START, clamped=True)
        assert answered(at, known) == answered(at, None)
        assert answered(at, None)["accounts"] == {}
    engine.dispose()


def test_an_auditor_asks_in_plain_sql(postgres: Server, books: str, auditor: str) -> None:
    """The functions need no right but to read the views."""
    database = conninfo_to_dict(books)["dbname"]
    with psycopg.connect(make_conninfo(postgres.admin, dbname=database)) as connection:
        (end,) = connection.execute("SELECT position FROM book.generation").fetchone() or (0,)
        connection.execute(f"GRANT USAGE ON SCHEMA book TO {auditor}")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA book TO {auditor}")
        connection.execute(f"SET ROLE {auditor}")
        for name in (one.name for one in FUNCTIONS if one.name.endswith("_as_of")):
            now = f"SELECT * FROM book.{name}({end})"
            rows = connection.execute(now).fetchall()
            assert rows, name
            assert connection.execute(f"SELECT * FROM book.{name}({end}, 'infinity')").fetchall()
            assert connection.execute(f"SELECT * FROM book.{name}(0)").fetchall() == []
        assert connection.execute("SELECT book.position_at('infinity')").fetchone() == (end,)
        connection.rollback()


def test_every_function_is_described(books: str) -> None:
    with psycopg.connect(books) as connection:
        described = connection.execute(
            "SELECT proname, obj_description(oid, 'pg_proc') IS NOT NULL, provolatile FROM pg_proc"
            " WHERE pronamespace = 'book'::regnamespace"
        ).fetchall()
    assert sorted(described) == sorted((one.name, True, "s") for one in FUNCTIONS)


def everything(at: Snapshot, view: Any) -> list[str]:
    return sorted(str(row) for row in reading.rows(at, sa.select(view)))
