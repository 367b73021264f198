"""The only door to the event store: load, decide, append.

One journal writes for one process. It decides a batch of commands over states that it remembers,
appends what they become in one transaction, and remembers the new states only when that is
committed. The next batch may be decided meanwhile, on top of the one that is being appended. Other
processes may write too: under the append lock it catches up with what they wrote and, where a state
that a batch rested on has changed or was never committed, decides the batch once more.
"""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, Literal, NamedTuple

import msgspec
import psycopg
import structlog
from eventsourcing.persistence import PersistenceError

from ledger import catalogue, recorder
from ledger.application import Envelope, Ledger
from ledger.approvals.events import Execution
from ledger.batch import Batch, Entry, NotLoaded
from ledger.core import Command, Keep, Refused, category_of
from ledger.hands.events import RefusedHand
from ledger.link import AsyncLink, Call, Connect, Disconnect, Link, Pause, Query, Script, Steps
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

AT_ONCE: Final = 25
"""Commands that are decided before others in the event loop get their turn: some milliseconds."""

_NOTHING_KNOWN: Final = -1
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


class _Draft:
    """A decided batch that is not appended: what was answered before, and what is new.

    ``known`` is the position up to which it knew what others had written, ``base`` the batch that
    was being appended meanwhile and that it rests on.
    """

    def __init__(
        self,
        answered: dict[int, Outcome],
        batch: Batch,
        decided: dict[int, _Decided],
        known: int,
        base: "_Draft | None",
    ) -> None:
        self.answered = answered
        self.batch = batch
        self.decided = decided
        self.known = known
        self.base = base
        self.start: int | None = None
        self.end: int | None = None
        """The journal's positions before and after it, when it is carried out."""

    @property
    def founded(self) -> bool:
        """Tell whether the batch that it rests on is carried out as it was decided."""
        return self.base is None or self.base.end is not None

    def has_seen(self, head: int) -> bool:
        """Tell whether nobody wrote, up to a head, but the batch that it rests on."""
        if self.base is None:
            return head == self.known
        # What the base met when it was appended came after this one had begun to read.
        return (self.base.start, self.base.end) == (self.known, head)

    def carried_out(self, start: int, end: int) -> None:
        """Note that it is committed, and forget what it rested on."""
        self.start, self.end, self.base = start, end, None

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
                done = Outcome(
                    outcome.status,
                    head + rows_end,
                    outcome.answer,
                    outcome.repeated,
                    outcome.refusal,
                )
            outcomes.append(done)
        return outcomes


class Intent:
    """Submissions and what was decided of them; to be appended, once, in the order of deciding.

    ``later`` are those that ask for the same as one before them in the batch.
    """

    def __init__(self, submissions: Sequence[Submission]) -> None:
        self.count = len(submissions)
        self.now: dict[int, Submission] = {}
        self.later: dict[int, Submission] = {}
        self.draft: _Draft | None = None
        self.times_decided = 0
        seen: set[tuple[str, str, str]] = set()
        for index, submission in enumerate(submissions):
            group = self.now
            if submission.key is not None:
                name = (submission.command.network, submission.client, submission.key)
                group = self.later if name in seen else self.now
                seen.add(name)
            group[index] = submission


class Journal:
    """Decides and appends batches of commands, in order: it belongs to one writer.

    ``execute`` blocks. In an event loop ``decide`` and ``append`` do the same in two parts, and one
    batch may be decided while the one before it is appended. A journal is used in one of both ways.
    """

    def __init__(self, dsn: str, *, writer: str) -> None:
        self._writer = writer
        self.ledger = Ledger.at(dsn)
        self._link = Link(dsn)
        self._looking, self._appending = AsyncLink(dsn), AsyncLink(dsn)
        self._states: dict[str, Entry] = {}
        self._known = _NOTHING_KNOWN
        self._newest: _Draft | None = None
        """What was decided last, until it is carried out or given up."""
        self._loading: dict[str, int] = {}
        """Streams that are being loaded -> the version that they have reached meanwhile."""
        self._snapshots_due: set[str] = set()
        self.decisions = Decisions()

    # -- what callers use ------------------------------------------------------------------

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Carry out a batch in order; one outcome each, none of them lost or done twice.

        After any failed append everything is looked up again before it is decided again. When
        the database stays away the outcomes say ``database-unavailable``: whether something was
        booked is then unknown to the caller, and the same request may safely be sent again.
        """
        intent = self._link.take(self._prepare(submissions))
        return self._link.take(self._finish(intent))

    async def decide(self, submissions: Sequence[Submission]) -> Intent:
        """Do the first half of ``execute``: the event loop is others' while the database works."""
        return await self._looking.take(self._prepare(submissions))

    async def append(self, intent: Intent) -> list[Outcome]:
        """Do the second half of ``execute``, one intent after the other."""
        return await self._appending.take(self._finish(intent))

    def housekeep(self) -> None:
        """Store snapshots that are due; a failure costs nothing but a longer load."""
        self._link.take(self._housekeep())

    async def keep_house(self) -> None:
        """Do what ``housekeep`` does in an event loop."""
        await self._appending.take(self._housekeep())

    def close(self) -> None:
        """Close the connections."""
        self._link.close()
        self.ledger.close()

    async def leave(self) -> None:
        """Do what ``close`` does in an event loop."""
        await self._looking.close()
        await self._appending.close()
        self.ledger.close()

    # -- one batch -------------------------------------------------------------------------

    def _prepare(self, submissions: Sequence[Submission]) -> Steps[Intent]:
        """Decide a batch; what keeps it from being decided now is met again when it is appended."""
        intent = Intent(submissions)
        base = self._newest
        try:
            yield from self._connect()
            intent.draft = yield from self._decide([*intent.now.values()], base)
        except psycopg.Error as error:
            log.warning("not-decided-yet", error=str(error), commands=intent.count)
            yield Disconnect()
        except PersistenceError as error:
            log.warning("not-decided-yet", error=str(error), commands=intent.count)
        else:
            intent.times_decided = 1
            self._newest = intent.draft
        return intent

    def _finish(self, intent: Intent) -> Steps[list[Outcome]]:
        """Append a decided batch, then carry out what it asks for twice."""
        prepared = intent.draft
        try:
            done = yield from self._persist([*intent.now.values()], intent)
        finally:
            if self._newest is prepared:
                self._newest = None
        outcomes = dict(zip(intent.now, done, strict=True))
        if intent.later:
            again = Intent([*intent.later.values()])
            answered = yield from self._finish(again)
            outcomes.update(zip(intent.later, answered, strict=True))
        return [outcomes[index] for index in range(intent.count)]

    def _persist(self, submissions: list[Submission], intent: Intent) -> Steps[list[Outcome]]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        pause = 0.05
        while True:
            try:
                outcomes = yield from self._attempt(submissions, intent)
                self.decisions.count(intent.times_decided)
                return outcomes
            except _LOST as error:
                log.warning("database-lost", error=str(error), commands=len(submissions))
                self._forget()
                yield Disconnect()
            except psycopg.Error as error:
                self._forget()
                if not isinstance(error, psycopg.errors.UniqueViolation) or intent.draft is None:
                    yield Disconnect()
                    return (yield from self._one_by_one(submissions, error))
                # Another process recorded one of these requests between look-up and append.
                log.info("append-conflict", error=str(error))
            if time.monotonic() > deadline:
                message = "The database does not answer; send the same request again."
                return [_failed("database-unavailable", message, 0)] * len(submissions)
            intent.draft = None
            yield Pause(pause)
            pause = min(2 * pause, 1.0)

    def _one_by_one(
        self, submissions: list[Submission], error: psycopg.Error
    ) -> Steps[list[Outcome]]:
        """Carry out each by itself, in order: one that cannot be stored fails no other."""
        if len(submissions) == 1:
            log.error("append-failed", error=str(error))
            return [_failed("internal-error", "The request could not be stored.", 0)]
        each: list[Outcome] = []
        for submission in submissions:
            each += yield from self._persist([submission], Intent([submission]))
        return each

    def _attempt(self, submissions: list[Submission], intent: Intent) -> Steps[list[Outcome]]:
        """Append a draft; without one that still holds, decide with the lock held.

        Nobody writes then in between: no batch is decided a third time unless an append failed.
        """
        yield from self._connect()
        draft = intent.draft
        if draft is not None and not draft.founded:
            draft = None
        if draft is not None and draft.only_repeats(submissions):
            # What was booked stays booked, whoever wrote since.
            draft.carried_out(self._known, self._known)
            return draft.outcomes(submissions, self._known)
        head = yield from recorder.begin()
        try:
            stale = False
            if draft is None or not draft.has_seen(head.position):
                stale = yield from self._catch_up(head.position, draft)
            if draft is None or stale:
                intent.times_decided += 1
                draft = yield from self._decide(submissions, None, locked=True)
            answered, batch = draft.answered, draft.batch
            outcomes = draft.outcomes(submissions, head.position)
            commit = None
            if batch.rows:
                commit = yield from recorder.copy_events(head, batch.rows, writer=self._writer)
            yield from self._write_requests(submissions, answered, outcomes, head.recorded_at)
            yield from self._write_keep(batch.keep, head.recorded_at)
            yield from recorder.end(commit, writer=self._writer)
        except Exception:
            yield from self._roll_back()
            raise
        self._remember(batch)
        self._known = head.position if commit is None else commit.last_position
        draft.carried_out(head.position, self._known)
        return outcomes

    def _decide(
        self, submissions: Sequence[Submission], base: _Draft | None, *, locked: bool = False
    ) -> Steps[_Draft]:
        """Decide every submission that was not answered before, each on top of those before it.

        With the append lock held nobody else gets a turn in between: others wait for it.
        """
        known = self._known
        below: Mapping[str, Entry] = {} if base is None else base.batch.changed
        answered = yield from self._answered(submissions)
        loaded = yield from self._look_up(submissions, below)
        batch = Batch(self._states, loaded, below)
        decided: dict[int, _Decided] = {}
        for index, submission in enumerate(submissions):
            if index in answered:
                continue
            if not locked and index % AT_ONCE == AT_ONCE - 1:
                yield Pause()
            while index not in decided:
                try:
                    outcome = _decide_one(batch, submission.command)
                except NotLoaded as needed:
                    try:
                        loaded.update((yield from self._load([needed.stream])))
                    except (psycopg.Error, PersistenceError):
                        raise
                    except Exception:
                        decided[index] = _Decided(_defect(submission.command), len(batch.rows))
                else:
                    decided[index] = _Decided(outcome, len(batch.rows))
        return _Draft(answered, batch, decided, known, base)

    # -- requests --------------------------------------------------------------------------

    def _answered(self, submissions: Sequence[Submission]) -> Steps[dict[int, Outcome]]:
        """Look up, in one query, which of these requests were answered before, and how."""
        keyed = {
            (s.command.network, s.client, s.key): index
            for index, s in enumerate(submissions)
            if s.key is not None
        }
        if not keyed:
            return {}
        networks, clients, keys = (list(column) for column in zip(*keyed, strict=True))
        rows = yield Query(
            "SELECT network, client, key, fields::text, outcome::text"
            " FROM journal.requests JOIN unnest(%b::text[], %b::text[], %b::text[])"
            " AS asked (network, client, key) USING (network, client, key)",
            [networks, clients, keys],
        )
        answered: dict[int, Outcome] = {}
        for network, client, key, fields, outcome in rows:
            index = keyed[network, client, key]
            before: dict[str, str] = msgspec.json.decode(fields)
            answered[index] = _again(before, submissions[index].fields, outcome)
        return answered

    def _write_requests(
        self,
        submissions: Sequence[Submission],
        answered: Mapping[int, Outcome],
        outcomes: Sequence[Outcome],
        recorded_at: datetime,
    ) -> Steps[None]:
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
            yield Query(
                "INSERT INTO journal.requests"
                " (network, client, key, fields, outcome, position, recorded_at)"
                " SELECT n, c, k, f::jsonb, o::jsonb, p, %s::timestamptz FROM unnest(%b::text[],"
                " %b::text[], %b::text[], %b::text[], %b::text[], %b::bigint[])"
                " AS answered (n, c, k, f, o, p)",
                [recorded_at, *columns],
            )

    def _write_keep(self, keep: Sequence[Keep], recorded_at: datetime) -> Steps[None]:
        for row in keep:
            values = msgspec.structs.asdict(row)
            yield Query(_KEEP[type(row)], {**values, "recorded_at": recorded_at})

    # -- states ----------------------------------------------------------------------------

    def _look_up(
        self, submissions: Sequence[Submission], below: Mapping[str, Entry]
    ) -> Steps[dict[str, Entry]]:
        """Load, of the streams that the batch surely reads, those that are not in memory."""
        states = self._states
        wanted = {
            stream
            for submission in submissions
            for stream in submission.command.touches()
            if stream not in states and stream not in below
        }
        if not wanted:
            return {}
        rows = yield Query(
            "SELECT originator_id FROM journal.events"
            " WHERE originator_id = ANY(%b) AND originator_version = 1",
            [list(wanted)],
        )
        loaded: dict[str, Entry] = dict.fromkeys(wanted, (None, 0))
        there = [stream for (stream,) in rows]
        if not there:
            return loaded
        try:
            loaded.update((yield from self._load(there)))
        except (psycopg.Error, PersistenceError):
            raise
        except Exception:
            log.exception("load-failed", streams=len(there))
            # One by one, where they are needed: what cannot be read fails who needs it alone.
            for stream in there:
                del loaded[stream]
        return loaded

    def _load(self, streams: Sequence[str]) -> Steps[dict[str, Entry]]:
        """Load streams; those that move on meanwhile once more, else they would stay behind."""
        loaded: dict[str, Entry] = {}
        left = list(streams)
        while left:
            self._loading.update(dict.fromkeys(left, 0))
            try:
                found = yield Call(partial(self.ledger.load_all, left))
            finally:
                reached = {stream: self._loading.pop(stream, None) for stream in left}
            for stream, entry in found.items():
                least = reached[stream]
                if least is not None and entry[1] >= least:
                    loaded[stream] = entry
            left = [stream for stream in left if stream not in loaded]
        self._states.update(
            (stream, entry) for stream, entry in loaded.items() if category_of(stream) != "hand"
        )
        return loaded

    def _catch_up(self, head: int, draft: _Draft | None) -> Steps[bool]:
        """Fold in what others wrote; tell whether any stream that the draft read has moved on.

        Hands are not remembered: each is written once. Those that the draft found absent may
        have been booked meanwhile, which it must then see.
        """
        since = self._known if draft is None else min(self._known, draft.known)
        if head - since > CATCH_UP_LIMIT:
            self._forget()
            self._known = head
            return True
        reads = {} if draft is None else draft.batch.reads
        states, loading = self._states, self._loading
        stale = False
        rows = yield Query(
            "SELECT originator_id, originator_version, topic, state"
            " FROM journal.events WHERE notification_id > %s AND notification_id <= %s"
            " AND NOT (topic >= 'hand.' AND topic < 'hand/') ORDER BY notification_id",
            [since, head],
        )
        for stream, version, topic, state in rows:
            stale = stale or version > reads.get(stream, version)
            entry = states.get(stream)
            if stream in loading:
                loading[stream] = version
            # A stream loaded after the others wrote has their events already.
            if entry is not None and version == entry[1] + 1:
                event = catalogue.decode(topic, bytes(state))
                states[stream] = (catalogue.evolve_of(stream)(entry[0], event), version)
        hands = [stream for stream in reads if stream.startswith("hand:")]
        if not stale and hands:
            found = yield Query(
                "SELECT originator_id, max(originator_version) FROM journal.events"
                " WHERE originator_id = ANY(%b) AND notification_id > %s GROUP BY originator_id",
                [hands, since],
            )
            stale = any(version > reads[stream] for stream, version in found)
        # Only now: what is decided meanwhile has not seen all of it.
        self._known = head
        return stale

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
        # What is being loaded may be old by now, and is loaded again.
        self._loading.clear()

    def _housekeep(self) -> Steps[None]:
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
            yield Call(partial(self.ledger.snapshots.put, envelopes))
        except _LOST as error:
            log.warning("snapshots-not-stored", error=str(error))

    # -- the connection --------------------------------------------------------------------

    def _connect(self) -> Steps[None]:
        yield Connect()
        if self._known != _NOTHING_KNOWN:
            return
        [(known,)] = yield Query("SELECT coalesce(max(last_position), 0) FROM journal.commits")
        yield Query(
            "DELETE FROM journal.snapshots WHERE NOT topic = ANY(%s)",
            [list(catalogue.SNAPSHOT_STATES)],
        )
        self._known = known

    def _roll_back(self) -> Steps[None]:
        try:
            yield Script("ROLLBACK")
        except psycopg.Error:
            yield Disconnect()


def _decide_one(batch: Batch, command: Command) -> Outcome:
    """Decide a command and fold it in; raises NotLoaded, and what a lost database raises."""
    try:
        decision = command.decide(batch)
        batch.accept(decision)
    except Refused as error:
        return _refused(error)
    except _LOST:
        raise
    except Exception:
        return _defect(command)
    if decision.refusal is not None:
        return _refused(decision.refusal)
    answer = decision.answer
    return Outcome("done", 0, dict(answer), bool(answer.get("repeated", False)))


def _defect(command: Command) -> Outcome:
    """Log the exception that is being handled; its command fails alone."""
    log.exception("decide-failed", command=type(command).__name__)
    message = "A defect kept this request from being decided; nothing was booked."
    return _failed("internal-error", message, 0)


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
