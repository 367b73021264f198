"""Facts of an approval: what one person asked for, and what another one made of it.

None of them has postings or personal data. What was approved books its own events, in the append
that has the grant.
"""

import hashlib
from datetime import datetime
from typing import Any, ClassVar, Final, Literal

import msgspec
from msgspec.structs import replace

from ledger.core import Approvable, Event, Keep, stream

Status = Literal["pending", "granted", "rejected", "withdrawn", "expired"]


def approval_stream(network: str, approval: str) -> str:
    """Name the stream of an approval, by its id."""
    return stream("approval", network, approval)


def canonical(command: Approvable) -> str:
    """Write a command as the JSON that is approved: every field, in the order of their names."""
    return plain({"action": command.ACTION, "command": command})


def plain(value: Any) -> str:
    """Write anything as JSON of one form: keys are texts in order."""
    return msgspec.json.encode(msgspec.to_builtins(value, str_keys=True), order="sorted").decode()


def digest_of(text: str) -> str:
    """Return the SHA-256 of a canonical text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


class ApprovalRequested(Event, frozen=True, kw_only=True):
    """Somebody asked for what a second person must agree to.

    ``command`` is the exact command as canonical JSON and ``digest`` its SHA-256: nothing else can
    be granted. ``maker`` is the subject of the token that it was asked with.
    """

    NAME: ClassVar[str] = "approval.requested.v1"

    network: str
    approval: str
    action: str
    summary: dict[str, Any]
    amount_minor: int
    currency: str | None
    digest: str
    command: str
    maker: str
    expires_at: datetime


class ApprovalGranted(Event, frozen=True, kw_only=True):
    """A second person agreed; what was asked for is in the same append."""

    NAME: ClassVar[str] = "approval.granted.v1"

    checker: str
    digest: str


class ApprovalRejected(Event, frozen=True, kw_only=True):
    """A second person did not agree, and said why."""

    NAME: ClassVar[str] = "approval.rejected.v1"

    checker: str
    code: str
    reason: str


class ApprovalWithdrawn(Event, frozen=True, kw_only=True):
    """Who had asked no longer does."""

    NAME: ClassVar[str] = "approval.withdrawn.v1"

    maker: str


class ApprovalExpired(Event, frozen=True, kw_only=True):
    """Nobody decided it in time."""

    NAME: ClassVar[str] = "approval.expired.v1"


EVENTS: Final[tuple[type[Event], ...]] = (
    ApprovalRequested,
    ApprovalGranted,
    ApprovalRejected,
    ApprovalWithdrawn,
    ApprovalExpired,
)


class ApprovalState(msgspec.Struct, frozen=True, kw_only=True):
    """An approval as it stands between two events."""

    network: str
    approval: str
    action: str
    status: Status
    summary: dict[str, Any]
    amount_minor: int
    currency: str | None
    rulebook: str
    digest: str
    command: str
    maker: str
    request_id: str
    """The key of the request that asked for it."""
    requested_at: datetime
    expires_at: datetime
    decided_at: datetime | None = None
    checker: str | None = None
    code: str | None = None
    reason: str | None = None


class Execution(Keep, frozen=True, kw_only=True):
    """That an approval was carried out: the database takes it once, and from two people."""

    network: str
    approval: str
    maker: str
    checker: str
    digest: bytes


def evolve(state: ApprovalState | None, event: Event) -> ApprovalState | None:
    """Fold an event of an approval's stream."""
    if isinstance(event, ApprovalRequested):
        return ApprovalState(
            network=event.network,
            approval=event.approval,
            action=event.action,
            status="pending",
            summary=event.summary,
            amount_minor=event.amount_minor,
            currency=event.currency,
            rulebook=event.rulebook,
            digest=event.digest,
            command=event.command,
            maker=event.maker,
            request_id=event.request_id,
            requested_at=event.occurred_at,
            expires_at=event.expires_at,
        )
    assert state is not None, event
    decided = replace(state, decided_at=event.occurred_at)
    match event:
        case ApprovalGranted():
            return replace(decided, status="granted", checker=event.checker)
        case ApprovalRejected():
            return replace(
                decided,
                status="rejected",
                checker=event.checker,
                code=event.code,
                reason=event.reason,
            )
        case ApprovalWithdrawn():
            return replace(decided, status="withdrawn")
        case ApprovalExpired():
            return replace(decided, status="expired")
    return state
