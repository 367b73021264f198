"""A batch of the journal, folded into the tables of one generation."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import msgspec
import psycopg
from psycopg import sql

from ledger import catalogue
from ledger.accounts import parse
from ledger.core import Event, stream
from ledger.hands.events import HandPosted
from ledger.recorder import microseconds
from projections.balances import Balances, Booked
from projections.hand_days import NOTED, HandDays, decode_played
from projections.hours import HOUR, HOURS_A_DAY
from projections.partitions import Partitions
from projections.rulebooks import Judged, Rulebooks
from projections.schema import FOLLOWED
from projections.source import Batch
from projections.streams import Streams

_DAY: Final = HOUR * HOURS_A_DAY


class Route:
    """What is done with the events of one stored name."""

    __slots__ = ("decode", "kind", "moves_money", "note", "of_hand", "topic")

    def __init__(self, topic: str, *, of_hand: bool) -> None:
        self.topic = topic
        self.of_hand = of_hand
        self.kind = 0
        """Its number; 0 while none of them has moved money."""
        self.moves_money = True
        self.note: Callable[[str, Any, int], None] | None = None
        # A name that is no longer written is read by way of the catalogue's upcasts.
        self.decode: Callable[[bytes], Any] = partial(catalogue.decode, topic)


class Fold:
    """What has to be in memory to apply the next batch.

    After a transaction that failed it is ahead of the tables: make another.
    """

    def __init__(self, cursor: psycopg.Cursor[Any], book: str) -> None:
        self._book = sql.Identifier(book)
        self._partitions = Partitions(cursor, book)
        self._balances = Balances(cursor, book)
        self._hand_days = HandDays(book)
        self._rulebooks = Rulebooks(book)
        self._streams = {category: Streams(category, book) for category in FOLLOWED}
        self._routes: dict[str, Route] = {}
        self._kinds: dict[str, int] = {
            name: kind
            for kind, name in cursor.execute(
                sql.SQL("SELECT kind, name FROM {}.kinds").format(self._book)
            )
        }

    def apply(self, cursor: psycopg.Cursor[Any], batch: Batch) -> None:
        """Write what the batch changes, in the transaction that the cursor is in."""
        self._partitions.ensure(cursor, batch.last_position)
        booked = self._read(cursor, batch)
        for streams in self._streams.values():
            streams.fold(cursor)
        work = self._balances.book(booked, lambda: self._find(cursor, booked))
        self._balances.write(cursor, work, batch.recorded_day)
        self._hand_days.write(cursor)
        self._rulebooks.write(cursor)
        for streams in self._streams.values():
            streams.write(cursor)

    def _read(self, cursor: psycopg.Cursor[Any], batch: Batch) -> list[Booked]:
        """Decode the batch, and hand each event to those who need it."""
        booked: list[Booked] = []
        transactions: list[tuple[str, str, int]] = []
        routes = self._routes
        last_at, occurred = None, 0
        judged: Judged | None = None
        span = [0, 0]
        for stream_id, topic, state, position in batch.rows:
            route = routes.get(topic) or self._route(topic)
            event = route.decode(state)
            if route.note is not None:
                route.note(stream_id, event, position)
            if not route.moves_money:
                continue
            postings = event.postings()
            if not postings:
                continue
            if event.occurred_at != last_at:
                last_at = event.occurred_at
                occurred = microseconds(last_at)
            kind = route.kind or self._number(cursor, route)
            booked.append((position, occurred, kind, postings))
            network = network_of(stream_id)
            by = (network, event.rulebook, occurred // _DAY)
            if by != judged:
                judged, span = by, self._rulebooks.judge(by, event, position)
            span[1] = position
            if not route.of_hand:
                transactions.append((network, event.request_id, position))
        self._write_transactions(cursor, transactions)
        return booked

    def _route(self, topic: str) -> "Route":
        """Work out once what is done with the events of a stored name."""
        category = topic.partition(".")[0]
        event_type = catalogue.EVENTS.get(topic)
        route = Route(topic, of_hand=category == "hand")
        if event_type is HandPosted:
            route.decode, route.note = decode_played, self._hand_days.posted
            route.moves_money = False
        else:
            if event_type is not None:
                route.decode = msgspec.json.Decoder(event_type).decode
                route.moves_money = event_type.postings is not Event.postings
            if category in self._streams:
                route.note = self._streams[category].note
            elif category == "rulebook":
                route.note = self._rulebooks.note
            elif event_type in NOTED or event_type is None:
                route.note = self._hand_days.note
        route.kind = self._kinds.get(topic, 0)
        self._routes[topic] = route
        return route

    def _number(self, cursor: psycopg.Cursor[Any], route: "Route") -> int:
        route.kind = self._kinds[route.topic] = len(self._kinds) + 1
        cursor.execute(
            sql.SQL("INSERT INTO {}.kinds VALUES (%s, %s)").format(self._book),
            (route.kind, route.topic),
        )
        return route.kind

    def _find(self, cursor: psycopg.Cursor[Any], booked: list[Booked]) -> None:
        """Load the batch's accounts, and open the new ones under the partner of their player."""
        unknown = self._balances.load(cursor, booked)
        players = self._streams["player"]
        players.load(cursor, _player_streams(unknown))

        def partner_of(network: str, player: str) -> str | None:
            state = players.get(stream("player", network, player))
            return None if state is None else state.partner

        self._balances.open(cursor, unknown, partner_of)

    def _write_transactions(
        self, cursor: psycopg.Cursor[Any], rows: list[tuple[str, str, int]]
    ) -> None:
        if rows:
            cursor.execute(
                sql.SQL(
                    "INSERT INTO {}.transactions"
                    " SELECT * FROM unnest(%b::text[], %b::text[], %b::bigint[])"
                ).format(self._book),
                [list(column) for column in zip(*rows, strict=True)],
            )


def network_of(stream_id: str) -> str:
    """Return the network that a stream belongs to."""
    return stream_id.split(":", 2)[1]


def _player_streams(accounts: Iterable[tuple[str, str]]) -> list[str]:
    parsed = (parse(code) for code, _ in accounts)
    return list(
        dict.fromkeys(
            stream("player", account.network, account.player)
            for account in parsed
            if account.player is not None
        )
    )
