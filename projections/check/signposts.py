"""What is only there to find entries faster, or to add hands up by day: the same everywhere."""

from typing import Any, Final, LiteralString

import psycopg
from psycopg import sql

from ledger.core import Event
from projections.check.report import Report
from projections.hand_days import HandDays
from projections.schema import BLOCK

# Name, what the entries give, what is kept: compared as sets of rows.
_SETS: Final[tuple[tuple[str, LiteralString, LiteralString], ...]] = (
    (
        "component_blocks",
        "SELECT component::bigint, block, (sum(debit) OVER upto)::bigint,"
        " (sum(credit) OVER upto)::bigint"
        " FROM (SELECT a.component, e.position / {size} AS block,"
        " sum(greatest(e.amount_minor, 0)) AS debit, sum(greatest(-e.amount_minor, 0)) AS credit"
        " FROM {book}.entries e JOIN {book}.accounts a USING (account) GROUP BY 1, 2) AS summed"
        " WINDOW upto AS (PARTITION BY component ORDER BY block)",
        "SELECT component::bigint, block::bigint, debit_minor, credit_minor"
        " FROM {book}.component_blocks",
    ),
    (
        "kind_blocks",
        "SELECT DISTINCT kind::bigint, position / {size} FROM {book}.entries",
        "SELECT kind::bigint, block::bigint FROM {book}.kind_blocks",
    ),
    (
        "blocks",
        "SELECT position / {size}, min(occurred_at), max(occurred_at) FROM {book}.entries"
        " GROUP BY 1",
        "SELECT block::bigint, first_occurred_at, last_occurred_at FROM {book}.blocks",
    ),
    (
        "hour_blocks",
        "SELECT DISTINCT date_trunc('hour', occurred_at, 'UTC'), position / {size}"
        " FROM {book}.entries",
        "SELECT occurred_hour, block::bigint FROM {book}.hour_blocks",
    ),
    (
        "days",
        "SELECT (occurred_at AT TIME ZONE 'UTC')::date, min(position), max(position)"
        " FROM {book}.entries GROUP BY 1",
        "SELECT occurred_day, first_position, last_position FROM {book}.days",
    ),
)
_TRANSACTIONS: Final = """
SELECT network, request_id, position FROM {book}.transactions
"""
_TRANSACTIONS_GIVEN: Final = """
SELECT split_part(originator_id, ':', 2), convert_from(state, 'UTF8')::jsonb ->> 'request_id',
       notification_id
  FROM journal.events JOIN {book}.entries ON position = notification_id
 WHERE line = 0 AND NOT (originator_id >= 'hand:' AND originator_id < 'hand;')
"""


def check_signposts(connection: psycopg.Connection[Any], book: str, report: Report) -> None:
    """Report rows that the entries do not give, and entries that no row leads to."""
    for name, given, kept in _SETS:
        for what, first, second in (("missing", given, kept), ("needless", kept, given)):
            statement = sql.SQL("({}) EXCEPT ({})").format(_part(first, book), _part(second, book))
            for row in connection.execute(statement):
                report.add(
                    f"signpost-{what}",
                    f"{name} {row}",
                    "the entries give something else",
                    f"{book}.{name}",
                )


def _part(statement: LiteralString, book: str) -> sql.Composed:
    return sql.SQL(statement).format(book=sql.Identifier(book), size=sql.Literal(BLOCK))


class HandDaysCheck:
    """Adds up hands, rake and contributions anew, and notes what was requested."""

    def __init__(self) -> None:
        self.sums = HandDays("")
        self._transactions = 0

    def note(self, stream: str, position: int, event: Event, moves_money: bool) -> None:
        """Take an event."""
        if stream.startswith("hand:"):
            self.sums.note(stream, event, position)
        elif moves_money:
            self._transactions ^= hash((stream.split(":", 2)[1], event.request_id, position))

    def end(self, connection: psycopg.Connection[Any], book: str, report: Report) -> None:
        """Compare with what is kept."""
        name = sql.Identifier(book)
        for table, columns, sums in (
            ("table_days", 4, self.sums.days),
            ("table_rake", 5, self.sums.rake),
            ("jackpot_days", 5, self.sums.jackpots),
        ):
            kept = {
                row[:columns]: list(row[columns:])
                for row in connection.execute(
                    sql.SQL("SELECT * FROM {}.{}").format(name, sql.Identifier(table))
                )
            }
            for key in sorted({**kept, **sums}):
                if kept.get(key) != sums.get(key):
                    report.add(
                        "table-day-differs",
                        f"{table} {' '.join(map(str, key))}",
                        f"kept: {kept.get(key)}; the hands give {sums.get(key)}",
                        f"{book}.{table}",
                    )
        self._check_transactions(connection, book, report)

    def _check_transactions(
        self, connection: psycopg.Connection[Any], book: str, report: Report
    ) -> None:
        rest = self._transactions
        with connection.cursor(name="transactions") as cursor:
            for row in cursor.execute(sql.SQL(_TRANSACTIONS).format(book=sql.Identifier(book))):
                rest ^= hash(row)
        if rest:
            for what, first, second in (
                ("missing", _TRANSACTIONS_GIVEN, _TRANSACTIONS),
                ("needless", _TRANSACTIONS, _TRANSACTIONS_GIVEN),
            ):
                statement = sql.SQL("({}) EXCEPT ({})").format(
                    _part(first, book), _part(second, book)
                )
                for row in connection.execute(statement):
                    report.add(
                        f"transaction-{what}",
                        f"transactions {row}",
                        "the events and their entries give something else",
                        f"{book}.transactions",
                    )
