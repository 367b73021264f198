"""What is at stake in windows that close in a range of time, added up."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from ledger import accounts
from ledger.protests.windows import Closing
from projections import as_of
from projections.as_of import AsOf
from projections.queries.protests.pages import LOOKED_AT, Whose, closing
from projections.queries.protests.rules import judged_on, spans, versions_of
from projections.queries.protests.windows import Stake
from projections.reading import Snapshot

OF_PLAYERS: Final = tuple(
    component
    for component in accounts.COMPONENTS
    if accounts.Account(component, "", ("", "of a player")).player is not None
)
"""Components of accounts that belong to one player each."""

_MICROSECOND: Final = timedelta(microseconds=1)


def at_stake(
    at: Snapshot,
    whose: Whose,
    *,
    closing_from: datetime,
    closing_before: datetime,
    known: AsOf,
) -> list[Stake] | None:
    """Add up what is at stake in all windows that close in a range of time, by currency.

    It comes from the totals, which do not tell rulebooks apart: None when transactions under other
    windows happened on the same days. Of a single player the windows are added up themselves.
    """
    if whose.player is not None:
        return _stakes_of_player(at, whose, closing_from, closing_before, known)
    found = spans(at, whose.network, closing_from, closing_before, known.position)
    versions = versions_of(at, whose.network)
    judged = judged_on(at, whose.network, known.position, found)
    if any(judged.rules(versions, span) != {span.window} for span in found):
        return None
    sums: Sums = {}
    for first, last in _stretches(span.closing for span in found):
        for sign, instant in ((1, last), (-1, first)):
            until = instant - _MICROSECOND
            if known.occurred_at is not None:
                until = min(until, known.occurred_at)
            for currency, debit, credit in _moved(at, whose, known._replace(occurred_at=until)):
                _add(sums, Stake(currency, sign * debit, sign * (debit - credit)))
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


def _moved(at: Snapshot, whose: Whose, known: AsOf) -> Sequence[tuple[str, int, int]]:
    """Return what was debited and credited to the players' accounts, by currency."""
    found = as_of.view("components", known)
    statement = (
        sa.select(
            found.c.currency,
            sa.cast(sa.func.sum(found.c.debit_minor), sa.BigInteger),
            sa.cast(sa.func.sum(found.c.credit_minor), sa.BigInteger),
        )
        .where(found.c.network == whose.network, found.c.component.in_(OF_PLAYERS))
        .group_by(found.c.currency)
    )
    if whose.partner is not None:
        statement = statement.where(found.c.partner == whose.partner)
    return [(row[0], row[1], row[2]) for row in at.connection.execute(statement)]


def _stakes_of_player(
    at: Snapshot, whose: Whose, closing_from: datetime, closing_before: datetime, known: AsOf
) -> list[Stake]:
    sums: Sums = {}
    cursor: str | None = None
    while True:
        page = closing(
            at,
            whose,
            closing_from=closing_from,
            closing_before=closing_before,
            known=known,
            limit=LOOKED_AT,
            cursor=cursor,
        )
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
