"""Money in transit: what providers have yet to pay, by age, now or as of any position."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from ledger.cashier.events import (
    ChargeBackReceived,
    ChargeBackSettled,
    DepositConfirmed,
    DepositSettled,
)
from projections import cursors
from projections.as_of import AsOf, view
from projections.reading import BOOK, Page, Row, Snapshot, rows

AGES: Final = (0, 1, 3, 7, 14, 30)
"""Days at which the ages of money in transit are divided."""

_ACCOUNTS = BOOK["accounts"].c


class Transit(NamedTuple):
    """Money in transit: a row per provider and currency, and its parts by age."""

    providers: Sequence[Row]
    ages: Sequence[Row]


def _open(known: AsOf | None) -> sa.FromClause:
    """Return the deposits in transit, as they are now or were at a position."""
    if known is None:
        return BOOK["deposits_in_transit"]
    asked = _OPEN_AS_OF.bindparams(sa.bindparam("upto", known.position, sa.BigInteger))
    return asked.columns(*BOOK["deposits_in_transit"].c).subquery("open")


# Those that have changed since are judged by their events up to there, as the view does by what
# they have become.
_OPEN_AS_OF: Final = sa.text(f"""
SELECT t.network, t.provider, t.currency, t.deposit, t.player, t.status, t.confirmed_at,
       t.open_minor
  FROM book.deposits_in_transit t JOIN book.deposits d USING (network, deposit)
 WHERE d.position <= :upto
 UNION ALL
SELECT d.network, d.provider, d.currency, d.deposit, d.player,
       CASE WHEN was.charged_back THEN 'charged-back' ELSE 'confirmed' END, was.confirmed_at,
       CASE WHEN was.charged_back THEN -1 ELSE 1 END * d.amount_minor
  FROM book.deposits d
 CROSS JOIN LATERAL (
    SELECT bool_or(topic = '{DepositConfirmed.NAME}') AS confirmed,
           bool_or(topic = '{DepositSettled.NAME}') AS settled,
           bool_or(topic = '{ChargeBackReceived.NAME}') AS charged_back,
           bool_or(topic = '{ChargeBackSettled.NAME}') AS kept_back,
           max((convert_from(state, 'UTF8')::jsonb ->> 'occurred_at')::timestamptz)
             FILTER (WHERE topic = '{DepositConfirmed.NAME}') AS confirmed_at
      FROM journal.events
     WHERE originator_id = concat('deposit:', d.network, ':', d.deposit)
       AND notification_id <= :upto) AS was
 WHERE d.first_position <= :upto AND d.position > :upto
   AND CASE WHEN was.charged_back THEN was.settled AND NOT was.kept_back
            ELSE was.confirmed AND NOT was.settled END
""")  # noqa: S608


def _accounts(at: Snapshot, network: str, known: AsOf | None) -> Any:
    """Return the accounts of money in transit, as they are now or were."""
    if known is None:
        return BOOK["accounts"]
    transit = sa.select(_ACCOUNTS.account).where(*_of_transit(_ACCOUNTS, network))
    numbers = list(at.connection.execute(transit).scalars())
    return view("accounts", known, sa.cast(numbers, sa.ARRAY(sa.Integer)))


def _of_transit(accounts: Any, network: str) -> tuple[sa.ColumnElement[bool], ...]:
    # The account belongs to no player and to no table: that is what its index is made of.
    return (
        accounts.network == network,
        accounts.component == "transit",
        accounts.player.is_(None),
        accounts.table_id.is_(None),
    )


def _left(
    at: Snapshot,
    known: AsOf | None,
    network: str,
    provider: str | None = None,
    currency: str | None = None,
) -> sa.Subquery:
    """Select the deposits in transit with what of each is left to be paid.

    What a provider paid without saying for which deposits is counted off the oldest ones, so that
    what is left always adds up to the balance of his account, if the deposits reach that far.
    """
    source, accounts = _open(known), _accounts(at, network, known)
    each = source.c
    mine = [each.network == network]
    if provider is not None:
        mine += [each.provider == provider, each.currency == currency]
    place = [each.provider, each.currency]
    of_provider = sa.and_(
        accounts.c.code == sa.func.concat("transit:", network, ":", each.provider),
        accounts.c.currency == each.currency,
    )
    held = sa.func.coalesce(accounts.c.balance_minor, 0)
    to_pay = sa.func.greatest(each.open_minor, 0)
    older = sa.func.sum(to_pay).over(
        partition_by=place, order_by=[each.confirmed_at, each.deposit], rows=(None, 0)
    )
    opened = sa.func.sum(each.open_minor).over(partition_by=place)
    running = (
        sa.select(
            *place,
            each.deposit,
            each.player,
            each.status,
            each.confirmed_at,
            each.open_minor,
            older.label("older_minor"),
            sa.func.greatest(opened - held, 0).label("paid_minor"),
        )
        .select_from(source.outerjoin(accounts, of_provider))
        .where(*mine)
        .subquery("running")
    )
    left = sa.case(
        (running.c.open_minor < 0, running.c.open_minor),
        else_=sa.func.greatest(
            sa.func.least(running.c.open_minor, running.c.older_minor - running.c.paid_minor), 0
        ),
    )
    return sa.select(running, sa.cast(left, sa.BigInteger).label("amount_minor")).subquery("left")


def in_transit(at: Snapshot, *, network: str, now: datetime, known: AsOf | None = None) -> Transit:
    """Return money in transit by provider and by age; days are whole ones since confirmation.

    As of a position if one is given; ``now`` is the instant up to which days are counted.
    """
    left = _left(at, known, network)
    days = sa.cast(
        sa.func.floor(sa.extract("epoch", sa.literal(now) - left.c.confirmed_at) / 86_400),
        sa.Integer,
    )
    age = sa.case(*[(days >= bound, bound) for bound in reversed(AGES)], else_=0)
    by_age = (
        sa.select(
            left.c.provider,
            left.c.currency,
            age.label("from_days"),
            sa.func.count().label("deposits"),
            sa.cast(sa.func.sum(left.c.amount_minor), sa.BigInteger).label("amount_minor"),
            sa.func.min(left.c.confirmed_at).label("oldest_at"),
        )
        .where(left.c.amount_minor != 0)
        .group_by(left.c.provider, left.c.currency, sa.text("from_days"))
        .order_by(left.c.provider, left.c.currency, sa.text("from_days"))
    )
    accounts = _accounts(at, network, known).c
    provider = sa.func.split_part(accounts.code, ":", 3).label("provider")
    held = (
        sa.select(provider, accounts.currency, accounts.balance_minor.label("amount_minor"))
        .where(*_of_transit(accounts, network))
        .order_by(provider, accounts.currency)
    )
    return Transit(rows(at, held), rows(at, by_age))


def deposits_in_transit(
    at: Snapshot,
    *,
    network: str,
    provider: str,
    currency: str,
    known: AsOf | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return a page of what a provider has yet to pay, the oldest first.

    As of a position if one is given. Charge-backs that he has yet to keep back are below zero.
    Raises InvalidCursorError.
    """
    listed = cursors.listing("transit", {"of": f"{network}:{provider}:{currency}"})
    pinned, since = at.position if known is None else known.position, None
    if cursor is not None:
        place = cursors.decode(cursor, listed, (str, str))
        since = place.key
        if known is not None:
            pinned = min(place.position, pinned)
            known = known._replace(position=pinned)
    left = _left(at, known, network, provider, currency)
    statement = (
        sa.select(
            *(left.c[name] for name in ("deposit", "player", "status", "confirmed_at")),
            left.c.currency,
            left.c.amount_minor,
        )
        .where(left.c.amount_minor != 0)
        .order_by(left.c.confirmed_at, left.c.deposit)
        .limit(limit + 1)
    )
    if since is not None:
        after = sa.tuple_(sa.cast(sa.literal(since[0]), sa.DateTime(timezone=True)), since[1])
        statement = statement.where(sa.tuple_(left.c.confirmed_at, left.c.deposit) > after)
    found = rows(at, statement)
    following = None
    if len(found) > limit:
        last = found[limit - 1]
        key = [last["confirmed_at"].isoformat(), last["deposit"]]
        following = cursors.encode(cursors.Cursor(listed, pinned, key))
    return Page(pinned, found[:limit], following)
