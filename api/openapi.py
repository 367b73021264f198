"""The OpenAPI document: what FastAPI derives, and what it cannot know."""

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from api import hand_schema
from api.problems import MEDIA_TYPE, catalogue
from api.tokens import ROLES

VERSION: Final = "1"

DESCRIPTION: Final = """\
The money and compliance book of an online card room.

**Tokens.** Every request but those of `/livez`, `/readyz`, `/metrics` and `/problems` carries a
bearer token. Its network is the only one that the request reads and writes; its scopes say what it
may do. Operations are listed under the roles whose tokens allow them.

**Amounts.** Requests name amounts in whole minor units (`amount_minor`: 1250 is 12.50 EUR).
Answers repeat them as decimal strings beside (`amount`: "12.50"). Posted hands are Open Hand
History, whose amounts are JSON numbers, read as exact decimals.

**Retries.** Every POST needs an `Idempotency-Key`; posted hands use their game number instead. The
same content under the same key answers the first result again, with `Idempotent-Replay: true`. A
refusal that says `retry: later` leaves its key open. `GET /v1/requests/{key}` tells what became of
a request whose answer was lost.

**Approvals.** What the rulebook wants two people for is asked for by the same request as ever, and
answered 202 with a link to its approval. Another person grants it, to the letter and over the books
as they are then. A person is the subject (`sub`) of his token, whatever his client.

**Positions.** Every answer names the journal position that it is true for. Reads that rest on
projections wait for one when asked: `at_least=POSITION&wait_ms=500`.

**As of.** Reads of the books take `position` or `recorded_at`, what was known then, and
`occurred_at`, what had happened by then; `as_of` in the answer says what it is true for, and
whether more was asked for than the book has (`clamped`). What cannot be answered so is refused,
`as-of-not-kept`.

**Links.** Rows carry relative URLs to what is behind them, those that the token may follow.

**CSV.** Where the document names it, `Accept: text/csv` answers the whole list as of one position.
The last record is `#end,rows=…,position=…`: a file without it is not complete.

**Problems.** Every refusal is `application/problem+json` (RFC 9457) with a stable `code`, the
`field` at fault, and `retry`: `never`, `after-fix` or `later`.
"""

TAGS: Final = {
    "game-server": "Posts hands and runs the tables.",
    "cashier": "Registers players, books deposits and withdrawals.",
    "support": "Answers players: reads accounts, tables and hands, settles findings.",
    "compliance": "Suspends players, reviews withdrawals, settles findings, reads the books.",
    "approver": "Agrees to what others ask for; releases withdrawals.",
    "auditor": "Reads everything and changes nothing.",
    "partner": "Registers its own players and reads what concerns them.",
    "operator": "Adopts rulebooks, asks for corrections of tables after a failure.",
    "treasurer": "Books what moves on the client-funds account, closes months.",
    "everyone": "Needs no particular scope.",
    "operations": "For load balancers and monitoring; needs no token.",
}


def describe(app: FastAPI) -> None:
    """Let the application answer this document under ``/openapi.json``."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title="cardroom-ledger",
        version=VERSION,
        description=f"{DESCRIPTION}\n{_problem_table()}",
        routes=app.routes,
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    schemas = document["components"]["schemas"]
    schemas["Problem"] = _problem_schema()
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    operation, components = hand_schema.operation()
    schemas.update(components)
    document["paths"].setdefault("/v1/hands", {})["post"] = operation
    for path, operations in document["paths"].items():
        for found in operations.values():
            _finish(path, found)
    return document


def _finish(path: str, operation: dict[str, Any]) -> None:
    scopes = {scope for need in operation.get("security", ()) for s in need.values() for scope in s}
    if scopes:
        named = ", ".join(f"`{scope}`" for scope in sorted(scopes))
        operation["description"] = f"{operation.get('description', '')}\n\nScope: {named}.".strip()
        operation["tags"] = [role for role, allowed in ROLES.items() if scopes <= allowed]
    operation["responses"].pop("422", None)
    if not path.startswith(("/livez", "/readyz", "/metrics")):
        operation["responses"]["default"] = {
            "description": "A problem.",
            "content": {MEDIA_TYPE.decode(): {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }


def _problem_schema() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "title": "Problem",
        "description": "RFC 9457; members beside these belong to the code.",
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "retry", "field", "request_id"],
        "properties": {
            "type": {**text, "format": "uri-reference", "description": "Tells what it means."},
            "title": text,
            "status": {"type": "integer"},
            "detail": {**text, "description": "What is wrong in this request."},
            "code": {**text, "enum": list(catalogue())},
            "retry": {**text, "enum": ["never", "after-fix", "later"]},
            "field": {"type": ["string", "null"], "description": "The part that is at fault."},
            "request_id": {**text, "description": "Finds the request in the log."},
        },
        "examples": [
            {
                "type": "/problems/insufficient-funds",
                "title": "Insufficient funds",
                "status": 422,
                "detail": "The bankroll is smaller than the amount.",
                "code": "insufficient-funds",
                "retry": "after-fix",
                "field": "amount_minor",
                "request_id": "5f0c9e0e2c2f4c6b9f6f0f6d5a1b7c3e",
                "available_minor": 1800,
                "currency": "EUR",
                "available": "18.00",
            }
        ],
    }


def _problem_table() -> str:
    lines = ["| code | status | retry | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{code}` | {kind.status} | {kind.retry} | {kind.meaning} |"
        for code, kind in catalogue().items()
    ]
    return "\n".join(lines)
