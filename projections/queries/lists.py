"""Paging through views by a key that has an index."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from projections import cursors
from projections.reading import BOOK, Page, Snapshot, rows


def page(
    at: Snapshot,
    name: str,
    key: tuple[str, Any],
    filters: Mapping[str, Any],
    *,
    limit: int,
    cursor: str | None,
) -> Page:
    """Return a page of a view in the order of its key, a column and its type.

    ``filters`` are columns and what they must be; None does not restrict. Rows are as they are
    now: a list that changes between two pages is not seen twice at one instant.
    Raises InvalidCursorError.
    """
    view, (key_name, kind) = BOOK[name], key
    column = view.c[key_name]
    statement = sa.select(view).order_by(column).limit(limit + 1)
    for filtered, value in filters.items():
        if value is not None:
            statement = statement.where(view.c[filtered] == value)
    listed = cursors.listing(name, filters)
    pinned = at.position
    if cursor is not None:
        place = cursors.decode(cursor, listed, (str,))
        pinned = place.position
        statement = statement.where(column > sa.cast(sa.literal(place.key[0]), kind))
    found = rows(at, statement)
    following = None
    if len(found) > limit:
        last = str(found[limit - 1][key_name])
        following = cursors.encode(cursors.Cursor(listed, pinned, [last]))
    return Page(at.position, found[:limit], following)
