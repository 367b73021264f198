"""A card room's day in events, written into a journal as the recorder writes it."""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import psycopg

from ledger import catalogue, recorder
from ledger.cashier.events import (
    DepositAnnounced,
    DepositConfirmed,
    WithdrawalRequested,
    deposit_stream,
    withdrawal_stream,
)
from ledger.core import Event
from ledger.hands.events import (
    BadBeatHit,
    FindingExplained,
    FindingReopened,
    FindingResolved,
    HandAwarded,
    HandFlagged,
    HandPosted,
    HandRaked,
    HandReturned,
    HandStaked,
    JackpotContributed,
    SeatedPlayer,
    hand_stream,
)
from ledger.hands.findings import Finding
from ledger.link import Link
from ledger.players.events import (
    BoughtIn,
    Deposited,
    PlayerRegistered,
    WithdrawalReserved,
    player_stream,
)
from ledger.rows import row_start, stream_start
from ledger.tables.events import (
    ChipsBought,
    HandSettled,
    TableOpened,
    table_stream,
)

NETWORK = "harbour"
START = datetime(2024, 2, 29, 22, 0, tzinfo=UTC)
Written = tuple[str, Event]


class Seated(NamedTuple):
    """A player at a table."""

    seat: int
    player: str
    partner: str


class Room:
    """Makes commits: lists of events with their streams, the same for the same seed."""

    def __init__(self, seed: int = 1, *, network: str = NETWORK) -> None:
        self._random = random.Random(seed)
        self.network = network
        self.now = START
        self.hands = 0
        self.tables: dict[str, list[Seated]] = {}
        self.players: list[str] = []

    def day(self, *, tables: int = 2, hands: int = 20, per_commit: int = 3) -> list[list[Written]]:
        """Open tables, seat players, play, let one ask for money."""
        commits = [list(self.open(f"Table {number}")) for number in range(1, tables + 1)]
        hand = [list(self.hand(name)) for name in self._random.choices([*self.tables], k=hands)]
        for begin in range(0, hands, per_commit):
            commits.append([event for one in hand[begin : begin + per_commit] for event in one])
        commits += filter(None, [list(self.look_into_findings()), list(self.hit_jackpot())])
        commits.append(list(self.withdraw("Table 1")))
        return commits

    def open(self, name: str) -> Iterator[Written]:
        """Open a table and seat four players at it."""
        table = table_stream(self.network, name)
        self.tables[name] = []
        yield (
            table,
            TableOpened(
                network=self.network,
                table_id=name,
                name=name,
                game="Holdem",
                bet_type="NL",
                currency="EUR",
                size=6,
                small_blind_minor=50,
                big_blind_minor=100,
                min_buy_in_minor=2_000,
                jackpot="badbeat",
                **self._about(f"open {name}"),
            ),
        )
        for seat in range(1, 5):
            yield from self._seat(name, seat)

    def _seat(self, name: str, seat: int) -> Iterator[Written]:
        player = str(UUID(int=self._random.getrandbits(128), version=4))
        partner = self._random.choice(("north", "south"))
        self.players.append(player)
        own, about = player_stream(self.network, player), self._about(f"seat {name} {seat}")
        money = {"network": self.network, "player": player, "currency": "EUR"}
        deposit = f"d{len(self.players)}"
        yield (
            own,
            PlayerRegistered(
                network=self.network,
                player=player,
                partner=partner,
                rulebook_name="entraction",
                nickname_claim=f"claim:{self.network}:nickname:{player[:8]}",
                **about,
            ),
        )
        yield (
            deposit_stream(self.network, deposit),
            DepositAnnounced(
                deposit=deposit,
                provider="bluepay",
                instrument="token",
                reference_claim=f"claim:{self.network}:deposit:{deposit}",
                amount_minor=90_000,
                **money,
                **about,
            ),
        )
        yield deposit_stream(self.network, deposit), DepositConfirmed(**about)
        yield (
            own,
            Deposited(deposit=deposit, provider="bluepay", amount_minor=90_000, **money, **about),
        )
        yield own, BoughtIn(table=name, seat=seat, amount_minor=60_000, **money, **about)
        yield (
            table_stream(self.network, name),
            ChipsBought(player=player, partner=partner, seat=seat, amount_minor=60_000, **about),
        )
        self.tables[name].append(Seated(seat, player, partner))

    def hand(self, name: str) -> Iterator[Written]:
        """Play a hand: everybody stakes, one gets a part back, one wins, the room takes its fee."""
        self.hands += 1
        self.now += timedelta(minutes=7)
        number, seated = str(self.hands), self.tables[name]
        stream, about = hand_stream(self.network, number), self._about(f"hand:{number}")
        where = {"network": self.network, "table": name, "currency": "EUR"}
        stakes = {one: self._random.randrange(100, 900) for one in seated}
        winner, returned = self._random.choice(seated), self._random.randrange(0, 50)
        pot = sum(stakes.values()) - returned
        rake = pot // 20
        yield stream, self._posted(number, name, rake // 10, about)
        for one, amount in stakes.items():
            yield stream, HandStaked(player=one.player, amount_minor=amount, **where, **about)
        if returned:
            yield (
                stream,
                HandReturned(player=winner.player, amount_minor=returned, **where, **about),
            )
        shares = {"north": rake // 2, "south": rake - rake // 2}
        yield stream, HandRaked(amount_minor=rake, by_partner_minor=shares, **where, **about)
        yield (
            stream,
            JackpotContributed(
                jackpot="badbeat",
                amount_minor=rake // 10,
                from_rake_minor={"south": rake // 10},
                **where,
                **about,
            ),
        )
        yield (
            stream,
            HandAwarded(player=winner.player, pot=0, amount_minor=pot - rake, **where, **about),
        )
        if self.hands % 5 == 0:
            finding = Finding(
                code="wrong-rake",
                level="flag",
                where="pots",
                expected="0.00",
                posted=f"0.{self.hands:02}",
                message="too much",
            )
            yield stream, HandFlagged(finding=finding, **about)
        nets: dict[int, int] = defaultdict(int)
        for one, amount in stakes.items():
            nets[one.seat] -= amount
        nets[winner.seat] += returned + pot - rake
        yield (
            table_stream(self.network, name),
            HandSettled(game_number=number, started_at=self.now, net_minor=dict(nets), **about),
        )

    def look_into_findings(self) -> Iterator[Written]:
        """Explain the first finding, resolve the second as well, open the third again."""
        for done, number in enumerate(range(5, min(self.hands, 15) + 1, 5)):
            stream = hand_stream(self.network, str(number))
            about = {
                **self._about(f"finding {number}"),
                "actor": "maria",
                "game_number": str(number),
                "finding": 1,
            }
            yield stream, FindingExplained(text="The cap was set up wrong.", **about)
            if done:
                resolved = {"resolution": "corrected-by-adjustment", "corrected_by": "resync-1"}
                yield stream, FindingResolved(reason="Given back.", **resolved, **about)
            if done > 1:
                yield stream, FindingReopened(reason="To another player.", **about)

    def hit_jackpot(self) -> Iterator[Written]:
        """Let the first hand have hit the jackpot; nobody has settled it yet."""
        if not self.hands:
            return
        first, second, *_ = everyone = [one.player for one in self.tables["Table 1"]]
        yield (
            hand_stream(self.network, "1"),
            BadBeatHit(
                network=self.network,
                game_number="1",
                table="Table 1",
                currency="EUR",
                jackpot="badbeat",
                losers=(first,),
                winners=(second,),
                dealt=tuple(everyone),
                loser_bps=4_000,
                winner_bps=2_000,
                dealt_in_bps=2_000,
                dealt_in_includes_winner_and_loser=True,
                review=False,
                **self._about("hit 1"),
            ),
        )

    def _posted(self, number: str, name: str, contribution: int, about: Any) -> HandPosted:
        return HandPosted(
            network=self.network,
            table=name,
            currency="EUR",
            game_number=number,
            game="Holdem",
            players=tuple(
                SeatedPlayer(index, one.seat, one.player, 60_000)
                for index, one in enumerate(self.tables[name])
            ),
            record=b"record",
            dictionary=1,
            posted_digest="00",
            content_digest="00",
            verdict="ok",
            jackpot_contribution_minor=contribution,
            **about,
        )

    def withdraw(self, name: str) -> Iterator[Written]:
        """Let the table's first player ask for money; no chips move."""
        one = self.tables[name][0]
        own, about = player_stream(self.network, one.player), self._about(f"withdraw {name}")
        money = {"network": self.network, "player": one.player, "currency": "EUR"}
        yield own, WithdrawalReserved(withdrawal="w1", amount_minor=5_000, **money, **about)
        yield (
            withdrawal_stream(self.network, "w1"),
            WithdrawalRequested(
                withdrawal="w1", instrument="token", amount_minor=5_000, **money, **about
            ),
        )

    def _about(self, request: str) -> dict[str, Any]:
        return {
            "occurred_at": self.now,
            "actor": "server-1",
            "request_id": request,
            "rulebook": "entraction@2013-01-01",
        }


def write(dsn: str, commits: Sequence[Sequence[Written]], *, writer: str = "story") -> int:
    """Append commits to the journal; return its last position."""
    last = 0
    with psycopg.connect(dsn, autocommit=True) as connection, connection.cursor() as cursor:
        versions: dict[str, int] = dict(
            cursor.execute(
                "SELECT originator_id, max(originator_version) FROM journal.events GROUP BY 1"
            ).fetchall()
        )
        for events in commits:
            rows = []
            for stream, event in events:
                versions[stream] = versions.get(stream, 0) + 1
                topic, state = event.NAME, catalogue.encode(event)
                start = stream_start(stream)
                rows.append(row_start(start, versions[stream], topic, state))
            appended = Link.over(connection).take(recorder.append(rows, writer=writer))
            last = appended.last_position
    return last
