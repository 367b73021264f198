"""What may be done about a finding: explain it, resolve it, open it again.

A hand stays as it was booked, whatever is found out about it. Where the money was wrong a booking
of its own puts it right, and the resolution names the request that asked for it.
"""

from typing import Any, ClassVar, Final

from ledger import bounds
from ledger.bounds import InvalidField
from ledger.core import Book, Command, Decision, Kind, Refused, Retry
from ledger.hands.events import (
    BECOMES,
    FindingExplained,
    FindingReopened,
    FindingResolved,
    FindingStatus,
    HandState,
    hand_stream,
)

RESOLUTIONS: Final = {
    "site-was-right": "The hand is right as it was posted; the rule, or how it was read, was not.",
    "corrected-by-adjustment": "A booking of its own put the money right; `corrected_by` names it.",
    "written-off": "Money stays where it should not be, and nobody will ask for it back.",
    "game-server-fixed": "No money has to move; what made the game server post it is put right.",
    "cannot-be-verified": "What would decide it is not known, and will not be.",
}
"""Codes that a finding is resolved with, and what they mean."""

CORRECTED: Final = "corrected-by-adjustment"

LONGEST_REASON: Final = 500
LONGEST_KEY: Final = 128


class UnknownFinding(Refused):
    """No finding of this network has that position."""

    code = "unknown-finding"
    kind: ClassVar[Kind] = "missing"
    retry: ClassVar[Retry] = "never"


class FindingIsResolved(Refused):
    """The finding is resolved; it has to be opened again first."""

    code = "finding-resolved"
    kind: ClassVar[Kind] = "conflict"


class FindingNotResolved(Refused):
    """Only a resolved finding is opened again."""

    code = "finding-not-resolved"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class _AboutFinding(Command, frozen=True, kw_only=True):
    """A command about a finding of a booked hand: ``finding`` is its number, from 1."""

    game_number: str
    finding: int

    @property
    def stream(self) -> str:
        return hand_stream(self.network, self.game_number)

    def touches(self) -> tuple[str, ...]:
        return (self.stream,)

    def status(self, book: Book) -> FindingStatus:
        """Return how the finding stands. Raises UnknownFinding."""
        hand: HandState | None = book.get(self.stream)
        if hand is None or not 1 <= self.finding <= len(hand.findings):
            raise UnknownFinding("No such finding.", field="finding")
        return hand.findings[self.finding - 1]

    def unresolved(self, book: Book) -> None:
        """Raise FindingIsResolved unless the finding is open or explained."""
        if self.status(book) == "resolved":
            raise FindingIsResolved("The finding is resolved; open it again first.")

    def about(self) -> dict[str, Any]:
        """Return what the events say alike."""
        return {**self.context(), "game_number": self.game_number, "finding": self.finding}

    def became(self, event: FindingExplained | FindingResolved | FindingReopened) -> Decision:
        answer = {
            "game_number": self.game_number,
            "number": self.finding,
            "status": BECOMES[type(event)],
        }
        return Decision([(self.stream, event)], answer)


class ExplainFinding(_AboutFinding, frozen=True, kw_only=True):
    """Say how a finding came about; it can be said again when more is known.

    Raises InvalidField, UnknownFinding, FindingIsResolved.
    """

    text: str

    def decide(self, book: Book) -> Decision:
        bounds.text(self.text, "text", longest=LONGEST_REASON)
        self.unresolved(book)
        return self.became(FindingExplained(**self.about(), text=self.text))


class ResolveFinding(_AboutFinding, frozen=True, kw_only=True):
    """Decide what becomes of a finding, and why; explained before or not.

    ``corrected_by`` is the key of the request that moved the money: with the resolution
    ``corrected-by-adjustment``, and with no other.
    Raises InvalidField, UnknownFinding, FindingIsResolved.
    """

    resolution: str
    reason: str
    corrected_by: str | None = None

    def decide(self, book: Book) -> Decision:
        if self.resolution not in RESOLUTIONS:
            raise InvalidField(f"One of {', '.join(RESOLUTIONS)}.", field="resolution")
        bounds.text(self.reason, "reason", longest=LONGEST_REASON)
        if (self.corrected_by is not None) != (self.resolution == CORRECTED):
            raise InvalidField(
                f"The request that moved the money, with {CORRECTED} alone.", field="corrected_by"
            )
        if self.corrected_by is not None:
            bounds.text(self.corrected_by, "corrected_by", longest=LONGEST_KEY)
        self.unresolved(book)
        resolved = FindingResolved(
            **self.about(),
            resolution=self.resolution,
            reason=self.reason,
            corrected_by=self.corrected_by,
        )
        return self.became(resolved)


class ReopenFinding(_AboutFinding, frozen=True, kw_only=True):
    """Open a resolved finding again: what was decided about it was not right.

    Raises InvalidField, UnknownFinding, FindingNotResolved.
    """

    reason: str

    def decide(self, book: Book) -> Decision:
        bounds.text(self.reason, "reason", longest=LONGEST_REASON)
        status = self.status(book)
        if status != "resolved":
            raise FindingNotResolved("The finding is not resolved.", status=status)
        return self.became(FindingReopened(**self.about(), reason=self.reason))
