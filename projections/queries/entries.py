"""Entries: every line of every event that moved money, in the order of the journal.

A page never costs more than a look at a bounded number of entries: when the filters leave few of
those that were looked at, the page is short and its cursor leads on.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final, NamedTuple
from uuid import UUID

import sqlalchemy as sa

from ledger import accounts as chart
from ledger import catalogue
from projections import as_of, cursors
from projections.as_of import AsOf
from projections.reading import BOOK, Page, Planned, Row, Snapshot, planned_once, rows, tuples
from projections.schema import BLOCK

MOST_ACCOUNTS: Final = 2_000
"""Accounts that one page merges; a filter that names more is answered block by block."""

LOOKED_AT: Final = 1_000
"""Entries of the named accounts that one page looks at, when further filters apply."""

BLOCKS_A_PAGE: Final = 24

BLOCKS_APART: Final = 64
"""Blocks of the asked time, the first of a window, that are told from those between them."""

MOST_PARTS: Final = 8
"""Parts of a window in which entries of the named accounts are looked for at once."""

_ENTRIES: Final = "entries"
_STORED: Final = "lines"
"""The views of the entries: with everything that is known of them, and as they are stored."""

_LINES = BOOK["lines"].c
_ACCOUNTS = BOOK["accounts"].c
_BLOCKS = BOOK["blocks"].c
_EVENTS = sa.table(
    "events",
    sa.column("originator_id"),
    sa.column("notification_id"),
    schema="journal",
).c
_KEY = (int, int)
_MICROSECOND: Final = timedelta(microseconds=1)
FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST_LINE: Final = 2**15 - 1
"""No event has as many: a key that comes after all lines of its position."""
_LAST: Final = datetime.max.replace(tzinfo=UTC)

GROUNDED: Final = tuple(
    name for name, event in catalogue.EVENTS.items() if "ground" in event.__struct_fields__
)
"""Stored names of the events that name the ground on which something was done."""

Key = tuple[int, int]
"""Position and line."""

Numbers = list[int] | None
"""Those of the components, or kinds, that the filters leave; None when they leave all."""


class Filters(NamedTuple):
    """Which entries; what is None does not restrict. Instants are aware, ranges half-open."""

    network: str | None = None
    account: str | None = None
    accounts: tuple[int, ...] | None = None
    """Numbers of accounts."""
    currency: str | None = None
    component: str | None = None
    of_players: bool | None = None
    """On accounts that belong to one player each."""
    partner: str | None = None
    player: UUID | None = None
    table_id: str | None = None
    hand: str | None = None
    """The hand's stream."""
    request_id: str | None = None
    """The request that it came from, a hand's own apart: name the hand."""
    event: str | None = None
    """The stored name of the event, e.g. ``hand.staked.v1``."""
    ground: str | None = None
    """What the event names as the ground on which it was done."""
    least_minor: int | None = None
    most_minor: int | None = None
    """Range of the amount, debit or credit, both included."""
    position_from: int | None = None
    position_before: int | None = None
    recorded_from: datetime | None = None
    recorded_before: datetime | None = None
    occurred_from: datetime | None = None
    occurred_before: datetime | None = None


class Window(NamedTuple):
    """Keys between which a page looks, both left out, and which way."""

    above: Key
    below: Key
    newest_first: bool
    runs: Sequence[tuple[int, int]] = ()
    """Runs of blocks, the first of the window, between which nothing has the asked time: what was
    booked long before or after its neighbours. Of the blocks behind the last nothing is known."""

    def after(self, key: Key) -> "Window":
        """Return what is left of the window after a key."""
        return self._replace(below=key) if self.newest_first else self._replace(above=key)

    @property
    def empty(self) -> bool:
        """Whether there is no key in it."""
        return self.above >= self.below

    @property
    def positions(self) -> tuple[int, int]:
        """The first and the last position that may have a key in it."""
        (first, first_line), (last, last_line) = self.above, self.below
        return first + (first_line >= _LAST_LINE), last - (last_line <= 0)

    def of_blocks(self, first: int, last: int) -> "Window":
        """Return the part of the window that is in a run of blocks.

        The index is entered at the bounds, so they must be as narrow as they can be.
        """
        above, below = (first * BLOCK, -1), (last * BLOCK + BLOCK, -1)
        return Window(max(self.above, above), min(self.below, below), self.newest_first)

    @property
    def parts(self) -> "Sequence[Window]":
        """The parts of the window that may have the asked time, in its order."""
        if not self.runs:
            return [self]
        parts = [self.of_blocks(*run) for run in self.runs]
        if self.newest_first:
            parts[-1] = parts[-1]._replace(above=self.above)
        else:
            parts[-1] = parts[-1]._replace(below=self.below)
        return [part for part in parts if not part.empty]


def page(
    at: Snapshot,
    filters: Filters,
    *,
    known: AsOf | None = None,
    limit: int = 100,
    cursor: str | None = None,
    newest_first: bool = True,
) -> Page:
    """Return a page of entries, of those alone that ``known`` has. Raises InvalidCursorError."""
    order = "newest-first" if newest_first else "oldest-first"
    happened = None if known is None else known.occurred_at
    listed = cursors.listing(f"entries/{order}", {**filters._asdict(), "as of": happened})
    pinned, key = at.position if known is None else known.position, None
    if cursor is not None:
        place = cursors.decode(cursor, listed, _KEY)
        pinned, key = min(place.position, pinned), (place.key[0], place.key[1])
    filters = by_then(filters, happened)
    window = window_of(at, filters, pinned, key, newest_first=newest_first)
    found, end = read(at, filters, window, limit)
    return Page(
        pinned,
        found,
        None if end is None else cursors.encode(cursors.Cursor(listed, pinned, list(end))),
    )


def by_then(filters: Filters, happened: datetime | None) -> Filters:
    """Leave out what had not happened by an instant, which is included."""
    if happened is None or happened >= _LAST:
        return filters
    until = happened + _MICROSECOND
    before = filters.occurred_before
    return filters._replace(occurred_before=until if before is None else min(before, until))


def look(
    at: Snapshot,
    filters: Filters,
    pinned: int,
    after: Key | None,
    limit: int,
    *,
    newest_first: bool,
) -> tuple[list[Key], Key | None]:
    """Return the keys of a page up to a position, and the key after which the next begins."""
    window = window_of(at, filters, pinned, after, newest_first=newest_first)
    accounts = _named(at, filters)
    if accounts is None:
        return _keys(at, filters, window, limit)
    named = _Named(_STORED, accounts, _passes(filters, _kinds(at, filters)))
    found, end = _of_accounts(at, named, window, limit)
    return [key_of(row) for row in found], end


def read(
    at: Snapshot, filters: Filters, window: Window, limit: int
) -> tuple[Sequence[Row], Key | None]:
    """Return a page of a window, and the key after which the next one begins."""
    accounts = _named(at, filters)
    if accounts is not None:
        named = _Named(_ENTRIES, accounts, _passes(filters, _kinds(at, filters)))
        return _of_accounts(at, named, window, limit)
    keys, end = _keys(at, filters, window, limit)
    return _full(at, keys, newest_first=window.newest_first), end


def window_of(
    at: Snapshot, filters: Filters, pinned: int, after: Key | None, *, newest_first: bool
) -> Window:
    """Return the keys after one, up to a position, between which entries can pass the filters."""
    first, last = filters.position_from or 1, pinned
    if filters.position_before is not None:
        last = min(last, filters.position_before - 1)
    if filters.recorded_from is not None:
        first = max(first, recorded_before(at, filters.recorded_from) + 1)
    if filters.recorded_before is not None:
        last = min(last, recorded_before(at, filters.recorded_before))
    window = Window((first, -1), (last + 1, -1), newest_first)
    if after is not None:
        window = window.after(after)
    if filters.occurred_from is None and filters.occurred_before is None:
        return window
    return _in_its_time(at, filters, window)


def _in_its_time(at: Snapshot, filters: Filters, window: Window) -> Window:
    """Return the window between the first and the last block in it that have the asked time."""
    first, last = window.positions
    asked = {
        "since": filters.occurred_from,
        "before": filters.occurred_before,
        "first": first,
        "last": last,
    }
    statement = _IN_TIME[window.newest_first]
    [(lowest, highest, blocks)] = tuples(at, statement, asked)
    if lowest is None:
        return window._replace(above=window.below)
    return window.of_blocks(lowest, highest)._replace(runs=_runs(blocks)[:MOST_PARTS])


# What is asked most is written out: putting a statement together takes longer than it runs.
# What happened on the asked days is nowhere else than where entries of these days are.
_THAT_TIME: Final = """
SELECT block FROM book.blocks
 WHERE block BETWEEN span.first AND span.last
   AND (CAST(:since AS timestamptz) IS NULL OR last_occurred_at >= CAST(:since AS timestamptz))
   AND (CAST(:before AS timestamptz) IS NULL OR first_occurred_at < CAST(:before AS timestamptz))
"""
_IN_TIME: Final = {
    newest_first: planned_once(f"""
SELECT ({_THAT_TIME} ORDER BY block LIMIT 1), ({_THAT_TIME} ORDER BY block DESC LIMIT 1),
       ARRAY({_THAT_TIME} ORDER BY block {order} LIMIT {BLOCKS_APART})
  FROM (
    SELECT greatest(CAST(:first AS bigint), min(first_position)) / {BLOCK} AS first,
           least(CAST(:last AS bigint), max(last_position)) / {BLOCK} AS last FROM book.days
     WHERE (CAST(:since AS timestamptz) IS NULL
            OR occurred_day >= CAST(CAST(:since AS timestamptz) AT TIME ZONE 'UTC' AS date))
       AND (CAST(:before AS timestamptz) IS NULL
            OR occurred_day <= CAST(CAST(:before AS timestamptz) AT TIME ZONE 'UTC' AS date))
    ) AS span
""")  # noqa: S608
    for newest_first, order in ((False, "ASC"), (True, "DESC"))
}


def recorded_before(at: Snapshot, instant: datetime) -> int:
    """Return the last position that was recorded before an instant."""
    if instant <= FIRST:
        return 0
    return as_of.resolve(at, recorded_at=instant - _MICROSECOND).position


def _named(at: Snapshot, filters: Filters) -> Sequence[int] | None:
    """Return the accounts whose entries are to be merged; None when they are found otherwise."""
    if filters.hand is not None or filters.request_id is not None:
        return None
    if not any((filters.account, filters.accounts, filters.player, filters.table_id)):
        return filters.accounts
    # Named accounts and nothing else: whoever names them has looked them up.
    named = None if _of_account(filters._replace(accounts=None)) else filters.accounts
    accounts = _accounts(at, filters) if named is None else named
    return accounts if len(accounts) <= MOST_ACCOUNTS else None


def _keys(
    at: Snapshot, filters: Filters, window: Window, limit: int
) -> tuple[list[Key], Key | None]:
    """Return the keys of a page of a transaction, or of whatever has to be looked for."""
    if window.empty:
        return [], None
    if filters.hand is not None or filters.request_id is not None:
        return _of_transaction(at, filters, window, limit)
    return _of_blocks(at, filters, window, limit)


def _of_transaction(
    at: Snapshot, filters: Filters, window: Window, limit: int
) -> tuple[list[Key], Key | None]:
    positions = _positions_of_transaction(at, filters)
    statement = _lines(filters, _components(at, filters), _kinds(at, filters)).where(
        _LINES.position == _any(positions, sa.BigInteger)
    )
    return _cut(_run(at, statement, window, limit + 1), limit)


def _positions_of_transaction(at: Snapshot, filters: Filters) -> list[int]:
    """Return the positions of a hand's stream, of a request, or of what is in both."""
    found: list[set[int]] = []
    if filters.hand is not None:
        found.append(_positions_of_stream(at, filters.hand))
    if filters.request_id is not None:
        transactions = BOOK["transactions"].c
        statement = sa.select(transactions.position).where(
            transactions.request_id == filters.request_id
        )
        if filters.network is not None:
            statement = statement.where(transactions.network == filters.network)
        found.append(set(at.connection.execute(statement).scalars()))
    return sorted(set.intersection(*found))


def _positions_of_stream(at: Snapshot, stream_id: str) -> set[int]:
    statement = sa.select(_EVENTS.notification_id).where(_EVENTS.originator_id == stream_id)
    return set(at.connection.execute(statement).scalars())


class _Named(NamedTuple):
    """Entries of some accounts that pass, and the view that they are read from."""

    view: str
    accounts: Sequence[int]
    passes: Mapping[str, Any]
    """Values of some of the conditions."""


def _of_accounts(
    at: Snapshot, named: _Named, window: Window, limit: int
) -> tuple[list[Row], Key | None]:
    """Merge the newest, or oldest, entries of each account."""
    if window.empty or not named.accounts:
        return [], None
    passed: list[Row] = []
    # Most lines of a period pass, few of a kind: a page looks on before it is answered short.
    few = min(limit + 1 + limit // 2, LOOKED_AT)
    looks = (few, min(2 * few, LOOKED_AT), LOOKED_AT) if named.passes else (limit + 1, limit + 1)
    for most in looks:
        near = _near(at, named, window, most, limit + 1 - len(passed))
        passed += near.rows
        if len(passed) > limit:
            return passed[:limit], key_of(passed[limit - 1])
        if near.looked_at < most:
            return passed, None
        edge = (near.edge, -1 if window.newest_first else _LAST_LINE)
        window = window.after(edge)
        if window.empty:
            return passed, None
    return passed, edge


class _Near(NamedTuple):
    """Rows in order, how many entries were looked at, and the position of the last of those."""

    rows: Sequence[Row]
    looked_at: int
    edge: int


def _near(at: Snapshot, named: _Named, window: Window, most: int, wanted: int) -> _Near:
    """Return what passes of the accounts' first entries in a window, as many as are wanted.

    They are found off the index alone: an account's entries lie far apart, and of those of several
    accounts few are the first. Of the last position all entries are looked at.
    """
    (above, above_line), (below, below_line) = window.above, window.below
    asked = {
        **_asked_near(named.accounts, window.parts, most),
        **named.passes,
        "wanted": wanted,
        "above": above,
        "above_line": above_line,
        "below": below,
        "below_line": below_line,
    }
    statement = _nearest(named.view, window.newest_first, tuple(named.passes))
    found = tuples(at, statement, asked)
    names = _shown(named.view)
    passed = [dict(zip(names, row[2:], strict=True)) for row in found if row[2] is not None]
    passed.sort(key=key_of, reverse=window.newest_first)
    return _Near(passed, found[0][0], found[0][1])


def sums(
    at: Snapshot, filters: Filters, accounts: Sequence[int], window: Window, most: int
) -> dict[int, tuple[int, int, int]] | None:
    """Return lines, debits and credits of each account in a window; None when they are too many.

    All its entries between the ends are counted, those too that do not pass.
    """
    if window.empty or not accounts:
        return {}
    passes = _passes(filters, _kinds(at, filters))
    asked = {**_asked_near(accounts, [window], most + 1), **passes}
    found = tuples(at, _summed(tuple(passes)), asked)
    if found[0][0] > most:
        return None
    return {account: (count, debit, credit) for _, account, count, debit, credit in found if count}


def _asked_near(accounts: Sequence[int], windows: Sequence[Window], most: int) -> dict[str, Any]:
    ends = [window.positions for window in windows]
    firsts, lasts = [first for first, _ in ends], [last for _, last in ends]
    return {"accounts": list(accounts), "firsts": firsts, "lasts": lasts, "most": most}


_NEAR: Final = """
SELECT near.account, near.position
  FROM unnest(CAST(:accounts AS integer[])) AS asked (account)
 CROSS JOIN unnest(CAST(:firsts AS bigint[]), CAST(:lasts AS bigint[])) AS part (first, last)
 CROSS JOIN LATERAL (
    SELECT account, position FROM book.lines
     WHERE account = asked.account AND position BETWEEN part.first AND part.last
     ORDER BY position {order} LIMIT CAST(:most AS bigint)) AS near
"""


def _shown(view: str) -> Sequence[str]:
    """Return the columns that are read of a view, its key first."""
    return BOOK[view].c.keys() if view == _ENTRIES else ("position", "line")


# OFFSET keeps it place by place, whatever the planner believes.
@cache
def _nearest(view: str, newest_first: bool, passes: tuple[str, ...]) -> Planned:
    order, farthest = ("DESC", "min") if newest_first else ("ASC", "max")
    columns = ", ".join(_shown(view))
    return planned_once(f"""
WITH near AS MATERIALIZED (
    {_NEAR.format(order=order)}
     ORDER BY position {order} FETCH FIRST CAST(:most AS bigint) ROWS WITH TIES)
SELECT counted.looked_at, counted.edge, passed.*
  FROM (SELECT count(*) AS looked_at, {farthest}(position) AS edge FROM near) AS counted
  LEFT JOIN (
    SELECT entry.*
      FROM (SELECT DISTINCT account, position FROM near ORDER BY position {order}) AS place
     CROSS JOIN LATERAL (
        SELECT {columns} FROM book.{view}
         WHERE account = place.account AND position = place.position
           AND (position, line) > (CAST(:above AS bigint), CAST(:above_line AS integer))
           AND (position, line) < (CAST(:below AS bigint), CAST(:below_line AS integer))
           {_conditions(view, passes)} OFFSET 0) AS entry
     ORDER BY place.position {order} FETCH FIRST CAST(:wanted AS bigint) ROWS WITH TIES
    ) AS passed ON true
""")  # noqa: S608


@cache
def _summed(passes: tuple[str, ...]) -> Planned:
    return planned_once(f"""
WITH near AS MATERIALIZED ({_NEAR.format(order="ASC")} LIMIT CAST(:most AS bigint))
SELECT counted.lines, summed.*
  FROM (SELECT count(*) AS lines FROM near) AS counted
  LEFT JOIN LATERAL (
    SELECT entry.account, count(*), sum(greatest(amount_minor, 0))::bigint,
           sum(greatest(-amount_minor, 0))::bigint
      FROM (SELECT DISTINCT account, position FROM near) AS place
     CROSS JOIN LATERAL (
        SELECT account, amount_minor FROM book.lines
         WHERE account = place.account AND position = place.position
           {_conditions("lines", passes)} OFFSET 0) AS entry
     WHERE counted.lines < CAST(:most AS bigint)
     GROUP BY entry.account) AS summed ON true
""")  # noqa: S608


def _accounts(at: Snapshot, filters: Filters) -> list[int]:
    statement = sa.select(_ACCOUNTS.account).where(*_of_account(filters))
    return list(at.connection.execute(statement.limit(MOST_ACCOUNTS + 1)).scalars())


def _of_blocks(
    at: Snapshot, filters: Filters, window: Window, limit: int
) -> tuple[list[Key], Key | None]:
    """Look through the blocks that may hold such entries, one run after the other."""
    components, kinds = _components(at, filters), _kinds(at, filters)
    blocks = _blocks(at, filters, window, components, kinds)
    statement = _lines(filters, components, kinds)
    found: list[Key] = []
    for first, last in _runs(blocks):
        found += _run(at, statement, window.of_blocks(first, last), limit + 1 - len(found))
        if len(found) > limit:
            break
    if len(found) > limit:
        return _cut(found, limit)
    if len(blocks) < BLOCKS_A_PAGE:
        return found, None
    edge = blocks[-1] if window.newest_first else blocks[-1] + 1
    return found, (edge * BLOCK, -1)


def _blocks(
    at: Snapshot, filters: Filters, window: Window, components: Numbers, kinds: Numbers
) -> list[int]:
    """Return the next blocks that may hold entries of the components, kind and time asked for."""
    # A key (position, -1) comes before all lines of its position.
    first, last = window.above[0] // BLOCK, (window.below[0] - (window.below[1] < 0)) // BLOCK
    of_component, of_kind = BOOK["component_blocks"].c, BOOK["kind_blocks"].c
    column: sa.ColumnElement[int]
    if components is not None:
        column = of_component.block
    else:
        column = _BLOCKS.block if kinds is None else of_kind.block
    some = sa.select(column).where(column.between(first, last), *_in_time(filters, column))
    if kinds is not None:
        of_these = sa.and_(_one_of(of_kind.kind, kinds), of_kind.block == column)
        some = some.where(of_these if components is None else sa.exists().where(of_these))
        if components is None and len(kinds) > 1:
            some = some.distinct()
    if components is not None:
        each = sa.func.unnest(_array(components, sa.Integer)).table_valued("number")
        each = each.render_derived("each")
        of_one = some.where(of_component.component_id == each.c.number)
        merged = _in_order(of_one, column, window).limit(BLOCKS_A_PAGE).lateral("merged")
        column = merged.c.block
        some = sa.select(column).select_from(each.join(merged, sa.true())).distinct()
    return list(
        at.connection.execute(_in_order(some, column, window).limit(BLOCKS_A_PAGE)).scalars()
    )


def _runs(blocks: Sequence[int]) -> list[tuple[int, int]]:
    """Put blocks together that follow each other, whichever way; return the ends of each run."""
    runs: list[tuple[int, int]] = []
    for block in blocks:
        lowest, highest = runs[-1] if runs else (block, block)
        if runs and lowest - 1 <= block <= highest + 1:
            runs[-1] = min(lowest, block), max(highest, block)
        else:
            runs.append((block, block))
    return runs


def _in_time(filters: Filters, block: sa.ColumnElement[int]) -> list[sa.ColumnElement[bool]]:
    """Return what the asked time asks of a block."""
    asked: list[sa.ColumnElement[bool]] = []
    if filters.occurred_from is not None:
        asked.append(_BLOCKS.last_occurred_at >= filters.occurred_from)
    if filters.occurred_before is not None:
        asked.append(_BLOCKS.first_occurred_at < filters.occurred_before)
    if block is _BLOCKS.block or not asked:
        return asked
    return [sa.exists().where(_BLOCKS.block == block, *asked)]


def _components(at: Snapshot, filters: Filters) -> Numbers:
    """Return the components that the filters leave."""
    view = BOOK["components"].c
    asked = {
        view.network: filters.network,
        view.component: filters.component,
        view.partner: filters.partner,
        view.currency: filters.currency,
    }
    conditions = [column == value for column, value in asked.items() if value is not None]
    if filters.of_players:
        conditions.append(view.component.in_(chart.OF_PLAYERS))
    if not conditions:
        return None
    return list(at.connection.execute(sa.select(view.component_id).where(*conditions)).scalars())


def _kinds(at: Snapshot, filters: Filters) -> Numbers:
    """Return the kinds that the filters leave."""
    kinds = BOOK["kinds"].c
    asked = []
    if filters.event is not None:
        asked.append(kinds.name == filters.event)
    if filters.ground is not None:
        asked.append(kinds.name.in_(GROUNDED))
    if not asked:
        return None
    return list(at.connection.execute(sa.select(kinds.kind).where(*asked)).scalars())


def _one_of(column: sa.ColumnElement[int], kinds: Sequence[int]) -> sa.ColumnElement[bool]:
    """Ask for one of some kinds; of one alone the index gives the blocks in order."""
    return column == kinds[0] if len(kinds) == 1 else column == _any(kinds, sa.SmallInteger)


def _lines(filters: Filters, components: Numbers, kinds: Numbers) -> sa.Select[int, int]:
    """Select the keys of the entries that pass all filters."""
    passes = _passes(filters, kinds)
    statement = sa.select(_LINES.position, _LINES.line)
    for name, value in passes.items():
        condition = sa.text(_CONDITIONS[name].format(amount=_AMOUNTS[_STORED]))
        statement = statement.where(condition.bindparams(**{name: value}))
    asked = [
        column == value
        for column, value in (
            (_ACCOUNTS.code, filters.account),
            (_ACCOUNTS.player, filters.player),
            (_ACCOUNTS.table_id, filters.table_id),
        )
        if value is not None
    ]
    if filters.accounts is not None:
        asked.append(_ACCOUNTS.account == _any(filters.accounts, sa.Integer))
    if components is not None:
        asked.append(_ACCOUNTS.component_id == _any(components, sa.Integer))
    if asked:
        # A value, not a join: each entry's account is looked up, whatever the planner believes.
        its_account = sa.select(sa.and_(*asked)).where(_ACCOUNTS.account == _LINES.account)
        statement = statement.where(its_account.scalar_subquery())
    return statement


def _of_account(filters: Filters) -> list[sa.ColumnElement[bool]]:
    """Return what the filters ask of an account."""
    asked = (
        (_ACCOUNTS.network, filters.network),
        (_ACCOUNTS.code, filters.account),
        (_ACCOUNTS.currency, filters.currency),
        (_ACCOUNTS.component, filters.component),
        (_ACCOUNTS.partner, filters.partner),
        (_ACCOUNTS.player, filters.player),
        (_ACCOUNTS.table_id, filters.table_id),
    )
    conditions = [column == value for column, value in asked if value is not None]
    if filters.of_players:
        conditions.append(_ACCOUNTS.component.in_(chart.OF_PLAYERS))
    if filters.accounts is not None:
        conditions.append(_ACCOUNTS.account == _any(filters.accounts, sa.Integer))
    return conditions


def _passes(filters: Filters, kinds: Numbers) -> dict[str, Any]:
    """Return what the filters ask of an entry itself: values of some of the conditions."""
    asked = {
        "kinds": kinds,
        "least_minor": filters.least_minor,
        "most_minor": filters.most_minor,
        "occurred_from": filters.occurred_from,
        "occurred_before": filters.occurred_before,
        "ground": filters.ground,
    }
    return {name: value for name, value in asked.items() if value is not None}


_CONDITIONS: Final = {
    "kinds": "kind = ANY (CAST(:kinds AS smallint[]))",
    "least_minor": "{amount} >= CAST(:least_minor AS bigint)",
    "most_minor": "{amount} <= CAST(:most_minor AS bigint)",
    "occurred_from": "occurred_at >= CAST(:occurred_from AS timestamptz)",
    "occurred_before": "occurred_at < CAST(:occurred_before AS timestamptz)",
    "ground": """(SELECT CAST(convert_from(state, 'UTF8') AS jsonb) ->> 'ground'
                    FROM journal.events WHERE notification_id = position)
                 = CAST(:ground AS text)""",
}
_AMOUNTS: Final = {_STORED: "abs(amount_minor)", _ENTRIES: "debit_minor + credit_minor"}


def _conditions(view: str, passes: Sequence[str]) -> str:
    """Write out the conditions of these names that a row of a view has to meet."""
    return "".join(f" AND {_CONDITIONS[name].format(amount=_AMOUNTS[view])}" for name in passes)


def _within(window: Window) -> list[sa.ColumnElement[bool]]:
    """Keep to the window; the first two conditions are what partitions are chosen by."""
    key = sa.tuple_(_LINES.position, _LINES.line)
    return [
        _LINES.position.between(window.above[0], window.below[0]),
        key > sa.tuple_(*window.above),
        key < sa.tuple_(*window.below),
    ]


def _order(window: Window, columns: Any = _LINES) -> list[sa.ColumnElement[Any]]:
    key = (columns.position, columns.line)
    return [column.desc() if window.newest_first else column.asc() for column in key]


def _in_order(
    statement: sa.Select[Any], column: sa.ColumnElement[Any], window: Window
) -> sa.Select[Any]:
    return statement.order_by(column.desc() if window.newest_first else column.asc())


def _run(at: Snapshot, statement: sa.Select[int, int], window: Window, limit: int) -> list[Key]:
    statement = statement.where(*_within(window)).order_by(*_order(window)).limit(limit)
    return [(row[0], row[1]) for row in at.connection.execute(statement).all()]


def _cut(found: list[Key], limit: int) -> tuple[list[Key], Key | None]:
    return found[:limit], found[limit - 1] if len(found) > limit else None


def key_of(row: Row) -> Key:
    """Return the key of an entry."""
    return row["position"], row["line"]


def _full(at: Snapshot, keys: Sequence[Key], *, newest_first: bool) -> list[Row]:
    """Return the entries of these keys with everything that is known of them."""
    if not keys:
        return []
    asked = {"positions": [key[0] for key in keys], "lines": [key[1] for key in keys]}
    return rows(at, _OF_KEYS[newest_first], asked)


# One by one, as their keys are known: joined, the planner would read all accounts for them.
_OF_KEYS: Final = {
    newest_first: planned_once(f"""
SELECT entry.*
  FROM unnest(CAST(:positions AS bigint[]), CAST(:lines AS smallint[])) AS asked (position, line)
 CROSS JOIN LATERAL (
    SELECT {", ".join(BOOK["entries"].c.keys())} FROM book.entries
     WHERE position = asked.position AND line = asked.line LIMIT 1) AS entry
 ORDER BY entry.position {order}, entry.line {order}
""")  # noqa: S608
    for newest_first, order in ((False, "ASC"), (True, "DESC"))
}


def _array(values: Sequence[int], kind: Any) -> sa.ColumnElement[Any]:
    return sa.cast(sa.literal(list(values), sa.ARRAY(kind)), sa.ARRAY(kind))


def _any(values: Sequence[int], kind: Any) -> Any:
    return sa.any_(_array(values, kind))
