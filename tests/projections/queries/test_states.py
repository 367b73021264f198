"""What streams had become, and hands as of a position: the same as a look at all events gives."""

from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from ledger import catalogue
from ledger.core import category_of
from projections import reading
from projections.as_of import AsOf
from projections.queries import hands, players, states, tables
from projections.reading import Page, Snapshot
from tests.projections.story import NETWORK

Written = tuple[int, str, str, bytes]


def events(at: Snapshot) -> list[Written]:
    """Return every event: position, stream, stored name, content."""
    found = at.connection.execute(
        sa.text(
            "SELECT notification_id, originator_id, topic, state FROM journal.events ORDER BY 1"
        )
    )
    return [(row[0], row[1], row[2], bytes(row[3])) for row in found]


def folded(written: list[Written], stream: str, position: int) -> tuple[Any, int, int]:
    state, last, version = None, 0, 0
    evolve = catalogue.STREAMS[category_of(stream)].evolve
    for reached, of, topic, content in written:
        if of == stream and reached <= position:
            state, last = evolve(state, catalogue.decode(topic, content)), reached
            version += 1
    return state, last, version


def walk(page_of: Any, limit: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = None
    for _ in range(1_000):
        page: Page = page_of(limit=limit, cursor=cursor)
        assert len(page.rows) <= limit
        found += [dict(row) for row in page.rows]
        cursor = page.cursor
        if cursor is None:
            return found
    raise AssertionError("the cursors lead nowhere")


def some(at: Snapshot) -> list[int]:
    return [0, 1, *range(2, at.position, 17), at.position]


@pytest.mark.parametrize("stream", [f"table:{NETWORK}:Table 1", f"table:{NETWORK}:nowhere"])
def test_a_stream_is_folded_up_to_any_position(at: Snapshot, stream: str) -> None:
    written = events(at)
    for position in some(at):
        state, last, version = folded(written, stream, position)
        expected = states.Past(state, last, version) if version else None
        assert states.fold(at, stream, position) == expected
        assert states.version_at(at, stream, position) == version


def test_a_snapshot_is_gone_on_from_when_it_is_not_later(books: str) -> None:
    """The snapshot says something else than the events: so it is seen which of them was used."""
    stream = f"table:{NETWORK}:Table 1"
    engine = reading.engine(books, pool_size=1)
    with reading.snapshot(engine) as at:
        written = events(at)
    kept, reached, version = folded(written, stream, 120)
    marked = catalogue.STREAMS["table"].state(**{**_fields(kept), "name": "From the snapshot"})
    with psycopg.connect(books) as connection:
        connection.execute(
            "INSERT INTO journal.snapshots VALUES (%s, %s, %s, %s)",
            (stream, version, catalogue.SNAPSHOTS["table"], _json(marked)),
        )
    with reading.snapshot(engine) as at:
        before, after = states.fold(at, stream, reached - 1), states.fold(at, stream, at.position)
    engine.dispose()
    assert before is not None
    assert after is not None
    assert (before.state.name, after.state.name) == ("Table 1", "From the snapshot")
    assert (after.state.hands, after.version) == (
        folded(written, stream, 10**9)[0].hands,
        folded(written, stream, 10**9)[2],
    )


@pytest.mark.parametrize("budget", [1, states.EVENTS_A_PAGE])
def test_lists_of_streams_are_what_they_had_become(
    at: Snapshot, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "EVENTS_A_PAGE", budget)
    written = events(at)
    streams = sorted({of for _, of, _, _ in written})
    for position in some(at):
        known = AsOf(position)
        for category, page_of, key in (
            ("table", tables.page, "table_id"),
            ("player", players.page, "player"),
        ):
            expected = []
            for stream in streams:
                state, last, version = folded(written, stream, position)
                if category_of(stream) == category and version:
                    expected.append((str(getattr(state, key)), state.status, last))
            found = walk(
                lambda known=known, page_of=page_of, **page: page_of(
                    at, network=NETWORK, known=known, **page
                ),
                3,
            )
            assert [(str(row[key]), row["status"], row["position"]) for row in found] == expected


@pytest.mark.parametrize("looked_at", [1, hands.LOOKED_AT])
@pytest.mark.parametrize("table_id", [None, "Table 1", "Table 2", "nowhere"])
def test_hands_are_listed_as_of_any_position(
    at: Snapshot, looked_at: int, table_id: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hands, "LOOKED_AT", looked_at)
    monkeypatch.setattr(hands, "LEAST_LOOK", 1)
    monkeypatch.setattr(hands, "EVENTS_OF_A_HAND", 0)
    written = events(at)
    for position in some(at):
        expected = []
        for reached, _, topic, content in written:
            if topic == "hand.posted.v1" and reached <= position:
                posted: Any = catalogue.decode(topic, content)
                if table_id in (None, posted.table):
                    expected.insert(0, posted.game_number)

        def page_of(known: int = position, **page: Any) -> Page:
            if table_id is None:
                return hands.page(at, network=NETWORK, known=known, **page)
            return hands.of_table(at, network=NETWORK, table_id=table_id, known=known, **page)

        found = [row["game_number"] for row in walk(page_of, 4)]
        if table_id is None:
            assert found == expected
        else:
            # A hand is the table's when it is settled, with the last of its events.
            assert found in (expected, expected[1:])
        assert hands.page(at, network="elsewhere", known=position).rows == []


def _fields(state: Any) -> dict[str, Any]:
    return {name: getattr(state, name) for name in state.__struct_fields__}


def _json(state: Any) -> bytes:
    return catalogue.encode(state)
