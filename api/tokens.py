"""What a token says and allows, and signing one: apart from the web, for whoever serves nothing."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Final

import jwt
import msgspec

from api.settings import Algorithm

ISSUER: Final = "cardroom"
AUDIENCE: Final = "cardroom-ledger"


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


class Claims(msgspec.Struct):
    """The claims that a token must carry."""

    sub: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    client: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    network: Annotated[str, msgspec.Meta(pattern="^[a-z0-9-]{1,64}$")]
    scopes: list[str]
    exp: float
    partner: Annotated[str, msgspec.Meta(pattern="^[a-z0-9-]{1,64}$")] | None = None


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
        msgspec.convert({**claims, "exp": (at + lifetime).timestamp()}, Claims)
    except msgspec.ValidationError as fault:
        raise ValueError(f"a token that would not be accepted: {fault}") from None
    return jwt.encode(claims, key, algorithm=algorithm)
