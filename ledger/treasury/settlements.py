"""What a provider's settlement covers, and whether it may."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ledger.bounds import InvalidField
from ledger.cashier.events import DepositState, deposit_stream
from ledger.core import Book
from ledger.treasury.refusals import DepositsNotPayable

LONGEST_LIST: Final = 1_000
"""Deposits, charge-backs or withdrawals that one command may name."""


class Covered(NamedTuple):
    """The deposits that a provider pays, and the charge-backs that he keeps back."""

    deposits: tuple[DepositState, ...]
    charge_backs: tuple[DepositState, ...]

    @property
    def gross_minor(self) -> int:
        """What leaves the money in transit: deposits less charge-backs."""
        paid = sum(deposit.amount_minor for deposit in self.deposits)
        return paid - sum(deposit.amount_minor for deposit in self.charge_backs)

    @property
    def kept_minor(self) -> int:
        """What is kept back of deposits that an earlier settlement paid."""
        return sum(one.amount_minor for one in self.charge_backs if one.settled_in is not None)


def short_enough(ids: tuple[str, ...], field: str) -> None:
    """Refuse a list that is longer than one append should be. Raises InvalidField."""
    if len(ids) > LONGEST_LIST:
        raise InvalidField(f"At most {LONGEST_LIST} at a time.", field=field)


def covered(
    book: Book,
    network: str,
    provider: str,
    currency: str,
    *,
    deposits: tuple[str, ...],
    charge_backs: tuple[str, ...],
) -> Covered:
    """Look up what a settlement says that it covers. Raises DepositsNotPayable, InvalidField.

    A deposit is paid once and kept back once. Who kept back a deposit that he never paid says so
    by naming it in both lists: it comes and goes in one settlement.
    """
    short_enough(deposits, "deposits")
    short_enough(charge_backs, "charge_backs")
    faults: list[dict[str, str]] = []

    def usable(ids: tuple[str, ...], field: str) -> Iterator[DepositState]:
        for deposit, named in Counter(ids).items():
            state: DepositState | None = book.get(deposit_stream(network, deposit))
            wrong = _wrong(state, field, provider, currency, deposits)
            if named > 1:
                wrong = "named-twice"
            if wrong is not None:
                faults.append({"deposit": deposit, "field": field, "fault": wrong})
            elif state is not None:
                yield state

    found = Covered(
        tuple(usable(deposits, "deposits")), tuple(usable(charge_backs, "charge_backs"))
    )
    if faults:
        words = f"{len(faults)} of them cannot be part of this settlement."
        raise DepositsNotPayable(words, field=faults[0]["field"], faults=faults)
    return found


def _wrong(
    state: DepositState | None, field: str, provider: str, currency: str, paid: Iterable[str]
) -> str | None:
    if state is None:
        return "unknown"
    if state.provider != provider:
        return "other-provider"
    if state.currency != currency:
        return "other-currency"
    if field == "deposits":
        if state.status not in ("confirmed", "charged-back"):
            return "not-confirmed"
        return "settled-before" if state.settled_in is not None else None
    if state.status != "charged-back":
        return "not-charged-back"
    if state.charge_back_settled_in is not None:
        return "settled-before"
    return "not-settled" if state.settled_in is None and state.deposit not in paid else None
