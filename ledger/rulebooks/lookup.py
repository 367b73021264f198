"""Which version of a rulebook judges a transaction."""

import re
from datetime import date
from functools import lru_cache
from typing import ClassVar, Final

from ledger.core import Book, Kind, Refused
from ledger.rulebooks.events import RulebookState, rulebook_stream
from ledger.rulebooks.loader import parse
from ledger.rulebooks.schema import Rulebook

_NAME: Final = re.compile(r"[a-z0-9-]{1,64}")


class UnknownRulebook(Refused):
    """No rulebook of this name has been adopted on the network."""

    code: ClassVar[str] = "unknown-rulebook"
    kind: ClassVar[Kind] = "missing"


def adopted(book: Book, network: str, name: str, day: date) -> Rulebook:
    """Return the version in force on a day; a day before the first version is judged by the first.

    Raises UnknownRulebook.
    """
    # What is no name is not looked for: hands name rulebooks too, and may hold anything.
    state: RulebookState | None = (
        book.get(rulebook_stream(network, name)) if _is_name(name) else None
    )
    if state is None:
        raise UnknownRulebook(f"no rulebook {name!r} has been adopted", field="rulebook")
    version = state.in_force(day)
    return parse(version.text, version.file)


@lru_cache(maxsize=1 << 10)
def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None
