"""Accounts, their running balances and the totals over them: what postings add up to."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import date
from types import TracebackType
from typing import Any, Final, LiteralString, Self

import psycopg
from psycopg import sql

from ledger import accounts as chart
from ledger.rows import COPY_HEADER, COPY_TRAILER
from projections.components import Components
from projections.routes import Known, Moves
from projections.running import Account, Booked, Run
from projections.signposts import Signposts
from projections.writes import Write, columns, statement

CACHED: Final = 500_000
"""Accounts kept in memory; beyond them all are forgotten, and read again as they are needed."""

_COPY: Final = """
COPY {}.entries (position, amount_minor, balance_minor, occurred_at, account, line, kind)
FROM STDIN (FORMAT binary)
"""
_SET_BALANCES: Final = """
UPDATE {}.accounts SET balance_minor = now.balance
  FROM unnest(%b::int[], %b::bigint[]) AS now (number, balance) WHERE account = now.number
"""

Unknown = dict[tuple[str, str], int]
"""Code and currency of accounts that are in no table -> position of their first entry, in order."""


class Balances:
    """Numbers accounts in the order in which they first appear, and keeps what they hold."""

    def __init__(self, cursor: psycopg.Cursor[Any], book: str) -> None:
        self._book = sql.Identifier(book)
        self.known: Known = {}
        self._size = 0
        self._moves: list[Moves] = []
        self._components = Components(cursor, book)
        self._signposts = Signposts(book)
        self._copy = statement(_COPY, book)
        self._set_balances = statement(_SET_BALANCES, book)
        row = cursor.execute(self._sql("SELECT max(account) FROM {}.accounts")).fetchone()
        self._next = ((row and row[0]) or 0) + 1
        self._run = Run(1, 0)

    def _sql(self, statement: LiteralString) -> sql.Composed:
        return sql.SQL(statement).format(self._book)

    def moves(self) -> Moves:
        """Return where to keep the accounts of one kind of event; they are forgotten with all."""
        moves: Moves = {}
        self._moves.append(moves)
        return moves

    def load(self, cursor: psycopg.Cursor[Any], wanted: Mapping[tuple[str, str], int]) -> Unknown:
        """Read the accounts of these that are not in memory; return those that are in no table."""
        known = self.known
        missing: Unknown = {
            (code, currency): position
            for (code, currency), position in wanted.items()
            if code not in known.get(currency, ())
        }
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
                account = Account(number, placed, balance)
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
            self._remember(code, currency, Account(self._next, component, 0))
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
        self.known.setdefault(currency, {})[code] = account
        self._size += 1

    def book(self, events: list[Booked]) -> list[bytes]:
        """Run events over the balances; return the rows of their entries."""
        return self._run.book(events)

    def entries(self, cursor: psycopg.Cursor[Any]) -> "Entries":
        """Give the way by which a batch's entries are written."""
        return Entries(cursor, self._copy)

    def writes(self, recorded_day: date) -> Iterator[Write]:
        """Bring balances and sums to where they are in memory, and say where the entries are."""
        run = self._run
        if not run.stretches:
            return
        changed = [account for account in run.touched if account.balance != account.stored]
        if changed:
            # In order of number: the rows lie in that order, and locks are taken in it.
            changed.sort(key=lambda account: account.number)
            balances = columns((account.number, account.balance) for account in changed)
            yield Write(self._set_balances, balances)
            for account in changed:
                account.stored = account.balance
        yield from self._components.writes(run.moved, run.stretches, recorded_day)
        yield from self._signposts.writes(run.stretches)
        self._run = Run(run.batch + 1, run.stretch)
        if self._size > CACHED:
            self._size = 0
            self.known.clear()
            for moves in self._moves:
                moves.clear()


class Entries:
    """Rows on their way into the table: it takes them while more are being made.

    Before the connection is asked anything else, the way must be closed.
    """

    def __init__(self, cursor: psycopg.Cursor[Any], statement: str) -> None:
        self._cursor = cursor
        self._statement = statement
        self._open = ExitStack()
        self._copy: psycopg.Copy | None = None

    def write(self, rows: Sequence[bytes]) -> None:
        """Send rows."""
        if self._copy is None:
            self._copy = self._open.enter_context(self._cursor.copy(self._statement))
            self._copy.write(COPY_HEADER)
        self._copy.write(b"".join(rows))

    def close(self) -> None:
        """Wait until the rows are in the table."""
        if self._copy is not None:
            self._copy.write(COPY_TRAILER)
            self._copy = None
            self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self._open.__exit__(kind, error, traceback)
