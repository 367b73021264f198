"""The four shapes that everything is written in: Event, Posting, Command, Refused.

A command is decided over the states of the streams that it touches. It becomes events, or it is
refused. An event moves money only through its postings, which sum to zero in each currency.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypedDict, final

import msgspec


class Posting(NamedTuple):
    """One line of an event: debits are positive, credits negative, in minor units."""

    account: str
    currency: str
    amount_minor: int


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A fact: immutable, versioned by its stored name, dated when it happened (aware UTC)."""

    NAME: ClassVar[str]
    """The stored name, e.g. ``hand.staked.v1``: never the module path."""

    occurred_at: datetime
    actor: str
    request_id: str
    rulebook: str
    """The rulebook version it was judged by, ``name@2013-01-01``; empty where none applies."""

    def postings(self) -> tuple[Posting, ...]:
        """Return the lines that this event books; they sum to zero in each currency."""
        return ()


def move(source: str, target: str, currency: str, amount_minor: int) -> tuple[Posting, Posting]:
    """Post an amount out of one account (debited) and into another (credited).

    What is owed to a player falls when his account is debited: a stake debits the chips in front
    of him and credits the pot. An asset rises when it is debited: a confirmed deposit debits the
    money in transit and credits the bankroll.
    """
    return (Posting(source, currency, amount_minor), Posting(target, currency, -amount_minor))


Retry = Literal["never", "after-fix", "later"]
Kind = Literal["invalid", "missing", "forbidden", "conflict", "rule"]


class Refused(Exception):
    """Why a command was not carried out; nothing is booked.

    Subclasses are plain nouns (``InsufficientFunds``) with a stable ``code``. ``field`` names the
    part of the command that is at fault, ``extra`` is shown to the caller as it is.
    """

    code: ClassVar[str]
    kind: ClassVar[Kind] = "rule"
    retry: ClassVar[Retry] = "after-fix"

    def __init__(self, message: str, *, field: str | None = None, **extra: Any) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.extra = extra


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """A row written in the same transaction as the events, in a table that is not the journal."""


class Decision(NamedTuple):
    """What a command becomes: facts by stream, the answer to its caller, rows to keep.

    ``refusal`` with ``changes`` is rare: the command is refused and that it was tried is a fact.
    """

    changes: Sequence[tuple[str, Event]] = ()
    answer: Mapping[str, Any] = {}
    keep: Sequence[Keep] = ()
    refusal: Refused | None = None


class Book(Protocol):
    """The states of streams, as the journal gives them to a decision; every read is recorded."""

    def get(self, stream: str) -> Any:
        """Return the state of a stream, or None when it has no events."""
        ...


class Context(TypedDict):
    """What every event of a command says alike."""

    occurred_at: datetime
    actor: str
    request_id: str
    rulebook: str


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """An intent. ``at`` is read from the edge's clock; nothing below reads one."""

    network: str
    at: datetime
    actor: str
    request_id: str

    def context(self, rulebook: str = "") -> Context:
        """Return what this command's events say alike, judged by that rulebook version."""
        return {
            "occurred_at": self.at,
            "actor": self.actor,
            "request_id": self.request_id,
            "rulebook": rulebook,
        }

    def touches(self) -> tuple[str, ...]:
        """Name the streams that it surely reads, so that a batch can look them up together."""
        return ()

    def decide(self, book: Book) -> Decision:
        """Decide over the states of the streams that are read through the book.

        Raises Refused; any other exception is a defect and fails this command alone.
        """
        raise NotImplementedError


class ApprovalNeeded(Refused):
    """By the rulebook a second person must agree first; the command was not asked for that way."""

    code = "approval-needed"
    kind: ClassVar[Kind] = "forbidden"
    retry: ClassVar[Retry] = "never"


class Asked(NamedTuple):
    """What a second person is asked to agree to.

    ``summary`` has what it would do over the book as it is: ``words``, one sentence without
    names, and what it concerns under the names that the API uses (``table``, ``game_number``).
    When amount, currency or summary have become others the request is stale and is not granted:
    nothing belongs in them that changes by itself.
    """

    action: str
    amount_minor: int
    currency: str | None
    rulebook_ref: str
    expires_after_hours: int
    summary: Mapping[str, Any]


class Approvable(Command, frozen=True, kw_only=True):
    """A command that may need a second person; it is asked for through ``RequestApproval``.

    Subclasses say what is asked in ``approval`` and decide in ``decide_approved``; ``decide``
    stays as it is, so that the command alone does nothing that two must agree to. All fields can
    be read back from JSON as they were.
    """

    ACTION: ClassVar[str]
    """The action of the rulebook's thresholds, e.g. ``resync-table``."""

    def approval(self, book: Book) -> Asked | None:
        """Return what a second person must agree to, or None when none is needed.

        Raises what ``decide_approved`` raises where it cannot be told.
        """
        raise NotImplementedError

    def decide_approved(self, book: Book) -> Decision:
        """Decide as if whoever must agree has agreed. Raises Refused."""
        raise NotImplementedError

    @final
    def decide(self, book: Book) -> Decision:
        decision = self.decide_approved(book)
        if self.approval(book) is not None:
            raise ApprovalNeeded("A second person must agree to this.")
        return decision


def stream(category: str, network: str, key: str) -> str:
    """Name a stream: ``category:network:key``."""
    return f"{category}:{network}:{key}"


def category_of(stream_id: str) -> str:
    """Return the category of a stream id: ``table:entraction:Etomo`` -> ``table``."""
    return stream_id[: stream_id.index(":")]
