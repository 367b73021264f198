"""Rulebook versions as the book knows them: their protest windows, and which days each judged."""

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Final

from ledger.accounts import parse
from ledger.core import Event, Posting
from ledger.protests.windows import window_of
from ledger.rulebooks import parse as read
from ledger.rulebooks.conduct import DaysWindow, NextHandWindow
from ledger.rulebooks.events import RulebookAdopted
from projections.hours import date_of
from projections.writes import Write, columns, statement

Version = tuple[str, str, str, date, int, int, str, int | None, str | None]
"""Network, version, name, first day, revision, position, kind of window, its days and zone."""

Judged = tuple[str, str, int]
"""Network, version, day: what happened on it was judged by that version."""

# A version that was adopted before, or judged in batches before, is there already.
_ADOPT: Final = """
INSERT INTO {}.rulebook_versions
SELECT * FROM unnest(%b::text[], %b::text[], %b::text[], %b::date[], %b::int[], %b::bigint[],
                     %b::text[], %b::int[], %b::text[])
    ON CONFLICT DO NOTHING
"""
_JUDGE: Final = """
INSERT INTO {}.rulebook_days AS kept
SELECT * FROM unnest(%b::text[], %b::date[], %b::text[], %b::bigint[], %b::bigint[])
    ON CONFLICT (network, occurred_day, rulebook) DO UPDATE
   SET last_position = excluded.last_position
"""


def version_of(network: str, event: RulebookAdopted, position: int) -> Version:
    """Return the row of an adopted version."""
    rulebook = read(event.text, event.file)
    kind: str = "none"
    days, zone = None, None
    match window_of(rulebook):
        case DaysWindow() as window:
            kind, days, zone = "days", window.days, window.zone
        case NextHandWindow():
            kind = "until-next-hand-ends"
    dated = (rulebook.name, rulebook.valid_from, rulebook.revision)
    return (network, rulebook.ref, *dated, position, kind, days, zone)


class Rulebooks:
    """What a batch says of rulebooks."""

    def __init__(self, book: str) -> None:
        self._adopt = statement(_ADOPT, book)
        self._judge = statement(_JUDGE, book)
        self.adopted: list[Version] = []
        self.judged: dict[Judged, list[int]] = {}
        """First and last position of what was judged."""

    def note(self, stream: str, event: Event, position: int) -> None:
        """Take an event of a rulebook's stream."""
        assert isinstance(event, RulebookAdopted)
        self.adopted.append(version_of(stream.split(":", 2)[1], event, position))

    def judge(self, by: Judged, postings: Iterable[Posting], position: int) -> list[int]:
        """Return the span of positions of what a version judged on a day; its end is to be set."""
        span = [position, position]
        if by[1] or _of_player(postings):
            return self.judged.setdefault(by, span)
        return span

    def writes(self) -> Iterator[Write]:
        """Write what the batch says."""
        if self.adopted:
            yield Write(self._adopt, columns(self.adopted))
        if self.judged:
            rows = [
                (network, date_of(day), rulebook, *span)
                for (network, rulebook, day), span in self.judged.items()
            ]
            yield Write(self._judge, columns(rows))
        self.adopted, self.judged = [], {}


def _of_player(postings: Iterable[Posting]) -> bool:
    return any(parse(posting.account).player for posting in postings)
