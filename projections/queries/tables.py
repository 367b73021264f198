"""Tables: seats and chips as they stand, and what was played and earned by day."""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import sqlalchemy as sa

from projections.as_of import AsOf
from projections.queries import lists
from projections.reading import BOOK, Page, Row, Snapshot, rows


class Days(NamedTuple):
    """A row per table, day and currency; and the rake of each by partner."""

    position: int
    days: Sequence[Row]
    rake_by_partner: Sequence[Row]


def page(
    at: Snapshot,
    *,
    network: str,
    status: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    known: AsOf | None = None,
) -> Page:
    """Return a page of tables in the order of their ids, as of an instant if one is given.

    Raises InvalidCursorError.
    """
    filters = {"network": network, "status": status}
    key = ("table_id", sa.Text())
    return lists.page_of_streams(at, "table", key, filters, limit=limit, cursor=cursor, known=known)


def one(at: Snapshot, *, network: str, table_id: str) -> Row | None:
    """Return a table, or None."""
    view = BOOK["tables"]
    found = rows(at, sa.select(view).where(view.c.network == network, view.c.table_id == table_id))
    return found[0] if found else None


def days(
    at: Snapshot,
    *,
    network: str,
    table_id: str,
    first: date,
    last: date,
    partner: str | None = None,
) -> Days:
    """Return a table's days from the first to the last, both included (UTC)."""
    by_day, by_partner = BOOK["table_days"], BOOK["table_rake"]
    rake = _between(by_partner, network, table_id, first, last)
    if partner is not None:
        rake = rake.where(by_partner.c.partner == partner)
    return Days(
        at.position,
        rows(
            at,
            _between(by_day, network, table_id, first, last).order_by(
                by_day.c.occurred_day, by_day.c.currency
            ),
        ),
        rows(
            at,
            rake.order_by(by_partner.c.occurred_day, by_partner.c.currency, by_partner.c.partner),
        ),
    )


def _between(
    view: sa.TableClause, network: str, table_id: str, first: date, last: date
) -> sa.Select[tuple[object, ...]]:
    return sa.select(view).where(
        view.c.network == network,
        view.c.table_id == table_id,
        view.c.occurred_day.between(first, last),
    )
