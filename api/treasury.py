"""The treasury: settlements, sweeps, top-ups, partners, corrections; transit, bank, coverage."""

from collections.abc import Callable
from time import monotonic, sleep
from typing import Annotated, Any, Final, TypeVar
from uuid import uuid4

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field

from api import approvals
from api.auth import Caller, Scope, needs
from api.clock import now
from api.edge import (
    AmountMinor,
    Answer,
    Body,
    Currency,
    Done,
    Edge,
    Id,
    Key,
    LedgerRoute,
    Reference,
    Slug,
    Text,
    carry_out,
    common,
    edge_of,
    respond,
)
from api.positions import Paged, Reached
from api.problems import Problem
from api.rows import row_model, shown
from ledger import money
from ledger.core import stream
from ledger.treasury.commands import (
    CorrectTreasury,
    FundsFigures,
    RecordProviderSettlement,
    SweepRake,
    TopUpFunds,
    TransitFigures,
)
from ledger.treasury.events import (
    ProviderState,
    provider_stream,
    treasury_stream,
)
from ledger.treasury.payouts import DischargePartner, MatchBankLine, SettleWithPartner
from ledger.treasury.settlements import LONGEST_LIST
from projections import views
from projections.queries import treasury
from projections.reading import Snapshot

router = APIRouter(prefix="/v1/treasury", tags=["books"], route_class=LedgerRoute)

Treasurer = Annotated[Caller, needs(Scope.LEDGER_FINANCE)]
Auditing = Annotated[Caller, needs(Scope.BOOKS_READ)]
Provider = Annotated[Slug, Path(examples=["cardpay"], description="The payment provider.")]
OneCurrency = Annotated[Currency, Query(examples=["EUR"])]
Ids = Annotated[list[Id], Field(max_length=LONGEST_LIST)]
BankReference = Annotated[
    Reference, Field(description="What the bank's statement calls it; each is good once.")
]
Signed = Annotated[int, Field(ge=-money.MAX_MINOR, le=money.MAX_MINOR)]
Fee = Annotated[int, Field(ge=0, le=money.MAX_MINOR)]

PATIENCE_SECONDS: Final = 1.0
"""How long a command waits for the book to include what was booked before it."""

_POLL_SECONDS: Final = 0.02


class SettlementBody(Body):
    """What a payment provider paid to the bank, and which deposits he says that covers."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "provider": "cardpay",
                    "reference": "CP-2013-06-03",
                    "bank_reference": "B-20130604-17",
                    "currency": "EUR",
                    "paid_minor": 9850,
                    "fee_minor": 150,
                    "deposits": ["dep-example"],
                },
                {
                    "provider": "cardpay",
                    "reference": "CP-2013-06-04",
                    "bank_reference": "B-20130605-3",
                    "currency": "EUR",
                    "paid_minor": 4900,
                    "fee_minor": 100,
                },
                {
                    "provider": "cardpay",
                    "reference": "CP-2013-06-05",
                    "bank_reference": "B-20130606-8",
                    "currency": "EUR",
                    "paid_minor": 9800,
                    "fee_minor": 150,
                    "deposits": ["dep-example"],
                    "difference_reason": "0.50 less than the provider's own list.",
                },
            ]
        }
    )

    provider: Slug
    reference: Reference = Field(description="The provider's own name of it: good once.")
    bank_reference: BankReference
    currency: Currency
    paid_minor: Signed = Field(
        description="What reached the bank; below zero when the bank paid the provider."
    )
    fee_minor: Fee = Field(default=0, description="What the provider kept: the operator bears it.")
    deposits: Ids = Field(
        default=[],
        description="Ids of the deposits that he paid. Neither these nor charge-backs: what was "
        "paid and kept is taken from all that is in transit at him, the oldest first. A list of "
        f"more than {LONGEST_LIST} goes in parts, numbered in both references.",
    )
    charge_backs: Ids = Field(
        default=[], description="Ids of charged-back deposits that he kept back from it."
    )
    difference_reason: Text | None = Field(
        default=None,
        description="Why paid and kept is not what it covers: then a second person must agree, "
        "and the difference is suspense.",
    )
    rulebook: Slug = "entraction"


class SweepBody(Body):
    """Earned rake that the operator takes out."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"currency": "EUR", "amount_minor": 5, "bank_reference": "B-20130701-1"}]
        }
    )

    currency: Currency
    amount_minor: AmountMinor
    bank_reference: BankReference
    rulebook: Slug = "entraction"


class TopUpBody(Body):
    """The operator's own money, put in."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "currency": "EUR",
                    "amount_minor": 15000,
                    "bank_reference": "B-20130701-2",
                    "reason": "Provider fees of June.",
                }
            ]
        }
    )

    currency: Currency
    amount_minor: AmountMinor
    bank_reference: BankReference
    reason: Text
    rulebook: Slug = "entraction"


class PartnerSettlementBody(Body):
    """Released withdrawals that are paid to the players' partner."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "partner": "kerching",
                    "currency": "EUR",
                    "withdrawals": ["wd-example"],
                    "bank_reference": "B-20130605-4",
                }
            ]
        }
    )

    partner: Slug
    currency: Currency
    withdrawals: Annotated[Ids, Field(min_length=1)]
    bank_reference: BankReference
    rulebook: Slug = "entraction"


class DischargeBody(Body):
    """What a partner reports to have paid his players."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "partner": "kerching",
                    "currency": "EUR",
                    "amount_minor": 1500,
                    "report": "KE-2013-06",
                }
            ]
        }
    )

    partner: Slug
    currency: Currency
    amount_minor: AmountMinor
    report: Reference = Field(description="The partner's own name of his report: good once.")


class BankMatchBody(Body):
    """A line of the bank's statement and the withdrawals that it paid."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "bank_reference": "B-20130603-11",
                    "currency": "EUR",
                    "amount_minor": 2000,
                    "withdrawals": ["wd-example"],
                }
            ]
        }
    )

    bank_reference: BankReference
    currency: Currency
    amount_minor: AmountMinor
    withdrawals: Annotated[Ids, Field(min_length=1)]


_Corrected = Annotated[
    str,
    Field(
        pattern="^(bank|suspense|shortfall|transit:[a-z0-9]+(-[a-z0-9]+)*)$",
        max_length=72,
        description="`bank`, `suspense`, `shortfall` or `transit:PROVIDER`.",
    ),
]


class CorrectionBody(Body):
    """An amount that the book has in the wrong account."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "currency": "EUR",
                    "amount_minor": 250,
                    "debit": "shortfall",
                    "credit": "bank",
                    "ground": "manifest-error",
                    "reason": "A charge of the bank that nobody booked.",
                }
            ]
        }
    )

    currency: Currency
    amount_minor: AmountMinor
    debit: _Corrected
    credit: _Corrected
    ground: Slug = Field(description="One of the rulebook's grounds for an intervention.")
    reason: Text
    rulebook: Slug = "entraction"


class SettlementDone(Done):
    """A settlement as it was booked."""

    settlement: str
    provider: str
    reference: str
    bank_reference: str
    currency: str
    gross_minor: int = Field(description="What left the money in transit.")
    gross: str
    fee_minor: int
    fee: str
    paid_minor: int
    paid: str
    suspense_minor: int = Field(description="Paid and kept beyond it; below zero: what is missing.")
    suspense: str
    deposits: int = Field(description="How many were settled.")
    charge_backs: int


class SweepDone(Done):
    """A sweep, and the book that it rested on."""

    currency: str
    amount_minor: int
    amount: str
    bank_reference: str
    book_position: int
    unswept_minor: int = Field(description="Earned rake that is left to sweep.")
    unswept: str


class TopUpDone(Done):
    """A top-up, and the operator's own money on the account after it."""

    currency: str
    amount_minor: int
    amount: str
    bank_reference: str
    own_funds_minor: int
    own_funds: str


class PartnerSettlementDone(Done):
    """What was settled with a partner."""

    settlement: str
    partner: str
    bank_reference: str
    currency: str
    amount_minor: int
    amount: str
    withdrawals: int = Field(description="How many were paid.")
    partner_owes_minor: int = Field(description="What the partner owes to his players now.")
    partner_owes: str


class DischargeDone(Done):
    """What a partner owes to his players after his report."""

    partner: str
    currency: str
    amount_minor: int
    amount: str
    partner_owes_minor: int
    partner_owes: str


class BankMatchDone(Done):
    """A matched line of the bank's statement."""

    bank_reference: str
    currency: str
    amount_minor: int
    amount: str
    withdrawals: int


class CorrectionDone(Done):
    """A correction, by account codes."""

    currency: str
    amount_minor: int
    amount: str
    debit: str
    credit: str


# -- commands ------------------------------------------------------------------------------------


@router.post(
    "/settlements",
    status_code=201,
    response_model=SettlementDone,
    responses=approvals.AWAITED,
    summary="Book a provider's settlement",
)
async def record_settlement(
    request: Request, body: SettlementBody, caller: Treasurer, key: Key
) -> Response:
    """Book that a payment provider paid deposits to the bank, less charge-backs and his fee.

    Every deposit is settled once. The fee is an expense: what is owed to players stays, so that
    coverage falls short by it until rake covers it or the operator tops up. Source: K 1.6, K 5.1.
    """
    require_house(caller)
    identity = edge_of(request).identity
    figures = await run_in_threadpool(_transit_figures, edge_of(request), caller, body)
    command = RecordProviderSettlement(
        **common(caller, key),
        settlement=str(uuid4()),
        provider=body.provider,
        reference=body.reference,
        reference_claim=identity.reference_claim(
            caller.network, "settlement", body.provider, body.reference
        ),
        bank_reference=body.bank_reference,
        bank_claim=_bank_claim(request, caller, body.bank_reference),
        currency=body.currency,
        paid_minor=body.paid_minor,
        fee_minor=body.fee_minor,
        deposits=tuple(body.deposits),
        charge_backs=tuple(body.charge_backs),
        difference_reason=body.difference_reason,
        book=figures,
        rulebook=body.rulebook,
    )
    return await approvals.submit_or_ask(request, caller, command)


@router.post("/sweeps", status_code=201, response_model=SweepDone, summary="Sweep earned rake")
async def sweep_rake(request: Request, body: SweepBody, caller: Treasurer, key: Key) -> Response:
    """Take earned rake out of the client-funds account: what is not swept yet, and covers nothing.

    The figures of the book that it rests on are kept with it. Source: K 1.8, K 1.9, K 5.1.
    """
    require_house(caller)
    command = SweepRake(
        **common(caller, key),
        currency=body.currency,
        amount_minor=body.amount_minor,
        bank_reference=body.bank_reference,
        bank_claim=_bank_claim(request, caller, body.bank_reference),
        book=await run_in_threadpool(
            _funds_figures, edge_of(request), caller.network, body.currency
        ),
        rulebook=body.rulebook,
    )
    return await carry_out(request, caller, command)


@router.post("/top-ups", status_code=201, response_model=TopUpDone, summary="Top client funds up")
async def top_up(request: Request, body: TopUpBody, caller: Treasurer, key: Key) -> Response:
    """Book that the operator put its own money into the client-funds account."""
    require_house(caller)
    command = TopUpFunds(
        **common(caller, key),
        currency=body.currency,
        amount_minor=body.amount_minor,
        bank_reference=body.bank_reference,
        bank_claim=_bank_claim(request, caller, body.bank_reference),
        reason=body.reason,
        rulebook=body.rulebook,
    )
    return await carry_out(request, caller, command)


@router.post(
    "/partner-settlements",
    status_code=201,
    response_model=PartnerSettlementDone,
    summary="Settle with a partner",
)
async def settle_with_partner(
    request: Request, body: PartnerSettlementBody, caller: Treasurer, key: Key
) -> Response:
    """Pay released withdrawals to the players' partner, who pays the players.

    They are no longer the room's to pay: what the partner holds and owes is shown apart. What a
    partner receives is a deposit with the partner as its provider. Source: K 3.9, K 3.11, K 5.1.
    """
    require_house(caller)
    command = SettleWithPartner(
        **common(caller, key),
        settlement=str(uuid4()),
        partner=body.partner,
        currency=body.currency,
        withdrawals=tuple(body.withdrawals),
        bank_reference=body.bank_reference,
        bank_claim=_bank_claim(request, caller, body.bank_reference),
        rulebook=body.rulebook,
    )
    return await carry_out(request, caller, command)


@router.post(
    "/partner-discharges",
    status_code=201,
    response_model=DischargeDone,
    summary="Book a partner's report",
)
async def discharge_partner(
    request: Request, body: DischargeBody, caller: Treasurer, key: Key
) -> Response:
    """Book that a partner paid his players what had been settled with him. Source: K 3.9."""
    require_house(caller)
    command = DischargePartner(
        **common(caller, key),
        partner=body.partner,
        currency=body.currency,
        amount_minor=body.amount_minor,
        report=body.report,
        report_claim=edge_of(request).identity.reference_claim(
            caller.network, "partner-report", body.partner, body.report
        ),
    )
    return await carry_out(request, caller, command)


@router.post(
    "/bank-matches",
    status_code=201,
    response_model=BankMatchDone,
    summary="Match a line of the bank's statement",
)
async def match_bank_line(
    request: Request, body: BankMatchBody, caller: Treasurer, key: Key
) -> Response:
    """Record that the bank's statement shows the payment of these withdrawals, and what it says."""
    require_house(caller)
    command = MatchBankLine(
        **common(caller, key),
        bank_reference=body.bank_reference,
        bank_claim=_bank_claim(request, caller, body.bank_reference),
        currency=body.currency,
        amount_minor=body.amount_minor,
        withdrawals=tuple(body.withdrawals),
    )
    return await carry_out(request, caller, command)


@router.post(
    "/corrections",
    status_code=201,
    response_model=CorrectionDone,
    responses=approvals.AWAITED,
    summary="Correct the treasury",
)
async def correct_treasury(
    request: Request, body: CorrectionBody, caller: Treasurer, key: Key
) -> Response:
    """Move an amount between bank, transit, suspense and shortfall, because the book is wrong.

    From the rulebook's threshold on a second person must agree first.
    """
    require_house(caller)
    command = CorrectTreasury(
        **common(caller, key),
        currency=body.currency,
        amount_minor=body.amount_minor,
        debit=body.debit,
        credit=body.credit,
        ground=body.ground,
        reason=body.reason,
        rulebook=body.rulebook,
    )
    return await approvals.submit_or_ask(request, caller, command)


def require_house(caller: Caller) -> None:
    """Raise not-your-partner for a partner's token, whatever its scopes."""
    if caller.partner is not None:
        raise Problem("not-your-partner", "the treasury is the house's own")


def _bank_claim(request: Request, caller: Caller, reference: str) -> str:
    identity = edge_of(request).identity
    return identity.reference_claim(caller.network, "bank", "client-funds", reference)


Figures = TypeVar("Figures", TransitFigures, FundsFigures)


def _transit_figures(edge: Edge, caller: Caller, body: SettlementBody) -> TransitFigures:
    """Read what is in transit at a provider; a settlement with a list rests on it seldom."""
    state: ProviderState | None
    state, head = edge.reads.state(provider_stream(caller.network, body.provider, body.currency))
    listed = bool(body.deposits or body.charge_backs)
    rests = not listed or (state is not None and state.unlisted_minor > 0)
    return _recent(
        edge,
        head if rests else 0,
        lambda at: treasury.transit_figures(
            at, network=caller.network, provider=body.provider, currency=body.currency
        ),
    )


def _funds_figures(edge: Edge, network: str, currency: str) -> FundsFigures:
    _, head = edge.reads.state(treasury_stream(network, currency))
    return _recent(
        edge, head, lambda at: treasury.funds_figures(at, network=network, currency=currency)
    )


def _recent(edge: Edge, head: int, read: Callable[[Snapshot], Figures]) -> Figures:
    """Read figures that include all that was booked by now, or what there is after a while.

    Those that lack what the treasury booked are refused by the ledger, to be tried again later.
    """
    deadline = monotonic() + PATIENCE_SECONDS
    while True:
        with edge.reads.book() as at:
            found = read(at)
        if found.position >= head or monotonic() >= deadline:
            return found
        sleep(_POLL_SECONDS)


# -- what there is -------------------------------------------------------------------------------


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


class CoverageAnswer(Answer):
    """What covers player funds now."""

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


class TransitAnswer(Answer):
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


class TransitDepositsAnswer(Answer):
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


class BankAnswer(Answer):
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


class UnmatchedAnswer(Answer):
    """A page of paid withdrawals to be matched."""

    withdrawals: list[UnmatchedRow]
    cursor: str | None


PartnerFundsRow: Any = row_model("PartnerFundsRow", views.PARTNERS, position=int)


class PartnersAnswer(Answer):
    """What was settled with each partner."""

    partners: list[PartnerFundsRow]


@router.get(
    "/coverage", response_model=CoverageAnswer, dependencies=[Reached], summary="Coverage now"
)
def get_coverage(request: Request, caller: Auditing) -> Response:
    """Tell what covers player funds, real money alone, and what of it the operator may take.

    Source: K 1.8, K 5.1.
    """
    require_house(caller)
    with edge_of(request).reads.book() as at:
        found = treasury.coverage(at, network=caller.network)
    return respond({"currencies": [shown(row) for row in found], "position": at.position})


@router.get(
    "/transit", response_model=TransitAnswer, dependencies=[Reached], summary="Money in transit"
)
def get_transit(request: Request, caller: Auditing) -> Response:
    """Tell what each provider has yet to pay, by its age in days.

    What a provider paid without a list is counted off his oldest deposits.
    """
    require_house(caller)
    with edge_of(request).reads.book() as at:
        found = treasury.in_transit(at, network=caller.network, now=now())
    providers = [_transit_row(row, found.ages) for row in found.providers]
    return respond({"providers": providers, "position": found.position})


def _transit_row(row: Any, ages: Any) -> dict[str, Any]:
    mine = [
        age
        for age in ages
        if (age["provider"], age["currency"]) == (row["provider"], row["currency"])
    ]
    bounds = dict(zip(treasury.AGES, (*treasury.AGES[1:], None), strict=True))
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
    dependencies=[Reached],
    summary="Deposits in transit",
)
def list_transit(
    request: Request, provider: Provider, currency: OneCurrency, caller: Auditing, paging: Paged
) -> Response:
    """List what a provider has yet to pay, the oldest first. The read is recorded."""
    require_house(caller)
    at_instant = now()
    reads = edge_of(request).reads
    with reads.book() as at:
        page = treasury.deposits_in_transit(
            at,
            network=caller.network,
            provider=provider,
            currency=currency,
            limit=paging.limit,
            cursor=paging.cursor,
        )
    subject = stream("transit", caller.network, provider)
    reads.record(caller, "transit", subject, request.scope["request_id"], at_instant)
    listed = [shown({**row, "days": (at_instant - row["confirmed_at"]).days}) for row in page.rows]
    return respond({"deposits": listed, "cursor": page.cursor, "position": page.position})


@router.get(
    "/bank",
    response_model=BankAnswer,
    dependencies=[Reached],
    summary="Movements of the client-funds account",
)
def list_bank(
    request: Request,
    caller: Auditing,
    paging: Paged,
    currency: Annotated[Currency | None, Query()] = None,
) -> Response:
    """List what came in and went out, with the balance after it, the newest first."""
    require_house(caller)
    with edge_of(request).reads.book() as at:
        page = treasury.bank_movements(
            at,
            network=caller.network,
            currency=currency,
            limit=paging.limit,
            cursor=paging.cursor,
        )
    listed = [shown(row, links={"event": f"/v1/events/{row['position']}"}) for row in page.rows]
    return respond({"movements": listed, "cursor": page.cursor, "position": page.position})


@router.get(
    "/unmatched",
    response_model=UnmatchedAnswer,
    dependencies=[Reached],
    summary="Payments to be matched",
)
def list_unmatched(request: Request, caller: Auditing, paging: Paged) -> Response:
    """List paid withdrawals that were not found in the bank's statement. The read is recorded."""
    require_house(caller)
    reads = edge_of(request).reads
    with reads.book() as at:
        page = treasury.unmatched_payments(
            at, network=caller.network, limit=paging.limit, cursor=paging.cursor
        )
    subject = stream("unmatched", caller.network, "all")
    reads.record(caller, "unmatched", subject, request.scope["request_id"], now())
    listed = [shown(row) for row in page.rows]
    return respond({"withdrawals": listed, "cursor": page.cursor, "position": page.position})


@router.get(
    "/partners",
    response_model=PartnersAnswer,
    dependencies=[Reached],
    summary="Settled with partners",
)
def get_partners(request: Request, caller: Auditing) -> Response:
    """Tell what was settled with each partner and what he owes. Source: K 3.11, K 5.1."""
    require_house(caller)
    with edge_of(request).reads.book() as at:
        found = treasury.settled_with_partners(at, network=caller.network)
    return respond({"partners": [shown(row) for row in found], "position": at.position})
