"""The only door to the event store: load, decide, append.

One journal writes for one process. It decides a batch of commands over states that it remembers,
appends what they become in one transaction, and remembers the new states only when that is
committed. Other processes may write too: under the append lock it catches up with what they wrote
and, where a state that it rested on has changed, decides the batch once more.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

import msgspec
import psycopg
import structlog
from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.persistence import Mapper, PersistenceError, StoredEvent
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool

from ledger import catalogue, recorder
from ledger.approvals.events import Execution
from ledger.core import Command, Decision, Event, Keep, Refused, category_of
from ledger.hands.events import RefusedHand
from ledger.players.events import VaultName

log = structlog.get_logger(__name__)

REMEMBERED: Final = 200_000
"""States kept in memory, oldest forgotten first."""

CATCH_UP_LIMIT: Final = 20_000
"""Positions behind which forgetting everything is cheaper than reading on."""

SNAPSHOT_EVERY: Final = 500
"""Events of one stream after which its state is stored, so that loading it stays short."""

PATIENCE_SECONDS: Final = 5.0
"""How long a batch waits for a database that does not answer, before it is answered itself."""

RECONNECT_SECONDS: Final = 1
"""How long a pool tries by itself to connect, and how long a load waits for it.

After that whoever needs a connection next tries again. Left alone a pool waits twice as long each
time: long after the database is back.
"""

_LOST: Final = (psycopg.OperationalError, psycopg.InterfaceError, PersistenceError)


class Submission(NamedTuple):
    """A command and under which name it was asked for.

    ``key`` is the caller's idempotency key (None: the command is its own id, as hands are);
    ``fields`` has a digest of each field's content, to tell a retry from another request.
    """

    command: Command
    client: str
    key: str | None = None
    fields: Mapping[str, str] = {}


class RefusalInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """A refusal as it is stored and answered."""

    code: str
    kind: str
    retry: str
    message: str
    field: str | None = None
    extra: dict[str, Any] = {}


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a submission. ``position`` is the journal position that it is true for."""

    status: Literal["done", "refused", "failed"]
    position: int
    answer: dict[str, Any] = {}
    repeated: bool = False
    refusal: RefusalInfo | None = None


class RequestReused(Refused):
    """The idempotency key was used for another request before."""

    code = "idempotency-key-reused"
    kind = "invalid"


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
                "MAPPER_TOPIC": "ledger.journal:LedgerMapper",
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
        try:
            return self._load(stream)
        except PersistenceError:
            # When one connection was lost with its server, the others in the pool were too.
            self.pool.drain()
            return self._load(stream)

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


Entry = tuple[Any, int]
"""A stream's state and version; (None, 0) when it has no events."""


class Batch:
    """The book of one batch: what is remembered, with what the batch itself changes on top."""

    def __init__(self, remembered: Callable[[str], Entry]) -> None:
        self._remembered = remembered
        self.reads: set[str] = set()
        self.changed: dict[str, Entry] = {}
        self.rows: list[bytes] = []
        self.keep: list[Keep] = []

    def get(self, stream: str) -> Any:
        return self.entry(stream)[0]

    def entry(self, stream: str) -> Entry:
        changed = self.changed.get(stream)
        if changed is not None:
            return changed
        self.reads.add(stream)
        return self._remembered(stream)

    def accept(self, decision: Decision) -> None:
        """Fold a decision in, whole or not at all."""
        changed: dict[str, Entry] = {}
        rows: list[bytes] = []
        at: str | None = None
        state: Any = None
        version = 0
        for stream, event in decision.changes:
            # A hand's events follow each other: what their stream needs is looked up once.
            if stream != at:
                if at is not None:
                    changed[at] = (state, version)
                at = stream
                state, version = changed.get(stream) or self.entry(stream)
                evolve, start = _evolve(stream), recorder.stream_start(stream)
            version += 1
            state = evolve(state, event)
            rows.append(
                recorder.row_start(start, version, event.NAME.encode(), catalogue.encode(event))
            )
        if at is not None:
            changed[at] = (state, version)
        self.changed.update(changed)
        self.rows += rows
        self.keep += decision.keep


def _evolve(stream: str) -> Callable[[Any, Any], Any]:
    return catalogue.STREAMS[category_of(stream)].evolve


class Decisions(msgspec.Struct):
    """How often the batches of a journal had to be decided, because others wrote meanwhile."""

    batches: int = 0
    again: int = 0
    """Batches that were decided more than once."""

    most: int = 0
    """Times that the batch that was decided most often was decided."""

    def count(self, times: int) -> None:
        """Count a batch that was carried out."""
        self.batches += 1
        self.again += times > 1
        self.most = max(self.most, times)


class _Decided(NamedTuple):
    """An outcome without its position, and how many rows of the batch were written before it."""

    outcome: Outcome
    rows_end: int


class _Draft(NamedTuple):
    """A decided batch that is not appended: what was answered before, and what is new."""

    answered: dict[int, Outcome]
    batch: Batch
    decided: dict[int, _Decided]

    def only_repeats(self, submissions: Sequence[Submission]) -> bool:
        """Tell whether there is nothing to append and nothing to record."""
        return not self.batch.rows and all(
            d.outcome.repeated or (submissions[i].key is None and d.outcome.status == "done")
            for i, d in self.decided.items()
        )

    def outcomes(self, submissions: Sequence[Submission], head: int) -> list[Outcome]:
        """Return the outcomes in order, positions counted from the head on."""
        outcomes: list[Outcome] = []
        for index in range(len(submissions)):
            done = self.answered.get(index)
            if done is None:
                outcome, rows_end = self.decided[index]
                done = msgspec.structs.replace(outcome, position=head + rows_end)
            outcomes.append(done)
        return outcomes


class Journal:
    """Decides and appends batches of commands. Not thread-safe: it belongs to one writer."""

    def __init__(self, dsn: str, *, writer: str) -> None:
        self._dsn = dsn
        self._writer = writer
        self.ledger = Ledger.at(dsn)
        self._connection: psycopg.Connection[Any] | None = None
        self._states: dict[str, Entry] = {}
        self._known = 0
        self._snapshots_due: set[str] = set()
        self._times_decided = 0
        self.decisions = Decisions()

    # -- what callers use ------------------------------------------------------------------

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Carry out a batch in order; one outcome each, none of them lost or done twice.

        After any failed append everything is looked up again before it is decided again. When
        the database stays away the outcomes say ``database-unavailable``: whether something was
        booked is then unknown to the caller, and the same request may safely be sent again.
        """
        first: dict[tuple[str, str, str], int] = {}
        later: list[int] = []
        now: list[int] = []
        for index, submission in enumerate(submissions):
            if submission.key is not None:
                name = (submission.command.network, submission.client, submission.key)
                if first.setdefault(name, index) != index:
                    later.append(index)
                    continue
            now.append(index)
        outcomes: dict[int, Outcome] = dict(
            zip(now, self._persist([submissions[i] for i in now]), strict=True)
        )
        if later:
            outcomes.update(zip(later, self.execute([submissions[i] for i in later]), strict=True))
        return [outcomes[index] for index in range(len(submissions))]

    def housekeep(self) -> None:
        """Store snapshots that are due; a failure costs nothing but a longer load."""
        due, self._snapshots_due = self._snapshots_due, set()
        envelopes = [
            Envelope(stream, version, state)
            for stream in due
            for state, version in [self._states.get(stream, (None, 0))]
            if state is not None
        ]
        if not envelopes or self.ledger.snapshots is None:
            return
        try:
            self.ledger.snapshots.put(envelopes)
        except _LOST as error:
            log.warning("snapshots-not-stored", error=str(error))

    def close(self) -> None:
        """Close the connections."""
        if self._connection is not None:
            self._connection.close()
        self.ledger.close()

    # -- one batch -------------------------------------------------------------------------

    def _persist(self, submissions: list[Submission]) -> list[Outcome]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        pause = 0.05
        again = False
        self._times_decided = 0
        while True:
            try:
                outcomes = self._attempt(submissions, again=again)
                self.decisions.count(self._times_decided)
                return outcomes
            except psycopg.errors.UniqueViolation as error:
                # Another process recorded one of these requests between look-up and append.
                log.info("append-conflict", error=str(error))
                self._forget()
            except _LOST as error:
                log.warning("database-lost", error=str(error), commands=len(submissions))
                self._disconnect()
            except psycopg.Error as error:
                self._disconnect()
                if len(submissions) > 1:
                    # One bad item must not fail the others: each by itself, in order.
                    return [self._persist([submission])[0] for submission in submissions]
                log.exception("append-failed", error=str(error))
                return [_failed("internal-error", "The request could not be stored.", 0)]
            if time.monotonic() > deadline:
                message = "The database does not answer; send the same request again."
                return [_failed("database-unavailable", message, 0)] * len(submissions)
            time.sleep(pause)
            pause = min(2 * pause, 1.0)
            again = True

    def _attempt(self, submissions: list[Submission], *, again: bool) -> list[Outcome]:
        """Decide and append; ``again`` takes the lock first, so that nobody writes in between."""
        cursor = self._connected().cursor(binary=True)
        draft = None if again else self._decide(cursor, submissions)
        if draft is not None and draft.only_repeats(submissions):
            # What was booked stays booked, whoever wrote since.
            return draft.outcomes(submissions, self._known)
        head = recorder.begin(cursor)
        try:
            reads = set() if draft is None else draft.batch.reads
            stale = head.position != self._known and self._catch_up(cursor, head.position, reads)
            if draft is None or stale:
                draft = self._decide(cursor, submissions)
            answered, batch = draft.answered, draft.batch
            outcomes = draft.outcomes(submissions, head.position)
            commit = None
            if batch.rows:
                commit = recorder.copy_events(cursor, head, batch.rows, writer=self._writer)
            self._write_requests(cursor, submissions, answered, outcomes, head.recorded_at)
            self._write_keep(cursor, batch.keep, head.recorded_at)
            recorder.end(cursor, commit, writer=self._writer)
        except BaseException:
            self._roll_back()
            raise
        self._remember(batch)
        if commit is not None:
            self._known = commit.last_position
        return outcomes

    def _decide(self, cursor: psycopg.Cursor[Any], submissions: Sequence[Submission]) -> _Draft:
        """Decide every submission that was not answered before, each on top of those before it."""
        self._times_decided += 1
        answered = self._answered(cursor, submissions)
        absent = self._absent(cursor, submissions)
        states, load = self._states, self._load

        def remembered(stream: str) -> Entry:
            entry = states.get(stream)
            if entry is not None:
                return entry
            return (None, 0) if stream in absent else load(stream)

        batch = Batch(remembered)
        decided: dict[int, _Decided] = {}
        for index, submission in enumerate(submissions):
            if index in answered:
                continue
            refusal: Refused | None
            try:
                decision = submission.command.decide(batch)
                batch.accept(decision)
                refusal = decision.refusal
                answer = decision.answer
            except Refused as error:
                refusal = error
            except _LOST:
                raise
            except Exception:
                log.exception("decide-failed", command=type(submission.command).__name__)
                message = "A defect kept this request from being decided; nothing was booked."
                outcome = _failed("internal-error", message, 0)
                decided[index] = _Decided(outcome, len(batch.rows))
                continue
            if refusal is None:
                repeated = bool(answer.get("repeated", False))
                outcome = Outcome("done", 0, dict(answer), repeated)
            else:
                outcome = _refused(refusal)
            decided[index] = _Decided(outcome, len(batch.rows))
        return _Draft(answered, batch, decided)

    # -- requests --------------------------------------------------------------------------

    def _answered(
        self, cursor: psycopg.Cursor[Any], submissions: Sequence[Submission]
    ) -> dict[int, Outcome]:
        """Look up, in one query, which of these requests were answered before, and how."""
        keyed = {
            (s.command.network, s.client, s.key): index
            for index, s in enumerate(submissions)
            if s.key is not None
        }
        if not keyed:
            return {}
        networks, clients, keys = (list(column) for column in zip(*keyed, strict=True))
        rows = cursor.execute(
            "SELECT network, client, key, fields::text, outcome::text"
            " FROM journal.requests JOIN unnest(%b::text[], %b::text[], %b::text[])"
            " AS asked (network, client, key) USING (network, client, key)",
            [networks, clients, keys],
        ).fetchall()
        answered: dict[int, Outcome] = {}
        for network, client, key, fields, outcome in rows:
            index = keyed[network, client, key]
            before: dict[str, str] = msgspec.json.decode(fields)
            answered[index] = _again(before, submissions[index].fields, outcome)
        return answered

    def _write_requests(
        self,
        cursor: psycopg.Cursor[Any],
        submissions: Sequence[Submission],
        answered: Mapping[int, Outcome],
        outcomes: Sequence[Outcome],
        recorded_at: datetime,
    ) -> None:
        """Record what was answered, in the append's transaction.

        Refusals that ask to be retried later, and defects, are not recorded: their key stays open.
        """
        rows = [
            (s.command.network, s.client, s.key, _json(s.fields), _json(outcome), outcome.position)
            for index, (s, outcome) in enumerate(zip(submissions, outcomes, strict=True))
            if s.key is not None and index not in answered and _is_final(outcome)
        ]
        if rows:
            columns = [list(column) for column in zip(*rows, strict=True)]
            cursor.execute(
                "INSERT INTO journal.requests"
                " (network, client, key, fields, outcome, position, recorded_at)"
                " SELECT n, c, k, f::jsonb, o::jsonb, p, %s::timestamptz FROM unnest(%b::text[],"
                " %b::text[], %b::text[], %b::text[], %b::text[], %b::bigint[])"
                " AS answered (n, c, k, f, o, p)",
                [recorded_at, *columns],
            )

    def _write_keep(
        self, cursor: psycopg.Cursor[Any], keep: Sequence[Keep], recorded_at: datetime
    ) -> None:
        for row in keep:
            values = msgspec.structs.asdict(row)
            cursor.execute(_KEEP[type(row)], {**values, "recorded_at": recorded_at})

    # -- states ----------------------------------------------------------------------------

    def _absent(self, cursor: psycopg.Cursor[Any], submissions: Sequence[Submission]) -> set[str]:
        """Find, in one query, which streams that the batch surely reads do not exist yet."""
        wanted = {s for sub in submissions for s in sub.command.touches()} - self._states.keys()
        if not wanted:
            return set()
        rows = cursor.execute(
            "SELECT originator_id FROM journal.events"
            " WHERE originator_id = ANY(%b) AND originator_version = 1",
            [list(wanted)],
        ).fetchall()
        return wanted - {row[0] for row in rows}

    def _load(self, stream: str) -> Entry:
        entry = self.ledger.load(stream)
        if category_of(stream) != "hand":
            self._states[stream] = entry
        return entry

    def _catch_up(self, cursor: psycopg.Cursor[Any], head: int, reads: set[str]) -> bool:
        """Fold in what others wrote; tell whether any of the streams read has changed.

        Hands are not remembered: each is written once. Those that the batch found absent may
        have been booked meanwhile, which their reader must then see.
        """
        if head - self._known > CATCH_UP_LIMIT:
            self._states.clear()
            self._known = head
            return True
        states = self._states
        changed = False
        rows = cursor.execute(
            "SELECT originator_id, originator_version, topic, state"
            " FROM journal.events WHERE notification_id > %s AND notification_id <= %s"
            " AND NOT (topic >= 'hand.' AND topic < 'hand/') ORDER BY notification_id",
            [self._known, head],
        )
        for stream, version, topic, state in rows:
            changed = changed or stream in reads
            entry = states.get(stream)
            # A stream loaded after the others wrote has their events already.
            if entry is not None and version == entry[1] + 1:
                event = catalogue.decode(topic, bytes(state))
                states[stream] = (_evolve(stream)(entry[0], event), version)
        hands = [stream for stream in reads if stream.startswith("hand:")]
        if not changed and hands:
            changed = bool(
                cursor.execute(
                    "SELECT 1 FROM journal.events WHERE originator_id = ANY(%b)"
                    " AND notification_id > %s LIMIT 1",
                    [hands, self._known],
                ).fetchone()
            )
        self._known = head
        return changed

    def _remember(self, batch: Batch) -> None:
        states = self._states
        for stream, entry in batch.changed.items():
            if stream.startswith("hand:"):
                continue
            if entry[1] // SNAPSHOT_EVERY != states.get(stream, (None, 0))[1] // SNAPSHOT_EVERY:
                self._snapshots_due.add(stream)
            states[stream] = entry
        while len(states) > REMEMBERED:
            del states[next(iter(states))]

    def _forget(self) -> None:
        self._states.clear()
        self._snapshots_due.clear()

    # -- the connection --------------------------------------------------------------------

    def _connected(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            connection = psycopg.connect(self._dsn, autocommit=True, application_name="journal")
            connection.execute("SET lock_timeout = '10s'")
            connection.execute("SET idle_in_transaction_session_timeout = '10s'")
            row = connection.execute(
                "SELECT coalesce(max(last_position), 0) FROM journal.commits"
            ).fetchone()
            connection.execute(
                "DELETE FROM journal.snapshots WHERE NOT topic = ANY(%s)",
                [list(catalogue.SNAPSHOT_STATES)],
            )
            self._forget()
            self._known = row[0] if row else 0
            self._connection = connection
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _roll_back(self) -> None:
        try:
            if self._connection is not None:
                self._connection.rollback()
        except psycopg.Error:
            self._disconnect()


def _again(before: Mapping[str, str], fields: Mapping[str, str], outcome: str) -> Outcome:
    """Answer a request whose key was used before: the first result, or why it is another one."""
    first = msgspec.json.decode(outcome, type=Outcome)
    if before == dict(fields):
        return msgspec.structs.replace(first, repeated=True)
    differing = sorted(
        name for name in before.keys() | fields.keys() if before.get(name) != fields.get(name)
    )
    reused = RequestReused(
        f"This key was used for another request; what differs: {', '.join(differing)}.",
        field=differing[0],
        differing=differing,
    )
    return msgspec.structs.replace(_refused(reused), position=first.position)


def _refused(refusal: Refused) -> Outcome:
    info = RefusalInfo(
        refusal.code, refusal.kind, refusal.retry, refusal.message, refusal.field, refusal.extra
    )
    return Outcome("refused", 0, refusal=info)


def _failed(code: str, message: str, position: int) -> Outcome:
    return Outcome("failed", position, refusal=RefusalInfo(code, "conflict", "later", message))


def _is_final(outcome: Outcome) -> bool:
    if outcome.status == "failed":
        return False
    return outcome.refusal is None or outcome.refusal.retry != "later"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_KEEP: Final[dict[type[Keep], str]] = {
    VaultName: (
        "INSERT INTO vault.names (network, player_id, nickname, updated_at)"
        " VALUES (%(network)s, %(player_id)s, %(nickname)s, %(recorded_at)s)"
        " ON CONFLICT (network, player_id)"
        " DO UPDATE SET nickname = excluded.nickname, updated_at = excluded.updated_at"
    ),
    RefusedHand: (
        "INSERT INTO journal.refused_hands (network, hand, game_number, table_id, code,"
        " retry, digest, record, dictionary, refused_at) VALUES (%(network)s, %(hand)s,"
        " %(game_number)s, %(table_id)s, %(code)s, %(retry)s, %(digest)s, %(record)s,"
        " %(dictionary)s, %(recorded_at)s) ON CONFLICT DO NOTHING"
    ),
    Execution: (
        "INSERT INTO journal.executions (network, approval, maker, checker, digest, recorded_at)"
        " VALUES (%(network)s, %(approval)s, %(maker)s, %(checker)s, %(digest)s, %(recorded_at)s)"
    ),
}


# -- reading -----------------------------------------------------------------------------------

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
