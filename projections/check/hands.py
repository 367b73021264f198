"""Money in every event and every hand: postings sum to zero, pots empty, seats agree."""

from collections import defaultdict
from typing import Final

from ledger import accounts
from ledger.core import Event, Posting
from ledger.hands.events import hand_stream
from ledger.tables.events import HandSettled, TableState, evolve
from projections.check.report import Report
from projections.routes import network_of

POT: Final = "pot:"
CHIPS: Final = "chips:"

Lines = tuple[Posting, ...]


class HandCheck:
    """Follows tables and hands through the journal; told of every event in order."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._tables: dict[str, TableState | None] = {}
        self._chips: dict[tuple[str, str], int] = defaultdict(int)
        self._moved: dict[str, dict[str, int]] = {}
        self._settled: dict[str, dict[str, int]] = {}

    def note(self, stream: str, position: int, event: Event, lines: Lines) -> None:
        """Take an event with its postings."""
        if lines:
            self._balanced(stream, position, lines)
            for code, currency, amount in lines:
                if code.startswith(CHIPS):
                    self._chips[code, currency] -= amount
        if stream.startswith("hand:"):
            moved = self._moved.setdefault(stream, defaultdict(int))
            for code, _, amount in lines:
                if code.startswith((POT, CHIPS)):
                    moved[code] += amount
        elif stream.startswith("table:"):
            if type(event) is HandSettled:
                self._note_settled(stream, position, event)
            self._tables[stream] = evolve(self._tables.get(stream), event)

    def _balanced(self, stream: str, position: int, lines: Lines) -> None:
        currency = lines[0].currency
        total = sum(amount for _, used, amount in lines if used == currency)
        if total or any(line.currency != currency for line in lines):
            sums: dict[str, int] = defaultdict(int)
            for _, used, amount in lines:
                sums[used] += amount
            for used, amount in sums.items():
                if amount:
                    self._report.add(
                        "unbalanced-event",
                        f"position {position}, {stream}",
                        f"postings sum to {amount} {used}",
                    )

    def _note_settled(self, stream: str, position: int, event: HandSettled) -> None:
        table, network = self._tables.get(stream), network_of(stream)
        nets = self._settled.setdefault(hand_stream(network, event.game_number), {})
        for number, net in event.net_minor.items():
            seat = table.seats.get(number) if table is not None else None
            if table is None or seat is None:
                self._report.add(
                    "empty-seat-settled",
                    f"position {position}, {stream}",
                    f"nobody sits in seat {number} in hand {event.game_number}",
                )
            else:
                nets[accounts.chips(network, table.table_id, seat.player)] = -net

    def end_commit(self) -> None:
        """Compare what the commit's hands moved with what their tables say."""
        for hand in {**self._moved, **self._settled}:
            moved = {code: net for code, net in self._moved.get(hand, {}).items() if net}
            for code in [code for code in moved if code.startswith(POT)]:
                self._report.add(
                    "hand-does-not-add-up",
                    hand,
                    f"staked less returned is not awarded, rake and drop:"
                    f" {moved.pop(code)} left in {code}",
                )
            settled = {code: net for code, net in self._settled.get(hand, {}).items() if net}
            for code in sorted({**moved, **settled}):
                if moved.get(code, 0) != settled.get(code, 0):
                    self._report.add(
                        "table-differs-from-hand",
                        hand,
                        f"{code}: the hand's postings give {-moved.get(code, 0)},"
                        f" its table's event {-settled.get(code, 0)}",
                    )
        self._report.hands += len(self._settled)
        self._moved, self._settled = {}, {}

    def end(self) -> None:
        """Compare the chips in front of players with what is posted to their accounts."""
        at_tables: dict[tuple[str, str], int] = defaultdict(int)
        for stream, table in self._tables.items():
            if table is not None:
                for seat in table.seats.values():
                    code = accounts.chips(network_of(stream), table.table_id, seat.player)
                    at_tables[code, table.currency] += seat.chips_minor
        for key in sorted({**at_tables, **self._chips}):
            if at_tables.get(key, 0) != self._chips.get(key, 0):
                self._report.add(
                    "table-chips-differ",
                    key[0],
                    f"{at_tables.get(key, 0)} in front of the player,"
                    f" {self._chips.get(key, 0)} posted, in minor units of {key[1]}",
                )
