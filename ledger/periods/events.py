"""Facts about a month's books: closed, reopened, closed again."""

from datetime import datetime
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from ledger.core import Event, stream


def period_stream(network: str, month: str) -> str:
    """Name the stream of a month's books: ``period:entraction:2026-10``."""
    return stream("period", network, month)


def first_period_claim(network: str) -> str:
    """Name the claim of the month that was closed first: it has none before it to wait for."""
    return stream("claim", network, "first-period")


class PeriodState(msgspec.Struct, frozen=True, kw_only=True):
    """A month's books since they were closed the first time."""

    network: str
    month: str
    status: Literal["closed", "reopened"]
    closed_at: datetime
    closed_by: str
    closed_under: str
    """The request that closed it, and so the approval."""
    times_closed: int = 1
    reopened_at: datetime | None = None
    reopened_by: str | None = None
    reason: str | None = None
    """Why it was reopened the last time."""


class PeriodClosed(Event, frozen=True, kw_only=True):
    """The books of a month were closed, at the position of this very event.

    What happened in the month and is recorded later belongs to the next open one, as late.
    """

    NAME = "period.closed.v1"

    network: str
    month: str


class PeriodReopened(Event, frozen=True, kw_only=True):
    """The books of a month were opened again, and must be closed again."""

    NAME = "period.reopened.v1"

    network: str
    month: str
    reason: str


EVENTS: Final[tuple[type[Event], ...]] = (PeriodClosed, PeriodReopened)


def evolve(state: PeriodState | None, event: Event) -> PeriodState:
    """Fold an event of a month's stream."""
    if isinstance(event, PeriodClosed):
        return PeriodState(
            network=event.network,
            month=event.month,
            status="closed",
            closed_at=event.occurred_at,
            closed_by=event.actor,
            closed_under=event.request_id,
            times_closed=1 if state is None else state.times_closed + 1,
            reopened_at=None if state is None else state.reopened_at,
            reopened_by=None if state is None else state.reopened_by,
            reason=None if state is None else state.reason,
        )
    assert isinstance(event, PeriodReopened), event
    assert state is not None, event
    return replace(
        state,
        status="reopened",
        reopened_at=event.occurred_at,
        reopened_by=event.actor,
        reason=event.reason,
    )
