"""The stored record of a hand: canonical, without names, compressed with a trained dictionary.

A dictionary is kept for ever under its number: what was written with it must stay readable.
"""

import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Final

import msgspec
import zstandard
from msgspec.structs import replace

from ledger.hands.ohh import Hand, Player
from ledger.hands.reading import sha256

CURRENT: Final = 1
"""The dictionary that new records are written with."""

_LEVEL: Final = 3
_LONGEST: Final = 1 << 26


def encode(hand: Hand, names: Sequence[str] = ()) -> bytes:
    """Encode a canonical hand; ``names`` stand for the players' names, else they are left out."""
    return _ENCODER.encode(_renamed(hand, names))


def unnamed(hand: Hand) -> Hand:
    """Return a hand without its players' names."""
    return _renamed(hand, ())


def digest_of(hand: Hand, encoded: bytes | None = None) -> str:
    """Return the SHA-256 of a hand's content in hex: the same for posts that are the same hand.

    ``encoded`` is the hand without names, where it is at hand.
    """
    names = _ENCODER.encode([player.name for player in hand.players])
    # Two JSON texts after each other: no other hand with other names gives the same bytes.
    return sha256((encoded or encode(hand)) + names)


def pack(encoded: bytes) -> bytes:
    """Compress an encoded hand with the current dictionary."""
    return _compressor().compress(encoded)


def unpack(packed: bytes, dictionary: int, names: Sequence[str] = ()) -> Hand:
    """Read a stored hand back in its canonical form; with names it is the hand as posted."""
    reader = zstandard.ZstdDecompressor(dict_data=_dictionary(dictionary))
    hand = _DECODER.decode(reader.decompress(packed, max_output_size=_LONGEST))
    return _renamed(hand, names) if names else hand


def _renamed(hand: Hand, names: Sequence[str]) -> Hand:
    players = [
        Player(
            id=player.id,
            seat=player.seat,
            name=names[index] if names else "",
            starting_stack=player.starting_stack,
            is_sitting_out=player.is_sitting_out,
            x_dealt=player.x_dealt,
        )
        for index, player in enumerate(hand.players)
    ]
    return replace(hand, players=players)


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Hand)
_LOCAL: Final = threading.local()


@lru_cache(maxsize=8)
def _dictionary(number: int) -> zstandard.ZstdCompressionDict:
    content = (files("ledger.hands") / "dictionaries" / f"{number}.zdict").read_bytes()
    dictionary = zstandard.ZstdCompressionDict(content)
    dictionary.precompute_compress(level=_LEVEL)
    return dictionary


def _compressor() -> zstandard.ZstdCompressor:
    # A compressor must not be used by two threads at once.
    compressor: zstandard.ZstdCompressor | None = getattr(_LOCAL, "compressor", None)
    if compressor is None:
        compressor = _LOCAL.compressor = zstandard.ZstdCompressor(
            level=_LEVEL, dict_data=_dictionary(CURRENT), write_dict_id=False
        )
    return compressor
