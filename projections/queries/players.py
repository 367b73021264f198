"""Players: by partner and standing, without their names."""

from uuid import UUID

import sqlalchemy as sa

from projections.as_of import AsOf
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
    known: AsOf | None = None,
) -> Page:
    """Return a page of players in the order of their ids, as of an instant if one is given.

    Raises InvalidCursorError.
    """
    filters = {"network": network, "partner": partner, "status": status}
    key = ("player", sa.Uuid())
    return lists.page_of_streams(
        at, "player", key, filters, limit=limit, cursor=cursor, known=known
    )


def registered(
    at: Snapshot,
    *,
    network: str,
    partner: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    known: AsOf | None = None,
) -> Page:
    """Return a page of those who were registered by an instant, as they are now.

    Raises InvalidCursorError.
    """
    filters = {"network": network, "partner": partner}
    by_then = None if known is None else known._replace(occurred_at=None)
    return lists.page(
        at,
        "players",
        ("player", sa.Uuid()),
        filters,
        limit=limit,
        cursor=cursor,
        known=by_then,
        recorded="first_position",
    )


def one(at: Snapshot, *, network: str, player: UUID) -> Row | None:
    """Return a player, or None when the network has no such player."""
    view = BOOK["players"]
    found = rows(at, sa.select(view).where(view.c.network == network, view.c.player == player))
    return found[0] if found else None
