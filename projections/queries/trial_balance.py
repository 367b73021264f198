"""Trial balance: debits and credits of every component, equal in each network and currency."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from projections.as_of import AsOf, view
from projections.reading import BOOK, Row, Snapshot, rows


class TrialBalance(NamedTuple):
    """A row per component, and a row per network and currency with what they add up to."""

    position: int
    components: Sequence[Row]
    totals: Sequence[Row]


def balance(at: Snapshot, *, network: str | None = None, known: AsOf | None = None) -> TrialBalance:
    """Return the trial balance; in each total ``difference_minor`` is 0 in sound books."""
    sums = view("trial_balance", known)
    listed = sa.select(sums).order_by(sums.c.network, sums.c.currency, sums.c.component)
    if network is not None:
        listed = listed.where(sums.c.network == network)
    position = at.position if known is None else known.position
    components = rows(at, listed)
    return TrialBalance(position, components, _totals(components))


def _totals(components: Sequence[Row]) -> Sequence[Row]:
    totals: dict[tuple[str, str], dict[str, Any]] = {}
    for row in components:
        place = {"network": row["network"], "currency": row["currency"]}
        total = totals.setdefault(
            (row["network"], row["currency"]),
            {**place, "debit_minor": 0, "credit_minor": 0, "difference_minor": 0},
        )
        total["debit_minor"] += row["debit_minor"]
        total["credit_minor"] += row["credit_minor"]
        total["difference_minor"] += row["debit_minor"] - row["credit_minor"]
    return list(totals.values())


def house_accounts(at: Snapshot, *, network: str, known: AsOf | None = None) -> Sequence[Row]:
    """Return the accounts that are no player's and no table's, with what they hold."""
    listed = BOOK["accounts"].c
    house = (listed.network == network, listed.player.is_(None), listed.table_id.is_(None))
    numbers = sa.func.array(sa.select(listed.account).where(*house).scalar_subquery())
    held = view("accounts", known, numbers).c
    statement = (
        sa.select(held.code, held.currency, held.component, held.side, held.balance_minor)
        .where(held.network == network, held.player.is_(None), held.table_id.is_(None))
        .order_by(held.code, held.currency)
    )
    return rows(at, statement)
