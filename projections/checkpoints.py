"""How far a generation has come: the library's tracking records, in the rows' own transaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from eventsourcing.persistence import Tracking
from eventsourcing.postgres import PostgresDatastore
from psycopg.rows import dict_row

from ledger.recorder import SCHEMA, CheckpointRecorder


@contextmanager
def recorder() -> Iterator[CheckpointRecorder]:
    """Give a recorder that writes through its caller's cursors and opens no connection."""
    datastore = PostgresDatastore(
        dbname="", host="", port="", user="", password="", schema=SCHEMA, originator_id_type="text"
    )
    try:
        made = CheckpointRecorder(datastore, tracking_table_name="tracking")
        made.create_table()
        yield made
    finally:
        datastore.close()


def advance(
    recorder: CheckpointRecorder, connection: psycopg.Connection[Any], book: str, position: int
) -> None:
    """Record in the current transaction how far a generation has come; it never goes back."""
    with connection.cursor(row_factory=dict_row) as cursor:
        recorder.insert_within(cursor, Tracking(book, position))


def position_of(cursor: psycopg.Cursor[Any], book: str) -> int:
    """Return the last position that a generation includes; 0 when it is new."""
    row = cursor.execute(
        "SELECT notification_id FROM journal.tracking WHERE application_name = %s", (book,)
    ).fetchone()
    return 0 if row is None else int(row[0])
