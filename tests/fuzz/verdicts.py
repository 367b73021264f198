"""Print the verdicts on right hands and mutants of them, one a line: ``python -m`` this."""

import argparse

import msgspec

from ledger import compiled
from ledger.core import Refused
from ledger.hands.judge import judge
from ledger.hands.reading import read
from ledger.hands.verdict import show
from tests.fuzz.corpus import generated, in_force, real
from tests.fuzz.trial import mutants


def main() -> None:
    """Print first whether compiled modules are in use."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.verdicts", description=__doc__)
    parser.add_argument("--mutants", type=int, default=3_000, help="how many to judge")
    parser.add_argument("--seed", type=int, default=7, help="where the mutations begin")
    asked = parser.parse_args()
    _say(str(compiled.in_use()))
    samples = [*real(), *generated(4, asked.seed)]
    posts = [(sample.posted, sample.book) for sample in samples]
    for sample, _, posted in mutants(samples, asked.seed, asked.mutants):
        posts.append((posted, sample.book))
    for posted, book in posts:
        _say(_verdict(posted, book))


def _verdict(posted: bytes, book: str) -> str:
    try:
        hand = read(posted)
    except Refused as refused:
        return f"{refused.code} {refused.field}: {refused.message}"
    found = judge(hand, in_force(book, hand.started_at.date()))
    shown = show(hand, found.findings.verdict, found.expected(), found.findings)
    return msgspec.json.encode(shown).decode()


def _say(line: str) -> None:
    print(line.encode("ascii", "backslashreplace").decode())  # noqa: T201


if __name__ == "__main__":
    main()
