"""Events as rows of PostgreSQL's binary COPY."""

from collections.abc import Callable, Sequence
from functools import cache
from struct import Struct
from typing import Final

COPY_HEADER: Final = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
COPY_TRAILER: Final = b"\xff\xff"
_FIVE_FIELDS_TEXT: Final = Struct(">hi").pack
_POSITION: Final = Struct(">iq").pack


def stream_start(originator_id: str) -> bytes:
    """Encode how each row of a stream begins in PostgreSQL's binary COPY: fields, stream id."""
    stream = originator_id.encode()
    return _FIVE_FIELDS_TEXT(5, len(stream)) + stream


def row_start(start: bytes, originator_version: int, topic: str, state: bytes) -> bytes:
    """Encode an event as a row of its stream, all but the position at its end."""
    pack, length, encoded = _topic(topic)
    return start + pack(8, originator_version, length, encoded, len(state)) + state


@cache
def _topic(topic: str) -> tuple[Callable[..., bytes], int, bytes]:
    """Make ready what goes between a stream's id and an event: version, topic, length."""
    encoded = topic.encode()
    return Struct(f">iqi{len(encoded)}si").pack, len(encoded), encoded


def numbered(row_starts: Sequence[bytes], first: int) -> bytes:
    """Give rows their positions, from the first one on, and put them together."""
    pieces: list[bytes] = []
    for position, start in enumerate(row_starts, first):
        pieces.append(start)
        pieces.append(_POSITION(8, position))
    return b"".join(pieces)
