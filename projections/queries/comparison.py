"""Comparison of two instants: what each component and account had at one, and has at the other."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa

from projections import as_of, cursors
from projections.as_of import AsOf
from projections.reading import BOOK, Row, Snapshot, rows

LOOKED_AT: Final = 1_000
"""Accounts that one page looks at."""

NEAR: Final = 20_000
"""Positions between two instants below which their entries tell which accounts have changed."""

_ACCOUNTS = BOOK["accounts"].c
_LINES = BOOK["lines"].c


class Between(NamedTuple):
    """Two instants; the first has nothing that the second has not."""

    before: AsOf
    then: AsOf


class Changes(NamedTuple):
    """A page of accounts that differ, and the two instants that the cursor pins."""

    between: Between
    rows: Sequence[Row]
    cursor: str | None


def components(
    at: Snapshot,
    between: Between,
    *,
    network: str,
    component: str | None = None,
    partner: str | None = None,
) -> Sequence[Row]:
    """Return the components that differ, with debits and credits between the two instants."""
    before = as_of.view("components", between.before).alias("before")
    then = as_of.view("components", between.then).alias("after")
    held, holds = sa.func.coalesce(before.c.balance_minor, 0), then.c.balance_minor
    debit = then.c.debit_minor - sa.func.coalesce(before.c.debit_minor, 0)
    credit = then.c.credit_minor - sa.func.coalesce(before.c.credit_minor, 0)
    statement = (
        sa.select(
            *(then.c[name] for name in ("component", "side", "partner", "currency")),
            held.label("before_minor"),
            debit.label("debit_minor"),
            credit.label("credit_minor"),
            holds.label("then_minor"),
            (holds - held).label("difference_minor"),
        )
        .select_from(then.outerjoin(before, before.c.component_id == then.c.component_id))
        .where(then.c.network == network, sa.or_(debit != 0, credit != 0))
        .order_by(then.c.currency, then.c.component, then.c.partner)
    )
    if component is not None:
        statement = statement.where(then.c.component == component)
    if partner is not None:
        statement = statement.where(then.c.partner == partner)
    return rows(at, statement)


def accounts(
    at: Snapshot,
    between: Between,
    *,
    network: str,
    component: str | None = None,
    partner: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Changes:
    """Return a page of the accounts whose balances differ, in the order of their first entries.

    A page may be short, its cursor leads on. Raises InvalidCursorError.
    """
    filters = {"network": network, "component": component, "partner": partner}
    instants = {"before": between.before.occurred_at, "then": between.then.occurred_at}
    listed = cursors.listing("comparison", {**filters, **instants})
    pinned, past, after = between.then.position, between.before.position, 0
    if cursor is not None:
        place = cursors.decode(cursor, listed, (int, int))
        pinned, (past, after) = min(place.position, pinned), place.key
    before = between.before._replace(position=min(past, pinned))
    then = between.then._replace(position=pinned)
    asked = [_ACCOUNTS[name] == value for name, value in filters.items() if value is not None]
    asked.append(_ACCOUNTS.account > after)
    if before.occurred_at == then.occurred_at and pinned - before.position <= NEAR:
        asked.append(
            _ACCOUNTS.account.in_(
                sa.select(_LINES.account).where(
                    _LINES.position > before.position, _LINES.position <= pinned
                )
            )
        )
    statement = sa.select(_ACCOUNTS.account).where(*asked).order_by(_ACCOUNTS.account)
    numbers = list(at.connection.execute(statement.limit(LOOKED_AT)).scalars())
    found = _differing(at, numbers, before, then, limit + 1)
    last = None
    if len(found) > limit:
        last = found[limit - 1]["number"]
    elif len(numbers) == LOOKED_AT:
        last = numbers[-1]
    onward = None
    if last is not None:
        onward = cursors.encode(cursors.Cursor(listed, pinned, [before.position, last]))
    return Changes(Between(before, then), found[:limit], onward)


def _differing(
    at: Snapshot, numbers: Sequence[int], before: AsOf, then: AsOf, limit: int
) -> list[Row]:
    """Return those of some accounts that differ, in the order of their numbers."""
    columns = ("code", "currency", "component", "side", "partner", "player", "table_id")
    these = sa.cast(sa.literal(list(numbers), sa.ARRAY(sa.Integer)), sa.ARRAY(sa.Integer))
    held = as_of.view("accounts", before, these).alias("before")
    holds = as_of.view("accounts", then, these).alias("after")
    was, now = sa.func.coalesce(held.c.balance_minor, 0), holds.c.balance_minor
    return rows(
        at,
        sa.select(
            holds.c.account.label("number"),
            *(holds.c[name] for name in columns),
            was.label("before_minor"),
            now.label("then_minor"),
            (now - was).label("difference_minor"),
        )
        .select_from(holds.outerjoin(held, held.c.account == holds.c.account))
        .where(now != was)
        .order_by(holds.c.account)
        .limit(limit),
    )
