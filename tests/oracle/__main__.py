"""Compare the judge with PokerKit over many random hands: ``python -m tests.oracle``."""

import argparse
import sys
from time import perf_counter

from tests.oracle.compare import compare
from tests.oracle.games import GAMES, Game


def main() -> int:
    """Print a line per game; fail when any hand is settled otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--hands", type=int, default=10_000, help="hands of each game")
    parser.add_argument("--seed", type=int, default=1, help="where the random hands begin")
    asked = parser.parse_args()
    differ = [_try(game, asked.hands, asked.seed) for game in GAMES]
    return min(1, sum(differ))


def _try(game: Game, hands: int, seed: int) -> int:
    """Compare so many hands of a game; return how many are settled otherwise."""
    started = perf_counter()
    showdowns = side_pots = halves = 0
    differ: list[int] = []
    for number in range(hands):
        # Seeds of one run and of the next do not overlap.
        of_hand = seed * 1_000_000 + number
        comparison = compare(game, of_hand)
        showdowns += comparison.showdown
        side_pots += len(comparison.expected.pots) > 1
        halves += any(half for paid in comparison.expected.paid for _, half in paid)
        if not comparison.agrees:
            differ.append(of_hand)
    took = perf_counter() - started
    sys.stdout.write(
        f"{game.title:<16} {hands:>6} hands {showdowns:>6} showdowns {side_pots:>6} with side pots"
        f" {halves:>6} with halves {len(differ):>4} differ {took:>5.0f} s\n"
    )
    if differ:
        sys.stdout.write(f"  seeds that differ: {', '.join(map(str, differ[:10]))}\n")
    sys.stdout.flush()
    return len(differ)


if __name__ == "__main__":
    sys.exit(main())
