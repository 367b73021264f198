"""What the treasury does by itself: it notices when player funds are no longer covered."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from ledger.core import Book
from ledger.money import is_real
from ledger.treasury.commands import RecordCoverage
from ledger.treasury.events import TreasuryState, treasury_stream

COVERAGE: Final = "coverage"
"""The policy's name, with which its request ids begin."""

ACTOR: Final = f"policy:{COVERAGE}"


class Funds(NamedTuple):
    """What the book at a position says of one network and currency."""

    network: str
    currency: str
    assets_minor: int
    liability_minor: int


def coverage_changes(
    book: Book, position: int, funds: Iterable[Funds], at: datetime
) -> Iterator[RecordCoverage]:
    """Say for which currencies coverage fell under 100 %, or is restored; real money only.

    Request ids derive from currency and position: the same book asks the same thing.
    """
    for one in funds:
        if not is_real(one.currency):
            continue
        state: TreasuryState | None = book.get(treasury_stream(one.network, one.currency))
        short = one.assets_minor < one.liability_minor
        known = state is not None and state.status == "short"
        if short == known or (state is not None and position <= state.covered_position):
            continue
        yield RecordCoverage(
            network=one.network,
            at=at,
            actor=ACTOR,
            request_id=f"{COVERAGE}:{one.currency}:{position}",
            currency=one.currency,
            book_position=position,
            assets_minor=one.assets_minor,
            liability_minor=one.liability_minor,
        )
