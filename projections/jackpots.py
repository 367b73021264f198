"""Hits of jackpots: which hand hit which, in their order, and what became of each."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from ledger.core import Event
from ledger.hands.events import BadBeatHit
from ledger.jackpots.events import HitAnnulled, HitReleased, HitSettled
from ledger.players.events import JackpotWon
from projections.writes import Write, columns, statement

Jackpot = tuple[str, str, str]
"""Network, name, currency."""

HitKey = tuple[str, str, str, int]
"""A jackpot, and the number of its hit."""

_ADD_HITS: Final = """
INSERT INTO {}.jackpot_hits (
       network, jackpot, currency, number, position, occurred_at, game_number, table_id, rulebook,
       waits, hit, released_position, released_at, decided_position, decided_at, decision)
SELECT * FROM unnest(
       %b::text[], %b::text[], %b::text[], %b::int[], %b::bigint[], %b::timestamptz[], %b::text[],
       %b::text[], %b::text[], %b::boolean[], %b::jsonb[], %b::bigint[], %b::timestamptz[],
       %b::bigint[], %b::timestamptz[], %b::jsonb[])
"""
_SET_FATES: Final = """
UPDATE {}.jackpot_hits AS kept
   SET released_position = coalesce(now.released_position, kept.released_position),
       released_at = coalesce(now.released_at, kept.released_at),
       decided_position = now.decided_position, decided_at = now.decided_at,
       decision = now.decision
  FROM unnest(%b::text[], %b::text[], %b::text[], %b::int[], %b::bigint[], %b::timestamptz[],
              %b::bigint[], %b::timestamptz[], %b::jsonb[])
    AS now (network, jackpot, currency, number, released_position, released_at, decided_position,
            decided_at, decision)
 WHERE kept.network = now.network AND kept.jackpot = now.jackpot
   AND kept.currency = now.currency AND kept.number = now.number
"""
_ADD_SHARES: Final = """
INSERT INTO {}.jackpot_shares
SELECT * FROM unnest(%b::bigint[], %b::timestamptz[], %b::text[], %b::text[], %b::text[],
                     %b::text[], %b::uuid[], %b::text[], %b::bigint[])
"""
_LAST: Final = """
SELECT coalesce(max(number), 0) FROM {}.jackpot_hits
 WHERE network = %s AND jackpot = %s AND currency = %s
"""


class Fate(msgspec.Struct):
    """What became of a hit: when it was released, and when and how it was decided."""

    released_position: int | None = None
    released_at: datetime | None = None
    decided_position: int | None = None
    decided_at: datetime | None = None
    decision: dict[str, Any] | None = None

    def row(self) -> tuple[Any, ...]:
        """Return it as it is kept."""
        return (
            *(self.released_position, self.released_at),
            *(self.decided_position, self.decided_at, self.decision),
        )


class Jackpots:
    """What a batch says of hits."""

    def __init__(self, book: str) -> None:
        self._last = sql.SQL(_LAST).format(sql.Identifier(book))
        self._add_hits = statement(_ADD_HITS, book)
        self._set_fates = statement(_SET_FATES, book)
        self._add_shares = statement(_ADD_SHARES, book)
        self._numbers: dict[Jackpot, int] = {}
        """How many hits each jackpot had in the batches before."""
        self.hits: list[tuple[int, BadBeatHit]] = []
        self.fates: dict[HitKey, Fate] = {}
        self.shares: list[tuple[Any, ...]] = []

    def note(self, stream: str, event: Event, position: int) -> None:
        """Take an event about a hit."""
        match event:
            case BadBeatHit():
                self.hits.append((position, event))
            case HitReleased():
                fate = self._fate(event)
                fate.released_position, fate.released_at = position, event.occurred_at
            case HitSettled():
                fate = self._fate(event)
                fate.decided_position, fate.decided_at = position, event.occurred_at
                shared = {name: getattr(event, name) for name in ("pool_minor", "left_minor")}
                fate.decision = {"status": "settled", **shared}
            case HitAnnulled():
                fate = self._fate(event)
                fate.decided_position, fate.decided_at = position, event.occurred_at
                why = {name: getattr(event, name) for name in ("ground", "reason")}
                fate.decision = {"status": "annulled", **why}
            case JackpotWon():
                what = (event.network, event.jackpot, event.currency, event.game_number)
                share = (event.player, event.part, event.amount_minor)
                self.shares.append((position, event.occurred_at, *what, *share))

    def _fate(self, event: HitReleased | HitSettled | HitAnnulled) -> Fate:
        key = (event.network, event.jackpot, event.currency, event.number)
        return self.fates.setdefault(key, Fate())

    def writes(self, cursor: psycopg.Cursor[Any]) -> Iterator[Write]:
        """Write the batch's hits and what became of those, and of the ones before it."""
        new = [self._row(cursor, position, hit) for position, hit in self.hits]
        if new:
            yield Write(self._add_hits, columns(map(_jsonb, new)))
        if self.fates:
            rows = [_jsonb((*key, *fate.row())) for key, fate in self.fates.items()]
            yield Write(self._set_fates, columns(rows))
        if self.shares:
            yield Write(self._add_shares, columns(self.shares))
        self.hits, self.fates, self.shares = [], {}, []

    def _row(self, cursor: psycopg.Cursor[Any], position: int, hit: BadBeatHit) -> tuple[Any, ...]:
        """Number a hit, and add what became of it in the same batch."""
        jackpot = (hit.network, hit.jackpot, hit.currency)
        number = self._numbers.get(jackpot)
        if number is None:
            [number] = cursor.execute(self._last, jackpot).fetchone() or (0,)
        self._numbers[jackpot] = number = number + 1
        fate = self.fates.pop((*jackpot, number), None) or Fate()
        return (*hit_row(position, number, hit), *fate.row())


def hit_row(position: int, number: int, hit: BadBeatHit) -> tuple[Any, ...]:
    """Return a hit as it is kept, without what became of it."""
    who = {name: list(getattr(hit, name)) for name in ("losers", "winners", "dealt", "doubts")}
    return (
        *(hit.network, hit.jackpot, hit.currency, number, position, hit.occurred_at),
        *(hit.game_number, hit.table, hit.rulebook, hit.waits, who),
    )


def _jsonb(row: Sequence[Any]) -> list[Any]:
    return [Jsonb(value) if isinstance(value, dict) else value for value in row]
