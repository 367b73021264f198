"""Who may do what: every operation asks for a token and its scope, and for nothing less."""

from typing import Any

import pytest
from fastapi import FastAPI

from api.app import create_app
from api.settings import EdgeSettings
from api.tokens import ROLES, Scope
from tests.api.conftest import IDENTITY_KEY, JWT_KEY, Room, refused

OTHERS = ("partner", "provider", "account")
OPEN = {"/livez", "/readyz", "/metrics", "/problems/{code}"}


def document() -> dict[str, Any]:
    app: FastAPI = create_app(
        EdgeSettings(database_url="unused", identity_key=IDENTITY_KEY, jwt_key=JWT_KEY)
    )
    return app.openapi()


OPERATIONS = [
    (method, path, operation)
    for path, operations in document()["paths"].items()
    for method, operation in operations.items()
]
GUARDED = [
    pytest.param(*found, id=f"{found[0]} {found[1]}")
    for found in OPERATIONS
    if found[1] not in OPEN
]


def call(room: Room, method: str, path: str, **headers: str) -> Any:
    for name in (
        "player",
        "deposit",
        "withdrawal",
        "table",
        "game_number",
        "name",
        "jackpot",
        "key",
        *OTHERS,
        "approval",
    ):
        path = path.replace(f"{{{name}}}", "3b1f6c1e-6d0f-4f0e-9a57-0c5f6f0b7a11")
    path = path.replace("{position}", "1").replace("{sha256}", "0" * 64)
    return room.http.request(method, path, headers=headers)


def scope_of(operation: dict[str, Any]) -> str | None:
    scopes = {scope for need in operation["security"] for s in need.values() for scope in s}
    assert len(scopes) <= 1
    return scopes.pop() if scopes else None


@pytest.mark.parametrize(("method", "path", "operation"), GUARDED)
def test_an_operation_without_a_token_is_refused(
    room: Room, method: str, path: str, operation: dict[str, Any]
) -> None:
    answer = call(room, method, path)
    refused(answer, 401, "token-missing")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    refused(call(room, method, path, Authorization="Bearer nonsense"), 401, "token-invalid")


@pytest.mark.parametrize(("method", "path", "operation"), GUARDED)
def test_an_operation_without_its_scope_is_refused_with_the_scope_that_lacks(
    room: Room, method: str, path: str, operation: dict[str, Any]
) -> None:
    scope = "hands:post" if (method, path) == ("post", "/v1/hands") else scope_of(operation)
    if scope is None:
        assert path == "/v1/requests/{key}"
        return
    roles = [role for role, scopes in ROLES.items() if scope not in scopes]
    if not roles:
        assert scope == Scope.RULEBOOKS_READ
        return
    role = roles[0]
    token = room.token(role, "kerching" if role == "partner" else None)
    answer = call(room, method, path, Authorization=f"Bearer {token}")
    refused(answer, 403, "missing-scope", scope=scope, retry="never")


@pytest.mark.parametrize("path", sorted(OPEN - {"/problems/{code}"}))
def test_what_monitoring_asks_needs_no_token(room: Room, path: str) -> None:
    room.project()
    assert room.http.get(path).status_code == 200


def test_every_scope_is_some_roles_and_asked_by_some_operation() -> None:
    asked = {scope_of(operation) for _, path, operation in OPERATIONS if path not in OPEN}
    assert asked - {None} | {"hands:post"} == {scope.value for scope in Scope}
    assert set().union(*ROLES.values()) == set(Scope)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not-found"),
        ("GET", "/v1", 404, "not-found"),
        ("GET", "/v1/players/", 404, "not-found"),
        ("DELETE", "/v1/players", 405, "method-not-allowed"),
        ("PUT", "/v1/hands", 405, "method-not-allowed"),
        ("DELETE", "/v1/hands", 405, "method-not-allowed"),
        ("POST", "/v1/events/1", 405, "method-not-allowed"),
    ],
)
def test_a_path_or_a_method_that_does_not_exist_is_a_problem_too(
    room: Room, method: str, path: str, status: int, code: str
) -> None:
    answer = room.http.request(method, path, headers={"Authorization": "Bearer x"})
    refused(answer, status, code, retry="never")
    if status == 405:
        assert answer.headers["allow"]


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/v1/tables", "GET, POST"), ("/v1/hands", "GET, POST"), ("/v1/players/x/close", "POST")],
)
def test_a_method_that_a_path_lacks_is_answered_with_those_that_it_has(
    room: Room, path: str, allowed: str
) -> None:
    answer = room.http.request("DELETE", path)
    refused(answer, 405, "method-not-allowed")
    assert answer.headers.get_list("allow") == [allowed]


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_a_load_balancer_may_ask_for_the_head_alone(room: Room, path: str) -> None:
    assert room.http.head(path).status_code == room.http.get(path).status_code


def test_a_problems_type_leads_to_its_meaning(room: Room) -> None:
    problem = refused(room.http.get("/v1/requests/x"), 401, "token-missing")
    meaning = room.http.get(problem["type"]).json()
    assert meaning["code"] == "token-missing"
    assert meaning["status"] == 401
    refused(room.http.get("/problems/unheard-of"), 404, "not-found")
