"""Accounts, their running balances and the totals over them: what postings add up to."""

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from struct import Struct
from typing import Any, Final, LiteralString, NamedTuple

import psycopg
from psycopg import sql

from ledger import accounts as chart
from ledger.core import Posting
from projections.components import Component, Components, Stretch
from projections.hours import HOUR, HOURS_A_DAY, begin_of, date_of
from projections.schema import BLOCK

CACHED: Final = 500_000
"""Accounts kept in memory; beyond them all are forgotten, and read again as they are needed."""

_ROW: Final = Struct(">hiqiqiqiqiiihih").pack
_COPY_HEADER: Final = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_COPY_TRAILER: Final = b"\xff\xff"
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

Booked = tuple[int, int, int, tuple[Posting, ...]]
"""An event that moves money: position, microseconds since 2000-01-01 UTC, kind, postings."""


class Account:
    """An account in memory: its number, its component, its balance."""

    __slots__ = ("balance", "batch", "component", "number", "stored")

    def __init__(self, number: int, component: Component, balance: int, stored: int | None) -> None:
        self.number = number
        self.component = component
        self.balance = balance
        self.stored = stored
        """The balance in the table; None while the account is in no table."""
        self.batch = 0
        """The last batch in which it has entries."""


Unknown = dict[tuple[str, str], int]
"""Code and currency of accounts that are in no table -> position of their first entry, in order."""


class Balances:
    """Numbers accounts in the order in which they first appear, and keeps what they hold."""

    def __init__(self, cursor: psycopg.Cursor[Any], book: str) -> None:
        self._book = sql.Identifier(book)
        self._known: dict[str, dict[str, Account]] = {}
        self._size = 0
        self._batches = self._stretches = 0
        self._components = Components(cursor, book)
        row = cursor.execute(self._sql("SELECT max(account) FROM {}.accounts")).fetchone()
        self._next = ((row and row[0]) or 0) + 1

    def _sql(self, statement: LiteralString) -> sql.Composed:
        return sql.SQL(statement).format(self._book)

    def load(self, cursor: psycopg.Cursor[Any], events: Iterable[Booked]) -> Unknown:
        """Read the accounts of these postings that are not in memory; return those unknown."""
        known = self._known
        missing: Unknown = {}
        for position, _, _, postings in events:
            for code, currency, _ in postings:
                if code not in known.setdefault(currency, {}):
                    missing.setdefault((code, currency), position)
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
                account = Account(number, self._components[component], balance, balance)
                self._remember(code, currency, account)
                del missing[code, currency]
        return missing

    def open(self, cursor: psycopg.Cursor[Any], unknown: Unknown, partners: Any) -> None:
        """Number new accounts and write their rows, with a balance of zero."""
        rows = []
        for (code, currency), position in unknown.items():
            account = chart.parse(code)
            partner = account.partner
            if partner is None and account.player is not None:
                partner = partners(account.network, account.player)
            component = self._components.of(cursor, account, partner, currency)
            rows.append(
                (
                    self._next,
                    component.number,
                    position,
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
                    "INSERT INTO {}.accounts (account, component, balance_minor, first_position,"
                    " player, code, currency, network, table_id)"
                    " SELECT a, c, 0, f, p, code, currency, n, t FROM"
                    " unnest(%b::int[], %b::int[], %b::bigint[], %b::uuid[], %b::text[],"
                    " %b::text[], %b::text[], %b::text[])"
                    " AS opened (a, c, f, p, code, currency, n, t)"
                ),
                [list(column) for column in zip(*rows, strict=True)],
            )

    def _remember(self, code: str, currency: str, account: Account) -> None:
        self._known.setdefault(currency, {})[code] = account
        self._size += 1

    def book(self, events: Iterable[Booked], find: Callable[[], None]) -> "Work":
        """Run the postings over the balances, and return what there is to write.

        ``find`` is called when an account is not in memory, and sees to it that all are.
        """
        # The busiest loop of the projections: 150,000 lines a second are meant to pass here.
        work = Work([_COPY_HEADER], [], [], [], set(), {})
        rows, touched, moved, stretches, kind_blocks, blocks = work
        known, pack, append = self._known, _ROW, rows.append
        self._batches += 1
        batch, before = self._batches, self._stretches
        last_block = last_hour = last_occurred = last_position = -1
        for position, occurred, kind, postings in events:
            block = position // BLOCK
            kind_blocks.add(kind << 32 | block)
            if occurred != last_occurred or block != last_block:
                hour = occurred // HOUR
                if block != last_block or hour != last_hour:
                    if stretches:
                        stretches[-1].last = last_position
                    stretches.append(Stretch(block, hour, position))
                last_block, last_hour, last_occurred = block, hour, occurred
                _extend(blocks, block, occurred)
            last_position = position
            stretch = before + len(stretches)
            for line, (code, currency, amount) in enumerate(postings):
                try:
                    account = known[currency][code]
                except KeyError:
                    find()
                    account = known[currency][code]
                account.balance = balance = account.balance + amount
                # fmt: off
                append(pack(7, 8, position, 8, amount, 8, balance, 8, occurred,
                            4, account.number, 2, line, 2, kind))
                # fmt: on
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
        if stretches:
            stretches[-1].last = last_position
        self._stretches += len(stretches)
        append(_COPY_TRAILER)
        return work

    def write(self, cursor: psycopg.Cursor[Any], work: "Work", recorded_day: date) -> None:
        """Write a batch's entries, and bring balances and sums to where they are in memory."""
        if not work.stretches:
            return
        with cursor.copy(
            self._sql(
                "COPY {}.entries (position, amount_minor, balance_minor, occurred_at, account,"
                " line, kind) FROM STDIN (FORMAT binary)"
            )
        ) as copy:
            copy.write(b"".join(work.rows))
        self._write_balances(cursor, work)
        self._components.write(cursor, work.moved, work.stretches, recorded_day)
        self._write_signposts(cursor, work)
        if self._size > CACHED:
            self._known, self._size = {}, 0

    def _write_balances(self, cursor: psycopg.Cursor[Any], work: "Work") -> None:
        changed = [account for account in work.touched if account.balance != account.stored]
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

    def _write_signposts(self, cursor: psycopg.Cursor[Any], work: "Work") -> None:
        kinds = sorted(work.kind_blocks)
        cursor.execute(
            self._sql(
                "INSERT INTO {}.kind_blocks SELECT * FROM unnest(%b::int[], %b::int[])"
                " ON CONFLICT DO NOTHING"
            ),
            ([pair >> 32 for pair in kinds], [pair & 0xFFFFFFFF for pair in kinds]),
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
        hours = sorted({(stretch.hour, stretch.block) for stretch in work.stretches})
        cursor.execute(
            self._sql(
                "INSERT INTO {}.hour_blocks SELECT * FROM unnest(%b::timestamptz[], %b::int[])"
                " ON CONFLICT DO NOTHING"
            ),
            ([begin_of(hour) for hour, _ in hours], [block for _, block in hours]),
        )
        days: dict[int, list[int]] = {}
        for stretch in work.stretches:
            span = days.setdefault(stretch.hour // HOURS_A_DAY, [stretch.first, 0])
            span[1] = stretch.last
        cursor.execute(
            self._sql(
                "INSERT INTO {}.days AS kept SELECT * FROM"
                " unnest(%b::date[], %b::bigint[], %b::bigint[])"
                " ON CONFLICT (occurred_day) DO UPDATE SET last_position = excluded.last_position"
            ),
            (
                [date_of(day) for day in days],
                [first for first, _ in days.values()],
                [last for _, last in days.values()],
            ),
        )


class Work(NamedTuple):
    """What a batch changes, in memory until it is written."""

    rows: list[bytes]
    touched: list[Account]
    moved: list[Component]
    stretches: list[Stretch]
    kind_blocks: set[int]
    blocks: dict[int, list[int]]
    """Block -> first and last instant of its entries."""


def _extend(ranges: dict[int, list[int]], key: int, value: int) -> None:
    """Let the range of a key include a value."""
    known = ranges.get(key)
    if known is None:
        ranges[key] = [value, value]
    elif value < known[0]:
        known[0] = value
    elif value > known[1]:
        known[1] = value
