"""Statements: opening and lines make the closing balance, on every page and in any period."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from projections import reading
from projections.as_of import AsOf
from projections.cursors import InvalidCursorError
from projections.queries import statements
from projections.queries.statements import Period, Statement, Subject
from projections.reading import Snapshot
from projections.views import DEBIT_SIDES
from tests.projections.conftest import project
from tests.projections.story import NETWORK, START, Room, write

ONE = Room(seed=1).day(hands=1)[0][1][1].player  # type: ignore[attr-defined]
SUBJECTS = {
    "player": Subject(NETWORK, player=UUID(ONE)),
    "partner": Subject(NETWORK, partner="south"),
    "table": Subject(NETWORK, table_id="Table 1"),
    "provider": Subject(NETWORK, provider="bluepay"),
    "account": Subject(NETWORK, account=f"jackpot:{NETWORK}:badbeat"),
    "nobody": Subject(NETWORK, account=f"jackpot:{NETWORK}:unknown"),
    "elsewhere": Subject("elsewhere", table_id="Table 1"),
}


class Line(NamedTuple):
    """An entry as a statement should have it."""

    key: tuple[int, int]
    account: int
    code: str
    occurred_at: datetime
    recorded_at: datetime
    change: int
    debit: int
    credit: int


def everything(at: Snapshot, subject: Subject) -> list[Line]:
    """Return every line of a subject, by a look at all entries."""
    entries, accounts = reading.BOOK["entries"], reading.BOOK["accounts"]
    sides = {row["account"]: row["side"] for row in reading.rows(at, sa.select(accounts))}
    lines = []
    for row in reading.rows(at, sa.select(entries).order_by(entries.c.position, entries.c.line)):
        if not _is_of(row, subject):
            continue
        sign = 1 if sides[row["account"]] in DEBIT_SIDES else -1
        lines.append(
            Line(
                (row["position"], row["line"]),
                row["account"],
                row["code"],
                row["occurred_at"],
                row["recorded_at"],
                sign * (row["debit_minor"] - row["credit_minor"]),
                row["debit_minor"],
                row["credit_minor"],
            )
        )
    return lines


def _is_of(row: Any, subject: Subject) -> bool:
    if row["network"] != subject.network:
        return False
    if subject.player is not None:
        return bool(row["player"] == subject.player)
    if subject.table_id is not None:
        return bool(row["table_id"] == subject.table_id)
    if subject.partner is not None:
        return row["partner"] == subject.partner and row["player"] is None
    if subject.provider is not None:
        return row["code"] in (f"transit:{NETWORK}:bluepay", f"fee:{NETWORK}:bluepay")
    return bool(row["code"] == subject.account)


def before(line: Line, period: Period) -> bool:
    """Tell whether a line comes before a period."""
    return (
        (period.position_from is not None and line.key[0] < period.position_from)
        or (period.recorded_from is not None and line.recorded_at < period.recorded_from)
        or (period.occurred_from is not None and line.occurred_at < period.occurred_from)
    )


def until(line: Line, period: Period) -> bool:
    """Tell whether a line comes before the end of a period."""
    return not (
        (period.position_before is not None and line.key[0] >= period.position_before)
        or (period.recorded_before is not None and line.recorded_at >= period.recorded_before)
        or (period.occurred_before is not None and line.occurred_at >= period.occurred_before)
    )


def walk(
    at: Snapshot, subject: Subject, period: Period, known: AsOf, limit: int
) -> list[Statement]:
    pages = [statements.page(at, subject, period, known=known, limit=limit)]
    while (cursor := pages[-1].cursor) is not None:
        assert len(pages) < 1_000, "the cursors lead nowhere"
        pages.append(statements.page(at, subject, period, known=known, limit=limit, cursor=cursor))
    return pages


positions = st.none() | st.integers(0, 320)
moments = st.none() | st.integers(-90, 400).map(lambda n: START + timedelta(minutes=n))
recordings = st.sampled_from([None, START, datetime.now(UTC) + timedelta(days=1)])
periods = st.one_of(
    st.builds(Period, *(positions, positions), *[st.none()] * 4),
    st.builds(Period, *[st.none()] * 2, *(recordings, recordings), *[st.none()] * 2),
    st.builds(Period, *[st.none()] * 4, *(moments, moments)),
).filter(lambda period: all(
    begins is None or ends is None or begins <= ends
    for begins, ends in zip(period[::2], period[1::2], strict=True)
))  # fmt: skip


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    name=st.sampled_from([*SUBJECTS]),
    period=periods,
    position=st.none() | st.integers(1, 320),
    limit=st.sampled_from([4, 10, 1000]),
)
def test_opening_and_lines_make_the_closing_balance(
    disorder: Snapshot, name: str, period: Period, position: int | None, limit: int
) -> None:
    at, subject = disorder, SUBJECTS[name]
    known = AsOf(at.position if position is None else min(position, at.position))
    lines = [line for line in everything(at, subject) if line.key[0] <= known.position]
    opening: dict[int, int] = defaultdict(int)
    closing: dict[int, int] = defaultdict(int)
    inside: list[Line] = []
    for line in lines:
        if before(line, period):
            opening[line.account] += line.change
        elif until(line, period):
            inside.append(line)
    pages = walk(at, subject, period, known, limit)
    shown = [row for page in pages for row in page.lines]
    assert [(row["position"], row["line"]) for row in shown] == [line.key for line in inside]
    held = defaultdict(int, opening)
    debits: dict[int, int] = defaultdict(int)
    credits_: dict[int, int] = defaultdict(int)
    for row, line in zip(shown, inside, strict=True):
        held[line.account] += line.change
        debits[line.account] += line.debit
        credits_[line.account] += line.credit
        assert row["balance_minor"] == held[line.account]
    closing.update(held)
    accounts = pages[0].accounts
    assert accounts is not None
    assert {
        row["account"]: (row["opening_minor"], row["debit_minor"], row["credit_minor"],
                         row["closing_minor"])
        for row in accounts
    } == {
        account: (opening[account], debits[account], credits_[account], closing[account])
        for account in {line.account for line in inside}
        | {account for account, amount in [*opening.items(), *closing.items()] if amount}
    }  # fmt: skip
    totals = pages[-1].totals
    assert totals is not None
    assert {(row["lines"], row["debit_minor"], row["credit_minor"]) for row in totals} == (
        {(len(inside), sum(debits.values()), sum(credits_.values()))} if inside else set()
    )
    assert all(page.accounts is None for page in pages[1:])
    assert all(page.totals is None for page in pages[:-1])


@pytest.mark.parametrize("period", [Period(), Period(occurred_from=START)])
def test_too_many_lines_to_sum_leave_the_sums_to_the_last_page(
    disorder: Snapshot, period: Period, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "SUMMED", 5)
    known = AsOf(disorder.position)
    pages = walk(disorder, SUBJECTS["table"], period, known, 40)
    assert len(pages) > 1
    accounts = pages[0].accounts
    assert accounts is not None
    assert {row["lines"] for row in accounts} == {None}
    assert pages[-1].totals is not None
    assert pages[-1].totals[0]["lines"] == sum(len(page.lines) for page in pages)


def test_more_accounts_than_are_merged_are_looked_for_block_by_block(
    disorder: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, subject = AsOf(disorder.position), SUBJECTS["table"]
    merged = [row for page in walk(disorder, subject, Period(), known, 7) for row in page.lines]
    monkeypatch.setattr(statements, "MOST_ACCOUNTS", 1)
    found = [row for page in walk(disorder, subject, Period(), known, 7) for row in page.lines]
    assert found == merged


def test_a_page_that_was_given_once_never_changes(books: str, room: Room) -> None:
    subject, period = SUBJECTS["table"], Period(occurred_before=START + timedelta(hours=1))
    engine = reading.engine(books, pool_size=1)
    with reading.snapshot(engine) as at:
        known = AsOf(at.position)
        first = walk(at, subject, period, known, 9)
    room.now = START - timedelta(hours=2)
    write(books, [list(room.hand("Table 1")) for _ in range(3)])
    project(books)
    with reading.snapshot(engine) as at:
        assert walk(at, subject, period, known, 9) == first
        assert walk(at, subject, period, AsOf(at.position), 9) != first
        # The cursor pins the position, whatever is known meanwhile.
        onward = statements.page(
            at, subject, period, known=AsOf(at.position), limit=9, cursor=first[0].cursor
        )
        assert onward.lines == first[1].lines
    engine.dispose()


def test_a_cursor_of_another_statement_is_refused(disorder: Snapshot) -> None:
    known = AsOf(disorder.position)
    page = statements.page(disorder, SUBJECTS["table"], Period(), known=known, limit=3)
    for subject, period in (
        (SUBJECTS["player"], Period()),
        (SUBJECTS["table"], Period(position_from=3)),
    ):
        with pytest.raises(InvalidCursorError):
            statements.page(disorder, subject, period, known=known, limit=3, cursor=page.cursor)
