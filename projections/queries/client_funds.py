"""Client funds: what is owed to players, by component, and what covers it. Source: K 1.8, 5.1."""

from collections.abc import Sequence

import sqlalchemy as sa

from projections.reading import BOOK, Row, Snapshot, rows


def by_currency(at: Snapshot, *, network: str | None = None) -> Sequence[Row]:
    """Return a row per network and currency; real and play money are never added up.

    ``coverage_bps`` is assets per liability in 1/10000, rounded down; None when nothing is owed.
    """
    view = BOOK["client_funds"]
    # Integer division of bigints: no float comes near money.
    coverage = sa.case(
        (
            view.c.liability_minor > 0,
            sa.func.div(view.c.assets_minor * sa.cast(10_000, sa.Numeric), view.c.liability_minor),
        ),
        else_=None,
    )
    statement = sa.select(view, sa.cast(coverage, sa.BigInteger).label("coverage_bps")).order_by(
        view.c.network, view.c.money, view.c.currency
    )
    if network is not None:
        statement = statement.where(view.c.network == network)
    return rows(at, statement)


def by_partner(at: Snapshot, *, network: str, partner: str | None = None) -> Sequence[Row]:
    """Return what is owed to the players of each partner, per component and currency."""
    view = BOOK["components"]
    statement = (
        sa.select(view.c.partner, view.c.component, view.c.currency, view.c.balance_minor)
        .where(view.c.network == network, view.c.side == "player-funds")
        .order_by(view.c.partner, view.c.component, view.c.currency)
    )
    if partner is not None:
        statement = statement.where(view.c.partner == partner)
    return rows(at, statement)
