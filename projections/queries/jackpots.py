"""Jackpots: what each pool holds, what was paid in, what hits paid out, and what waits."""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on

from projections import cursors
from projections.as_of import AsOf, view
from projections.reading import BOOK, Page, Row, Snapshot, rows

_HITS: Final = BOOK["jackpot_hits"]
_SHARES: Final = BOOK["jackpot_shares"]


def pools(
    at: Snapshot,
    *,
    network: str | None = None,
    jackpot: str | None = None,
    known: AsOf | None = None,
) -> Sequence[Row]:
    """Return a row per jackpot and currency."""
    pool = view("jackpots", known)
    statement = sa.select(pool).order_by(pool.c.network, pool.c.jackpot, pool.c.currency)
    if network is not None:
        statement = statement.where(pool.c.network == network)
    if jackpot is not None:
        statement = statement.where(pool.c.jackpot == jackpot)
    return rows(at, statement)


def rulebooks(at: Snapshot, *, network: str, jackpot: str) -> Sequence[Row]:
    """Return the rulebooks, with their currencies, of all tables that play or played for it."""
    tables = BOOK["tables"].c
    statement = (
        sa.select(tables.rulebook, tables.currency)
        .where(tables.network == network, tables.jackpot == jackpot)
        .distinct()
        .order_by(tables.rulebook, tables.currency)
    )
    return rows(at, statement)


def partners(at: Snapshot, *, network: str, players: Iterable[str]) -> dict[str, str]:
    """Return whose players they are, by their ids."""
    view = BOOK["players"].c
    statement = sa.select(view.player, view.partner).where(
        view.network == network, view.player.in_([UUID(player) for player in players])
    )
    return {str(player): partner for player, partner in at.connection.execute(statement)}


# -- hits ----------------------------------------------------------------------------------------


def _got() -> sa.ColumnElement[Any]:
    """Say what a pool had got when it was hit: what it held, and what was paid out of it before.

    It is the same whenever it is asked: nothing is recorded before a position any more.
    """
    entries, pool = BOOK["entries"], BOOK["accounts"]
    account = (
        sa.select(pool.c.account)
        .where(
            pool.c.code == sa.func.concat("jackpot:", _HITS.c.network, ":", _HITS.c.jackpot),
            pool.c.currency == _HITS.c.currency,
        )
        .correlate(_HITS)
        .scalar_subquery()
    )
    held = (
        sa.select(entries.c.balance_minor)
        .where(entries.c.account == account, entries.c.position <= _HITS.c.position)
        .order_by(entries.c.position.desc(), entries.c.line.desc())
        .limit(1)
        .correlate(_HITS)
        .scalar_subquery()
    )
    paid = (
        sa.select(sa.func.sum(_SHARES.c.amount_minor))
        .where(
            _SHARES.c.network == _HITS.c.network,
            _SHARES.c.jackpot == _HITS.c.jackpot,
            _SHARES.c.currency == _HITS.c.currency,
            _SHARES.c.position <= _HITS.c.position,
        )
        .correlate(_HITS)
        .scalar_subquery()
    )
    return sa.cast(sa.func.coalesce(held, 0) + sa.func.coalesce(paid, 0), sa.BigInteger)


def undecided(at: Snapshot, *, limit: int) -> Sequence[Row]:
    """Return the next hit of each jackpot that is neither settled nor annulled, with what the pool
    had got when it came."""
    place = (_HITS.c.network, _HITS.c.jackpot, _HITS.c.currency)
    statement = (
        sa.select(_HITS, _got().label("got_minor"))
        .where(_HITS.c.decided_position.is_(None))
        .ext(distinct_on(*place))
        .order_by(*place, _HITS.c.number)
        .limit(limit)
    )
    return rows(at, statement)


def hit(at: Snapshot, *, network: str, jackpot: str, game_number: str) -> Row | None:
    """Return a hit as it is now, with what the pool had got when it came."""
    statement = sa.select(_HITS, _got().label("got_minor")).where(
        _HITS.c.network == network,
        _HITS.c.jackpot == jackpot,
        _HITS.c.game_number == game_number,
    )
    found = rows(at, statement)
    return found[0] if found else None


def hits(
    at: Snapshot,
    *,
    network: str,
    jackpot: str | None = None,
    status: str | None = None,
    known: AsOf | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return a page of hits, the newest first, as they are now or were at an instant.

    Raises InvalidCursorError.
    """
    happened = None if known is None else known.occurred_at
    filters = {"network": network, "jackpot": jackpot, "status": status, "as of": happened}
    listed = cursors.listing("jackpot-hits", filters)
    pinned, before = at.position if known is None else known.position, None
    if cursor is not None:
        place = cursors.decode(cursor, listed, (int,))
        [before] = place.key
        if known is not None:
            pinned = min(place.position, pinned)
            known = known._replace(position=pinned)
    found = view("jackpot_hits", known)
    statement = sa.select(found).where(found.c.network == network)
    if jackpot is not None:
        statement = statement.where(found.c.jackpot == jackpot)
    if status is not None:
        statement = statement.where(found.c.status == status)
    if before is not None:
        statement = statement.where(found.c.position < before)
    got = rows(at, statement.order_by(found.c.position.desc()).limit(limit + 1))
    if len(got) <= limit:
        return Page(pinned, got, None)
    cut = got[:limit]
    key = [cut[-1]["position"]]
    return Page(pinned, cut, cursors.encode(cursors.Cursor(listed, pinned, key)))


def count_undecided(at: Snapshot, *, network: str, jackpot: str, known: AsOf | None = None) -> int:
    """Count the hits that are neither settled nor annulled, now or at an instant."""
    found = view("jackpot_hits", known)
    statement = sa.select(sa.func.count()).where(
        found.c.network == network,
        found.c.jackpot == jackpot,
        found.c.decided_position.is_(None),
    )
    return int(at.connection.execute(statement).scalar_one())


def shares(at: Snapshot, *, network: str, game_numbers: Iterable[str]) -> Sequence[Row]:
    """Return the shares that were paid for the hits of some hands, in the order of booking."""
    statement = (
        sa.select(_SHARES)
        .where(_SHARES.c.network == network, _SHARES.c.game_number.in_([*game_numbers]))
        .order_by(_SHARES.c.position)
    )
    return rows(at, statement)


# -- contributions -------------------------------------------------------------------------------


def days(
    at: Snapshot,
    *,
    network: str,
    jackpot: str,
    first: date,
    last: date,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return a page of what each table paid in by day, in the order of the days.

    Raises InvalidCursorError.
    """
    listed = cursors.listing(
        "jackpot-days",
        {"network": network, "jackpot": jackpot, "first": str(first), "last": str(last)},
    )
    paid = BOOK["jackpot_days"]
    order = (paid.c.occurred_day, paid.c.table_id, paid.c.currency)
    statement = sa.select(paid).where(
        paid.c.network == network,
        paid.c.jackpot == jackpot,
        paid.c.occurred_day.between(first, last),
    )
    if cursor is not None:
        day, table, currency = cursors.decode(cursor, listed, (str, str, str)).key
        after = (sa.cast(sa.literal(day), sa.Date), table, currency)
        statement = statement.where(sa.tuple_(*order) > sa.tuple_(*after))
    found = rows(at, statement.order_by(*order).limit(limit + 1))
    if len(found) <= limit:
        return Page(at.position, found, None)
    cut = found[:limit]
    key = [cut[-1]["occurred_day"].isoformat(), cut[-1]["table_id"], cut[-1]["currency"]]
    return Page(at.position, cut, cursors.encode(cursors.Cursor(listed, at.position, key)))
