"""Facts about the client-funds account, in three kinds of streams.

One per payment provider and currency, one per partner and currency, and one per currency for the
account itself: so one provider's settlement never waits for another's.
"""

from datetime import datetime
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from ledger import accounts
from ledger.core import Event, Posting, move, stream


def treasury_stream(network: str, currency: str) -> str:
    """Name the stream of the client-funds account in one currency."""
    return stream("treasury", network, currency)


def provider_stream(network: str, provider: str, currency: str) -> str:
    """Name the stream of what a payment provider has paid in one currency."""
    return stream("provider", network, f"{provider}:{currency}")


def partner_stream(network: str, partner: str, currency: str) -> str:
    """Name the stream of what was settled with a partner in one currency."""
    return stream("partner", network, f"{partner}:{currency}")


class TreasuryState(msgspec.Struct, frozen=True, kw_only=True):
    """The client-funds account of one currency, as far as the treasury itself moves it.

    Withdrawals and deposits are booked elsewhere: what the account holds is for the projections to
    say. ``movements`` counts what was booked here, so that figures read there can be told to be
    older than it.
    """

    network: str
    currency: str
    movements: int = 0
    swept_minor: int = 0
    own_funds_minor: int = 0
    status: Literal["covered", "short"] = "covered"
    since: datetime | None = None
    """When the status became what it is; None from the beginning."""
    covered_position: int = 0
    """The book's position at which coverage was last found to have fallen or to be restored."""


class ProviderState(msgspec.Struct, frozen=True, kw_only=True):
    """What a payment provider has paid to the bank in one currency, in sums."""

    network: str
    provider: str
    currency: str
    settlements: int = 0
    gross_minor: int = 0
    fee_minor: int = 0
    paid_minor: int = 0
    unlisted_minor: int = 0
    """The part of the gross for which no deposits were named."""


class PartnerState(msgspec.Struct, frozen=True, kw_only=True):
    """What was settled with a partner in one currency, and what of it he paid to his players."""

    network: str
    partner: str
    currency: str
    settled_minor: int = 0
    discharged_minor: int = 0

    @property
    def owed_minor(self) -> int:
        """What the partner owes to his players still."""
        return self.settled_minor - self.discharged_minor


class ProviderSettled(Event, frozen=True, kw_only=True):
    """A payment provider paid deposits to the bank, less its fee, which is the operator's to bear.

    ``gross_minor`` leaves the money in transit, ``paid_minor`` reached the bank (below zero: the
    bank paid the provider), ``difference_minor`` is what of it nobody can explain and is suspense:
    paid and fee less gross. The sums on which a gross without a list rested are its evidence.
    """

    NAME = "provider.settled.v1"

    network: str
    provider: str
    settlement: str
    reference: str
    """The provider's own name of the settlement."""
    bank_reference: str
    currency: str
    gross_minor: int
    fee_minor: int
    paid_minor: int
    difference_minor: int = 0
    difference_reason: str = ""
    listed: bool
    deposits: int = 0
    charge_backs: int = 0
    book_position: int | None = None
    book_transit_minor: int | None = None

    def postings(self) -> tuple[Posting, ...]:
        lines = (
            (accounts.bank(self.network), self.paid_minor),
            (accounts.fee(self.network, self.provider), self.fee_minor),
            (accounts.transit(self.network, self.provider), -self.gross_minor),
            (accounts.suspense(self.network), -self.difference_minor),
        )
        return tuple(Posting(account, self.currency, line) for account, line in lines if line)


class RakeSwept(Event, frozen=True, kw_only=True):
    """The operator took earned rake out of the client-funds account.

    What the book held at ``book_position`` is the evidence that it was earned and that player
    funds stayed covered. Source: K 1.9, K 5.1.
    """

    NAME = "treasury.rake_swept.v1"

    network: str
    currency: str
    amount_minor: int
    bank_reference: str
    book_position: int
    book_bank_minor: int
    book_transit_minor: int
    book_liability_minor: int
    book_earned_minor: int

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.swept(self.network),
            accounts.bank(self.network),
            self.currency,
            self.amount_minor,
        )


class FundsToppedUp(Event, frozen=True, kw_only=True):
    """The operator put its own money into the client-funds account."""

    NAME = "treasury.topped_up.v1"

    network: str
    currency: str
    amount_minor: int
    bank_reference: str
    reason: str

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.bank(self.network),
            accounts.own_funds(self.network),
            self.currency,
            self.amount_minor,
        )


class TreasuryCorrected(Event, frozen=True, kw_only=True):
    """An amount was moved between the treasury's own accounts, because the book was wrong."""

    NAME = "treasury.corrected.v1"

    network: str
    currency: str
    debit: str
    """Account code that is debited."""
    credit: str
    amount_minor: int
    ground: str
    reason: str

    def postings(self) -> tuple[Posting, ...]:
        return move(self.debit, self.credit, self.currency, self.amount_minor)


class CoverageFell(Event, frozen=True, kw_only=True):
    """Bank and transit no longer cover what is owed to players. Source: K 1.8, K 5.1."""

    NAME = "treasury.coverage_fell.v1"

    network: str
    currency: str
    book_position: int
    assets_minor: int
    liability_minor: int


class CoverageRestored(Event, frozen=True, kw_only=True):
    """Bank and transit cover again what is owed to players."""

    NAME = "treasury.coverage_restored.v1"

    network: str
    currency: str
    book_position: int
    assets_minor: int
    liability_minor: int


class PartnerSettled(Event, frozen=True, kw_only=True):
    """Released withdrawals were paid to the players' partner, who owes them to the players now.

    Each withdrawal books its own way out of the bank; this books, apart, what the partner holds
    and owes. It is no longer the room's responsibility. Source: K 3.9, K 3.11, K 5.1.
    """

    NAME = "partner.settled.v1"

    network: str
    partner: str
    settlement: str
    bank_reference: str
    currency: str
    amount_minor: int
    withdrawals: tuple[str, ...]

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.at_partner(self.network, self.partner),
            accounts.partner(self.network, self.partner),
            self.currency,
            self.amount_minor,
        )


class PartnerDischarged(Event, frozen=True, kw_only=True):
    """The partner reported that he paid his players what had been settled with him."""

    NAME = "partner.discharged.v1"

    network: str
    partner: str
    currency: str
    amount_minor: int
    report: str
    """The partner's own name of his report."""

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.partner(self.network, self.partner),
            accounts.at_partner(self.network, self.partner),
            self.currency,
            self.amount_minor,
        )


EVENTS: Final[tuple[type[Event], ...]] = (
    ProviderSettled,
    RakeSwept,
    FundsToppedUp,
    TreasuryCorrected,
    CoverageFell,
    CoverageRestored,
    PartnerSettled,
    PartnerDischarged,
)


def evolve_treasury(state: TreasuryState | None, event: Event) -> TreasuryState:
    """Fold an event of the client-funds account's stream."""
    assert isinstance(
        event, RakeSwept | FundsToppedUp | TreasuryCorrected | CoverageFell | CoverageRestored
    )
    state = state or TreasuryState(network=event.network, currency=event.currency)
    match event:
        case CoverageFell() | CoverageRestored():
            return replace(
                state,
                status="short" if isinstance(event, CoverageFell) else "covered",
                since=event.occurred_at,
                covered_position=event.book_position,
            )
        case RakeSwept():
            state = replace(state, swept_minor=state.swept_minor + event.amount_minor)
        case FundsToppedUp():
            state = replace(state, own_funds_minor=state.own_funds_minor + event.amount_minor)
    return replace(state, movements=state.movements + 1)


def evolve_provider(state: ProviderState | None, event: Event) -> ProviderState:
    """Fold an event of a provider's stream."""
    assert isinstance(event, ProviderSettled)
    state = state or ProviderState(
        network=event.network, provider=event.provider, currency=event.currency
    )
    return replace(
        state,
        settlements=state.settlements + 1,
        gross_minor=state.gross_minor + event.gross_minor,
        fee_minor=state.fee_minor + event.fee_minor,
        paid_minor=state.paid_minor + event.paid_minor,
        unlisted_minor=state.unlisted_minor + (0 if event.listed else event.gross_minor),
    )


def evolve_partner(state: PartnerState | None, event: Event) -> PartnerState:
    """Fold an event of a partner's stream."""
    assert isinstance(event, PartnerSettled | PartnerDischarged)
    state = state or PartnerState(
        network=event.network, partner=event.partner, currency=event.currency
    )
    if isinstance(event, PartnerSettled):
        return replace(state, settled_minor=state.settled_minor + event.amount_minor)
    return replace(state, discharged_minor=state.discharged_minor + event.amount_minor)
