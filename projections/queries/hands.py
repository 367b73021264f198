"""Hands: which were booked, of the whole network or of a table, the newest first."""

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from ledger import catalogue
from ledger.hands.events import HandPosted, hand_stream
from ledger.tables.events import HandSettled, table_stream
from projections import cursors
from projections.queries import states
from projections.reading import Page, Row, Snapshot, rows

_EVENTS: Final = sa.table(
    "events",
    sa.column("originator_id"),
    sa.column("originator_version"),
    sa.column("topic"),
    sa.column("state"),
    sa.column("notification_id"),
    schema="journal",
)
_E: Final = _EVENTS.c
EVENTS_OF_A_HAND: Final = 16
"""More than most hands have."""

LOOKED_AT: Final = 100
"""Events that one page looks at besides those of its hands."""

LEAST_LOOK: Final = 16
"""Events of a table that are read at once, when few of a page's hands are lacking."""


def page(
    at: Snapshot, *, network: str, known: int, limit: int = 100, cursor: str | None = None
) -> Page:
    """Return a page of the hands that a network had booked by a position, the last booked first.

    A page may be short, its cursor leads on. Raises InvalidCursorError.
    """
    listed = cursors.listing("hands", {"network": network})
    pinned, below = known, known + 1
    if cursor is not None:
        place = cursors.decode(cursor, listed, (int,))
        pinned, below = min(place.position, known), place.key[0]
    looked_at = limit * EVENTS_OF_A_HAND + LOOKED_AT
    found = rows(
        at,
        sa.select(
            _E.notification_id,
            _E.originator_id,
            # What is no hand is only counted.
            sa.case((_E.topic == HandPosted.NAME, _E.state)).label("state"),
        )
        .where(_E.notification_id < below)
        .order_by(_E.notification_id.desc())
        .limit(looked_at),
    )
    mine = f"hand:{network}:"
    posted = [
        row for row in found if row["state"] is not None and row["originator_id"].startswith(mine)
    ][:limit]
    last = posted[-1] if len(posted) == limit else found[-1] if found else None
    onward = None
    if last is not None and last["notification_id"] > 1:
        onward = cursors.encode(cursors.Cursor(listed, pinned, [last["notification_id"]]))
    return Page(pinned, [_posted(row) for row in posted], onward)


def of_table(
    at: Snapshot,
    *,
    network: str,
    table_id: str,
    known: int,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return a page of a table's hands that were booked by a position, the last booked first.

    A page may be short, its cursor leads on. Raises InvalidCursorError.
    """
    listed = cursors.listing("hands", {"network": network, "table": table_id})
    stream = table_stream(network, table_id)
    if cursor is None:
        pinned, below = known, states.version_at(at, stream, known) + 1
    else:
        place = cursors.decode(cursor, listed, (int,))
        pinned, below = min(place.position, known), place.key[0]
    settled, edge = _settled(at, stream, below, limit)
    onward = None
    if edge > 1:
        onward = cursors.encode(cursors.Cursor(listed, pinned, [edge]))
    return Page(pinned, _booked(at, network, settled), onward)


def _settled(at: Snapshot, stream: str, below: int, limit: int) -> tuple[list[Row], int]:
    """Return a table's last settlements below a version, and the version below which others are."""
    settled: list[Row] = []
    left = limit + LOOKED_AT
    # Each event lies in a place of its own: few are read that no hand needs. Most are settlements.
    most = limit + limit // 8 + 1
    while left:
        look = min(most, left)
        found = rows(
            at,
            sa.select(_E.originator_version, _E.topic, _E.state)
            .where(_E.originator_id == stream, _E.originator_version < below)
            .order_by(_E.originator_version.desc())
            .limit(look),
        )
        settled += [row for row in found if row["topic"] == HandSettled.NAME]
        if len(settled) >= limit:
            return settled[:limit], settled[limit - 1]["originator_version"]
        if len(found) < look:
            return settled, 1
        below = found[-1]["originator_version"]
        left -= look
        most = max(LEAST_LOOK, 2 * (limit - len(settled)))
    return settled, below


def _booked(at: Snapshot, network: str, settled: Sequence[Row]) -> list[Row]:
    """Return the hands that settlements tell of, in their order."""
    streams = []
    for row in settled:
        event = catalogue.decode(row["topic"], bytes(row["state"]))
        assert isinstance(event, HandSettled)
        streams.append(hand_stream(network, event.game_number))
    found = rows(
        at,
        sa.select(_E.originator_id, _E.state, _E.notification_id).where(
            _E.originator_id == sa.any_(sa.cast(streams, sa.ARRAY(sa.Text()))),
            _E.originator_version == 1,
        ),
    )
    posted = {row["originator_id"]: _posted(row) for row in found}
    return [posted[stream] for stream in streams]


def _posted(row: Row) -> Row:
    event = catalogue.decode(HandPosted.NAME, bytes(row["state"]))
    assert isinstance(event, HandPosted)
    return {
        "position": row["notification_id"],
        "network": event.network,
        "game_number": event.game_number,
        "table_id": event.table,
        "game": event.game,
        "currency": event.currency,
        "started_at": event.occurred_at,
        "players": len(event.players),
        "rulebook": event.rulebook,
        "verdict": event.verdict,
    }
