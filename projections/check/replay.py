"""The entries, folded again from the events and compared with the rows of the projection."""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from struct import Struct
from typing import Any, Final, LiteralString

import psycopg
from psycopg import sql

from ledger import accounts as chart
from ledger.core import Event, Posting
from ledger.recorder import microseconds
from ledger.rows import COPY_HEADER, COPY_TRAILER
from projections.check.report import Report
from projections.hours import HOUR, HOURS_A_DAY, begin_of, date_of

_ROW: Final = Struct(">hiqiqiqiqiiihih")
"""A row of entries in PostgreSQL's binary COPY: every field is preceded by its length."""

_KEY_LENGTH: Final = 14
_LINE_AT: Final = 62
_LINE_END: Final = 64
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)

Key = tuple[str, str]
"""Account code and currency."""

Component = tuple[str, str, str, str | None, str]
"""Network, name, side, partner, currency."""


class Replay:
    """Folds entries anew, in plain steps of its own, and compares batch by batch."""

    def __init__(self, connection: psycopg.Connection[Any], book: str, report: Report) -> None:
        self._connection = connection
        self._book = sql.Identifier(book)
        self._name = book
        self._report = report
        self.balances: dict[Key, int] = {}
        self._numbers: dict[Key, int] = {}
        self._firsts: dict[Key, int] = {}
        self._kinds: dict[str, int] = {}
        self._components: dict[Key, int] = {
            (code, currency): component
            for code, currency, component in self._select(
                "SELECT code, currency, component FROM {book}.accounts"
            )
        }
        self._totals: dict[tuple[int, int, date], list[int]] = {}
        """Debits and credits by component, hour in which they occurred, day of recording."""
        self._rows: list[bytes] = []
        self._from = 0

    def _select(self, statement: LiteralString) -> psycopg.Cursor[Any]:
        return self._connection.cursor().execute(sql.SQL(statement).format(book=self._book))

    def note(self, position: int, event: Event, lines: tuple[Posting, ...], day: date) -> None:
        """Take an event that moves money, and the day on which it was recorded."""
        kind = self._kinds.setdefault(event.NAME, len(self._kinds) + 1)
        occurred = microseconds(event.occurred_at)
        hour = occurred // HOUR
        for line, (code, currency, amount) in enumerate(lines):
            key = (code, currency)
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = len(self._numbers) + 1
                self._firsts[key] = position
            balance = self.balances[key] = self.balances.get(key, 0) + amount
            self._rows.append(
                _ROW.pack(
                    *(7, 8, position, 8, amount, 8, balance, 8, occurred),
                    *(4, number, 2, line, 2, kind),
                )
            )
            place = (self._components.get(key, 0), hour, day)
            total = self._totals.setdefault(place, [0, 0])
            total[amount < 0] += abs(amount)

    def end_batch(self, last: int) -> None:
        """Compare the entries up to a position with those that were folded."""
        statement = sql.SQL(
            "COPY (SELECT position, amount_minor, balance_minor, occurred_at, account, line, kind"
            " FROM {book}.entries WHERE position > {first} AND position <= {last}"
            " ORDER BY position, line) TO STDOUT (FORMAT binary)"
        ).format(book=self._book, first=sql.Literal(self._from), last=sql.Literal(last))
        with self._connection.cursor().copy(statement) as copy:
            found = b"".join(copy)[len(COPY_HEADER) : -len(COPY_TRAILER)]
        if found != b"".join(self._rows):
            self._name_differences(found)
        self._report.entries += len(self._rows)
        self._rows, self._from = [], last

    def _name_differences(self, found: bytes) -> None:
        kept = {row[:_KEY_LENGTH] + row[_LINE_AT:_LINE_END]: row for row in _rows(found)}
        folded = {row[:_KEY_LENGTH] + row[_LINE_AT:_LINE_END]: row for row in self._rows}
        for key in sorted({**kept, **folded}):
            if kept.get(key) != folded.get(key):
                row = kept.get(key) or folded[key]
                self._report.add(
                    "entry-differs",
                    f"entry {_ROW.unpack(row)[2]}/{_ROW.unpack(row)[12]}",
                    f"kept: {_described(kept.get(key))}; the events give:"
                    f" {_described(folded.get(key))}",
                    f"{self._name}.entries",
                )

    def end(self) -> None:
        """Compare what the entries add up to, and that there are no others."""
        self._check_beyond()
        self._check_accounts()
        self._check_kinds()
        self._check_totals()

    def _check_beyond(self) -> None:
        beyond = sql.SQL(
            "SELECT count(*), min(position) FROM {book}.entries WHERE position > {last}"
            " OR position < 1"
        ).format(book=self._book, last=sql.Literal(self._from))
        count, first = self._connection.execute(beyond).fetchone() or (0, None)
        if count:
            self._report.add(
                "entries-beyond-journal",
                f"entries from position {first}",
                f"{count} entries that belong to no event up to {self._from}",
                f"{self._name}.entries",
            )

    def _check_accounts(self) -> None:
        """Compare each account: number, balance, and what its code says of it."""
        left = dict(self._numbers)
        components: dict[Component, int] = {}
        for row in self._select(
            "SELECT a.account, a.component, a.code, a.currency, a.balance_minor,"
            " a.first_position, a.network,"
            " a.player::text, a.table_id, p.partner FROM {book}.accounts a"
            " LEFT JOIN {book}.players p ON p.player = a.player ORDER BY a.account"
        ):
            number, component, code, currency, balance, first, *kept, players_partner = row
            key = (code, currency)
            folded = (left.pop(key, None), self.balances.get(key), self._firsts.get(key))
            if (number, balance, first) != folded:
                self._report.add(
                    "account-differs",
                    f"account {code} {currency}",
                    f"kept: number {number}, balance {balance}, first at {first}; its entries"
                    f" give number {folded[0]}, balance {folded[1]}, first at {folded[2]}",
                    f"{self._name}.accounts",
                )
                if folded[0] is None:
                    continue
            account = chart.parse(code)
            partner = account.partner if account.player is None else players_partner
            facts = (account.network, account.component, account.side, partner, currency)
            place = components.setdefault(facts, len(components) + 1)
            given = [place, account.network, account.player, account.table]
            if [component, *kept] != given:
                self._report.add(
                    "account-misplaced",
                    f"account {code} {currency}",
                    f"kept: {[component, *kept]}; its code gives {given}",
                    f"{self._name}.accounts",
                )
        for (code, currency), number in left.items():
            self._report.add(
                "account-missing",
                f"account {code} {currency}",
                f"number {number} is not kept",
                f"{self._name}.accounts",
            )
        self._check_components({number: facts for facts, number in components.items()})

    def _check_components(self, given: dict[int, Component]) -> None:
        """Compare each component with what the codes of its accounts say of it."""
        kept = {
            number: tuple(facts)
            for number, *facts in self._select(
                "SELECT component, network, name, side, partner, currency FROM {book}.components"
            )
        }
        for number in sorted({**kept, **given}):
            if kept.get(number) != given.get(number):
                self._report.add(
                    "component-misplaced",
                    f"component {number}",
                    f"kept: {kept.get(number)}; its accounts give {given.get(number)}",
                    f"{self._name}.components",
                )

    def _check_kinds(self) -> None:
        kept = dict(self._select("SELECT name, kind FROM {book}.kinds").fetchall())
        if kept != self._kinds:
            self._report.add(
                "kinds-differ",
                "kinds",
                f"kept: {kept}; folded: {self._kinds}",
                f"{self._name}.kinds",
            )

    def _check_totals(self) -> None:
        """Compare the sums by hour, by day and in all with those of the entries."""
        days: dict[tuple[int, date, date], list[int]] = {}
        sums: dict[int, list[int]] = {}
        for (component, hour, recorded), (debit, credit) in self._totals.items():
            day = date_of(hour // HOURS_A_DAY)
            for total in (
                days.setdefault((component, day, recorded), [0, 0]),
                sums.setdefault(component, [0, 0]),
            ):
                total[0] += debit
                total[1] += credit
        hours = {
            (component, begin_of(hour), recorded): total
            for (component, hour, recorded), total in self._totals.items()
        }
        self._compare_totals(hours, "hour_totals", "occurred_hour")
        self._compare_totals(days, "totals", "occurred_day")
        for component, name, debit, credit in self._select(
            "SELECT component, concat_ws(' ', network, name, partner, currency), debit_minor,"
            " credit_minor FROM {book}.components"
        ):
            if [debit, credit] != sums.get(component, [0, 0]):
                self._report.add(
                    "component-differs",
                    f"component {name}",
                    f"kept: {[debit, credit]}; the entries give {sums.get(component)}",
                    f"{self._name}.components",
                )

    def _compare_totals(
        self, given: Mapping[tuple[int, Any, date], list[int]], table: str, occurred: str
    ) -> None:
        statement = sql.SQL(
            "SELECT component, {}, recorded_day, debit_minor, credit_minor FROM {}"
        ).format(sql.Identifier(occurred), sql.Identifier(self._name, table))
        kept = {
            (component, at, recorded): [debit, credit]
            for component, at, recorded, debit, credit in self._connection.execute(statement)
        }
        for key in sorted(kept.keys() | given.keys()):
            if kept.get(key) != given.get(key):
                self._report.add(
                    "total-differs",
                    f"component {key[0]}, occurred {key[1]}, recorded {key[2]}",
                    f"kept: {kept.get(key)}; the entries give {given.get(key)}",
                    f"{self._name}.{table}",
                )


def _rows(copied: bytes) -> Iterator[bytes]:
    for begin in range(0, len(copied), _ROW.size):
        yield copied[begin : begin + _ROW.size]


def _described(row: bytes | None) -> str:
    if row is None:
        return "nothing"
    _, _, _, _, amount, _, balance, _, occurred, _, account, _, _, _, kind = _ROW.unpack(row)
    at = _EPOCH + timedelta(microseconds=occurred)
    return f"amount {amount}, balance {balance}, account {account}, {at.isoformat()}, kind {kind}"
