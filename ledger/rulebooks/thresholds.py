"""Whether a rulebook wants a second person for an action."""

from typing import Any

from ledger.core import Asked
from ledger.rulebooks.schema import Rulebook


def asked(
    rulebook: Rulebook,
    action: str,
    amount_minor: int,
    currency: str | None,
    words: str,
    **concerns: Any,
) -> Asked | None:
    """Return what a second person is asked, or None below the rulebook's threshold.

    ``words`` say in one sentence what would be done; ``concerns`` are as in ``Asked.summary``.
    """
    approvals = rulebook.approvals
    if approvals == "none" or not approvals.needed(action, amount_minor):
        return None
    return Asked(
        action=action,
        amount_minor=amount_minor,
        currency=currency,
        rulebook_ref=rulebook.ref,
        expires_after_hours=approvals.expires_after_hours,
        summary={"words": words, **concerns},
    )
