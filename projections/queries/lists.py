"""Paging through views by a key that has an index: as they are now, or as of a position."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ledger.core import stream
from projections import cursors
from projections.as_of import AsOf
from projections.queries import states
from projections.reading import BOOK, Page, Row, Snapshot, rows


def page(
    at: Snapshot,
    name: str,
    key: tuple[str, Any],
    filters: Mapping[str, Any],
    *,
    limit: int,
    cursor: str | None,
    known: AsOf | None = None,
    recorded: str = "position",
) -> Page:
    """Return a page of a view in the order of its key, a column and its type.

    ``filters`` are columns and what they must be; None does not restrict. As of an instant those
    rows are left out that were recorded later, by the column that tells it. Rows are as they are
    now: a list that changes between two pages is not seen twice at one instant.
    Raises InvalidCursorError.
    """
    view = BOOK[name]
    asked = [view.c[column] == value for column, value in filters.items() if value is not None]
    if known is not None and known.occurred_at is not None:
        asked.append(view.c.occurred_at <= known.occurred_at)
    listed = cursors.listing(name, {**filters, "as of": known and known.occurred_at})
    pinned, after = _place(at, listed, known, cursor)
    if known is not None:
        asked.append(view.c[recorded] <= pinned)
    found = rows(at, _following(name, key, after).where(*asked).limit(limit + 1))
    cut = found[:limit]
    return Page(pinned, cut, _onward(listed, pinned, key, cut) if len(found) > limit else None)


def page_of_streams(
    at: Snapshot,
    category: str,
    key: tuple[str, Any],
    filters: Mapping[str, Any],
    *,
    limit: int,
    cursor: str | None,
    known: AsOf | None,
) -> Page:
    """Return a page of the streams of a category, each as it is now or had become by then.

    Those that have changed since are folded up to the position. A page may be short, its cursor
    leads on. Raises InvalidCursorError.
    """
    name = f"{category}s"
    if known is None:
        return page(at, name, key, filters, limit=limit, cursor=cursor)
    view = BOOK[name]
    given = {column: value for column, value in filters.items() if value is not None}
    # What a stream is about never changes; how it stands does.
    status = given.pop("status", None)
    listed = cursors.listing(f"{name} as of", filters)
    pinned, after = _place(at, listed, known, cursor)
    asked = [view.c[column] == value for column, value in given.items()]
    asked.append(view.c.first_position <= pinned)
    found = rows(at, _following(name, key, after).where(*asked).limit(limit + 1))
    looked_at = found[:limit]
    past = list(_become(at, category, key[0], looked_at, pinned))
    more = len(found) > limit or len(past) < len(looked_at)
    became = [row for row in past if status in (None, row["status"])]
    return Page(
        pinned, became, _onward(listed, pinned, key, looked_at[: len(past)]) if more else None
    )


def _become(
    at: Snapshot, category: str, key: str, now: Sequence[Row], position: int
) -> Iterator[Row]:
    """Give each row as of a position; it may end early."""
    streams = {str(row[key]): stream(category, row["network"], str(row[key])) for row in now}
    changed = [streams[str(row[key])] for row in now if row["position"] > position]
    folded = dict(states.fold_some(at, changed, position))
    for row in now:
        if row["position"] <= position:
            yield row
            continue
        of = streams[str(row[key])]
        if of not in folded:
            return
        yield _row(folded[of], row)


def _row(past: states.Past, now: Row) -> Row:
    """Return the columns of a view out of the state that the view reads them out of."""
    known = {"position": past.position, "first_position": now["first_position"]}
    return {
        column: known[column] if column in known else getattr(past.state, column) for column in now
    }


def _place(
    at: Snapshot, listed: str, known: AsOf | None, cursor: str | None
) -> tuple[int, str | None]:
    """Return the position that a page is pinned to, and the key that it follows."""
    pinned = at.position if known is None else known.position
    if cursor is None:
        return pinned, None
    place = cursors.decode(cursor, listed, (str,))
    return (pinned if known is None else min(place.position, pinned)), place.key[0]


def _following(name: str, key: tuple[str, Any], after: str | None) -> sa.Select[Any]:
    """Select the rows of a view that follow a key, in its order."""
    view, (key_name, kind) = BOOK[name], key
    column = view.c[key_name]
    statement = sa.select(view).order_by(column)
    if after is None:
        return statement
    return statement.where(column > sa.cast(sa.literal(after), kind))


def _onward(listed: str, pinned: int, key: tuple[str, Any], found: Sequence[Row]) -> str:
    return cursors.encode(cursors.Cursor(listed, pinned, [str(found[-1][key[0]])]))
