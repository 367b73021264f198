"""The inbox: what waits for a second person, and what became of it."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api import csv, links, listing
from api.approvals import ApprovalId, approval_of, require_house
from api.as_of import Reading as Past
from api.as_of import StateAsOf, Told
from api.auth import Caller, needs
from api.clock import now
from api.edge import Answer, LedgerRoute, Slug, respond, worded
from api.positions import Paged, Reached
from api.tokens import Scope
from ledger.approvals.events import Status
from projections.queries import approvals
from projections.reading import Row

router = APIRouter(prefix="/v1/approvals", tags=["approver"], route_class=LedgerRoute)

Reading = Annotated[Caller, needs(Scope.APPROVALS_READ)]


class ApprovalRow(BaseModel):
    """An approval: what is asked for, by whom, until when, and what became of it."""

    model_config = ConfigDict(extra="forbid")

    approval: str
    action: str = Field(description="As the rulebook's thresholds name it.")
    words: str = Field(description="What is asked for, in one sentence.")
    summary: dict[str, Any] = Field(description="What it would do, and what it concerns.")
    amount_minor: int
    amount: str | None = None
    currency: str | None
    status: Status
    rulebook: str = Field(description="The version that asks for a second person.")
    digest: str = Field(description="SHA-256 of the exact command.")
    maker: str = Field(description="Who asked: the subject of his token.")
    checker: str | None = Field(description="Who granted or rejected it.")
    code: str | None = Field(description="Why it was rejected.")
    reason: str | None = Field(description="The same in words.")
    requested_at: str
    expires_at: str
    decided_at: str | None
    age_seconds: int
    expires_in_seconds: int | None = Field(description="Null when it is decided.")
    may_decide: bool = Field(description="Whether the caller may grant or reject it now.")
    may_withdraw: bool = Field(description="Whether the caller may withdraw it now.")
    links: dict[str, str]


class ApprovalAnswer(ApprovalRow, Answer):
    """An approval with the exact command that is granted or rejected."""

    command: dict[str, Any] = Field(description="The command as it was asked for.")
    request_id: str = Field(description="The Idempotency-Key that it was asked for with.")


class ApprovalsAnswer(Told):
    """A page of approvals, the oldest first."""

    approvals: list[ApprovalRow]
    cursor: str | None


# -- reading -------------------------------------------------------------------------------------


@router.get(
    "",
    response_model=ApprovalsAnswer,
    responses=csv.DOCUMENTED,
    summary="Approvals",
    dependencies=[Reached],
)
def list_approvals(
    *,
    request: Request,
    caller: Reading,
    paging: Paged,
    asked: StateAsOf,
    show: Annotated[
        Literal["all", "to-decide", "mine"],
        Query(description="`to-decide`: pending ones of others, in time; `mine`: one's own."),
    ] = "all",
    status: Status | None = None,
    action: Annotated[Slug | None, Query(examples=["resync-table"])] = None,
) -> Response:
    """List what was asked for, the oldest first: an inbox for who decides and for who asked.

    As of an instant a page may be short, the cursor leads on, and nothing may be decided.
    """
    require_house(caller)
    at = now()
    find = partial(
        approvals.page,
        network=caller.network,
        status=status,
        action=action,
        maker=caller.subject if show == "mine" else None,
        to_decide=approvals.Deciding(caller.subject, at) if show == "to-decide" else None,
    )
    return listing.answer(
        request,
        paging,
        asked,
        name="approvals",
        model=ApprovalRow,
        find=find,
        show=partial(_listed, caller, at, asked.given),
    )


def _listed(
    caller: Caller, at: datetime, past: bool, read: Past, found: Sequence[Row]
) -> listing.Shown:
    """Show a page; what was pending at another time is not to be decided by what is said of it."""
    no_longer = {"may_decide": False, "may_withdraw": False} if past else {}
    return [{**_shown(row, caller, at, read.as_of.position), **no_longer} for row in found]


@router.get("/{approval}", response_model=ApprovalAnswer, summary="An approval")
def get_approval(request: Request, approval: ApprovalId, caller: Reading) -> Response:
    """Tell what was asked for, to the letter, and what became of it, up to the last commit."""
    state, position = approval_of(request, caller, approval)
    row = {**msgspec.structs.asdict(state), "words": state.summary["words"]}
    exact = msgspec.json.decode(state.command)
    told = {
        **_shown(row, caller, now(), position),
        "command": exact["command"],
        "request_id": state.request_id,
        "position": position,
    }
    return respond(told)


_COLUMNS: Final = (
    "approval",
    "action",
    "words",
    "summary",
    "amount_minor",
    "currency",
    "status",
    "rulebook",
    "digest",
    "maker",
    "checker",
    "code",
    "reason",
    "requested_at",
    "expires_at",
    "decided_at",
)


def _shown(row: Row, caller: Caller, at: datetime, position: int) -> dict[str, Any]:
    pending = row["status"] == "pending"
    left = (row["expires_at"] - at).total_seconds()
    own = row["maker"] == caller.subject
    in_time = pending and left > 0
    shown = {name: row[name] for name in _COLUMNS}
    return {
        **worded(shown, row["currency"]),
        "age_seconds": max(0, int((at - row["requested_at"]).total_seconds())),
        "expires_in_seconds": max(0, int(left)) if pending else None,
        "may_decide": in_time and not own and Scope.APPROVALS_DECIDE in caller.scopes,
        "may_withdraw": in_time and own and Scope.APPROVALS_WITHDRAW in caller.scopes,
        "links": _links(row, caller, position),
    }


def _links(row: Row, caller: Caller, position: int) -> links.Links:
    """Lead to the approval, to what it concerns, and to what a grant booked."""
    concerns, month = row["summary"], row["summary"].get("month")
    jackpot = concerns.get("jackpot")
    booked = links.Known(position).entries(request_id=row["request_id"])
    return links.allowed(
        caller,
        approval=links.Link(Scope.APPROVALS_READ, f"/v1/approvals/{row['approval']}"),
        table=links.table(concerns.get("table")),
        player=links.player(concerns.get("player")),
        period=month and links.Link(Scope.BOOKS_READ, f"/v1/periods/{month}"),
        jackpot=jackpot and links.jackpot_hits(jackpot),
        entries=booked if row["status"] == "granted" else None,
    )
