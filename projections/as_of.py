"""Instants that a question can be about: what was recorded by then, what had happened by then."""

from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from projections.reading import BOOK, Snapshot


class AsOf(NamedTuple):
    """The entries that an answer is about; it is the same whatever is recorded later."""

    position: int
    """They are recorded up to and including this position,"""
    occurred_at: datetime | None = None
    """and happened up to and including this instant; None: whenever they happened."""
    recorded_at: datetime | None = None
    """The time of recording that was asked for, if one was."""
    clamped: bool = False
    """Asked for more than the book has: it is answered at its end, and more may follow."""


def resolve(
    at: Snapshot,
    *,
    position: int | None = None,
    recorded_at: datetime | None = None,
    occurred_at: datetime | None = None,
) -> AsOf:
    """Find the position of an instant; the earlier one, when position and recorded time are given.

    A recorded time is that of all commits up to and including it. What the book ends with is not
    all of its own instant until something later is recorded: that is clamped as well.
    """
    asked, clamped = at.position, False
    if position is not None:
        asked, clamped = min(position, at.position), position > at.position
    if recorded_at is not None:
        last = recorded_time(at, at.position)
        clamped = clamped or last is None or recorded_at >= last
        recorded = at.connection.execute(sa.select(sa.func.book.position_at(recorded_at)))
        asked = min(asked, recorded.scalar_one())
    return AsOf(asked, occurred_at, recorded_at, clamped)


def recorded_time(at: Snapshot, position: int) -> datetime | None:
    """Return when a position was recorded; None for one beyond the journal's end."""
    commits = BOOK["commits"].c
    statement = (
        sa.select(commits.recorded_at)
        .where(commits.last_position >= position)
        .order_by(commits.last_position)
        .limit(1)
    )
    return at.connection.execute(statement).scalar()


def view(name: str, as_of: AsOf | None, *chosen: Any) -> Any:
    """Return a view as of an instant, or the view itself when none is given: the same columns.

    ``chosen`` is what the function of that name takes besides, to do no more than is needed.
    """
    if as_of is None:
        return BOOK[name]
    instant = sa.cast(as_of.occurred_at, sa.DateTime(timezone=True))
    function = getattr(sa.func.book, f"{name}_as_of")(
        sa.cast(as_of.position, sa.BigInteger), instant, *chosen
    )
    return function.table_valued(*BOOK[name].c.keys(), name=name)
