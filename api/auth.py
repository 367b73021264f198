"""Who is calling: bearer JWT, scopes and roles, and what a partner may see."""

from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Final

import jwt
import msgspec
from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from api.clock import now
from api.problems import Problem
from api.settings import Algorithm

ISSUER: Final = "cardroom"
AUDIENCE: Final = "cardroom-ledger"

CLOCK_SKEW_SECONDS: Final = 60
"""How far the clock of the issuer may be ahead of ours."""

TOKENS_REMEMBERED: Final = 4096
"""Verified tokens kept until they expire; the least recently used goes first."""


class Scope(StrEnum):
    """What a token allows."""

    HANDS_POST = "hands:post"
    HANDS_READ = "hands:read"
    TABLES_RUN = "tables:run"
    TABLES_READ = "tables:read"
    TABLES_RESYNC = "tables:resync"
    PLAYERS_REGISTER = "players:register"
    PLAYERS_READ = "players:read"
    PLAYERS_INTERVENE = "players:intervene"
    CASHIER_RUN = "cashier:run"
    CASHIER_REVIEW = "cashier:review"
    RULEBOOKS_READ = "rulebooks:read"
    RULEBOOKS_ADOPT = "rulebooks:adopt"
    BALANCES_READ = "balances:read"
    BOOKS_READ = "books:read"
    FINDINGS_READ = "findings:read"
    FINDINGS_RESOLVE = "findings:resolve"
    LEDGER_FINANCE = "ledger:finance"
    JACKPOTS_DECIDE = "jackpots:decide"
    PROTESTS_READ = "protests:read"
    APPROVALS_READ = "approvals:read"
    APPROVALS_WITHDRAW = "approvals:withdraw"
    APPROVALS_DECIDE = "approvals:decide"


_EVERYONE = frozenset({Scope.RULEBOOKS_READ})
_READER = _EVERYONE | {Scope.HANDS_READ, Scope.TABLES_READ, Scope.PLAYERS_READ, Scope.BALANCES_READ}

ROLES: Final[dict[str, frozenset[Scope]]] = {
    "game-server": _EVERYONE
    | {Scope.HANDS_POST, Scope.HANDS_READ, Scope.TABLES_RUN, Scope.TABLES_READ},
    "cashier": _EVERYONE
    | {Scope.CASHIER_RUN, Scope.PLAYERS_REGISTER, Scope.PLAYERS_READ, Scope.BALANCES_READ},
    "support": _READER
    | {
        Scope.PLAYERS_REGISTER,
        Scope.FINDINGS_READ,
        Scope.FINDINGS_RESOLVE,
        Scope.PROTESTS_READ,
    },
    "compliance": _READER
    | {
        Scope.PLAYERS_INTERVENE,
        Scope.CASHIER_REVIEW,
        Scope.FINDINGS_READ,
        Scope.FINDINGS_RESOLVE,
        Scope.BOOKS_READ,
        Scope.PROTESTS_READ,
        Scope.APPROVALS_READ,
    },
    "approver": _READER
    | {
        Scope.CASHIER_REVIEW,
        Scope.FINDINGS_READ,
        Scope.APPROVALS_READ,
        Scope.APPROVALS_DECIDE,
    },
    "auditor": _READER
    | {Scope.BOOKS_READ, Scope.FINDINGS_READ, Scope.PROTESTS_READ, Scope.APPROVALS_READ},
    "partner": _READER | {Scope.PLAYERS_REGISTER, Scope.PROTESTS_READ},
    "operator": _READER
    | {
        Scope.TABLES_RUN,
        Scope.TABLES_RESYNC,
        Scope.JACKPOTS_DECIDE,
        Scope.RULEBOOKS_ADOPT,
        Scope.BOOKS_READ,
        Scope.FINDINGS_READ,
        Scope.APPROVALS_READ,
        Scope.APPROVALS_WITHDRAW,
    },
    "treasurer": _EVERYONE
    | {
        Scope.LEDGER_FINANCE,
        Scope.PLAYERS_READ,
        Scope.BALANCES_READ,
        Scope.BOOKS_READ,
        Scope.APPROVALS_READ,
        Scope.APPROVALS_WITHDRAW,
    },
}
"""What each role's token allows. Nobody who asks for a withdrawal also releases it."""


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


class _Claims(msgspec.Struct):
    """The claims that a token must carry."""

    sub: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    client: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    network: Annotated[str, msgspec.Meta(pattern="^[a-z0-9-]{1,64}$")]
    scopes: list[str]
    exp: float
    partner: Annotated[str, msgspec.Meta(pattern="^[a-z0-9-]{1,64}$")] | None = None


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
            claims = msgspec.convert(payload, _Claims)
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


def issue(
    key: bytes,
    *,
    subject: str,
    client: str,
    network: str,
    at: datetime,
    lifetime: timedelta,
    role: str | None = None,
    scopes: Iterable[Scope] = (),
    partner: str | None = None,
    algorithm: Algorithm = "HS256",
) -> str:
    """Sign a token of a role, or of scopes of its own; a partner's token names the partner.

    Raises ValueError for an unknown role, for a partner role without its partner, and for a name
    that no token may carry.
    """
    if role is not None and role not in ROLES:
        raise ValueError(f"no role {role!r}: one of {', '.join(ROLES)}")
    if role == "partner" and not partner:
        raise ValueError("a partner's token names the partner")
    claims: dict[str, Any] = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "iat": at,
        "exp": at + lifetime,
        "sub": subject,
        "client": client,
        "network": network,
        "scopes": sorted(set(scopes) | (ROLES[role] if role else frozenset())),
    }
    if partner:
        claims["partner"] = partner
    try:
        msgspec.convert({**claims, "exp": (at + lifetime).timestamp()}, _Claims)
    except msgspec.ValidationError as fault:
        raise ValueError(f"a token that would not be accepted: {fault}") from None
    return jwt.encode(claims, key, algorithm=algorithm)


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
