"""What follows by itself: a request that nobody decided in time expires."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ledger.approvals.commands import ExpireApproval

EXPIRY: Final = "approval-expiry"
"""The policy's name, with which its request ids begin."""

ACTOR: Final = f"policy:{EXPIRY}"


class Pending(NamedTuple):
    """A request that nobody has decided."""

    network: str
    approval: str
    expires_at: datetime


def expire(pending: Pending, now: datetime) -> Sequence[ExpireApproval]:
    """Expire a request whose time is over, at the instant at which it was.

    However often it is asked for, and by whichever worker, it is the same request.
    """
    if now < pending.expires_at:
        return ()
    return (
        ExpireApproval(
            network=pending.network,
            at=pending.expires_at,
            actor=ACTOR,
            request_id=f"{EXPIRY}:{pending.approval}",
            approval=pending.approval,
        ),
    )
