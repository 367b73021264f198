"""What may be asked of the cashier, and when it is refused."""

from collections.abc import Sequence
from typing import ClassVar, Final

from ledger.bounds import amount, own_id, slug, text
from ledger.cashier import instruments
from ledger.cashier.events import (
    ChargeBackReceived,
    DepositAnnounced,
    DepositConfirmed,
    DepositFailed,
    DepositState,
    WithdrawalPaid,
    WithdrawalRejected,
    WithdrawalReleased,
    WithdrawalRequested,
    WithdrawalState,
    WithdrawalTakenInReview,
    deposit_stream,
    withdrawal_stream,
)
from ledger.core import Book, Command, Context, Decision, Event, Kind, Refused, Retry
from ledger.identity import Claimed, ReferenceAlreadyUsed, holder
from ledger.money import CREDITS, PLAY_MONEY, is_real
from ledger.players.events import (
    DepositChargedBack,
    Deposited,
    DepositExpected,
    DepositNotReceived,
    PlayerState,
    PlayMoneyIssued,
    WithdrawalGivenBack,
    WithdrawalPaidOut,
    WithdrawalReserved,
    player_stream,
)
from ledger.players.standing import (
    CurrencyMismatch,
    active,
    affordable,
    debt_collected,
    known,
    not_closed,
)
from ledger.rulebooks import Rulebook, adopted

OPEN_LIMIT: Final = 50
"""Deposits, and withdrawals, that one player may have open at a time."""


class UnknownDeposit(Refused):
    """No deposit of this network has that id."""

    code = "unknown-deposit"
    kind: ClassVar[Kind] = "missing"


class DepositExists(Refused):
    """The deposit's id is in use."""

    code = "deposit-exists"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class DepositNotOpen(Refused):
    """The deposit was confirmed or failed already."""

    code = "deposit-not-open"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class DepositNotConfirmed(Refused):
    """Only a confirmed deposit is charged back, and only once."""

    code = "deposit-not-confirmed"
    kind: ClassVar[Kind] = "conflict"


class UnknownWithdrawal(Refused):
    """No withdrawal of this network has that id."""

    code = "unknown-withdrawal"
    kind: ClassVar[Kind] = "missing"


class WithdrawalExists(Refused):
    """The withdrawal's id is in use."""

    code = "withdrawal-exists"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class WithdrawalNotRequested(Refused):
    """Only a withdrawal that nobody looked at yet is taken in review."""

    code = "withdrawal-not-requested"
    kind: ClassVar[Kind] = "conflict"


class WithdrawalNotInReview(Refused):
    """Only a withdrawal in review is released."""

    code = "withdrawal-not-in-review"
    kind: ClassVar[Kind] = "conflict"


class WithdrawalNotReleased(Refused):
    """Only a released withdrawal is paid, and only once."""

    code = "withdrawal-not-released"
    kind: ClassVar[Kind] = "conflict"


class WithdrawalNotOpen(Refused):
    """The withdrawal was paid or rejected already."""

    code = "withdrawal-not-open"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class TooManyOpen(Refused):
    """The player has as many deposits or withdrawals open as one may have."""

    code = "too-many-open"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "later"


class AnnounceDeposit(Command, frozen=True, kw_only=True):
    """Record that a player deposits through a provider, and credit it if that is ``confirmed``.

    ``instrument`` is the provider's token; ``reference_claim`` is the stream id that ``Identity``
    makes of the provider's reference, which is good for one deposit.
    Raises InvalidAmount, InvalidField, UnknownPlayer, PlayerIsClosed, PlayerIsSuspended,
    CurrencyMismatch, DepositExists, ReferenceAlreadyUsed, TooManyOpen. Source: K 1.6.
    """

    deposit: str
    player: str
    provider: str
    instrument: str
    reference_claim: str
    currency: str
    amount_minor: int
    confirmed: bool = False
    inferred: bool = False

    def touches(self) -> tuple[str, ...]:
        return (
            player_stream(self.network, self.player),
            deposit_stream(self.network, self.deposit),
            self.reference_claim,
        )

    def decide(self, book: Book) -> Decision:
        own_id(self.deposit, "deposit")
        slug(self.provider, "provider")
        instruments.token(self.instrument)
        amount(self.amount_minor)
        player = active(book, self.network, self.player)
        rulebook = _rulebook(book, self, player)
        _real(rulebook, self.currency)
        stream = deposit_stream(self.network, self.deposit)
        if book.get(stream) is not None:
            raise DepositExists("The deposit's id is in use.", field="deposit")
        _unused(book, self.reference_claim, "reference")
        if len(player.deposits) >= OPEN_LIMIT:
            raise TooManyOpen("The player has too many open deposits.", field="player")
        context = self.context(rulebook.ref)
        announced = DepositAnnounced(
            **context,
            network=self.network,
            deposit=self.deposit,
            player=self.player,
            provider=self.provider,
            instrument=self.instrument,
            reference_claim=self.reference_claim,
            currency=self.currency,
            amount_minor=self.amount_minor,
            inferred=self.inferred,
        )
        changes: list[tuple[str, Event]] = [
            (stream, announced),
            (self.reference_claim, Claimed(**context, holder=self.deposit)),
        ]
        state = DepositState(
            network=self.network,
            deposit=self.deposit,
            player=self.player,
            provider=self.provider,
            instrument=self.instrument,
            currency=self.currency,
            amount_minor=self.amount_minor,
        )
        if self.confirmed:
            decision = _credit(state, player, rulebook, context, inferred=self.inferred)
            return decision._replace(changes=[*changes, *decision.changes])
        own = player_stream(self.network, self.player)
        changes.append((own, DepositExpected(**context, deposit=self.deposit)))
        return Decision(changes=changes, answer=_deposit_answer(state, "announced"))


class ConfirmDeposit(Command, frozen=True, kw_only=True):
    """Credit an announced deposit, because the provider has confirmed it.

    The money has arrived, so it is credited to a suspended player as well.
    Raises UnknownDeposit, DepositNotOpen. Source: K 1.6.
    """

    deposit: str

    def touches(self) -> tuple[str, ...]:
        return (deposit_stream(self.network, self.deposit),)

    def decide(self, book: Book) -> Decision:
        deposit = _announced(book, self.network, self.deposit)
        player = not_closed(book, self.network, deposit.player)
        rulebook = _rulebook(book, self, player)
        return _credit(deposit, player, rulebook, self.context(rulebook.ref), inferred=False)


class FailDeposit(Command, frozen=True, kw_only=True):
    """Give an announced deposit up; its reference stays used.

    Raises UnknownDeposit, DepositNotOpen, InvalidField.
    """

    deposit: str
    reason: str

    def touches(self) -> tuple[str, ...]:
        return (deposit_stream(self.network, self.deposit),)

    def decide(self, book: Book) -> Decision:
        text(self.reason, "reason")
        deposit = _announced(book, self.network, self.deposit)
        context = self.context()
        missed = DepositNotReceived(**context, deposit=self.deposit)
        return Decision(
            changes=[
                (
                    deposit_stream(self.network, self.deposit),
                    DepositFailed(**context, reason=self.reason),
                ),
                (player_stream(self.network, deposit.player), missed),
            ],
            answer=_deposit_answer(deposit, "failed"),
        )


class ChargeBackDeposit(Command, frozen=True, kw_only=True):
    """Book that the provider took a deposit back.

    The bankroll gives what it has; what is missing becomes a debt. Frozen money, chips and
    requested withdrawals are not touched.
    Raises UnknownDeposit, DepositNotConfirmed, InvalidField.
    """

    deposit: str
    reason: str

    def touches(self) -> tuple[str, ...]:
        return (deposit_stream(self.network, self.deposit),)

    def decide(self, book: Book) -> Decision:
        text(self.reason, "reason")
        deposit = _deposit(book, self.network, self.deposit)
        if deposit.status != "confirmed":
            raise DepositNotConfirmed(
                f"The deposit is {deposit.status}.", field="deposit", status=deposit.status
            )
        player = known(book, self.network, deposit.player)
        taken = min(deposit.amount_minor, player.purse(deposit.currency).bankroll_minor)
        debt = deposit.amount_minor - taken
        context = self.context(_rulebook(book, self, player).ref)
        booked = DepositChargedBack(
            **context,
            network=self.network,
            player=deposit.player,
            deposit=self.deposit,
            provider=deposit.provider,
            currency=deposit.currency,
            amount_minor=deposit.amount_minor,
            debt_minor=debt,
        )
        return Decision(
            changes=[
                (
                    deposit_stream(self.network, self.deposit),
                    ChargeBackReceived(**context, reason=self.reason),
                ),
                (player_stream(self.network, deposit.player), booked),
            ],
            answer={
                **_deposit_answer(deposit, "charged-back"),
                "taken_minor": taken,
                "debt_minor": debt,
            },
        )


class RequestWithdrawal(Command, frozen=True, kw_only=True):
    """Set money of the bankroll aside to be paid out.

    Raises InvalidAmount, InvalidField, UnknownPlayer, PlayerIsClosed, PlayerIsSuspended,
    CurrencyMismatch, WithdrawalExists, InsufficientFunds, TooManyOpen. Source: K 1.7.
    """

    withdrawal: str
    player: str
    instrument: str
    currency: str
    amount_minor: int

    def touches(self) -> tuple[str, ...]:
        return (
            player_stream(self.network, self.player),
            withdrawal_stream(self.network, self.withdrawal),
        )

    def decide(self, book: Book) -> Decision:
        own_id(self.withdrawal, "withdrawal")
        instruments.token(self.instrument)
        amount(self.amount_minor)
        player = active(book, self.network, self.player)
        rulebook = _rulebook(book, self, player)
        _real(rulebook, self.currency)
        stream = withdrawal_stream(self.network, self.withdrawal)
        if book.get(stream) is not None:
            raise WithdrawalExists("The withdrawal's id is in use.", field="withdrawal")
        if len(player.withdrawals) >= OPEN_LIMIT:
            raise TooManyOpen("The player has too many open withdrawals.", field="player")
        affordable(player, self.currency, self.amount_minor)
        context = self.context(rulebook.ref)
        requested = WithdrawalRequested(
            **context,
            network=self.network,
            withdrawal=self.withdrawal,
            player=self.player,
            instrument=self.instrument,
            currency=self.currency,
            amount_minor=self.amount_minor,
        )
        reserved = WithdrawalReserved(
            **context,
            network=self.network,
            player=self.player,
            withdrawal=self.withdrawal,
            currency=self.currency,
            amount_minor=self.amount_minor,
        )
        left = player.purse(self.currency).bankroll_minor - self.amount_minor
        return Decision(
            changes=[
                (stream, requested),
                (player_stream(self.network, self.player), reserved),
            ],
            answer={
                "withdrawal": self.withdrawal,
                "player": self.player,
                "status": "requested",
                "currency": self.currency,
                "amount_minor": self.amount_minor,
                "bankroll_minor": left,
            },
        )


class TakeInReview(Command, frozen=True, kw_only=True):
    """Begin to look at a requested withdrawal.

    Raises UnknownWithdrawal, WithdrawalNotRequested.
    """

    withdrawal: str

    def touches(self) -> tuple[str, ...]:
        return (withdrawal_stream(self.network, self.withdrawal),)

    def decide(self, book: Book) -> Decision:
        withdrawal = _withdrawal(book, self, ("requested",), WithdrawalNotRequested)
        taken = WithdrawalTakenInReview(**self.context())
        return _withdrawal_step(withdrawal, taken, (), "in-review")


class ReleaseWithdrawal(Command, frozen=True, kw_only=True):
    """Allow a withdrawal in review to be paid.

    Raises UnknownWithdrawal, WithdrawalNotInReview, PlayerIsSuspended, PlayerIsClosed.
    """

    withdrawal: str

    def touches(self) -> tuple[str, ...]:
        return (withdrawal_stream(self.network, self.withdrawal),)

    def decide(self, book: Book) -> Decision:
        withdrawal = _withdrawal(book, self, ("in-review",), WithdrawalNotInReview)
        active(book, self.network, withdrawal.player)
        return _withdrawal_step(withdrawal, WithdrawalReleased(**self.context()), (), "released")


class PayWithdrawal(Command, frozen=True, kw_only=True):
    """Book that a released withdrawal left the client-funds account.

    ``payment_claim`` is the stream id that ``Identity`` makes of the payment's reference, which
    is good for one payment. Raises UnknownWithdrawal, WithdrawalNotReleased, InvalidField,
    ReferenceAlreadyUsed, PlayerIsSuspended, PlayerIsClosed. Source: K 1.7.
    """

    withdrawal: str
    provider: str
    payment_claim: str

    def touches(self) -> tuple[str, ...]:
        return (withdrawal_stream(self.network, self.withdrawal), self.payment_claim)

    def decide(self, book: Book) -> Decision:
        slug(self.provider, "provider")
        withdrawal = _withdrawal(book, self, ("released",), WithdrawalNotReleased)
        player = active(book, self.network, withdrawal.player)
        _unused(book, self.payment_claim, "payment_reference")
        context = self.context(_rulebook(book, self, player).ref)
        paid_out = WithdrawalPaidOut(
            **context,
            network=self.network,
            player=withdrawal.player,
            withdrawal=self.withdrawal,
            currency=withdrawal.currency,
            amount_minor=withdrawal.amount_minor,
        )
        paid = WithdrawalPaid(**context, provider=self.provider, payment_claim=self.payment_claim)
        decision = _withdrawal_step(withdrawal, paid, (paid_out,), "paid")
        claimed = Claimed(**context, holder=self.withdrawal)
        return decision._replace(changes=[*decision.changes, (self.payment_claim, claimed)])


class RejectWithdrawal(Command, frozen=True, kw_only=True):
    """Refuse to pay an open withdrawal: its money goes back to the bankroll.

    What the player owes is collected from it first. Raises UnknownWithdrawal, WithdrawalNotOpen,
    InvalidField.
    """

    withdrawal: str
    reason: str

    def touches(self) -> tuple[str, ...]:
        return (withdrawal_stream(self.network, self.withdrawal),)

    def decide(self, book: Book) -> Decision:
        text(self.reason, "reason")
        still_open = ("requested", "in-review", "released")
        withdrawal = _withdrawal(book, self, still_open, WithdrawalNotOpen)
        player = known(book, self.network, withdrawal.player)
        rulebook = _rulebook(book, self, player)
        context = self.context(rulebook.ref)
        currency, returned = withdrawal.currency, withdrawal.amount_minor
        given_back = WithdrawalGivenBack(
            **context,
            network=self.network,
            player=withdrawal.player,
            withdrawal=self.withdrawal,
            currency=currency,
            amount_minor=returned,
        )
        collected = debt_collected(player, currency, returned, rulebook, context)
        rejected = WithdrawalRejected(**context, reason=self.reason)
        return _withdrawal_step(withdrawal, rejected, (given_back, *collected), "rejected")


class IssuePlayMoney(Command, frozen=True, kw_only=True):
    """Give a player fun money or credits that the rulebook knows; they have no value.

    Raises InvalidAmount, UnknownPlayer, PlayerIsClosed, PlayerIsSuspended, CurrencyMismatch.
    Source: K 10.1.8, G.
    """

    player: str
    currency: str
    amount_minor: int
    inferred: bool = False

    def touches(self) -> tuple[str, ...]:
        return (player_stream(self.network, self.player),)

    def decide(self, book: Book) -> Decision:
        amount(self.amount_minor)
        player = active(book, self.network, self.player)
        rulebook = _rulebook(book, self, player)
        play = self.currency in (PLAY_MONEY, CREDITS)
        if not play or not rulebook.allows_currency(self.currency):
            raise CurrencyMismatch(
                "Only play money of the player's rulebook is given out.", field="currency"
            )
        issued = PlayMoneyIssued(
            **self.context(rulebook.ref),
            network=self.network,
            player=self.player,
            currency=self.currency,
            amount_minor=self.amount_minor,
            inferred=self.inferred,
        )
        return Decision(
            changes=[(player_stream(self.network, self.player), issued)],
            answer={
                "player": self.player,
                "currency": self.currency,
                "amount_minor": self.amount_minor,
                "bankroll_minor": player.purse(self.currency).bankroll_minor + self.amount_minor,
            },
        )


def _rulebook(book: Book, command: Command, player: PlayerState) -> Rulebook:
    return adopted(book, command.network, player.rulebook, command.at.date())


def _real(rulebook: Rulebook, currency: str) -> None:
    if not is_real(currency) or not rulebook.allows_currency(currency):
        raise CurrencyMismatch(
            f"{rulebook.title} takes no deposits and pays nothing in this currency.",
            field="currency",
        )


def _unused(book: Book, claim: str, field: str) -> None:
    used_by = holder(book, claim)
    if used_by is not None:
        raise ReferenceAlreadyUsed("The reference was used before.", field=field, used_by=used_by)


def _deposit(book: Book, network: str, deposit: str) -> DepositState:
    state: DepositState | None = book.get(deposit_stream(network, deposit))
    if state is None:
        raise UnknownDeposit("No such deposit.", field="deposit")
    return state


def _announced(book: Book, network: str, deposit: str) -> DepositState:
    state = _deposit(book, network, deposit)
    if state.status != "announced":
        raise DepositNotOpen(
            f"The deposit is {state.status}.", field="deposit", status=state.status
        )
    return state


def _credit(
    deposit: DepositState,
    player: PlayerState,
    rulebook: Rulebook,
    context: Context,
    *,
    inferred: bool,
) -> Decision:
    currency, credited = deposit.currency, deposit.amount_minor
    deposited = Deposited(
        **context,
        network=deposit.network,
        player=deposit.player,
        deposit=deposit.deposit,
        provider=deposit.provider,
        currency=currency,
        amount_minor=credited,
        inferred=inferred,
    )
    collected = debt_collected(player, currency, credited, rulebook, context)
    taken = sum(event.amount_minor for event in collected)
    own = player_stream(deposit.network, deposit.player)
    return Decision(
        changes=[
            (deposit_stream(deposit.network, deposit.deposit), DepositConfirmed(**context)),
            (own, deposited),
            *((own, event) for event in collected),
        ],
        answer={
            **_deposit_answer(deposit, "confirmed"),
            "debt_collected_minor": taken,
            "bankroll_minor": player.purse(currency).bankroll_minor + credited - taken,
        },
    )


def _deposit_answer(deposit: DepositState, status: str) -> dict[str, str | int]:
    return {
        "deposit": deposit.deposit,
        "player": deposit.player,
        "provider": deposit.provider,
        "status": status,
        "currency": deposit.currency,
        "amount_minor": deposit.amount_minor,
    }


def _withdrawal(
    book: Book,
    command: "TakeInReview | ReleaseWithdrawal | PayWithdrawal | RejectWithdrawal",
    statuses: Sequence[str],
    otherwise: type[Refused],
) -> WithdrawalState:
    state: WithdrawalState | None = book.get(withdrawal_stream(command.network, command.withdrawal))
    if state is None:
        raise UnknownWithdrawal("No such withdrawal.", field="withdrawal")
    if state.status not in statuses:
        raise otherwise(
            f"The withdrawal is {state.status}.", field="withdrawal", status=state.status
        )
    return state


def _withdrawal_step(
    withdrawal: WithdrawalState, step: Event, booked: Sequence[Event], status: str
) -> Decision:
    network = withdrawal.network
    own = player_stream(network, withdrawal.player)
    return Decision(
        changes=[
            (withdrawal_stream(network, withdrawal.withdrawal), step),
            *((own, event) for event in booked),
        ],
        answer={
            "withdrawal": withdrawal.withdrawal,
            "player": withdrawal.player,
            "status": status,
            "currency": withdrawal.currency,
            "amount_minor": withdrawal.amount_minor,
        },
    )
