"""Trial balance: debits and credits of every component, equal in each network and currency."""

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from projections.reading import BOOK, Row, Snapshot, rows


class TrialBalance(NamedTuple):
    """A row per component, and a row per network and currency with what they add up to."""

    position: int
    components: Sequence[Row]
    totals: Sequence[Row]


def balance(at: Snapshot, *, network: str | None = None) -> TrialBalance:
    """Return the trial balance; in each total ``difference_minor`` is 0 in sound books."""
    view = BOOK["trial_balance"]
    place = (view.c.network, view.c.currency)
    listed = sa.select(view).order_by(*place, view.c.component)
    debit = sa.cast(sa.func.sum(view.c.debit_minor), sa.BigInteger)
    credit = sa.cast(sa.func.sum(view.c.credit_minor), sa.BigInteger)
    summed = (
        sa.select(
            *place,
            debit.label("debit_minor"),
            credit.label("credit_minor"),
            (debit - credit).label("difference_minor"),
        )
        .group_by(*place)
        .order_by(*place)
    )
    if network is not None:
        listed = listed.where(view.c.network == network)
        summed = summed.where(view.c.network == network)
    return TrialBalance(at.position, rows(at, listed), rows(at, summed))


def house_accounts(at: Snapshot, *, network: str) -> Sequence[Row]:
    """Return the accounts that are no player's and no table's, with what they hold."""
    view = BOOK["accounts"]
    statement = (
        sa.select(view.c.code, view.c.currency, view.c.component, view.c.side, view.c.balance_minor)
        .where(view.c.network == network, view.c.player.is_(None), view.c.table_id.is_(None))
        .order_by(view.c.code, view.c.currency)
    )
    return rows(at, statement)
