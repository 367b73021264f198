"""Snapshots: a cache, but decisions rest on it, so each must be what its events fold to."""

from typing import Any, Final

import msgspec
import psycopg

from ledger import catalogue
from ledger.core import category_of
from projections.check.report import Report
from projections.check.streams import UNFOLDABLE, read_on

TABLE: Final = "journal.snapshots"

_SNAPSHOTS: Final = """
SELECT originator_id, originator_version, topic, state FROM journal.snapshots
 ORDER BY originator_id
"""
_EVENTS: Final = """
SELECT topic, state FROM journal.events
 WHERE originator_id = %s AND originator_version <= %s ORDER BY originator_version
"""


def check_snapshots(connection: psycopg.Connection[Any], report: Report) -> None:
    """Fold every stream that has a snapshot again, up to the version that the snapshot has.

    Those of other versions of the code are passed over: no load reads them.
    """
    for stream, version, topic, state in read_on(connection, "snapshots", _SNAPSHOTS):
        where = f"{stream}, version {version}"
        category = stream.partition(":")[0]
        if catalogue.SNAPSHOTS.get(category) != topic:
            if topic in catalogue.SNAPSHOT_STATES or category not in catalogue.STREAMS:
                report.add("snapshot-differs", where, f"{topic} is not its kind", TABLE)
            continue
        count, folded = _folded(connection, stream, version)
        if count != version:
            message = f"a snapshot has version {version}, the stream has {count} events up to it"
            report.add("snapshot-of-nothing", where, message, TABLE)
            continue
        given = msgspec.json.encode(folded)
        if state != given:
            message = f"kept: {state.decode(errors='replace')}; its events give {given.decode()}"
            report.add("snapshot-differs", where, message, TABLE)


def _folded(connection: psycopg.Connection[Any], stream: str, version: int) -> tuple[int, Any]:
    evolve = catalogue.STREAMS[category_of(stream)].evolve
    count, state = 0, None
    for topic, stored in read_on(connection, "snapshot_events", _EVENTS, (stream, version)):
        count += 1
        try:
            state = evolve(state, catalogue.decode(topic, stored))
        except UNFOLDABLE as error:
            state = f"{type(error).__name__} at version {count}"
    return count, state
