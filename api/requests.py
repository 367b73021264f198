"""What became of a request, for a client that lost the answer."""

from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, Field

from api.auth import Caller, needs
from api.edge import LedgerRoute, edge_of, problem_of, respond, worded
from api.problems import Problem
from ledger.journal import Outcome

router = APIRouter(prefix="/v1/requests", tags=["everyone"], route_class=LedgerRoute)


class RequestAnswer(BaseModel):
    """A request of this client and what was answered to it."""

    key: str
    status: Literal["running", "done", "refused"]
    position: int | None = Field(description="The journal position that the answer is true for.")
    answer: dict[str, Any] | None = None
    problem: dict[str, Any] | None = None


@router.get(
    "/{key}",
    response_model=RequestAnswer,
    summary="What became of a request",
    description="The first result of the request that this client sent with this "
    "Idempotency-Key. Refusals that say `retry: later` leave a key open and are not kept.",
)
def get_request(
    request: Request,
    key: Annotated[str, Path(pattern=r"^[\x21-\x7e]{1,128}$", examples=["deposit-1001"])],
    caller: Annotated[Caller, needs()],
) -> Response:
    edge = edge_of(request)
    with edge.reads.snapshot() as connection:
        row = connection.execute(
            "SELECT outcome::text FROM journal.requests"
            " WHERE network = %s AND client = %s AND key = %s",
            [caller.network, caller.client, key],
        ).fetchone()
    if row is None:
        if (caller.network, caller.client, key) in edge.running:
            return respond({"key": key, "status": "running", "position": None})
        raise Problem("request-not-found", "no finished request has this key")
    outcome = msgspec.json.decode(row[0], type=Outcome)
    found: dict[str, Any] = {"key": key, "status": outcome.status, "position": outcome.position}
    if outcome.status == "done":
        found["answer"] = worded(outcome.answer)
    else:
        found["problem"] = problem_of(outcome).document(request.scope["request_id"])
    return respond(found)
