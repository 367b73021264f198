"""Comparison of two instants: what changed between them, component by component and by account."""

from typing import Annotated, Any, Final, Literal, NamedTuple

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api import csv, links
from api.as_of import (
    Asked,
    AsOfAnswer,
    At,
    Instant,
    after,
    known_by,
    told_of,
)
from api.auth import Caller, needs
from api.edge import Answer, LedgerRoute, edge_of, respond
from api.links import LINKS, Known, Link, Links
from api.positions import Paged, Reached
from api.problems import Problem
from api.rows import shown
from api.tokens import Scope
from projections import as_of
from projections.queries import comparison
from projections.queries.comparison import Between
from projections.reading import Row, Snapshot

router = APIRouter(prefix="/v1", tags=["books"], route_class=LedgerRoute, dependencies=[Reached])

Auditing = Annotated[Caller, needs(Scope.BOOKS_READ)]
Name = Annotated[str | None, Query(max_length=64)]

_RENAMED: Final = {"code": "account", "table_id": "table"}


class _Change(BaseModel):
    """What something held at the first instant, and holds at the second."""

    model_config = ConfigDict(extra="forbid")

    component: str
    side: str
    partner: str | None
    currency: str
    before_minor: int = Field(description="At the first instant, above zero on its own side.")
    before: str
    then_minor: int = Field(description="At the second.")
    then: str
    difference_minor: int
    difference: str
    links: dict[str, str] = Field(
        default={},
        description=LINKS + " `recorded` leads to the entries recorded between the two, "
        "`happened` to those that were known at the first and happened between the two.",
    )


class ComponentChange(_Change):
    """A component of the books that changed; debits and credits are those in between."""

    debit_minor: int
    debit: str
    credit_minor: int
    credit: str


class AccountChange(_Change):
    """An account that changed."""

    account: str
    player: str | None
    table: str | None


class ChangeTotal(BaseModel):
    """What the components of a currency changed by; of all together debits equal credits."""

    model_config = ConfigDict(extra="forbid")

    currency: str
    debit_minor: int
    debit: str
    credit_minor: int
    credit: str


class ComparisonAnswer(Answer):
    """What changed; accounts come by the page, the cursor leads on."""

    before: AsOfAnswer
    then: AsOfAnswer
    components: list[ComponentChange] | None = Field(
        description="On the first page; null on the others."
    )
    totals: list[ChangeTotal] | None
    accounts: list[AccountChange]
    cursor: str | None


class Instants(NamedTuple):
    """The two instants that are asked for."""

    before: Asked
    then: Asked

    def found(self, at: Snapshot) -> Between:
        """Find their positions. Raises invalid-value when the first has more than the second."""
        before = as_of.resolve(at, **self.before._asdict())
        then = as_of.resolve(at, **self.then._asdict())
        happened_later = then.occurred_at is not None and (
            before.occurred_at is None or before.occurred_at > then.occurred_at
        )
        if before.position > then.position or happened_later:
            raise Problem(
                "invalid-value",
                "the first instant has entries that the second has not: "
                "ask for them the other way round",
                field="to_occurred_at" if happened_later else "to_position",
            )
        return Between(before, then)


async def _instants(
    *,
    from_position: At = None,
    from_recorded_at: Instant = None,
    from_occurred_at: Instant = None,
    to_position: At = None,
    to_recorded_at: Instant = None,
    to_occurred_at: Instant = None,
) -> Instants:
    before = known_by(from_position, from_recorded_at, from_occurred_at, prefix="from_")
    then = known_by(to_position, to_recorded_at, to_occurred_at, prefix="to_")
    return Instants(before if before.given else Asked(position=0), then)


@router.get(
    "/comparison",
    response_model=ComparisonAnswer,
    responses=csv.DOCUMENTED,
    summary="What changed between two instants",
)
def compare(
    request: Request,
    caller: Auditing,
    paging: Paged,
    instants: Annotated[Instants, Depends(_instants)],
    *,
    component: Name = None,
    partner: Name = None,
    by: Annotated[
        Literal["account", "component"], Query(description="What CSV has a record for.")
    ] = "account",
) -> Response:
    """Tell what every component and account had as of one instant and has as of another.

    Each is named by position, recorded time and occurred time as everywhere; without `from_…` the
    first is the empty book, without `to_…` the second is now. Links lead to the entries that make
    the difference.
    """
    if caller.partner is not None:
        caller.require_own_partner(partner or caller.partner)
        partner = caller.partner
    asked = _Asked(request, caller, instants, component, partner)
    if csv.wanted(request):
        csv.whole(request)
        if by == "component":
            return csv.respond("comparison", ComponentChange, asked.sheet_of_components)
        return csv.respond("comparison", AccountChange, asked.sheet_of_accounts)
    return respond(asked.page(paging.cursor, paging.limit))


class _Asked:
    """A comparison, read page by page."""

    def __init__(
        self,
        request: Request,
        caller: Caller,
        instants: Instants,
        component: str | None,
        partner: str | None,
    ) -> None:
        self._reads = edge_of(request).reads
        self._caller = caller
        self._instants = instants
        self._component = component
        self._partner = partner

    def page(self, cursor: str | None, limit: int) -> dict[str, Any]:
        """Return the answer; the components are on the first page."""
        with self._reads.book() as at:
            between = self._instants.found(at)
            components = self._components(at, between) if cursor is None else None
            accounts, onward, between = self._accounts(at, between, cursor, limit)
        return {
            "before": told_of(between.before),
            "then": told_of(between.then),
            "components": components,
            "totals": None if components is None else _totals(components),
            "accounts": accounts,
            "cursor": onward,
            "position": between.then.position,
        }

    def sheet_of_components(self, _: str | None) -> csv.Sheet:
        with self._reads.book() as at:
            between = self._instants.found(at)
            return csv.Sheet(self._components(at, between), between.then.position)

    def sheet_of_accounts(self, cursor: str | None) -> csv.Sheet:
        with self._reads.book() as at:
            between = self._instants.found(at)
            rows, onward, between = self._accounts(at, between, cursor, csv.PAGE)
        return csv.Sheet(rows, between.then.position, onward)

    def _components(self, at: Snapshot, between: Between) -> list[dict[str, Any]]:
        found = comparison.components(
            at,
            between,
            network=self._caller.network,
            component=self._component,
            partner=self._partner,
        )
        return [
            shown(row, links=self._links(between, {name: row[name] for name in _OF_COMPONENT}))
            for row in found
        ]

    def _accounts(
        self, at: Snapshot, between: Between, cursor: str | None, limit: int
    ) -> tuple[list[dict[str, Any]], str | None, Between]:
        found = comparison.accounts(
            at,
            between,
            network=self._caller.network,
            component=self._component,
            partner=self._partner,
            limit=limit,
            cursor=cursor,
        )
        between = found.between
        rows = [
            shown(row, without=("number",), renamed=_RENAMED, links=self._of_account(between, row))
            for row in found.rows
        ]
        return rows, found.cursor, between

    def _of_account(self, between: Between, row: Row) -> Links:
        found = self._links(between, {"account": row["code"], "currency": row["currency"]})
        known = Known(between.then.position)
        return found | links.allowed(
            self._caller,
            player=links.player(row["player"]),
            table=links.table(row["table_id"]),
            statement=known.statement("accounts", row["code"]),
        )

    def _links(self, between: Between, filters: dict[str, Any]) -> Links:
        """Lead to the entries that make the difference: of what was recorded, of what happened."""
        before, then = between
        recorded: Link | None = None
        happened: Link | None = None
        if before.position < then.position:
            recorded = Known(then.position, then.occurred_at).entries(
                **filters, position_from=before.position + 1
            )
        if before.occurred_at != then.occurred_at:
            happened = Known(before.position, then.occurred_at).entries(
                **filters, occurred_from=after(before.occurred_at)
            )
        return links.allowed(self._caller, recorded=recorded, happened=happened)


_OF_COMPONENT: Final = ("component", "partner", "currency")


def _totals(components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    totals: dict[str, dict[str, Any]] = {}
    for row in components:
        currency = row["currency"]
        total = totals.setdefault(
            currency, {"currency": currency, "debit_minor": 0, "credit_minor": 0}
        )
        total["debit_minor"] += row["debit_minor"]
        total["credit_minor"] += row["credit_minor"]
    return [shown(totals[currency]) for currency in sorted(totals)]
