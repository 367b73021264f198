"""The journal's own proof: commits without gaps, whose rows hash to the chain of digests."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, date, datetime
from struct import Struct
from typing import Any, Final, NamedTuple

import psycopg

from ledger.recorder import FIRST_DIGEST, commit_header
from ledger.rows import COPY_HEADER
from projections.anchors import Anchor, Noted
from projections.check.report import Report

BATCH: Final = 20_000
"""Positions that are in memory at once, unless one commit has more."""

_COUNT: Final = Struct(">h").unpack_from
_LENGTH: Final = Struct(">i").unpack_from
_LONG: Final = Struct(">q").unpack_from

_COMMITS: Final = """
SELECT first_position, last_position, recorded_at, writer, digest FROM journal.commits
 WHERE last_position > %s ORDER BY last_position LIMIT %s
"""
_ROWS: Final = """
COPY (SELECT originator_id, originator_version, topic, state, notification_id
        FROM journal.events WHERE notification_id > %s AND notification_id <= %s
       ORDER BY notification_id) TO STDOUT (FORMAT binary)
"""


class Stored(NamedTuple):
    """An event's row as it is stored, and its bytes as they were copied."""

    stream: str
    version: int
    topic: str
    state: bytes
    position: int
    raw: bytes


class Checked(NamedTuple):
    """A commit with its rows, after its digest was looked at."""

    first: int
    last: int
    recorded_day: date
    rows: list[Stored]


class Chain:
    """Walks through the commits and computes the digests again."""

    def __init__(self, connection: psycopg.Connection[Any], report: Report, noted: Noted) -> None:
        self._connection = connection
        self._report = report
        self._noted = noted
        self._last = 0
        self._recorded_at: datetime | None = None
        self._stored_digest = FIRST_DIGEST

    def walk(self) -> Iterator[list[Checked]]:
        """Give the commits in order, a bounded batch at a time, and report what does not hold."""
        while commits := self._commits():
            rows = self._rows(self._last, max(commits[-1][1], self._last))
            batch: list[Checked] = []
            begin = 0
            for commit in commits:
                end = begin
                while end < len(rows) and rows[end].position <= commit[1]:
                    end += 1
                self._check(commit, rows[begin:end])
                day = commit[2].astimezone(UTC).date()
                batch.append(Checked(commit[0], commit[1], day, rows[begin:end]))
                begin = end
            yield batch
        self._check_end()

    def _commits(self) -> list[tuple[int, int, datetime, str, bytes]]:
        # Commits of one event are the smallest: so many fill a batch, and larger ones cut it.
        found = self._connection.execute(_COMMITS, (self._last, BATCH)).fetchall()
        kept = [commit for commit in found if commit[1] <= self._last + BATCH]
        return kept or found[:1]

    def _rows(self, after: int, last: int) -> list[Stored]:
        rows: list[Stored] = []
        with self._connection.cursor().copy(_ROWS, (after, last)) as copy:
            for message in copy:
                raw = bytes(message)
                if raw.startswith(COPY_HEADER):
                    raw = raw[len(COPY_HEADER) :]
                offset = 0
                while len(raw) - offset > 2:
                    row, offset = _parse(raw, offset)
                    rows.append(row)
        return rows

    def _check(self, commit: tuple[int, int, datetime, str, bytes], rows: list[Stored]) -> None:
        first, last, recorded_at, writer, digest = commit
        where = f"commit {first}-{last}"
        report = self._report
        if first != self._last + 1:
            report.add(
                "commit-gap",
                where,
                f"the commit before it ends at {self._last}, not {first - 1}",
                "journal.commits",
            )
        if self._recorded_at is not None and recorded_at < self._recorded_at:
            report.add(
                "recorded-time-goes-back",
                where,
                f"recorded at {recorded_at.isoformat()}, the commit before it at"
                f" {self._recorded_at.isoformat()}",
                "journal.commits",
            )
        found = [row.position for row in rows]
        if found != list(range(first, last + 1)):
            missing = sorted(set(range(first, last + 1)) - set(found))
            report.add("missing-events", where, f"no event at {_ranges(missing)}")
        computed = hashlib.sha256(self._stored_digest)
        computed.update(commit_header(first, last, recorded_at, writer))
        for row in rows:
            computed.update(row.raw)
        if computed.digest() != digest:
            report.add(
                "digest-differs",
                where,
                f"stored {digest.hex()}, its events and the commit before give"
                f" {computed.hexdigest()}",
                "journal.commits",
            )
        self._noted.meet(Anchor(digest.hex(), last), report)
        # What follows is judged by the stored digest, so that one change is one finding.
        self._stored_digest, self._last, self._recorded_at = digest, last, recorded_at
        report.events += len(rows)
        report.commits += 1
        report.position, report.digest = last, digest.hex()

    def _check_end(self) -> None:
        row = self._connection.execute(
            "SELECT count(*), min(notification_id), max(notification_id) FROM journal.events"
            " WHERE notification_id > %s OR notification_id < 1",
            (self._last,),
        ).fetchone()
        assert row is not None
        if row[0]:
            self._report.add(
                "events-without-commit",
                f"positions {row[1]}-{row[2]}",
                f"{row[0]} events are in no commit",
            )


def _parse(raw: bytes, offset: int) -> tuple[Stored, int]:
    """Take one row of a binary COPY apart; return it and where the next one begins."""
    begin = offset
    (count,) = _COUNT(raw, offset)
    assert count == 5, count
    offset += 2
    fields = []
    for _ in range(5):
        (length,) = _LENGTH(raw, offset)
        offset += 4
        fields.append(raw[offset : offset + length])
        offset += length
    stream, version, topic, state, position = fields
    return (
        Stored(
            stream.decode(),
            _LONG(version)[0],
            topic.decode(),
            state,
            _LONG(position)[0],
            raw[begin:offset],
        ),
        offset,
    )


def _ranges(positions: list[int]) -> str:
    """Write positions shortly: 3, 5-9."""
    parts: list[list[int]] = []
    for position in positions:
        if parts and parts[-1][1] == position - 1:
            parts[-1][1] = position
        else:
            parts.append([position, position])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts[:20]) or "extra positions"
