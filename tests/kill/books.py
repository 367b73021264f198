"""What the journal and the projections really hold, beside what the clients were told."""

import time
from collections import Counter
from typing import Any

import psycopg

from ledger import catalogue

PROJECTION_SECONDS = 60.0


class Books:
    """The journal as read so far, event by event; ``read`` goes on from there."""

    def __init__(self) -> None:
        self.position = 0
        self.versions: Counter[str] = Counter()
        self.events: Counter[tuple[str, str]] = Counter()
        """Stream and event's name -> how many."""

        self.balances: Counter[str] = Counter()
        """Account -> sum of its postings, in minor units; there is one currency."""

    def read(self, dsn: str) -> None:
        """Read on to the end; positions and versions must have no gap."""
        with psycopg.connect(dsn) as connection:
            rows = connection.execute(
                "SELECT notification_id, originator_id, originator_version, topic, state"
                " FROM journal.events WHERE notification_id > %s ORDER BY notification_id",
                [self.position],
            )
            for position, stream, version, topic, state in rows:
                assert position == self.position + 1
                assert version == self.versions[stream] + 1, stream
                self.position, self.versions[stream] = position, version
                self.events[stream, topic] += 1
                for posting in catalogue.decode(topic, bytes(state)).postings():
                    self.balances[posting.account] += posting.amount_minor

    def of(self, topic: str) -> dict[str, int]:
        """Return stream -> how many events of that name it has."""
        return {stream: count for (stream, name), count in self.events.items() if name == topic}


def requests(dsn: str) -> Counter[str]:
    """Return the recorded requests of the crowd by their keys."""
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("SELECT key FROM journal.requests WHERE key LIKE 'crowd-%'")
        return Counter(row[0] for row in rows)


def head(dsn: str) -> int:
    """Return the last position of the journal."""
    return int(_one(dsn, "SELECT max(notification_id) FROM journal.events"))


def projected(dsn: str) -> Counter[str]:
    """Wait until the projections have everything and return account -> balance, debits positive."""
    end, at = time.monotonic() + PROJECTION_SECONDS, head(dsn)
    while int(_one(dsn, "SELECT position FROM book.generation")) < at:
        assert time.monotonic() < end, "the projections do not catch up"
        time.sleep(0.1)
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "SELECT code, CASE WHEN side IN ('asset', 'expense', 'equity', 'suspense')"
            " THEN balance_minor ELSE -balance_minor END FROM book.accounts"
        )
        return Counter({code: int(balance) for code, balance in rows})


def _one(dsn: str, query: str) -> Any:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]
