"""Jackpots: what each pool holds."""

from collections.abc import Sequence

import sqlalchemy as sa

from projections.as_of import AsOf, view
from projections.reading import Row, Snapshot, rows


def pools(at: Snapshot, *, network: str | None = None, known: AsOf | None = None) -> Sequence[Row]:
    """Return a row per jackpot and currency."""
    pool = view("jackpots", known)
    statement = sa.select(pool).order_by(pool.c.network, pool.c.jackpot, pool.c.currency)
    if network is not None:
        statement = statement.where(pool.c.network == network)
    return rows(at, statement)
