"""CSV: the same rows as JSON, whole, harmless to spreadsheets, and never whole when broken off."""

import asyncio
import csv as reader
import io
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse

from api import csv
from projections.queries import entries
from projections.reading import Page
from tests.api.conftest import Room, refused
from tests.api.test_books import game_of, played

__all__ = ["played"]

LISTS: list[tuple[str, str, dict[str, Any]]] = [
    ("/v1/entries", "entries", {}),
    ("/v1/entries", "entries", {"component": "rake", "order": "oldest-first"}),
    ("/v1/client-funds", "currencies", {}),
    ("/v1/trial-balance", "components", {}),
    ("/v1/accounts", "accounts", {}),
    ("/v1/jackpots", "jackpots", {}),
    ("/v1/hands", "hands", {}),
    ("/v1/hands", "hands", {"table": "{table}"}),
    ("/v1/findings", "findings", {}),
    ("/v1/player-register", "players", {}),
    ("/v1/bankrolls", "bankrolls", {}),
    ("/v1/deposits", "deposits", {}),
    ("/v1/withdrawals", "withdrawals", {}),
    ("/v1/tables", "tables", {}),
    ("/v1/comparison", "accounts", {}),
    ("/v1/comparison", "components", {"by": "component"}),
]


def fetched(room: Room, path: str, role: str = "auditor", **query: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {room.token(role)}", "Accept": "text/csv"}
    return room.http.get(path, headers=headers, params=query)


def records(answer: httpx.Response) -> tuple[list[dict[str, str]], list[str]]:
    """Read a file: its rows by the header's names, and its last record."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8; header=present"
    assert "\n" not in answer.text.replace("\r\n", "")
    header, *rows, end = reader.reader(io.StringIO(answer.text, newline=""))
    assert {len(row) for row in [*rows, end]} == {len(header)}
    return [dict(zip(header, row, strict=True)) for row in rows], end


@pytest.mark.parametrize(("path", "name", "query"), LISTS, ids=lambda part: str(part)[:30])
def test_a_file_has_the_rows_of_the_list_and_ends_with_their_number(
    played: Room, path: str, name: str, query: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv, "PAGE", 3)
    query = {key: text.format(table=game_of(played).table) for key, text in query.items()}
    listed = played.get(path, role="auditor", **query)
    rows, position = listed.json()[name], listed.json()["position"]
    cursor = listed.json().get("cursor")
    while cursor:
        more = played.get(path, role="auditor", cursor=cursor, **query).json()
        rows += more[name]
        cursor = more["cursor"]
    answer = fetched(played, path, **query)
    found, end = records(answer)
    assert end[:3] == [csv.END, f"rows={len(rows)}", f"position={position}"]
    assert set(end[3:]) <= {""}
    expected = [
        {column: csv.cell(value) for column, value in row.items() if column != "links"}
        for row in rows
    ]
    assert [{key: row[key] for key in one} for row, one in zip(found, expected, strict=True)] == (
        expected
    )
    disposition = answer.headers["content-disposition"]
    assert disposition.startswith('attachment; filename="')
    assert disposition.endswith(f'-{position}.csv"')


def test_a_file_holds_on_to_the_position_of_its_first_page(
    played: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv, "PAGE", 5)
    before, _ = records(fetched(played, "/v1/entries"))
    pages = 0
    page_of = entries.page

    def counted(*filters: Any, **page: Any) -> Page:
        nonlocal pages
        pages += 1
        if pages == 2:
            played.funded(f"Latecomer{played.project()}", 100)
            played.project()
        return page_of(*filters, **page)

    monkeypatch.setattr(entries, "page", counted)
    during, end = records(fetched(played, "/v1/entries"))
    assert pages > 2
    assert during == before
    monkeypatch.undo()
    after, later = records(fetched(played, "/v1/entries"))
    assert len(after) > len(before)
    assert later[2] != end[2]


def test_a_file_that_breaks_off_does_not_look_complete(
    played: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv, "PAGE", 5)
    pages = 0
    page_of = entries.page

    def breaking(*filters: Any, **page: Any) -> Page:
        nonlocal pages
        pages += 1
        if pages == 3:
            raise RuntimeError("the disk is gone")
        return page_of(*filters, **page)

    monkeypatch.setattr(entries, "page", breaking)
    headers = {"Authorization": f"Bearer {played.token('auditor')}", "Accept": "text/csv"}
    came: list[str] = []

    def fetch() -> None:
        with played.http.stream("GET", "/v1/entries", headers=headers) as answer:
            came.extend(answer.iter_text())

    with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
        fetch()
    text = "".join(came)
    assert len(text.splitlines()) == 1 + 2 * 5
    assert csv.END not in text


def test_what_is_wrong_with_the_first_page_is_a_problem(played: Room) -> None:
    refused(
        fetched(played, "/v1/entries", position=1, recorded_at="2013-05-01T00:00:00Z"),
        422,
        "invalid-value",
    )
    for name in ("limit", "cursor"):
        refused(fetched(played, "/v1/entries", **{name: "7"}), 422, "invalid-value", field=name)
    refused(fetched(played, "/v1/entries", role="support"), 403, "missing-scope")


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", False),
        ("*/*", False),
        ("application/json", False),
        ("text/csv", True),
        ("TEXT/CSV; header=present", True),
        ("text/csv, */*;q=0.1", True),
        ("application/json, text/csv", False),
        ("application/json;q=0.5, text/csv", True),
        ("application/json, text/csv;q=0.5", False),
        ("text/csv;q=0", False),
        ("text/csv;q=nonsense", False),
        ("text/html, application/xml;q=0.9, */*;q=0.8", False),
    ],
)
def test_csv_is_answered_when_it_is_preferred(accept: str, expected: bool) -> None:
    headers = [(b"accept", accept.encode())] if accept else []
    assert csv.wanted(Request({"type": "http", "headers": headers})) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        (True, "true"),
        (-5, "-5"),
        ("-0.05", "-0.05"),
        ("+12", "+12"),
        ("-1-1", "'-1-1"),
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("-", "'-"),
        ("Riverboat", "Riverboat"),
        ("a=b", "a=b"),
        ({"a": 1}, '{"a":1}'),
        ([1, 2], "[1,2]"),
    ],
)
def test_no_cell_is_a_formula(value: Any, expected: str) -> None:
    assert csv.cell(value) == expected


@pytest.mark.parametrize("name", ['a,"b"', "two\r\nlines", "=HYPERLINK(0)", "plain"])
def test_any_text_is_read_again_as_it_was(name: str) -> None:
    answer = csv.respond(
        "names", ("name", "amount_minor", "amount"), lambda _: csv.Sheet([{"name": name}], 7)
    )
    assert isinstance(answer, StreamingResponse)
    chunks = answer.body_iterator

    async def joined() -> bytes:
        return b"".join([bytes(chunk) async for chunk in chunks if isinstance(chunk, bytes)])

    text = asyncio.run(joined()).decode()
    rows = list(reader.reader(io.StringIO(text, newline="")))
    assert rows == [
        ["name", "amount_minor", "amount"],
        [csv.harmless(name), "", ""],
        ["#end", "rows=1", "position=7"],
    ]
