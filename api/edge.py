"""What every route shares: strict JSON in, commands carried out once, answers and problems out."""

from collections.abc import Callable, Container, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Final, NamedTuple, TypedDict
from uuid import UUID

import msgspec
from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path

from api.auth import Caller, Verifier
from api.clock import now
from api.idempotency import FieldDigests, Running, idempotency_key
from api.middleware import INNER_SLASH
from api.problems import MEDIA_TYPE, Problem, encoded, where
from api.reads import Reads
from api.settings import EdgeSettings
from ledger import money
from ledger.core import Command
from ledger.identity import Identity
from ledger.journal import Outcome, Submission
from ledger.writer import Writer

Key = Annotated[str, Depends(idempotency_key)]
"""The Idempotency-Key of a request that changes something."""


class Edge(NamedTuple):
    """What the routes of one process work with; ``app.state.edge``."""

    verifier: Verifier
    identity: Identity
    digests: FieldDigests
    running: Running
    writer: Writer
    reads: Reads
    settings: EdgeSettings


def edge_of(request: Request) -> Edge:
    """Return what the process works with."""
    edge: Edge = request.app.state.edge
    return edge


def recording(
    request: Request, caller: Caller, what: str, subject: str
) -> AbstractContextManager[None]:
    """Write down who is shown what of whom, while the block finds it; see ``Reads.recording``."""
    request_id = request.scope["request_id"]
    return edge_of(request).reads.recording(caller, what, subject, request_id, now())


# -- bodies --------------------------------------------------------------------------------------


class Body(BaseModel):
    """A request's body: exact types, no field that is not named here."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


AmountMinor = Annotated[
    int,
    Field(gt=0, le=money.MAX_MINOR, description="Whole minor units of the currency: cents of EUR."),
]
Currency = Annotated[
    str, Field(pattern="^[A-Z]{3}$", description="ISO 4217, XPM for play money, XCR for credits.")
]
Slug = Annotated[str, Field(max_length=64, pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
PlayerId = Annotated[
    str,
    Field(
        pattern="^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
        description="The player's id, a random UUID.",
    ),
]
Reference = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,128}$")]
"""An identifier of somebody else's: visible ASCII."""
Text = Annotated[str, Field(min_length=1, max_length=500)]
"""What people write."""


class Answer(BaseModel):
    """What a command became, or what was asked for."""

    model_config = ConfigDict(extra="forbid")

    position: int = Field(description="The journal position that the answer is true for.")


class Done(Answer):
    """What a command became."""

    repeated: bool = Field(description="True when the first result of this key is given again.")


class StrictRequest(Request):
    """A request whose JSON holds neither NaN nor numbers beyond reason."""

    async def json(self) -> Any:
        return self._strict

    @cached_property
    def _strict(self) -> Any:
        body: bytes = self._body
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as fault:
            raise Problem("malformed-json", f"the body cannot be read: {fault}") from None


class LedgerRoute(APIRoute):
    """A route whose query and whose body, JSON of that content type, are read strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        parameters = frozenset(_parameters(self.dependant))

        async def handle(request: Request) -> Response:
            check_query(request.query_params.multi_items(), parameters)
            for name, value in request.path_params.items():
                _require_text(name, value)
                request.path_params[name] = value.replace(INNER_SLASH, "/")
            strict = StrictRequest(request.scope, request.receive)
            if await strict.body():
                _require_json(strict)
                # Read before FastAPI does: it would answer 400 without saying why.
                await strict.json()
            return await handler(strict)

        return handle


def _parameters(dependant: Dependant) -> Iterator[str]:
    """Return the names of the query parameters that a route takes, its dependencies' included."""
    yield from (parameter.alias for parameter in dependant.query_params)
    for needed in dependant.dependencies:
        yield from _parameters(needed)


def check_query(given: Sequence[tuple[str, str]], known: Container[str]) -> None:
    """Refuse a parameter that nobody reads: a filter that is misspelt would show everything.

    Raises unknown-field; invalid-value for one that is given twice, or is no text.
    """
    seen: set[str] = set()
    for name, value in given:
        if name not in known:
            raise Problem("unknown-field", "no such parameter", field=name)
        if name in seen:
            raise Problem("invalid-value", "given more than once", field=name)
        _require_text(name, value)
        seen.add(name)


def _require_text(name: str, value: str) -> None:
    """Refuse a NUL, which PostgreSQL takes for no text at all; raises invalid-value."""
    if "\0" in value:
        raise Problem("invalid-value", "no text holds a NUL", field=name)


def _require_json(request: Request) -> None:
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise encoded()
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Problem(
            "unsupported-media-type", "send application/json", accepted=["application/json"]
        )


# -- commands ------------------------------------------------------------------------------------


class Common(TypedDict):
    """What every command says alike."""

    network: str
    at: datetime
    actor: str
    request_id: str


def common(caller: Caller, key: str) -> Common:
    """Say who commands, for which network, when, and under which key."""
    return Common(network=caller.network, at=now(), actor=caller.subject, request_id=key)


async def carry_out(
    request: Request, caller: Caller, command: Command, *, status: int = 201
) -> Response:
    """Carry out a command under the request's key, or answer what it became the first time."""
    return answer_outcome(request, await execute(request, caller, command), status)


async def execute(request: Request, caller: Caller, command: Command) -> Outcome:
    """Carry out a command under the request's key; return what it became, now or the first time."""
    edge = edge_of(request)
    with edge.running.claim(caller.network, caller.client, command.request_id):
        submission = Submission(
            command, caller.client, command.request_id, edge.digests.of(await _content(request))
        )
        [outcome] = await edge.writer.submit([submission])
    return outcome


async def _content(request: Request) -> dict[str, Any]:
    """Return what makes this request the same as another: operation, path and body."""
    route: APIRoute = request.scope["route"]
    body = await request.json() if await request.body() else {}
    return {
        "request": f"{request.method} {route.path}",
        "path": request.path_params,
        **(body if isinstance(body, dict) else {}),
    }


def answer_outcome(request: Request, outcome: Outcome, status: int) -> Response:
    """Answer what became of a command; raises the problem of a refusal."""
    headers = {"Idempotent-Replay": "true"} if outcome.repeated else {}
    request.scope["position"] = outcome.position
    if outcome.status == "done":
        content = {
            **worded(outcome.answer),
            "position": outcome.position,
            "repeated": outcome.repeated,
        }
        return respond(content, status, headers)
    problem = problem_of(outcome)
    problem.headers.update(headers)
    raise problem


def problem_of(outcome: Outcome) -> Problem:
    """Return the problem of an outcome that is not done."""
    refusal = outcome.refusal
    assert refusal is not None
    extra = worded(refusal.extra) | ({"repeated": True} if outcome.repeated else {})
    return Problem.of_refusal(
        code=refusal.code,
        kind=refusal.kind,
        retry=refusal.retry,  # type: ignore[arg-type]
        message=refusal.message,
        field=refusal.field,
        extra=extra,
    )


# -- answers -------------------------------------------------------------------------------------


def respond(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer JSON."""
    return Response(
        msgspec.json.encode(content), status, headers=headers, media_type="application/json"
    )


_MINOR: Final = "_minor"


def worded(content: Mapping[str, Any], currency: str | None = None) -> dict[str, Any]:
    """Add to each amount in minor units the decimal string that people read, if it is known
    which currency it is in: ``amount_minor: 1250`` -> ``amount: "12.50"``.
    """
    currency = content.get("currency", currency)
    known = isinstance(currency, str) and currency in money.DIGITS
    result: dict[str, Any] = {}
    for name, value in content.items():
        result[name] = value if type(value) in _PLAIN else _worded(value, currency)
        if known and isinstance(value, int) and name.endswith(_MINOR):
            result.setdefault(name.removesuffix(_MINOR), money.text(value, str(currency)))
    return result


_PLAIN: Final = frozenset({str, int, type(None), bool, datetime, UUID})


def _worded(value: Any, currency: str | None) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        return worded(value, currency)
    if isinstance(value, list | tuple):
        return [_worded(item, currency) for item in value]
    return value


# -- problems ------------------------------------------------------------------------------------


async def on_problem(request: Request, problem: Exception) -> Response:
    """Answer a problem that stands for what the framework raised."""
    assert isinstance(problem, Problem)
    request.scope["code"] = problem.code
    response = Response(
        msgspec.json.encode(problem.document(request.scope["request_id"])),
        problem.status,
        media_type=MEDIA_TYPE.decode(),
    )
    response.raw_headers += list(problem.header_lines())
    return response


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Answer what the framework refuses by itself: unknown paths and methods."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        problem = Problem("method-not-allowed", f"{request.method} is not one of this path's")
        problem.headers.update(error.headers or {})
        if methods := _methods(request):
            problem.headers["Allow"] = ", ".join(methods)
    elif error.status_code == 404:
        problem = Problem("not-found", "nothing is kept under this path")
    else:
        problem = Problem("malformed-json", "the body cannot be read")
    return await on_problem(request, problem)


def _methods(request: Request) -> list[str]:
    """Return the methods of a path; the framework knows those of its first route alone."""
    return sorted(
        method.upper()
        for path, operations in request.app.openapi()["paths"].items()
        if compile_path(path)[0].match(request.scope["path"])
        for method in operations
    )


async def on_invalid_cursor(request: Request, error: Exception) -> Response:
    """Answer a cursor that is none, or another list's."""
    return await on_problem(request, Problem("invalid-cursor", str(error), field="cursor"))


_FIELD_CODES: Final = {"missing": "missing-field", "extra_forbidden": "unknown-field"}


async def on_invalid(request: Request, error: Exception) -> Response:
    """Answer a body, path or query that is not of the form it must have; the first fault leads."""
    assert isinstance(error, RequestValidationError)
    faults = [
        {
            "field": where(fault["loc"]) or None,
            "code": _FIELD_CODES.get(fault["type"], "invalid-value"),
            "message": fault["msg"],
        }
        for fault in error.errors()
    ]
    first = faults[0]
    detail = f"{first['field']}: {first['message']}" if first["field"] else first["message"]
    problem = Problem(first["code"] or "", detail, field=first["field"], faults=faults)
    return await on_problem(request, problem)
