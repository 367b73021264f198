"""Try mutants of right hands on the judge: ``python -m tests.fuzz``, or ``make fuzz``."""

import argparse
import sys
from collections import Counter
from time import perf_counter

from tests.fuzz.corpus import generated, real
from tests.fuzz.posting import post
from tests.fuzz.trial import Count, Trial, mutants, try_one


def main() -> int:
    """Print what came of the mutants; fail when one survived that has to be explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--mutants", type=int, default=50_000, help="how many to try")
    parser.add_argument("--seed", type=int, default=1, help="where the mutations begin")
    parser.add_argument("--hands", type=int, default=100, help="generated hands of each kind")
    parser.add_argument("--show", type=int, default=3, help="posts to print of each kind")
    asked = parser.parse_args()
    samples = [*real(), *generated(asked.hands, asked.seed)]
    _say(f"{len(samples)} hands that are right:")
    for source, count in sorted(Counter(sample.source for sample in samples).items()):
        _say(f"  {count:>6} {source}")
    started = perf_counter()
    count, answers = Count(), Counter[str]()
    for sample, mutation, posted in mutants(samples, asked.seed, asked.mutants):
        count.add(try_one(sample, mutation, posted))
        answers[post(sample, posted)] += 1
    _report(count, answers)
    _say(f"{perf_counter() - started:.0f} s")
    _explain(count.explain, asked.show)
    return 1 if count.explain else 0


def _report(count: Count, answers: Counter[str]) -> None:
    for fate, number in count.fates.most_common():
        _say(f"{number:>7} {fate}")
        for (of_fate, why), times in count.reasons.most_common():
            if of_fate == fate:
                _say(f"        {times:>7} {why}")
    _say("posted to a table that waits for the hand:")
    for answer, times in answers.most_common():
        _say(f"        {times:>7} {answer}")


def _explain(trials: list[Trial], show: int) -> None:
    shown: Counter[tuple[str, str]] = Counter()
    for trial in trials:
        shown[trial.fate, trial.why] += 1
        if shown[trial.fate, trial.why] <= show:
            _say(f"{trial.fate}: {trial.why}; {trial.mutation}; a hand of {trial.source}")
            _say(f"  {trial.posted.decode(errors='replace')}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
