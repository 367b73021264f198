"""Months: what the books had when a month was closed, and what came to be known of it later."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import sqlalchemy as sa

from ledger.periods.calendar import Month, month
from ledger.periods.events import period_stream
from projections.as_of import AsOf, view
from projections.queries import entries, states
from projections.reading import BOOK, Page, Row, Snapshot, rows

_INSTANT: Final = timedelta(microseconds=1)
_PERIODS = BOOK["periods"].c
_COMMITS = BOOK["commits"].c
_APPROVALS = BOOK["approvals"].c

Key = tuple[str, str | None, str, str]
"""Component, partner, currency, side."""


class Sums(NamedTuple):
    """Debits and credits."""

    debit_minor: int
    credit_minor: int

    def less(self, other: "Sums") -> "Sums":
        """Take other sums off."""
        return Sums(self.debit_minor - other.debit_minor, self.credit_minor - other.credit_minor)


Known = Mapping[Key, Sums]
_NOTHING: Final = Sums(0, 0)


class Period(NamedTuple):
    """A month: how it stands, its figures by component, and what fixes them."""

    position: int
    """The position of the figures: the closing one, or the book's own while it is open."""
    standing: Row
    figures: Sequence[Row]
    approved_by: str | None
    commit: Row | None
    """The commit that holds the closing position, with its digest; None while it is open."""


def listed(at: Snapshot, *, network: str, known: AsOf | None = None) -> Sequence[Row]:
    """Return the months that were closed, the last one first; by a position if one is given."""
    statement = sa.select(BOOK["periods"]).where(_PERIODS.network == network)
    found = rows(at, statement.order_by(_PERIODS.month.desc()))
    return [row for row in (_by(at, row, known) for row in found) if row is not None]


def standing(at: Snapshot, *, network: str, named: Month, known: AsOf | None = None) -> Row:
    """Return how a month stands, or stood at a position; one that was never closed is open."""
    statement = sa.select(BOOK["periods"]).where(
        _PERIODS.network == network, _PERIODS.month == str(named)
    )
    for row in rows(at, statement):
        stood = _by(at, row, known)
        if stood is not None:
            return stood
    nothing: Row = dict.fromkeys(BOOK["periods"].c.keys())
    return {**nothing, "network": network, "month": str(named), "status": "open"}


def _by(at: Snapshot, row: Row, known: AsOf | None) -> Row | None:
    """Return how a month stood at a position; None while it had not been closed."""
    if known is None or row["position"] <= known.position:
        return row
    past = states.fold(at, period_stream(row["network"], row["month"]), known.position)
    if past is None:
        return None
    said = {name: getattr(past.state, name, None) for name in row}
    closing = past.position if past.state.status == "closed" else None
    return {**said, "position": past.position, "closing_position": closing}


def one(at: Snapshot, *, network: str, named: Month, known: AsOf | None = None) -> Period:
    """Return a month with its figures, as of a position if one is given.

    Opening, what happened in the month, and what was recorded late of months before make the
    closing figures. What is late of this month itself is beside them: it is in those of a later.
    """
    now = standing(at, network=network, named=named, known=known)
    closing, end = now["closing_position"], at.position if known is None else known.position
    position = end if closing is None else int(closing)
    preceding = standing(at, network=network, named=named.preceding, known=known)
    before = preceding["closing_position"]

    def by(recorded: int, until: datetime) -> Known:
        return _components(at, network, AsOf(recorded, until - _INSTANT))

    earlier, whole = by(position, named.begins_at), by(position, named.ends_at)
    opening = earlier if before is None else by(int(before), named.begins_at)
    late: Known = {}
    if closing is not None:
        in_all = by(end, named.ends_at)
        of_before = by(end, named.begins_at)
        late = {
            key: sums.less(of_before.get(key, _NOTHING)).less(
                whole.get(key, _NOTHING).less(earlier.get(key, _NOTHING))
            )
            for key, sums in in_all.items()
        }
    return Period(
        position,
        now,
        list(_figures(opening, earlier, whole, late)),
        _approved_by(at, network, closing),
        _commit(at, closing),
    )


def _components(at: Snapshot, network: str, known: AsOf) -> Known:
    held = view("components", known).c
    statement = sa.select(
        held.component,
        held.partner,
        held.currency,
        held.side,
        held.debit_minor,
        held.credit_minor,
    ).where(held.network == network)
    return {
        (component, partner, currency, side): Sums(debit, credit)
        for component, partner, currency, side, debit, credit in at.connection.execute(statement)
    }


_DEBIT_SIDES: Final = ("asset", "expense", "equity", "suspense")


def _figures(opening: Known, earlier: Known, whole: Known, late: Known) -> Iterator[Row]:
    keys = sorted(
        {*opening, *earlier, *whole, *late}, key=lambda key: (key[2], key[0], key[1] or "")
    )
    for key in keys:
        component, partner, currency, side = key
        sign = 1 if side in _DEBIT_SIDES else -1
        opened, known = opening.get(key, _NOTHING), earlier.get(key, _NOTHING)
        closed = whole.get(key, _NOTHING)
        moved, from_before = closed.less(known), known.less(opened)
        later = late.get(key, _NOTHING)

        def own(sums: Sums, sign: int = sign) -> int:
            return sign * (sums.debit_minor - sums.credit_minor)

        yield {
            "component": component,
            "side": side,
            "partner": partner,
            "currency": currency,
            "opening_minor": own(opened),
            "debit_minor": moved.debit_minor,
            "credit_minor": moved.credit_minor,
            "late_of_before_minor": own(from_before),
            "closing_minor": own(closed),
            "late_debit_minor": later.debit_minor,
            "late_credit_minor": later.credit_minor,
        }


def _approved_by(at: Snapshot, network: str, closing: int | None) -> str | None:
    """Return who agreed to the closing: its grant is the event right before it."""
    if closing is None:
        return None
    statement = sa.select(_APPROVALS.checker).where(
        _APPROVALS.network == network,
        _APPROVALS.status == "granted",
        _APPROVALS.action == "close-period",
        _APPROVALS.position == closing - 1,
    )
    return at.connection.execute(statement).scalar()


def _commit(at: Snapshot, closing: int | None) -> Row | None:
    if closing is None:
        return None
    statement = (
        sa.select(_COMMITS.last_position, _COMMITS.recorded_at, _COMMITS.digest)
        .where(_COMMITS.last_position >= closing)
        .order_by(_COMMITS.last_position)
        .limit(1)
    )
    return rows(at, statement)[0]


def late(
    at: Snapshot,
    *,
    network: str,
    named: Month,
    known: AsOf | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return a page of the entries of a closed month that were recorded after it was closed.

    The oldest first; none while it is open. Raises InvalidCursorError.
    """
    closing = standing(at, network=network, named=named, known=known)["closing_position"]
    if closing is None:
        return Page(at.position if known is None else known.position, (), None)
    filters = entries.Filters(
        network=network,
        occurred_from=named.begins_at,
        occurred_before=named.ends_at,
        position_from=int(closing) + 1,
    )
    return entries.page(at, filters, known=known, limit=limit, cursor=cursor, newest_first=False)


def open_from(months: Sequence[Row]) -> str | None:
    """Return the month that is to be closed next; None while none was ever closed."""
    if not months:
        return None
    reopened = sorted(row["month"] for row in months if row["status"] != "closed")
    return reopened[0] if reopened else str(month(max(row["month"] for row in months)).following)
