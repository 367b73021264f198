"""Approvals: what needs a second person is asked for here, and decided here."""

from typing import Annotated, Any, Final, Literal
from uuid import uuid4

import msgspec
from fastapi import APIRouter, Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import ConfigDict, Field

from api.auth import Caller, needs
from api.edge import (
    Body,
    Done,
    Edge,
    Key,
    LedgerRoute,
    PlayerId,
    Slug,
    Text,
    answer_outcome,
    carry_out,
    common,
    edge_of,
    execute,
)
from api.problems import Problem
from api.tokens import Scope
from ledger.approvals.commands import (
    AWAITING,
    REASONS,
    ChangedCommand,
    GrantApproval,
    RejectApproval,
    RequestApproval,
    UnknownApproval,
    WithdrawApproval,
)
from ledger.approvals.events import ApprovalState, Status, approval_stream
from ledger.core import Approvable
from ledger.jackpots.commands import AnnulHit, ReleaseHit
from ledger.periods.commands import ClosePeriod, ReopenPeriod
from ledger.tables.commands import ResyncTable
from ledger.treasury.commands import CorrectTreasury, RecordProviderSettlement

router = APIRouter(prefix="/v1/approvals", tags=["approver"], route_class=LedgerRoute)

EXAMPLE: Final = "5b1c0c7e-2f0d-4f6f-9d43-0c8d9b8f7a10"

COMMANDS: Final[dict[str, type[Approvable]]] = {
    command.ACTION: command
    for command in (
        ResyncTable,
        RecordProviderSettlement,
        CorrectTreasury,
        ClosePeriod,
        ReopenPeriod,
        ReleaseHit,
        AnnulHit,
    )
}
"""What may be approved, by the action that its text names: it is read back as this."""

Withdrawing = Annotated[Caller, needs(Scope.APPROVALS_WITHDRAW)]
Deciding = Annotated[Caller, needs(Scope.APPROVALS_DECIDE)]
ApprovalId = Annotated[PlayerId, Path(examples=[EXAMPLE], description="The approval's id.")]


class RejectBody(Body):
    """Why one does not agree."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"code": "wrong-amount", "reason": "Seat 2 had 18.50 after hand 900."}]
        }
    )

    code: Slug = Field(
        description="; ".join(f"`{code}`: {meaning}" for code, meaning in REASONS.items()),
        json_schema_extra={"enum": list(REASONS)},
    )
    reason: Text


class Awaiting(Done):
    """A request that a second person must agree to; nothing is booked yet."""

    status: Literal["awaiting-approval"]
    approval: str
    action: str
    words: str = Field(description="What will be done, in one sentence.")
    amount_minor: int
    amount: str | None = None
    currency: str | None
    expires_at: str
    links: dict[str, str] = Field(description="`approval` tells what became of it.")


AWAITED: Final[dict[int | str, dict[str, Any]]] = {
    202: {
        "model": Awaiting,
        "description": "By the rulebook a second person must agree first: see `links.approval`. "
        "The same request again answers this again, also when it was granted since.",
    }
}
"""What a route that uses ``submit_or_ask`` may answer beside its own."""


class ApprovalDone(Done):
    """What became of an approval."""

    approval: str
    status: Status
    action: str
    words: str
    amount_minor: int
    amount: str | None = None
    currency: str | None
    maker: str


class GrantedDone(ApprovalDone):
    """A granted approval and what came of it."""

    checker: str
    result: dict[str, Any] = Field(description="What the request itself would have answered.")


class RejectedDone(ApprovalDone):
    """A rejected approval."""

    checker: str
    code: str
    reason: str


# -- asking --------------------------------------------------------------------------------------


async def submit_or_ask(
    request: Request, caller: Caller, command: Approvable, *, status: int = 201
) -> Response:
    """Carry a command out under the request's key or, where the rulebook wants it, ask for it.

    The writer decides which, over the book that the command is decided over. Asked for, it is
    answered 202, at every later try as well.
    """
    asking = RequestApproval(
        network=caller.network,
        at=command.at,
        actor=caller.subject,
        request_id=command.request_id,
        approval=str(uuid4()),
        command=command,
    )
    outcome = await execute(request, caller, asking)
    if outcome.answer.get("status") != AWAITING:
        return answer_outcome(request, outcome, status)
    approval = f"/v1/approvals/{outcome.answer['approval']}"
    answer = {**outcome.answer, "links": {"approval": approval}}
    return answer_outcome(request, msgspec.structs.replace(outcome, answer=answer), 202)


# -- deciding ------------------------------------------------------------------------------------


@router.post("/{approval}/grant", response_model=GrantedDone, summary="Agree to a request")
async def grant(request: Request, approval: ApprovalId, caller: Deciding, key: Key) -> Response:
    """Agree to what somebody else asked for, and carry it out over the books as they are now.

    What cannot be done any more is refused as the request itself would be, and the approval stays
    pending; `stale-request` when it would do something else than what was asked for.
    """
    state, _ = await run_in_threadpool(approval_of, request, caller, approval)
    command = GrantApproval(**common(caller, key), approval=approval, command=_command(state))
    return await carry_out(request, caller, command, status=200)


@router.post("/{approval}/reject", response_model=RejectedDone, summary="Reject a request")
async def reject(
    request: Request, approval: ApprovalId, body: RejectBody, caller: Deciding, key: Key
) -> Response:
    """Do not agree to what somebody else asked for, with a reason; it is over then."""
    require_house(caller)
    command = RejectApproval(
        **common(caller, key), approval=approval, code=body.code, reason=body.reason
    )
    return await carry_out(request, caller, command, status=200)


@router.post("/{approval}/withdraw", response_model=ApprovalDone, summary="Withdraw a request")
async def withdraw(
    request: Request, approval: ApprovalId, caller: Withdrawing, key: Key
) -> Response:
    """Take back what one has asked for oneself, while nobody has decided it."""
    require_house(caller)
    command = WithdrawApproval(**common(caller, key), approval=approval)
    return await carry_out(request, caller, command, status=200)


def approval_of(request: Request, caller: Caller, approval: str) -> tuple[ApprovalState, int]:
    """Return an approval as it is now, and the position; raises UnknownApproval."""
    require_house(caller)
    edge: Edge = edge_of(request)
    state: ApprovalState | None
    state, position = edge.reads.state(approval_stream(caller.network, approval))
    if state is None:
        raise UnknownApproval("No such approval.", field="approval")
    return state, position


def _command(state: ApprovalState) -> Approvable:
    """Read back what was asked for; raises ChangedCommand when this version cannot."""
    exact = msgspec.json.decode(state.command, type=dict[str, msgspec.Raw])
    try:
        kind = COMMANDS[msgspec.json.decode(exact["action"])]
        command: Approvable = msgspec.json.decode(exact["command"], type=kind)
    except (KeyError, msgspec.ValidationError):
        raise ChangedCommand(
            "It was asked for in another version of the ledger; ask again.", field="approval"
        ) from None
    return command


def require_house(caller: Caller) -> None:
    """Raise not-your-partner for a partner's token, whatever its scopes."""
    if caller.partner is not None:
        raise Problem("not-your-partner", "approvals are the house's own")
