"""Comparison: what two instants differ by is what the entries between them add up to."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from projections import reading
from projections.as_of import AsOf
from projections.queries import comparison
from projections.queries.comparison import Between
from projections.reading import Snapshot
from projections.views import DEBIT_SIDES
from tests.projections.story import NETWORK, START

LAST = datetime.max.replace(tzinfo=UTC)
instants = st.builds(
    AsOf,
    st.integers(0, 290),
    st.none() | st.integers(-90, 400).map(lambda n: START + timedelta(minutes=n)),
)


def counts(row: Any, known: AsOf) -> bool:
    return bool(
        row["position"] <= known.position and row["occurred_at"] <= (known.occurred_at or LAST)
    )


def walk(at: Snapshot, between: Between, limit: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = None
    for _ in range(1_000):
        page = comparison.accounts(at, between, network=NETWORK, limit=limit, cursor=cursor)
        assert len(page.rows) <= limit
        found += [dict(row) for row in page.rows]
        cursor = page.cursor
        if cursor is None:
            return found
    raise AssertionError("the cursors lead nowhere")


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(before=instants, then=instants, limit=st.sampled_from([3, 1000]))
def test_accounts_and_components_differ_by_the_entries_in_between(
    disorder: Snapshot,
    before: AsOf,
    then: AsOf,
    limit: int,
) -> None:
    assume(before.position <= then.position)
    assume((before.occurred_at or LAST) <= (then.occurred_at or LAST))
    accounts, entries = reading.BOOK["accounts"], reading.BOOK["entries"]
    sides = {row["code"]: row["side"] for row in reading.rows(disorder, sa.select(accounts))}
    differ: dict[str, int] = defaultdict(int)
    sums: dict[tuple[str, str | None], list[int]] = defaultdict(lambda: [0, 0])
    for row in reading.rows(disorder, sa.select(entries)):
        if counts(row, then) and not counts(row, before):
            debit, credit = row["debit_minor"], row["credit_minor"]
            sign = 1 if sides[row["code"]] in DEBIT_SIDES else -1
            differ[row["code"]] += sign * (debit - credit)
            sums[row["component"], row["partner"]][0] += debit
            sums[row["component"], row["partner"]][1] += credit
    between = Between(before, then)
    changed = walk(disorder, between, limit)
    assert {row["code"]: row["difference_minor"] for row in changed} == {
        code: amount for code, amount in differ.items() if amount
    }
    assert all(
        row["then_minor"] - row["before_minor"] == row["difference_minor"] for row in changed
    )
    components = comparison.components(disorder, between, network=NETWORK)
    assert {
        (row["component"], row["partner"]): [row["debit_minor"], row["credit_minor"]]
        for row in components
    } == sums


@pytest.mark.parametrize("near", [0, 1_000_000])
def test_short_looks_lead_on_to_the_end(
    disorder: Snapshot,
    near: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    between = Between(AsOf(100), AsOf(disorder.position))
    whole = walk(disorder, between, 1_000)
    monkeypatch.setattr(comparison, "LOOKED_AT", 2)
    monkeypatch.setattr(comparison, "NEAR", near)
    assert walk(disorder, between, 1) == whole
