"""A command is carried out once per key: what it said is remembered beside what came of it."""

import hmac
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Final

import msgspec
from fastapi import Header

from api.problems import Problem

_KEY: Final = re.compile(r"[\x21-\x7e]{1,128}")
_DIGEST_DIGITS: Final = 32


async def idempotency_key(
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            description="1 to 128 visible ASCII characters, one per intent: the same content "
            "under the same key answers the first result again.",
        ),
    ] = None,
) -> str:
    """Return the request's key; raises idempotency-key-missing and -invalid."""
    if not key:
        raise Problem("idempotency-key-missing", "send a header Idempotency-Key")
    if not _KEY.fullmatch(key):
        raise Problem("idempotency-key-invalid", "the key is not 1 to 128 visible ASCII characters")
    return key


class Running:
    """The requests of this process that are being carried out now."""

    def __init__(self) -> None:
        self._keys: set[tuple[str, str, str]] = set()

    def __contains__(self, request: tuple[str, str, str]) -> bool:
        return request in self._keys

    @contextmanager
    def claim(self, network: str, client: str, key: str) -> Iterator[None]:
        """Hold a key while its request runs; raises request-in-progress if it is held."""
        request = (network, client, key)
        if request in self._keys:
            raise Problem("request-in-progress", "a request with this key is being carried out")
        self._keys.add(request)
        try:
            yield
        finally:
            self._keys.discard(request)


class FieldDigests:
    """Digests of a request's fields: they tell which of them differ and nothing else.

    Keyed, because a provider reference or a nickname could be guessed from a plain digest.
    """

    def __init__(self, key: bytes) -> None:
        self._key = hmac.digest(key, b"request fields", "sha256")

    def of(self, content: Mapping[str, Any]) -> dict[str, str]:
        """Return field path -> digest of its canonical content, nested objects taken apart."""
        return {path: self._digest(value) for path, value in _leaves("", content)}

    def _digest(self, value: Any) -> str:
        content = msgspec.json.encode(value, order="sorted")
        return hmac.digest(self._key, content, "sha256").hex()[:_DIGEST_DIGITS]


def _leaves(prefix: str, content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            yield from _leaves(f"{path}.", value)
        else:
            yield path, value
