"""Which rule a transaction is under: rulebook versions, their windows, and the days they judged."""

from collections.abc import Iterable, Iterator, Sequence
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


def spans(
    at: Snapshot, network: str, closing_from: datetime, closing_before: datetime, pinned: int
) -> list[Span]:
    """Return the days whose windows close in a range, by each rule that judged on them."""
    versions = versions_of(at, network)
    rules = {version.rule for version in versions if version.rule is not None}
    found = [
        Span(day, rule) for rule in rules for day in closings(closing_from, closing_before, rule)
    ]
    judged = judged_on(at, network, pinned, found)
    return sorted(
        (span for span in found if judged.rules(versions, span) & {span.window, None}),
        key=lambda span: span.key,
    )


class Judged(NamedTuple):
    """Which versions judged what happened on a day (UTC)."""

    by_day: dict[date, set[str]]

    def rules(self, versions: Iterable[Version], span: Span) -> set[DaysWindow | None]:
        """Return the rules that apply on the days that a span touches; None for any other."""
        by_ref = {version.ref: version.rule for version in versions}
        refs = set().union(*(self.by_day.get(day, ()) for day in _days(span.closing)))
        return {by_ref.get(ref) for ref in refs}


def _days(closing: Closing) -> Iterator[date]:
    day = closing.occurred_from.astimezone(UTC).date()
    while day <= (closing.occurred_before - _MICROSECOND).astimezone(UTC).date():
        yield day
        day += timedelta(days=1)


def judged_on(at: Snapshot, network: str, pinned: int, found: Sequence[Span]) -> Judged:
    """Return what judged on the days of some spans, as far as it is recorded up to a position."""
    by_day: dict[date, set[str]] = {}
    days = {day for span in found for day in _days(span.closing)}
    if days:
        view = BOOK["rulebook_days"].c
        statement = sa.select(view.occurred_day, view.rulebook).where(
            view.network == network,
            view.occurred_day.between(min(days), max(days)),
            view.first_position <= pinned,
        )
        for day, ref in at.connection.execute(statement):
            by_day.setdefault(day, set()).add(ref)
    return Judged(by_day)
