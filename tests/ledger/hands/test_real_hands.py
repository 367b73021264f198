"""Real hands of two sites, judged; they lie beside the project and are not part of it."""

import csv
from collections import Counter
from collections.abc import Sequence
from datetime import date
from functools import cache
from pathlib import Path

import pytest

from ledger import rulebooks
from ledger.hands import reading, record
from ledger.hands.judge import Judgement, judge
from ledger.hands.ohh import Hand
from ledger.rulebooks import Rulebook

DATA = Path(__file__).parents[4] / "shared" / "data" / "hands"

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the real hands (../shared/data/hands) are not here"
)


@cache
def hands(name: str) -> Sequence[Hand]:
    return [reading.read(item) for item in reading.split((DATA / f"{name}.jsonl").read_bytes())]


def printed() -> dict[str, dict[str, str]]:
    with (DATA / "entraction_rake.csv").open() as file:
        return {row["game_number"]: row for row in csv.DictReader(file)}


def version(name: str, day: date) -> Rulebook:
    versions = [one for one in rulebooks.shipped() if one.name == name]
    return [one for one in versions if one.valid_from <= day][-1]


def judged(name: str, rulebook: str, on: date | None = None) -> list[Judgement]:
    return [judge(hand, version(rulebook, on or hand.started_at.date())) for hand in hands(name)]


def totals(judgements: Sequence[Judgement]) -> tuple[int, int, int, int, int]:
    """Add up what was put in, the pots, rake, jackpot and what was won, in minor units."""
    settled = [one.settlement for one in judgements if one.settlement is not None]
    return (
        sum(one.tally.put_in for one in judgements),
        sum(one.pot_total for one in settled),
        sum(one.rake for one in settled),
        sum(one.jackpot for one in settled),
        sum(win.win_amount for one in settled for pot in one.pots for win in pot.player_wins),
    )


def test_rake_differs_only_where_neither_known_schedule_explains_it() -> None:
    unexplained = {
        number
        for number, row in printed().items()
        if row["rake_printed"] not in (row["rake_by_schedule"], row["rake_by_fitted_rule"])
    }
    found = {
        (one.hand.game_number, finding.code)
        for one in judged("entraction", "entraction")
        for finding in one.findings
    }
    assert len(unexplained) == 8
    assert found == {(number, "wrong-rake") for number in unexplained}


def test_on_a_later_day_the_rake_is_that_of_the_later_schedule() -> None:
    rows = printed()
    for one in judged("entraction", "entraction", date(2014, 1, 1)):
        expected = one.expected()
        assert expected is not None
        rake = round(100 * float(rows[one.hand.game_number]["rake_by_schedule"]))
        assert expected.rake_minor == rake, one.hand.game_number


def test_hands_of_an_unknown_schedule_are_right_as_posted() -> None:
    judgements = judged("absolute", "as-posted")
    assert Counter(finding.code for one in judgements for finding in one.findings) == {}
    assert len(judgements) == 620


def test_the_totals_are_those_of_the_histories_to_the_cent() -> None:
    assert totals(judged("entraction", "entraction")) == (972_639, 637_318, 2_505, 0, 634_813)
    assert totals(judged("absolute", "as-posted")) == (
        12_632_643,
        8_808_826,
        49_535,
        4_900,
        8_754_391,
    )


@pytest.mark.parametrize("name", ["entraction", "absolute"])
def test_real_hands_are_read_back_from_their_records(name: str) -> None:
    for hand in hands(name):
        packed = record.pack(record.encode(hand))
        names = [player.name for player in hand.players]
        assert record.unpack(packed, record.CURRENT, names) == hand
