"""A batch's events, run over the balances in memory: the busiest lines of the projections."""

from struct import Struct
from typing import Final

from projections.hours import HOUR
from projections.schema import BLOCK

# A row of entries in PostgreSQL's binary COPY, every field preceded by its length. What several
# rows have alike is packed once: the position, the instant, the account, the line with the kind.
_POSITION: Final = Struct(">hiq").pack
_INSTANT: Final = Struct(">iq").pack
_ACCOUNT: Final = Struct(">ii").pack
_END: Final = Struct(">ihih").pack
_ROW: Final = Struct(">14siqiq12s8s12s").pack


class Stretch:
    """Events of a batch that follow each other within one block and one hour of occurring."""

    __slots__ = ("block", "earliest", "first", "hour", "kinds", "last", "latest")

    def __init__(self, block: int, hour: int, position: int, occurred: int) -> None:
        self.block = block
        self.hour = hour
        self.first = position
        self.last = position
        """Positions of its first and last event."""
        self.earliest = occurred
        self.latest = occurred
        """Between which instants they happened, in microseconds since 2000-01-01 UTC."""
        self.kinds: set[int] = set()
        """Numbers of their stored names."""


class Component:
    """A component in memory: its number, and the sums of all of its entries so far."""

    __slots__ = ("credit", "debit", "number", "stretch", "turns")

    def __init__(self, number: int, debit: int, credit: int) -> None:
        self.number = number
        self.debit = debit
        self.credit = credit
        self.stretch = 0
        """The last stretch in which it has entries."""
        self.turns: list[tuple[int, int, int]] = []
        """The batch's stretches in which it has entries, with its sums where each begins."""


class Account:
    """An account in memory: its number, its component, its balance."""

    __slots__ = ("balance", "batch", "component", "field", "number", "stored")

    def __init__(self, number: int, component: Component, balance: int) -> None:
        self.number = number
        self.field: bytes = _ACCOUNT(4, number)
        """The number as a row has it."""
        self.component = component
        self.balance = balance
        self.stored = balance
        """The balance in the table."""
        self.batch = 0
        """The last batch in which it has entries."""


Booked = tuple[int, int, int, tuple[Account, ...], tuple[int, ...]]
"""An event that moves money: position, microseconds since 2000-01-01 UTC, kind, and by line the
account and the amount."""


class Run:
    """What the events of one batch change, some of them run after the others.

    Batches and stretches are counted from 1, on and on.
    """

    def __init__(self, batch: int, stretch: int) -> None:
        self.batch = batch
        self.stretch = stretch
        """The last one."""
        self.touched: list[Account] = []
        self.moved: list[Component] = []
        self.stretches: list[Stretch] = []
        self._here = Stretch(-1, -1, 0, 0)
        self._ends: dict[int, list[bytes]] = {}
        """How the rows of each kind end, by line."""

    def book(self, events: list[Booked]) -> list[bytes]:
        """Run events over the balances; return the rows of their entries."""
        # 300,000 lines a second are meant to pass here.
        rows: list[bytes] = []
        touched, moved, stretches, ends = self.touched, self.moved, self.stretches, self._ends
        batch, stretch, here = self.batch, self.stretch, self._here
        last_block, last_hour, last_position = here.block, here.hour, here.last
        last_occurred, instant = -1, b""
        for position, occurred, kind, accounts, amounts in events:
            block = position // BLOCK
            if occurred != last_occurred or block != last_block:
                hour = occurred // HOUR
                if block != last_block or hour != last_hour:
                    here.last = last_position
                    here = Stretch(block, hour, position, occurred)
                    stretches.append(here)
                    stretch += 1
                elif occurred < here.earliest:
                    here.earliest = occurred
                elif occurred > here.latest:
                    here.latest = occurred
                last_block, last_hour, last_occurred = block, hour, occurred
                instant = _INSTANT(8, occurred)
            here.kinds.add(kind)
            last_position = position
            start = _POSITION(7, 8, position)
            end = ends.get(kind)
            if end is None or len(end) < len(accounts):
                end = ends[kind] = [_END(2, line, 2, kind) for line in range(len(accounts))]
            for line, account in enumerate(accounts):
                amount = amounts[line]
                balance = account.balance + amount
                account.balance = balance
                rows.append(_ROW(start, 8, amount, 8, balance, instant, account.field, end[line]))
                if account.batch != batch:
                    account.batch = batch
                    touched.append(account)
                component = account.component
                if component.stretch != stretch:
                    component.stretch = stretch
                    if not component.turns:
                        moved.append(component)
                    component.turns.append((len(stretches) - 1, component.debit, component.credit))
                if amount > 0:
                    component.debit += amount
                else:
                    component.credit -= amount
        here.last = last_position
        self.stretch, self._here = stretch, here
        return rows
