"""The client-funds account: what is on its way to it, what moved on it, what may leave it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from ledger import accounts
from ledger.core import stream
from ledger.money import is_real
from ledger.treasury.commands import FundsFigures, TransitFigures
from ledger.treasury.policies import Funds
from projections import cursors
from projections.queries import client_funds, entries
from projections.reading import BOOK, Page, Row, Snapshot, rows

AGES: Final = (0, 1, 3, 7, 14, 30)
"""Days at which the ages of money in transit are divided."""

_COMPONENTS = BOOK["components"].c
_ACCOUNTS = BOOK["accounts"].c
_OPEN = BOOK["deposits_in_transit"].c
_PROVIDERS = BOOK["providers"].c
_TREASURY = BOOK["treasury"].c
_PAYMENTS = BOOK["payments"].c
_EVENTS = sa.table("events", sa.column("notification_id"), sa.column("state"), schema="journal").c


# -- figures that commands rest on ---------------------------------------------------------------


def transit_figures(at: Snapshot, *, network: str, provider: str, currency: str) -> TransitFigures:
    """Return what is in transit at a provider, and how much of the treasury that includes."""
    held = sa.select(_ACCOUNTS.balance_minor).where(
        _ACCOUNTS.network == network,
        _ACCOUNTS.code == accounts.transit(network, provider),
        _ACCOUNTS.currency == currency,
    )
    settled = sa.select(_PROVIDERS.settlements).where(
        _PROVIDERS.network == network,
        _PROVIDERS.provider == provider,
        _PROVIDERS.currency == currency,
    )
    to_keep_back = sa.select(-sa.func.sum(_OPEN.open_minor)).where(
        _OPEN.network == network,
        _OPEN.provider == provider,
        _OPEN.currency == currency,
        _OPEN.status == "charged-back",
    )
    return TransitFigures(
        position=at.position,
        settlements=_number(at, settled),
        movements=_movements(at, network, currency),
        transit_minor=_number(at, held),
        to_keep_back_minor=_number(at, to_keep_back),
    )


def funds_figures(at: Snapshot, *, network: str, currency: str) -> FundsFigures:
    """Return what one currency's client funds are, and how much of the treasury that includes."""
    held = sa.func.coalesce(sa.func.sum(_COMPONENTS.balance_minor), 0)

    def total(*which: sa.ColumnElement[bool]) -> int:
        mine = (_COMPONENTS.network == network, _COMPONENTS.currency == currency)
        return _number(at, sa.select(held).where(*mine, *which))

    return FundsFigures(
        position=at.position,
        movements=_movements(at, network, currency),
        bank_minor=total(_COMPONENTS.component == "bank"),
        transit_minor=total(_COMPONENTS.component == "transit"),
        liability_minor=total(_COMPONENTS.side == "player-funds"),
        earned_minor=total(_COMPONENTS.component == "rake"),
    )


def _movements(at: Snapshot, network: str, currency: str) -> int:
    booked = sa.select(_TREASURY.movements).where(
        _TREASURY.network == network, _TREASURY.currency == currency
    )
    return _number(at, booked)


def _number(at: Snapshot, statement: sa.Select[Any]) -> int:
    return int(at.connection.execute(statement).scalar() or 0)


# -- coverage ------------------------------------------------------------------------------------


def funds(at: Snapshot) -> list[Funds]:
    """Return what covers real money, and what is owed, per network and currency."""
    return [
        Funds(row["network"], row["currency"], row["assets_minor"], row["liability_minor"])
        for row in client_funds.by_currency(at)
        if is_real(row["currency"])
    ]


_BESIDE: Final = ("rake", "swept", "own-funds", "fee", "shortfall", "suspense", "partner")


def coverage(at: Snapshot, *, network: str) -> list[Row]:
    """Return a row per currency of real money: what covers it, and what the operator may take.

    ``sweepable_minor`` is the least of the rake not yet swept, of what is at the bank, and of what
    covers more than is owed; 0 when any of them is below.
    """
    statement = (
        sa.select(
            _COMPONENTS.currency,
            _COMPONENTS.component,
            sa.cast(sa.func.sum(_COMPONENTS.balance_minor), sa.BigInteger),
        )
        .where(_COMPONENTS.network == network, _COMPONENTS.component.in_(_BESIDE))
        .group_by(_COMPONENTS.currency, _COMPONENTS.component)
    )
    beside = {
        (currency, component): amount
        for currency, component, amount in at.connection.execute(statement)
    }
    told = {
        row["currency"]: row
        for row in rows(at, sa.select(BOOK["treasury"]).where(_TREASURY.network == network))
    }
    return [
        _covered(row, {name: beside.get((row["currency"], name), 0) for name in _BESIDE}, told)
        for row in client_funds.by_currency(at, network=network)
        if is_real(row["currency"])
    ]


def _covered(row: Row, beside: dict[str, int], told: dict[str, Row]) -> Row:
    currency = row["currency"]
    spare = row["assets_minor"] - row["liability_minor"]
    unswept = beside["rake"] - beside["swept"]
    return {
        "network": row["network"],
        "currency": currency,
        "status": "short" if spare < 0 else "covered",
        "alerted_since": told[currency]["since"]
        if currency in told and told[currency]["status"] == "short"
        else None,
        "coverage_bps": row["coverage_bps"],
        "liability_minor": row["liability_minor"],
        "bank_minor": row["bank_minor"],
        "transit_minor": row["transit_minor"],
        "assets_minor": row["assets_minor"],
        "spare_minor": spare,
        "debt_minor": row["debt_minor"],
        "earned_minor": beside["rake"],
        "swept_minor": beside["swept"],
        "sweepable_minor": max(0, min(unswept, row["bank_minor"], spare)),
        "fees_minor": beside["fee"],
        "own_funds_minor": beside["own-funds"],
        "shortfall_minor": beside["shortfall"],
        "suspense_minor": beside["suspense"],
        "owed_by_partners_minor": beside["partner"],
    }


# -- money in transit ----------------------------------------------------------------------------


class Transit(NamedTuple):
    """Money in transit: a row per provider and currency, and its parts by age."""

    position: int
    providers: Sequence[Row]
    ages: Sequence[Row]


def _left(network: str, provider: str | None = None, currency: str | None = None) -> sa.Subquery:
    """Select the deposits in transit with what of each is left to be paid.

    What a provider paid without saying for which deposits is counted off the oldest ones, so that
    what is left always adds up to the balance of his account, if the deposits reach that far.
    """
    mine = [_OPEN.network == network]
    if provider is not None:
        mine += [_OPEN.provider == provider, _OPEN.currency == currency]
    place = [_OPEN.provider, _OPEN.currency]
    held = (
        sa.select(_ACCOUNTS.balance_minor)
        .where(
            _ACCOUNTS.code == sa.func.concat("transit:", network, ":", _OPEN.provider),
            _ACCOUNTS.currency == _OPEN.currency,
        )
        .scalar_subquery()
    )
    to_pay = sa.func.greatest(_OPEN.open_minor, 0)
    older = sa.func.sum(to_pay).over(
        partition_by=place, order_by=[_OPEN.confirmed_at, _OPEN.deposit], rows=(None, 0)
    )
    opened = sa.func.sum(_OPEN.open_minor).over(partition_by=place)
    running = (
        sa.select(
            *place,
            _OPEN.deposit,
            _OPEN.player,
            _OPEN.status,
            _OPEN.confirmed_at,
            _OPEN.open_minor,
            older.label("older_minor"),
            sa.func.greatest(opened - sa.func.coalesce(held, 0), 0).label("paid_minor"),
        )
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


def in_transit(at: Snapshot, *, network: str, now: datetime) -> Transit:
    """Return money in transit by provider and by age; days are whole ones since confirmation."""
    left = _left(network)
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
    provider = sa.func.split_part(_ACCOUNTS.code, ":", 3).label("provider")
    held = (
        sa.select(provider, _ACCOUNTS.currency, _ACCOUNTS.balance_minor.label("amount_minor"))
        .where(
            _ACCOUNTS.network == network,
            _ACCOUNTS.component == "transit",
            _ACCOUNTS.player.is_(None),
            _ACCOUNTS.table_id.is_(None),
        )
        .order_by(provider, _ACCOUNTS.currency)
    )
    return Transit(at.position, rows(at, held), rows(at, by_age))


def deposits_in_transit(
    at: Snapshot,
    *,
    network: str,
    provider: str,
    currency: str,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return a page of what a provider has yet to pay, the oldest first.

    Charge-backs that he has yet to keep back are below zero. Raises InvalidCursorError.
    """
    left = _left(network, provider, currency)
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
    listed = cursors.listing("transit", {"of": f"{network}:{provider}:{currency}"})
    if cursor is not None:
        since, deposit = cursors.decode(cursor, listed, (str, str)).key
        after = sa.tuple_(sa.cast(sa.literal(since), sa.DateTime(timezone=True)), deposit)
        statement = statement.where(sa.tuple_(left.c.confirmed_at, left.c.deposit) > after)
    found = rows(at, statement)
    following = None
    if len(found) > limit:
        last = found[limit - 1]
        key = [last["confirmed_at"].isoformat(), last["deposit"]]
        following = cursors.encode(cursors.Cursor(listed, at.position, key))
    return Page(at.position, found[:limit], following)


# -- the bank ------------------------------------------------------------------------------------


def bank_movements(
    at: Snapshot,
    *,
    network: str,
    currency: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return a page of what moved on the client-funds account, the newest first.

    ``bank_reference`` is what the bank's statement calls it; None until a payment is matched.
    Raises InvalidCursorError.
    """
    filters = entries.Filters(network=network, account=accounts.bank(network), currency=currency)
    page = entries.page(at, filters, limit=limit, cursor=cursor)
    positions = sorted({int(row["position"]) for row in page.rows})
    told = {row["position"]: row for row in rows(at, _facts(positions))}
    paid = [row["withdrawal"] for row in told.values() if row["withdrawal"] is not None]
    shown = sa.select(_PAYMENTS.withdrawal, _PAYMENTS.bank_reference).where(
        _PAYMENTS.network == network, _PAYMENTS.withdrawal.in_(paid)
    )
    matched = {withdrawal: reference for withdrawal, reference in at.connection.execute(shown)}
    return Page(
        page.position,
        [_movement(row, told[row["position"]], matched) for row in page.rows],
        page.cursor,
    )


def _facts(positions: Sequence[int]) -> sa.Select[Any]:
    state = sa.func.convert_from(_EVENTS.state, "UTF8").cast(sa.dialects.postgresql.JSONB)
    names = ("bank_reference", "provider", "partner", "settlement", "withdrawal", "reason")
    return sa.select(
        _EVENTS.notification_id.label("position"),
        *(state[name].astext.label(name) for name in names),
    ).where(_EVENTS.notification_id.in_(positions))


def _movement(row: Row, told: Row, matched: dict[str, str | None]) -> Row:
    withdrawal = told["withdrawal"]
    return {
        "position": row["position"],
        "occurred_at": row["occurred_at"],
        "recorded_at": row["recorded_at"],
        "event": row["event"],
        "currency": row["currency"],
        "debit_minor": row["debit_minor"],
        "credit_minor": row["credit_minor"],
        "balance_minor": row["balance_minor"],
        "bank_reference": matched.get(withdrawal) if withdrawal else told["bank_reference"],
        "provider": told["provider"],
        "withdrawal": withdrawal,
        "settlement": told["settlement"],
        "reason": told["reason"],
    }


def unmatched_payments(
    at: Snapshot, *, network: str, limit: int = 100, cursor: str | None = None
) -> Page:
    """Return a page of paid withdrawals that the bank's statement was not found to show yet.

    Raises InvalidCursorError.
    """
    statement = (
        sa.select(
            _PAYMENTS.withdrawal, _PAYMENTS.player, _PAYMENTS.currency, _PAYMENTS.amount_minor
        )
        .where(_PAYMENTS.network == network, _PAYMENTS.bank_reference.is_(None))
        .order_by(_PAYMENTS.withdrawal)
        .limit(limit + 1)
    )
    listed = cursors.listing("unmatched", {"of": stream("bank", network, "all")})
    if cursor is not None:
        [last] = cursors.decode(cursor, listed, (str,)).key
        statement = statement.where(_PAYMENTS.withdrawal > sa.cast(sa.literal(last), sa.Text))
    found = rows(at, statement)
    following = None
    if len(found) > limit:
        key = [found[limit - 1]["withdrawal"]]
        following = cursors.encode(cursors.Cursor(listed, at.position, key))
    return Page(at.position, found[:limit], following)


def settled_with_partners(at: Snapshot, *, network: str) -> Sequence[Row]:
    """Return what was settled with each partner, and what of it he owes to his players."""
    view = BOOK["partners"]
    statement = sa.select(view).where(view.c.network == network)
    return rows(at, statement.order_by(view.c.partner, view.c.currency))
