"""Hands that are right: of real sites where they are there, and played at random."""

import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

from ledger import rulebooks
from ledger.hands import reading
from ledger.hands.judge import judge
from ledger.rulebooks import Rulebook
from ops.phh import files
from ops.phh.translate import encode, translate
from ops.simulator import record
from tests.fuzz.rare import rare_hand
from tests.ops.test_simulator import TABLES, played
from tests.oracle.compare import _paid as paid
from tests.oracle.games import GAMES
from tests.oracle.play import play
from tests.oracle.record import encoded

DATA: Final = Path(__file__).parents[3] / "shared" / "data"


class Sample(NamedTuple):
    """A right hand: where it is from, its bytes, and the rulebook that it is judged by."""

    source: str
    posted: bytes
    book: str

    def document(self) -> Any:
        """Decode the post anew, amounts as exact decimals."""
        return decoded(self.posted)


def decoded(posted: bytes) -> Any:
    # In keys that are not known anything may stand, what is no text included.
    return json.loads(posted.decode(errors="replace"), parse_float=Decimal)


def in_force(book: str, day: date) -> Rulebook:
    """Return the version of a day: the last one valid by then, else the first."""
    versions = [one for one in rulebooks.shipped() if one.name == book]
    return ([one for one in versions if one.valid_from <= day] or versions[:1])[-1]


def right(sample: Sample) -> bool:
    """Tell whether nothing is found in a hand: only then is a mutant of it worth a trial."""
    hand = reading.read(sample.posted)
    return judge(hand, in_force(sample.book, hand.started_at.date())).findings.verdict == "ok"


def real(each: int | None = None) -> Iterator[Sample]:
    """Give the real hands that are right, or so many of each site; none where they are not."""
    if not DATA.is_dir():
        return
    for site, book in (("entraction", "entraction"), ("absolute", "as-posted")):
        hands = reading.split((DATA / "hands" / f"{site}.jsonl").read_bytes())
        yield from _right(Sample(site, bytes(hand), book) for hand in hands[:each])
    yield from _right(
        Sample("phh", encode(translate(item, files.read(item))), "as-posted")
        for path in sorted((DATA / "phh").iterdir())
        for item in list(files.split(path.read_bytes()))[:each]
    )


def _right(samples: Iterator[Sample]) -> Iterator[Sample]:
    return (sample for sample in samples if right(sample))


def generated(each: int, seed: int) -> Iterator[Sample]:
    """Give hands that the simulator played, that PokerKit played, and of games it does not know."""
    yield from _right(_simulated(each, seed))
    yield from _right(_of_pokerkit(each, seed))
    yield from _right(
        Sample(game, rare_hand(game, seed * 1000 + number), "as-posted")
        for game in ("Soko", "Telesina", "Americana")
        for number in range(each)
    )


def _simulated(each: int, seed: int) -> Iterator[Sample]:
    for name in TABLES:
        for dealt in played(name, hands=each, seed=seed):
            yield Sample(f"simulator: {name}", record.encode(dealt.record), "entraction")


def _of_pokerkit(each: int, seed: int) -> Iterator[Sample]:
    for game in GAMES:
        for number in range(each):
            of_hand = seed * 1000 + number
            hand = play(game, of_hand)
            posted = encoded(hand, [paid(pot) for pot in hand.pots], of_hand)
            yield Sample(f"PokerKit: {game.title}", posted, "as-posted")
