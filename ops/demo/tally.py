"""What the demonstration sent and was answered, added up by itself.

The ledger's own totals are held against these at the end: neither is worked out from the other.
"""

from dataclasses import dataclass, field
from typing import Final

from ops.simulator.room import Dealt

JACKPOT_SHARE: Final = 10
"""The pool gets one in so many cents of rake, whole cents only, table by table. Source: D."""


@dataclass
class Tally:
    """Real money in cents, and counts."""

    deposited: int = 0
    debts_collected: int = 0
    taken_back: int = 0
    paid_out: int = 0
    resynced: int = 0
    rake: dict[str, int] = field(default_factory=dict)
    jackpot_tables: set[str] = field(default_factory=set)
    jackpots_paid: int = 0
    play_money: int = 0
    hands: int = 0
    batches: int = 0
    singles: int = 0
    repeated: int = 0
    moves: int = 0
    kinds: set[tuple[str, str]] = field(default_factory=set)

    def booked(self, dealt: Dealt) -> None:
        """Count a hand that was booked."""
        limits = dealt.heading.limits
        self.hands += 1
        self.kinds.add((limits.game, limits.bet_type))
        if limits.currency == "EUR":
            self.rake[dealt.table] = self.rake.get(dealt.table, 0) + dealt.rake

    @property
    def jackpots(self) -> int:
        """What the jackpots' pools must have got out of the rake."""
        return sum(self.rake.get(table, 0) // JACKPOT_SHARE for table in self.jackpot_tables)

    @property
    def pool(self) -> int:
        """What the jackpots' pools must hold."""
        return self.jackpots - self.jackpots_paid

    @property
    def income(self) -> int:
        """What is left of the rake."""
        return sum(self.rake.values()) - self.jackpots

    @property
    def liability(self) -> int:
        """What players are owed: what came in, less what went out or became the room's."""
        came = self.deposited - self.debts_collected - self.taken_back
        return came - self.paid_out - self.income + self.resynced

    @property
    def games(self) -> int:
        """How many games were played."""
        return len({game for game, _ in self.kinds})

    @property
    def limits(self) -> int:
        """At how many kinds of limit."""
        return len({bet_type for _, bet_type in self.kinds})
