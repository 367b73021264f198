"""The library's own test cases, run against the recorders that the ledger uses."""

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from eventsourcing.persistence import ApplicationRecorder, StoredEvent, TrackingRecorder
from eventsourcing.postgres import PostgresDatastore
from eventsourcing.tests.persistence import (
    ApplicationRecorderTestCase,
    NonInterleavingNotificationIDsBaseCase,
    TrackingRecorderTestCase,
)
from psycopg.conninfo import conninfo_to_dict

from ledger import recorder
from ledger.recorder import CheckpointRecorder, LedgerRecorder
from ledger.rows import numbered, row_start, stream_start


class OnOurTables:
    """Opens the migrated database; the library's cases number streams from 0, ours from 1."""

    datastore: PostgresDatastore

    @pytest.fixture(autouse=True)
    def _open(self, dsn: str, owner_dsn: str) -> Iterator[None]:
        with psycopg.connect(owner_dsn, autocommit=True) as connection:
            connection.execute(
                "ALTER TABLE journal.events DROP CONSTRAINT events_originator_version_check"
            )
        where = conninfo_to_dict(dsn)
        self.datastore = PostgresDatastore(
            dbname=str(where["dbname"]),
            host=str(where["host"]),
            port=str(where["port"]),
            user=str(where["user"]),
            password=str(where.get("password", "")),
            schema=recorder.SCHEMA,
            originator_id_type="text",
            pool_size=4,
            max_overflow=12,
        )
        yield
        self.datastore.close()

    def new_originator_id(self) -> str:
        return f"hand:test:{uuid4()}"


class TestApplicationRecorder(OnOurTables, ApplicationRecorderTestCase[ApplicationRecorder]):
    def create_recorder(self) -> ApplicationRecorder:
        return LedgerRecorder(self.datastore)

    def test_insert_subscribe(self) -> None:
        super().optional_test_insert_subscribe()


class TestNoInterleaving(OnOurTables, NonInterleavingNotificationIDsBaseCase):
    def create_recorder(self) -> ApplicationRecorder:
        return LedgerRecorder(self.datastore)


class TestTrackingRecorder(OnOurTables, TrackingRecorderTestCase):
    def create_recorder(self) -> TrackingRecorder:
        return CheckpointRecorder(self.datastore, tracking_table_name="tracking")


START = stream_start("hand:a:1")


class TestTheChain(OnOurTables):
    def test_digests_can_be_computed_again_from_the_stored_rows(self, dsn: str) -> None:
        written = LedgerRecorder(self.datastore)
        for count in (1, 3, 2):
            stream = self.new_originator_id()
            written.insert_events(
                [StoredEvent(stream, n, "hand.staked.v1", b"{}" * n) for n in range(1, count + 1)]
            )
        with psycopg.connect(dsn) as connection:
            commits = connection.execute(
                "SELECT first_position, last_position, recorded_at, writer, digest"
                " FROM journal.commits ORDER BY last_position"
            ).fetchall()
            previous = recorder.FIRST_DIGEST
            for first, last, recorded_at, writer, digest in commits:
                starts = [
                    row_start(stream_start(stream), version, topic, state)
                    for stream, version, topic, state in connection.execute(
                        "SELECT originator_id, originator_version, topic, state"
                        " FROM journal.events WHERE notification_id BETWEEN %s AND %s"
                        " ORDER BY notification_id",
                        [first, last],
                    )
                ]
                assert len(starts) == last + 1 - first
                header = recorder.commit_header(first, last, recorded_at, writer)
                previous = recorder.chain(previous, header, numbered(starts, first))
                assert digest == previous
        assert [(first, last) for first, last, *_ in commits] == [(1, 1), (2, 4), (5, 6)]

    def test_different_rows_that_join_alike_have_different_digests(self) -> None:
        one = row_start(START, 1, "ab", b"c")
        other = row_start(START, 1, "a", b"bc")
        assert recorder.chain(b"", b"", one) != recorder.chain(b"", b"", other)

    def test_a_failed_append_leaves_neither_rows_nor_a_gap(self, dsn: str) -> None:
        written = LedgerRecorder(self.datastore)
        stream = self.new_originator_id()
        written.insert_events([StoredEvent(stream, 1, "topic", b"{}")])
        with pytest.raises(Exception, match="duplicate key"):
            written.insert_events(
                [
                    StoredEvent(self.new_originator_id(), 1, "topic", b"{}"),
                    StoredEvent(stream, 1, "topic", b"{}"),
                ]
            )
        assert written.insert_events([StoredEvent(stream, 2, "topic", b"{}")]) == [2]
        with psycopg.connect(dsn) as connection:
            row = connection.execute("SELECT count(*), max(notification_id) FROM journal.events")
            assert row.fetchone() == (2, 2)
