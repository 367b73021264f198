"""A batch of the journal, folded into the tables of one generation."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
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
from projections.balances import Balances, Unknown
from projections.findings import Findings
from projections.hand_days import HandDays
from projections.jackpots import Jackpots
from projections.partitions import Partitions
from projections.routes import Note, Reader, Route, Unplaced
from projections.rulebooks import Rulebooks
from projections.running import Booked
from projections.schema import FOLLOWED
from projections.source import Batch
from projections.streams import Streams
from projections.writes import Write, columns, send, statement

_ADD_KINDS: Final = "INSERT INTO {}.kinds SELECT * FROM unnest(%b::int[], %b::text[])"
_ADD_TRANSACTIONS: Final = """
INSERT INTO {}.transactions SELECT * FROM unnest(%b::text[], %b::text[], %b::bigint[])
"""

BUSY: Final = (HandStaked, HandReturned, HandAwarded, HandRaked, JackpotContributed)
"""Events of every hand: of them only as much is read as their postings need."""

MOVES: Final = (HandStaked, HandReturned, HandAwarded)
"""Of these, events that move an amount out of one account into another, which network, table,
currency and player tell: the accounts are looked up once, by the postings of the first one."""


class Played(msgspec.Struct):
    """As much of ``hand.posted.v1`` as is needed: reading its record would take longer."""

    occurred_at: datetime
    network: str
    table: str
    currency: str


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
        self._reader = Reader(
            self._balances.known, self._route, self._number, self._rulebooks.judge
        )
        self._kinds: dict[str, int] = {
            name: kind
            for kind, name in cursor.execute(
                sql.SQL("SELECT kind, name FROM {}.kinds").format(sql.Identifier(book))
            )
        }
        self._new_kinds: list[tuple[int, str]] = []
        self._add_kinds = statement(_ADD_KINDS, book)
        self._add_transactions = statement(_ADD_TRANSACTIONS, book)

    def apply(self, cursor: psycopg.Cursor[Any], batch: Batch) -> None:
        """Write what the batch changes, in the transaction that the cursor is in."""
        self._partitions.ensure(cursor, batch.last_position)
        with self._balances.entries(cursor) as entries:
            for rows in batch.chunks:
                booked, unplaced = self._reader.read(rows)
                if unplaced:
                    entries.close()
                    self._place(cursor, booked, unplaced)
                if booked:
                    entries.write(self._balances.book(booked))
        for streams in self._streams.values():
            streams.fold(cursor)
        writes: list[Write] = [*self._balances.writes(batch.recorded_day)]
        writes += self._hand_days.writes()
        writes += self._findings.writes(cursor)
        writes += self._jackpots.writes(cursor)
        writes += self._rulebooks.writes()
        for streams in self._streams.values():
            writes += streams.writes()
        send(cursor, [*writes, *self._writes()])

    def _route(self, topic: str) -> Route:
        """Work out once what is done with the events of a stored name."""
        category = topic.partition(".")[0]
        event_type = catalogue.EVENTS.get(topic)
        # A name that is no longer written is read by way of the catalogue's upcasts.
        decode: Callable[[bytes], Any] = partial(catalogue.decode, topic)
        if event_type is HandPosted:
            decode = msgspec.json.Decoder(Played).decode
        elif event_type is not None:
            shape = booked_part(event_type) if event_type in BUSY else event_type
            decode = msgspec.json.Decoder(shape).decode
        route = Route(topic, decode, category == "hand")
        route.note = self._note_of(category, event_type)
        if event_type is not None:
            route.moves_money = event_type.postings is not Event.postings
        if event_type in MOVES:
            route.moves = self._balances.moves()
        route.kind = self._kinds.get(topic, 0)
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

    def _number(self, route: Route) -> int:
        route.kind = self._kinds[route.topic] = len(self._kinds) + 1
        self._new_kinds.append((route.kind, route.topic))
        return route.kind

    def _place(
        self, cursor: psycopg.Cursor[Any], booked: list[Booked], unplaced: Sequence[Unplaced]
    ) -> None:
        """Load the accounts of events, and open the new ones under the partner of their player."""
        wanted: Unknown = {}
        for place, postings in unplaced:
            for code, currency, _ in postings:
                wanted.setdefault((code, currency), booked[place][0])
        unknown = self._balances.load(cursor, wanted)
        players = self._streams["player"]
        players.fold(cursor)
        players.load(cursor, _player_streams(unknown))

        def partner_of(network: str, player: str) -> str | None:
            state = players.get(stream("player", network, player))
            return None if state is None else state.partner

        self._balances.open(cursor, unknown, partner_of)
        known = self._balances.known
        for place, postings in unplaced:
            position, occurred, kind, _, amounts = booked[place]
            accounts = tuple([known[currency][code] for code, currency, _ in postings])
            booked[place] = (position, occurred, kind, accounts, amounts)

    def _writes(self) -> Iterator[Write]:
        if self._new_kinds:
            yield Write(self._add_kinds, columns(self._new_kinds))
        if self._reader.transactions:
            yield Write(self._add_transactions, columns(self._reader.transactions))
        self._new_kinds, self._reader.transactions = [], []


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


def _player_streams(accounts: Iterable[tuple[str, str]]) -> list[str]:
    parsed = (parse(code) for code, _ in accounts)
    return list(
        dict.fromkeys(
            stream("player", account.network, account.player)
            for account in parsed
            if account.player is not None
        )
    )
