"""As of when: the parameters that every read of the books takes, and what an answer says of them.

``position`` or ``recorded_at`` say what was known then; ``occurred_at`` says what had happened by
then. Together they ask what was known at one time of another. Instants are included.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, NamedTuple

from fastapi import Depends, Query, Request
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from api.edge import Answer, edge_of
from api.links import Known
from api.problems import Problem
from projections import as_of
from projections.as_of import AsOf
from projections.queries import states
from projections.reading import Snapshot

MICROSECOND: Final = timedelta(microseconds=1)
_LAST: Final = datetime.max.replace(tzinfo=UTC)

At = Annotated[int | None, Query(ge=0, le=2**63 - 2)]
"""A position, as a parameter."""


def _in_utc(instant: datetime) -> datetime:
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise ValueError("not between the years 1 and 9999 in UTC") from None


Instant = Annotated[Annotated[AwareDatetime, AfterValidator(_in_utc)] | None, Query()]
"""An instant with its zone, as a parameter."""

Position = Annotated[
    int | None,
    Query(ge=0, le=2**63 - 2, description="As of this journal position, included."),
]
RecordedAt = Annotated[
    Annotated[AwareDatetime, AfterValidator(_in_utc)] | None,
    Query(description="As of what was recorded by this instant: a position too."),
]
OccurredAt = Annotated[
    Annotated[AwareDatetime, AfterValidator(_in_utc)] | None,
    Query(description="As of what had happened by this instant, whenever it was recorded."),
]


class Asked(NamedTuple):
    """The instant that is asked for; none: now."""

    position: int | None = None
    recorded_at: datetime | None = None
    occurred_at: datetime | None = None

    @property
    def given(self) -> bool:
        """Whether any was asked for."""
        return self != _NOW


_NOW: Final = Asked()


class AsOfAnswer(BaseModel):
    """The instant that was asked for, and the position that it is."""

    model_config = ConfigDict(extra="forbid")

    position: int = Field(description="Everything recorded up to it is in the answer.")
    recorded_at: str | None = Field(description="The recorded time, if one was asked for.")
    occurred_at: str | None = Field(description="What happened later is left out; null: nothing.")
    clamped: bool = Field(description="More was asked for than the book has: answered at its end.")


class Told(Answer):
    """An answer that says as of when it is true, when that was asked for."""

    as_of: AsOfAnswer | None = Field(default=None, description="Absent when none was asked for.")


async def _asked(
    position: Position = None, recorded_at: RecordedAt = None, occurred_at: OccurredAt = None
) -> Asked:
    return known_by(position, recorded_at, occurred_at)


def known_by(
    position: int | None,
    recorded_at: datetime | None,
    occurred_at: datetime | None,
    *,
    prefix: str = "",
) -> Asked:
    """Return the instant that parameters name; those of a pair of instants have a prefix."""
    if position is not None and recorded_at is not None:
        raise Problem(
            "invalid-value",
            "name a position or a recorded time: each says what was known",
            field=f"{prefix}recorded_at",
        )
    return Asked(position, recorded_at, occurred_at)


async def _asked_of_states(asked: Annotated[Asked, Depends(_asked)]) -> Asked:
    if asked.occurred_at is not None:
        raise Problem(
            "as-of-not-kept",
            "what a stream had become is known by position or recorded time alone: "
            "its events rest on those recorded before them",
            field="occurred_at",
        )
    return asked


async def _asked_of_none(asked: Annotated[Asked, Depends(_asked)]) -> None:
    for name, value in asked._asdict().items():
        if value is not None:
            raise Problem("as-of-not-kept", "this answer is kept as it is now alone", field=name)


AsOfAsked = Annotated[Asked, Depends(_asked)]
"""Dependency of a read that answers as of any instant."""

StateAsOf = Annotated[Asked, Depends(_asked_of_states)]
"""Dependency of a read of what streams had become: by position or recorded time."""

NotAsOf = Depends(_asked_of_none)
"""Dependency of a read that is answered as it is now; other instants are refused."""


class Reading(NamedTuple):
    """A snapshot of the book, and as of when it is read."""

    at: Snapshot
    as_of: AsOf
    asked: bool

    @property
    def past(self) -> AsOf | None:
        """The instant that was asked for, or None: the book as it is."""
        return self.as_of if self.asked else None

    @property
    def known(self) -> Known:
        """What links of the answer rest on."""
        return Known(self.as_of.position, self.as_of.occurred_at)

    def at_page(self, position: int) -> "Reading":
        """Return the reading of a page that a cursor pins to a position."""
        return self._replace(as_of=self.as_of._replace(position=position))

    def told(self) -> dict[str, Any]:
        """Say what the answer is true for."""
        return told(self.as_of, asked=self.asked)


@contextmanager
def reading(request: Request, asked: Asked) -> Iterator[Reading]:
    """Open a snapshot of the book and find out which position is asked for."""
    with edge_of(request).reads.book() as at:
        yield read_at(at, asked)


def read_at(at: Snapshot, asked: Asked) -> Reading:
    """Find out which position of a snapshot is asked for."""
    return Reading(at, as_of.resolve(at, **asked._asdict()), asked.given)


def state_of(request: Request, stream: str, asked: Asked) -> tuple[Any, dict[str, Any]]:
    """Fold a stream as it is now or had become by then; and say what the answer is true for.

    The state is None when the stream had no event. Now is the end of the journal, which the book
    may not have reached yet.
    """
    reads = edge_of(request).reads
    if not asked.given:
        state, position = reads.state(stream)
        return state, {"position": position}
    with reads.book() as at:
        instant = as_of.resolve(states.head(at), **asked._asdict())
        past = states.fold(at, stream, instant.position)
    return (None if past is None else past.state), told(instant, asked=True)


def told(instant: AsOf, *, asked: bool) -> dict[str, Any]:
    """Say which position an answer is true for, and of which instant if one was asked for."""
    if not asked:
        return {"position": instant.position}
    return {"position": instant.position, "as_of": told_of(instant)}


def told_of(instant: AsOf) -> dict[str, Any]:
    """Say of an instant what was asked for, and which position it is."""
    return {
        "position": instant.position,
        "recorded_at": instant.recorded_at,
        "occurred_at": instant.occurred_at,
        "clamped": instant.clamped,
    }


def after(instant: datetime | None) -> datetime | None:
    """Return the first instant after one, for ranges that end before their end."""
    return instant + MICROSECOND if instant is not None and instant < _LAST else None
