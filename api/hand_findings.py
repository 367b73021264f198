"""The findings of a hand in words: what was expected and posted, how each stands, who said what."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from api import links
from api.auth import Caller
from api.edge import worded
from api.links import LINKS
from ledger.application import Recorded
from ledger.hands.events import (
    FindingExplained,
    FindingReopened,
    FindingResolved,
    FindingStatus,
    HandPosted,
)
from ledger.hands.filed import Filed, Step, at_stake, filed

SAID_BY_STAFF = (FindingExplained, FindingResolved, FindingReopened)
"""Types of events that hold what the house's people wrote; partners are not shown them."""


class FindingStep(BaseModel):
    """What somebody did about the finding."""

    model_config = ConfigDict(extra="forbid")

    position: int
    became: FindingStatus
    at: str
    by: str
    text: str
    resolution: str | None
    corrected_by: str | None = Field(description="The request that moved the money.")
    links: dict[str, str] = Field(default={}, description=LINKS)


class HandFinding(BaseModel):
    """What was found wrong with the hand, and how it stands."""

    model_config = ConfigDict(extra="forbid")

    number: int
    position: int = Field(description="Of the event that told it.")
    code: str
    level: str
    where: str
    expected: Any
    posted: Any
    message: str
    currency: str
    amount_minor: int | None = Field(description="At stake; null where it is not about amounts.")
    amount: str | None = None
    status: FindingStatus
    steps: list[FindingStep] = Field(description="Empty to a partner.")
    text: str = Field(description="All of it in words.")
    links: dict[str, str] = Field(default={}, description=LINKS)


def findings_of(
    posted: HandPosted, others: Sequence[Recorded], names: Mapping[int, str], caller: Caller
) -> list[dict[str, Any]]:
    """Show a hand's findings by its events; ``names`` are the players' by their ids in the hand.

    A partner is told how they stand, not what was said about them.
    """
    found = filed((one.position, one.event) for one in others)
    return [_finding(one, posted.currency, names, caller) for one in found]


def _finding(one: Filed, currency: str, names: Mapping[int, str], caller: Caller) -> dict[str, Any]:
    finding = one.finding
    steps = one.steps if caller.partner is None else []
    content = {
        "number": one.number,
        "position": one.position,
        "code": finding.code,
        "level": finding.level,
        "where": finding.where,
        "expected": _named(finding.expected, names),
        "posted": _named(finding.posted, names),
        "message": finding.message,
        "currency": currency,
        "amount_minor": at_stake(finding, currency),
        "status": one.status,
        "steps": [_step(step, caller) for step in steps],
        "text": " ".join([*_what(one, names), _state(one, caller)]),
        "links": links.allowed(
            caller, finding=links.finding(one.position), event=links.event(one.position)
        ),
    }
    return worded(content)


def _step(step: Step, caller: Caller) -> dict[str, Any]:
    return {
        "position": step.position,
        "became": step.became,
        "at": step.at,
        "by": step.by,
        "text": step.text,
        "resolution": step.resolution,
        "corrected_by": step.corrected_by,
        "links": links.allowed(caller, event=links.event(step.position)),
    }


def _what(one: Filed, names: Mapping[int, str]) -> list[str]:
    finding = one.finding
    said = [f"{finding.code} ({finding.where}): {finding.message}"]
    if finding.expected is not None:
        said.append(f"Expected: {_in_words(_named(finding.expected, names))}.")
    if finding.posted is not None:
        said.append(f"Posted: {_in_words(_named(finding.posted, names))}.")
    return said


def _state(one: Filed, caller: Caller) -> str:
    """Say how a finding stands, and to the house who said so."""
    last = one.resolved or one.explained
    if last is None:
        return "Open."
    became = last.became.capitalize()
    if caller.partner is not None:
        return f"{became}."
    why = "" if last.resolution is None else f", {last.resolution}"
    return f"{became} by {last.by} on {last.at:%Y-%m-%d}{why}: {last.text}"


def _named(value: Any, names: Mapping[int, str]) -> Any:
    """Put names for the players' ids inside a finding."""
    if not isinstance(value, list):
        return value
    return [
        {**item, "player": names.get(item["player"])}
        if isinstance(item, dict) and "player" in item
        else item
        for item in value
    ]


def _in_words(value: Any) -> str:
    """Write a value of a finding out: amounts by player as ``Alice 2.85, Bobby 2.80``."""
    if isinstance(value, list):
        return ", ".join(map(_in_words, value)) or "nothing"
    if isinstance(value, dict):
        return " ".join(str(part) for part in value.values() if part is not None)
    return str(value)
