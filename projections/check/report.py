"""What a check found."""

import msgspec

SHOWN: int = 1_000
"""Findings of one kind that are kept; the others are counted."""


class Problem(msgspec.Struct, frozen=True):
    """One thing that does not hold: what kind it is, where it is, and what it is."""

    code: str
    where: str
    """The position and stream, the row's key, or the figure."""
    message: str
    table: str
    """The table that holds it, with its schema."""


class Report(msgspec.Struct):
    """What was looked at, and what does not hold."""

    events: int = 0
    commits: int = 0
    hands: int = 0
    entries: int = 0
    position: int = 0
    """The last position of the journal."""
    digest: str = ""
    """The chain's digest there, as computed again."""
    seals: int = 0
    """The last seal of the rows beside the events."""
    seals_digest: str = ""
    """The digest that it has; empty when there is none."""
    anchors: int = 0
    """Digests noted outside that were compared."""
    projected: int | None = None
    """The position of the live projections; None when there are none."""
    counts: dict[str, int] = {}
    problems: list[Problem] = []

    def add(self, code: str, where: str, message: str, table: str = "journal.events") -> None:
        """Note that something in a table does not hold."""
        self.counts[code] = self.counts.get(code, 0) + 1
        if self.counts[code] <= SHOWN:
            self.problems.append(Problem(code, where, message, table))

    @property
    def total(self) -> int:
        """How many things do not hold."""
        return sum(self.counts.values())

    @property
    def clean(self) -> bool:
        """Whether everything holds."""
        return not self.counts
