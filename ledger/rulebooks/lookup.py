"""Which version of a rulebook judges a transaction."""

from datetime import date
from typing import ClassVar

from ledger.core import Book, Kind, Refused
from ledger.rulebooks.events import RulebookState, rulebook_stream
from ledger.rulebooks.loader import parse
from ledger.rulebooks.schema import Rulebook


class UnknownRulebook(Refused):
    """No rulebook of this name has been adopted on the network."""

    code: ClassVar[str] = "unknown-rulebook"
    kind: ClassVar[Kind] = "missing"


def adopted(book: Book, network: str, name: str, day: date) -> Rulebook:
    """Return the version in force on a day; a day before the first version is judged by the first.

    Raises UnknownRulebook.
    """
    state: RulebookState | None = book.get(rulebook_stream(network, name))
    if state is None:
        raise UnknownRulebook(f"no rulebook {name!r} has been adopted", field="rulebook")
    version = state.in_force(day)
    return parse(version.text, version.file)
