"""The library's side of the book: cold loads, snapshots, and reading what is stored.

The journal appends past the library's own save; everything that is read goes through it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import psycopg
from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.persistence import Mapper, PersistenceError, StoredEvent
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool

from ledger import catalogue, recorder
from ledger.core import Event, category_of

T = TypeVar("T")

RECONNECT_SECONDS: Final = 1
"""How long a pool tries by itself to connect, and how long a load waits for it.

After that whoever needs a connection next tries again. Left alone a pool waits twice as long each
time: long after the database is back.
"""


class Recorded(NamedTuple):
    """A stored event with its place in the journal."""

    position: int
    stream: str
    version: int
    event: Event


class Envelope(msgspec.Struct, frozen=True):
    """The library's view of an event or a snapshot: whose it is, which version, and its content."""

    originator_id: str
    originator_version: int
    content: Any


class LedgerMapper(Mapper[str]):
    """Stores events by their stored names and snapshots by their state's fingerprint, as JSON."""

    def to_stored_event(self, domain_event: Any) -> StoredEvent:
        content = domain_event.content
        if isinstance(content, Event):
            topic, state = content.NAME, catalogue.encode(content)
        else:
            topic = catalogue.SNAPSHOTS[category_of(domain_event.originator_id)]
            state = msgspec.json.encode(content)
        return StoredEvent(
            domain_event.originator_id, domain_event.originator_version, topic, state
        )

    def to_domain_event(self, stored_event: StoredEvent) -> Any:
        topic, state = stored_event.topic, bytes(stored_event.state)
        snapshot = catalogue.SNAPSHOT_STATES.get(topic)
        content = (
            catalogue.decode(topic, state)
            if snapshot is None
            else msgspec.json.decode(state, type=snapshot)
        )
        return Envelope(str(stored_event.originator_id), stored_event.originator_version, content)


class Ledger(Application[str]):
    """The library's application: cold loads of streams, snapshots, notification log."""

    is_snapshotting_enabled = True

    @classmethod
    def at(cls, dsn: str) -> "Ledger":
        """Open the ledger of a database, wired by the library's own settings."""
        where = conninfo_to_dict(dsn)
        ledger = cls(
            env={
                "PERSISTENCE_MODULE": "ledger.recorder:Factory",
                "MAPPER_TOPIC": "ledger.application:LedgerMapper",
                "ORIGINATOR_ID_TYPE": "text",
                "CREATE_TABLE": "n",
                "POSTGRES_SCHEMA": recorder.SCHEMA,
                "POSTGRES_DBNAME": str(where.get("dbname", "")),
                "POSTGRES_HOST": str(where.get("host", "")),
                "POSTGRES_PORT": str(where.get("port", "5432")),
                "POSTGRES_USER": str(where.get("user", "")),
                "POSTGRES_PASSWORD": str(where.get("password", "")),
                "POSTGRES_MAX_OVERFLOW": "4",
                "POSTGRES_CONNECT_TIMEOUT": str(RECONNECT_SECONDS),
            }
        )
        ledger.pool.reconnect_timeout = RECONNECT_SECONDS
        return ledger

    @property
    def pool(self) -> ConnectionPool[Any]:
        """The library's connections."""
        assert isinstance(self.factory, recorder.Factory)
        return self.factory.datastore.pool

    def load(self, stream: str) -> tuple[Any, int]:
        """Fold a stream from its last snapshot on; (None, 0) when it has no events.

        Raises PersistenceError when the database does not answer.
        """
        return self._tried_twice(partial(self._load, stream))

    def load_all(self, streams: Sequence[str]) -> dict[str, tuple[Any, int]]:
        """Fold many streams in two queries: one by one, a restart would take a second a thousand.

        Raises PersistenceError when the database does not answer.
        """
        return self._tried_twice(partial(self._load_all, streams))

    def _tried_twice(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except PersistenceError:
            # When one connection was lost with its server, the others in the pool were too.
            self.pool.drain()
            return read()

    def _load_all(self, streams: Sequence[str]) -> dict[str, tuple[Any, int]]:
        assert isinstance(self.factory, recorder.Factory)
        states: dict[str, tuple[Any, int]] = dict.fromkeys(streams, (None, 0))
        with self.factory.datastore.transaction(commit=False) as cursor:
            for row in cursor.execute(_SNAPSHOTS_OF, [list(streams), _SNAPSHOT_TOPICS]):
                kind = catalogue.SNAPSHOT_STATES[row["topic"]]
                folded = msgspec.json.decode(row["state"], type=kind)
                states[row["originator_id"]] = (folded, row["originator_version"])
            versions = [version for _, version in states.values()]
            for row in cursor.execute(_EVENTS_AFTER, [list(states), versions]):
                stream = row["originator_id"]
                evolve = catalogue.STREAMS[category_of(stream)].evolve
                event = catalogue.decode(row["topic"], bytes(row["state"]))
                states[stream] = (evolve(states[stream][0], event), row["originator_version"])
        return states

    def _load(self, stream: str) -> tuple[Any, int]:
        evolve = catalogue.STREAMS[category_of(stream)].evolve
        try:
            loaded: Envelope = self.repository.get(stream, projector_func=_projector(evolve))
        except AggregateNotFoundError:
            return None, 0
        return loaded.content, loaded.originator_version


def _projector(evolve: Callable[[Any, Any], Any]) -> Callable[..., Envelope | None]:
    def project(initial: Envelope | None, envelopes: Iterable[Envelope]) -> Envelope | None:
        state, last = (initial.content, initial) if initial else (None, None)
        for last in envelopes:
            content = last.content
            state = evolve(state, content) if isinstance(content, Event) else content
        return last and Envelope(last.originator_id, last.originator_version, state)

    return project


_SNAPSHOT_TOPICS: Final = list(catalogue.SNAPSHOT_STATES)
_SNAPSHOTS_OF: Final = (
    "SELECT originator_id, originator_version, topic, state FROM journal.snapshots"
    " WHERE originator_id = ANY(%s) AND topic = ANY(%s)"
)
_EVENTS_AFTER: Final = (
    "SELECT e.originator_id, e.originator_version, e.topic, e.state"
    " FROM unnest(%s::text[], %s::bigint[]) AS known (stream, version) JOIN journal.events e"
    " ON e.originator_id = known.stream AND e.originator_version > known.version"
    " ORDER BY e.originator_id, e.originator_version"
)
_SELECT_EVENTS: Final = (
    "SELECT notification_id, originator_id, originator_version, topic, state FROM journal.events"
)


def _recorded(rows: Iterable[Any]) -> Iterator[Recorded]:
    for position, stream, version, topic, state in rows:
        yield Recorded(position, stream, version, catalogue.decode(topic, bytes(state)))


def events_of(connection: psycopg.Connection[Any], stream: str) -> list[Recorded]:
    """Read a whole stream in order."""
    query = f"{_SELECT_EVENTS} WHERE originator_id = %s ORDER BY originator_version"
    return list(_recorded(connection.execute(query, [stream])))


def event_at(connection: psycopg.Connection[Any], position: int) -> Recorded | None:
    """Read the event at a position."""
    query = f"{_SELECT_EVENTS} WHERE notification_id = %s"
    return next(_recorded(connection.execute(query, [position])), None)
