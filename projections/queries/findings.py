"""Findings: what was found wrong with booked hands and is not resolved."""

import sqlalchemy as sa

from projections.as_of import AsOf
from projections.queries import lists
from projections.reading import BOOK, Page, Snapshot


def page(
    at: Snapshot,
    *,
    network: str,
    table_id: str | None = None,
    game_number: str | None = None,
    code: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    known: AsOf | None = None,
) -> Page:
    """Return a page of the findings that are open, the oldest first. Raises InvalidCursorError."""
    filters = {"network": network, "table_id": table_id, "game_number": game_number, "code": code}
    key = ("position", sa.BigInteger())
    return lists.page(at, "findings", key, filters, limit=limit, cursor=cursor, known=known)


def count(at: Snapshot) -> int:
    """Count the open findings of all networks."""
    statement = sa.select(sa.func.count()).select_from(BOOK["findings"])
    return int(at.connection.execute(statement).scalar_one())
