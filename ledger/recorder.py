"""How events reach the disk: one gapless, hash-chained journal, appended by binary COPY.

The library's recorder inserts row by row or hangs on long pipelines; this one numbers events
under an advisory lock, chains them by SHA-256 and copies them in one go. Everything else (reading
a stream, reading by position, subscribing) is the library's own.
"""

import hashlib
import inspect
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

import psycopg
from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    StoredEvent,
    Tracking,
)
from eventsourcing.postgres import (
    PostgresAggregateRecorder,
    PostgresApplicationRecorder,
    PostgresDatastore,
    PostgresFactory,
    PostgresTrackingRecorder,
)
from psycopg import sql

from ledger.link import CopyIn, Link, Script, Steps
from ledger.rows import COPY_HEADER, COPY_TRAILER, numbered, row_start, stream_start

SCHEMA: Final = "journal"
CHANNEL: Final = "cardroom_journal"
"""Notified after every commit, with the last position."""

FIRST_DIGEST: Final = bytes(32)
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

_COMMIT: Final = Struct(">qqqi").pack


class Head(NamedTuple):
    """The last commit, as seen under the append lock, and the database's clock."""

    position: int
    digest: bytes
    recorded_at: datetime


class Commit(NamedTuple):
    """What an append wrote: its positions, when it was recorded, and the chain's digest."""

    first_position: int
    last_position: int
    recorded_at: datetime
    digest: bytes


def microseconds(instant: datetime) -> int:
    """Count microseconds since 2000-01-01 UTC, PostgreSQL's own way to store an instant."""
    return (instant - _EPOCH) // _MICROSECOND


def commit_header(first: int, last: int, recorded_at: datetime, writer: str) -> bytes:
    """Encode what a commit says of itself, for the digest: positions, instant, writer."""
    name = writer.encode()
    return _COMMIT(first, last, microseconds(recorded_at), len(name)) + name


def chain(previous: bytes, header: bytes, rows: bytes) -> bytes:
    """Digest a commit: SHA-256 over the previous digest, the header and the rows as copied.

    Every field of a row is preceded by its length, so two different rows never hash alike.
    """
    digest = hashlib.sha256(previous)
    digest.update(header)
    digest.update(rows)
    return digest.digest()


# The advisory lock is held until the commit: positions are given out one append at a time.
LOCK_AND_READ_HEAD: Final = """
BEGIN;
SELECT pg_advisory_xact_lock(7215501113);
SELECT last_position, digest, greatest(recorded_at, clock_timestamp())
  FROM journal.commits ORDER BY last_position DESC LIMIT 1;
SELECT clock_timestamp()
"""

COPY_EVENTS: Final = (
    "COPY journal.events"
    " (originator_id, originator_version, topic, state, notification_id)"
    " FROM STDIN (FORMAT binary)"
)


def begin() -> Steps[Head]:
    """Open a transaction, take the append lock and read the head: one round trip.

    Statements after the lock have snapshots of their own, so they see what the previous holder
    committed.
    """
    _, _, heads, [(clock,)] = yield Script(LOCK_AND_READ_HEAD)
    if not heads:
        return Head(0, FIRST_DIGEST, clock.astimezone(UTC))
    [(position, digest, recorded_at)] = heads
    return Head(position, bytes(digest), recorded_at.astimezone(UTC))


def copy_events(head: Head, row_starts: Sequence[bytes], *, writer: str) -> Steps[Commit]:
    """Number the rows from the head on, copy them and return their commit, not yet written."""
    first = head.position + 1
    last = head.position + len(row_starts)
    rows = numbered(row_starts, first)
    yield CopyIn(COPY_EVENTS, b"".join((COPY_HEADER, rows, COPY_TRAILER)))
    digest = chain(head.digest, commit_header(first, last, head.recorded_at, writer), rows)
    return Commit(first, last, head.recorded_at, digest)


def end(commit: Commit | None, *, writer: str) -> Steps[None]:
    """Write the commit, notify the readers and commit: one round trip."""
    if commit is None:
        yield Script("COMMIT")
        return
    statement = sql.SQL(
        "INSERT INTO journal.commits (first_position, last_position, recorded_at, writer, digest)"
        " VALUES ({first}, {last}, {recorded_at}::timestamptz, {writer}, {digest}::bytea);"
        " NOTIFY {channel}, {payload}; COMMIT"
    ).format(
        first=sql.Literal(commit.first_position),
        last=sql.Literal(commit.last_position),
        recorded_at=sql.Literal(commit.recorded_at.isoformat()),
        writer=sql.Literal(writer),
        digest=sql.Literal("\\x" + commit.digest.hex()),
        channel=sql.Identifier(CHANNEL),
        payload=sql.Literal(str(commit.last_position)),
    )
    yield Script(statement)


def append(row_starts: Sequence[bytes], *, writer: str) -> Steps[Commit]:
    """Append rows in a transaction of their own."""
    head = yield from begin()
    commit = yield from copy_events(head, row_starts, writer=writer)
    yield from end(commit, writer=writer)
    return commit


# The library tries a read ten times, pausing between: two seconds and more, for which the append
# lock may be held. Ours is tried once, and whoever asked decides what to do.
_select_events: Final = inspect.unwrap(PostgresAggregateRecorder.select_events)


class LedgerRecorder(PostgresApplicationRecorder):
    """The library's recorder, appending as this module does; tables come from migrations."""

    writer = "library"

    def __init__(self, datastore: PostgresDatastore, *, events_table_name: str = "events") -> None:
        super().__init__(datastore, events_table_name=events_table_name)
        self.channel_name = CHANNEL

    def create_table(self) -> None:
        """Do nothing: all tables are created by migrations."""

    def select_events(self, originator_id: UUID | str, **which: Any) -> Sequence[StoredEvent]:
        """Read a stream."""
        return cast("Sequence[StoredEvent]", _select_events(self, originator_id, **which))

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Append events and return their positions.

        It never retries by itself: after a lost acknowledgement that would look like a conflict.
        """
        if not stored_events:
            return []
        rows = [
            row_start(stream_start(str(e.originator_id)), e.originator_version, e.topic, e.state)
            for e in stored_events
        ]
        with self.datastore.get_connection() as connection:
            try:
                commit = Link.over(connection).take(append(rows, writer=self.writer))
            except psycopg.Error:
                if not connection.closed:
                    connection.rollback()
                raise
        return list(range(commit.first_position, commit.last_position + 1))


class SnapshotRecorder(PostgresAggregateRecorder):
    """Keeps the newest snapshot of each stream: a cache, which loads may do without."""

    def create_table(self) -> None:
        """Do nothing: all tables are created by migrations."""

    def select_events(self, originator_id: UUID | str, **which: Any) -> Sequence[StoredEvent]:
        """Read a stream's snapshot."""
        return cast("Sequence[StoredEvent]", _select_events(self, originator_id, **which))

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Put snapshots in the place of older ones, in one transaction."""
        rows = [(e.originator_id, e.originator_version, e.topic, e.state) for e in stored_events]
        with self.datastore.transaction(commit=True) as cursor:
            cursor.execute(
                "DELETE FROM journal.snapshots WHERE originator_id = ANY(%s)",
                [[originator_id for originator_id, *_ in rows]],
            )
            cursor.executemany(
                "INSERT INTO journal.snapshots VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING", rows
            )
        return None


class CheckpointRecorder(PostgresTrackingRecorder):
    """The library's tracking recorder on a table that comes from migrations."""

    def create_table(self) -> None:
        """Do nothing but note that the single-row table is there."""
        self.tracking_table_exists = True
        self.tracking_migration_current = self.tracking_migration_previous = 1

    def insert_within(self, cursor: psycopg.Cursor[Any], tracking: Tracking) -> None:
        """Record a checkpoint in the transaction of the rows that it vouches for.

        Raises the library's IntegrityError when the checkpoint would go back.
        """
        self._insert_tracking(cursor, tracking)


class Factory(PostgresFactory):
    """Names the tables as the migrations do: journal.events, .snapshots, .tracking."""

    def application_recorder(self) -> ApplicationRecorder:
        return LedgerRecorder(self.datastore)

    def aggregate_recorder(self, purpose: str = "events") -> AggregateRecorder:
        return SnapshotRecorder(self.datastore, events_table_name=purpose)

    def tracking_recorder(self, tracking_recorder_class: Any = None) -> Any:
        recorder = (tracking_recorder_class or CheckpointRecorder)(
            self.datastore, tracking_table_name="tracking"
        )
        recorder.create_table()
        return recorder
