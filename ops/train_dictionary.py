"""Trains the dictionary that hand records are compressed with, on simulated hands.

``python -m ops.train_dictionary 2`` writes ``ledger/hands/dictionaries/2.zdict``. A dictionary is
never written twice: records in the journal name it by its number for ever.
"""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import zstandard

import ledger.hands
from ledger.hands import reading, record
from ledger.hands.ohh import Hand
from ops.simulator.games import SEATS, Limits, antes, blinds
from ops.simulator.record import encode
from ops.simulator.room import Room

HANDS_PER_TABLE = 250
BYTES = 16 * 1024

STAKES: tuple[Limits, ...] = (
    blinds("Holdem", "NL", 100),
    blinds("Holdem", "NL", 4),
    blinds("Holdem", "NL", 50, "XPM"),
    blinds("Holdem", "FL", 200),
    blinds("Omaha", "PL", 4),
    blinds("Omaha", "PL", 200),
    blinds("OmahaHiLo", "PL", 50),
    blinds("OmahaHiLo", "FL", 400),
    blinds("FiveCardDraw", "FL", 100),
    antes("Stud", 100),
)


def hands(seed: int, per_table: int = HANDS_PER_TABLE) -> Iterator[Hand]:
    """Play hands at every kind of table, and read them the way that posts are read."""
    rng = Random(seed)  # noqa: S311
    room = Room(rng, at=datetime(2013, 1, 1, tzinfo=UTC), first_game=2_137_000_000)
    for number, limits in enumerate(STAKES):
        size = min(rng.choice((6, 9)), SEATS[limits.game])
        table = room.open(f"Table {number}", limits, size, 100 * limits.unit)
        for _ in range(per_table):
            for move in room.moves(table, lambda: f"player-{rng.getrandbits(32):08x}"):
                room.apply(move)
            dealt = room.deal(table)
            if dealt is not None:
                yield reading.read(encode(dealt.record))


def main(number: int) -> None:
    """Train a dictionary and write it under a number that was never used."""
    folder = Path(ledger.hands.__file__).parent / "dictionaries"
    samples: list[bytes | bytearray | memoryview] = [record.encode(hand) for hand in hands(number)]
    dictionary = zstandard.train_dictionary(BYTES, samples, dict_id=number)
    with (folder / f"{number}.zdict").open("xb") as file:
        file.write(dictionary.as_bytes())


if __name__ == "__main__":
    main(int(sys.argv[1]))
