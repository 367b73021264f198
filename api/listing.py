"""Lists: a page at a time as JSON, or whole as CSV, from one way of asking for a page."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import Request, Response
from pydantic import BaseModel

from api import csv
from api.as_of import Reading
from api.edge import respond
from api.positions import Paging
from projections.as_of import AsOf


class Listed(NamedTuple):
    """A page of a list: its rows as they are shown, where it goes on, and as of when it is."""

    rows: Sequence[dict[str, Any]]
    cursor: str | None
    read: Reading


def instant(request: Request, read: Reading) -> AsOf | None:
    """Return as of when a list is read whose rows change; None: as they are now.

    A file is of one instant, so that its pages fit together.
    """
    return read.as_of if csv.wanted(request) else read.past


def answer(
    request: Request,
    paging: Paging,
    name: str,
    model: type[BaseModel],
    page: Callable[[str | None, int], Listed],
) -> Response:
    """Answer a list as the request prefers it.

    ``page`` is given a cursor and how many rows are wanted, and reads in a snapshot of its own:
    however long a file is, no transaction is held open while it is sent.
    """
    if not csv.wanted(request):
        found = page(paging.cursor, paging.limit)
        return respond({name: found.rows, "cursor": found.cursor, **found.read.told()})
    csv.whole(request)

    def sheet(cursor: str | None) -> csv.Sheet:
        found = page(cursor, csv.PAGE)
        return csv.Sheet(found.rows, found.read.as_of.position, found.cursor)

    return csv.respond(name, model, sheet)


def answer_all(
    request: Request,
    name: str,
    model: type[BaseModel],
    parts: Mapping[str, Sequence[dict[str, Any]]],
    read: Reading,
) -> Response:
    """Answer rows that are all there: as CSV those of the part of that name."""
    if not csv.wanted(request):
        return respond({**parts, **read.told()})
    csv.whole(request)
    return csv.respond(name, model, lambda _: csv.Sheet(parts[name], read.as_of.position))
