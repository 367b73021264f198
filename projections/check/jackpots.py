"""Jackpots: each hit decided once and in order, each share its due, each pool what is left."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import psycopg
from psycopg import sql

from ledger.core import Event
from ledger.hands.events import BadBeatHit, JackpotContributed
from ledger.jackpots.events import HitAnnulled, HitReleased, HitSettled, Share
from ledger.jackpots.sharing import shares_of
from ledger.players.events import JackpotWon
from projections.check.report import Report
from projections.jackpots import HitKey, Jackpot, Jackpots, hit_row

_HITS: Final = """
SELECT network, jackpot, currency, number, position, occurred_at, game_number, table_id, rulebook,
       waits, hit, released_position, released_at, decided_position, decided_at, decision
  FROM {}.jackpot_hits ORDER BY position
"""
_SHARES: Final = """
SELECT position, occurred_at, network, jackpot, currency, game_number, player::text, part,
       amount_minor
  FROM {}.jackpot_shares ORDER BY position
"""
_POOLS: Final = """
SELECT network, split_part(code, ':', 3), currency, -balance_minor FROM {}.accounts
 WHERE code LIKE 'jackpot:%'
"""

Decided = HitSettled | HitAnnulled


class _Pool:
    """A jackpot as its hands and its own stream have it, up to a position."""

    def __init__(self) -> None:
        self.got = 0
        self.paid = 0
        self.hits: list[tuple[int, int, BadBeatHit]] = []
        """Position of each hit, and what the pool had got by then."""
        self.decided = 0
        self.released = ""
        self.due: dict[str, list[Share]] = {}
        """Shares that are not booked yet, by the hand that hit it."""


class JackpotsCheck:
    """Follows jackpots through the journal; told of every event in order."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._pools: dict[Jackpot, _Pool] = defaultdict(_Pool)
        self._read = Jackpots("")
        self._projected: dict[Jackpot, int] = {}
        """What each pool holds as far as the projections have come."""

    def note(self, stream: str, position: int, event: Event, *, projected: bool) -> None:
        """Take an event; ``projected`` says whether the projections have it."""
        match event:
            case JackpotContributed():
                pool = self._pool(event)
                pool.got += event.amount_minor
            case BadBeatHit():
                pool = self._pool(event)
                pool.hits.append((position, pool.got, event))
            case HitReleased():
                pool = self._pool(event)
                self._in_order(stream, position, event, pool)
                pool.released = event.game_number
            case HitSettled() | HitAnnulled():
                pool = self._pool(event)
                if self._in_order(stream, position, event, pool) and isinstance(event, HitSettled):
                    self._settle(stream, position, event, pool)
                pool.decided, pool.released = event.number, ""
            case JackpotWon():
                pool = self._pool(event)
                self._win(stream, position, event, pool)
            case _:
                return
        if projected:
            self._read.note(stream, event, position)
            key = (event.network, event.jackpot, event.currency)
            self._projected[key] = pool.got - pool.paid

    def _pool(self, event: Any) -> _Pool:
        return self._pools[event.network, event.jackpot, event.currency]

    # -- the events ------------------------------------------------------------------------------

    def _in_order(
        self, stream: str, position: int, event: Decided | HitReleased, pool: _Pool
    ) -> bool:
        """Check that a decision is about the next hit, which was recorded before it."""
        number = event.number
        known = 0 < number <= len(pool.hits)
        game_number = pool.hits[number - 1][2].game_number if known else "none"
        if number == pool.decided + 1 and game_number == event.game_number:
            return True
        self._add(
            "jackpot-out-of-order",
            stream,
            position,
            f"it decides hit {number} in hand {event.game_number} after hit {pool.decided};"
            f" hand {game_number} is hit {number}",
        )
        return False

    def _settle(self, stream: str, position: int, event: HitSettled, pool: _Pool) -> None:
        """Check what a hit was shared out of, and among whom."""
        hit_position, got, hit = pool.hits[event.number - 1]
        if hit.waits and pool.released != hit.game_number:
            self._add("jackpot-not-released", stream, position, "the hit waits for a release")
        left = max(got - pool.paid, 0)
        shares = shares_of(hit, left)
        paid = sum(share.amount_minor for share in shares)
        due = (hit_position, got, pool.paid, left, shares, left - paid)
        said = (
            *(event.hit_position, event.got_minor, event.paid_before_minor),
            *(event.pool_minor, event.shares, event.left_minor),
        )
        if said != due:
            self._add("jackpot-share-differs", stream, position, f"settled: {said}; due: {due}")
        pool.paid += sum(share.amount_minor for share in event.shares)
        pool.due[hit.game_number] = list(event.shares)

    def _win(self, stream: str, position: int, event: JackpotWon, pool: _Pool) -> None:
        """Check that what is booked for a player is a share of a hit that was settled."""
        share = Share(event.player, event.part, event.amount_minor)
        due = pool.due.get(event.game_number, [])
        if share in due:
            due.remove(share)
        else:
            self._add("jackpot-share-differs", stream, position, f"no hit has the share {share}")

    def _add(self, code: str, stream: str, position: int, message: str) -> None:
        self._report.add(code, f"position {position}, {stream}", message)

    # -- what is kept ----------------------------------------------------------------------------

    def end(self) -> None:
        """Check that every share was booked."""
        for (network, jackpot, currency), pool in self._pools.items():
            for game_number, shares in pool.due.items():
                for share in shares:
                    self._report.add(
                        "jackpot-share-differs",
                        f"jackpot {network} {jackpot} {currency}, hand {game_number}",
                        f"the share {share} was not booked",
                    )

    def compare(self, connection: psycopg.Connection[Any], book: str) -> None:
        """Compare with what is kept: hits, shares, and what each pool holds."""
        name = sql.Identifier(book)
        for table, statement, place, given in (
            ("jackpot_hits", _HITS, 4, self._hits()),
            ("jackpot_shares", _SHARES, 0, iter(self._read.shares)),
        ):
            due = {row[place]: row for row in given}
            kept = {row[place]: row for row in connection.execute(sql.SQL(statement).format(name))}
            for position in sorted({**kept, **due}):
                if kept.get(position) != due.get(position):
                    self._report.add(
                        "jackpot-row-differs",
                        f"{table} of position {position}",
                        f"kept: {kept.get(position)}; the events give {due.get(position)}",
                        f"{book}.{table}",
                    )
        pools = {
            (row[0], row[1], row[2]): row[3]
            for row in connection.execute(sql.SQL(_POOLS).format(name))
        }
        for key in sorted({*pools, *self._projected}):
            held, left = pools.get(key, 0), self._projected.get(key, 0)
            if held != left:
                self._report.add(
                    "jackpot-pool-differs",
                    f"jackpot {' '.join(key)}",
                    f"it holds {held}; contributions less payments are {left}",
                    f"{book}.accounts",
                )

    def _hits(self) -> Iterator[tuple[Any, ...]]:
        numbers: dict[Jackpot, int] = defaultdict(int)
        for position, hit in self._read.hits:
            jackpot = (hit.network, hit.jackpot, hit.currency)
            numbers[jackpot] += 1
            key: HitKey = (*jackpot, numbers[jackpot])
            fate = self._read.fates.get(key)
            unknown = (None,) * 5
            yield (
                *hit_row(position, numbers[jackpot], hit),
                *(unknown if fate is None else fate.row()),
            )
