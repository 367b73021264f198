"""The client-funds account: what covers player funds, what is in transit, what moved on it."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api import csv, listing
from api.as_of import Asked, AsOfAsked, Reading, StateAsOf, Told, reading
from api.auth import Caller, needs
from api.clock import now
from api.edge import Currency, LedgerRoute, Slug, recording
from api.links import Known
from api.positions import Paged, Reached
from api.rows import row_model, shown
from api.tokens import Scope
from api.treasury import require_house
from ledger.core import stream
from projections import views
from projections.as_of import recorded_time
from projections.queries import transit, treasury
from projections.reading import Row

router = APIRouter(
    prefix="/v1/treasury", tags=["books"], route_class=LedgerRoute, dependencies=[Reached]
)

Auditing = Annotated[Caller, needs(Scope.BOOKS_READ)]
Provider = Annotated[Slug, Path(examples=["cardpay"], description="The payment provider.")]
OneCurrency = Annotated[Currency, Query(examples=["EUR"])]


class CoverageRow(BaseModel):
    """One currency of real money: what covers it, and what of it is the operator's."""

    model_config = ConfigDict(extra="forbid")

    network: str
    currency: str
    status: str = Field(description="covered, or short: by the figures of this answer.")
    alerted_since: str | None = Field(description="Since when the coverage alert stands.")
    coverage_bps: int | None = Field(
        description="Assets per liability in 1/10000, rounded down; null when nothing is owed."
    )
    liability_minor: int = Field(description="Player funds: the whole liability to players.")
    liability: str
    bank_minor: int
    bank: str
    transit_minor: int
    transit: str
    assets_minor: int = Field(description="Bank and transit.")
    assets: str
    spare_minor: int = Field(description="Assets less liability.")
    spare: str
    debt_minor: int = Field(description="What players owe; covers nothing.")
    debt: str
    earned_minor: int = Field(description="Rake, after what went to jackpots.")
    earned: str
    swept_minor: int = Field(description="What of it the operator took out.")
    swept: str
    sweepable_minor: int = Field(description="What the operator may take out now.")
    sweepable: str
    fees_minor: int = Field(description="What providers kept: the operator's expense.")
    fees: str
    own_funds_minor: int = Field(description="The operator's own money that it put in.")
    own_funds: str
    shortfall_minor: int
    shortfall: str
    suspense_minor: int
    suspense: str
    owed_by_partners_minor: int = Field(
        description="Settled with partners and owed by them: no longer the room's."
    )
    owed_by_partners: str


class CoverageAnswer(Told):
    """What covers player funds."""

    currencies: list[CoverageRow]


class AgeRow(BaseModel):
    """Money in transit of one age."""

    model_config = ConfigDict(extra="forbid")

    from_days: int = Field(description="Whole days since it was confirmed, at least.")
    before_days: int | None = Field(description="And fewer than these; null: however many.")
    deposits: int
    amount_minor: int
    amount: str
    oldest_at: str


class TransitRow(BaseModel):
    """What one provider has yet to pay, by age."""

    model_config = ConfigDict(extra="forbid")

    provider: str
    currency: str
    amount_minor: int = Field(description="What is in transit at the provider.")
    amount: str
    oldest_at: str | None
    unexplained_minor: int = Field(
        description="What of it no deposit stands for: 0 unless corrections were booked."
    )
    unexplained: str
    ages: list[AgeRow]
    links: dict[str, str]


class TransitAnswer(Told):
    """Money in transit by provider and age."""

    providers: list[TransitRow]


class TransitDeposit(BaseModel):
    """A deposit in transit, or a charge-back that is yet to be kept back (below zero)."""

    model_config = ConfigDict(extra="forbid")

    deposit: str
    player: str
    status: str
    confirmed_at: str
    days: int = Field(description="Whole days since it was confirmed.")
    currency: str
    amount_minor: int
    amount: str


class TransitDepositsAnswer(Told):
    """A page of the deposits in transit at one provider, the oldest first."""

    deposits: list[TransitDeposit]
    cursor: str | None


class BankRow(BaseModel):
    """A movement of the client-funds account."""

    model_config = ConfigDict(extra="forbid")

    position: int
    occurred_at: str
    recorded_at: str
    event: str
    currency: str
    debit_minor: int = Field(description="What came in.")
    debit: str
    credit_minor: int = Field(description="What went out.")
    credit: str
    balance_minor: int = Field(description="What the account held after it.")
    balance: str
    bank_reference: str | None = Field(
        description="What the bank's statement calls it; null until a payment is matched."
    )
    provider: str | None
    withdrawal: str | None
    settlement: str | None
    reason: str | None
    links: dict[str, str]


class BankAnswer(Told):
    """A page of the movements of the client-funds account, the newest first."""

    movements: list[BankRow]
    cursor: str | None


class UnmatchedRow(BaseModel):
    """A paid withdrawal that was not found in the bank's statement yet."""

    model_config = ConfigDict(extra="forbid")

    withdrawal: str
    player: str
    currency: str
    amount_minor: int
    amount: str


class UnmatchedAnswer(Told):
    """A page of paid withdrawals to be matched."""

    withdrawals: list[UnmatchedRow]
    cursor: str | None


_UNMATCHED: Final = ("withdrawal", "player", "currency", "amount_minor")

PartnerFundsRow: Any = row_model("PartnerFundsRow", views.PARTNERS, position=int)


class PartnersAnswer(Told):
    """What was settled with each partner."""

    partners: list[PartnerFundsRow]


@router.get(
    "/coverage", response_model=CoverageAnswer, responses=csv.DOCUMENTED, summary="Coverage"
)
def get_coverage(request: Request, caller: Auditing, asked: AsOfAsked) -> Response:
    """Tell what covers player funds, real money alone, and what of it the operator may take.

    The alert is as it stood at the position. Source: K 1.8, K 5.1.
    """
    require_house(caller)
    with reading(request, asked) as read:
        found = treasury.coverage(read.at, network=caller.network, known=read.past)
    currencies = [shown(row) for row in found]
    return listing.answer_all(request, "currencies", CoverageRow, {"currencies": currencies}, read)


@router.get(
    "/transit", response_model=TransitAnswer, responses=csv.DOCUMENTED, summary="Money in transit"
)
def get_transit(request: Request, caller: Auditing, asked: StateAsOf) -> Response:
    """Tell what each provider has yet to pay, by its age in days.

    What a provider paid without a list is counted off his oldest deposits. As of a position, ages
    are those of the time when it was recorded.
    """
    require_house(caller)
    with reading(request, asked) as read:
        found = transit.in_transit(
            read.at, network=caller.network, now=_moment(asked, read), known=read.past
        )
    providers = [_transit_row(row, found.ages) for row in found.providers]
    return listing.answer_all(request, "providers", TransitRow, {"providers": providers}, read)


def _moment(asked: Asked, read: Reading) -> datetime:
    """Return the instant up to which the days of an answer are counted."""
    if not asked.given:
        return now()
    return asked.recorded_at or recorded_time(read.at, read.as_of.position) or now()


def _transit_row(row: Any, ages: Any) -> dict[str, Any]:
    mine = [
        age
        for age in ages
        if (age["provider"], age["currency"]) == (row["provider"], row["currency"])
    ]
    bounds = dict(zip(transit.AGES, (*transit.AGES[1:], None), strict=True))
    return shown(
        {
            **row,
            "oldest_at": min((age["oldest_at"] for age in mine), default=None),
            "unexplained_minor": row["amount_minor"] - sum(age["amount_minor"] for age in mine),
            "ages": [
                {
                    "from_days": age["from_days"],
                    "before_days": bounds[age["from_days"]],
                    "deposits": age["deposits"],
                    "amount_minor": age["amount_minor"],
                    "oldest_at": age["oldest_at"],
                }
                for age in mine
            ],
        },
        links={"deposits": f"/v1/treasury/transit/{row['provider']}?currency={row['currency']}"},
    )


@router.get(
    "/transit/{provider}",
    response_model=TransitDepositsAnswer,
    responses=csv.DOCUMENTED,
    summary="Deposits in transit",
)
def list_transit(
    request: Request,
    provider: Provider,
    currency: OneCurrency,
    caller: Auditing,
    *,
    paging: Paged,
    asked: StateAsOf,
) -> Response:
    """List what a provider has yet to pay, the oldest first. The read is recorded."""
    require_house(caller)
    subject = stream("transit", caller.network, provider)

    def show(read: Reading, found: Sequence[Row]) -> listing.Shown:
        moment = _moment(asked, read)
        return [shown({**row, "days": (moment - row["confirmed_at"]).days}) for row in found]

    find = partial(
        transit.deposits_in_transit, network=caller.network, provider=provider, currency=currency
    )
    with recording(request, caller, "transit", subject):
        return listing.answer(
            request, paging, asked, name="deposits", model=TransitDeposit, find=find, show=show
        )


@router.get(
    "/bank",
    response_model=BankAnswer,
    responses=csv.DOCUMENTED,
    summary="Movements of the client-funds account",
)
def list_bank(
    request: Request,
    caller: Auditing,
    paging: Paged,
    asked: AsOfAsked,
    currency: Annotated[Currency | None, Query()] = None,
) -> Response:
    """List what came in and went out, with the balance after it, the newest first."""
    require_house(caller)
    find = partial(treasury.bank_movements, network=caller.network, currency=currency)
    return listing.answer(
        request,
        paging,
        asked,
        name="movements",
        model=BankRow,
        find=find,
        show=listing.each(_movement),
    )


def _movement(_: Known, row: Row) -> dict[str, Any]:
    return shown(row, links={"event": f"/v1/events/{row['position']}"})


@router.get(
    "/unmatched",
    response_model=UnmatchedAnswer,
    responses=csv.DOCUMENTED,
    summary="Payments to be matched",
)
def list_unmatched(request: Request, caller: Auditing, paging: Paged, asked: StateAsOf) -> Response:
    """List paid withdrawals that were not found in the bank's statement. The read is recorded.

    As of an instant a page may be short, the cursor leads on.
    """
    require_house(caller)
    subject = stream("unmatched", caller.network, "all")
    find = partial(treasury.unmatched_payments, network=caller.network)
    show = listing.each(_unmatched)
    with recording(request, caller, "unmatched", subject):
        return listing.answer(
            request, paging, asked, name="withdrawals", model=UnmatchedRow, find=find, show=show
        )


def _unmatched(_: Known, row: Row) -> dict[str, Any]:
    return shown({name: row[name] for name in _UNMATCHED})


@router.get(
    "/partners",
    response_model=PartnersAnswer,
    responses=csv.DOCUMENTED,
    summary="Settled with partners",
)
def get_partners(request: Request, caller: Auditing, asked: StateAsOf) -> Response:
    """Tell what was settled with each partner and what he owes. Source: K 3.11, K 5.1."""
    require_house(caller)
    with reading(request, asked) as read:
        found = treasury.settled_with_partners(read.at, network=caller.network, known=read.past)
    partners = [shown(row) for row in found]
    return listing.answer_all(request, "partners", PartnerFundsRow, {"partners": partners}, read)
