"""The findings of a hand with their life, and what is at stake in each."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ledger.core import Event
from ledger.hands.events import (
    FindingExplained,
    FindingReopened,
    FindingResolved,
    HandContested,
    HandFlagged,
)
from ledger.hands.filed import at_stake, filed
from ledger.hands.findings import Finding

START = datetime(2013, 6, 1, 12, 30, tzinfo=UTC)


def finding(expected: Any = None, posted: Any = None) -> Finding:
    return Finding(
        code="wrong-rake",
        level="flag",
        where="pots[0].rake",
        expected=expected,
        posted=posted,
        message="Not so.",
    )


def about(minutes: int, actor: str) -> dict[str, Any]:
    return {
        "occurred_at": START + timedelta(minutes=minutes),
        "actor": actor,
        "request_id": "r",
        "rulebook": "",
    }


FLAGGED = HandFlagged(**about(0, "server-1"), finding=finding())
CONTESTED = HandContested(**about(0, "server-2"), content_digest="00", differing=("pots", "rounds"))


def explained(minutes: int, text: str, number: int = 1) -> FindingExplained:
    said = {"game_number": "81", "finding": number, "text": text}
    return FindingExplained(**about(minutes, "maria"), **said)


def resolved(minutes: int, number: int = 1) -> FindingResolved:
    said: dict[str, Any] = {"game_number": "81", "finding": number}
    return FindingResolved(
        **about(minutes, "jonas"), **said, resolution="written-off", reason="A cent."
    )


def reopened(minutes: int, number: int = 1) -> FindingReopened:
    said: dict[str, Any] = {"game_number": "81", "finding": number, "reason": "More came up."}
    return FindingReopened(**about(minutes, "maria"), **said)


def told(*events: Event) -> list[Any]:
    return filed(enumerate(events, 100))


def test_findings_are_numbered_in_the_order_in_which_they_were_filed() -> None:
    one, two, three = told(FLAGGED, FLAGGED, resolved(5, number=2), CONTESTED)
    assert [(each.number, each.position, each.status) for each in (one, two, three)] == [
        (1, 100, "open"),
        (2, 101, "resolved"),
        (3, 103, "open"),
    ]
    assert (one.filed_by, three.filed_by) == ("server-1", "server-2")
    assert (three.finding.code, three.finding.where) == ("different-content", "pots, rounds")


def test_the_last_explanation_counts_and_stays_with_the_resolution() -> None:
    [one] = told(FLAGGED, explained(1, "first"), explained(2, "better"), resolved(3))
    assert one.status == "resolved"
    assert (one.explained.text, one.explained.by, one.explained.position) == (
        "better",
        "maria",
        102,
    )
    assert (one.resolved.text, one.resolved.resolution) == ("A cent.", "written-off")
    assert one.resolved.at == START + timedelta(minutes=3)


def test_what_was_said_before_a_finding_was_opened_again_is_history() -> None:
    events = (FLAGGED, explained(1, "first"), resolved(2), reopened(3))
    [one] = told(*events)
    assert (one.status, one.explained, one.resolved) == ("open", None, None)
    assert [step.became for step in one.steps] == ["explained", "resolved", "open"]
    assert one.steps[-1].text == "More came up."
    [one] = told(*events, resolved(4))
    assert (one.explained, one.resolved.position) == (None, 104)


@pytest.mark.parametrize(
    ("expected", "posted", "minor"),
    [
        ("0.30", "0.50", 20),
        ("0.50", "0.30", 20),
        ("0", "2.00", 200),
        # Amounts by player: what one got too much another got too little.
        (
            [{"player": 1, "amount": "2.85"}, {"player": 2, "amount": "2.85"}],
            [{"player": 1, "amount": "2.80"}, {"player": 2, "amount": "2.90"}],
            5,
        ),
        ([{"player": 1, "amount": "4.00"}], [{"player": 2, "amount": "4.00"}], 400),
        ([], [{"player": 2, "amount": "4.00"}], 400),
        (
            [
                {"player": 1, "amount": "2.00", "half": "high"},
                {"player": 1, "amount": "1.00", "half": "low"},
            ],
            [
                {"player": 1, "amount": "1.00", "half": "high"},
                {"player": 1, "amount": "2.00", "half": "low"},
            ],
            100,
        ),
        # By pot: a main pot and a side pot in place of one.
        (["6.00", "4.00"], ["10.00"], 400),
        (["6.00", "4.00"], ["6.00", "3.50"], 50),
        # No amounts.
        (None, None, None),
        (None, "1.00", None),
        ("1.00", None, None),
        (6, 7, None),
        ([], [], None),
        ("2013-06-01T12:30:00+00:00", "2013-06-01T12:00:00Z", None),
        ("four suits from 7 to A", ["2c"], None),
        ([{"player": 1, "hand": "two pair"}], [{"player": 2}], None),
        ("1.005", "1.00", None),
        ("EUR", "USD", None),
        (True, "1.00", None),
    ],
)
def test_what_is_at_stake_is_what_has_to_move(
    expected: Any, posted: Any, minor: int | None
) -> None:
    assert at_stake(finding(expected, posted), "EUR") == minor


def test_amounts_have_the_digits_of_the_hands_currency() -> None:
    assert at_stake(finding("30", "50"), "XCR") == 20
    assert at_stake(finding("30", "50"), "EUR") == 2_000
    assert at_stake(finding("0.5", "1.5"), "XCR") is None
