"""Protest windows of a story: the pages, the view and the function say what its events give."""

import random
import secrets
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
import pytest
import sqlalchemy as sa
from msgspec.structs import replace
from psycopg.conninfo import make_conninfo

from ledger.accounts import parse
from ledger.protests.windows import closes_at
from ledger.rulebooks import shipped_texts
from ledger.rulebooks.conduct import DaysWindow
from ledger.rulebooks.events import RulebookAdopted, rulebook_stream
from ledger.rulebooks.loader import parse as read
from ledger.rulebooks.loader import sha256_of
from projections.as_of import AsOf, resolve
from projections.cursors import InvalidCursorError
from projections.queries import protests
from projections.queries.protests import Days, Stake, Whose, Window, pages
from projections.reading import Snapshot
from projections.views import END_OF_WINDOW
from tests.conftest import Server, create_database
from tests.projections.conftest import drop_database, project
from tests.projections.story import NETWORK, START, Room, Written, write

MALTA = DaysWindow(days=30, zone="Europe/Malta")
FIRST_CLOSING = datetime(2024, 3, 30, 23, tzinfo=UTC)
"""Of what happened on 29 February before midnight in Malta: 23:00 UTC."""
SECOND_CLOSING = datetime(2024, 3, 31, 22, tzinfo=UTC)
"""Of what happened in the hours after it; 31 March has 23 hours."""
BACKDATED = START - timedelta(days=3)

Key = tuple[int, UUID]
"""First position and player."""


class Expected(NamedTuple):
    """What a transaction of a player must be."""

    last_position: int
    occurred_at: datetime
    rulebook: str
    window: str
    closes_at: datetime | None
    stakes: tuple[Stake, ...]


def adopted() -> list[Written]:
    """Adopt every rulebook that is shipped."""
    return [
        (
            rulebook_stream(NETWORK, read(text, file).name),
            RulebookAdopted(
                occurred_at=START - timedelta(days=400),
                actor="operator",
                request_id=f"adopt {file}",
                rulebook=read(text, file).ref,
                name=read(text, file).name,
                valid_from=read(text, file).valid_from,
                revision=1,
                file=file,
                text=text,
                sha256=sha256_of(text),
            ),
        )
        for file, text in shipped_texts()
    ]


def told() -> list[list[Written]]:
    """Tell a day: one table under another rulebook, one request without any, one commit late."""
    room = Room()
    commits = [adopted(), *room.day(hands=30)]
    table_2 = {one.player for one in room.tables["Table 2"]}

    def changed(stream: str, event: Any) -> Written:
        if getattr(event, "table", None) == "Table 2" or getattr(event, "player", "") in table_2:
            event = replace(event, rulebook="gamevelvet@2000-01-01")
        if event.request_id.startswith("withdraw"):
            event = replace(event, rulebook="")
        return stream, event

    commits = [[changed(*written) for written in commit] for commit in commits]
    late = [list(room.hand("Table 1")) for _ in range(3)]
    commits.append(
        [(stream, replace(event, occurred_at=BACKDATED)) for one in late for stream, event in one]
    )
    commits.append([(s, replace(e, rulebook="empire@2000-01-01")) for s, e in room.hand("Table 1")])
    # Another client uses a request id that was used before.
    commits.append([(s, replace(e, actor="cashier-2")) for s, e in room.withdraw("Table 1")])
    return commits


WINDOWS = {"entraction": "days", "gamevelvet": "until-next-hand-ends", "empire": "none"}


def expected(commits: Sequence[Sequence[Written]]) -> dict[Key, Expected]:
    """Work out each window from the events, in plain steps."""
    moves: dict[Any, list[Any]] = defaultdict(list)
    position = 0
    for commit, events in enumerate(commits):
        for stream, event in events:
            position += 1
            hand = stream if stream.startswith("hand:") else None
            for posting in event.postings():
                player = parse(posting.account).player
                if player is not None:
                    whole = (commit, event.request_id, event.actor, hand, UUID(player))
                    moves[whole].append((position, event, posting))
    found = {}
    for (*_, player), moved in moves.items():
        position, event, _ = moved[0]
        rulebook = event.rulebook or "entraction@2013-01-01"
        window = WINDOWS[rulebook.partition("@")[0]]
        tables = {parse(posting.account).table for _, _, posting in moved} - {None}
        if window == "until-next-hand-ends" and not tables:
            window = "none"
        amounts = [posting.amount_minor for _, _, posting in moved]
        stake = Stake("EUR", sum(amount for amount in amounts if amount > 0), sum(amounts))
        found[position, player] = Expected(
            moved[-1][0],
            event.occurred_at,
            rulebook,
            window,
            closes_at(event.occurred_at, MALTA) if window == "days" else None,
            (stake,),
        )
    return found


STORY = told()
EXPECTED = expected(STORY)
PLAYERS = sorted({player for _, player in EXPECTED})


@pytest.fixture(scope="module")
def books(postgres: Server) -> Iterator[str]:
    name = f"cardroom_protests_{secrets.token_hex(4)}"
    create_database(postgres, name, postgres.template)
    dsn = make_conninfo(postgres.application, dbname=name)
    write(dsn, STORY)
    project(dsn)
    yield dsn
    drop_database(postgres, name)


@pytest.fixture
def known(at: Snapshot) -> AsOf:
    return resolve(at)


def key_of(window: Window) -> Key:
    return window.first_position, window.player


def as_expected(window: Window) -> Expected:
    closes = window.closes_at if window.window == "days" else None
    return Expected(
        window.last_position,
        window.occurred_at,
        str(window.rulebook),
        window.window,
        closes,
        window.stakes,
    )


def walk_player(at: Snapshot, player: UUID, known: AsOf, limit: int) -> list[Window]:
    found: list[Window] = []
    cursor = None
    while True:
        page = protests.of_player(
            at, network=NETWORK, player=player, known=known, limit=limit, cursor=cursor
        )
        assert len(page.windows) <= limit
        found += page.windows
        cursor = page.cursor
        if cursor is None:
            return found


def walk_closing(
    at: Snapshot, whose: Whose, known: AsOf, limit: int, *, closing: tuple[datetime, datetime]
) -> list[Window]:
    found: list[Window] = []
    cursor = None
    for _ in range(1_000):
        days = Days(at, whose.network, *closing)
        page = protests.closing(at, whose, days, known=known, limit=limit, cursor=cursor)
        assert len(page.windows) <= limit
        found += page.windows
        cursor = page.cursor
        if cursor is None:
            return found
    raise AssertionError("the cursors lead nowhere")


def closing_keys(
    whose: Whose, partners: dict[UUID, str], begins: datetime, ends: datetime, upto: int = 10**9
) -> list[Key]:
    """Return which windows close in a range, in the order in which they close."""
    return [
        key
        for _, key in sorted(
            (one.closes_at, key)
            for key, one in EXPECTED.items()
            if one.closes_at is not None
            and begins <= one.closes_at < ends
            and whose.player in (None, key[1])
            and whose.partner in (None, partners[key[1]])
            and key[0] <= upto
        )
    ]


@pytest.fixture(scope="module")
def partners() -> dict[UUID, str]:
    return {
        UUID(event.player): event.partner  # type: ignore[attr-defined]
        for commit in STORY
        for _, event in commit
        if event.NAME == "player.registered.v1"
    }


@pytest.mark.parametrize("limit", [1, 2, 7, 100])
def test_a_players_transactions_come_newest_first_each_once_with_its_window(
    at: Snapshot, known: AsOf, limit: int
) -> None:
    for player in PLAYERS[:3] if limit < 100 else PLAYERS:
        found = walk_player(at, player, known, limit)
        own = sorted((key for key in EXPECTED if key[1] == player), reverse=True)
        assert [key_of(window) for window in found] == own
        assert [as_expected(window) for window in found] == [EXPECTED[key] for key in own]


RANGES = [
    (FIRST_CLOSING, SECOND_CLOSING),
    (SECOND_CLOSING, SECOND_CLOSING + timedelta(hours=1)),
    (FIRST_CLOSING - timedelta(days=10), FIRST_CLOSING + timedelta(days=10)),
    (FIRST_CLOSING + timedelta(seconds=1), SECOND_CLOSING),
    (FIRST_CLOSING + timedelta(days=5), FIRST_CLOSING + timedelta(days=9)),
]


@pytest.mark.parametrize("closing", RANGES)
@pytest.mark.parametrize("limit", [1, 3, 500])
def test_windows_that_close_in_a_range_come_in_the_order_in_which_they_close(
    at: Snapshot,
    known: AsOf,
    partners: dict[UUID, str],
    closing: tuple[datetime, datetime],
    limit: int,
) -> None:
    for whose in (Whose(NETWORK), Whose(NETWORK, partner="north"), Whose(NETWORK, PLAYERS[0])):
        if limit == 1 and whose != Whose(NETWORK, PLAYERS[0]):
            continue
        found = walk_closing(at, whose, known, limit, closing=closing)
        assert [key_of(window) for window in found] == closing_keys(whose, partners, *closing)
        assert [as_expected(one) for one in found] == [EXPECTED[key_of(one)] for one in found]


def test_a_page_that_has_looked_far_enough_is_short_and_leads_on(
    at: Snapshot, known: AsOf, partners: dict[UUID, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "LOOKS", 1)
    monkeypatch.setattr(pages, "LOOKED_AT", 4)
    whose = Whose(NETWORK, partner="south")
    found = walk_closing(at, whose, known, 50, closing=RANGES[2])
    assert [key_of(window) for window in found] == closing_keys(whose, partners, *RANGES[2])


def test_an_answer_as_of_a_position_is_what_the_events_up_to_it_give(
    at: Snapshot, partners: dict[UUID, str]
) -> None:
    commits = at.connection.execute(sa.text("SELECT last_position FROM journal.commits")).scalars()
    for position in list(commits)[::4]:
        known = resolve(at, position=position)
        whose = Whose(NETWORK, partner="north")
        found = walk_closing(at, whose, known, 500, closing=RANGES[2])
        assert [key_of(one) for one in found] == closing_keys(
            whose, partners, *RANGES[2], upto=position
        )
        own = walk_player(at, PLAYERS[0], known, 500)
        assert {key_of(one) for one in own} == {
            key for key in EXPECTED if key[1] == PLAYERS[0] and key[0] <= position
        }


def test_what_happened_later_than_the_instant_asked_for_is_left_out(
    at: Snapshot, partners: dict[UUID, str]
) -> None:
    until = resolve(at, occurred_at=START - timedelta(days=1))
    found = walk_closing(at, Whose(NETWORK), until, 500, closing=RANGES[2])
    assert {one.occurred_at for one in found} == {BACKDATED}
    assert len(found) == len([one for one in EXPECTED.values() if one.occurred_at == BACKDATED])


# -- what is at stake ----------------------------------------------------------------------------


def summed(windows: Sequence[Window]) -> list[Stake]:
    stakes = [stake for window in windows for stake in window.stakes]
    gross = sum(stake.gross_minor for stake in stakes)
    return [Stake("EUR", gross, sum(stake.net_minor for stake in stakes))] if stakes else []


def test_what_is_at_stake_is_the_sum_over_the_windows(at: Snapshot, known: AsOf) -> None:
    backdated = (closes_at(BACKDATED, MALTA), closes_at(BACKDATED, MALTA) + timedelta(hours=1))
    days = Days(at, NETWORK, *backdated)
    for whose in (
        Whose(NETWORK),
        Whose(NETWORK, partner="north"),
        Whose(NETWORK, partner="nobody"),
    ):
        found = walk_closing(at, whose, known, 500, closing=backdated)
        assert protests.at_stake(at, whose, days, known=known) == summed(found)
    before = known._replace(occurred_at=BACKDATED - timedelta(hours=1))
    assert protests.at_stake(at, Whose(NETWORK), days, known=before) == []


def test_what_is_at_stake_is_not_said_where_other_rules_judged_on_the_same_day(
    at: Snapshot, known: AsOf
) -> None:
    days = Days(at, NETWORK, FIRST_CLOSING, SECOND_CLOSING)
    assert protests.at_stake(at, Whose(NETWORK), days, known=known) is None
    own = Whose(NETWORK, PLAYERS[0])
    found = walk_closing(at, own, known, 500, closing=(FIRST_CLOSING, SECOND_CLOSING))
    assert protests.at_stake(at, own, days, known=known) == summed(found)


# -- rules without days --------------------------------------------------------------------------


def test_a_window_until_the_next_hand_closes_when_that_is_recorded(
    at: Snapshot, known: AsOf
) -> None:
    hands = [
        (stream, at_stream)
        for stream, at_stream in at.connection.execute(
            sa.text(
                "SELECT stream, min(position) FROM book.entries WHERE code = :pot"
                " GROUP BY stream ORDER BY 2"
            ),
            {"pot": f"pot:{NETWORK}:Table 2"},
        )
    ]
    recorded: dict[int, datetime] = {
        position: recorded_at
        for position, recorded_at in at.connection.execute(
            sa.text("SELECT position, recorded_at FROM book.entries WHERE line = 0")
        )
    }
    following = {stream: recorded[begin] for (stream, _), (_, begin) in pairwise(hands)}
    seated = [window.player for window in _of_table_2(at, known)]
    assert len(seated) > 10
    for window in _of_table_2(at, known):
        if window.stream.startswith("hand:"):
            assert window.closes_at == following.get(window.stream)
        else:
            assert window.closes_at == recorded[hands[0][1]]
    last = [one for one in _of_table_2(at, known) if one.stream == hands[-1][0]]
    assert all(one.is_open(one.occurred_at + timedelta(days=1_000)) for one in last)
    early = resolve(at, position=hands[1][1] - 1)
    assert {one.closes_at for one in _of_table_2(at, early) if one.stream == hands[0][0]} == {None}


def _of_table_2(at: Snapshot, known: AsOf) -> list[Window]:
    return [
        window
        for player in PLAYERS
        for window in walk_player(at, player, known, 500)
        if window.window == "until-next-hand-ends"
    ]


@pytest.mark.parametrize(
    ("moment", "is_open"),
    [
        (START - timedelta(seconds=1), False),
        (START, True),
        (FIRST_CLOSING - timedelta(microseconds=1), True),
        (FIRST_CLOSING, False),
    ],
)
def test_a_window_is_open_from_the_transaction_to_its_closing(
    at: Snapshot, known: AsOf, moment: datetime, is_open: bool
) -> None:
    [window] = [
        one
        for player in PLAYERS
        for one in walk_player(at, player, known, 500)
        if one.request_id == "seat Table 1 1"
    ]
    assert window.is_open(moment) is is_open


def test_what_a_rulebook_without_protests_judged_is_never_open(at: Snapshot, known: AsOf) -> None:
    found = [
        one
        for player in PLAYERS
        for one in walk_player(at, player, known, 500)
        if one.rulebook == "empire@2000-01-01"
    ]
    assert len(found) == 4
    assert not any(one.is_open(one.occurred_at + timedelta(hours=1)) for one in found)


# -- in SQL --------------------------------------------------------------------------------------


def in_sql(dsn: str, statement: str, *parameters: Any) -> dict[Key, Expected]:
    with psycopg.connect(dsn, row_factory=psycopg.rows.dict_row) as connection:
        connection.execute("SET TIME ZONE 'UTC'")
        return {
            (row["first_position"], row["player"]): Expected(
                row["last_position"],
                row["occurred_at"],
                row["rulebook"],
                row["window_kind"],
                row["closes_at"] if row["window_kind"] == "days" else None,
                (Stake(row["currency"], row["gross_minor"], row["net_minor"]),),
            )
            for row in connection.execute(statement, parameters)  # type: ignore[arg-type]
        }


def test_the_view_has_the_same_windows(books: str, at: Snapshot, known: AsOf) -> None:
    assert in_sql(books, "SELECT * FROM book.protest_windows") == EXPECTED
    own = in_sql(books, "SELECT * FROM book.protest_windows WHERE player = %s", PLAYERS[0])
    assert own == {key: one for key, one in EXPECTED.items() if key[1] == PLAYERS[0]}
    closing = {
        (row.first_position, row.player): row.closes_at
        for row in at.connection.execute(sa.text("SELECT * FROM book.protest_windows"))
    }
    for window in _of_table_2(at, known):
        assert closing[key_of(window)] == window.closes_at


def test_the_functions_have_the_same_windows(books: str, partners: dict[UUID, str]) -> None:
    upto = 150
    for whose in (Whose(NETWORK, partner="north"), Whose(NETWORK, partner="south")):
        for begins, ends in RANGES:
            asked = (NETWORK, whose.partner, begins, ends)
            found = in_sql(
                books, "SELECT * FROM book.protest_windows_closing(%s, %s, %s, %s)", *asked
            )
            assert list(found) == closing_keys(whose, partners, begins, ends)
            earlier = in_sql(
                books,
                "SELECT * FROM book.protest_windows_closing(%s, %s, %s, %s, %s)",
                *(*asked, upto),
            )
            assert list(earlier) == closing_keys(whose, partners, begins, ends, upto)
    found = in_sql(
        books, "SELECT * FROM book.protest_windows_as_of(%s, NULL, %s)", 10**6, PLAYERS[:2]
    )
    assert found == {key: one for key, one in EXPECTED.items() if key[1] in PLAYERS[:2]}


ZONES = ["Europe/Malta", "Asia/Beirut", "America/Havana", "America/Sao_Paulo", "Pacific/Apia"]


def test_the_database_ends_windows_at_the_same_instants(books: str) -> None:
    instants = random.Random(31)
    cases = [
        (
            datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=instants.randrange(10**15)),
            instants.choice((1, 7, 30, 365)),
            instants.choice(ZONES),
        )
        for _ in range(3_000)
    ]
    # And each quarter of an hour around the changes of Malta's clocks, thirty days before and on.
    for change in (datetime(2013, 3, 31, 1, tzinfo=UTC), datetime(2013, 10, 27, 1, tzinfo=UTC)):
        for quarters, days in product(range(-120, 120), (1, 30)):
            around = change - timedelta(days=days, minutes=15 * quarters)
            cases += [(around, days, zone) for zone in ("Europe/Malta", "America/Havana")]
    cases.append((datetime(9999, 12, 20, tzinfo=UTC), 30, "Europe/Malta"))
    # The projector's own query, over these instants in place of transactions.
    asked = (
        "SELECT t.occurred_at, v.window_days, v.window_zone, day.closes_at"
        "  FROM unnest(%s::timestamptz[], %s::int[], %s::text[])"
        "    AS t (occurred_at, days, zone)"
        " CROSS JOIN LATERAL (SELECT 'days' AS window_kind, days AS window_days,"
        "                            zone AS window_zone) AS v" + END_OF_WINDOW
    )
    with psycopg.connect(books) as connection:
        found = connection.execute(asked, [list(column) for column in zip(*cases, strict=True)])
        for occurred, days, zone, closes in found:
            assert closes == closes_at(occurred, DaysWindow(days=days, zone=zone)), (occurred, zone)


def test_a_cursor_of_another_list_is_refused(at: Snapshot, known: AsOf) -> None:
    days = Days(at, NETWORK, *RANGES[2])
    page = protests.closing(at, Whose(NETWORK), days, known=known, limit=1)
    assert page.cursor is not None
    with pytest.raises(InvalidCursorError):
        protests.of_player(at, network=NETWORK, player=PLAYERS[0], known=known, cursor=page.cursor)
    north = Whose(NETWORK, partner="north")
    with pytest.raises(InvalidCursorError):
        protests.closing(at, north, days, known=known, cursor=page.cursor)
