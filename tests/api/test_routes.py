"""What holds for every route, whatever it answers."""

from collections.abc import Iterator
from inspect import iscoroutinefunction
from typing import Any

import pytest
from fastapi.dependencies.models import Dependant

from api.app import ROUTERS, create_app
from api.edge import LedgerRoute
from api.settings import EdgeSettings
from tests.api.conftest import IDENTITY_KEY, JWT_KEY

ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, LedgerRoute)]


def calls(dependant: Dependant) -> Iterator[Any]:
    """Give what is called before the route itself."""
    for needed in dependant.dependencies:
        yield needed.call
        yield from calls(needed)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.methods} {route.path}")
def test_nothing_is_run_in_a_thread_before_the_route_itself(route: LedgerRoute) -> None:
    # Each thread that is changed to waits for the interpreter while hands are posted.
    assert [
        call
        for call in calls(route.dependant)
        if not (iscoroutinefunction(call) or iscoroutinefunction(type(call).__call__))
    ] == []


ONE_THING = {
    "/v1/players": "the player of a name",
    "/v1/players/{player}/bankroll": "one player's money",
    "/v1/anchors": "the digests of now",
}
"""Answers with rows that are no list for all that."""

INSTANTS = {"position", "recorded_at", "occurred_at"}
TWO_INSTANTS = {f"{end}_{name}" for end in ("from", "to") for name in INSTANTS}


def lists() -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the lists of the document: what comes in pages, or has rows and is no single thing."""
    app = create_app(EdgeSettings(database_url="-", identity_key=IDENTITY_KEY, jwt_key=JWT_KEY))
    document = app.openapi()
    for path, operations in document["paths"].items():
        read = operations.get("get")
        if read is None or path in ONE_THING:
            continue
        content = read["responses"]["200"].get("content", {}).get("application/json", {})
        name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
        parts = document["components"]["schemas"].get(name, {}).get("properties", {})
        has_rows = any(
            "$ref" in kind.get("items", {})
            for part in parts.values()
            for kind in (part, *part.get("anyOf", ()))
        )
        if "cursor" in parts or (has_rows and not path.endswith("}")):
            yield path, read


LISTS = dict(lists())


def test_lists_are_found() -> None:
    assert {"/v1/entries", "/v1/treasury/bank", "/v1/periods", "/v1/approvals"} <= set(LISTS)


@pytest.mark.parametrize("path", LISTS)
def test_a_list_answers_csv_and_as_of_an_instant(path: str) -> None:
    read = LISTS[path]
    assert "text/csv" in read["responses"]["200"]["content"]
    taken = {parameter["name"] for parameter in read["parameters"]}
    assert taken >= (TWO_INSTANTS if path == "/v1/comparison" else INSTANTS)
