"""What tables earned by day, and what was found wrong with hands."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any, Final, LiteralString, NamedTuple

import msgspec
import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from ledger import catalogue
from ledger.core import Event
from ledger.hands.events import (
    HandContested,
    HandFlagged,
    HandPosted,
    HandRaked,
    JackpotContributed,
)

TableDay = tuple[str, str, date, str]
"""Network, table id, day, currency."""


class Played(msgspec.Struct):
    """As much of ``hand.posted.v1`` as is needed: reading its record would take longer."""

    occurred_at: datetime
    network: str
    table: str
    currency: str


decode_played: Final = msgspec.json.Decoder(Played).decode


_ADD_DAYS: Final = """
INSERT INTO {}.table_days AS kept
SELECT * FROM unnest(%b::text[], %b::text[], %b::date[], %b::text[],
                     %b::bigint[], %b::bigint[], %b::bigint[])
    ON CONFLICT (network, table_id, occurred_day, currency) DO UPDATE
   SET hands = kept.hands + excluded.hands,
       rake_minor = kept.rake_minor + excluded.rake_minor,
       contribution_minor = kept.contribution_minor + excluded.contribution_minor
"""
_ADD_RAKE: Final = """
INSERT INTO {}.table_rake AS kept
SELECT * FROM unnest(%b::text[], %b::text[], %b::date[], %b::text[], %b::text[],
                     %b::bigint[], %b::bigint[])
    ON CONFLICT (network, table_id, occurred_day, currency, partner) DO UPDATE
   SET hands = kept.hands + excluded.hands, rake_minor = kept.rake_minor + excluded.rake_minor
"""


NOTED: Final = (HandRaked, JackpotContributed, HandFlagged, HandContested)
"""The events that are of interest here, besides that a hand was posted."""


class FindingRow(NamedTuple):
    """A finding as it is kept: which event told it, and of which hand."""

    position: int
    network: str
    table_id: str
    game_number: str
    occurred_at: datetime
    finding: dict[str, Any]


class HandDays:
    """Sums of a batch, by table and day, and its findings."""

    def __init__(self, book: str) -> None:
        self._book = sql.Identifier(book)
        self.days: dict[TableDay, list[int]] = {}
        self.rake: dict[tuple[str, str, date, str, str], list[int]] = {}
        self._findings: list[tuple[int, str, Event]] = []
        self._at: datetime | None = None
        self._day = date.min

    def posted(self, stream: str, hand: Played | HandPosted, position: int) -> None:
        """Count a hand."""
        self._sums(hand)[0] += 1

    def note(self, stream: str, event: Event, position: int) -> None:
        """Take any other event of a hand."""
        kind = type(event)
        if kind is HandRaked:
            self._raked(event)  # type: ignore[arg-type]
        elif kind is JackpotContributed:
            self._sums(event)[2] += event.amount_minor  # type: ignore[attr-defined]
        elif kind is HandPosted:
            self.posted(stream, event, position)  # type: ignore[arg-type]
        elif kind is HandFlagged or kind is HandContested:
            self._findings.append((position, stream, event))

    def _raked(self, event: HandRaked) -> None:
        self._sums(event)[1] += event.amount_minor
        place = (event.network, event.table, self._day_of(event.occurred_at), event.currency)
        for partner, amount in event.by_partner_minor.items():
            sums = self.rake.setdefault((*place, partner), [0, 0])
            sums[0] += 1
            sums[1] += amount

    def _sums(self, event: Any) -> list[int]:
        key = (event.network, event.table, self._day_of(event.occurred_at), event.currency)
        return self.days.setdefault(key, [0, 0, 0])

    def _day_of(self, instant: datetime) -> date:
        if instant != self._at:
            self._at, self._day = instant, instant.astimezone(UTC).date()
        return self._day

    def write(self, cursor: psycopg.Cursor[Any]) -> None:
        """Add the sums to those of the batches before, and write the findings."""
        self._add(cursor, _ADD_DAYS, self.days)
        self._add(cursor, _ADD_RAKE, self.rake)
        for row in self.findings(cursor):
            cursor.execute(
                sql.SQL("INSERT INTO {}.findings VALUES (%s, %s, %s, %s, %s, %s)").format(
                    self._book
                ),
                (*row[:-1], Jsonb(row.finding)),
            )
        self.days, self.rake, self._findings = {}, {}, []

    def findings(self, cursor: psycopg.Cursor[Any]) -> Iterator[FindingRow]:
        """Give the findings that were noted; their hands are looked up in the journal."""
        for position, stream, event in self._findings:
            yield _row(cursor, position, stream, event)

    def _add(
        self, cursor: psycopg.Cursor[Any], statement: LiteralString, sums: dict[Any, list[int]]
    ) -> None:
        if sums:
            rows = [(*key, *summed) for key, summed in sums.items()]
            cursor.execute(
                sql.SQL(statement).format(self._book),
                [list(column) for column in zip(*rows, strict=True)],
            )


def _row(cursor: psycopg.Cursor[Any], position: int, stream: str, event: Event) -> FindingRow:
    posted = _posted(cursor, stream)
    if isinstance(event, HandFlagged):
        content = msgspec.to_builtins(event.finding)
    else:
        assert isinstance(event, HandContested)
        content = {
            "code": "different-content",
            "level": "refuse",
            "where": ", ".join(event.differing),
            "message": "Another content was posted for a hand that is booked.",
        }
    return FindingRow(
        position, posted.network, posted.table, posted.game_number, event.occurred_at, content
    )


def _posted(cursor: psycopg.Cursor[Any], stream: str) -> HandPosted:
    """Read how a hand was booked: a finding names neither its table nor its number."""
    row = cursor.execute(
        "SELECT topic, state FROM journal.events"
        " WHERE originator_id = %s AND originator_version = 1",
        (stream,),
    ).fetchone()
    assert row is not None, stream
    posted = catalogue.decode(*row)
    assert isinstance(posted, HandPosted), stream
    return posted
