"""What every movement of the client-funds account needs: rules, and references used once."""

from ledger.core import Book, Command
from ledger.identity import ReferenceAlreadyUsed, holder
from ledger.money import is_real
from ledger.players.standing import CurrencyMismatch
from ledger.rulebooks import Rulebook, adopted


def rulebook_of(book: Book, command: Command, name: str, currency: str) -> Rulebook:
    """Return the rulebook in force, when it knows the currency as real money.

    Raises UnknownRulebook, CurrencyMismatch.
    """
    rulebook = adopted(book, command.network, name, command.at.date())
    if not is_real(currency) or not rulebook.allows_currency(currency):
        raise CurrencyMismatch(
            f"{rulebook.title} holds no client funds in this currency.", field="currency"
        )
    return rulebook


def unused(book: Book, claim: str, field: str) -> None:
    """Refuse a reference that stands for another movement already. Raises ReferenceAlreadyUsed."""
    used_by = holder(book, claim)
    if used_by is not None:
        raise ReferenceAlreadyUsed("The reference was used before.", field=field, used_by=used_by)
