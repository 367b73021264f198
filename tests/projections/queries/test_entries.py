"""Pages of entries: the same rows as a look at everything would give, in order, once each."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from projections import reading
from projections.cursors import InvalidCursorError
from projections.queries import entries
from projections.queries.entries import Filters
from projections.reading import Snapshot
from tests.projections.conftest import project
from tests.projections.story import NETWORK, START, Room, write


def everything(at: Snapshot) -> list[dict[str, Any]]:
    return [dict(row) for row in reading.rows(at, sa.select(reading.BOOK["entries"]))]


def passes(row: dict[str, Any], asked: Filters, positions: set[int] | None) -> bool:
    same = {
        "network": asked.network,
        "code": asked.account,
        "currency": asked.currency,
        "component": asked.component,
        "partner": asked.partner,
        "player": asked.player,
        "table_id": asked.table_id,
        "stream": asked.hand,
        "request_id": asked.request_id,
        "event": asked.event,
    }
    return (
        all(row[name] == value for name, value in same.items() if value is not None)
        and (asked.position_from is None or row["position"] >= asked.position_from)
        and (asked.position_before is None or row["position"] < asked.position_before)
        and (asked.occurred_from is None or row["occurred_at"] >= asked.occurred_from)
        and (asked.occurred_before is None or row["occurred_at"] < asked.occurred_before)
        and (asked.recorded_from is None or row["recorded_at"] >= asked.recorded_from)
        and (asked.recorded_before is None or row["recorded_at"] < asked.recorded_before)
        and (asked.least_minor is None or amount(row) >= asked.least_minor)
        and (asked.most_minor is None or amount(row) <= asked.most_minor)
        and (asked.accounts is None or row["account"] in asked.accounts)
        and (asked.ground is None or row["event"] in entries.GROUNDED)
        and (positions is None or row["position"] in positions)
    )


def amount(row: dict[str, Any]) -> int:
    return int(row["debit_minor"] + row["credit_minor"])


def walk(at: Snapshot, asked: Filters, limit: int, *, newest_first: bool) -> list[tuple[int, int]]:
    """Follow the cursors from the first page to the last."""
    keys: list[tuple[int, int]] = []
    cursor = None
    for _ in range(10_000):
        page = entries.page(at, asked, limit=limit, cursor=cursor, newest_first=newest_first)
        assert len(page.rows) <= limit
        keys += [(row["position"], row["line"]) for row in page.rows]
        cursor = page.cursor
        if cursor is None:
            return keys
    raise AssertionError("the cursors lead nowhere")


moments = st.none() | st.integers(0, 200).map(lambda n: START + timedelta(minutes=n))
filters = st.builds(
    Filters,
    network=st.sampled_from([None, NETWORK, NETWORK, "elsewhere"]),
    account=st.sampled_from([None, None, f"pot:{NETWORK}:Table 1", f"rake:{NETWORK}:south"]),
    currency=st.sampled_from([None, "EUR", "USD"]),
    component=st.sampled_from([None, "chips", "rake", "nothing"]),
    partner=st.sampled_from([None, "north", "south"]),
    player=st.sampled_from([None, None, UUID(Room(seed=1).day(hands=1)[0][1][1].player)]),  # type: ignore[attr-defined]
    table_id=st.sampled_from([None, None, "Table 2"]),
    hand=st.sampled_from([None, None, None, f"hand:{NETWORK}:{7:020d}"]),
    request_id=st.sampled_from([None, None, None, "seat Table 1 2"]),
    event=st.sampled_from([None, None, "hand.raked.v1", "player.deposited.v1", "none.v1"]),
    position_from=st.none() | st.integers(1, 260),
    position_before=st.none() | st.integers(1, 260),
    occurred_from=moments,
    occurred_before=moments,
    recorded_from=st.sampled_from([None, None, START, datetime.now(UTC) + timedelta(days=1)]),
    recorded_before=st.sampled_from([None, None, START, datetime.now(UTC) + timedelta(days=1)]),
    least_minor=st.sampled_from([None, None, 0, 300, 90_000]),
    most_minor=st.sampled_from([None, None, 0, 300, 90_000]),
    accounts=st.sampled_from([None, None, (), (1,), (2, 3, 9)]),
    ground=st.sampled_from([None, None, None, "technical-failure"]),
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(asked=filters, limit=st.sampled_from([1, 7, 1000]), newest_first=st.booleans())
def test_pages_have_every_entry_that_passes_once_and_in_order(
    at: Snapshot, asked: Filters, limit: int, newest_first: bool
) -> None:
    expected = [
        (row["position"], row["line"]) for row in everything(at) if passes(row, asked, None)
    ]
    expected.sort(reverse=newest_first)
    assert walk(at, asked, limit, newest_first=newest_first) == expected


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize(
    "asked",
    [
        Filters(),
        Filters(partner="south"),
        Filters(event="hand.raked.v1"),
        Filters(player=UUID(int=0)),
        Filters(account=f"pot:{NETWORK}:Table 1", event="hand.raked.v1"),
        Filters(occurred_from=START + timedelta(minutes=30)),
    ],
)
def test_short_looks_lead_on_to_the_end(
    at: Snapshot, asked: Filters, newest_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the least that a page may look at, the pages are short and still miss nothing."""
    monkeypatch.setattr(entries, "BLOCKS_A_PAGE", 1)
    monkeypatch.setattr(entries, "LOOKED_AT", 2)
    expected = [
        (row["position"], row["line"]) for row in everything(at) if passes(row, asked, None)
    ]
    expected.sort(reverse=newest_first)
    assert walk(at, asked, 5, newest_first=newest_first) == expected


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_smallest_pages_lead_past_events_with_several_lines_of_the_accounts(
    at: Snapshot, limit: int, newest_first: bool
) -> None:
    asked = Filters(table_id="Table 1")
    expected = [
        (row["position"], row["line"]) for row in everything(at) if passes(row, asked, None)
    ]
    expected.sort(reverse=newest_first)
    assert len({position for position, _ in expected}) < len(expected)
    assert walk(at, asked, limit, newest_first=newest_first) == expected


def test_accounts_beyond_the_most_are_looked_up_block_by_block(
    at: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Filters(table_id="Table 1")
    expected = walk(at, asked, 50, newest_first=True)
    monkeypatch.setattr(entries, "MOST_ACCOUNTS", 1)
    assert walk(at, asked, 50, newest_first=True) == expected
    assert expected


def test_a_cursor_pins_the_position_of_its_first_page(books: str) -> None:
    engine = reading.engine(books)
    with reading.snapshot(engine) as before:
        first = entries.page(before, Filters(), limit=10, newest_first=False)
        whole = walk(before, Filters(), 10, newest_first=False)
    later = Room(seed=5, network="later")
    write(books, later.day(tables=1, hands=2))
    project(books)
    with reading.snapshot(engine) as after:
        assert after.position > before.position
        keys, cursor = [(row["position"], row["line"]) for row in first.rows], first.cursor
        while cursor is not None:
            page = entries.page(after, Filters(), limit=10, cursor=cursor, newest_first=False)
            assert page.position == before.position
            keys += [(row["position"], row["line"]) for row in page.rows]
            cursor = page.cursor
    engine.dispose()
    assert keys == whole


def test_a_cursor_is_good_for_its_own_list_only(at: Snapshot) -> None:
    cursor = entries.page(at, Filters(partner="north"), limit=1).cursor
    assert cursor is not None
    for asked, newest_first in (
        (Filters(partner="south"), True),
        (Filters(partner="north"), False),
    ):
        with pytest.raises(InvalidCursorError):
            entries.page(at, asked, cursor=cursor, newest_first=newest_first)


@pytest.mark.parametrize("text", ["", "?", "AAAA", "bnVsbA", "WyJhIiwxLFtdXQ", "é"])
def test_what_is_no_cursor_is_refused(at: Snapshot, text: str) -> None:
    with pytest.raises(InvalidCursorError):
        entries.page(at, Filters(), cursor=text)


def test_an_entry_tells_where_it_comes_from(at: Snapshot) -> None:
    page = entries.page(at, Filters(hand=f"hand:{NETWORK}:{3:020d}", event="hand.raked.v1"))
    rake, pot = (row for row in page.rows if row["code"].startswith("rake")), page.rows[-1]
    assert pot["code"].startswith("pot:")
    assert pot["debit_minor"] == sum(row["credit_minor"] for row in rake)
    assert pot["request_id"] == "hand:3"
    assert pot["occurred_at"] == START + timedelta(minutes=21)
    assert pot["recorded_at"] is not None
