"""What a command may contain at all, before anything is decided: amounts, ids and texts."""

import re
from typing import ClassVar, Final

from ledger.core import Kind, Refused
from ledger.money import DIGITS, MAX_MINOR

_SLUG: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PLAYER: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class InvalidAmount(Refused):
    """An amount must be a whole number of minor units, above zero and not beyond 2**53."""

    code = "invalid-amount"
    kind: ClassVar[Kind] = "invalid"


class InvalidField(Refused):
    """A part of the command cannot be what it says."""

    code = "invalid-field"
    kind: ClassVar[Kind] = "invalid"


def amount(amount_minor: int, field: str = "amount_minor", *, least: int = 1) -> int:
    """Return an amount that may be booked. Raises InvalidAmount."""
    if type(amount_minor) is not int or not least <= amount_minor <= MAX_MINOR:
        raise InvalidAmount(f"An amount must be between {least} and {MAX_MINOR}.", field=field)
    return amount_minor


def currency(code: str, field: str = "currency") -> str:
    """Return the code of a currency that can be booked. Raises InvalidField."""
    if code not in DIGITS:
        raise InvalidField("No such currency.", field=field)
    return code


def slug(value: str, field: str) -> str:
    """Return a name of small letters, digits and single hyphens. Raises InvalidField."""
    if len(value) > 64 or not _SLUG.fullmatch(value):
        raise InvalidField("Small letters, digits and single hyphens, at most 64.", field=field)
    return value


def own_id(value: str, field: str) -> str:
    """Return an id that the caller chose and that can stand in a stream's name.

    Raises InvalidField.
    """
    if not _ID.fullmatch(value):
        raise InvalidField("Letters, digits, '.', '_' and '-', at most 64.", field=field)
    return value


def player_id(value: str, field: str = "player") -> str:
    """Return a player's id, a random UUID in small letters. Raises InvalidField."""
    if not _PLAYER.fullmatch(value):
        raise InvalidField("A player's id is a random UUID.", field=field)
    return value


def text(value: str, field: str, *, longest: int = 500) -> str:
    """Return a printable text that says something. Raises InvalidField."""
    if not 0 < len(value) <= longest or value != value.strip() or not value.isprintable():
        raise InvalidField(f"Printable text without outer spaces, at most {longest}.", field=field)
    return value
