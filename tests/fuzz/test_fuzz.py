"""Mutants of right hands are killed, or are right as well; ``make fuzz`` tries many more."""

import pytest

from tests.fuzz.corpus import Sample, generated, real
from tests.fuzz.opinion import opinion
from tests.fuzz.posting import post
from tests.fuzz.trial import Count, mutants, try_one

MUTANTS = 6_000
POSTED = 4_000


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    """Real hands, as far as they are here, and hands played at random; all of them right."""
    return [*real(60), *generated(12, seed=7)]


def test_the_second_opinion_calls_no_right_hand_wrong(samples: list[Sample]) -> None:
    said = [(sample.source, opinion(sample.document(), sample.book)) for sample in samples]
    assert [one for one in said if one[1].startswith("wrong")] == []
    assert sum(answer == "right" for _, answer in said) > 0.8 * len(said)


def test_no_mutant_that_breaks_a_rule_is_found_right(samples: list[Sample]) -> None:
    count = Count()
    for sample, mutation, posted in mutants(samples, seed=11, count=MUTANTS):
        count.add(try_one(sample, mutation, posted))
    assert [(one.fate, one.why, one.mutation, one.posted) for one in count.explain] == []
    # The trial is worth something: most mutants break a rule, and few cannot be told.
    assert count.fates["killed"] > MUTANTS // 2
    assert count.fates["unsure"] < MUTANTS // 20


def test_mutants_are_booked_so_that_it_adds_up_or_refused_with_a_code(
    samples: list[Sample],
) -> None:
    answers = {
        post(sample, posted) for sample, _, posted in mutants(samples, seed=12, count=POSTED)
    }
    assert {"booked", "malformed", "unlike-table", "money-not-conserved"} <= answers


def test_the_same_seed_makes_the_same_mutants(samples: list[Sample]) -> None:
    one, two, other = ([*mutants(samples, seed, 50)] for seed in (1, 1, 2))
    assert one == two != other
