"""The treasury: settlements, sweeps, top-ups, partners, corrections; transit, bank, coverage."""

from collections.abc import Callable
from time import monotonic, sleep
from typing import Annotated, Final, TypeVar
from uuid import uuid4

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import ConfigDict, Field

from api import approvals
from api.auth import Caller, needs
from api.edge import (
    AmountMinor,
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
)
from api.problems import Problem
from api.tokens import Scope
from ledger import money
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
