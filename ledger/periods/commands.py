"""What may be asked of a month's books, and when it is refused."""

from typing import ClassVar

from ledger.bounds import text
from ledger.core import Approvable, Asked, Book, Decision, Event, Kind, Refused, Retry
from ledger.identity import Claimed, holder
from ledger.periods.calendar import Month, month
from ledger.periods.events import (
    PeriodClosed,
    PeriodReopened,
    PeriodState,
    first_period_claim,
    period_stream,
)
from ledger.rulebooks import adopted, asked


class PeriodNotOver(Refused):
    """A month is closed when it is over (UTC), not before."""

    code = "period-not-over"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "later"


class PeriodOutOfOrder(Refused):
    """Months are closed one after the other, and reopened from the last one back."""

    code = "period-out-of-order"
    kind: ClassVar[Kind] = "conflict"


class PeriodIsClosed(Refused):
    """The month is closed already."""

    code = "period-closed"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class PeriodNotClosed(Refused):
    """Only a closed month is reopened."""

    code = "period-not-closed"
    kind: ClassVar[Kind] = "conflict"


class ClosePeriod(Approvable, frozen=True, kw_only=True):
    """Close the books of a month: its figures are those of this position, for good.

    The month that a network closes first may be any; whatever happened before it is in its
    opening figures. Raises InvalidField, PeriodNotOver, PeriodIsClosed, PeriodOutOfOrder.
    """

    ACTION: ClassVar[str] = "close-period"

    month: str
    rulebook: str

    def touches(self) -> tuple[str, ...]:
        return (period_stream(self.network, self.month), first_period_claim(self.network))

    def approval(self, book: Book) -> Asked | None:
        rulebook = adopted(book, self.network, self.rulebook, self.at.date())
        words = f"Close the books of {month(self.month)}."
        return asked(rulebook, self.ACTION, 0, None, words, month=self.month)

    def decide_approved(self, book: Book) -> Decision:
        asked_for = month(self.month)
        rulebook = adopted(book, self.network, self.rulebook, self.at.date())
        if self.at < asked_for.ends_at:
            raise PeriodNotOver("The month is not over.", field="month")
        if _is_closed(book, self.network, asked_for):
            raise PeriodIsClosed("The month is closed.", field="month")
        first = holder(book, first_period_claim(self.network))
        before = asked_for.preceding
        if first not in (None, self.month) and not _is_closed(book, self.network, before):
            raise PeriodOutOfOrder(
                f"{before} is to be closed first.", field="month", first=str(before)
            )
        context = self.context(rulebook.ref)
        closed = PeriodClosed(**context, network=self.network, month=self.month)
        changes: list[tuple[str, Event]] = [(period_stream(self.network, self.month), closed)]
        if first is None:
            claimed = Claimed(**context, holder=self.month)
            changes.append((first_period_claim(self.network), claimed))
        return Decision(changes=changes, answer={"month": self.month, "status": "closed"})


class ReopenPeriod(Approvable, frozen=True, kw_only=True):
    """Open the books of the month that was closed last, so that it can be closed again.

    Raises InvalidField, PeriodNotClosed, PeriodOutOfOrder.
    """

    ACTION: ClassVar[str] = "reopen-period"

    month: str
    reason: str
    rulebook: str

    def touches(self) -> tuple[str, ...]:
        return (period_stream(self.network, self.month),)

    def approval(self, book: Book) -> Asked | None:
        rulebook = adopted(book, self.network, self.rulebook, self.at.date())
        words = f"Reopen the books of {month(self.month)}: {self.reason}"
        return asked(rulebook, self.ACTION, 0, None, words, month=self.month)

    def decide_approved(self, book: Book) -> Decision:
        text(self.reason, "reason")
        asked_for = month(self.month)
        rulebook = adopted(book, self.network, self.rulebook, self.at.date())
        if not _is_closed(book, self.network, asked_for):
            raise PeriodNotClosed("The month is not closed.", field="month")
        after = asked_for.following
        if _is_closed(book, self.network, after):
            raise PeriodOutOfOrder(
                f"{after} is to be reopened first.", field="month", first=str(after)
            )
        reopened = PeriodReopened(
            **self.context(rulebook.ref),
            network=self.network,
            month=self.month,
            reason=self.reason,
        )
        return Decision(
            changes=[(period_stream(self.network, self.month), reopened)],
            answer={"month": self.month, "status": "reopened"},
        )


def _is_closed(book: Book, network: str, asked_for: Month) -> bool:
    state: PeriodState | None = book.get(period_stream(network, str(asked_for)))
    return state is not None and state.status == "closed"
