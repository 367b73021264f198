"""Transactions of players: the money events of one command, which follow each other in a commit."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Final, NamedTuple
from uuid import UUID

from projections.queries import entries
from projections.reading import Snapshot, planned_once, tuples


class Line(NamedTuple):
    """A line of an event on a player's account, with what tells its transaction from others."""

    position: int
    line: int
    player: UUID
    partner: str | None
    currency: str
    table_id: str | None
    amount_minor: int
    occurred_at: datetime
    stream: str
    event: str
    request_id: str
    actor: str
    rulebook: str
    commit: int
    """The last position of the commit."""

    @property
    def transaction(self) -> tuple[int, str, str, str]:
        """What the lines of its transaction have in common.

        Two clients may use the same request id, and one commit may hold what both asked for.
        """
        hand = self.stream if self.stream.startswith("hand:") else ""
        return self.commit, self.request_id, self.actor, hand


class Transaction(NamedTuple):
    """The lines of one command on players' accounts, in their order."""

    lines: list[Line]

    @property
    def begin(self) -> int:
        """The position of the first."""
        return self.lines[0].position

    @property
    def commit(self) -> int:
        """The last position of their commit."""
        return self.lines[0].commit


def lines_of(at: Snapshot, keys: Sequence[entries.Key]) -> list[Line]:
    """Read those of the entries that are on players' accounts, in the order of the journal."""
    if not keys:
        return []
    asked = {"positions": [key[0] for key in keys], "lines": [key[1] for key in keys]}
    return [Line(*row) for row in tuples(at, _LINES, asked)]


_LINES: Final = planned_once("""
SELECT said.* FROM unnest(CAST(:positions AS bigint[]), CAST(:lines AS smallint[]))
       AS asked (position, line)
 CROSS JOIN LATERAL (
    SELECT position, line, player, partner, currency, table_id, amount_minor, occurred_at, stream,
           event, request_id, actor, rulebook, commit_position
      FROM book.player_lines WHERE position = asked.position AND line = asked.line LIMIT 1) AS said
 ORDER BY said.position, said.line
""")


def transactions(lines: Sequence[Line]) -> list[Transaction]:
    return [
        Transaction(list(of_one)) for _, of_one in groupby(lines, key=lambda line: line.transaction)
    ]
