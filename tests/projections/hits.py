"""A day on which a jackpot was hit: one hit is settled, one annulled, one waits."""

from collections.abc import Sequence
from typing import Any

from ledger.core import Event
from ledger.jackpots.commands import AnnulHit, ReleaseHit
from tests.ledger.given import MemoryBook, granted
from tests.ledger.jackpots.bad_beats import Dealer, adopt, seat_all
from tests.ledger.jackpots.hits import about, work

SETTLED, ANNULLED, WAITING = "102", "104", "105"
"""The hands that hit it."""


class Commits(MemoryBook):
    """A book that keeps what each command became, to be written as it would be."""

    def __init__(self) -> None:
        self.commits: list[list[tuple[str, Event]]] = []
        super().__init__()

    def record(self, changes: Sequence[tuple[str, Event]]) -> None:
        super().record(changes)
        if changes:
            self.commits.append(list(changes))


def a_room(review: bool = True) -> tuple[Commits, Dealer]:
    """Seat everybody, in a room in which hits wait for a release."""
    book = Commits()
    adopt(book, **({"review = false": "review = true "} if review else {}))
    seat_all(book)
    return book, Dealer()


def a_day() -> Commits:
    """Play five hands, of which the second, fourth and fifth hit the jackpot."""
    book, dealer = a_room()
    for beaten in (False, True, False, True, True):
        book.when(dealer.hand(beaten=beaten))
        if str(dealer.number) == SETTLED:
            granted(book, ReleaseHit(**about(book, SETTLED), reason="Looked at."))
            assert work(book) == [SETTLED]
    granted(
        book, AnnulHit(**about(book, ANNULLED), ground="collusion", reason="They never raised.")
    )
    return book


def replaced(book: Commits, kind: type[Any], change: Any) -> list[list[tuple[str, Event]]]:
    """Return the book's commits with the events of a kind changed."""
    return [
        [(stream, change(event) if isinstance(event, kind) else event) for stream, event in commit]
        for commit in book.commits
    ]
