"""Deposits and withdrawals: what became of each."""

from uuid import UUID

import sqlalchemy as sa

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
) -> Page:
    """Return a page of deposits in the order of their ids. Raises InvalidCursorError."""
    filters = {"network": network, "player": player, "status": status}
    return lists.page(at, "deposits", ("deposit", sa.Text()), filters, limit=limit, cursor=cursor)


def withdrawals(
    at: Snapshot,
    *,
    network: str,
    player: UUID | None = None,
    status: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return a page of withdrawals in the order of their ids. Raises InvalidCursorError."""
    filters = {"network": network, "player": player, "status": status}
    key = ("withdrawal", sa.Text())
    return lists.page(at, "withdrawals", key, filters, limit=limit, cursor=cursor)
