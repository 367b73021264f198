"""Approvals: what waits for a second person, what became of it, and what is due to expire."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from projections import cursors
from projections.reading import BOOK, Page, Row, Snapshot, rows


class Deciding(NamedTuple):
    """Who would decide, and when."""

    subject: str
    at: datetime


def page(
    at: Snapshot,
    *,
    network: str,
    status: str | None = None,
    action: str | None = None,
    maker: str | None = None,
    to_decide: Deciding | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return a page of approvals, the oldest first.

    ``to_decide`` leaves only pending ones that somebody else asked for and that are in time.
    Raises InvalidCursorError.
    """
    view = BOOK["approvals"]
    equal = {"network": network, "status": status, "action": action, "maker": maker}
    statement = sa.select(view).order_by(view.c.first_position).limit(limit + 1)
    for name, value in equal.items():
        if value is not None:
            statement = statement.where(view.c[name] == value)
    if to_decide is not None:
        statement = statement.where(
            view.c.status == "pending",
            view.c.maker != to_decide.subject,
            view.c.expires_at > to_decide.at,
        )
    decided_by = to_decide and to_decide.subject
    listed = cursors.listing("approvals", {**equal, "to_decide": decided_by})
    pinned = at.position
    if cursor is not None:
        place = cursors.decode(cursor, listed, (int,))
        pinned = place.position
        statement = statement.where(view.c.first_position > place.key[0])
    found = rows(at, statement)
    following = None
    if len(found) > limit:
        last = int(found[limit - 1]["first_position"])
        following = cursors.encode(cursors.Cursor(listed, pinned, [last]))
    return Page(at.position, found[:limit], following)


def due(at: Snapshot, now: datetime, *, limit: int) -> Sequence[Row]:
    """Return pending approvals of all networks whose time is over, the oldest first."""
    view = BOOK["approvals"]
    statement = (
        sa.select(view.c.network, view.c.approval, view.c.expires_at)
        .where(view.c.status == "pending", view.c.expires_at <= now)
        .order_by(view.c.first_position)
        .limit(limit)
    )
    return rows(at, statement)
