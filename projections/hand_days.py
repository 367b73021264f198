"""What tables earned by day."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import Any, Final

from ledger.core import Event
from ledger.hands.events import HandPosted, HandRaked, JackpotContributed
from projections.writes import Write, columns, statement

TableDay = tuple[str, str, date, str]
"""Network, table id, day, currency."""


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


class Sums:
    """What the hands of one table and day add up to."""

    __slots__ = ("by_jackpot", "by_partner", "contribution_minor", "hands", "rake_minor")

    def __init__(self) -> None:
        self.hands = 0
        self.rake_minor = 0
        self.contribution_minor = 0
        self.by_partner: dict[str, list[int]] = {}
        """Partner -> hands that he had rake of, and how much."""
        self.by_jackpot: dict[str, list[int]] = {}
        """Jackpot -> hands that contributed, and how much."""


class HandDays:
    """Sums of a batch, by table and day."""

    def __init__(self, book: str) -> None:
        self._add_days = statement(_ADD_DAYS, book)
        self._add_rake = statement(_ADD_RAKE, book)
        self._add_jackpots = statement(_ADD_JACKPOTS, book)
        self._by_day: dict[TableDay, Sums] = {}
        self._at: datetime | None = None
        self._day = date.min
        self._stream = ""
        self._sums = Sums()
        """Of the table and day of the hand of that stream."""

    @property
    def days(self) -> dict[tuple[Any, ...], list[int]]:
        """Network, table id, day, currency -> hands, rake, contribution."""
        return {
            place: [sums.hands, sums.rake_minor, sums.contribution_minor]
            for place, sums in self._by_day.items()
        }

    @property
    def rake(self) -> dict[tuple[Any, ...], list[int]]:
        """Network, table id, day, currency, partner -> hands, rake."""
        return {
            (*place, partner): shares
            for place, sums in self._by_day.items()
            for partner, shares in sums.by_partner.items()
        }

    @property
    def jackpots(self) -> dict[tuple[Any, ...], list[int]]:
        """Network, jackpot, currency, day, table id -> hands that contributed, and how much."""
        return {
            (network, jackpot, currency, day, table): shares
            for (network, table, day, currency), sums in self._by_day.items()
            for jackpot, shares in sums.by_jackpot.items()
        }

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

    def posted(self, stream: str, hand: Any, position: int) -> None:
        """Count a hand."""
        self._enter(stream, hand).hands += 1

    def _raked(self, stream: str, event: Any, position: int) -> None:
        sums = self._enter(stream, event)
        sums.rake_minor += event.amount_minor
        by_partner = sums.by_partner
        shares: dict[str, int] = event.by_partner_minor
        for partner, amount in shares.items():
            share = by_partner.get(partner)
            if share is None:
                share = by_partner[partner] = [0, 0]
            share[0] += 1
            share[1] += amount

    def _contributed(self, stream: str, event: Any, position: int) -> None:
        sums = self._enter(stream, event)
        amount: int = event.amount_minor
        sums.contribution_minor += amount
        share = sums.by_jackpot.setdefault(event.jackpot, [0, 0])
        share[0] += 1
        share[1] += amount

    def _enter(self, stream: str, event: Any) -> Sums:
        """Turn to the table and day of a hand: mostly all of its events are of the same."""
        instant = event.occurred_at
        if instant != self._at:
            self._at, self._day = instant, instant.astimezone(UTC).date()
        elif stream == self._stream:
            return self._sums
        self._stream = stream
        place = (event.network, event.table, self._day, event.currency)
        sums = self._by_day.get(place)
        if sums is None:
            sums = self._by_day[place] = Sums()
        self._sums = sums
        return sums

    def writes(self) -> Iterator[Write]:
        """Add the sums to those of the batches before."""
        for add, sums in (
            (self._add_days, self.days),
            (self._add_rake, self.rake),
            (self._add_jackpots, self.jackpots),
        ):
            if sums:
                yield Write(add, columns((*key, *more) for key, more in sums.items()))
        self._by_day, self._stream = {}, ""
