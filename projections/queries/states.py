"""What streams had become by a position: the ledger's own fold of their events up to it."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import sqlalchemy as sa

from ledger import catalogue
from ledger.core import category_of
from projections.reading import Snapshot, planned_once, tuples

EVENTS_A_PAGE: Final = 5_000
"""Events that are folded for one page, the last stream's own apart."""

_READ_AT_ONCE: Final = 1_000
_EVENTS = sa.table(
    "events",
    sa.column("originator_id"),
    sa.column("originator_version"),
    sa.column("topic"),
    sa.column("state"),
    sa.column("notification_id"),
    schema="journal",
)
_SNAPSHOTS = sa.table(
    "snapshots",
    sa.column("originator_id"),
    sa.column("originator_version"),
    sa.column("topic"),
    sa.column("state"),
    schema="journal",
)
_COMMITS = sa.table("commits", sa.column("last_position"), schema="journal")


class Past(NamedTuple):
    """A stream's state as of a position, the last event in it, and how many events it has."""

    state: Any
    position: int
    version: int


def fold(at: Snapshot, stream: str, position: int) -> Past | None:
    """Fold a stream up to a position, included; None when it had no event by then."""
    evolve = catalogue.STREAMS[category_of(stream)].evolve
    state, last, version = _snapshot(at, stream, position)
    for topic, stored, reached in _events(at, stream, version, position):
        state, last, version = (
            evolve(state, catalogue.decode(topic, bytes(stored))),
            reached,
            version + 1,
        )
    return Past(state, last, version) if version else None


def fold_some(at: Snapshot, streams: Sequence[str], position: int) -> Iterator[tuple[str, Past]]:
    """Fold streams that began by then, and no more of them when they have too many events."""
    folded = 0
    for stream in streams:
        past = fold(at, stream, position)
        assert past is not None, stream
        yield stream, past
        folded += past.version
        if folded >= EVENTS_A_PAGE:
            return


def version_at(at: Snapshot, stream: str, position: int) -> int:
    """Return how many events a stream had by a position, by halving: it may have very many."""
    [(version,)] = tuples(at, _VERSION_AT, {"stream": stream, "position": position})
    return int(version)


# Of the versions low to high the last one recorded by then is looked for; 0 is one before all.
_VERSION_AT: Final = planned_once("""
WITH RECURSIVE near (low, high) AS (
    SELECT 0, coalesce(max(originator_version), 0)::integer FROM journal.events
     WHERE originator_id = CAST(:stream AS text)
    UNION ALL
    SELECT CASE WHEN middle.known THEN middle.version ELSE low END,
           CASE WHEN middle.known THEN high ELSE middle.version - 1 END
      FROM near CROSS JOIN LATERAL (
        SELECT originator_version::integer AS version,
               notification_id <= CAST(:position AS bigint) AS known
          FROM journal.events
         WHERE originator_id = CAST(:stream AS text)
           AND originator_version = (low + high + 1) / 2) AS middle
     WHERE low < high)
SELECT low FROM near WHERE low = high
""")


def head(at: Snapshot) -> Snapshot:
    """Return the snapshot with the position of the journal, which the book may not have yet."""
    last = at.connection.execute(sa.select(sa.func.max(_COMMITS.c.last_position))).scalar_one()
    return at._replace(position=last or 0)


def _snapshot(at: Snapshot, stream: str, position: int) -> tuple[Any, int, int]:
    """Return the stored state, if it is not later than the position, to go on from."""
    topic = catalogue.SNAPSHOTS[category_of(stream)]
    kept, events = _SNAPSHOTS.c, _EVENTS.c
    same = (
        events.originator_id == kept.originator_id,
        events.originator_version == kept.originator_version,
    )
    found = at.connection.execute(
        sa.select(kept.state, events.notification_id, kept.originator_version)
        .where(kept.originator_id == stream, kept.topic == topic, *same)
        .where(events.notification_id <= position)
    ).one_or_none()
    if found is None:
        return None, 0, 0
    state = msgspec.json.decode(bytes(found[0]), type=catalogue.SNAPSHOT_STATES[topic])
    return state, found[1], found[2]


def _events(
    at: Snapshot, stream: str, after: int, position: int
) -> Iterator[tuple[str, bytes, int]]:
    events = _EVENTS.c
    statement = (
        sa.select(events.topic, events.state, events.notification_id)
        .where(
            events.originator_id == stream,
            events.originator_version > after,
            events.notification_id <= position,
        )
        .order_by(events.originator_version)
        # As they come: a table has an event per hand.
        .execution_options(yield_per=_READ_AT_ONCE)
    )
    for row in at.connection.execute(statement):
        yield row[0], row[1], row[2]
