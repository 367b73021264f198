"""``make judge-bench`` judges the bench's own hands."""

import pytest

from ledger.rulebooks import shipped
from ops.bench.judging import measure, posts

RULEBOOKS = {one.ref: one for one in shipped()}


def test_every_part_of_judging_is_measured() -> None:
    cost = measure(posts(300), RULEBOOKS["entraction@2013-01-01"])
    assert 0 < cost.tally < cost.judge
    assert 0 < cost.betting < cost.judge
    assert 0 < cost.not_shown_down < cost.shown_down
    assert cost.read > 0


def test_hands_that_are_not_right_are_not_measured() -> None:
    with pytest.raises(ValueError, match="unknown-game"):
        measure(posts(100), RULEBOOKS["gamevelvet@2000-01-01"])
