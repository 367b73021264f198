"""The limit: the very rows of the journal, written by COPY into a table with the same indexes."""

import struct
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec
import psycopg

from ledger.rows import COPY_HEADER, COPY_TRAILER

SCHEMA: Final = "bench_limit"
COPY: Final = (
    f"COPY {SCHEMA}.events"
    " (originator_id, originator_version, topic, state, notification_id)"
    " FROM STDIN (FORMAT binary)"
)
QUERY: Final = (
    "SELECT originator_id, originator_version, topic, state, notification_id FROM journal.events"
    " WHERE notification_id > %s ORDER BY notification_id LIMIT %s"
)


class _Requested(msgspec.Struct):
    request_id: str


_REQUEST: Final = msgspec.json.Decoder(_Requested)


class Limit(NamedTuple):
    """Hands per second by COPY alone, and how many events they had."""

    rate: float
    hands: int
    events: int


def measure(dsn: str, first: int, hands: int, per_commit: int) -> Limit:
    """Copy the events of so many hands, which follow a position, so many hands per commit."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        copied = _rows_of_hands(connection, first, hands)
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        connection.execute(f"CREATE SCHEMA {SCHEMA}")
        connection.execute(f"CREATE TABLE {SCHEMA}.events (LIKE journal.events INCLUDING ALL)")
        try:
            commits = [
                COPY_HEADER + b"".join(row for hand in group for row in hand) + COPY_TRAILER
                for group in _groups(copied, per_commit)
            ]
            began = time.monotonic()
            for rows in commits:
                with connection.cursor() as cursor, cursor.copy(COPY) as copy:
                    copy.write(rows)
            seconds = time.monotonic() - began
        finally:
            connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")
    return Limit(len(copied) / seconds, len(copied), sum(map(len, copied)))


def _rows_of_hands(
    connection: psycopg.Connection[Any], first: int, hands: int
) -> list[list[bytes]]:
    """Read the events of hands, each hand's together, as rows of a binary COPY."""
    found: dict[str, list[bytes]] = {}
    while len(found) <= hands:
        rows = connection.execute(QUERY, [first, 50_000], binary=True).fetchall()
        if not rows:
            break
        for row in rows:
            request = _REQUEST.decode(row[3]).request_id
            if request.startswith("hand:"):
                found.setdefault(request, []).append(_row(*row))
        first = rows[-1][4]
    return list(islice(found.values(), hands))


def _row(stream: str, version: int, topic: str, state: bytes, position: int) -> bytes:
    parts = [struct.pack("!h", 5)]
    for field in (
        stream.encode(),
        struct.pack("!q", version),
        topic.encode(),
        state,
        struct.pack("!q", position),
    ):
        parts += [struct.pack("!i", len(field)), field]
    return b"".join(parts)


def _groups(hands: Sequence[list[bytes]], size: int) -> Iterator[Sequence[list[bytes]]]:
    for start in range(0, len(hands), size):
        yield hands[start : start + size]
