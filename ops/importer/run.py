"""Carries an import out: hands in batches, through the journal itself."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg

from api.clock import now
from ledger import catalogue
from ledger.core import Refused
from ledger.hands import ohh, reading
from ledger.hands.events import HandPosted, hand_stream
from ledger.hands.record import digest_of
from ledger.hands.seating import CLOCK_SKEW
from ledger.identity import Identity
from ledger.journal import Journal, Outcome, RefusalInfo, Submission
from ledger.rulebooks.commands import AdoptRulebook
from ledger.rulebooks.loader import parse, shipped_texts
from ops.importer import files
from ops.importer.command import ACTOR, ImportHand, import_of
from ops.importer.report import Refusal, Report

TRIES: Final = 5
"""How often a batch is sent when the database does not answer; each try is patient by itself."""

PAUSE_SECONDS: Final = 1.0


class ImportStopped(Exception):
    """The import cannot go on; what is booked stays booked, and running it again goes on."""


class Options(NamedTuple):
    """What an import is told: a network, a rulebook and its day instead of the hands' own."""

    network: str | None = None
    rulebook: str | None = None
    on: date | None = None
    batch: int = 500


class _Read(NamedTuple):
    """A hand that could be read, and where it stands."""

    file: str
    line: int
    command: ImportHand


class Importer:
    """Books hands in the order in which they are given, so many in one transaction.

    ``connection`` only reads. ``refused`` is told of each hand that is not booked.
    """

    def __init__(
        self,
        journal: Journal,
        connection: psycopg.Connection[Any],
        identity: Identity,
        options: Options,
        refused: Callable[[Refusal], None],
    ) -> None:
        self._journal = journal
        self._connection = connection
        self._identity = identity
        self._options = options
        self._refused = refused
        self._adopted: set[tuple[str, str]] = set()
        self._waiting: list[_Read] = []
        self.report = Report()

    def book(self, path: Path) -> Iterator[int]:
        """Book the hands of a file, giving after each batch how many of its bytes are done.

        Raises ImportStopped and OSError.
        """
        try:
            for item in files.items(path):
                self._take(str(path), item)
                if len(self._waiting) >= self._options.batch:
                    self._book_waiting()
                    yield item.end
        except ohh.Malformed as error:
            self._refuse(_unread(str(path), 1, error))
        self._book_waiting()
        yield path.stat().st_size

    def _take(self, file: str, item: files.Item) -> None:
        try:
            hand = reading.read(item.content)
            if hand.started_at - now() > CLOCK_SKEW:
                raise ohh.Malformed("The hand begins in the future.", field="start_date_utc")
        except Refused as error:
            self._refuse(_unread(file, item.line, error))
            return
        network, rulebook, on, _ = self._options
        command = import_of(
            self._identity,
            hand,
            reading.digest_of(item.content),
            network=network,
            rulebook=rulebook,
            on=on,
        )
        self._waiting.append(_Read(file, item.line, command))

    def _book_waiting(self) -> None:
        reads, self._waiting = self._pass_over_booked(self._waiting), []
        if not reads:
            return
        adoptions = self._adoptions(read.command for read in reads)
        outcomes = self._execute([*adoptions, *(read.command for read in reads)])
        for adoption, outcome in zip(adoptions, outcomes, strict=False):
            if outcome.refusal is not None:
                raise ImportStopped(f"{adoption.file}: {outcome.refusal.message}")
        for read, outcome in zip(reads, outcomes[len(adoptions) :], strict=True):
            self._count(read, outcome)
        self._journal.housekeep()

    def _pass_over_booked(self, reads: Sequence[_Read]) -> list[_Read]:
        """Count the hands that are booked just so; return the others, for the journal to decide.

        The journal would say the same of each by itself. When an import is run again there are
        many of them, and one query is quicker.
        """
        streams = [
            hand_stream(read.command.network, read.command.hand.game_number) for read in reads
        ]
        rows = self._connection.execute(
            "SELECT originator_id, topic, state FROM journal.events"
            " WHERE originator_id = ANY(%s) AND originator_version = 1",
            [streams],
        )
        booked = {stream: catalogue.decode(topic, bytes(state)) for stream, topic, state in rows}
        others = []
        for stream, read in zip(streams, reads, strict=True):
            first, command = booked.get(stream), read.command
            same = isinstance(first, HandPosted) and first.content_digest == digest_of(command.hand)
            if same:
                self.report.book(command.network, command.hand, {}, repeated=True)
            else:
                others.append(read)
        return others

    def _execute(self, commands: Sequence[AdoptRulebook | ImportHand]) -> list[Outcome]:
        """Have the journal carry commands out; a hand is its own id, so trying again is safe."""
        submissions = [Submission(command, ACTOR) for command in commands]
        for attempt in range(TRIES):
            outcomes = self._journal.execute(submissions)
            if not any(_is_lost(outcome.refusal) for outcome in outcomes):
                return outcomes
            if attempt + 1 < TRIES:
                time.sleep(PAUSE_SECONDS)
        raise ImportStopped("The database does not answer. Run the same command again to go on.")

    def _adoptions(self, commands: Iterable[ImportHand]) -> list[AdoptRulebook]:
        """Adopt, on each network, the rulebooks that its hands are judged by."""
        wanted = {(command.network, command.rulebook) for command in commands} - self._adopted
        self._adopted |= wanted
        return [
            AdoptRulebook(
                network=network,
                at=now(),
                actor=ACTOR,
                request_id=f"import:{network}:rulebook:{file}",
                text=text,
                file=file,
            )
            for network, rulebook in sorted(wanted)
            for file, text in shipped_texts()
            if parse(text, file).name == rulebook
        ]

    # -- what became of it -----------------------------------------------------------------------

    def _count(self, read: _Read, outcome: Outcome) -> None:
        command, refusal = read.command, outcome.refusal
        if refusal is None:
            self.report.book(
                command.network, command.hand, outcome.answer, repeated=outcome.repeated
            )
            return
        number, field = command.hand.game_number, refusal.field
        self._refuse(Refusal(read.file, read.line, number, refusal.code, refusal.message, field))

    def _refuse(self, refusal: Refusal) -> None:
        self.report.refuse(refusal.code)
        self._refused(refusal)


def _unread(file: str, line: int, error: Refused) -> Refusal:
    return Refusal(file, line, None, error.code, error.message, error.field)


def _is_lost(refusal: RefusalInfo | None) -> bool:
    return refusal is not None and refusal.code == "database-unavailable"
