"""Withdrawals on their way out: paid through a partner, and found in the bank's statement."""

from collections import Counter
from collections.abc import Callable, Iterator

from ledger.bounds import amount, slug, text
from ledger.cashier.events import (
    WithdrawalMatched,
    WithdrawalPaid,
    WithdrawalState,
    withdrawal_stream,
)
from ledger.core import Book, Command, Decision, Event
from ledger.identity import Claimed
from ledger.players.events import PlayerState, WithdrawalPaidOut, player_stream
from ledger.treasury.events import (
    PartnerDischarged,
    PartnerSettled,
    PartnerState,
    partner_stream,
)
from ledger.treasury.references import rulebook_of, unused
from ledger.treasury.refusals import AmountDiffers, MoreThanPartnerOwes, WithdrawalsNotPayable
from ledger.treasury.settlements import short_enough

Fault = Callable[[WithdrawalState], str | None]


class SettleWithPartner(Command, frozen=True, kw_only=True):
    """Pay released withdrawals to the players' partner, who pays the players.

    From then on they are no longer player funds: what the partner holds and owes is shown apart.
    What a partner receives from players is a deposit like any other, with the partner as its
    provider: money in transit until the partner's settlement reaches the bank.
    Raises InvalidField, CurrencyMismatch, WithdrawalsNotPayable, ReferenceAlreadyUsed.
    Source: K 3.9, K 3.11, K 5.1.
    """

    settlement: str
    partner: str
    currency: str
    withdrawals: tuple[str, ...]
    bank_reference: str
    bank_claim: str
    rulebook: str

    def touches(self) -> tuple[str, ...]:
        return (
            partner_stream(self.network, self.partner, self.currency),
            self.bank_claim,
            *(withdrawal_stream(self.network, one) for one in self.withdrawals),
        )

    def decide(self, book: Book) -> Decision:
        slug(self.partner, "partner")
        text(self.bank_reference, "bank_reference", longest=128)
        rulebook = rulebook_of(book, self, self.rulebook, self.currency)
        unused(book, self.bank_claim, "bank_reference")
        found = _withdrawals(
            book, self.network, self.withdrawals, lambda one: self._fault(book, one)
        )
        context = self.context(rulebook.ref)
        settled = PartnerSettled(
            **context,
            network=self.network,
            partner=self.partner,
            settlement=self.settlement,
            bank_reference=self.bank_reference,
            currency=self.currency,
            amount_minor=sum(one.amount_minor for one in found),
            withdrawals=self.withdrawals,
        )
        stream = partner_stream(self.network, self.partner, self.currency)
        claimed = Claimed(**context, holder=f"{self.partner}:{self.currency}")
        paid = WithdrawalPaid(**context, provider=self.partner, payment_claim=self.bank_claim)
        matched = WithdrawalMatched(**context, bank_reference=self.bank_reference)
        changes: list[tuple[str, Event]] = [(stream, settled), (self.bank_claim, claimed)]
        for one in found:
            own = withdrawal_stream(self.network, one.withdrawal)
            paid_out = WithdrawalPaidOut(
                **context,
                network=self.network,
                player=one.player,
                withdrawal=one.withdrawal,
                currency=one.currency,
                amount_minor=one.amount_minor,
            )
            changes += [(own, paid), (own, matched)]
            changes.append((player_stream(self.network, one.player), paid_out))
        state: PartnerState | None = book.get(stream)
        owed = settled.amount_minor + (state.owed_minor if state is not None else 0)
        return Decision(
            changes=changes,
            answer={
                "settlement": self.settlement,
                "partner": self.partner,
                "bank_reference": self.bank_reference,
                "currency": self.currency,
                "amount_minor": settled.amount_minor,
                "withdrawals": len(found),
                "partner_owes_minor": owed,
            },
        )

    def _fault(self, book: Book, withdrawal: WithdrawalState) -> str | None:
        player: PlayerState | None = book.get(player_stream(self.network, withdrawal.player))
        assert player is not None, withdrawal
        if player.partner != self.partner:
            return "other-partner"
        if withdrawal.currency != self.currency:
            return "other-currency"
        if withdrawal.status != "released":
            return "not-released"
        # As when it is paid directly: the money of a suspended player stays.
        return None if player.status == "active" else f"player-{player.status}"


class DischargePartner(Command, frozen=True, kw_only=True):
    """Book that a partner reported to have paid his players what was settled with him.

    ``report_claim`` is the stream id that ``Identity`` makes of the report's name.
    Raises InvalidAmount, InvalidField, MoreThanPartnerOwes, ReferenceAlreadyUsed. Source: K 3.9.
    """

    partner: str
    currency: str
    amount_minor: int
    report: str
    report_claim: str

    def touches(self) -> tuple[str, ...]:
        return (partner_stream(self.network, self.partner, self.currency), self.report_claim)

    def decide(self, book: Book) -> Decision:
        slug(self.partner, "partner")
        amount(self.amount_minor)
        text(self.report, "report", longest=128)
        unused(book, self.report_claim, "report")
        stream = partner_stream(self.network, self.partner, self.currency)
        state: PartnerState | None = book.get(stream)
        owed = state.owed_minor if state is not None else 0
        if self.amount_minor > owed:
            raise MoreThanPartnerOwes(
                "The partner owes his players less.",
                field="amount_minor",
                currency=self.currency,
                partner_owes_minor=owed,
            )
        context = self.context()
        discharged = PartnerDischarged(
            **context,
            network=self.network,
            partner=self.partner,
            currency=self.currency,
            amount_minor=self.amount_minor,
            report=self.report,
        )
        claimed = Claimed(**context, holder=f"{self.partner}:{self.currency}")
        return Decision(
            changes=[(stream, discharged), (self.report_claim, claimed)],
            answer={
                "partner": self.partner,
                "currency": self.currency,
                "amount_minor": self.amount_minor,
                "partner_owes_minor": owed - self.amount_minor,
            },
        )


class MatchBankLine(Command, frozen=True, kw_only=True):
    """Record under which reference the bank's statement shows the payment of withdrawals.

    One line may pay many, whose sum it must be. ``bank_claim`` is the stream id that ``Identity``
    makes of the reference, which is good for one line. Moves no money: paying did.
    Raises InvalidAmount, InvalidField, WithdrawalsNotPayable, AmountDiffers, ReferenceAlreadyUsed.
    """

    bank_reference: str
    bank_claim: str
    currency: str
    amount_minor: int
    withdrawals: tuple[str, ...]

    def touches(self) -> tuple[str, ...]:
        named = (withdrawal_stream(self.network, one) for one in self.withdrawals)
        return (self.bank_claim, *named)

    def decide(self, book: Book) -> Decision:
        text(self.bank_reference, "bank_reference", longest=128)
        amount(self.amount_minor)
        unused(book, self.bank_claim, "bank_reference")
        found = _withdrawals(book, self.network, self.withdrawals, self._fault)
        paid = sum(one.amount_minor for one in found)
        if paid != self.amount_minor:
            raise AmountDiffers(
                "The withdrawals add up to another amount.",
                field="amount_minor",
                currency=self.currency,
                withdrawals_minor=paid,
            )
        context = self.context()
        matched = WithdrawalMatched(**context, bank_reference=self.bank_reference)
        changes: list[tuple[str, Event]] = [
            (withdrawal_stream(self.network, one.withdrawal), matched) for one in found
        ]
        claimed = Claimed(**context, holder=found[0].withdrawal)
        return Decision(
            changes=[*changes, (self.bank_claim, claimed)],
            answer={
                "bank_reference": self.bank_reference,
                "currency": self.currency,
                "amount_minor": self.amount_minor,
                "withdrawals": len(found),
            },
        )

    def _fault(self, withdrawal: WithdrawalState) -> str | None:
        if withdrawal.currency != self.currency:
            return "other-currency"
        if withdrawal.status != "paid":
            return "not-paid"
        return "matched-before" if withdrawal.bank_reference is not None else None


def _withdrawals(
    book: Book, network: str, ids: tuple[str, ...], fault: Fault
) -> list[WithdrawalState]:
    """Look withdrawals up and refuse those that have a fault, all at once."""
    short_enough(ids, "withdrawals")
    faults: list[dict[str, str]] = []

    def usable() -> Iterator[WithdrawalState]:
        for withdrawal, named in Counter(ids).items():
            state: WithdrawalState | None = book.get(withdrawal_stream(network, withdrawal))
            wrong = "unknown" if state is None else fault(state)
            if named > 1:
                wrong = "named-twice"
            if wrong is not None:
                faults.append({"withdrawal": withdrawal, "fault": wrong})
            elif state is not None:
                yield state

    found = list(usable())
    if faults or not found:
        words = f"{len(faults)} of them cannot be part of this." if faults else "None is named."
        raise WithdrawalsNotPayable(words, field="withdrawals", faults=faults)
    return found
