"""The whole check, in one snapshot of the database."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import psycopg

from ledger import catalogue
from projections import checkpoints, generations
from projections.anchors import Anchor, Noted
from projections.check.chain import Chain, Checked, Stored
from projections.check.findings import FindingsCheck
from projections.check.guards import check_triggers, check_views
from projections.check.hands import HandCheck
from projections.check.jackpots import JackpotsCheck
from projections.check.replay import Replay
from projections.check.report import Report
from projections.check.rulebooks import RulebooksCheck
from projections.check.seals import check_seals
from projections.check.signposts import HandDaysCheck, check_signposts
from projections.check.snapshots import check_snapshots
from projections.check.streams import UNFOLDABLE, check_states, check_versions
from projections.schema import book_of

Progress = Callable[[str, int], None]
"""Told what is being looked at, and the position or row that it has come to."""

# A reader, or an answer, that knows of events which are not there: the newest were taken away.
_BEYOND: Final = """
SELECT 'tracking', 'checkpoint ' || application_name, notification_id FROM journal.tracking
 WHERE notification_id > %(head)s AND application_name <> '__migration__'
UNION ALL
SELECT 'requests', concat_ws(' ', 'request', network, client, key), position
  FROM journal.requests WHERE position > %(head)s
"""

_INSIDE: Final = """
SELECT application_name, notification_id FROM journal.tracking
 WHERE notification_id > 0 AND application_name <> '__migration__'
   AND NOT EXISTS (SELECT FROM journal.commits WHERE last_position = notification_id)
"""

# Claims are taken by whatever has a stream of its own, in the append that makes it or later.
_CLAIMS: Final = """
SELECT originator_id, notification_id, holder FROM (
  SELECT originator_id, notification_id, split_part(originator_id, ':', 2) AS network,
         convert_from(state, 'UTF8')::jsonb ->> 'holder' AS holder
    FROM journal.events
   WHERE originator_id >= 'claim:' AND originator_id < 'claim;' AND topic = 'claim.taken.v1'
  ) AS claimed
 WHERE NOT EXISTS (
   SELECT FROM journal.events WHERE originator_version = 1 AND originator_id IN (
     concat_ws(':', 'player', network, holder), concat_ws(':', 'deposit', network, holder),
     concat_ws(':', 'withdrawal', network, holder), concat_ws(':', 'provider', network, holder),
     concat_ws(':', 'partner', network, holder), concat_ws(':', 'treasury', network, holder),
     concat_ws(':', 'period', network, holder)))
"""


def check(
    dsn: str, on_progress: Progress = lambda _, __: None, *, against: Iterable[Anchor] = ()
) -> Report:
    """Check everything in one snapshot of the database, and against anchors noted outside.

    Raises StaleGenerationError when the live projections were made by other code.
    """
    with psycopg.connect(dsn, application_name="cardroom check") as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.execute("SET LOCAL jit = off")
        report = Check(connection, against).run(on_progress)
    check_views(dsn, report)
    return report


class Check:
    """Walks through the journal once, and tells every part of the check what it meets."""

    def __init__(self, connection: psycopg.Connection[Any], against: Iterable[Anchor] = ()) -> None:
        self._connection = connection
        self._report = Report()
        self._noted = Noted(against)
        self._hands = HandCheck(self._report)
        self._book, self._projected = self._live()
        self._replay: Replay | None = None
        self._days = HandDaysCheck()
        self._findings = FindingsCheck()
        self._jackpots = JackpotsCheck(self._report)
        self._rulebooks = RulebooksCheck()
        if self._book is not None:
            self._replay = Replay(connection, self._book, self._report)

    def _live(self) -> tuple[str | None, int]:
        with self._connection.cursor() as cursor:
            number = generations.live(cursor)
            if number is None:
                return None, 0
            generations.verify_definition(cursor, number)
            book = book_of(number)
            self._report.projected = checkpoints.position_of(cursor, book)
            return book, self._report.projected

    def run(self, on_progress: Progress = lambda _, __: None) -> Report:
        """Check everything."""
        for batch in Chain(self._connection, self._report, self._noted).walk():
            for commit in batch:
                for row in commit.rows:
                    self._note(commit, row)
                self._hands.end_commit()
            if self._replay is not None:
                self._replay.end_batch(min(batch[-1].last, self._projected))
            on_progress("events", batch[-1].last)
        self._hands.end()
        self._jackpots.end()
        head = self._report.position
        on_progress("what is written beside them", head)
        self._check_references()
        check_triggers(self._connection, self._report)
        check_seals(self._connection, self._report, self._noted)
        self._noted.end(self._report)
        self._report.anchors = self._noted.met
        on_progress("streams and snapshots", head)
        check_versions(self._connection, self._report)
        check_snapshots(self._connection, self._report)
        if self._replay is not None and self._book is not None:
            on_progress("projections", self._projected)
            self._replay.end()
            self._days.end(self._connection, self._book, self._report)
            self._findings.end(self._connection, self._book, self._projected, self._report)
            self._jackpots.compare(self._connection, self._book)
            self._rulebooks.end(self._connection, self._book, self._report)
            check_states(self._connection, self._book, self._projected, self._report)
            check_signposts(self._connection, self._book, self._report)
            self._check_sums()
        return self._report

    def _note(self, commit: Checked, row: Stored) -> None:
        try:
            event = catalogue.decode(row.topic, row.state)
            lines = event.postings()
            self._hands.note(row.stream, row.position, event, lines)
            projected = row.position <= self._projected
            self._jackpots.note(row.stream, row.position, event, projected=projected)
        except UNFOLDABLE as error:
            self._report.add(
                "unreadable-event",
                f"position {row.position}, {row.stream}",
                f"{row.topic}: {type(error).__name__}: {error}",
            )
            return
        if self._replay is not None and row.position <= self._projected:
            self._days.note(row.stream, row.position, event, bool(lines))
            self._findings.note(row.stream, row.position, event)
            self._rulebooks.note(row.stream, row.position, event, lines)
            if lines:
                self._replay.note(row.position, event, lines, commit.recorded_day)

    def _check_references(self) -> None:
        head = self._report.position
        for table, name, position in self._connection.execute(_BEYOND, {"head": head}):
            self._report.add(
                "newest-events-missing",
                name,
                f"it knows of position {position}, the journal ends at {head}",
                f"journal.{table}",
            )
        for name, position in self._connection.execute(_INSIDE):
            self._report.add(
                "checkpoint-inside-commit",
                f"checkpoint {name}",
                f"it is at position {position}, where no commit ends",
                "journal.tracking",
            )
        try:
            with self._connection.transaction():
                claims = self._connection.execute(_CLAIMS).fetchall()
        except psycopg.DataError:
            return  # it was named as unreadable
        for claim, position, holder in claims:
            self._report.add(
                "claim-of-nobody", f"position {position}, {claim}", f"there is no {holder}"
            )

    def _check_sums(self) -> None:
        """Liabilities are the sum of their parts, and every network's books balance."""
        for network, currency, difference in self._connection.execute(_UNBALANCED):
            self._report.add(
                "trial-balance",
                f"{network} {currency}",
                f"debits less credits are {difference}, not 0",
                "book.trial_balance",
            )
        for network, currency, liability, owed in self._connection.execute(_LIABILITY):
            self._report.add(
                "client-funds-differ",
                f"{network} {currency}",
                f"client_funds has a liability of {liability}, the accounts add up to {owed}",
                "book.client_funds",
            )


_UNBALANCED: Final = """
SELECT network, currency, sum(debit_minor) - sum(credit_minor) FROM book.trial_balance
 GROUP BY network, currency HAVING sum(debit_minor) <> sum(credit_minor)
"""
_LIABILITY: Final = """
SELECT f.network, f.currency, f.liability_minor, a.owed_minor
  FROM book.client_funds f
  FULL JOIN (SELECT network, currency, sum(balance_minor) AS owed_minor FROM book.accounts
              WHERE side = 'player-funds' GROUP BY network, currency) a USING (network, currency)
 WHERE coalesce(f.liability_minor, 0) <> coalesce(a.owed_minor, 0)
"""
