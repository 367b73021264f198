"""What is at stake in windows that close in a range of time, added up."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from ledger import accounts
from ledger.protests.windows import Closing
from projections.as_of import AsOf
from projections.queries.protests.pages import LOOKED_AT, Whose, closing
from projections.queries.protests.rules import Days
from projections.queries.protests.windows import Stake
from projections.reading import Snapshot, planned_once, tuples

_MICROSECOND: Final = timedelta(microseconds=1)


def at_stake(at: Snapshot, whose: Whose, days: Days, *, known: AsOf) -> list[Stake] | None:
    """Add up what is at stake in all windows that close in a range of time, by currency.

    It comes from the totals, which do not tell rulebooks apart: None when transactions under other
    windows happened on the same days. Of a single player the windows are added up themselves.
    """
    if whose.player is not None:
        return _stakes_of_player(at, whose, days, known)
    if not days.undivided(known.position):
        return None
    ends: list[tuple[int, datetime]] = []
    for first, last in _stretches(span.closing for span in days.spans(known.position)):
        for sign, instant in ((1, last), (-1, first)):
            until = instant - _MICROSECOND
            if known.occurred_at is not None:
                until = min(until, known.occurred_at)
            ends.append((sign, until))
    sums: Sums = {}
    for currency, debit, credit in _moved(at, whose, known.position, ends):
        _add(sums, Stake(currency, debit, debit - credit))
    return _stakes(sums)


def _stretches(days: Iterable[Closing]) -> list[tuple[datetime, datetime]]:
    """Put days together that follow each other."""
    stretches: list[tuple[datetime, datetime]] = []
    for day in sorted(days):
        first = day.occurred_from
        if stretches and stretches[-1][1] == first:
            first = stretches.pop()[0]
        stretches.append((first, day.occurred_before))
    return stretches


def _moved(
    at: Snapshot, whose: Whose, position: int, ends: Sequence[tuple[int, datetime]]
) -> Sequence[tuple[str, int, int]]:
    """Return what was debited and credited to the players' accounts between ends, by currency.

    What had happened by an instant counts with the sign that stands by it.
    """
    if not ends:
        return []
    asked = {
        "signs": [sign for sign, _ in ends],
        "instants": [until for _, until in ends],
        "position": position,
        "network": whose.network,
        "partner": whose.partner,
        "components": list(accounts.OF_PLAYERS),
    }
    return [(row[0], row[1], row[2]) for row in tuples(at, _MOVED, asked)]


_MOVED: Final = planned_once("""
SELECT moved.currency, sum(sign * moved.debit_minor)::bigint, sum(sign * moved.credit_minor)::bigint
  FROM unnest(CAST(:signs AS integer[]), CAST(:instants AS timestamptz[])) AS ends (sign, until)
 CROSS JOIN LATERAL book.components_as_of(CAST(:position AS bigint), until) AS moved
 WHERE moved.network = CAST(:network AS text)
   AND moved.component = ANY (CAST(:components AS text[]))
   AND (CAST(:partner AS text) IS NULL OR moved.partner = CAST(:partner AS text))
 GROUP BY moved.currency
""")


def _stakes_of_player(at: Snapshot, whose: Whose, days: Days, known: AsOf) -> list[Stake]:
    sums: Sums = {}
    cursor: str | None = None
    while True:
        page = closing(at, whose, days, known=known, limit=LOOKED_AT, cursor=cursor)
        for window in page.windows:
            for stake in window.stakes:
                _add(sums, stake)
        cursor = page.cursor
        if cursor is None:
            return _stakes(sums)


Sums = dict[str, list[int]]
"""Currency -> gross and net."""


def _add(sums: Sums, stake: Stake) -> None:
    total = sums.setdefault(stake.currency, [0, 0])
    total[0] += stake.gross_minor
    total[1] += stake.net_minor


def _stakes(sums: Sums) -> list[Stake]:
    return [Stake(currency, *total) for currency, total in sorted(sums.items()) if total[0]]
