"""The windows of transactions: what each moved for a player, and until when he may protest it."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import UUID

import sqlalchemy as sa

from ledger import accounts
from ledger.protests.windows import closes_at
from ledger.rulebooks.conduct import DaysWindow
from projections.queries.protests.rules import Version
from projections.queries.protests.transactions import Line, Transaction
from projections.reading import BOOK, Snapshot


class Stake(NamedTuple):
    """What was moved in one currency, in minor units; both add up over transactions.

    ``gross_minor`` is what was taken from the player's accounts, even where it went to another of
    his: a buy-in, a stake, a withdrawal. ``net_minor`` is what left him altogether: below zero when
    he got more than he gave.
    """

    currency: str
    gross_minor: int
    net_minor: int


class Window(NamedTuple):
    """A transaction of a player, and until when he may protest it; ``closes_at`` is not included.

    ``window`` is "days", "until-next-hand-ends", "none", or "unknown" when no rulebook is known.
    ``closes_at`` is None where there is no window, and while the table's next hand has not ended.
    ``event`` is the stored name of the transaction's first event.
    """

    player: UUID
    partner: str | None
    stream: str
    request_id: str
    event: str
    table_id: str | None
    first_position: int
    last_position: int
    occurred_at: datetime
    stakes: tuple[Stake, ...]
    rulebook: str | None
    window: str
    rule: DaysWindow | None
    closes_at: datetime | None

    def is_open(self, at: datetime) -> bool:
        """Tell whether the transaction could be protested at an instant."""
        if self.closes_at is None:
            return self.window == "until-next-hand-ends" and self.occurred_at <= at
        return self.occurred_at <= at < self.closes_at


class Windows:
    """Finds the windows of a network's transactions, as far as is recorded up to a position."""

    def __init__(self, at: Snapshot, network: str, upto: int, versions: Sequence[Version]) -> None:
        self._at = at
        self._network = network
        self._upto = upto
        self._versions = versions

    def of(self, found: Iterable[Transaction]) -> Iterator[Window]:
        """Yield the windows of transactions, one for each player, in the order of the journal."""
        for one in found:
            of_players: dict[UUID, list[Line]] = {}
            for line in one.lines:
                of_players.setdefault(line.player, []).append(line)
            for lines in of_players.values():
                yield self._window(lines)

    def _window(self, lines: Sequence[Line]) -> Window:
        first, last = lines[0], lines[-1]
        ref = next((line.rulebook for line in lines if line.rulebook), None)
        version = self._named(ref) if ref else self._in_force(first)
        table = next((line.table_id for line in lines if line.table_id), None)
        window = "unknown" if version is None else version.window
        if window == "until-next-hand-ends" and table is None:
            window = "none"
        rule = None if version is None else version.rule
        closes = None if rule is None else closes_at(first.occurred_at, rule)
        if window == "until-next-hand-ends":
            closes = self._next_hand(last, str(table))
        return Window(
            player=first.player,
            partner=first.partner,
            stream=first.stream,
            request_id=first.request_id,
            event=first.event,
            table_id=table,
            first_position=first.position,
            last_position=last.position,
            occurred_at=first.occurred_at,
            stakes=_stakes(lines),
            rulebook=ref or (version and version.ref),
            window=window,
            rule=rule,
            closes_at=closes,
        )

    def _named(self, ref: str) -> Version | None:
        return next((version for version in self._versions if version.ref == ref), None)

    def _in_force(self, line: Line) -> Version | None:
        """Return the version of the player's rulebook in force, of those adopted by then."""
        view = BOOK["players"].c
        name = self._at.connection.execute(
            sa.select(view.rulebook).where(
                view.network == self._network, view.player == line.player
            )
        ).scalar()
        adopted = [
            one for one in self._versions if one.name == name and one.position < line.position
        ]
        day = line.occurred_at.astimezone(UTC).date()
        valid = [one for one in adopted if one.valid_from <= day]
        first = [one for one in adopted if one.valid_from == adopted[0].valid_from]
        return next(reversed(valid or first), None)

    def _next_hand(self, last: Line, table: str) -> datetime | None:
        """Return when the end of a table's next hand was recorded, if it was."""
        asked = {
            "pot": accounts.pot(self._network, table),
            "currency": last.currency,
            "after": last.position,
            "upto": self._upto,
            "stream": last.stream,
        }
        return self._at.connection.execute(_NEXT_HAND, asked).scalar()


def _stakes(lines: Iterable[Line]) -> tuple[Stake, ...]:
    sums: dict[str, list[int]] = {}
    for line in lines:
        total = sums.setdefault(line.currency, [0, 0])
        total[0] += max(line.amount_minor, 0)
        total[1] += line.amount_minor
    return tuple(Stake(currency, *total) for currency, total in sorted(sums.items()))


# A hand is posted when it has ended: when it was recorded is when its end was known.
_NEXT_HAND: Final = sa.text("""
SELECT recorded_at FROM book.commits
 WHERE last_position >= (
   SELECT position FROM book.lines JOIN book.kinds USING (kind)
    WHERE account = (SELECT account FROM book.accounts WHERE code = :pot AND currency = :currency)
      AND position > :after AND position <= :upto AND name = 'hand.staked.v1'
      AND NOT EXISTS (SELECT FROM journal.events
                       WHERE notification_id = position AND originator_id = :stream)
    ORDER BY position LIMIT 1)
 ORDER BY last_position LIMIT 1
""")
