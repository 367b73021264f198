"""The life of a deposit and of a withdrawal. Their money is booked on the player's stream."""

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


class WithdrawalState(msgspec.Struct, frozen=True, kw_only=True):
    """A withdrawal as it stands between two events."""

    network: str
    withdrawal: str
    player: str
    instrument: str
    currency: str
    amount_minor: int
    status: Literal["requested", "in-review", "released", "paid", "rejected"] = "requested"


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


class WithdrawalRejected(Event, frozen=True, kw_only=True):
    """The withdrawal will not be paid; ``player.withdrawal_given_back.v1`` returns the money."""

    NAME = "withdrawal.rejected.v1"

    reason: str


EVENTS: Final[tuple[type[Event], ...]] = (
    DepositAnnounced,
    DepositConfirmed,
    DepositFailed,
    ChargeBackReceived,
    WithdrawalRequested,
    WithdrawalTakenInReview,
    WithdrawalReleased,
    WithdrawalPaid,
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
            return replace(state, status="confirmed")
        case DepositFailed():
            return replace(state, status="failed")
        case ChargeBackReceived():
            return replace(state, status="charged-back")
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
        case WithdrawalRejected():
            return replace(state, status="rejected")
    return state
