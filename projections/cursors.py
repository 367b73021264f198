"""Opaque cursors: where a list goes on, pinned to the position that its first page was true for."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import msgspec


class InvalidCursorError(ValueError):
    """The text is no cursor, or one of another list."""


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """A place in a list: the list's name with its filters, the pinned position, the last key."""

    listed: str
    position: int
    key: list[Any]


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Cursor).decode


def encode(cursor: Cursor) -> str:
    """Write a cursor as text for a URL."""
    return urlsafe_b64encode(_encode(cursor)).decode().rstrip("=")


def decode(text: str, listed: str, kinds: tuple[type, ...]) -> Cursor:
    """Read a cursor of this list, whose key has values of these kinds.

    Raises InvalidCursorError.
    """
    try:
        cursor = _decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except ValueError as error:
        raise InvalidCursorError("this is not a cursor") from error
    if cursor.listed != listed:
        raise InvalidCursorError("the cursor is of another list, or of other filters")
    if tuple(type(value) for value in cursor.key) != kinds:
        raise InvalidCursorError("this is not a cursor")
    return cursor


def listing(name: str, filters: Any) -> str:
    """Name a list with its filters, so that a cursor cannot be used with others."""
    shown = {key: value for key, value in filters.items() if value is not None}
    return f"{name}?{msgspec.json.encode(shown, order='sorted').decode()}"
