"""Client funds: what is owed to players, by component, and what covers it. Source: K 1.8, 5.1."""

from collections.abc import Sequence

import sqlalchemy as sa

from projections.as_of import AsOf, view
from projections.reading import Row, Snapshot, rows


def by_currency(
    at: Snapshot, *, network: str | None = None, known: AsOf | None = None
) -> Sequence[Row]:
    """Return a row per network and currency; real and play money are never added up.

    ``coverage_bps`` is assets per liability in 1/10000, rounded down; None when nothing is owed.
    """
    funds = view("client_funds", known)
    # Integer division of bigints: no float comes near money.
    coverage = sa.case(
        (
            funds.c.liability_minor > 0,
            sa.func.div(
                funds.c.assets_minor * sa.cast(10_000, sa.Numeric), funds.c.liability_minor
            ),
        ),
        else_=None,
    )
    statement = sa.select(funds, sa.cast(coverage, sa.BigInteger).label("coverage_bps")).order_by(
        funds.c.network, funds.c.money, funds.c.currency
    )
    if network is not None:
        statement = statement.where(funds.c.network == network)
    return rows(at, statement)


def by_partner(
    at: Snapshot, *, network: str, partner: str | None = None, known: AsOf | None = None
) -> Sequence[Row]:
    """Return what is owed to the players of each partner, per component and currency."""
    held = view("components", known)
    statement = (
        sa.select(held.c.partner, held.c.component, held.c.currency, held.c.balance_minor)
        .where(held.c.network == network, held.c.side == "player-funds")
        .order_by(held.c.partner, held.c.component, held.c.currency)
    )
    if partner is not None:
        statement = statement.where(held.c.partner == partner)
    return rows(at, statement)
