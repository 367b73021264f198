"""A batch of the journal, folded into the tables of one generation."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

import msgspec
import psycopg
from psycopg import sql

from ledger import catalogue
from ledger.accounts import parse
from ledger.core import Event, stream
from ledger.hands import filed
from ledger.hands.events import (
    BadBeatHit,
    HandAwarded,
    HandPosted,
    HandRaked,
    HandReturned,
    HandStaked,
    JackpotContributed,
)
from ledger.players.events import JackpotWon
from ledger.recorder import microseconds
from projections.balances import Balances, Booked
from projections.findings import Findings
from projections.hand_days import HandDays, decode_played
from projections.hours import HOUR, HOURS_A_DAY
from projections.jackpots import Jackpots
from projections.partitions import Partitions
from projections.rulebooks import Rulebooks
from projections.schema import FOLLOWED
from projections.source import Batch
from projections.streams import Streams
from projections.writes import Write, columns, send, statement

_DAY: Final = HOUR * HOURS_A_DAY

_ADD_KINDS: Final = "INSERT INTO {}.kinds SELECT * FROM unnest(%b::int[], %b::text[])"
_ADD_TRANSACTIONS: Final = """
INSERT INTO {}.transactions SELECT * FROM unnest(%b::text[], %b::text[], %b::bigint[])
"""

BUSY: Final = (HandStaked, HandReturned, HandAwarded, HandRaked, JackpotContributed)
"""Events of every hand: of them only as much is read as their postings need."""

Note = Callable[[str, Any, int], None]


class Route:
    """What is done with the events of one stored name."""

    __slots__ = ("decode", "kind", "moves_money", "note", "of_hand", "topic")

    def __init__(self, topic: str, *, of_hand: bool) -> None:
        self.topic = topic
        self.of_hand = of_hand
        self.kind = 0
        """Its number; 0 while none of them has moved money."""
        self.moves_money = True
        self.note: Note | None = None
        # A name that is no longer written is read by way of the catalogue's upcasts.
        self.decode: Callable[[bytes], Any] = partial(catalogue.decode, topic)


class Fold:
    """What has to be in memory to apply the next batch.

    After a transaction that failed it is ahead of the tables: make another.
    """

    def __init__(self, cursor: psycopg.Cursor[Any], book: str) -> None:
        self._partitions = Partitions(cursor, book)
        self._balances = Balances(cursor, book)
        self._hand_days = HandDays(book)
        self._findings = Findings(book)
        self._jackpots = Jackpots(book)
        self._rulebooks = Rulebooks(book)
        self._streams = {category: Streams(category, book) for category in FOLLOWED}
        self._routes: dict[str, Route] = {}
        self._kinds: dict[str, int] = {
            name: kind
            for kind, name in cursor.execute(
                sql.SQL("SELECT kind, name FROM {}.kinds").format(sql.Identifier(book))
            )
        }
        self._new_kinds: list[tuple[int, str]] = []
        self._transactions: list[tuple[str, str, int]] = []
        self._add_kinds = statement(_ADD_KINDS, book)
        self._add_transactions = statement(_ADD_TRANSACTIONS, book)

    def apply(self, cursor: psycopg.Cursor[Any], batch: Batch) -> None:
        """Write what the batch changes, in the transaction that the cursor is in."""
        self._partitions.ensure(cursor, batch.last_position)
        booked = self._read(batch)
        for streams in self._streams.values():
            streams.fold(cursor)
        writes: list[Write] = []
        if booked:
            work = self._balances.book(booked, lambda: self._find(cursor, booked))
            self._balances.copy(cursor, work)
            writes += self._balances.writes(work, batch.recorded_day)
        writes += self._hand_days.writes()
        writes += self._findings.writes(cursor)
        writes += self._jackpots.writes(cursor)
        writes += self._rulebooks.writes()
        for streams in self._streams.values():
            writes += streams.writes()
        send(cursor, [*writes, *self._writes()])

    def _read(self, batch: Batch) -> list[Booked]:
        """Decode the batch, and hand each event to those who need it."""
        booked: list[Booked] = []
        routes, transactions = self._routes, self._transactions
        last_at, occurred = None, 0
        last_stream, network, rulebook = "", "", ""
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
            # All events of a hand say these alike: what follows from them is worked out once.
            if event.occurred_at != last_at:
                last_at, last_stream = event.occurred_at, ""
                occurred = microseconds(last_at)
            if stream_id != last_stream or event.rulebook != rulebook or not rulebook:
                last_stream, rulebook = stream_id, event.rulebook
                network = network_of(stream_id)
                by = (network, rulebook, occurred // _DAY)
                span = self._rulebooks.judge(by, postings, position)
            span[1] = position
            booked.append((position, occurred, route.kind or self._number(route), postings))
            if not route.of_hand:
                transactions.append((network, event.request_id, position))
        return booked

    def _route(self, topic: str) -> "Route":
        """Work out once what is done with the events of a stored name."""
        category = topic.partition(".")[0]
        event_type = catalogue.EVENTS.get(topic)
        route = Route(topic, of_hand=category == "hand")
        route.note = self._note_of(category, event_type)
        if event_type is HandPosted:
            route.decode, route.moves_money = decode_played, False
        elif event_type is not None:
            route.moves_money = event_type.postings is not Event.postings
            shape = booked_part(event_type) if event_type in BUSY else event_type
            route.decode = msgspec.json.Decoder(shape).decode
        route.kind = self._kinds.get(topic, 0)
        self._routes[topic] = route
        return route

    def _note_of(self, category: str, event_type: type[Event] | None) -> Note | None:
        """Return what takes the events of a stored name, besides that they move money."""
        if category in self._streams:
            note = self._streams[category].note
            if category == "jackpot" or event_type in (JackpotWon, None):
                return _both(note, self._jackpots.note)
            return note
        if category == "rulebook":
            return self._rulebooks.note
        if category != "hand":
            return None
        if event_type is BadBeatHit:
            return self._jackpots.note
        if event_type in filed.ABOUT:
            return self._findings.note
        return self._note_hand if event_type is None else self._hand_days.note_of(event_type)

    def _note_hand(self, stream_id: str, event: Event, position: int) -> None:
        """Take an event of a hand, whichever it is."""
        noting = self._findings if isinstance(event, filed.ABOUT) else self._hand_days
        noting.note(stream_id, event, position)
        self._jackpots.note(stream_id, event, position)

    def _number(self, route: "Route") -> int:
        route.kind = self._kinds[route.topic] = len(self._kinds) + 1
        self._new_kinds.append((route.kind, route.topic))
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

    def _writes(self) -> Iterator[Write]:
        if self._new_kinds:
            yield Write(self._add_kinds, columns(self._new_kinds))
        if self._transactions:
            yield Write(self._add_transactions, columns(self._transactions))
        self._new_kinds, self._transactions = [], []


def _both(one: Note, other: Note) -> Note:
    """Hand an event to two who need it."""

    def note(stream_id: str, event: Any, position: int) -> None:
        one(stream_id, event, position)
        other(stream_id, event, position)

    return note


def booked_part(event_type: type[Event]) -> type[Any]:
    """Make the struct of an event without who did it by which request; its postings are its own."""
    fields = [
        (field.name, field.type, field.default)
        if field.default is not msgspec.NODEFAULT
        else (field.name, field.type, msgspec.field(default_factory=field.default_factory))
        if field.default_factory is not msgspec.NODEFAULT
        else (field.name, field.type)
        for field in msgspec.structs.fields(event_type)
        if field.name not in ("actor", "request_id")
    ]
    return msgspec.defstruct(
        event_type.__name__,
        fields,
        namespace={"postings": event_type.postings},
        kw_only=True,
        gc=False,
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
