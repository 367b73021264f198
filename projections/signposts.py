"""Signposts: in which blocks of positions the entries of a kind, an hour or a day are."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Final

from projections.hours import HOURS_A_DAY, begin_of, date_of
from projections.running import Stretch
from projections.writes import Write, columns, statement

_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

_ADD_KINDS: Final = """
INSERT INTO {}.kind_blocks SELECT * FROM unnest(%b::int[], %b::int[]) ON CONFLICT DO NOTHING
"""
_ADD_HOURS: Final = """
INSERT INTO {}.hour_blocks SELECT * FROM unnest(%b::timestamptz[], %b::int[])
    ON CONFLICT DO NOTHING
"""
_EXTEND_BLOCKS: Final = """
INSERT INTO {}.blocks AS kept SELECT block, %s + first * %s, %s + last * %s
  FROM unnest(%b::int[], %b::bigint[], %b::bigint[]) AS more (block, first, last)
    ON CONFLICT (block) DO UPDATE
   SET first_occurred_at = least(kept.first_occurred_at, excluded.first_occurred_at),
       last_occurred_at = greatest(kept.last_occurred_at, excluded.last_occurred_at)
"""
_EXTEND_DAYS: Final = """
INSERT INTO {}.days AS kept SELECT * FROM unnest(%b::date[], %b::bigint[], %b::bigint[])
    ON CONFLICT (occurred_day) DO UPDATE SET last_position = excluded.last_position
"""

Sign = tuple[int, int]
"""Block, and the kind or hour of which there are entries in it."""


class Signposts:
    """Writes where the entries of a batch are."""

    def __init__(self, book: str) -> None:
        self._add_kinds = statement(_ADD_KINDS, book)
        self._add_hours = statement(_ADD_HOURS, book)
        self._extend_blocks = statement(_EXTEND_BLOCKS, book)
        self._extend_days = statement(_EXTEND_DAYS, book)
        self._kinds: set[Sign] = set()
        self._hours: set[Sign] = set()
        """Those of the last block, as far as they have been written; more batches may be in it."""

    def writes(self, stretches: Sequence[Stretch]) -> Iterator[Write]:
        """Write the kinds, hours and days of a batch, and the instants between which blocks are."""
        last_block = stretches[-1].block
        kinds = {(stretch.block, kind) for stretch in stretches for kind in stretch.kinds}
        new = sorted(kinds - self._kinds)
        if new:
            yield Write(self._add_kinds, columns((kind, block) for block, kind in new))
        hours = {(stretch.block, stretch.hour) for stretch in stretches}
        new = sorted(hours - self._hours)
        if new:
            yield Write(self._add_hours, columns((begin_of(hour), block) for block, hour in new))
        self._kinds = {sign for sign in kinds | self._kinds if sign[0] == last_block}
        self._hours = {sign for sign in hours | self._hours if sign[0] == last_block}
        since = (_EPOCH, _MICROSECOND)
        yield Write(self._extend_blocks, (*since, *since, *columns(_blocks(stretches))))
        yield Write(self._extend_days, columns(_days(stretches)))


def _blocks(stretches: Sequence[Stretch]) -> Iterator[tuple[int, int, int]]:
    """Give each block with the earliest and latest instant of the batch's events in it."""
    for block, within in groupby(stretches, key=lambda stretch: stretch.block):
        spans = [(stretch.earliest, stretch.latest) for stretch in within]
        yield block, min(spans)[0], max(latest for _, latest in spans)


def _days(stretches: Sequence[Stretch]) -> Iterator[tuple[date, int, int]]:
    """Give each day on which something happened, with the first and last position of it."""
    days: dict[int, list[int]] = {}
    for stretch in stretches:
        span = days.setdefault(stretch.hour // HOURS_A_DAY, [stretch.first, 0])
        span[1] = stretch.last
    for day, (first, last) in days.items():
        yield date_of(day), first, last
