"""Facts of a player's account, and what they add up to: standing, seats, balances.

All money that enters or leaves a player's account is booked on this stream; the cashier's and the
tables' streams mirror it. Chips in front of him are moved by hands, which are not read here.
"""

from datetime import datetime
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from ledger import accounts
from ledger.core import Event, Keep, Posting, move, stream


def player_stream(network: str, player: str) -> str:
    """Name the stream of a player, by his id."""
    return stream("player", network, player)


class Purse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a player has in one currency, in minor units; a debt is what he owes."""

    bankroll_minor: int = 0
    frozen_minor: int = 0
    withdrawal_minor: int = 0
    debt_minor: int = 0


class PlayerState(msgspec.Struct, frozen=True, kw_only=True):
    """A player as he stands between two events."""

    network: str
    player: str
    partner: str
    rulebook: str
    """Name of the rulebook that his deposits and withdrawals are judged by."""
    status: Literal["active", "suspended", "closed"]
    nickname_claim: str
    person_claim: str | None
    registered_at: datetime
    terms: dict[str, datetime] = {}
    """``document version`` -> when it was accepted."""
    purses: dict[str, Purse] = {}
    seats: dict[str, int] = {}
    """Table id -> seat."""
    deposits: tuple[str, ...] = ()
    """Announced and neither confirmed nor failed."""
    withdrawals: tuple[str, ...] = ()
    """Requested and neither paid nor rejected."""
    inferred: bool = False

    def purse(self, currency: str) -> Purse:
        """Return what he has in a currency."""
        return self.purses.get(currency, Purse())


class VaultName(Keep, frozen=True, kw_only=True):
    """A player's nickname, for the vault that can be erased; no event holds it."""

    network: str
    player_id: str
    nickname: str


class PlayerRegistered(Event, frozen=True, kw_only=True):
    """A person became a player of a partner; ``warranted`` is what he warranted then.

    Source: K 2.
    """

    NAME = "player.registered.v1"

    network: str
    player: str
    partner: str
    rulebook_name: str
    nickname_claim: str
    person_claim: str | None = None
    warranted: tuple[str, ...] = ()
    inferred: bool = False


class NicknameChanged(Event, frozen=True, kw_only=True):
    """The player goes by another nickname; the name itself is in the vault. Source: K 9.1."""

    NAME = "player.nickname_changed.v1"

    nickname_claim: str


class TermsAccepted(Event, frozen=True, kw_only=True):
    """A version of the terms or the licence was accepted, as read in a language.

    Whatever the language, the English version decides. Source: K 3.2, 8.5.
    """

    NAME = "player.terms_accepted.v1"

    document: str
    version: str
    language: str


class PlayerSuspended(Event, frozen=True, kw_only=True):
    """The player may not play, deposit or withdraw until reinstated. Source: K 9.1."""

    NAME = "player.suspended.v1"

    ground: str
    reason: str


class PlayerReinstated(Event, frozen=True, kw_only=True):
    """A suspension ended."""

    NAME = "player.reinstated.v1"

    reason: str


class PlayerClosed(Event, frozen=True, kw_only=True):
    """The account was closed, empty; the person may open another."""

    NAME = "player.closed.v1"

    reason: str


class DepositExpected(Event, frozen=True, kw_only=True):
    """A deposit was announced for the player; no money moves yet."""

    NAME = "player.deposit_expected.v1"

    deposit: str


class DepositNotReceived(Event, frozen=True, kw_only=True):
    """An announced deposit failed; no money moved."""

    NAME = "player.deposit_not_received.v1"

    deposit: str


class Deposited(Event, frozen=True, kw_only=True):
    """A payment provider confirmed a deposit: credited now, in transit to the bank.

    Source: K 1.6.
    """

    NAME = "player.deposited.v1"

    network: str
    player: str
    deposit: str
    provider: str
    currency: str
    amount_minor: int
    inferred: bool = False

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.transit(self.network, self.provider),
            accounts.bankroll(self.network, self.player),
            self.currency,
            self.amount_minor,
        )


class DepositChargedBack(Event, frozen=True, kw_only=True):
    """A provider took a deposit back: from the bankroll as far as it went, the rest is owed."""

    NAME = "player.deposit_charged_back.v1"

    network: str
    player: str
    deposit: str
    provider: str
    currency: str
    amount_minor: int
    debt_minor: int = 0
    """The part of the amount that the bankroll could not give."""

    def postings(self) -> tuple[Posting, ...]:
        lines = (
            (accounts.bankroll(self.network, self.player), self.amount_minor - self.debt_minor),
            (accounts.debt(self.network, self.player), self.debt_minor),
            (accounts.transit(self.network, self.provider), -self.amount_minor),
        )
        return tuple(Posting(account, self.currency, line) for account, line in lines if line)


class DebtCollected(Event, frozen=True, kw_only=True):
    """What the player owed was taken from what was just credited to him."""

    NAME = "player.debt_collected.v1"

    network: str
    player: str
    currency: str
    amount_minor: int

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.bankroll(self.network, self.player),
            accounts.debt(self.network, self.player),
            self.currency,
            self.amount_minor,
        )


class WithdrawalReserved(Event, frozen=True, kw_only=True):
    """A withdrawal left the bankroll and is owed until it is paid. Source: K 1.7."""

    NAME = "player.withdrawal_reserved.v1"

    network: str
    player: str
    withdrawal: str
    currency: str
    amount_minor: int

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.bankroll(self.network, self.player),
            accounts.withdrawal(self.network, self.player),
            self.currency,
            self.amount_minor,
        )


class WithdrawalPaidOut(Event, frozen=True, kw_only=True):
    """A withdrawal was paid from the client-funds account."""

    NAME = "player.withdrawal_paid_out.v1"

    network: str
    player: str
    withdrawal: str
    currency: str
    amount_minor: int

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.withdrawal(self.network, self.player),
            accounts.bank(self.network),
            self.currency,
            self.amount_minor,
        )


class WithdrawalGivenBack(Event, frozen=True, kw_only=True):
    """A withdrawal was rejected; its amount is back on the bankroll."""

    NAME = "player.withdrawal_given_back.v1"

    network: str
    player: str
    withdrawal: str
    currency: str
    amount_minor: int

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.withdrawal(self.network, self.player),
            accounts.bankroll(self.network, self.player),
            self.currency,
            self.amount_minor,
        )


class PlayMoneyIssued(Event, frozen=True, kw_only=True):
    """Fun money or credits were given out; they have no value. Source: K 10.1.8."""

    NAME = "player.play_money_issued.v1"

    network: str
    player: str
    currency: str
    amount_minor: int
    inferred: bool = False

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.play_issue(self.network),
            accounts.bankroll(self.network, self.player),
            self.currency,
            self.amount_minor,
        )


class BoughtIn(Event, frozen=True, kw_only=True):
    """The player sat down and bought chips. Source: K 1.11."""

    NAME = "player.bought_in.v1"

    network: str
    player: str
    table: str
    seat: int
    currency: str
    amount_minor: int
    inferred: bool = False

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.bankroll(self.network, self.player),
            accounts.chips(self.network, self.table, self.player),
            self.currency,
            self.amount_minor,
        )


class ToppedUp(Event, frozen=True, kw_only=True):
    """The seated player bought more chips, between hands."""

    NAME = "player.topped_up.v1"

    network: str
    player: str
    table: str
    currency: str
    amount_minor: int
    inferred: bool = False

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.bankroll(self.network, self.player),
            accounts.chips(self.network, self.table, self.player),
            self.currency,
            self.amount_minor,
        )


class CashedOut(Event, frozen=True, kw_only=True):
    """The player left a table; all his chips, possibly none, are back on the bankroll."""

    NAME = "player.cashed_out.v1"

    network: str
    player: str
    table: str
    currency: str
    amount_minor: int
    inferred: bool = False

    def postings(self) -> tuple[Posting, ...]:
        if not self.amount_minor:
            return ()
        return move(
            accounts.chips(self.network, self.table, self.player),
            accounts.bankroll(self.network, self.player),
            self.currency,
            self.amount_minor,
        )


class JackpotWon(Event, frozen=True, kw_only=True):
    """The player got one of his shares of a jackpot that was hit; ``part`` says for what.

    It is owed to him however his account stands. Source: D.
    """

    NAME = "player.jackpot_won.v1"

    network: str
    player: str
    jackpot: str
    currency: str
    game_number: str
    part: Literal["loser", "winner", "dealt-in"]
    amount_minor: int

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.jackpot(self.network, self.jackpot),
            accounts.bankroll(self.network, self.player),
            self.currency,
            self.amount_minor,
        )


class ChipsCorrected(Event, frozen=True, kw_only=True):
    """Chips were set to what the game server has; the difference is suspense to be cleared."""

    NAME = "player.chips_corrected.v1"

    network: str
    player: str
    table: str
    currency: str
    difference_minor: int
    """Above zero when the game server has more."""
    ground: str
    reason: str

    def postings(self) -> tuple[Posting, ...]:
        return move(
            accounts.suspense(self.network),
            accounts.chips(self.network, self.table, self.player),
            self.currency,
            self.difference_minor,
        )


EVENTS: Final[tuple[type[Event], ...]] = (
    PlayerRegistered,
    NicknameChanged,
    TermsAccepted,
    PlayerSuspended,
    PlayerReinstated,
    PlayerClosed,
    DepositExpected,
    DepositNotReceived,
    Deposited,
    DepositChargedBack,
    DebtCollected,
    WithdrawalReserved,
    WithdrawalPaidOut,
    WithdrawalGivenBack,
    PlayMoneyIssued,
    BoughtIn,
    ToppedUp,
    CashedOut,
    JackpotWon,
    ChipsCorrected,
)


def evolve(state: PlayerState | None, event: Event) -> PlayerState | None:
    """Fold an event of a player's stream."""
    if isinstance(event, PlayerRegistered):
        return _registered(event)
    assert state is not None, event
    return _booked(_changed(state, event), event)


def _registered(event: PlayerRegistered) -> PlayerState:
    return PlayerState(
        network=event.network,
        player=event.player,
        partner=event.partner,
        rulebook=event.rulebook_name,
        status="active",
        nickname_claim=event.nickname_claim,
        person_claim=event.person_claim,
        registered_at=event.occurred_at,
        inferred=event.inferred,
    )


def _changed(state: PlayerState, event: Event) -> PlayerState:
    match event:
        case NicknameChanged():
            return replace(state, nickname_claim=event.nickname_claim)
        case TermsAccepted():
            accepted = {f"{event.document} {event.version}": event.occurred_at}
            return replace(state, terms={**state.terms, **accepted})
        case PlayerSuspended():
            return replace(state, status="suspended")
        case PlayerReinstated():
            return replace(state, status="active")
        case PlayerClosed():
            return replace(state, status="closed")
        case DepositExpected():
            return replace(state, deposits=(*state.deposits, event.deposit))
        case DepositNotReceived() | Deposited():
            return replace(state, deposits=_without(state.deposits, event.deposit))
        case WithdrawalReserved():
            return replace(state, withdrawals=(*state.withdrawals, event.withdrawal))
        case WithdrawalPaidOut() | WithdrawalGivenBack():
            return replace(state, withdrawals=_without(state.withdrawals, event.withdrawal))
        case BoughtIn():
            return replace(state, seats={**state.seats, event.table: event.seat})
        case CashedOut():
            left = {table: seat for table, seat in state.seats.items() if table != event.table}
            return replace(state, seats=left)
    return state


def _without(ids: tuple[str, ...], gone: str) -> tuple[str, ...]:
    return tuple(open_id for open_id in ids if open_id != gone)


def _booked(state: PlayerState, event: Event) -> PlayerState:
    # Balances are sums of postings and computed nowhere else, so no event can be left out here.
    purses = None
    for code, currency, amount in event.postings():
        account = accounts.parse(code)
        if account.component == "chips" or account.player != state.player:
            continue
        if purses is None:
            purses = dict(state.purses)
        purse = purses.get(currency, Purse())
        match account.component:
            case "bankroll":
                purse = replace(purse, bankroll_minor=purse.bankroll_minor - amount)
            case "frozen":
                purse = replace(purse, frozen_minor=purse.frozen_minor - amount)
            case "withdrawal":
                purse = replace(purse, withdrawal_minor=purse.withdrawal_minor - amount)
            case "debt":
                purse = replace(purse, debt_minor=purse.debt_minor + amount)
        purses[currency] = purse
    return state if purses is None else replace(state, purses=purses)
