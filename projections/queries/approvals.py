"""Approvals: what waits for a second person, what became of it, and what is due to expire."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

import sqlalchemy as sa

from ledger.approvals.events import approval_stream
from projections import cursors
from projections.as_of import AsOf
from projections.queries import states
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
    known: AsOf | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return a page of approvals, the oldest first.

    ``to_decide`` leaves only pending ones that somebody else asked for and that are in time. As of
    a position, if one is given, each is what it had become by then: a page may be short, its cursor
    leads on. Raises InvalidCursorError.
    """
    view = BOOK["approvals"]
    if to_decide is not None:
        status = "pending"
    equal = {"network": network, "action": action, "maker": maker}
    statement = sa.select(view).order_by(view.c.first_position).limit(limit + 1)
    for name, value in equal.items():
        if value is not None:
            statement = statement.where(view.c[name] == value)
    if to_decide is not None:
        statement = statement.where(
            view.c.maker != to_decide.subject, view.c.expires_at > to_decide.at
        )
    decided_by = to_decide and to_decide.subject
    listed = cursors.listing("approvals", {**equal, "status": status, "to_decide": decided_by})
    pinned = at.position if known is None else known.position
    if cursor is not None:
        place = cursors.decode(cursor, listed, (int,))
        pinned = place.position if known is None else min(place.position, pinned)
        statement = statement.where(view.c.first_position > place.key[0])
    if known is not None:
        statement = statement.where(view.c.first_position <= pinned)
    elif status is not None:
        statement = statement.where(view.c.status == status)
    found = rows(at, statement)
    following = None
    if len(found) > limit:
        last = int(found[limit - 1]["first_position"])
        following = cursors.encode(cursors.Cursor(listed, pinned, [last]))
    became = found[:limit]
    if known is not None:
        became = [_by(at, row, pinned) for row in became]
        became = [row for row in became if status in (None, row["status"])]
    return Page(at.position if known is None else pinned, became, following)


_DECIDED: Final = ("status", "checker", "decided_at", "code", "reason")


def _by(at: Snapshot, row: Row, position: int) -> Row:
    """Return what an approval had become by a position that it had begun by."""
    if row["position"] <= position:
        return row
    past = states.fold(at, approval_stream(row["network"], row["approval"]), position)
    assert past is not None, row["approval"]
    decided = {name: getattr(past.state, name) for name in _DECIDED}
    return {**row, **decided, "position": past.position}


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
