"""Tokens: who is let in, with what, and for how long."""

import base64
import hmac
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from api.auth import Verifier
from api.problems import Problem
from api.tokens import AUDIENCE, ISSUER, ROLES, Scope, issue

KEY = b"a secret that only this test has, long enough for every algorithm"
AT = datetime(2014, 5, 1, 12, tzinfo=UTC)
CLAIMS = {
    "iss": ISSUER,
    "aud": AUDIENCE,
    "iat": AT,
    "exp": AT + timedelta(hours=1),
    "sub": "gs-1",
    "client": "game-server",
    "network": "entraction",
    "scopes": ["hands:post"],
}


def token(**changes: Any) -> str:
    claims = {**CLAIMS, **changes}
    return jwt.encode({k: v for k, v in claims.items() if v is not None}, KEY)


def refused(verifier: Verifier, text: str, at: datetime = AT) -> str:
    with pytest.raises(Problem) as caught:
        verifier.verify(text, at)
    return caught.value.code


@pytest.mark.parametrize("role", ROLES)
def test_an_issued_token_carries_the_scopes_of_its_role(role: str) -> None:
    text = issue(
        KEY,
        subject="somebody",
        client="desk",
        network="entraction",
        at=AT,
        lifetime=timedelta(hours=1),
        role=role,
        partner="kerching" if role == "partner" else None,
    )
    caller = Verifier(KEY).verify(text, AT)
    assert caller.scopes == ROLES[role]
    assert (caller.subject, caller.client, caller.network) == ("somebody", "desk", "entraction")


def test_a_partner_role_without_its_partner_is_not_issued() -> None:
    with pytest.raises(ValueError, match="names the partner"):
        issue(
            KEY,
            subject="s",
            client="c",
            network="n",
            at=AT,
            lifetime=timedelta(hours=1),
            role="partner",
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "somebody-else"},
        {"aud": "another-service"},
        {"sub": None},
        {"sub": ""},
        {"client": None},
        {"client": 7},
        {"network": None},
        {"network": "Not A Slug"},
        {"network": "a:b"},
        {"scopes": None},
        {"scopes": "hands:post"},
        {"scopes": [1]},
        {"exp": None},
        {"iat": None},
        {"partner": "Not a slug"},
    ],
    ids=str,
)
def test_a_token_with_a_claim_missing_or_wrong_is_refused(changes: dict[str, Any]) -> None:
    assert refused(Verifier(KEY), token(**changes)) == "token-invalid"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "a.b.c",
        jwt.encode(CLAIMS, b"another secret, long enough to sign with"),
        jwt.encode(CLAIMS, None, algorithm="none"),
        jwt.encode(CLAIMS, KEY, algorithm="HS512"),
    ],
    ids=["empty", "word", "three-words", "other-key", "unsigned", "other-algorithm"],
)
def test_a_token_not_signed_by_the_issuer_is_refused(text: str) -> None:
    assert refused(Verifier(KEY), text) == "token-invalid"


def test_a_remembered_token_expires_like_any_other() -> None:
    verifier = Verifier(KEY)
    verifier.verify(token(), AT)
    verifier.verify(token(), AT + timedelta(minutes=59))
    assert refused(verifier, token(), AT + timedelta(hours=1)) == "token-expired"
    assert refused(Verifier(KEY), token(), AT + timedelta(hours=1)) == "token-expired"


def test_no_more_tokens_are_remembered_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.auth.TOKENS_REMEMBERED", 2)
    verifier = Verifier(KEY)
    for subject in ("a", "b", "c"):
        verifier.verify(token(sub=subject), AT)
    assert len(verifier._known) == 2


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ([], "token-missing"),
        ([(b"authorization", b"Basic dXNlcjpwYXNz")], "token-missing"),
        ([(b"authorization", b"Bearer")], "token-missing"),
        ([(b"authorization", b"Bearer ")], "token-missing"),
        ([(b"authorization", b"Bearer \xff\xfe")], "token-invalid"),
    ],
)
def test_a_request_without_a_bearer_token_is_refused(
    headers: list[tuple[bytes, bytes]], code: str
) -> None:
    with pytest.raises(Problem) as caught:
        Verifier(KEY).caller(headers, AT)
    assert caught.value.code == code


def test_a_missing_scope_is_named() -> None:
    caller = Verifier(KEY).verify(token(), AT)
    caller.require(Scope.HANDS_POST)
    with pytest.raises(Problem) as caught:
        caller.require(Scope.CASHIER_REVIEW)
    assert caught.value.status == 403
    assert caught.value.extra == {"scope": "cashier:review"}


def test_a_partner_sees_only_its_own_players() -> None:
    partner = Verifier(KEY).verify(token(partner="kerching"), AT)
    room = Verifier(KEY).verify(token(), AT)
    assert partner.sees_partner("kerching")
    assert not partner.sees_partner("another")
    assert room.sees_partner("another")
    with pytest.raises(Problem) as caught:
        partner.require_partner("another")
    assert (caught.value.code, caught.value.status) == ("not-your-player", 404)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_tokens_of_an_issuer_of_ones_own_are_verified_by_its_public_key(
    algorithm: Literal["RS256", "ES256"],
) -> None:
    private = (
        rsa.generate_private_key(65537, 2048)
        if algorithm == "RS256"
        else ec.generate_private_key(ec.SECP256R1())
    )
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    verifier = Verifier(public, algorithm)
    signed = jwt.encode(CLAIMS, private, algorithm=algorithm)
    assert verifier.verify(signed, AT).subject == "gs-1"
    # Signed with the public key as if it were a shared secret.
    header = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').rstrip(b"=")
    body = signed.split(".")[1].encode()
    digest = hmac.digest(public, header + b"." + body, "sha256")
    forged = b".".join((header, body, base64.urlsafe_b64encode(digest).rstrip(b"=")))
    assert refused(verifier, forged.decode()) == "token-invalid"


def test_nobody_both_requests_and_releases_withdrawals() -> None:
    both = {Scope.CASHIER_RUN, Scope.CASHIER_REVIEW}
    assert not [role for role, scopes in ROLES.items() if both <= scopes]
