"""Tokens of the local issuer, one per role."""

from datetime import timedelta

from api.clock import now
from api.tokens import ROLES, issue
from ops.settings import Settings, UnusableSettings

LIFETIME = timedelta(days=7)


def token(
    settings: Settings,
    role: str,
    *,
    partner: str | None = None,
    network: str | None = None,
    subject: str | None = None,
    lifetime: timedelta = LIFETIME,
) -> str:
    """Sign a token of a role; its client and its subject are the role unless one is named.

    Raises UnusableSettings without a secret of ours, and ValueError for an unknown role and for a
    partner's token without its partner.
    """
    if settings.jwt_key is None or not own_issuer(settings):
        raise UnusableSettings(
            f"CARDROOM_JWT_ALGORITHM is {settings.jwt_algorithm}: your own issuer makes the tokens."
        )
    return issue(
        bytes.fromhex(settings.jwt_key.get_secret_value()),
        subject=subject or role,
        client=partner or role,
        network=network or settings.network,
        at=now(),
        lifetime=lifetime,
        role=role,
        partner=partner,
    )


def own_issuer(settings: Settings) -> bool:
    """Tell whether the installation makes its tokens itself."""
    return settings.jwt_algorithm == "HS256"


def roles() -> list[str]:
    """Return the roles that a token can be made for."""
    return list(ROLES)
