"""What judging a hand costs: ``make judge-bench``.

The hands are those that ``cardroom bench`` posts. All are decoded before any is judged, so that
they are as far from the processor's cache as hands that arrive; each is judged once a round.
"""

import cProfile
import gc
import pstats
import sys
from collections.abc import Callable, Sequence
from random import Random
from statistics import median
from time import process_time
from typing import Annotated, Any, Final, NamedTuple

import typer

from ledger.hands.betting import check_betting
from ledger.hands.contributions import Tally, tally
from ledger.hands.findings import Findings
from ledger.hands.judge import judge
from ledger.hands.ohh import Hand
from ledger.hands.reading import read
from ledger.rulebooks import Rulebook, shipped
from ops.bench.gauges import machine
from ops.simulator import load

AIM_US: Final = 60
"""Judging may take so much of the processor for each hand, on average over the mix."""

ROUNDS: Final = 5
TABLES: Final = 100
STARTED: Final = b"2026-11-29T18:00:00Z"


class Cost(NamedTuple):
    """Microseconds of processor time a hand, the median of some rounds."""

    read: float
    judge: float
    shown_down: float
    not_shown_down: float
    tally: float
    betting: float


def judge_bench(
    hands: Annotated[int, typer.Option(min=100, help="How many hands are judged.")] = 10_000,
    profile: Annotated[int, typer.Option(min=0, help="Lines of a profile to print.")] = 0,
) -> None:
    """Measure what judging costs; fail when it is more than it may."""
    load_hands = posts(hands)
    cost = measure(load_hands, _rulebook())
    print(f"{hands} hands of the bench's mix, a quarter shown down; processor time of each, in µs")
    print(f"on {machine()}")
    print(f"  read            {cost.read:>6.1f}")
    print(f"  judge           {cost.judge:>6.1f}  (at most {AIM_US})")
    print(f"    shown down    {cost.shown_down:>6.1f}")
    print(f"    not           {cost.not_shown_down:>6.1f}")
    print(f"    of it: adding up {cost.tally:.1f}, betting {cost.betting:.1f}")
    if profile:
        _profile([read(post) for post in load_hands], _rulebook(), profile)
    if cost.judge > AIM_US:
        raise typer.Exit(1)


def measure(posted: Sequence[bytes], rulebook: Rulebook) -> Cost:
    """Judge hands several times over. Raises ValueError when anything is found in one of them."""
    hands = [read(post) for post in posted]
    found = {finding.code for hand in hands for finding in judge(hand, rulebook).findings}
    if found:
        raise ValueError(f"the hands are not right: {', '.join(sorted(found))}")
    down = [hand for hand in hands if hand.rounds[-1].street == "Showdown"]
    not_down = [hand for hand in hands if hand.rounds[-1].street != "Showdown"]
    counted = [(hand, tally(hand)) for hand in hands]

    def bet(one: tuple[Hand, Tally]) -> None:
        hand, added_up = one
        check_betting(hand, added_up, rulebook, None, Findings(rulebook.findings, hand.money))

    return Cost(
        read=_time(read, posted),
        judge=_time(lambda hand: judge(hand, rulebook), hands),
        shown_down=_time(lambda hand: judge(hand, rulebook), down),
        not_shown_down=_time(lambda hand: judge(hand, rulebook), not_down),
        tally=_time(tally, hands),
        betting=_time(bet, counted),
    )


def _time(work: Callable[[Any], object], over: Sequence[Any]) -> float:
    """Return the microseconds that each of them takes, the median of some rounds.

    The collector does not run meanwhile.
    """
    taken = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(ROUNDS):
            began = process_time()
            for one in over:
                work(one)
            taken.append((process_time() - began) * 1e6 / max(1, len(over)))
    finally:
        gc.enable()
    return median(taken)


def posts(count: int) -> list[bytes]:
    """Write hands of many tables, as the bench's load does."""
    scripts = load.scripts(Random(1))  # noqa: S311
    tables = [
        load.LoadTable(
            f"table-{number}",
            [f"player-{number}-{seat}" for seat in range(load.SEATS)],
            [1_000 * load.DEEPEST] * load.SEATS,
        )
        for number in range(TABLES)
    ]
    return [tables[number % TABLES].hand(scripts, number, STARTED) for number in range(count)]


def _rulebook() -> Rulebook:
    return next(one for one in reversed(shipped()) if one.name == "entraction")


def _profile(hands: Sequence[Hand], rulebook: Rulebook, lines: int) -> None:
    profiler = cProfile.Profile()
    profiler.enable()
    for hand in hands:
        judge(hand, rulebook)
    profiler.disable()
    pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(lines)


if __name__ == "__main__":
    typer.run(judge_bench)
