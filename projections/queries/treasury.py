"""The client-funds account: what is on its way to it, what moved on it, what may leave it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from ledger import accounts
from ledger.cashier.events import WithdrawalPaid
from ledger.core import stream
from ledger.money import is_real
from ledger.treasury.commands import FundsFigures, TransitFigures
from ledger.treasury.events import partner_stream, treasury_stream
from ledger.treasury.policies import Funds
from projections import cursors
from projections.as_of import AsOf, view
from projections.queries import client_funds, entries, payments, states
from projections.reading import BOOK, Page, Row, Snapshot, rows

_COMPONENTS = BOOK["components"].c
_ACCOUNTS = BOOK["accounts"].c
_OPEN = BOOK["deposits_in_transit"].c
_PROVIDERS = BOOK["providers"].c
_TREASURY = BOOK["treasury"].c
_PAYMENTS = BOOK["payments"].c
_EVENTS = sa.table(
    "events",
    sa.column("notification_id"),
    sa.column("topic"),
    sa.column("state"),
    schema="journal",
).c


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


def coverage(at: Snapshot, *, network: str, known: AsOf | None = None) -> list[Row]:
    """Return a row per currency of real money: what covers it, and what the operator may take.

    As of an instant if one is given; the alert is as it stood at its position.
    ``sweepable_minor`` is the least of the rake not yet swept, of what is at the bank, and of what
    covers more than is owed; 0 when any of them is below.
    """
    held = view("components", known).c
    statement = (
        sa.select(
            held.currency,
            held.component,
            sa.cast(sa.func.sum(held.balance_minor), sa.BigInteger),
        )
        .where(held.network == network, held.component.in_(_BESIDE))
        .group_by(held.currency, held.component)
    )
    beside = {
        (currency, component): amount
        for currency, component, amount in at.connection.execute(statement)
    }
    alerted = _alerted(at, network, known)
    return [
        _covered(row, {name: beside.get((row["currency"], name), 0) for name in _BESIDE}, alerted)
        for row in client_funds.by_currency(at, network=network, known=known)
        if is_real(row["currency"])
    ]


def _alerted(at: Snapshot, network: str, known: AsOf | None) -> dict[str, datetime]:
    """Return since when the coverage alert of each currency stands that has one."""
    since: dict[str, datetime] = {}
    for row in rows(at, sa.select(BOOK["treasury"]).where(_TREASURY.network == network)):
        currency, said = row["currency"], row
        if known is not None and row["position"] > known.position:
            past = states.fold(at, treasury_stream(network, currency), known.position)
            if past is None:
                continue
            said = {"status": past.state.status, "since": past.state.since}
        if said["status"] == "short":
            since[currency] = said["since"]
    return since


def _covered(row: Row, beside: dict[str, int], alerted: dict[str, datetime]) -> Row:
    currency = row["currency"]
    spare = row["assets_minor"] - row["liability_minor"]
    unswept = beside["rake"] - beside["swept"]
    return {
        "network": row["network"],
        "currency": currency,
        "status": "short" if spare < 0 else "covered",
        "alerted_since": alerted.get(currency),
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


# -- the bank ------------------------------------------------------------------------------------


def bank_movements(
    at: Snapshot,
    *,
    network: str,
    currency: str | None = None,
    known: AsOf | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return a page of what moved on the client-funds account, the newest first.

    ``bank_reference`` is what the bank's statement calls it; None where a payment was not matched
    by the page's position. Raises InvalidCursorError.
    """
    filters = entries.Filters(network=network, account=accounts.bank(network), currency=currency)
    page = entries.page(at, filters, known=known, limit=limit, cursor=cursor)
    positions = sorted({int(row["position"]) for row in page.rows})
    told = {row["position"]: row for row in rows(at, _facts(positions))}
    paid = [row["withdrawal"] for row in told.values() if row["withdrawal"] is not None]
    shown = sa.select(_PAYMENTS.withdrawal, _PAYMENTS.bank_reference).where(
        _PAYMENTS.network == network,
        _PAYMENTS.withdrawal.in_(paid),
        # To be matched is the last that happens to a withdrawal.
        _PAYMENTS.position <= page.position,
    )
    matched = {withdrawal: reference for withdrawal, reference in at.connection.execute(shown)}
    return Page(
        page.position,
        [_movement(row, told[row["position"]], matched) for row in page.rows],
        page.cursor,
    )


def _facts(positions: Sequence[int]) -> sa.Select[Any]:
    state = sa.func.convert_from(_EVENTS.state, "UTF8").cast(JSONB)
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
    at: Snapshot,
    *,
    network: str,
    known: AsOf | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return a page of paid withdrawals that the bank's statement was not found to show yet.

    As of a position if one is given: such a page may be short, its cursor leads on.
    Raises InvalidCursorError.
    """
    if known is not None:
        return _unmatched_by(at, network, known, limit, cursor)
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


def _unmatched_by(at: Snapshot, network: str, known: AsOf, limit: int, cursor: str | None) -> Page:
    """Return those of a page of withdrawals, paid by then, of which the last event is that."""
    page = payments.withdrawals(
        at, network=network, status="paid", known=known, limit=limit, cursor=cursor
    )
    last = sa.select(_EVENTS.notification_id).where(
        _EVENTS.notification_id.in_([row["position"] for row in page.rows]),
        _EVENTS.topic == WithdrawalPaid.NAME,
    )
    unmatched = set(at.connection.execute(last).scalars())
    return page._replace(rows=[row for row in page.rows if row["position"] in unmatched])


def settled_with_partners(
    at: Snapshot, *, network: str, known: AsOf | None = None
) -> Sequence[Row]:
    """Return what was settled with each partner, and what of it he owes to his players.

    As of a position if one is given.
    """
    partners = BOOK["partners"]
    statement = sa.select(partners).where(partners.c.network == network)
    found = rows(at, statement.order_by(partners.c.partner, partners.c.currency))
    if known is None:
        return found
    return [row for row in (_partner_by(at, row, known.position) for row in found) if row]


def _partner_by(at: Snapshot, row: Row, position: int) -> Row | None:
    """Return what was settled with a partner by a position; None before anything was."""
    if row["position"] <= position:
        return row
    of = partner_stream(row["network"], row["partner"], row["currency"])
    past = states.fold(at, of, position)
    if past is None:
        return None
    sums = {name: getattr(past.state, name) for name in row if name.endswith("_minor")}
    return {**row, **sums, "position": past.position}
