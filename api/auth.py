"""Who is calling: bearer JWT, scopes and roles, and what a partner may see."""

from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Final

import jwt
import msgspec
from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from api.clock import now
from api.problems import Problem
from api.settings import Algorithm
from api.tokens import AUDIENCE, ISSUER, Claims, Scope

CLOCK_SKEW_SECONDS: Final = 60
"""How far the clock of the issuer may be ahead of ours."""

TOKENS_REMEMBERED: Final = 4096
"""Verified tokens kept until they expire; the least recently used goes first."""


class Caller(msgspec.Struct, frozen=True):
    """Who a verified token speaks for."""

    subject: str
    """Who it is. A person is one subject whatever his client: of two subjects an approval asks."""
    client: str
    network: str
    scopes: frozenset[str]
    expires_at: float
    partner: str | None = None
    """Set for a partner's tokens: only this partner's players are shown by name."""

    def require(self, scope: Scope) -> None:
        """Raise the problem ``missing-scope`` unless the token has the scope."""
        if scope not in self.scopes:
            raise Problem(
                "missing-scope", f"the token does not allow {scope.value}", scope=scope.value
            )

    def sees_partner(self, partner: str) -> bool:
        """Tell whether the caller may see a player of this partner by name."""
        return self.partner is None or self.partner == partner

    def require_partner(self, partner: str) -> None:
        """Raise ``not-your-player`` for another partner's player; it reads like his absence."""
        if not self.sees_partner(partner):
            raise Problem("not-your-player", "this partner has no such player")

    def require_own_partner(self, partner: str) -> None:
        """Raise ``not-your-partner`` when a partner's token acts for another partner."""
        if not self.sees_partner(partner):
            raise Problem("not-your-partner", "the token is another partner's", field="partner")


class Verifier:
    """Verifies bearer tokens; a verified one is remembered until it expires.

    Verifying costs 30-90 microseconds, remembering one.
    """

    def __init__(self, key: bytes, algorithm: Algorithm = "HS256") -> None:
        self._key = key
        self._algorithm = algorithm
        self._known: OrderedDict[str, Caller] = OrderedDict()

    def verify(self, token: str, at: datetime) -> Caller:
        """Return the caller of a token; raises the problems token-invalid and token-expired."""
        caller = self._known.get(token)
        if caller is None:
            caller = self._decode(token, at)
            self._known[token] = caller
            if len(self._known) > TOKENS_REMEMBERED:
                self._known.popitem(last=False)
        elif at.timestamp() >= caller.expires_at:
            del self._known[token]
            raise Problem("token-expired", "the token has expired")
        else:
            self._known.move_to_end(token)
        return caller

    def _decode(self, token: str, at: datetime) -> Caller:
        try:
            payload = jwt.decode(
                token,
                self._key,
                algorithms=[self._algorithm],
                audience=AUDIENCE,
                issuer=ISSUER,
                leeway=CLOCK_SKEW_SECONDS,
                options={"require": ["exp", "iat", "sub"], "verify_exp": False},
            )
            claims = msgspec.convert(payload, Claims)
        except (jwt.InvalidTokenError, msgspec.ValidationError) as fault:
            raise Problem("token-invalid", "the bearer token cannot be accepted") from fault
        if at.timestamp() >= claims.exp:
            raise Problem("token-expired", "the token has expired")
        return Caller(
            subject=claims.sub,
            client=claims.client,
            network=claims.network,
            scopes=frozenset(claims.scopes),
            expires_at=claims.exp,
            partner=claims.partner,
        )

    def caller(self, headers: Iterable[tuple[bytes, bytes]], at: datetime) -> Caller:
        """Return the caller of a request by its raw headers."""
        for name, value in headers:
            if name == b"authorization":
                scheme, _, token = value.decode("latin-1").partition(" ")
                if scheme.lower() != "bearer" or not token:
                    break
                return self.verify(token.strip(), at)
        raise Problem("token-missing", "send the header Authorization: Bearer <token>")


bearer = HTTPBearer(
    auto_error=False,
    bearerFormat="JWT",
    description="A token of the room's issuer with the claims sub, client, network and scopes; "
    "a partner's tokens carry its id in `partner`.",
)


class _Needs:
    """Finds the caller of a request, whose token must have a scope if one is named."""

    def __init__(self, scope: Scope | None) -> None:
        self._scope = scope

    async def __call__(self, request: Request, _: Annotated[Any, Depends(bearer)]) -> Caller:
        verifier: Verifier = request.app.state.edge.verifier
        caller = verifier.caller(request.scope["headers"], now())
        request.scope["caller"] = caller
        if self._scope is not None:
            caller.require(self._scope)
        return caller


def needs(scope: Scope | None = None) -> Any:
    """Make the dependency of a route on its caller; the document names the scope."""
    return Security(_Needs(scope), scopes=[scope.value] if scope else [])
