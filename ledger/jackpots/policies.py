"""What follows from a hit by itself: it is settled, when it is the next one and does not wait."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from ledger.core import Book
from ledger.jackpots.commands import HitFigures, SettleHit
from ledger.jackpots.events import JackpotState, jackpot_stream

SETTLEMENT: Final = "jackpot-settlement"
"""The policy's name, with which its request ids begin."""

ACTOR: Final = f"policy:{SETTLEMENT}"


class Undecided(NamedTuple):
    """A hit that is neither settled nor annulled as the book has it; ``waits`` for a release."""

    network: str
    jackpot: str
    currency: str
    game_number: str
    waits: bool
    figures: HitFigures


def settlements(book: Book, hits: Iterable[Undecided], at: datetime) -> Iterator[SettleHit]:
    """Settle the next hit of each jackpot, unless it waits.

    However often it is asked for, by whichever worker and from whichever book, it is the same
    request and the same shares.
    """
    for hit in hits:
        stream = jackpot_stream(hit.network, hit.jackpot, hit.currency)
        state: JackpotState | None = book.get(stream)
        decided = state.hits if state is not None else 0
        released = state.released if state is not None else None
        if hit.figures.number != decided + 1 or (hit.waits and released != hit.game_number):
            continue
        yield SettleHit(
            network=hit.network,
            at=at,
            actor=ACTOR,
            request_id=f"{SETTLEMENT}:{hit.jackpot}:{hit.currency}:{hit.game_number}",
            jackpot=hit.jackpot,
            currency=hit.currency,
            game_number=hit.game_number,
            book=hit.figures,
        )
