"""Answers as CSV: the same rows as in JSON, streamed page by page at one pinned position.

RFC 4180 with a header row. Amounts stand there twice, in whole minor units and in decimals. Text
that a spreadsheet would take for a formula begins with an apostrophe. The last record is::

    #end,rows=1234,position=5678

A file without it is not complete: whoever keeps it must look for it. When the answer breaks off,
the connection does too, before the last chunk, so that HTTP clients report an error.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec
from fastapi import Request, Response
from pydantic import BaseModel
from starlette.responses import StreamingResponse

from api.problems import Problem

MEDIA_TYPE: Final = "text/csv"

PAGE: Final = 2_000
"""Rows that are read, and held in memory, at a time."""

END: Final = "#end"
"""What the last record begins with."""

NOT_COLUMNS: Final = frozenset({"links"})
"""What a row has in JSON alone."""

DOCUMENTED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "content": {
            MEDIA_TYPE: {
                "schema": {"type": "string"},
                "description": "The whole list, with a header; the last record is "
                f"`{END},rows=…,position=…`: without it the file is not complete.",
            }
        }
    }
}
"""What the document says of a route that also answers CSV."""

Row = Mapping[str, Any]

_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


class Sheet(NamedTuple):
    """A page of rows, the position that they are true for, and where the next page begins."""

    rows: Iterable[Row]
    position: int
    cursor: str | None = None


def wanted(request: Request) -> bool:
    """Tell whether the request prefers CSV to JSON by its Accept header."""
    given = request.headers.get("accept", "")
    weights = {"text/csv": 0.0, "application/json": 0.0}
    for part in given.split(","):
        media_type, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if media_type in weights:
            weights[media_type] = _weight(parameters)
    return weights["text/csv"] > weights["application/json"]


def _weight(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def whole(request: Request) -> None:
    """Refuse ``limit`` and ``cursor``: a file is a whole list. Raises invalid-value."""
    for name in ("limit", "cursor"):
        if name in request.query_params:
            raise Problem("invalid-value", "CSV holds the whole list", field=name)


def respond(
    name: str, model: type[BaseModel] | Sequence[str], page: Callable[[str | None], Sheet]
) -> Response:
    """Answer a list as CSV.

    ``model`` is that of its rows, or names the columns; ``page`` gives the page that a cursor
    leads to, None the first, and runs in a thread. What it raises for the first page is answered
    as a problem.
    """
    columns = columns_of(model)
    first = page(None)
    return StreamingResponse(
        _records(columns, first, page),
        media_type=f"{MEDIA_TYPE}; charset=utf-8; header=present",
        headers={"Content-Disposition": f'attachment; filename="{name}-{first.position}.csv"'},
    )


def columns_of(model: type[BaseModel] | Sequence[str]) -> tuple[str, ...]:
    """Return the columns of the rows of a model, in its order."""
    names = model.model_fields if isinstance(model, type) else model
    return tuple(name for name in names if name not in NOT_COLUMNS)


def _records(
    columns: tuple[str, ...], first: Sheet, page: Callable[[str | None], Sheet]
) -> Iterator[bytes]:
    """Write a chunk per page: nothing but the page at hand is held in memory."""
    out = io.StringIO(newline="")
    write = csv.writer(out, lineterminator="\r\n").writerow
    write(columns)
    count = 0
    sheet = first
    while True:
        for row in sheet.rows:
            write([cell(row.get(column)) for column in columns])
            count += 1
        if sheet.cursor is None:
            break
        yield _taken(out)
        sheet = page(sheet.cursor)
    end = [END, f"rows={count}", f"position={first.position}"]
    # Every record has as many fields as the header.
    write([*end, *[""] * (len(columns) - len(end))])
    yield _taken(out)


def _taken(out: io.StringIO) -> bytes:
    text = out.getvalue()
    out.seek(0)
    out.truncate()
    return text.encode()


def cell(value: Any) -> str:
    """Write a value as it stands in JSON, without quotes; nothing for null."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return harmless(value)
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case dict() | list() | tuple():
            return harmless(msgspec.json.encode(value).decode())
    return harmless(str(value))


def harmless(text: str) -> str:
    """Keep a spreadsheet from taking a text for a formula; numbers stay as they are."""
    if text.startswith(_FORMULA) and _NUMBER.fullmatch(text) is None:
        return f"'{text}"
    return text
