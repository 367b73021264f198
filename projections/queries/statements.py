"""Statements: what accounts held, every line that changed it, and what they hold then.

A period is by position, by recorded time, or by the time when things happened. Lines come in the
order of their positions, whenever they happened; the opening balance and the lines always add up
to the closing one. By position, a balance is what the account held when the line was booked; by
occurred time, it is what the lines of the period make of the opening balance.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache, cached_property
from typing import Any, Final, NamedTuple
from uuid import UUID

import sqlalchemy as sa

from ledger import accounts as chart
from projections import cursors
from projections.as_of import AsOf
from projections.queries import entries
from projections.queries.entries import MOST_ACCOUNTS, Filters, Key
from projections.reading import BOOK, Planned, Row, Snapshot, planned_once, rows, tuples
from projections.views import DEBIT_SIDES

SUMMED: Final = 500
"""Lines that are summed for the first page, as many as the longest page has; of more, the last page
has the totals."""

_MICROSECOND: Final = timedelta(microseconds=1)
_KEY: Final = (int, int, dict)
_LINES = BOOK["lines"].c

# What an account holds now is no part of a statement, unless it ends there.
_OF_ACCOUNT: Final = (
    "account",
    "code",
    "currency",
    "network",
    "component",
    "side",
    "partner",
    "player",
    "table_id",
)

Sums = dict[str, list[int]]
"""Currency -> lines, debits, credits of the pages before."""


class Subject(NamedTuple):
    """Whose statement: one of these, within the network."""

    network: str
    player: UUID | None = None
    partner: str | None = None
    """His own accounts; what is owed to his players is theirs."""
    table_id: str | None = None
    provider: str | None = None
    account: str | None = None


class Period(NamedTuple):
    """From when to before when; one pair is given at most, None is from the first, to the last."""

    position_from: int | None = None
    position_before: int | None = None
    recorded_from: datetime | None = None
    recorded_before: datetime | None = None
    occurred_from: datetime | None = None
    occurred_before: datetime | None = None

    @property
    def by_occurred(self) -> bool:
        """Whether it is by the time when things happened."""
        return self.occurred_from is not None or self.occurred_before is not None


class Statement(NamedTuple):
    """A page of a statement.

    ``accounts`` are on the first page. ``totals`` are on the last, and on each when the period is
    short.
    """

    position: int
    found: int
    """How many accounts there are, whatever they held."""
    opening: AsOf
    closing: AsOf
    accounts: Sequence[Row] | None
    lines: Sequence[Row]
    totals: Sequence[Row] | None
    cursor: str | None


def page(
    at: Snapshot,
    subject: Subject,
    period: Period,
    *,
    known: AsOf,
    limit: int = 100,
    cursor: str | None = None,
) -> Statement:
    """Return a page of a statement. Raises InvalidCursorError.

    ``known`` is a position: the statement has what was recorded by then.
    """
    given = {**subject._asdict(), **period._asdict()}
    listed = cursors.listing("statement", given)
    pinned, after, before = known.position, None, {}
    if cursor is not None:
        place = cursors.decode(cursor, listed, _KEY)
        pinned, before = min(place.position, pinned), place.key[2]
        after = (place.key[0], place.key[1])
    book = _Book(at, _accounts_of(at, subject), *_ends(at, period, pinned))
    filters = _filters(subject, period, book)
    window = entries.window_of(at, filters, pinned, after, newest_first=False)
    lines, end = entries.read(at, filters, window, limit)
    if period.by_occurred:
        lines = book.run(lines, after)
    sums = _add_up(before, lines)
    accounts, totals = None, None
    if cursor is None:
        accounts = book.listed(
            _sums_of(lines)
            if end is None
            else entries.sums(at, filters, book.numbers, window, SUMMED)
        )
    if end is None:
        totals = [_total(currency, *sums[currency]) for currency in sorted(sums)]
    onward = None
    if end is not None:
        onward = cursors.encode(cursors.Cursor(listed, pinned, [*end, sums]))
    return Statement(
        pinned, len(book.numbers), book.opening, book.closing, accounts, lines, totals, onward
    )


def _accounts_of(at: Snapshot, subject: Subject) -> Sequence[Row]:
    network = subject.network
    asked: dict[str, Any] = {"network": network}
    if subject.player is not None:
        asked["player"] = subject.player
    if subject.table_id is not None:
        asked["table"] = subject.table_id
    if subject.partner is not None:
        asked["partner"] = subject.partner
    if subject.provider is not None:
        of = (chart.transit(network, subject.provider), chart.fee(network, subject.provider))
        asked["codes"] = list(of)
    if subject.account is not None:
        asked["codes"] = [subject.account]
    return rows(at, _accounts_where(tuple(asked)), asked)


_WHOSE: Final = {
    "network": "network = CAST(:network AS text)",
    "player": "player = CAST(:player AS uuid)",
    "table": "table_id = CAST(:table AS text)",
    # By its components, of which there are few: accounts are not kept by partner.
    "partner": """player IS NULL AND component_id IN (
        SELECT component_id FROM book.components
         WHERE network = CAST(:network AS text) AND partner = CAST(:partner AS text)
           AND side <> 'player-funds' AND component <> 'debt')""",
    "codes": "code = ANY (CAST(:codes AS text[]))",
}


@cache
def _accounts_where(asked: tuple[str, ...]) -> Planned:
    columns = ", ".join((*_OF_ACCOUNT, "balance_minor"))
    conditions = " AND ".join(_WHOSE[name] for name in asked)
    return planned_once(
        f"SELECT {columns} FROM book.accounts WHERE {conditions} ORDER BY account"  # noqa: S608
    )


def _filters(subject: Subject, period: Period, book: "_Book") -> Filters:
    filters = Filters(network=subject.network)
    if period.by_occurred:
        filters = filters._replace(
            occurred_from=period.occurred_from, occurred_before=period.occurred_before
        )
    else:
        filters = filters._replace(
            position_from=book.opening.position + 1, position_before=book.closing.position + 1
        )
    if len(book.numbers) <= MOST_ACCOUNTS:
        return filters._replace(network=None, accounts=book.numbers)
    # Too many to merge: they are looked for block by block.
    return filters._replace(
        player=subject.player, table_id=subject.table_id, partner=subject.partner
    )


def _ends(at: Snapshot, period: Period, pinned: int) -> tuple[AsOf, AsOf]:
    """Return as of when the period opens and closes."""
    if period.by_occurred:
        opening = AsOf(0)
        if period.occurred_from is not None:
            opening = _happened_before(pinned, period.occurred_from)
        if period.occurred_before is None:
            return opening, AsOf(pinned)
        return opening, _happened_before(pinned, period.occurred_before)
    first, last = 1, pinned
    if period.position_from is not None:
        first = period.position_from
    if period.position_before is not None:
        last = min(last, period.position_before - 1)
    if period.recorded_from is not None:
        first = entries.recorded_before(at, period.recorded_from) + 1
    if period.recorded_before is not None:
        last = min(last, entries.recorded_before(at, period.recorded_before))
    last = max(last, 0)
    # A period that begins after the end of the book, or ends before it begins, is empty.
    return AsOf(min(max(first - 1, 0), last)), AsOf(last)


def _happened_before(pinned: int, instant: datetime) -> AsOf:
    return AsOf(pinned, instant - _MICROSECOND) if instant > entries.FIRST else AsOf(0)


class _Book:
    """What the accounts of a statement held as of its ends, and in between."""

    def __init__(self, at: Snapshot, accounts: Sequence[Row], opening: AsOf, closing: AsOf) -> None:
        self._at = at
        self._accounts = {row["account"]: row for row in accounts}
        self.numbers = tuple(self._accounts)
        self.opening = opening
        self.closing = closing

    @cached_property
    def _opened(self) -> dict[int, int]:
        """What the accounts held when the period began."""
        return _balances(self._at, self.numbers, self.opening)

    @property
    def _closed(self) -> dict[int, int]:
        """What the accounts held when the period ended."""
        if self.closing == AsOf(self._at.position):
            return {number: row["balance_minor"] for number, row in self._accounts.items()}
        return _balances(self._at, self.numbers, self.closing)

    def listed(self, sums: Mapping[int, tuple[int, int, int]] | None) -> list[Row]:
        """Return the accounts that held something, or changed, with what they held."""
        opening, closing = self._opened, self._closed
        listed: list[Row] = []
        for number in sorted(opening.keys() | closing.keys()):
            before, then = opening.get(number, 0), closing.get(number, 0)
            lines, debit, credit = None, None, None
            if sums is not None:
                lines, debit, credit = sums.get(number, (0, 0, 0))
            if before or then or lines or lines is None:
                account = self._accounts[number]
                listed.append(
                    {
                        **{name: account[name] for name in _OF_ACCOUNT},
                        "opening_minor": before,
                        "lines": lines,
                        "debit_minor": debit,
                        "credit_minor": credit,
                        "closing_minor": then,
                    }
                )
        return listed

    def run(self, lines: Sequence[Row], after: Key | None) -> list[Row]:
        """Let the balances of a page's lines go on from those before it."""
        numbers = sorted({row["account"] for row in lines})
        held = defaultdict(int, self._opened)
        if after is not None:
            for number, change in self._changed(numbers, after).items():
                held[number] += change
        shown: list[Row] = []
        for row in lines:
            number = row["account"]
            held[number] += self._sign(number) * (row["debit_minor"] - row["credit_minor"])
            shown.append({**row, "balance_minor": held[number]})
        return shown

    def _changed(self, numbers: Sequence[int], after: Key) -> dict[int, int]:
        """Return what the lines of the period up to a key made of each account.

        Those recorded by a position are what was known then of its end less of its beginning.
        """
        position, line = after
        known = min(position - 1, self.closing.position)
        ended = _balances(self._at, numbers, self.closing._replace(position=known))
        began = _balances(
            self._at, numbers, self.opening._replace(position=min(known, self.opening.position))
        )
        changed = {number: ended.get(number, 0) - began.get(number, 0) for number in numbers}
        asked = [_LINES.position == position, _LINES.line <= line, _LINES.account == _any(numbers)]
        if self.opening.occurred_at is not None:
            asked.append(_LINES.occurred_at > self.opening.occurred_at)
        if self.closing.occurred_at is not None:
            asked.append(_LINES.occurred_at <= self.closing.occurred_at)
        statement = sa.select(_LINES.account, _LINES.amount_minor).where(*asked)
        for number, amount in self._at.connection.execute(statement):
            changed[number] += self._sign(number) * amount
        return changed

    def _sign(self, number: int) -> int:
        """Return 1 for an account that a debit raises, -1 for one that it lowers."""
        return 1 if self._accounts[number]["side"] in DEBIT_SIDES else -1


def _balances(at: Snapshot, numbers: Sequence[int], known: AsOf) -> dict[int, int]:
    """Return what accounts held as of an instant; those that had no entry are left out."""
    if not numbers or not known.position:
        return {}
    asked = {"accounts": list(numbers), "position": known.position, "until": known.occurred_at}
    return dict(tuples(at, _HELD, asked))


_HELD: Final = planned_once("""
SELECT account, balance_minor
  FROM book.accounts_as_of(CAST(:position AS bigint), CAST(:until AS timestamptz),
                           CAST(:accounts AS integer[]))
""")


def _sums_of(lines: Sequence[Row]) -> dict[int, tuple[int, int, int]]:
    """Return lines, debits and credits of each account of a period that one page holds."""
    sums: dict[int, tuple[int, int, int]] = {}
    for row in lines:
        count, debit, credit = sums.get(row["account"], (0, 0, 0))
        sums[row["account"]] = count + 1, debit + row["debit_minor"], credit + row["credit_minor"]
    return sums


def _add_up(before: Sums, lines: Sequence[Row]) -> Sums:
    """Add the lines of a page to the sums of those before it."""
    sums = {currency: list(counted) for currency, counted in before.items()}
    for row in lines:
        counted = sums.setdefault(row["currency"], [0, 0, 0])
        counted[0] += 1
        counted[1] += row["debit_minor"]
        counted[2] += row["credit_minor"]
    return sums


def _total(currency: str, lines: int, debit: int, credit: int) -> dict[str, Any]:
    return {"currency": currency, "lines": lines, "debit_minor": debit, "credit_minor": credit}


def _array(numbers: Sequence[int]) -> sa.ColumnElement[Any]:
    return sa.cast(sa.literal(list(numbers), sa.ARRAY(sa.Integer)), sa.ARRAY(sa.Integer))


def _any(numbers: Sequence[int]) -> Any:
    return sa.any_(_array(numbers))
