"""Findings: what was found wrong with booked hands, how each stands, and how many there are."""

from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

import sqlalchemy as sa

from projections import as_of, cursors
from projections.as_of import AsOf
from projections.reading import BOOK, Page, Row, Snapshot, rows

Order = Literal["oldest-first", "newest-first", "largest-first"]
By = Literal["code", "table", "game_server"]

UNRESOLVED: Final = "unresolved"
"""Stands for the statuses open and explained."""

_GROUPED: Final[dict[By, str]] = {
    "code": "code",
    "table": "table_id",
    "game_server": "game_server",
}


class Filters(NamedTuple):
    """Which findings; what is None does not restrict. Instants are aware, the range half-open."""

    network: str
    table_id: str | None = None
    game_number: str | None = None
    game_server: str | None = None
    code: str | None = None
    level: str | None = None
    status: str | None = None
    """open, explained, resolved, or unresolved."""
    currency: str | None = None
    least_minor: int | None = None
    most_minor: int | None = None
    """Range of the amount at stake, both included; findings without one are left out."""
    occurred_from: datetime | None = None
    occurred_before: datetime | None = None


def page(
    at: Snapshot,
    filters: Filters,
    *,
    known: AsOf | None = None,
    order: Order = "oldest-first",
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return a page of findings, as they are now or were at an instant.

    In the order of what is at stake those without an amount are left out. Raises
    InvalidCursorError.
    """
    happened = None if known is None else known.occurred_at
    listed = cursors.listing(f"findings/{order}", {**filters._asdict(), "as of": happened})
    pinned, after = at.position if known is None else known.position, None
    if cursor is not None:
        kinds = (int, int) if order == "largest-first" else (int,)
        place = cursors.decode(cursor, listed, kinds)
        after = place.key
        if known is not None:
            pinned = min(place.position, pinned)
            known = known._replace(position=pinned)
    view = as_of.view("findings", known)
    columns = view.c
    statement = sa.select(view).where(*_asked(columns, filters))
    if order == "largest-first":
        statement = statement.where(columns.amount_minor.is_not(None)).order_by(
            columns.amount_minor.desc(), columns.position
        )
    else:
        newest = order == "newest-first"
        statement = statement.order_by(columns.position.desc() if newest else columns.position)
    if after is not None:
        statement = statement.where(_follows(columns, order, after))
    found = rows(at, statement.limit(limit + 1))
    cut = found[:limit]
    if len(found) <= limit:
        return Page(pinned, cut, None)
    last = cut[-1]
    key = [last["position"]]
    if order == "largest-first":
        key.insert(0, last["amount_minor"])
    return Page(pinned, cut, cursors.encode(cursors.Cursor(listed, pinned, key)))


class Life(NamedTuple):
    """A finding, and what was done about it in its order."""

    finding: Row
    steps: list[Row]


def one(at: Snapshot, *, network: str, position: int, known: AsOf | None = None) -> Life | None:
    """Return the finding that was told at a position, as it is now or was at an instant."""
    view, done = as_of.view("findings", known), BOOK["finding_steps"]
    found = rows(at, sa.select(view).where(view.c.network == network, view.c.position == position))
    if not found:
        return None
    steps = sa.select(done).where(done.c.finding == position).order_by(done.c.position)
    if known is not None:
        steps = steps.where(done.c.position <= known.position)
        if known.occurred_at is not None:
            steps = steps.where(done.c.occurred_at <= known.occurred_at)
    return Life(found[0], rows(at, steps))


def summary(at: Snapshot, filters: Filters, *, by: By, known: AsOf | None = None) -> list[Row]:
    """Count findings and add up what is at stake in them, by currency and code, table or server.

    ``name`` is that of the group. Where findings are about amounts the sums are of those.
    """
    view = as_of.view("findings", known)
    columns = view.c
    group = columns[_GROUPED[by]]
    amount = sa.func.coalesce(columns.amount_minor, 0)
    unresolved = columns.status != "resolved"
    statement = (
        sa.select(
            group.label("name"),
            columns.currency,
            sa.func.count().label("findings"),
            *(
                sa.func.count().filter(columns.status == status).label(status)
                for status in ("open", "explained", "resolved")
            ),
            _sum(amount).label("amount_minor"),
            sa.func.coalesce(_sum(amount, unresolved), 0).label("unresolved_minor"),
        )
        .where(*_asked(columns, filters))
        .group_by(group, columns.currency)
        .order_by(group, columns.currency)
    )
    return rows(at, statement)


def _sum(amount: Any, which: Any = None) -> Any:
    total = sa.func.sum(amount)
    return sa.cast(total if which is None else total.filter(which), sa.BigInteger)


def _asked(columns: Any, filters: Filters) -> list[Any]:
    """Return what the filters ask of the columns."""
    same = ("network", "table_id", "game_number", "game_server", "code", "level", "currency")
    given = filters._asdict()
    asked = [columns[name] == given[name] for name in same if given[name] is not None]
    if filters.status == UNRESOLVED:
        asked.append(columns.status != "resolved")
    elif filters.status is not None:
        asked.append(columns.status == filters.status)
        if filters.status == "open":
            # Known to follow from it, and there is an index of those.
            asked.append(columns.status != "resolved")
        else:
            asked.append(columns.changed_position.is_not(None))
    if filters.least_minor is not None:
        asked.append(columns.amount_minor >= filters.least_minor)
    if filters.most_minor is not None:
        asked.append(columns.amount_minor <= filters.most_minor)
    if filters.occurred_from is not None:
        asked.append(columns.occurred_at >= filters.occurred_from)
    if filters.occurred_before is not None:
        asked.append(columns.occurred_at < filters.occurred_before)
    return asked


def _follows(columns: Any, order: Order, after: list[Any]) -> Any:
    if order == "largest-first":
        amount, position = after
        smaller = columns.amount_minor < amount
        return smaller | ((columns.amount_minor == amount) & (columns.position > position))
    return columns.position < after[0] if order == "newest-first" else columns.position > after[0]
