"""Periods: months that are closed, their figures, and what came late."""

from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api import approvals, csv, listing
from api.as_of import StateAsOf, Told, reading
from api.auth import Caller, needs
from api.edge import Body, Done, Key, LedgerRoute, Slug, Text, common
from api.links import Known
from api.positions import Paged, Reached
from api.rows import row_model, shown
from api.tokens import Scope
from api.treasury import require_house
from ledger.periods.calendar import month as calendar_month
from ledger.periods.commands import ClosePeriod, ReopenPeriod
from projections import views
from projections.queries import periods
from projections.reading import Row

router = APIRouter(prefix="/v1/periods", tags=["books"], route_class=LedgerRoute)

EXAMPLE: Final = "2013-05"

Treasurer = Annotated[Caller, needs(Scope.LEDGER_FINANCE)]
Auditing = Annotated[Caller, needs(Scope.BOOKS_READ)]
MonthName = Annotated[
    str,
    Path(
        pattern="^[0-9]{4}-(0[1-9]|1[0-2])$",
        examples=[EXAMPLE],
        description="A calendar month in UTC, as in 2026-10.",
    ),
]

_NULLABLE: Final = {
    "closing_position": int | None,
    "closed_at": str | None,
    "closed_by": str | None,
    "closed_under": str | None,
    "times_closed": int | None,
    "reopened_at": str | None,
    "reopened_by": str | None,
    "reason": str | None,
}
_RENAMED: Final = {"position": "last_position"}
_LATE: Final = {"code": "account", "table_id": "table"}

PeriodRow: Any = row_model(
    "PeriodRow",
    views.PERIODS,
    without=("network",),
    renamed=_RENAMED,
    position=int | None,
    **_NULLABLE,
)
LateRow: Any = row_model(
    "LateRow",
    views.ENTRIES,
    without=("kind", "account"),
    renamed=_LATE,
    position=int,
    line=int,
    partner=str | None,
    player=str | None,
    table_id=str | None,
)


class CloseBody(Body):
    """By which rulebook a month is closed."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rulebook": "entraction"}]})

    rulebook: Slug = "entraction"


class ReopenBody(Body):
    """Why a month is opened again."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"reason": "A settlement of May was booked twice."}]}
    )

    reason: Text
    rulebook: Slug = "entraction"


class PeriodDone(Done):
    """How a month stands."""

    month: str
    status: str


class PeriodsAnswer(Told):
    """Months that were closed, the last one first."""

    periods: list[PeriodRow]
    open_from: str | None = Field(
        description="The month to be closed next; null while none was ever closed."
    )


class FigureRow(BaseModel):
    """A component in a month: opening, what moved, closing; above zero on its own side."""

    model_config = ConfigDict(extra="forbid")

    component: str
    side: str
    partner: str | None
    currency: str
    opening_minor: int = Field(description="The closing figure of the month before.")
    opening: str
    late_of_before_minor: int = Field(
        description="What happened in months before and was recorded after they were closed."
    )
    late_of_before: str
    debit_minor: int = Field(description="Debits of the month itself.")
    debit: str
    credit_minor: int = Field(description="Credits of the month itself.")
    credit: str
    closing_minor: int = Field(description="What the three before it make.")
    closing: str
    late_debit_minor: int = Field(
        description="Debits of the month that were recorded after it was closed: in a later one."
    )
    late_debit: str
    late_credit_minor: int
    late_credit: str


class Commit(BaseModel):
    """The append that holds the closing position."""

    model_config = ConfigDict(extra="forbid")

    last_position: int
    recorded_at: str
    digest: str = Field(description="SHA-256 of the journal up to its last position.")


class PeriodAnswer(Told):
    """A month: how it stands, its figures, and what fixes them."""

    month: str
    period: PeriodRow
    figures_position: int = Field(
        description="The figures are those of this position: the closing one once it is closed."
    )
    figures: list[FigureRow]
    approved_by: str | None = Field(description="Who agreed to the closing.")
    commit: Commit | None
    links: dict[str, str]


class LateAnswer(Told):
    """A page of late entries, the oldest first."""

    entries: list[LateRow]
    cursor: str | None


@router.post(
    "/{month}/close",
    response_model=PeriodDone,
    responses=approvals.AWAITED,
    summary="Close a month",
)
async def close_period(
    request: Request, month: MonthName, body: CloseBody, caller: Treasurer, key: Key
) -> Response:
    """Fix a month's figures at the position of its closing, once it is over and the one before is.

    What is recorded later of that month is late: it stands in a list of its own and is reported in
    the next month. From the rulebook's threshold on a second person must agree first.
    """
    require_house(caller)
    command = ClosePeriod(**common(caller, key), month=month, rulebook=body.rulebook)
    return await approvals.submit_or_ask(request, caller, command, status=200)


@router.post(
    "/{month}/reopen",
    response_model=PeriodDone,
    responses=approvals.AWAITED,
    summary="Reopen a month",
)
async def reopen_period(
    request: Request, month: MonthName, body: ReopenBody, caller: Treasurer, key: Key
) -> Response:
    """Open the month that was closed last, so that it can be closed again with what came late."""
    require_house(caller)
    command = ReopenPeriod(
        **common(caller, key), month=month, reason=body.reason, rulebook=body.rulebook
    )
    return await approvals.submit_or_ask(request, caller, command, status=200)


@router.get(
    "",
    response_model=PeriodsAnswer,
    responses=csv.DOCUMENTED,
    dependencies=[Reached],
    summary="Months",
)
def list_periods(request: Request, caller: Auditing, asked: StateAsOf) -> Response:
    """List the months that were closed, and those of them that were reopened."""
    require_house(caller)
    with reading(request, asked) as read:
        found = periods.listed(read.at, network=caller.network, known=read.past)
    listed = [shown(row, without=("network",), renamed=_RENAMED) for row in found]
    parts = {"periods": listed, "open_from": periods.open_from(found)}
    return listing.answer_all(request, "periods", PeriodRow, parts, read)


@router.get(
    "/{month}",
    response_model=PeriodAnswer,
    responses=csv.DOCUMENTED,
    dependencies=[Reached],
    summary="A month",
)
def get_period(request: Request, month: MonthName, caller: Auditing, asked: StateAsOf) -> Response:
    """Tell a month's opening and closing figures, what moved, and what came late.

    Those of a closed month never change; the late columns tell what was recorded since. CSV has
    the figures.
    """
    require_house(caller)
    named = calendar_month(month)
    with reading(request, asked) as read:
        found = periods.one(read.at, network=caller.network, named=named, known=read.past)
    parts = {
        "month": month,
        "period": shown(found.standing, without=("network",), renamed=_RENAMED),
        "figures_position": found.position,
        "figures": [shown(row) for row in found.figures],
        "approved_by": found.approved_by,
        "commit": found.commit,
        "links": {"late": f"/v1/periods/{month}/late"},
    }
    return listing.answer_all(request, "figures", FigureRow, parts, read)


@router.get(
    "/{month}/late",
    response_model=LateAnswer,
    responses=csv.DOCUMENTED,
    dependencies=[Reached],
    summary="Late entries",
)
def list_late(
    request: Request, month: MonthName, caller: Auditing, paging: Paged, asked: StateAsOf
) -> Response:
    """List the entries of a closed month that were recorded after it was closed."""
    require_house(caller)
    find = partial(periods.late, network=caller.network, named=calendar_month(month))
    return listing.answer(
        request,
        paging,
        asked,
        name="entries",
        model=LateRow,
        find=find,
        show=listing.each(_late),
    )


def _late(_: Known, row: Row) -> dict[str, Any]:
    event = {"event": f"/v1/events/{row['position']}"}
    return shown(row, without=("kind", "account"), renamed=_LATE, links=event)
