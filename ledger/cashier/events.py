"""The life of a deposit and of a withdrawal. Their money is booked on the player's stream."""

from datetime import datetime
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from ledger.core import Event, stream


def deposit_stream(network: str, deposit: str) -> str:
    """Name the stream of a deposit, by its id."""
    return stream("deposit", network, deposit)


def withdrawal_stream(network: str, withdrawal: str) -> str:
    """Name the stream of a withdrawal, by its id."""
    return stream("withdrawal", network, withdrawal)


class DepositState(msgspec.Struct, frozen=True, kw_only=True):
    """A deposit as it stands between two events."""

    network: str
    deposit: str
    player: str
    provider: str
    instrument: str
    currency: str
    amount_minor: int
    status: Literal["announced", "confirmed", "failed", "charged-back"] = "announced"
    confirmed_at: datetime | None = None
    settled_in: str | None = None
    """The settlement in which the provider paid it."""
    charge_back_settled_in: str | None = None
    """The settlement from which the provider kept it back again."""


class WithdrawalState(msgspec.Struct, frozen=True, kw_only=True):
    """A withdrawal as it stands between two events."""

    network: str
    withdrawal: str
    player: str
    instrument: str
    currency: str
    amount_minor: int
    status: Literal["requested", "in-review", "released", "paid", "rejected"] = "requested"
    bank_reference: str | None = None
    """What the bank's statement calls the payment, once that is known."""


class DepositAnnounced(Event, frozen=True, kw_only=True):
    """A player asked to deposit; the provider has not confirmed it yet. Source: K 1.6."""

    NAME = "deposit.announced.v1"

    network: str
    deposit: str
    player: str
    provider: str
    instrument: str
    """The provider's token for the card or account, never its number."""
    reference_claim: str
    currency: str
    amount_minor: int
    inferred: bool = False


class DepositConfirmed(Event, frozen=True, kw_only=True):
    """The provider confirmed the deposit; ``player.deposited.v1`` credits it."""

    NAME = "deposit.confirmed.v1"


class DepositFailed(Event, frozen=True, kw_only=True):
    """The provider will not pay the deposit."""

    NAME = "deposit.failed.v1"

    reason: str


class ChargeBackReceived(Event, frozen=True, kw_only=True):
    """The provider took the deposit back; ``player.deposit_charged_back.v1`` books it."""

    NAME = "deposit.charged_back.v1"

    reason: str


class DepositSettled(Event, frozen=True, kw_only=True):
    """The provider paid the deposit to the bank; ``provider.settled.v1`` books it with others."""

    NAME = "deposit.settled.v1"

    settlement: str


class ChargeBackSettled(Event, frozen=True, kw_only=True):
    """The provider kept a charged-back deposit from what it paid; booked as a settlement is."""

    NAME = "deposit.charge_back_settled.v1"

    settlement: str


class WithdrawalRequested(Event, frozen=True, kw_only=True):
    """A player asked for money; ``player.withdrawal_reserved.v1`` sets it aside. Source: K 1.7."""

    NAME = "withdrawal.requested.v1"

    network: str
    withdrawal: str
    player: str
    instrument: str
    currency: str
    amount_minor: int


class WithdrawalTakenInReview(Event, frozen=True, kw_only=True):
    """Somebody looks at the withdrawal."""

    NAME = "withdrawal.taken_in_review.v1"


class WithdrawalReleased(Event, frozen=True, kw_only=True):
    """The withdrawal may be paid."""

    NAME = "withdrawal.released.v1"


class WithdrawalPaid(Event, frozen=True, kw_only=True):
    """The withdrawal was paid; ``player.withdrawal_paid_out.v1`` books it."""

    NAME = "withdrawal.paid.v1"

    provider: str
    payment_claim: str


class WithdrawalMatched(Event, frozen=True, kw_only=True):
    """The payment was found in the bank's statement, under the bank's reference."""

    NAME = "withdrawal.matched.v1"

    bank_reference: str


class WithdrawalRejected(Event, frozen=True, kw_only=True):
    """The withdrawal will not be paid; ``player.withdrawal_given_back.v1`` returns the money."""

    NAME = "withdrawal.rejected.v1"

    reason: str


EVENTS: Final[tuple[type[Event], ...]] = (
    DepositAnnounced,
    DepositConfirmed,
    DepositFailed,
    ChargeBackReceived,
    DepositSettled,
    ChargeBackSettled,
    WithdrawalRequested,
    WithdrawalTakenInReview,
    WithdrawalReleased,
    WithdrawalPaid,
    WithdrawalMatched,
    WithdrawalRejected,
)


def evolve_deposit(state: DepositState | None, event: Event) -> DepositState | None:
    """Fold an event of a deposit's stream."""
    if isinstance(event, DepositAnnounced):
        return DepositState(
            network=event.network,
            deposit=event.deposit,
            player=event.player,
            provider=event.provider,
            instrument=event.instrument,
            currency=event.currency,
            amount_minor=event.amount_minor,
        )
    assert state is not None, event
    match event:
        case DepositConfirmed():
            return replace(state, status="confirmed", confirmed_at=event.occurred_at)
        case DepositFailed():
            return replace(state, status="failed")
        case ChargeBackReceived():
            return replace(state, status="charged-back")
        case DepositSettled():
            return replace(state, settled_in=event.settlement)
        case ChargeBackSettled():
            return replace(state, charge_back_settled_in=event.settlement)
    return state


def evolve_withdrawal(state: WithdrawalState | None, event: Event) -> WithdrawalState | None:
    """Fold an event of a withdrawal's stream."""
    if isinstance(event, WithdrawalRequested):
        return WithdrawalState(
            network=event.network,
            withdrawal=event.withdrawal,
            player=event.player,
            instrument=event.instrument,
            currency=event.currency,
            amount_minor=event.amount_minor,
        )
    assert state is not None, event
    match event:
        case WithdrawalTakenInReview():
            return replace(state, status="in-review")
        case WithdrawalReleased():
            return replace(state, status="released")
        case WithdrawalPaid():
            return replace(state, status="paid")
        case WithdrawalMatched():
            return replace(state, bank_reference=event.bank_reference)
        case WithdrawalRejected():
            return replace(state, status="rejected")
    return state
