"""Players: by partner and standing, without their names."""

from uuid import UUID

import sqlalchemy as sa

from projections.queries import lists
from projections.reading import BOOK, Page, Row, Snapshot, rows


def page(
    at: Snapshot,
    *,
    network: str,
    partner: str | None = None,
    status: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return a page of players in the order of their ids. Raises InvalidCursorError."""
    filters = {"network": network, "partner": partner, "status": status}
    return lists.page(at, "players", ("player", sa.Uuid()), filters, limit=limit, cursor=cursor)


def one(at: Snapshot, *, network: str, player: UUID) -> Row | None:
    """Return a player, or None when the network has no such player."""
    view = BOOK["players"]
    found = rows(at, sa.select(view).where(view.c.network == network, view.c.player == player))
    return found[0] if found else None
