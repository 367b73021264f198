"""One mutant on trial: judged, held against the second opinion, and posted."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal, NamedTuple

from ledger.core import Refused
from ledger.hands import reading
from ledger.hands.judge import judge
from tests.fuzz.corpus import Sample, decoded, in_force
from tests.fuzz.mutations import mutant
from tests.fuzz.opinion import opinion

Fate = Literal["killed", "harmless", "survived", "unsure", "false alarm"]

NOT_JUDGED: Final = frozenset(
    (
        "game_number", "table_name", "spec_version", "site_name", "network_name",
        "internal_version", "hero_player_id", "flags", "tournament_info", "x_rulebook", "x_partner",
        "x_round",
    )
)  # fmt: skip
"""What a hand judged alone does not depend on."""


class Trial(NamedTuple):
    """What came of a mutant: its fate and why, and the mutant itself."""

    source: str
    mutation: str
    fate: Fate
    why: str
    posted: bytes
    book: str


@dataclass
class Count:
    """Mutants by fate, and by fate and reason; and those that have to be explained."""

    fates: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    explain: list[Trial] = field(default_factory=list)

    def add(self, trial: Trial) -> None:
        self.fates[trial.fate] += 1
        self.reasons[trial.fate, trial.why] += 1
        if trial.fate in ("survived", "false alarm"):
            self.explain.append(trial)


def mutants(
    samples: Sequence[Sample], seed: int, count: int
) -> Iterator[tuple[Sample, str, bytes]]:
    """Make so many mutants; the same seed makes the same ones of the same samples."""
    rng = Random(seed)
    made = 0
    while made < count:
        sample = rng.choice(samples)
        changed = mutant(rng, sample.document())
        if changed is not None:
            made += 1
            yield sample, *changed


def try_one(sample: Sample, mutation: str, posted: bytes) -> Trial:
    fate, why = fate_of(sample, posted)
    return Trial(sample.source, mutation, fate, why, posted, sample.book)


def fate_of(sample: Sample, posted: bytes) -> tuple[Fate, str]:
    """Judge a mutant. Whatever the judge raises but a refusal is raised on: nothing may."""
    try:
        [item] = reading.split(posted) or [b""]
        hand = reading.read(item)
    except ValueError:
        return "killed", "no single hand"
    except Refused as refused:
        return "killed", refused.code
    if hand == reading.read(sample.posted):
        return "harmless", "same content"
    findings = judge(hand, in_force(sample.book, hand.started_at.date())).findings
    if findings.verdict == "unverified":
        return "killed", "unverified"
    document = decoded(bytes(item))
    if findings.verdict == "ok":
        return _let_pass(sample, document)
    said = opinion(document, sample.book)
    if said == "right":
        return "false alarm", findings[0].code
    return "killed", findings[0].code


def _let_pass(sample: Sample, document: Any) -> tuple[Fate, str]:
    """Say why a mutant may be right; it survived where the second opinion calls it wrong."""
    if _judged(document) == _judged(sample.document()):
        return "harmless", "not judged"
    said = opinion(document, sample.book)
    if said == "right":
        return "harmless", "right as well"
    fate, _, why = said.partition(": ")
    return ("unsure", why) if fate == "unsure" else ("survived", why)


def _judged(document: Any) -> dict[str, Any]:
    return {
        key: value
        for key, value in document["ohh"].items()
        if key not in NOT_JUDGED and (not key.startswith("x_") or key in _ADDED)
    }


_ADDED: Final = frozenset(
    (
        "x_variant", "x_spread", "x_small_bet", "x_big_bet", "x_bring_in", "x_uncalled_returned",
        "x_rake_is_for_hand", "x_hole_cards", "x_status",
    )
)  # fmt: skip
