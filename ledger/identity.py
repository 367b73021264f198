"""Claims: what only one may hold at a time, named by keyed hashes so that no name is stored.

A nickname, a person's identity, a provider's reference: no other stream can guard that it is used
once, so each is a stream of its own, and the store's own key enforces it in the same append. The
edge computes the stream ids; the key never enters a decision or an event.
"""

import hmac
import unicodedata
from datetime import datetime
from functools import lru_cache
from typing import Final

import msgspec

from ledger.core import Book, Event, Refused, stream

_KEY_BYTES = 16


class Claimed(Event, frozen=True, kw_only=True):
    """Something unique was taken by a holder: a player, a deposit or a withdrawal by its id."""

    NAME = "claim.taken.v1"

    holder: str


class Released(Event, frozen=True, kw_only=True):
    """Something unique was given up; another holder may take it from now on."""

    NAME = "claim.released.v1"

    holder: str


EVENTS: Final[tuple[type[Event], ...]] = (Claimed, Released)


class ClaimState(msgspec.Struct, frozen=True, gc=False):
    """Who holds a claim; ``holder`` is None after it was released."""

    holder: str | None
    since: datetime


def evolve_claim(state: ClaimState | None, event: Event) -> ClaimState | None:
    """Fold an event of a claim stream."""
    match event:
        case Claimed():
            return ClaimState(holder=event.holder, since=event.occurred_at)
        case Released():
            return ClaimState(holder=None, since=event.occurred_at)
    return state


def holder(book: Book, claim: str) -> str | None:
    """Return who holds a claim now, by the claim's stream id."""
    state: ClaimState | None = book.get(claim)
    return state.holder if state is not None else None


class ReferenceAlreadyUsed(Refused):
    """A provider's or a payment's reference stands for one movement of money, once."""

    code = "reference-already-used"
    kind = "conflict"


class Identity:
    """Names claim streams by HMAC-SHA256, so that what is claimed cannot be read from its id."""

    def __init__(self, key: bytes) -> None:
        """``key`` is the installation's secret; at least 16 bytes, else ValueError."""
        if len(key) < _KEY_BYTES:
            raise ValueError(f"the identity key must have at least {_KEY_BYTES} bytes")
        self._key = key
        # Every player of every posted hand is looked up by nickname.
        self._nickname_claim = lru_cache(maxsize=1 << 16)(self._hash_nickname)

    def nickname_claim(self, network: str, nickname: str) -> str:
        """Name the claim of a nickname; compatible characters and letter case do not matter."""
        return self._nickname_claim(network, nickname)

    def person_claim(self, network: str, reference: str) -> str:
        """Name the claim of a person, by the caller's own identity reference. Source: K 9.1."""
        return self._claim(network, "person", reference)

    def reference_claim(self, network: str, kind: str, provider: str, reference: str) -> str:
        """Name the claim of a reference that its giver gives once, by what it is a reference of."""
        return self._claim(network, kind, provider, reference)

    def _hash_nickname(self, network: str, nickname: str) -> str:
        return self._claim(network, "nickname", comparable(nickname))

    def _claim(self, network: str, kind: str, *parts: str) -> str:
        # Encoded as a JSON array: no two lists of parts give the same bytes.
        message = msgspec.json.encode((network, kind, *parts))
        digest = hmac.digest(self._key, message, "sha256").hex()[:32]
        return stream("claim", network, f"{kind}:{digest}")


def comparable(name: str) -> str:
    """Return the form in which nicknames are compared: NFKC, folded case."""
    if name.isascii():
        return name.lower()
    folded = unicodedata.normalize("NFKC", name).casefold()
    return unicodedata.normalize("NFKC", folded)
