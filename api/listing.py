"""Lists: a page at a time as JSON, or whole as CSV, from one way of asking for a page."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel

from api import csv
from api.as_of import Asked, Reading, reading
from api.edge import respond
from api.links import Known
from api.positions import Paging
from projections.as_of import AsOf
from projections.reading import Page, Row

Find = Callable[..., Page]
"""Reads a page: called with a snapshot and ``known``, ``limit`` and ``cursor`` by name."""

Shown = Sequence[dict[str, Any]]
Show = Callable[[Reading, Sequence[Row]], Shown]
"""Shows the rows of a page, of which the reading is pinned to the page's position."""


def instant(request: Request, read: Reading) -> AsOf | None:
    """Return as of when a list is read whose rows change; None: as they are now.

    A file is of one instant, so that its pages fit together.
    """
    return read.as_of if csv.wanted(request) else read.past


def each(row: Callable[[Known, Row], dict[str, Any]]) -> Show:
    """Show a page row by row, with what its links rest on."""
    return lambda read, found: [row(read.known, one) for one in found]


def answer(
    request: Request,
    paging: Paging,
    asked: Asked,
    *,
    name: str,
    model: type[BaseModel],
    find: Find,
    show: Show,
) -> Response:
    """Answer a list as the request prefers it.

    Every page is read in a snapshot of its own: however long a file is, no transaction is held
    open while it is sent.
    """

    def page(cursor: str | None, limit: int) -> tuple[Shown, str | None, Reading]:
        with reading(request, asked) as read:
            known = instant(request, read)
            found = find(read.at, known=known, limit=limit, cursor=cursor)
            pinned = read.at_page(found.position)
            return show(pinned, found.rows), found.cursor, pinned

    if not csv.wanted(request):
        rows, following, read = page(paging.cursor, paging.limit)
        return respond({name: rows, "cursor": following, **read.told()})
    csv.whole(request)

    def sheet(cursor: str | None) -> csv.Sheet:
        rows, following, read = page(cursor, csv.PAGE)
        return csv.Sheet(rows, read.as_of.position, following)

    return csv.respond(name, model, sheet)


def answer_all(
    request: Request,
    name: str,
    model: type[BaseModel],
    parts: Mapping[str, Any],
    read: Reading,
) -> Response:
    """Answer rows that are all there: as CSV those of the part of that name, and nothing else."""
    if not csv.wanted(request):
        return respond({**parts, **read.told()})
    csv.whole(request)
    return csv.respond(name, model, lambda _: csv.Sheet(parts[name], read.as_of.position))
