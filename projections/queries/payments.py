"""Deposits and withdrawals: what became of each."""

from uuid import UUID

import sqlalchemy as sa

from projections.as_of import AsOf
from projections.queries import lists
from projections.reading import Page, Snapshot


def deposits(
    at: Snapshot,
    *,
    network: str,
    player: UUID | None = None,
    status: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    known: AsOf | None = None,
) -> Page:
    """Return a page of deposits in the order of their ids, as of an instant if one is given.

    Raises InvalidCursorError.
    """
    filters = {"network": network, "player": player, "status": status}
    key = ("deposit", sa.Text())
    return lists.page_of_streams(
        at, "deposit", key, filters, limit=limit, cursor=cursor, known=known
    )


def withdrawals(
    at: Snapshot,
    *,
    network: str,
    player: UUID | None = None,
    status: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    known: AsOf | None = None,
) -> Page:
    """Return a page of withdrawals in the order of their ids, as of an instant if one is given.

    Raises InvalidCursorError.
    """
    filters = {"network": network, "player": player, "status": status}
    key = ("withdrawal", sa.Text())
    return lists.page_of_streams(
        at, "withdrawal", key, filters, limit=limit, cursor=cursor, known=known
    )
