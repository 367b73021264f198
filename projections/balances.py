"""Accounts, their running balances and the totals over them: what postings add up to."""

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from struct import Struct
from typing import Any, Final, LiteralString, NamedTuple

import psycopg
from psycopg import sql

from ledger import accounts as chart
from ledger.core import Posting
from projections.schema import BLOCK

CACHED: Final = 500_000
"""Accounts kept in memory; beyond them all are forgotten, and read again as they are needed."""

_ROW: Final = Struct(">hiqiqiqiqiiihih").pack
_COPY_HEADER: Final = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_COPY_TRAILER: Final = b"\xff\xff"
_POSTGRES_DAY_ONE: Final = date(2000, 1, 1).toordinal()
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_DAY: Final = 86_400_000_000
_STAMPS: Final = 10_000_000
"""More than there are days, before and after the year 2000, in any calendar that is used."""


Booked = tuple[int, int, int, tuple[Posting, ...]]
"""An event that moves money: position, microseconds since 2000-01-01 UTC, kind, postings."""


class Account:
    """An account in memory: its number, its component's number, its balance."""

    __slots__ = ("balance", "component", "facet", "number", "stamp", "stored", "total")

    def __init__(self, number: int, component: int, balance: int, stored: int | None) -> None:
        self.number = number
        self.component = component
        self.facet = component << 32
        self.balance = balance
        self.stored = stored
        """The balance in the table; None while the account is in no table."""
        self.stamp = 0
        """The batch and day for which ``total`` is where debits and credits are summed."""
        self.total = [0, 0]


Component = tuple[str, str, str | None, str]
"""Network, name, partner, currency."""


class Balances:
    """Numbers accounts in the order in which they first appear, and keeps what they hold."""

    def __init__(self, cursor: psycopg.Cursor[Any], book: str) -> None:
        self._book = sql.Identifier(book)
        self._known: dict[str, dict[str, Account]] = {}
        self._size = 0
        self._batches = 0
        self._components: dict[Component, int] = {
            (network, name, partner, currency): number
            for number, network, name, partner, currency in cursor.execute(
                self._sql("SELECT component, network, name, partner, currency FROM {}.components")
            )
        }
        row = cursor.execute(self._sql("SELECT max(account) FROM {}.accounts")).fetchone()
        self._next = ((row and row[0]) or 0) + 1

    def _sql(self, statement: LiteralString) -> sql.Composed:
        return sql.SQL(statement).format(self._book)

    def load(self, cursor: psycopg.Cursor[Any], events: Iterable[Booked]) -> list[tuple[str, str]]:
        """Read the accounts of these postings that are not in memory; return those unknown.

        The unknown ones come in order of first appearance, as (code, currency).
        """
        known = self._known
        missing: dict[tuple[str, str], None] = {}
        for _, _, _, postings in events:
            for code, currency, _ in postings:
                if code not in known.setdefault(currency, {}):
                    missing[code, currency] = None
        if missing:
            found = cursor.execute(
                self._sql(
                    "SELECT code, currency, account, component, balance_minor FROM {}.accounts"
                    " JOIN unnest(%b::text[], %b::text[]) AS asked (code, currency)"
                    " USING (code, currency)"
                ),
                ([code for code, _ in missing], [currency for _, currency in missing]),
            )
            for code, currency, number, component, balance in found:
                self._remember(code, currency, Account(number, component, balance, balance))
                del missing[code, currency]
        return list(missing)

    def open(
        self, cursor: psycopg.Cursor[Any], unknown: Iterable[tuple[str, str]], partners: Any
    ) -> None:
        """Number new accounts and write their rows, with a balance of zero."""
        rows = []
        for code, currency in unknown:
            account = chart.parse(code)
            partner = account.partner
            if partner is None and account.player is not None:
                partner = partners(account.network, account.player)
            component = self._component(cursor, account, partner, currency)
            rows.append(
                (
                    self._next,
                    component,
                    account.player,
                    code,
                    currency,
                    account.network,
                    account.table,
                )
            )
            self._remember(code, currency, Account(self._next, component, 0, 0))
            self._next += 1
        if rows:
            cursor.execute(
                self._sql(
                    "INSERT INTO {}.accounts (account, component, balance_minor, player, code,"
                    " currency, network, table_id) SELECT a, c, 0, p, code, currency, n, t FROM"
                    " unnest(%b::int[], %b::int[], %b::uuid[], %b::text[], %b::text[], %b::text[],"
                    " %b::text[]) AS opened (a, c, p, code, currency, n, t)"
                ),
                [list(column) for column in zip(*rows, strict=True)],
            )

    def _component(
        self,
        cursor: psycopg.Cursor[Any],
        account: chart.Account,
        partner: str | None,
        currency: str,
    ) -> int:
        key = (account.network, account.component, partner, currency)
        number = self._components.get(key)
        if number is None:
            number = self._components[key] = len(self._components) + 1
            cursor.execute(
                self._sql("INSERT INTO {}.components VALUES (%s, %s, %s, %s, %s, %s, 0, 0)"),
                (number, account.network, account.component, account.side, partner, currency),
            )
        return number

    def _remember(self, code: str, currency: str, account: Account) -> None:
        self._known.setdefault(currency, {})[code] = account
        self._size += 1

    def book(self, events: Iterable[Booked], find: Callable[[], None]) -> "Work":
        """Run the postings over the balances, and return what there is to write.

        ``find`` is called when an account is not in memory, and sees to it that all are.
        """
        # The busiest loop of the projections: 150,000 lines a second are meant to pass here.
        work = Work([_COPY_HEADER], {}, {}, set(), set(), {}, {})
        rows, totals, touched, component_blocks, kind_blocks, blocks, days = work
        known, pack, append, touch = self._known, _ROW, rows.append, component_blocks.add
        self._batches += 1
        first_stamp = self._batches * _STAMPS
        last_block = last_occurred = day = -1
        span = [0, 0]
        for position, occurred, kind, postings in events:
            block = position // BLOCK
            kind_blocks.add(kind << 32 | block)
            if occurred != last_occurred or block != last_block:
                last_block, last_occurred, day = block, occurred, occurred // _DAY
                _extend(blocks, block, occurred)
                span = _extend(days, day, position)
            span[1] = position
            stamp = first_stamp + day
            for line, (code, currency, amount) in enumerate(postings):
                try:
                    account = known[currency][code]
                except KeyError:
                    find()
                    account = known[currency][code]
                account.balance = balance = account.balance + amount
                number = account.number
                # fmt: off
                append(pack(7, 8, position, 8, amount, 8, balance, 8, occurred,
                            4, number, 2, line, 2, kind))
                # fmt: on
                touch(account.facet | block)
                if account.stamp != stamp:
                    account.stamp = stamp
                    account.total = totals.setdefault((account.component, day), [0, 0])
                    touched[number] = account
                if amount > 0:
                    account.total[0] += amount
                else:
                    account.total[1] -= amount
        append(_COPY_TRAILER)
        return work

    def write(self, cursor: psycopg.Cursor[Any], work: "Work", recorded_day: date) -> None:
        """Write a batch's entries, and bring balances and totals to where they are in memory."""
        with cursor.copy(
            self._sql(
                "COPY {}.entries (position, amount_minor, balance_minor, occurred_at, account,"
                " line, kind) FROM STDIN (FORMAT binary)"
            )
        ) as copy:
            copy.write(b"".join(work.rows))
        self._write_balances(cursor, work)
        self._write_totals(cursor, work, recorded_day)
        self._write_signposts(cursor, work)
        if self._size > CACHED:
            self._known, self._size = {}, 0

    def _write_balances(self, cursor: psycopg.Cursor[Any], work: "Work") -> None:
        changed = [a for a in work.touched.values() if a.balance != a.stored]
        # In order of number: the rows lie in that order, and locks are taken in it.
        changed.sort(key=lambda account: account.number)
        cursor.execute(
            self._sql(
                "UPDATE {}.accounts SET balance_minor = now.balance"
                " FROM unnest(%b::int[], %b::bigint[]) AS now (number, balance)"
                " WHERE account = now.number"
            ),
            ([a.number for a in changed], [a.balance for a in changed]),
        )
        for account in changed:
            account.stored = account.balance

    def _write_totals(self, cursor: psycopg.Cursor[Any], work: "Work", recorded_day: date) -> None:
        by_component: dict[int, list[int]] = {}
        for (component, _), (debit, credit) in work.totals.items():
            total = by_component.setdefault(component, [0, 0])
            total[0] += debit
            total[1] += credit
        cursor.execute(
            self._sql(
                "UPDATE {}.components SET debit_minor = debit_minor + more.debit,"
                " credit_minor = credit_minor + more.credit"
                " FROM unnest(%b::int[], %b::bigint[], %b::bigint[])"
                " AS more (number, debit, credit)"
                " WHERE component = more.number"
            ),
            (
                list(by_component),
                [debit for debit, _ in by_component.values()],
                [credit for _, credit in by_component.values()],
            ),
        )
        cursor.execute(
            self._sql(
                "INSERT INTO {}.totals AS kept SELECT component, day, %s, debit, credit"
                " FROM unnest(%b::int[], %b::date[], %b::bigint[], %b::bigint[])"
                " AS more (component, day, debit, credit)"
                " ON CONFLICT (component, occurred_day, recorded_day) DO UPDATE"
                " SET debit_minor = kept.debit_minor + excluded.debit_minor,"
                " credit_minor = kept.credit_minor + excluded.credit_minor"
            ),
            (
                recorded_day,
                [component for component, _ in work.totals],
                [_date(day) for _, day in work.totals],
                [debit for debit, _ in work.totals.values()],
                [credit for _, credit in work.totals.values()],
            ),
        )

    def _write_signposts(self, cursor: psycopg.Cursor[Any], work: "Work") -> None:
        for table, pairs in (
            ("component_blocks", work.component_blocks),
            ("kind_blocks", work.kind_blocks),
        ):
            ordered = sorted(pairs)
            cursor.execute(
                sql.SQL(
                    "INSERT INTO {}.{} SELECT * FROM unnest(%b::int[], %b::int[])"
                    " ON CONFLICT DO NOTHING"
                ).format(self._book, sql.Identifier(table)),
                ([pair >> 32 for pair in ordered], [pair & 0xFFFFFFFF for pair in ordered]),
            )
        cursor.execute(
            self._sql(
                "INSERT INTO {}.blocks AS kept SELECT block, %s + first * %s, %s + last * %s"
                " FROM unnest(%b::int[], %b::bigint[], %b::bigint[]) AS more (block, first, last)"
                " ON CONFLICT (block) DO UPDATE SET"
                " first_occurred_at = least(kept.first_occurred_at, excluded.first_occurred_at),"
                " last_occurred_at = greatest(kept.last_occurred_at, excluded.last_occurred_at)"
            ),
            (
                *(_EPOCH, _MICROSECOND, _EPOCH, _MICROSECOND),
                list(work.blocks),
                [first for first, _ in work.blocks.values()],
                [last for _, last in work.blocks.values()],
            ),
        )
        cursor.execute(
            self._sql(
                "INSERT INTO {}.days AS kept SELECT * FROM"
                " unnest(%b::date[], %b::bigint[], %b::bigint[])"
                " ON CONFLICT (occurred_day) DO UPDATE SET last_position = excluded.last_position"
            ),
            (
                [_date(day) for day in work.days],
                [first for first, _ in work.days.values()],
                [last for _, last in work.days.values()],
            ),
        )


class Work(NamedTuple):
    """What a batch changes, in memory until it is written."""

    rows: list[bytes]
    totals: dict[tuple[int, int], list[int]]
    touched: dict[int, Account]
    component_blocks: set[int]
    kind_blocks: set[int]
    blocks: dict[int, list[int]]
    """Block -> first and last instant of its entries."""
    days: dict[int, list[int]]
    """Day -> first and last position of its entries."""


def _extend(ranges: dict[int, list[int]], key: int, value: int) -> list[int]:
    """Let the range of a key include a value; return the range."""
    known = ranges.get(key)
    if known is None:
        known = ranges[key] = [value, value]
    elif value < known[0]:
        known[0] = value
    elif value > known[1]:
        known[1] = value
    return known


def _date(day: int) -> date:
    return date.fromordinal(_POSTGRES_DAY_ONE + day)
