"""The cashier: deposits, withdrawals, and play money."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import ConfigDict, Field

from api import links, players
from api.as_of import StateAsOf, Told, state_of
from api.auth import Caller, needs
from api.edge import (
    AmountMinor,
    Body,
    Currency,
    Done,
    Id,
    Key,
    LedgerRoute,
    PlayerId,
    Reference,
    Slug,
    carry_out,
    common,
    edge_of,
    recording,
    respond,
    worded,
)
from api.links import LINKS, Known
from api.tokens import Scope
from ledger.cashier.commands import (
    AnnounceDeposit,
    ChargeBackDeposit,
    ConfirmDeposit,
    FailDeposit,
    IssuePlayMoney,
    PayWithdrawal,
    RejectWithdrawal,
    ReleaseWithdrawal,
    RequestWithdrawal,
    TakeInReview,
    UnknownDeposit,
    UnknownWithdrawal,
)
from ledger.cashier.events import (
    DepositState,
    WithdrawalState,
    deposit_stream,
    withdrawal_stream,
)

router = APIRouter(prefix="/v1", tags=["cashier"], route_class=LedgerRoute)

Running = Annotated[Caller, needs(Scope.CASHIER_RUN)]
Reviewing = Annotated[Caller, needs(Scope.CASHIER_REVIEW)]
Reading = Annotated[Caller, needs(Scope.PLAYERS_READ)]
DepositId = Annotated[Id, Path(examples=["dep-example"])]
WithdrawalId = Annotated[Id, Path(examples=["wd-example"])]


class DepositBody(Body):
    """Money that a player pays in through a provider."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "player": players.EXAMPLE,
                    "provider": "cardpay",
                    "reference": "cp-99120",
                    "instrument": "tok_4f9a12",
                    "currency": "EUR",
                    "amount_minor": 5000,
                }
            ]
        }
    )

    player: PlayerId
    provider: Slug
    reference: Reference = Field(description="The provider's reference: good for one deposit.")
    instrument: Reference = Field(
        description="The provider's token for the card or account, never its number."
    )
    currency: Currency
    amount_minor: AmountMinor
    confirmed: bool = Field(
        default=False, description="The provider has confirmed it already: credit it at once."
    )


class WithdrawalBody(Body):
    """Money that a player wants to be paid out."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "player": players.EXAMPLE,
                    "instrument": "tok_4f9a12",
                    "currency": "EUR",
                    "amount_minor": 2000,
                }
            ]
        }
    )

    player: PlayerId
    instrument: Reference = Field(
        description="The provider's token for the card or account, never its number."
    )
    currency: Currency
    amount_minor: AmountMinor


class Payment(Body):
    """How a released withdrawal was paid."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"provider": "sepa-bank", "payment_reference": "out-2013-0007"}]
        }
    )

    provider: Slug
    payment_reference: Reference = Field(description="Good for one payment.")


class PlayMoney(Body):
    """Fun money or credits that have no value."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"player": players.EXAMPLE, "currency": "XPM", "amount_minor": 100000}]
        }
    )

    player: PlayerId
    currency: Currency
    amount_minor: AmountMinor


class DepositDone(Done):
    """What became of a deposit."""

    deposit: str
    player: str
    provider: str
    status: str
    currency: str
    amount_minor: int
    amount: str


class DepositAnnouncedOrConfirmed(DepositDone):
    """A deposit; what it made of the bankroll is told when it is credited."""

    debt_collected_minor: int | None = None
    debt_collected: str | None = None
    bankroll_minor: int | None = None
    bankroll: str | None = None


class DepositCredited(DepositDone):
    """A credited deposit, and the bankroll after it."""

    debt_collected_minor: int = Field(description="Taken from it, because the player owed it.")
    debt_collected: str
    bankroll_minor: int
    bankroll: str


class DepositTakenBack(DepositDone):
    """A deposit that the provider took back."""

    taken_minor: int = Field(description="What the bankroll gave.")
    taken: str
    debt_minor: int = Field(description="What it lacked: the player owes it now.")
    debt: str


class WithdrawalDone(Done):
    """What became of a withdrawal."""

    withdrawal: str
    player: str
    status: str
    currency: str
    amount_minor: int
    amount: str


class WithdrawalSetAside(WithdrawalDone):
    """A requested withdrawal, and the bankroll after it."""

    bankroll_minor: int
    bankroll: str


class PlayMoneyGiven(Done):
    """Play money that was given out, and the bankroll after it."""

    player: str
    currency: str
    amount_minor: int
    amount: str
    bankroll_minor: int
    bankroll: str


class DepositAnswer(Told):
    """A deposit as it is now, or was as of the instant that was asked for."""

    deposit: str
    player: str
    provider: str
    status: str
    currency: str
    amount_minor: int
    amount: str
    links: dict[str, str] = Field(default={}, description=LINKS)


class WithdrawalAnswer(Told):
    """A withdrawal as it is now, or was as of the instant that was asked for."""

    withdrawal: str
    player: str
    status: str
    currency: str
    amount_minor: int
    amount: str
    links: dict[str, str] = Field(default={}, description=LINKS)


# -- deposits ------------------------------------------------------------------------------------


@router.post(
    "/deposits",
    status_code=201,
    response_model=DepositAnnouncedOrConfirmed,
    summary="Announce a deposit",
)
async def announce_deposit(
    request: Request, body: DepositBody, caller: Running, key: Key
) -> Response:
    """Record that a player pays in; the bankroll is credited when the provider confirms it.

    Source: K 1.6.
    """
    await players.require_own_player(request, caller, body.player)
    identity = edge_of(request).identity
    command = AnnounceDeposit(
        **common(caller, key),
        deposit=str(uuid4()),
        player=body.player,
        provider=body.provider,
        instrument=body.instrument,
        reference_claim=identity.reference_claim(
            caller.network, "deposit", body.provider, body.reference
        ),
        currency=body.currency,
        amount_minor=body.amount_minor,
        confirmed=body.confirmed,
    )
    return await carry_out(request, caller, command)


@router.post(
    "/deposits/{deposit}/confirm", response_model=DepositCredited, summary="Confirm a deposit"
)
async def confirm_deposit(
    request: Request, deposit: DepositId, caller: Running, key: Key
) -> Response:
    """Credit an announced deposit: the provider has the money."""
    await _require_own_deposit(request, caller, deposit)
    command = ConfirmDeposit(**common(caller, key), deposit=deposit)
    return await carry_out(request, caller, command, status=200)


@router.post("/deposits/{deposit}/fail", response_model=DepositDone, summary="Give a deposit up")
async def fail_deposit(
    request: Request, deposit: DepositId, body: players.Reason, caller: Running, key: Key
) -> Response:
    """Record that the provider will not pay; the reference stays used."""
    await _require_own_deposit(request, caller, deposit)
    command = FailDeposit(**common(caller, key), deposit=deposit, reason=body.reason)
    return await carry_out(request, caller, command, status=200)


@router.post(
    "/deposits/{deposit}/charge-back",
    response_model=DepositTakenBack,
    summary="Book a charge-back",
)
async def charge_back_deposit(
    request: Request, deposit: DepositId, body: players.Reason, caller: Running, key: Key
) -> Response:
    """Book that the provider took the money back; what the bankroll lacks becomes a debt."""
    await _require_own_deposit(request, caller, deposit)
    command = ChargeBackDeposit(**common(caller, key), deposit=deposit, reason=body.reason)
    return await carry_out(request, caller, command, status=200)


@router.get("/deposits/{deposit}", response_model=DepositAnswer, summary="A deposit")
def get_deposit(
    request: Request, deposit: DepositId, caller: Reading, asked: StateAsOf
) -> Response:
    """Tell how a deposit stands. The read is recorded."""
    _deposit(request, caller, deposit)
    stream = deposit_stream(caller.network, deposit)
    state: DepositState | None
    with recording(request, caller, "deposit", stream):
        state, told = state_of(request, stream, asked)
    if state is None:
        raise UnknownDeposit("It was not announced yet.", field="deposit")
    found = {
        "deposit": state.deposit,
        "player": state.player,
        "provider": state.provider,
        "status": state.status,
        "currency": state.currency,
        "amount_minor": state.amount_minor,
    }
    return respond({**worded(found), "links": _links(caller, state.player, told), **told})


# -- withdrawals ---------------------------------------------------------------------------------


@router.post(
    "/withdrawals",
    status_code=201,
    response_model=WithdrawalSetAside,
    summary="Request a withdrawal",
)
async def request_withdrawal(
    request: Request, body: WithdrawalBody, caller: Running, key: Key
) -> Response:
    """Set money of the bankroll aside; it is owed to the player until it is paid.

    Source: K 1.7.
    """
    await players.require_own_player(request, caller, body.player)
    command = RequestWithdrawal(
        **common(caller, key),
        withdrawal=str(uuid4()),
        player=body.player,
        instrument=body.instrument,
        currency=body.currency,
        amount_minor=body.amount_minor,
    )
    return await carry_out(request, caller, command)


@router.post(
    "/withdrawals/{withdrawal}/review",
    response_model=WithdrawalDone,
    summary="Take a withdrawal in review",
)
async def review_withdrawal(
    request: Request, withdrawal: WithdrawalId, caller: Reviewing, key: Key
) -> Response:
    """Begin to look at a requested withdrawal."""
    await _require_own_withdrawal(request, caller, withdrawal)
    command = TakeInReview(**common(caller, key), withdrawal=withdrawal)
    return await carry_out(request, caller, command, status=200)


@router.post(
    "/withdrawals/{withdrawal}/release",
    response_model=WithdrawalDone,
    summary="Release a withdrawal",
)
async def release_withdrawal(
    request: Request, withdrawal: WithdrawalId, caller: Reviewing, key: Key
) -> Response:
    """Allow a withdrawal in review to be paid."""
    await _require_own_withdrawal(request, caller, withdrawal)
    command = ReleaseWithdrawal(**common(caller, key), withdrawal=withdrawal)
    return await carry_out(request, caller, command, status=200)


@router.post(
    "/withdrawals/{withdrawal}/reject",
    response_model=WithdrawalDone,
    summary="Reject a withdrawal",
)
async def reject_withdrawal(
    request: Request, withdrawal: WithdrawalId, body: players.Reason, caller: Reviewing, key: Key
) -> Response:
    """Give the money of an open withdrawal back to the bankroll."""
    await _require_own_withdrawal(request, caller, withdrawal)
    command = RejectWithdrawal(**common(caller, key), withdrawal=withdrawal, reason=body.reason)
    return await carry_out(request, caller, command, status=200)


@router.post(
    "/withdrawals/{withdrawal}/pay", response_model=WithdrawalDone, summary="Book a payment"
)
async def pay_withdrawal(
    request: Request, withdrawal: WithdrawalId, body: Payment, caller: Running, key: Key
) -> Response:
    """Book that a released withdrawal left the client-funds account."""
    await _require_own_withdrawal(request, caller, withdrawal)
    identity = edge_of(request).identity
    command = PayWithdrawal(
        **common(caller, key),
        withdrawal=withdrawal,
        provider=body.provider,
        payment_claim=identity.reference_claim(
            caller.network, "withdrawal", body.provider, body.payment_reference
        ),
    )
    return await carry_out(request, caller, command, status=200)


@router.get("/withdrawals/{withdrawal}", response_model=WithdrawalAnswer, summary="A withdrawal")
def get_withdrawal(
    request: Request, withdrawal: WithdrawalId, caller: Reading, asked: StateAsOf
) -> Response:
    """Tell how a withdrawal stands. The read is recorded."""
    _withdrawal(request, caller, withdrawal)
    stream = withdrawal_stream(caller.network, withdrawal)
    state: WithdrawalState | None
    with recording(request, caller, "withdrawal", stream):
        state, told = state_of(request, stream, asked)
    if state is None:
        raise UnknownWithdrawal("It was not requested yet.", field="withdrawal")
    found = {
        "withdrawal": state.withdrawal,
        "player": state.player,
        "status": state.status,
        "currency": state.currency,
        "amount_minor": state.amount_minor,
    }
    return respond({**worded(found), "links": _links(caller, state.player, told), **told})


@router.post(
    "/play-money", status_code=201, response_model=PlayMoneyGiven, summary="Give out play money"
)
async def issue_play_money(
    request: Request, body: PlayMoney, caller: Running, key: Key
) -> Response:
    """Give a player fun money or credits. Source: K 10.1.8, G."""
    await players.require_own_player(request, caller, body.player)
    command = IssuePlayMoney(
        **common(caller, key),
        player=body.player,
        currency=body.currency,
        amount_minor=body.amount_minor,
    )
    return await carry_out(request, caller, command)


def _links(caller: Caller, player: str, told: Mapping[str, Any]) -> links.Links:
    """Lead from a payment to its player and his statement."""
    statement = Known(told["position"]).statement_of_player(player)
    return links.allowed(caller, player=links.player(player), statement=statement)


def _deposit(request: Request, caller: Caller, deposit: str) -> tuple[DepositState, int]:
    edge = edge_of(request)
    state: DepositState | None
    state, position = edge.reads.state(deposit_stream(caller.network, deposit))
    if state is None:
        raise UnknownDeposit("No such deposit.", field="deposit")
    if caller.partner is not None:
        players.player_of(edge, caller, state.player)
    return state, position


def _withdrawal(request: Request, caller: Caller, withdrawal: str) -> tuple[WithdrawalState, int]:
    edge = edge_of(request)
    state: WithdrawalState | None
    state, position = edge.reads.state(withdrawal_stream(caller.network, withdrawal))
    if state is None:
        raise UnknownWithdrawal("No such withdrawal.", field="withdrawal")
    if caller.partner is not None:
        players.player_of(edge, caller, state.player)
    return state, position


async def _require_own_deposit(request: Request, caller: Caller, deposit: str) -> None:
    if caller.partner is not None:
        await run_in_threadpool(_deposit, request, caller, deposit)


async def _require_own_withdrawal(request: Request, caller: Caller, withdrawal: str) -> None:
    if caller.partner is not None:
        await run_in_threadpool(_withdrawal, request, caller, withdrawal)
