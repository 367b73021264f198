"""Anchors: digests of the book's chains, to be noted where no superuser of the database gets.

A superuser may rewrite the chain of events from some position on, or take the newest events away
with all that knows of them; inside the database nothing then differs. An anchor that was noted
outside does: ``DIGEST@POSITION`` for the events, ``DIGEST@seal-NUMBER`` for the seals of the rows
beside them.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import psycopg

from projections.check.report import Report

SEAL: Final = "seal-"
_ANCHOR: Final = re.compile(rf"\b([0-9a-f]{{64}})@({SEAL})?([1-9][0-9]{{0,18}})\b")


class Anchor(NamedTuple):
    """The digest of a chain at one of its links."""

    digest: str
    number: int
    """Position of the commit's last event, or the number of the seal."""
    of_seals: bool = False

    def __str__(self) -> str:
        return f"{self.digest}@{SEAL if self.of_seals else ''}{self.number}"


def parse(text: str) -> Iterator[Anchor]:
    """Find the anchors in a text: a log, an e-mail, what was printed."""
    for digest, seal, number in _ANCHOR.findall(text):
        yield Anchor(digest, int(number), bool(seal))


_NEWEST: Final = """
(SELECT encode(digest, 'hex'), last_position, false FROM journal.commits
  ORDER BY last_position DESC LIMIT 1)
UNION ALL
(SELECT encode(digest, 'hex'), number, true FROM journal.seals ORDER BY number DESC LIMIT 1)
"""


def newest(connection: psycopg.Connection[Any]) -> list[Anchor]:
    """Return the anchors of now: of the events and of the seals, as far as there are any."""
    return [Anchor(*row) for row in connection.execute(_NEWEST)]


class Noted:
    """Anchors that were noted outside, and what the chains have in their places."""

    def __init__(self, anchors: Iterable[Anchor]) -> None:
        self._left: dict[tuple[bool, int], set[str]] = {}
        for digest, number, of_seals in anchors:
            self._left.setdefault((of_seals, number), set()).add(digest)
        self.met = 0

    def meet(self, found: Anchor, report: Report) -> None:
        """Compare a link of a chain with the anchors that were noted of it."""
        noted = self._left.pop((found.of_seals, found.number), None)
        for digest in noted or ():
            self.met += 1
            if digest != found.digest:
                report.add(
                    "anchor-differs",
                    _place(found.of_seals, found.number),
                    f"noted outside: {digest}; the chain has {found.digest}",
                    _table(found.of_seals),
                )

    def end(self, report: Report) -> None:
        """Report the anchors that the chains do not have."""
        for of_seals, number in sorted(self._left):
            last = report.seals if of_seals else report.position
            ends = f"the chain ends at {last}" if number > last else "it has no such link"
            report.add(
                "anchor-missing",
                _place(of_seals, number),
                f"a digest was noted of it, and {ends}",
                _table(of_seals),
            )


def _place(of_seals: bool, number: int) -> str:
    return f"{'seal' if of_seals else 'position'} {number}"


def _table(of_seals: bool) -> str:
    return "journal.seals" if of_seals else "journal.commits"
