"""What may be asked of the treasury, and when it is refused.

A bank balance is the sum of postings of many streams, so no stream knows it. Commands that depend
on such sums carry the figures that the edge read from the book, with their position, and their
event keeps them as evidence. That nothing of the treasury's own was booked in between is decided
over its streams, which count their movements. Hands and withdrawals may be booked in between:
rake only adds to what covers player funds, a paid withdrawal takes as much from both sides; a
charge-back that becomes a debt or a provider's fee does not, and the coverage alert tells of it.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import msgspec

from ledger import accounts
from ledger.bounds import InvalidField, amount, slug, text
from ledger.cashier.events import (
    ChargeBackSettled,
    DepositSettled,
    deposit_stream,
)
from ledger.core import Approvable, Asked, Book, Command, Decision, Event
from ledger.identity import Claimed
from ledger.money import MAX_MINOR, is_real
from ledger.money import text as in_words
from ledger.players.standing import CurrencyMismatch
from ledger.rulebooks import Rulebook, asked
from ledger.treasury.events import (
    CoverageFell,
    CoverageRestored,
    FundsToppedUp,
    ProviderSettled,
    ProviderState,
    RakeSwept,
    TreasuryCorrected,
    TreasuryState,
    provider_stream,
    treasury_stream,
)
from ledger.treasury.references import rulebook_of, unused
from ledger.treasury.refusals import (
    CoverageUnchanged,
    CoverageWouldFall,
    FiguresOutOfDate,
    MoreThanAtBank,
    MoreThanEarned,
    NotATreasuryAccount,
    SettlementDiffers,
)
from ledger.treasury.settlements import Covered, covered

CORRECTION: Final = "correct-treasury"
"""The rulebook's action for what the treasury books without a document that explains it."""


class TransitFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What the book at ``position`` said of the money in transit at one provider.

    ``settlements`` and ``movements`` are how much of the treasury's own streams it included.
    """

    position: int
    settlements: int
    movements: int
    transit_minor: int
    to_keep_back_minor: int
    """Charge-backs of deposits that he has paid, which he has yet to keep back."""


class FundsFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What the book at ``position`` said of one currency's client funds.

    ``movements`` is how much of the treasury's own stream it included.
    """

    position: int
    movements: int
    bank_minor: int
    transit_minor: int
    liability_minor: int
    earned_minor: int
    """Rake of all partners after what went to jackpots, swept or not."""


class RecordProviderSettlement(Approvable, frozen=True, kw_only=True):
    """Book what a payment provider paid to the bank: deposits, less charge-backs and his fee.

    ``reference_claim`` and ``bank_claim`` are the stream ids that ``Identity`` makes of the
    provider's reference and of the bank's: each is good once. ``paid_minor`` is below zero when
    the bank paid the provider. With neither deposits nor charge-backs named, what was paid and
    kept is taken from the provider's whole money in transit, as ``book`` has it.
    A difference is refused unless it is explained; then it is suspense, and takes two persons.
    Raises InvalidAmount, InvalidField, CurrencyMismatch, ReferenceAlreadyUsed, DepositsNotPayable,
    SettlementDiffers, FiguresOutOfDate. Source: K 1.6, K 5.1.
    """

    ACTION: ClassVar[str] = "settle-provider"

    settlement: str
    provider: str
    reference: str
    reference_claim: str
    bank_reference: str
    bank_claim: str
    currency: str
    paid_minor: int
    fee_minor: int
    deposits: tuple[str, ...] = ()
    charge_backs: tuple[str, ...] = ()
    difference_reason: str | None = None
    book: TransitFigures
    rulebook: str

    def touches(self) -> tuple[str, ...]:
        named = (*self.deposits, *self.charge_backs)
        return (
            provider_stream(self.network, self.provider, self.currency),
            self.reference_claim,
            self.bank_claim,
            *(deposit_stream(self.network, deposit) for deposit in named),
        )

    def approval(self, book: Book) -> Asked | None:
        _, difference = self._weighed(book)
        if not difference:
            return None
        words = (
            f"Take {in_words(difference, self.currency)} {self.currency} of a settlement of "
            f"{self.provider} for suspense: {self.difference_reason}"
        )
        rulebook = rulebook_of(book, self, self.rulebook, self.currency)
        return asked(
            *(rulebook, CORRECTION, difference, self.currency, words),
            provider=self.provider,
            reference=self.reference,
        )

    def decide_approved(self, book: Book) -> Decision:
        slug(self.provider, "provider")
        text(self.reference, "reference", longest=128)
        text(self.bank_reference, "bank_reference", longest=128)
        amount(abs(self.paid_minor), "paid_minor", least=0)
        amount(self.fee_minor, "fee_minor", least=0)
        rulebook = rulebook_of(book, self, self.rulebook, self.currency)
        unused(book, self.reference_claim, "reference")
        unused(book, self.bank_claim, "bank_reference")
        taken, difference = self._weighed(book)
        gross = self.paid_minor + self.fee_minor - difference
        context = self.context(rulebook.ref)
        settled = ProviderSettled(
            **context,
            network=self.network,
            provider=self.provider,
            settlement=self.settlement,
            reference=self.reference,
            bank_reference=self.bank_reference,
            currency=self.currency,
            gross_minor=gross,
            fee_minor=self.fee_minor,
            paid_minor=self.paid_minor,
            difference_minor=difference,
            difference_reason=self.difference_reason or "",
            listed=self._listed,
            deposits=len(taken.deposits),
            charge_backs=len(taken.charge_backs),
            book_position=None if self._listed else self.book.position,
            book_transit_minor=None if self._listed else self.book.transit_minor,
        )
        stream = provider_stream(self.network, self.provider, self.currency)
        by_provider = Claimed(**context, holder=f"{self.provider}:{self.currency}")
        changes: list[tuple[str, Event]] = [
            (stream, settled),
            (self.reference_claim, by_provider),
            (self.bank_claim, by_provider),
        ]
        for deposits, step in (
            (taken.deposits, DepositSettled(**context, settlement=self.settlement)),
            (taken.charge_backs, ChargeBackSettled(**context, settlement=self.settlement)),
        ):
            changes += [(deposit_stream(self.network, one.deposit), step) for one in deposits]
        return Decision(changes=changes, answer=_settlement_answer(settled))

    @property
    def _listed(self) -> bool:
        return bool(self.deposits or self.charge_backs)

    def _weighed(self, book: Book) -> tuple[Covered, int]:
        """Return what the settlement covers, and what is paid and kept beyond it."""
        taken = covered(
            *(book, self.network, self.provider, self.currency),
            deposits=self.deposits,
            charge_backs=self.charge_backs,
        )
        claimed = self.paid_minor + self.fee_minor
        if not self._listed:
            amount(claimed, "paid_minor")
        stream = provider_stream(self.network, self.provider, self.currency)
        state: ProviderState | None = book.get(stream)
        explained = taken.gross_minor
        if not self._listed or (state is not None and state.unlisted_minor):
            self._up_to_date(book, state)
            if self._listed:
                # What a list names may have been paid before, without one: no more is left than
                # is in transit once all charge-backs are kept back.
                left = self.book.transit_minor + self.book.to_keep_back_minor - taken.kept_minor
                explained = min(explained, left)
            else:
                explained = min(claimed, max(self.book.transit_minor, 0))
        difference = claimed - explained
        if difference and self.difference_reason is None:
            raise SettlementDiffers(
                "What was paid and kept is not what the settlement covers.",
                field="paid_minor",
                currency=self.currency,
                covered_minor=explained,
                difference_minor=difference,
            )
        if self.difference_reason is not None:
            text(self.difference_reason, "difference_reason")
            if not difference:
                raise InvalidField("There is no difference.", field="difference_reason")
        return taken, difference

    def _up_to_date(self, book: Book, state: ProviderState | None) -> None:
        house = _house(book, self.network, self.currency)
        settlements = 0 if state is None else state.settlements
        if (self.book.settlements, self.book.movements) != (settlements, house.movements):
            raise FiguresOutOfDate("The treasury has moved on since this book.", field=None)


class SweepRake(Command, frozen=True, kw_only=True):
    """Take earned rake out of the client-funds account, to the operator's own.

    ``bank_claim`` is the stream id that ``Identity`` makes of the payment's bank reference.
    Raises InvalidAmount, InvalidField, CurrencyMismatch, FiguresOutOfDate, MoreThanEarned,
    MoreThanAtBank, CoverageWouldFall, ReferenceAlreadyUsed. Source: K 1.8, K 1.9, K 5.1.
    """

    currency: str
    amount_minor: int
    bank_reference: str
    bank_claim: str
    book: FundsFigures
    rulebook: str

    def touches(self) -> tuple[str, ...]:
        return (treasury_stream(self.network, self.currency), self.bank_claim)

    def decide(self, book: Book) -> Decision:
        amount(self.amount_minor)
        text(self.bank_reference, "bank_reference", longest=128)
        rulebook = rulebook_of(book, self, self.rulebook, self.currency)
        unused(book, self.bank_claim, "bank_reference")
        house = _house(book, self.network, self.currency)
        if self.book.movements != house.movements:
            raise FiguresOutOfDate("The treasury has moved on since this book.", field=None)
        self._allowed(house)
        context = self.context(rulebook.ref)
        swept = RakeSwept(
            **context,
            network=self.network,
            currency=self.currency,
            amount_minor=self.amount_minor,
            bank_reference=self.bank_reference,
            book_position=self.book.position,
            book_bank_minor=self.book.bank_minor,
            book_transit_minor=self.book.transit_minor,
            book_liability_minor=self.book.liability_minor,
            book_earned_minor=self.book.earned_minor,
        )
        return _house_step(
            self,
            swept,
            bank_reference=self.bank_reference,
            book_position=self.book.position,
            unswept_minor=self.book.earned_minor - house.swept_minor - self.amount_minor,
        )

    def _allowed(self, house: TreasuryState) -> None:
        held, asked_for = self.book, self.amount_minor
        unswept = held.earned_minor - house.swept_minor
        spare = held.bank_minor + held.transit_minor - held.liability_minor
        shown = {
            "currency": self.currency,
            "unswept_minor": unswept,
            "bank_minor": held.bank_minor,
            "spare_minor": spare,
            "book_position": held.position,
        }
        if asked_for > unswept:
            raise MoreThanEarned("Less rake is earned and unswept.", field="amount_minor", **shown)
        if asked_for > held.bank_minor:
            raise MoreThanAtBank("Less is on the account.", field="amount_minor", **shown)
        if asked_for > spare:
            words = "Player funds would not be covered."
            raise CoverageWouldFall(words, field="amount_minor", **shown)


class TopUpFunds(Command, frozen=True, kw_only=True):
    """Book that the operator put its own money into the client-funds account.

    Raises InvalidAmount, InvalidField, CurrencyMismatch, ReferenceAlreadyUsed.
    """

    currency: str
    amount_minor: int
    bank_reference: str
    bank_claim: str
    reason: str
    rulebook: str

    def touches(self) -> tuple[str, ...]:
        return (treasury_stream(self.network, self.currency), self.bank_claim)

    def decide(self, book: Book) -> Decision:
        amount(self.amount_minor)
        text(self.bank_reference, "bank_reference", longest=128)
        text(self.reason, "reason")
        rulebook = rulebook_of(book, self, self.rulebook, self.currency)
        unused(book, self.bank_claim, "bank_reference")
        topped_up = FundsToppedUp(
            **self.context(rulebook.ref),
            network=self.network,
            currency=self.currency,
            amount_minor=self.amount_minor,
            bank_reference=self.bank_reference,
            reason=self.reason,
        )
        house = _house(book, self.network, self.currency)
        total = house.own_funds_minor + self.amount_minor
        return _house_step(
            self, topped_up, bank_reference=self.bank_reference, own_funds_minor=total
        )


class CorrectTreasury(Approvable, frozen=True, kw_only=True):
    """Move an amount between bank, transit, suspense and shortfall, because the book is wrong.

    ``debit`` and ``credit`` are ``bank``, ``suspense``, ``shortfall`` or ``transit:PROVIDER``.
    Raises InvalidAmount, InvalidField, CurrencyMismatch, NotATreasuryAccount.
    """

    ACTION: ClassVar[str] = CORRECTION

    currency: str
    amount_minor: int
    debit: str
    credit: str
    ground: str
    reason: str
    rulebook: str

    def touches(self) -> tuple[str, ...]:
        return (treasury_stream(self.network, self.currency),)

    def approval(self, book: Book) -> Asked | None:
        rulebook = rulebook_of(book, self, self.rulebook, self.currency)
        words = (
            f"Debit {self.debit} and credit {self.credit} with "
            f"{in_words(self.amount_minor, self.currency)} {self.currency} "
            f"({self.ground}): {self.reason}"
        )
        return asked(
            *(rulebook, CORRECTION, self.amount_minor, self.currency, words),
            debit=self.debit,
            credit=self.credit,
        )

    def decide_approved(self, book: Book) -> Decision:
        amount(self.amount_minor)
        text(self.reason, "reason")
        rulebook = rulebook_of(book, self, self.rulebook, self.currency)
        _known_ground(rulebook, self.ground)
        debit, credit = self._account(self.debit, "debit"), self._account(self.credit, "credit")
        if debit == credit:
            raise NotATreasuryAccount("Two accounts that differ.", field="credit")
        corrected = TreasuryCorrected(
            **self.context(rulebook.ref),
            network=self.network,
            currency=self.currency,
            debit=debit,
            credit=credit,
            amount_minor=self.amount_minor,
            ground=self.ground,
            reason=self.reason,
        )
        return _house_step(self, corrected, debit=debit, credit=credit)

    def _account(self, name: str, field: str) -> str:
        match name.split(":"):
            case ["bank"]:
                return accounts.bank(self.network)
            case ["suspense"]:
                return accounts.suspense(self.network)
            case ["shortfall"]:
                return accounts.shortfall(self.network)
            case ["transit", provider]:
                return accounts.transit(self.network, slug(provider, field))
        raise NotATreasuryAccount("Not an account that is corrected here.", field=field)


class RecordCoverage(Command, frozen=True, kw_only=True):
    """Record that bank and transit ceased to cover what is owed to players, or do so again.

    The figures are those of the book at ``book_position``. Real money only: play money is
    owed to nobody. Raises CoverageUnchanged, CurrencyMismatch, InvalidAmount.
    Source: K 1.8, K 5.1.
    """

    currency: str
    book_position: int
    assets_minor: int
    liability_minor: int

    def touches(self) -> tuple[str, ...]:
        return (treasury_stream(self.network, self.currency),)

    def decide(self, book: Book) -> Decision:
        if not is_real(self.currency):
            raise CurrencyMismatch("Play money needs no cover.", field="currency")
        for figure in (self.assets_minor, self.liability_minor):
            if not -MAX_MINOR <= figure <= MAX_MINOR:
                raise InvalidField("Beyond every amount.", field=None)
        house = _house(book, self.network, self.currency)
        status = "short" if self.assets_minor < self.liability_minor else "covered"
        if status == house.status or self.book_position <= house.covered_position:
            raise CoverageUnchanged(f"Player funds were {house.status} before.", field=None)
        kind = CoverageFell if status == "short" else CoverageRestored
        event = kind(
            **self.context(),
            network=self.network,
            currency=self.currency,
            book_position=self.book_position,
            assets_minor=self.assets_minor,
            liability_minor=self.liability_minor,
        )
        return Decision(
            changes=[(treasury_stream(self.network, self.currency), event)],
            answer={
                "currency": self.currency,
                "status": status,
                "assets_minor": self.assets_minor,
                "liability_minor": self.liability_minor,
                "book_position": self.book_position,
            },
        )


def _known_ground(rulebook: Rulebook, ground: str) -> None:
    rules = rulebook.interventions
    grounds: Sequence[str] = ("technical-failure",) if rules == "none" else rules.grounds
    if ground not in grounds:
        raise InvalidField("Not a ground of the rulebook.", field="ground", grounds=list(grounds))


def _house(book: Book, network: str, currency: str) -> TreasuryState:
    state: TreasuryState | None = book.get(treasury_stream(network, currency))
    return state or TreasuryState(network=network, currency=currency)


def _house_step(
    command: SweepRake | TopUpFunds | CorrectTreasury, event: Event, **answer: Any
) -> Decision:
    """Book one movement of the account, and take its bank reference, where it has one."""
    changes = [(treasury_stream(command.network, command.currency), event)]
    if not isinstance(command, CorrectTreasury):
        claimed = Claimed(**command.context(event.rulebook), holder=command.currency)
        changes.append((command.bank_claim, claimed))
    return Decision(
        changes=changes,
        answer={"currency": command.currency, "amount_minor": command.amount_minor, **answer},
    )


def _settlement_answer(settled: ProviderSettled) -> dict[str, Any]:
    return {
        "settlement": settled.settlement,
        "provider": settled.provider,
        "reference": settled.reference,
        "bank_reference": settled.bank_reference,
        "currency": settled.currency,
        "gross_minor": settled.gross_minor,
        "fee_minor": settled.fee_minor,
        "paid_minor": settled.paid_minor,
        "suspense_minor": settled.difference_minor,
        "deposits": settled.deposits,
        "charge_backs": settled.charge_backs,
    }
