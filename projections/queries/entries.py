"""Entries: every line of every event that moved money, in the order of the journal.

A page never costs more than a look at a bounded number of entries: when the filters leave few of
those that were looked at, the page is short and its cursor leads on.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from ledger import catalogue
from projections import as_of, cursors
from projections.as_of import AsOf
from projections.reading import BOOK, Page, Row, Snapshot, rows
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

_LINES = BOOK["lines"].c
_ACCOUNTS = BOOK["accounts"].c
_BLOCKS = BOOK["blocks"].c
_EVENTS = sa.table(
    "events",
    sa.column("originator_id"),
    sa.column("notification_id"),
    sa.column("state"),
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


class Filters(NamedTuple):
    """Which entries; what is None does not restrict. Instants are aware, ranges half-open."""

    network: str | None = None
    account: str | None = None
    accounts: tuple[int, ...] | None = None
    """Numbers of accounts."""
    currency: str | None = None
    component: str | None = None
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

    def after(self, key: Key) -> "Window":
        """Return what is left of the window after a key."""
        return self._replace(below=key) if self.newest_first else self._replace(above=key)

    @property
    def positions(self) -> tuple[int, int]:
        """The first and the last position that may have a key in it."""
        (first, _), (last, line) = self.above, self.below
        return first, last if line > 0 else last - 1

    def of_blocks(self, first: int, last: int) -> "Window":
        """Return the part of the window that is in a run of blocks.

        The index is entered at the bounds, so they must be as narrow as they can be.
        """
        above, below = (first * BLOCK, -1), (last * BLOCK + BLOCK, -1)
        return Window(max(self.above, above), min(self.below, below), self.newest_first)


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
    keys, end = look(at, filters, pinned, key, limit, newest_first=newest_first)
    return Page(
        pinned,
        full(at, keys, newest_first=newest_first),
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
    window = window_of(at, filters, pinned, newest_first=newest_first)
    return find(at, filters, window if after is None else window.after(after), limit)


def window_of(at: Snapshot, filters: Filters, pinned: int, *, newest_first: bool) -> Window:
    """Return the keys between which entries up to a position can be that pass the filters."""
    first, last = filters.position_from or 1, pinned
    if filters.position_before is not None:
        last = min(last, filters.position_before - 1)
    if filters.recorded_from is not None:
        first = max(first, recorded_before(at, filters.recorded_from) + 1)
    if filters.recorded_before is not None:
        last = min(last, recorded_before(at, filters.recorded_before))
    if filters.occurred_from is not None or filters.occurred_before is not None:
        lowest, highest = at.connection.execute(_OF_DAYS, _time_of(filters)).one()
        first, last = max(first, lowest or 1), min(last, highest or 0)
    window = Window((first, -1), (last + 1, -1), newest_first)
    return _in_its_time(at, filters, window)


def _in_its_time(at: Snapshot, filters: Filters, window: Window) -> Window:
    """Return the window between the first and the last block in it that have the asked time."""
    if filters.occurred_from is None and filters.occurred_before is None:
        return window
    first, last = window.positions
    asked = {**_time_of(filters), "first": first // BLOCK, "last": last // BLOCK}
    lowest, highest = at.connection.execute(_IN_TIME, asked).one()
    if lowest is None:
        return window._replace(above=window.below)
    above, below = (lowest * BLOCK, -1), (highest * BLOCK + BLOCK, -1)
    return window._replace(above=max(window.above, above), below=min(window.below, below))


def _parts(at: Snapshot, filters: Filters, window: Window) -> list[Window]:
    """Return the parts of a window that may have the asked time, in its order.

    What was booked long before or after its neighbours is far from the rest: a part of its own.
    """
    if filters.occurred_from is None and filters.occurred_before is None:
        return [window]
    first, last = window.positions
    asked = {**_time_of(filters), "first": first // BLOCK, "last": last // BLOCK}
    blocks = at.connection.execute(_FIRST_IN_TIME[window.newest_first], asked).scalars().all()
    parts = [window.of_blocks(*run) for run in _runs(blocks)[:MOST_PARTS]]
    if parts:
        # The last one goes on to the end: of the blocks behind it nothing is known.
        last_part = parts[-1]
        if window.newest_first:
            parts[-1] = last_part._replace(above=window.above)
        else:
            parts[-1] = last_part._replace(below=window.below)
    return parts


def _time_of(filters: Filters) -> dict[str, datetime | None]:
    return {"since": filters.occurred_from, "before": filters.occurred_before}


# What is asked most is written out: putting a statement together takes longer than it runs.
# What happened on these days is nowhere else, wherever else it may be.
_OF_DAYS: Final = sa.text("""
SELECT min(first_position), max(last_position) FROM book.days
 WHERE (CAST(:since AS timestamptz) IS NULL
        OR occurred_day >= CAST(CAST(:since AS timestamptz) AT TIME ZONE 'UTC' AS date))
   AND (CAST(:before AS timestamptz) IS NULL
        OR occurred_day <= CAST(CAST(:before AS timestamptz) AT TIME ZONE 'UTC' AS date))
""")
_THAT_TIME: Final = """
  FROM book.blocks
 WHERE block BETWEEN CAST(:first AS integer) AND CAST(:last AS integer)
   AND (CAST(:since AS timestamptz) IS NULL OR last_occurred_at >= CAST(:since AS timestamptz))
   AND (CAST(:before AS timestamptz) IS NULL OR first_occurred_at < CAST(:before AS timestamptz))
"""
_IN_TIME: Final = sa.text(f"SELECT min(block), max(block) {_THAT_TIME}")
_FIRST_IN_TIME: Final = {
    newest_first: sa.text(f"SELECT block {_THAT_TIME} ORDER BY block {order} LIMIT {BLOCKS_APART}")
    for newest_first, order in ((False, "ASC"), (True, "DESC"))
}


def recorded_before(at: Snapshot, instant: datetime) -> int:
    """Return the last position that was recorded before an instant."""
    if instant <= FIRST:
        return 0
    return as_of.resolve(at, recorded_at=instant - _MICROSECOND).position


def find(
    at: Snapshot, filters: Filters, window: Window, limit: int
) -> tuple[list[Key], Key | None]:
    """Return the keys of a page of a window, and the key after which the next one begins."""
    if window.above >= window.below or filters.accounts == ():
        return [], None
    if filters.hand is not None or filters.request_id is not None:
        return _of_transaction(at, filters, window, limit)
    if any((filters.account, filters.accounts, filters.player, filters.table_id)):
        # Named accounts and nothing else: whoever names them has looked them up.
        named = None if _of_account(filters._replace(accounts=None)) else filters.accounts
        accounts = _accounts(at, filters) if named is None else named
        if len(accounts) <= MOST_ACCOUNTS:
            return _of_accounts(at, filters, accounts, window, limit)
    return _of_blocks(at, filters, window, limit)


def _of_transaction(
    at: Snapshot, filters: Filters, window: Window, limit: int
) -> tuple[list[Key], Key | None]:
    positions = _positions_of_transaction(at, filters)
    statement = _lines(at, filters).where(_LINES.position == _any(positions, sa.BigInteger))
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


def _of_accounts(
    at: Snapshot, filters: Filters, accounts: Sequence[int], window: Window, limit: int
) -> tuple[list[Key], Key | None]:
    """Merge the newest, or oldest, entries of each account."""
    further = of_entry(at, filters)
    passed: list[Key] = []
    # Most lines of a period pass, few of a kind: a page looks on before it is answered short.
    few = min(limit + 1 + limit // 2, LOOKED_AT)
    for looked_at in (few, min(2 * few, LOOKED_AT), LOOKED_AT) if further else (limit + 1,):
        parts = _parts(at, filters, window)
        if not parts:
            return passed, None
        near = nearest(at, accounts, parts, looked_at)
        passed += _of_these(at, near, further, window)
        if len(passed) > limit:
            return _cut(passed, limit)
        if len(near) < looked_at:
            return passed, None
        edge = (near[-1].position, -1 if window.newest_first else _LAST_LINE)
        window = window.after(edge)
    return passed, edge


class Place(NamedTuple):
    """Where an account has entries."""

    account: int
    position: int


def nearest(
    at: Snapshot, accounts: Sequence[int], windows: Sequence[Window], most: int
) -> list[Place]:
    """Return the first places of the accounts' entries in windows, and all at the last of those.

    They are read off the index alone: an account's entries lie far apart, and of those of several
    accounts few are the first.
    """
    asked = _asked_near(accounts, windows, most)
    found = at.connection.execute(_NEAREST[windows[0].newest_first], asked).all()
    return [Place(account, position) for account, position in found]


def count_nearest(at: Snapshot, accounts: Sequence[int], window: Window, most: int) -> int:
    """Count the accounts' entries in a window, those beyond so many left aside."""
    asked = _asked_near(accounts, [window], most)
    return int(at.connection.execute(_COUNTED, asked).scalar_one())


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
_NEAREST: Final = {
    newest_first: sa.text(
        _NEAR.format(order=order)
        + f"ORDER BY position {order} FETCH FIRST CAST(:most AS bigint) ROWS WITH TIES"
    )
    for newest_first, order in ((False, "ASC"), (True, "DESC"))
}
_COUNTED: Final = sa.text(
    f"SELECT count(*) FROM ({_NEAR.format(order='ASC')} LIMIT CAST(:most AS bigint)) AS near"  # noqa: S608
)


def at_places(places: Sequence[Place], *columns: Any) -> sa.Select[Any]:
    """Select columns of the lines at some places, one place after the other."""
    distinct = dict.fromkeys(places)
    wanted = (
        sa.func.unnest(
            _array([one.account for one in distinct], sa.Integer),
            _array([one.position for one in distinct], sa.BigInteger),
        )
        .table_valued("account", "position")
        .render_derived("wanted")
    )
    of_place = (_LINES.account == wanted.c.account, _LINES.position == wanted.c.position)
    # OFFSET keeps it so, whatever the planner believes.
    each = sa.select(*columns).where(*of_place).offset(sa.literal_column("0")).lateral("each")
    return sa.select(each).select_from(wanted.join(each, sa.true()))


def _of_these(
    at: Snapshot,
    places: Sequence[Place],
    further: Sequence[sa.ColumnElement[bool]],
    window: Window,
) -> list[Key]:
    """Return the keys of the lines at some places that are in a window and pass, in order."""
    passes = sa.and_(sa.true(), *further).label("passes")
    statement = at_places(places, _LINES.position, _LINES.line, passes)
    found = at.connection.execute(statement).all()
    keys = ((position, line) for position, line, passes in found if passes)
    within = (key for key in keys if window.above < key < window.below)
    return sorted(within, reverse=window.newest_first)


def _accounts(at: Snapshot, filters: Filters) -> list[int]:
    statement = sa.select(_ACCOUNTS.account).where(*_of_account(filters))
    return list(at.connection.execute(statement.limit(MOST_ACCOUNTS + 1)).scalars())


def _of_blocks(
    at: Snapshot, filters: Filters, window: Window, limit: int
) -> tuple[list[Key], Key | None]:
    """Look through the blocks that may hold such entries, one run after the other."""
    blocks = _blocks(at, filters, window)
    statement = _lines(at, filters)
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


def _blocks(at: Snapshot, filters: Filters, window: Window) -> list[int]:
    """Return the next blocks that may hold entries of the components, kind and time asked for."""
    # A key (position, -1) comes before all lines of its position.
    first, last = window.above[0] // BLOCK, (window.below[0] - (window.below[1] < 0)) // BLOCK
    components, kinds = _components(at, filters), _kinds(at, filters)
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


def _components(at: Snapshot, filters: Filters) -> list[int] | None:
    """Return the components that the filters leave, or None when they leave all."""
    view = BOOK["components"].c
    asked = {
        view.network: filters.network,
        view.component: filters.component,
        view.partner: filters.partner,
        view.currency: filters.currency,
    }
    conditions = [column == value for column, value in asked.items() if value is not None]
    if not conditions:
        return None
    return list(at.connection.execute(sa.select(view.component_id).where(*conditions)).scalars())


def _kinds(at: Snapshot, filters: Filters) -> list[int] | None:
    """Return the numbers of the kinds that the filters leave, or None when they leave all."""
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


def _lines(at: Snapshot, filters: Filters) -> sa.Select[int, int]:
    """Select the keys of the entries that pass all filters."""
    statement = sa.select(_LINES.position, _LINES.line).where(*of_entry(at, filters))
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
    components = _components(at, filters)
    if components is not None:
        asked.append(_ACCOUNTS.component_id == _any(components, sa.Integer))
    if asked:
        # A value, not a join: each entry's account is looked up, whatever the planner believes.
        passes = sa.select(sa.and_(*asked)).where(_ACCOUNTS.account == _LINES.account)
        statement = statement.where(passes.scalar_subquery())
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
    if filters.accounts is not None:
        conditions.append(_ACCOUNTS.account == _any(filters.accounts, sa.Integer))
    return conditions


def of_entry(at: Snapshot, filters: Filters) -> list[sa.ColumnElement[bool]]:
    """Return what the filters ask of an entry itself."""
    asked: list[sa.ColumnElement[bool]] = []
    kinds = _kinds(at, filters)
    if kinds is not None:
        asked.append(_one_of(_LINES.kind, kinds))
    if filters.least_minor is not None:
        asked.append(sa.func.abs(_LINES.amount_minor) >= filters.least_minor)
    if filters.most_minor is not None:
        asked.append(sa.func.abs(_LINES.amount_minor) <= filters.most_minor)
    if filters.occurred_from is not None:
        asked.append(_LINES.occurred_at >= filters.occurred_from)
    if filters.occurred_before is not None:
        asked.append(_LINES.occurred_at < filters.occurred_before)
    if filters.ground is not None:
        # Last: the event itself is read for what passed everything else.
        state = sa.cast(sa.func.convert_from(_EVENTS.state, "UTF8"), JSONB)
        ground = sa.select(state["ground"].astext)
        ground = ground.where(_EVENTS.notification_id == _LINES.position)
        asked.append(ground.scalar_subquery() == filters.ground)
    return asked


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


def full(at: Snapshot, keys: Sequence[Key], *, newest_first: bool) -> list[Row]:
    """Return the entries of these keys with everything that is known of them."""
    if not keys:
        return []
    asked = {"positions": [key[0] for key in keys], "lines": [key[1] for key in keys]}
    return rows(at, _FULL[newest_first], asked)


# One by one, as their keys are known: joined, the planner would read all accounts for them.
_FULL: Final = {
    newest_first: sa.text(f"""
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
