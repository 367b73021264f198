"""Findings: what was found wrong with booked hands, what was found out about it, and decided."""

from functools import partial
from typing import Annotated, Any, Final, Literal, get_args

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field

from api import csv, links, listing
from api.as_of import AsOfAsked, Instant, Told, reading
from api.auth import Caller, needs
from api.edge import Body, Done, Key, LedgerRoute, Text, carry_out, common, edge_of, respond
from api.links import LINKS, Known, Links
from api.positions import Paged, Reached
from api.problems import Problem
from api.rows import row_model, shown
from api.tables import LONGEST_ID, id_of
from api.tokens import Scope
from ledger import money
from ledger.application import event_at, events_of
from ledger.core import category_of
from ledger.hands.events import FindingStatus, HandPosted
from ledger.hands.filed import filed
from ledger.hands.resolving import (
    CORRECTED,
    LONGEST_KEY,
    RESOLUTIONS,
    ExplainFinding,
    ReopenFinding,
    ResolveFinding,
    UnknownFinding,
)
from ledger.rulebooks.values import FINDING_CODES
from projections import views
from projections.queries import findings
from projections.queries.findings import By, Filters, Order
from projections.reading import Row

router = APIRouter(prefix="/v1/findings", tags=["books"], route_class=LedgerRoute)

Reading = Annotated[Caller, needs(Scope.FINDINGS_READ)]
Resolving = Annotated[Caller, needs(Scope.FINDINGS_RESOLVE)]
Name = Annotated[str | None, Query(max_length=128)]
Amount = Annotated[int | None, Query(ge=0, le=money.MAX_MINOR)]
Position = Annotated[
    int,
    Path(ge=1, le=2**63 - 1, examples=[1], description="The event that told the finding."),
]

_RENAMED: Final = {"table_id": "table", "place": "where"}
_NULLABLE: Final[dict[str, Any]] = dict.fromkeys(
    (
        *("explained_at", "explained_by", "explanation", "resolved_at", "resolved_by"),
        *("resolution", "reason", "corrected_by"),
    ),
    str | None,
)
_OF_STEP: Final = ("finding", "network", "table_id", "game_number", "number")

FindingRow: Any = row_model(
    "FindingRow",
    views.FINDINGS,
    renamed=_RENAMED,
    position=int,
    number=int,
    expected=Any,
    posted=Any,
    amount_minor=int | None,
    changed_position=int | None,
    **_NULLABLE,
)
StepRow: Any = row_model(
    "FindingStepRow",
    views.FINDING_STEPS,
    without=_OF_STEP,
    position=int,
    resolution=str | None,
    corrected_by=str | None,
)


class FindingsAnswer(Told):
    """A page of findings."""

    findings: list[FindingRow]
    cursor: str | None


class FindingAnswer(Told):
    """A finding, and all that was done about it in its order."""

    finding: FindingRow
    steps: list[StepRow]


class SummaryRow(BaseModel):
    """How many findings there are of a group, in hands of one currency."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="The code, the table or the game server.")
    currency: str
    findings: int = Field(description="All of them.")
    open: int
    explained: int
    resolved: int
    amount_minor: int = Field(description="At stake in all of them, as far as it is known.")
    amount: str
    unresolved_minor: int = Field(description="At stake in those that are not resolved.")
    unresolved: str
    links: dict[str, str] = Field(default={}, description=LINKS)


class SummaryAnswer(Told):
    """How many findings there are, and what is at stake in them."""

    summary: list[SummaryRow]


class ExplainBody(Body):
    """What was found out about a finding."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"text": "The table's cap was set up as 2.00 that evening."}]
        }
    )

    text: Text = Field(description="No names: players by their ids.")


Resolution = Literal[
    "site-was-right",
    "corrected-by-adjustment",
    "written-off",
    "game-server-fixed",
    "cannot-be-verified",
]
assert get_args(Resolution) == tuple(RESOLUTIONS)


class ResolveBody(Body):
    """What becomes of a finding."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"resolution": "written-off", "reason": "0.05 EUR, and the player left in 2013."},
                {
                    "resolution": CORRECTED,
                    "reason": "The rake that was too high went back to the winner.",
                    "corrected_by": "resync-etomo-17",
                },
            ]
        }
    )

    resolution: Resolution = Field(
        description=" ".join(f"`{code}`: {meaning}" for code, meaning in RESOLUTIONS.items())
    )
    reason: Text = Field(description="No names: players by their ids.")
    corrected_by: Annotated[str, Field(min_length=1, max_length=LONGEST_KEY)] | None = Field(
        default=None,
        description=f"The Idempotency-Key of the request that moved the money: for `{CORRECTED}`.",
    )


class ReopenBody(Body):
    """Why a finding is opened again."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"reason": "The correction was of another hand."}]}
    )

    reason: Text = Field(description="No names: players by their ids.")


class FindingDone(Done):
    """How a finding stands."""

    game_number: str
    number: int = Field(description="Which of the hand's findings it is, from 1.")
    status: FindingStatus


# -- reading -------------------------------------------------------------------------------------


async def _filters(
    caller: Reading,
    *,
    table: Annotated[str | None, Query(max_length=LONGEST_ID)] = None,
    hand: Annotated[str | None, Query(max_length=128, description="A game number.")] = None,
    game_server: Annotated[Name, Query(description="Who posted the hand.")] = None,
    code: Annotated[Name, Query(examples=["wrong-rake"])] = None,
    level: Literal["flag", "refuse", "unverified"] | None = None,
    status: Annotated[
        Literal["open", "explained", "resolved", "unresolved"] | None,
        Query(description="`unresolved`: open, or explained and still open."),
    ] = None,
    currency: Annotated[str | None, Query(pattern="^[A-Z]{3}$")] = None,
    least_minor: Annotated[Amount, Query(description="Least amount at stake.")] = None,
    most_minor: Annotated[Amount, Query(description="Greatest amount at stake.")] = None,
    occurred_from: Instant = None,
    occurred_before: Instant = None,
) -> Filters:
    if code is not None and code not in FINDING_CODES:
        raise Problem("invalid-value", f"one of {', '.join(FINDING_CODES)}", field="code")
    return Filters(
        network=caller.network,
        table_id=id_of(table) if table is not None else None,
        game_number=hand,
        game_server=game_server,
        code=code,
        level=level,
        status=status,
        currency=currency,
        least_minor=least_minor,
        most_minor=most_minor,
        occurred_from=occurred_from,
        occurred_before=occurred_before,
    )


Filtered = Annotated[Filters, Depends(_filters)]
"""Dependency of a read of some findings."""


@router.get(
    "",
    response_model=FindingsAnswer,
    responses=csv.DOCUMENTED,
    dependencies=[Reached],
    summary="Findings",
)
def list_findings(
    request: Request,
    caller: Reading,
    paging: Paged,
    asked: AsOfAsked,
    *,
    filters: Filtered,
    order: Annotated[
        Order, Query(description="`largest-first`, by what is at stake, needs a `currency`.")
    ] = "oldest-first",
) -> Response:
    """List what was found wrong with booked hands, and how each finding stands.

    In the order of what is at stake those without an amount are left out.
    """
    if order == "largest-first" and filters.currency is None:
        raise Problem("missing-field", "amounts of one currency are compared", field="currency")

    find = partial(findings.page, filters=filters, order=order)
    show = listing.each(partial(_finding, caller))
    return listing.answer(
        request, paging, asked, name="findings", model=FindingRow, find=find, show=show
    )


@router.get(
    "/summary",
    response_model=SummaryAnswer,
    responses=csv.DOCUMENTED,
    dependencies=[Reached],
    summary="How many findings there are",
)
def summarize_findings(
    request: Request,
    caller: Reading,
    asked: AsOfAsked,
    filters: Filtered,
    by: By = "code",
) -> Response:
    """Count findings by code, table or game server, and add up what is at stake in them."""
    with reading(request, asked) as read:
        found = findings.summary(read.at, filters, by=by, known=read.past)
    rows = [
        shown(row, links=_group(caller, read.known, filters, {by: row["name"]}, row["currency"]))
        for row in found
    ]
    return listing.answer_all(request, "summary", SummaryRow, {"summary": rows}, read)


@router.get(
    "/{finding}",
    response_model=FindingAnswer,
    dependencies=[Reached],
    summary="A finding and its life",
)
def get_finding(request: Request, finding: Position, caller: Reading, asked: AsOfAsked) -> Response:
    """Tell what was found, how it stands, and everything that was done about it."""
    with reading(request, asked) as read:
        found = findings.one(read.at, network=caller.network, position=finding, known=read.past)
    if found is None:
        raise Problem.of_refused(UnknownFinding("No such finding.", field="finding"))
    content = {
        "finding": _finding(caller, read.known, found.finding),
        "steps": [_step(caller, row) for row in found.steps],
        **read.told(),
    }
    return respond(content)


# -- commands ------------------------------------------------------------------------------------


@router.post("/{finding}/explain", response_model=FindingDone, summary="Explain a finding")
async def explain_finding(
    request: Request, finding: Position, body: ExplainBody, caller: Resolving, key: Key
) -> Response:
    """Write down what was found out. The finding stays open, explained; it can be done again."""
    game_number, number = await run_in_threadpool(_which, request, caller, finding)
    command = ExplainFinding(
        **common(caller, key), game_number=game_number, finding=number, text=body.text
    )
    return await carry_out(request, caller, command, status=200)


@router.post("/{finding}/resolve", response_model=FindingDone, summary="Resolve a finding")
async def resolve_finding(
    request: Request, finding: Position, body: ResolveBody, caller: Resolving, key: Key
) -> Response:
    """Decide what becomes of a finding, and why. The hand stays as it was booked."""
    game_number, number = await run_in_threadpool(_which, request, caller, finding)
    command = ResolveFinding(
        **common(caller, key),
        game_number=game_number,
        finding=number,
        resolution=body.resolution,
        reason=body.reason,
        corrected_by=body.corrected_by,
    )
    return await carry_out(request, caller, command, status=200)


@router.post("/{finding}/reopen", response_model=FindingDone, summary="Open a finding again")
async def reopen_finding(
    request: Request, finding: Position, body: ReopenBody, caller: Resolving, key: Key
) -> Response:
    """Open a resolved finding again; what was said about it stays in its history."""
    game_number, number = await run_in_threadpool(_which, request, caller, finding)
    command = ReopenFinding(
        **common(caller, key), game_number=game_number, finding=number, reason=body.reason
    )
    return await carry_out(request, caller, command, status=200)


def _which(request: Request, caller: Caller, position: int) -> tuple[str, int]:
    """Find the hand and the number of the finding that was told at a position."""
    if caller.partner is not None:
        raise Problem("not-your-partner", "findings are the house's own")
    with edge_of(request).reads.snapshot() as connection:
        told = event_at(connection, position)
        if told is not None and category_of(told.stream) == "hand":
            posted, *others = events_of(connection, told.stream)
            assert isinstance(posted.event, HandPosted)
            for one in filed((other.position, other.event) for other in others):
                if one.position == position and posted.event.network == caller.network:
                    return posted.event.game_number, one.number
    raise Problem.of_refused(UnknownFinding("No such finding.", field="finding"))


# -- rows ----------------------------------------------------------------------------------------


def _finding(caller: Caller, known: Known, row: Row) -> dict[str, Any]:
    corrected_by = row["corrected_by"]
    found = links.allowed(
        caller,
        finding=links.finding(row["position"]),
        event=links.event(row["position"]),
        hand=links.hand(row["game_number"]),
        table=links.table(row["table_id"]),
        correction=known.entries(request_id=corrected_by) if corrected_by is not None else None,
    )
    return shown(row, renamed=_RENAMED, links=found)


def _step(caller: Caller, row: Row) -> dict[str, Any]:
    found = links.allowed(caller, event=links.event(row["position"]))
    return shown(row, without=_OF_STEP, links=found)


def _group(
    caller: Caller, known: Known, filters: Filters, group: dict[str, str], currency: str
) -> Links:
    """Lead from a count to the findings that were counted."""
    asked = filters._asdict()
    del asked["network"]
    asked["table"], asked["hand"] = asked.pop("table_id"), asked.pop("game_number")
    found = known.findings(**{**asked, **group, "currency": currency})
    return links.allowed(caller, findings=found)
