"""Which rule a transaction is under: rulebook versions, their windows, and the days they judged."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

import sqlalchemy as sa

from ledger.protests.windows import Closing, closings
from ledger.rulebooks.conduct import DaysWindow
from projections.reading import BOOK, Snapshot

_MICROSECOND: Final = timedelta(microseconds=1)


class Version(NamedTuple):
    """A rulebook version and its window."""

    ref: str
    name: str
    valid_from: date
    revision: int
    position: int
    window: str
    days: int | None
    zone: str | None

    @property
    def rule(self) -> DaysWindow | None:
        """Its window, if that ends with a day."""
        if self.days is None or self.zone is None:
            return None
        return DaysWindow(days=self.days, zone=self.zone)


def versions_of(at: Snapshot, network: str) -> list[Version]:
    """Return the versions that a network has adopted, a later one after an earlier."""
    view = BOOK["rulebook_versions"].c
    columns = (
        *(view.rulebook, view.name, view.valid_from, view.revision),
        *(view.position, view.window_kind, view.window_days, view.window_zone),
    )
    statement = (
        sa.select(*columns)
        .where(view.network == network)
        .order_by(view.name, view.valid_from, view.revision)
    )
    return [Version(*row) for row in at.connection.execute(statement)]


class Span(NamedTuple):
    """A day of transactions whose windows close together, by the rule of one window."""

    closing: Closing
    window: DaysWindow

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from others, in their order."""
        return self.closing.closes_at.isoformat(), f"{self.window.days:05} {self.window.zone}"


class Days:
    """The days of transactions whose windows close in a range of time, and what judged on them."""

    def __init__(
        self, at: Snapshot, network: str, closing_from: datetime, closing_before: datetime
    ) -> None:
        self.closing_from = closing_from
        self.closing_before = closing_before
        self.versions = versions_of(at, network)
        self._by_ref = {version.ref: version.rule for version in self.versions}
        self._spans = [
            Span(day, rule)
            for rule in {rule for rule in self._by_ref.values() if rule is not None}
            for day in closings(closing_from, closing_before, rule)
        ]
        self._judged = _judged_on(at, network, self._spans)

    def spans(self, position: int) -> list[Span]:
        """Return the days, by each rule that had judged on them by a position."""
        judged = self._by_day(position)
        found = [span for span in self._spans if self._rules(judged, span) & {span.window, None}]
        return sorted(found, key=lambda span: span.key)

    def undivided(self, position: int) -> bool:
        """Tell whether nothing but its own rule had judged on any of the days by a position."""
        judged = self._by_day(position)
        return all(self._rules(judged, span) == {span.window} for span in self.spans(position))

    def _by_day(self, position: int) -> dict[date, set[str]]:
        by_day: dict[date, set[str]] = {}
        for day, ref, first_position in self._judged:
            if first_position <= position:
                by_day.setdefault(day, set()).add(ref)
        return by_day

    def _rules(self, judged: Mapping[date, set[str]], span: Span) -> set[DaysWindow | None]:
        """Return the rules that judged on the days that a span touches; None for any other."""
        refs = set().union(*(judged.get(day, ()) for day in _days(span.closing)))
        return {self._by_ref.get(ref) for ref in refs}


def _days(closing: Closing) -> Iterator[date]:
    day = closing.occurred_from.astimezone(UTC).date()
    while day <= (closing.occurred_before - _MICROSECOND).astimezone(UTC).date():
        yield day
        day += timedelta(days=1)


def _judged_on(
    at: Snapshot, network: str, found: Sequence[Span]
) -> Sequence[tuple[date, str, int]]:
    """Return what judged on the days of some spans, and the first position of each."""
    days = {day for span in found for day in _days(span.closing)}
    if not days:
        return ()
    view = BOOK["rulebook_days"].c
    statement = sa.select(view.occurred_day, view.rulebook, view.first_position).where(
        view.network == network, view.occurred_day.between(min(days), max(days))
    )
    return [(row[0], row[1], row[2]) for row in at.connection.execute(statement)]
