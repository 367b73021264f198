"""What tables earned by day."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import Any, Final

import msgspec

from ledger.core import Event
from ledger.hands.events import HandPosted, HandRaked, JackpotContributed
from projections.writes import Write, columns, statement

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
_ADD_JACKPOTS: Final = """
INSERT INTO {}.jackpot_days AS kept
SELECT * FROM unnest(%b::text[], %b::text[], %b::text[], %b::date[], %b::text[],
                     %b::bigint[], %b::bigint[])
    ON CONFLICT (network, jackpot, currency, occurred_day, table_id) DO UPDATE
   SET hands = kept.hands + excluded.hands,
       contribution_minor = kept.contribution_minor + excluded.contribution_minor
"""


class HandDays:
    """Sums of a batch, by table and day."""

    def __init__(self, book: str) -> None:
        self._add_days = statement(_ADD_DAYS, book)
        self._add_rake = statement(_ADD_RAKE, book)
        self.days: dict[TableDay, list[int]] = {}
        self.rake: dict[tuple[str, str, date, str, str], list[int]] = {}
        self._add_jackpots = statement(_ADD_JACKPOTS, book)
        self.jackpots: dict[tuple[str, str, str, date, str], list[int]] = {}
        """Network, jackpot, currency, day, table id -> hands that contributed, and how much."""
        self._at: datetime | None = None
        self._day = date.min
        self._stream = ""
        self._place: TableDay = ("", "", date.min, "")
        self._sums = [0, 0, 0]
        """Of the hand of that stream."""

    def note_of(self, event_type: type[Event] | None) -> Callable[[str, Any, int], None] | None:
        """Return what takes the events of a type; of a type not known, whichever they are."""
        if event_type is None:
            return self.note
        notes: dict[type[Event], Callable[[str, Any, int], None]] = {
            HandPosted: self.posted,
            HandRaked: self._raked,
            JackpotContributed: self._contributed,
        }
        return notes.get(event_type)

    def note(self, stream: str, event: Event, position: int) -> None:
        """Take any event of a hand."""
        note = self.note_of(type(event))
        if note is not None:
            note(stream, event, position)

    def posted(self, stream: str, hand: Played | HandPosted, position: int) -> None:
        """Count a hand."""
        self._enter(stream, hand)
        self._sums[0] += 1

    def _raked(self, stream: str, event: HandRaked, position: int) -> None:
        if stream != self._stream or event.occurred_at != self._at:
            self._enter(stream, event)
        self._sums[1] += event.amount_minor
        rake, place = self.rake, self._place
        for partner, amount in event.by_partner_minor.items():
            sums = rake.setdefault((*place, partner), [0, 0])
            sums[0] += 1
            sums[1] += amount

    def _contributed(self, stream: str, event: JackpotContributed, position: int) -> None:
        if stream != self._stream or event.occurred_at != self._at:
            self._enter(stream, event)
        self._sums[2] += event.amount_minor
        network, table, day, currency = self._place
        key = (network, event.jackpot, currency, day, table)
        sums = self.jackpots.setdefault(key, [0, 0])
        sums[0] += 1
        sums[1] += event.amount_minor

    def _enter(self, stream: str, event: Any) -> None:
        """Turn to the table and day of a hand: mostly all of its events are of the same."""
        instant = event.occurred_at
        if instant != self._at:
            self._at, self._day = instant, instant.astimezone(UTC).date()
        self._stream = stream
        self._place = (event.network, event.table, self._day, event.currency)
        self._sums = self.days.setdefault(self._place, [0, 0, 0])

    def writes(self) -> Iterator[Write]:
        """Add the sums to those of the batches before."""
        if self.days:
            yield Write(self._add_days, columns((*key, *sums) for key, sums in self.days.items()))
        if self.rake:
            yield Write(self._add_rake, columns((*key, *sums) for key, sums in self.rake.items()))
        if self.jackpots:
            rows = [(*key, *sums) for key, sums in self.jackpots.items()]
            yield Write(self._add_jackpots, columns(rows))
        self.days, self.rake, self.jackpots, self._stream = {}, {}, {}, ""
