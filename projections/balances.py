"""Accounts, their running balances and the totals over them: what postings add up to."""

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from struct import Struct
from typing import Any, Final, LiteralString, NamedTuple

import psycopg
from psycopg import sql

from ledger import accounts as chart
from ledger.core import Posting
from projections.components import Component, Components
from projections.hours import HOUR
from projections.schema import BLOCK
from projections.signposts import Signposts
from projections.stretches import Stretch
from projections.writes import Write, columns, statement

CACHED: Final = 500_000
"""Accounts kept in memory; beyond them all are forgotten, and read again as they are needed."""

_ROW: Final = Struct(">hiqiqiqiqiiihih").pack
_COPY_HEADER: Final = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_COPY_TRAILER: Final = b"\xff\xff"
_COPY: Final = """
COPY {}.entries (position, amount_minor, balance_minor, occurred_at, account, line, kind)
FROM STDIN (FORMAT binary)
"""
_SET_BALANCES: Final = """
UPDATE {}.accounts SET balance_minor = now.balance
  FROM unnest(%b::int[], %b::bigint[]) AS now (number, balance) WHERE account = now.number
"""

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
        self._signposts = Signposts(book)
        self._copy = statement(_COPY, book)
        self._set_balances = statement(_SET_BALANCES, book)
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
            for code, currency, number, component, balance in found.fetchall():
                placed = self._components.get(cursor, component)
                account = Account(number, placed, balance, balance)
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
                columns(rows),
            )

    def _remember(self, code: str, currency: str, account: Account) -> None:
        self._known.setdefault(currency, {})[code] = account
        self._size += 1

    def book(self, events: Iterable[Booked], find: Callable[[], None]) -> "Work":
        """Run the postings over the balances, and return what there is to write.

        ``find`` is called when an account is not in memory, and sees to it that all are.
        """
        # The busiest loop of the projections: 150,000 lines a second are meant to pass here.
        work = Work([_COPY_HEADER], [], [], [])
        rows, touched, moved, stretches = work
        known, pack, append = self._known, _ROW, rows.append
        self._batches += 1
        batch, before = self._batches, self._stretches
        here = Stretch(-1, 0, 0, 0)
        last_block = last_hour = last_occurred = last_position = stretch = -1
        for position, occurred, kind, postings in events:
            block = position // BLOCK
            if occurred != last_occurred or block != last_block:
                hour = occurred // HOUR
                if block != last_block or hour != last_hour:
                    here.last = last_position
                    here = Stretch(block, hour, position, occurred)
                    stretches.append(here)
                    stretch = before + len(stretches)
                elif occurred < here.earliest:
                    here.earliest = occurred
                elif occurred > here.latest:
                    here.latest = occurred
                last_block, last_hour, last_occurred = block, hour, occurred
            here.kinds.add(kind)
            last_position = position
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
        here.last = last_position
        self._stretches += len(stretches)
        append(_COPY_TRAILER)
        return work

    def copy(self, cursor: psycopg.Cursor[Any], work: "Work") -> None:
        """Write a batch's entries."""
        with cursor.copy(self._copy) as copy:
            copy.write(b"".join(work.rows))

    def writes(self, work: "Work", recorded_day: date) -> Iterator[Write]:
        """Bring balances and sums to where they are in memory, and say where the entries are."""
        changed = [account for account in work.touched if account.balance != account.stored]
        if changed:
            # In order of number: the rows lie in that order, and locks are taken in it.
            changed.sort(key=lambda account: account.number)
            balances = columns((account.number, account.balance) for account in changed)
            yield Write(self._set_balances, balances)
            for account in changed:
                account.stored = account.balance
        yield from self._components.writes(work.moved, work.stretches, recorded_day)
        yield from self._signposts.writes(work.stretches)
        if self._size > CACHED:
            self._known, self._size = {}, 0


class Work(NamedTuple):
    """What a batch changes, in memory until it is written."""

    rows: list[bytes]
    touched: list[Account]
    moved: list[Component]
    stretches: list[Stretch]
