"""Jackpots: what each pool holds."""

from collections.abc import Sequence

import sqlalchemy as sa

from projections.reading import BOOK, Row, Snapshot, rows


def pools(at: Snapshot, *, network: str | None = None) -> Sequence[Row]:
    """Return a row per jackpot and currency."""
    view = BOOK["jackpots"]
    statement = sa.select(view).order_by(view.c.network, view.c.jackpot, view.c.currency)
    if network is not None:
        statement = statement.where(view.c.network == network)
    return rows(at, statement)
