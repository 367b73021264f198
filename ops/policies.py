"""What follows by itself: each policy looks at the book and says what is due.

A policy that is added is a function here, and its line in ``POLICIES``. It reads what it needs of
the book, and hands it to a pure function of its capability, which makes the commands. A command's
request id derives from the policy and from what it is about: whoever asks for it again, after a
kill or from a book that is behind, gets the first result.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from ledger.approvals.policies import EXPIRY, Pending, expire
from ledger.core import Book, Command
from ledger.jackpots.commands import HitFigures
from ledger.jackpots.policies import SETTLEMENT, Undecided, settlements
from ledger.treasury.policies import COVERAGE, coverage_changes
from projections.queries import approvals, jackpots, treasury
from projections.reading import Snapshot

AT_ONCE: Final = 200
"""Most that one policy asks for in one look; the rest is due at the next."""


class Seen(NamedTuple):
    """What a policy looks at: a snapshot of the book, committed states of streams, the time.

    The book may be behind the journal: a command is decided over the journal, and refused when
    what it is about has gone another way.
    """

    at: Snapshot
    states: Book
    now: datetime


class Policy(NamedTuple):
    """What is done by itself, by name; ``due`` says what is due now."""

    name: str
    due: Callable[[Seen], Iterable[Command]]


def _expiries(seen: Seen) -> Iterator[Command]:
    """Expire the requests that nobody decided in time."""
    for row in approvals.due(seen.at, seen.now, limit=AT_ONCE):
        yield from expire(Pending(row["network"], row["approval"], row["expires_at"]), seen.now)


def _coverage(seen: Seen) -> Iterator[Command]:
    """Tell for which currencies player funds are no longer covered, or are again."""
    funds = treasury.funds(seen.at)
    yield from coverage_changes(seen.states, seen.at.position, funds, seen.now)


def _settlements(seen: Seen) -> Iterator[Command]:
    """Settle the hits of jackpots, one after the other."""
    hits = [
        Undecided(
            *(row["network"], row["jackpot"], row["currency"], row["game_number"], row["waits"]),
            HitFigures(number=row["number"], position=row["position"], got_minor=row["got_minor"]),
        )
        for row in jackpots.undecided(seen.at, limit=AT_ONCE)
    ]
    yield from settlements(seen.states, hits, seen.now)


POLICIES: Final = (
    Policy(EXPIRY, _expiries),
    Policy(SETTLEMENT, _settlements),
    Policy(COVERAGE, _coverage),
)
"""Every policy, in the order in which they look."""
