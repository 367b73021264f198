"""The findings of a hand as they were filed: how each stands, who did what about it, what is at
stake in it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ledger import money
from ledger.core import Event
from ledger.hands.events import (
    BECOMES,
    FindingExplained,
    FindingReopened,
    FindingResolved,
    FindingStatus,
    HandContested,
    HandFlagged,
)
from ledger.hands.findings import Finding

ABOUT: Final = (HandFlagged, HandContested, FindingExplained, FindingResolved, FindingReopened)
"""Types of the events that say anything about findings."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody did about a finding: it became explained, resolved, or open again."""

    position: int
    became: FindingStatus
    at: datetime
    by: str
    text: str
    resolution: str | None = None
    corrected_by: str | None = None


class Filed(msgspec.Struct, kw_only=True):
    """A finding of a hand by its number there, which event told it, and all that followed.

    ``filed_by`` is who posted the hand: the game server.
    """

    number: int
    position: int
    occurred_at: datetime
    filed_by: str
    finding: Finding
    steps: list[Step] = []

    @property
    def status(self) -> FindingStatus:
        """How it stands after the last step."""
        return self.steps[-1].became if self.steps else "open"

    @property
    def explained(self) -> Step | None:
        """The last explanation since it was opened; None while it was never explained."""
        return self._last("explained")

    @property
    def resolved(self) -> Step | None:
        """The resolution that holds."""
        return self._last("resolved")

    def _last(self, became: FindingStatus) -> Step | None:
        for step in reversed(self.steps):
            if step.became == "open":
                return None
            if step.became == became:
                return step
        return None


def filed(events: Iterable[tuple[int, Event]]) -> list[Filed]:
    """Return a hand's findings, by its events in order, each with its position in the journal."""
    findings: list[Filed] = []
    for position, event in events:
        if isinstance(event, HandFlagged | HandContested):
            findings.append(
                Filed(
                    number=len(findings) + 1,
                    position=position,
                    occurred_at=event.occurred_at,
                    filed_by=event.actor,
                    finding=_finding(event),
                )
            )
        elif isinstance(event, FindingExplained | FindingResolved | FindingReopened):
            findings[event.finding - 1].steps.append(_step(position, event))
    return findings


def _finding(event: HandFlagged | HandContested) -> Finding:
    if isinstance(event, HandFlagged):
        return event.finding
    return Finding(
        code="different-content",
        level="refuse",
        where=", ".join(event.differing),
        message="Another content was posted for a hand that is booked.",
    )


def _step(position: int, event: FindingExplained | FindingResolved | FindingReopened) -> Step:
    step = Step(
        position=position,
        became=BECOMES[type(event)],
        at=event.occurred_at,
        by=event.actor,
        text=event.text if isinstance(event, FindingExplained) else event.reason,
    )
    if isinstance(event, FindingResolved):
        return replace(step, resolution=event.resolution, corrected_by=event.corrected_by)
    return step


# -- what is at stake ----------------------------------------------------------------------------


def at_stake(finding: Finding, currency: str) -> int | None:
    """Return how much money is not where the rules have it, in minor units of the hand's currency.

    Of two amounts it is what they differ by; of amounts by player or by pot, what has to move from
    some to others. None where the finding is not about amounts.
    """
    expected = _amounts(finding.expected, currency)
    posted = _amounts(finding.posted, currency)
    if expected is None or posted is None:
        return None
    if not expected and not posted:
        return None
    differences = [posted.get(key, 0) - expected.get(key, 0) for key in {**expected, **posted}]
    over = sum(difference for difference in differences if difference > 0)
    return max(over, over - sum(differences))


def _amounts(value: Any, currency: str) -> Mapping[Any, int] | None:
    """Read an amount, or amounts by their order or by player and half; None when it is neither."""
    parts: Sequence[Any] = [value] if isinstance(value, str) else value
    if not isinstance(parts, list):
        return None
    amounts: dict[Any, int] = {}
    for index, part in enumerate(parts):
        key: Any = index
        text = part
        if isinstance(part, dict):
            key, text = (part.get("player"), part.get("half")), part.get("amount")
        if not isinstance(text, str):
            return None
        try:
            amounts[key] = amounts.get(key, 0) + money.minor(text, currency)
        except ValueError:
            return None
    return amounts
