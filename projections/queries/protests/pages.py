"""Pages of windows: of a player's own transactions, and of what closes in a range of time."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from projections import cursors
from projections.queries import entries
from projections.queries.protests.rules import Days, Span, versions_of
from projections.queries.protests.transactions import Line, Transaction, lines_of, transactions
from projections.queries.protests.windows import Window, Windows
from projections.reading import Snapshot

if TYPE_CHECKING:
    from projections.as_of import AsOf

LOOKED_AT: Final = 2_000
"""Entries that are looked at in one go."""

ENTRIES_EACH: Final = 2
"""Entries that a window is expected to rest on: of some there are more, and a page looks on."""

LOOKS: Final = 8
"""How often a page looks on before it is answered short."""

_CLOSING_KEY: Final = (str, str, int, int, int)
_NEWEST_KEY: Final = (int, int)


class Whose(NamedTuple):
    """Of one player, of a partner's players, or of everybody on the network."""

    network: str
    player: UUID | None = None
    partner: str | None = None


class Listed(NamedTuple):
    """A page of windows and the position that it is pinned to; the cursor leads on."""

    position: int
    windows: Sequence[Window]
    cursor: str | None


# -- a player's transactions, the newest first ---------------------------------------------------


def of_player(
    at: Snapshot,
    *,
    network: str,
    player: UUID,
    known: "AsOf",
    limit: int = 100,
    cursor: str | None = None,
) -> Listed:
    """Return a page of a player's transactions with their windows, the newest first.

    Raises InvalidCursorError.
    """
    filters = entries.Filters(network=network, player=player)
    listed = cursors.listing(
        "protest-windows/newest-first", {**filters._asdict(), "as of": known.occurred_at}
    )
    pinned, after = known.position, None
    if cursor is not None:
        place = cursors.decode(cursor, listed, _NEWEST_KEY)
        pinned, after = min(place.position, pinned), (place.key[0], place.key[1])
    filters = entries.by_then(filters, known.occurred_at)
    lines: list[Line] = []
    found: list[Transaction] = []
    while True:
        wanted = (limit + 1) * ENTRIES_EACH
        keys, after = entries.look(at, filters, pinned, after, wanted, newest_first=True)
        lines = lines_of(at, keys) + lines
        found = transactions(lines)
        if after is None:
            break
        # Of the oldest, further entries may be among those that were not looked at.
        found = found[1:]
        if len(found) > limit:
            break
    newest = list(reversed(found))[:limit]
    windows = list(Windows(at, network, pinned, versions_of(at, network)).of(newest))
    onward = None
    if len(found) > limit:
        key = [windows[-1].first_position, 0]
        onward = cursors.encode(cursors.Cursor(listed, pinned, key))
    return Listed(pinned, windows, onward)


# -- windows that close in a range of time -------------------------------------------------------


def closing(
    at: Snapshot,
    whose: Whose,
    days: Days,
    *,
    known: "AsOf",
    limit: int = 100,
    cursor: str | None = None,
    asked: Mapping[str, Any] | None = None,
) -> Listed:
    """Return a page of the windows that close in a range of time, in the order in which they close.

    ``days`` are those of the range, read in the same snapshot. Windows that close together come in
    the order of the journal; those that end with a table's next hand close at no hour that could be
    asked for: they are among the player's own. A page costs a bounded number of looks: it may be
    short, its cursor leads on. ``asked`` says how the range was asked for where it moves on from
    page to page, as "the next three days" does. Raises InvalidCursorError.
    """
    bounds = asked or {"from": days.closing_from, "before": days.closing_before}
    filters = {**whose._asdict(), **bounds, "as of": known.occurred_at}
    listed = cursors.listing("protest-windows/closing", filters)
    place, pinned = None, known.position
    if cursor is not None:
        place = cursors.decode(cursor, listed, _CLOSING_KEY)
        pinned = min(place.position, pinned)
    page = _ClosingPage(at, whose, days, known._replace(position=pinned), limit)
    for span in days.spans(pinned):
        start = Start(None, 0)
        if place is not None:
            reached = (place.key[0], place.key[1])
            if span.key < reached:
                continue
            if span.key == reached:
                start = Start((place.key[2], place.key[3]), place.key[4])
        onward = page.take(span, start)
        if onward is not None:
            key = [*span.key, *(onward.after or (0, -1)), onward.told]
            follow = cursors.encode(cursors.Cursor(listed, pinned, key))
            return Listed(pinned, page.windows, follow)
    return Listed(pinned, page.windows, None)


class Start(NamedTuple):
    """Where to begin in a span: after a key, with windows that begin after a position."""

    after: entries.Key | None
    told: int


class _ClosingPage:
    """A page that is filled span by span."""

    def __init__(self, at: Snapshot, whose: Whose, days: Days, known: "AsOf", limit: int) -> None:
        self._at = at
        self._whose = whose
        self._known = known
        self._limit = limit
        self._looks = 0
        self._found = Windows(at, whose.network, known.position, days.versions)
        self.windows: list[Window] = []

    def take(self, span: Span, start: Start) -> Start | None:
        """Take the windows of a span; return where to go on, or None at its end."""
        filters, after = self._filters(span), start.after
        lines: list[Line] = []
        while True:
            each = ENTRIES_EACH * (self._looks + 1)
            wanted = min(LOOKED_AT, (self._limit - len(self.windows) + 1) * each)
            keys, after = entries.look(
                self._at, filters, self._known.position, after, wanted, newest_first=False
            )
            self._looks += 1
            lines += lines_of(self._at, keys)
            found = transactions(lines)
            unfinished = _unfinished(found, after)
            cut = self._fill(found[: len(found) - unfinished], span, start)
            if cut is not None or after is None:
                return cut
            lines = found[-1].lines if unfinished else []
            if self._looks >= LOOKS and not unfinished:
                return Start(after, 0)
            if self._looks >= LOOKS and len(found) > 1:
                return Start((found[-1].begin, -1), 0)

    def _fill(self, found: Sequence[Transaction], span: Span, start: Start) -> Start | None:
        """Take what the page has room for; return where to go on when there is more."""
        told = start.told
        for one in found:
            for window in self._found.of([one]):
                if window.rule != span.window or window.first_position <= told:
                    continue
                if len(self.windows) == self._limit:
                    return Start((one.begin, -1), told)
                self.windows.append(window)
                told = window.first_position
        return None

    def _filters(self, span: Span) -> entries.Filters:
        filters = entries.Filters(
            network=self._whose.network,
            player=self._whose.player,
            partner=self._whose.partner,
            of_players=True,
            occurred_from=span.closing.occurred_from,
            occurred_before=span.closing.occurred_before,
        )
        return entries.by_then(filters, self._known.occurred_at)


def _unfinished(found: Sequence[Transaction], after: entries.Key | None) -> int:
    """Tell how many of the last transactions may have further entries: one or none."""
    return int(bool(found) and after is not None and found[-1].commit >= after[0])
