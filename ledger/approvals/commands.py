"""Four eyes: what one person asks for is done when another one agrees to exactly that."""

from datetime import timedelta
from typing import ClassVar, Final

import msgspec
from msgspec.structs import replace

from ledger.approvals.events import (
    ApprovalExpired,
    ApprovalGranted,
    ApprovalRejected,
    ApprovalRequested,
    ApprovalState,
    ApprovalWithdrawn,
    Execution,
    approval_stream,
    canonical,
    digest_of,
    plain,
)
from ledger.bounds import InvalidField, text
from ledger.core import Approvable, Book, Command, Decision, Event, Kind, Refused, Retry

AWAITING: Final = "awaiting-approval"
"""Status of a request that a second person must agree to."""

REASONS: Final = {
    "not-justified": "The reason given does not justify it.",
    "wrong-amount": "The amount is not right.",
    "wrong-target": "It concerns another table, account or period.",
    "evidence-missing": "What would prove it is missing.",
    "duplicate": "It was asked for or done already.",
    "out-of-date": "What it was asked over has changed since.",
    "not-allowed": "The rules do not allow it.",
    "other": "Another reason, told in words.",
}
"""Codes that a request is rejected with, and what they mean."""


class UnknownApproval(Refused):
    """No approval of this network has that id."""

    code = "unknown-approval"
    kind: ClassVar[Kind] = "missing"


class ApprovalDecided(Refused):
    """The approval was granted, rejected, withdrawn or has expired; see `current_status`."""

    code = "approval-decided"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class ApprovalTooLate(Refused):
    """The time in which the approval could be decided is over."""

    code = "approval-too-late"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class ApprovalNotDue(Refused):
    """The time in which the approval can be decided is not over."""

    code = "approval-not-due"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "later"


class SamePerson(Refused):
    """Who asked for it cannot also agree to it, nor reject it; he may withdraw it."""

    code = "same-person"
    kind: ClassVar[Kind] = "forbidden"
    retry: ClassVar[Retry] = "never"


class NotTheMaker(Refused):
    """Only who asked for it withdraws it; others reject it."""

    code = "not-the-maker"
    kind: ClassVar[Kind] = "forbidden"
    retry: ClassVar[Retry] = "never"


class ChangedCommand(Refused):
    """The command is not the one that was asked for, to the letter; ask again."""

    code = "changed-command"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class StaleRequest(Refused):
    """It would do something else now than what was asked for; withdraw it and ask again."""

    code = "stale-request"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "after-fix"


class RequestApproval(Command, frozen=True, kw_only=True):
    """Ask for a command: carried out at once where the rulebook wants no second person.

    What would be refused is refused at once. ``approval`` is the id of the request, if it becomes
    one. The maker is the actor: the subject of his token, whatever client he uses.
    Raises what the command raises.
    """

    approval: str
    command: Approvable

    def touches(self) -> tuple[str, ...]:
        return self.command.touches()

    def decide(self, book: Book) -> Decision:
        command = self.command
        assert (command.network, command.actor) == (self.network, self.actor)
        decision = command.decide_approved(book)
        asked = command.approval(book)
        if asked is None or decision.refusal is not None:
            return decision
        exact = canonical(command)
        requested = ApprovalRequested(
            **self.context(asked.rulebook_ref),
            network=self.network,
            approval=self.approval,
            action=asked.action,
            summary=dict(asked.summary),
            amount_minor=asked.amount_minor,
            currency=asked.currency,
            digest=digest_of(exact),
            command=exact,
            maker=self.actor,
            expires_at=self.at + timedelta(hours=asked.expires_after_hours),
        )
        return Decision(
            changes=[(approval_stream(self.network, self.approval), requested)],
            answer={
                "status": AWAITING,
                "approval": self.approval,
                "action": asked.action,
                "words": asked.summary["words"],
                "amount_minor": asked.amount_minor,
                "currency": asked.currency,
                "expires_at": _text(requested.expires_at),
            },
        )


class GrantApproval(Command, frozen=True, kw_only=True):
    """Agree to a request: its command is carried out over the book as it is now.

    ``command`` is what was asked for, read back from the approval's own text. It happens now and
    under the maker's key, and it is refused as if it were asked for now; the approval stays
    pending then.
    Raises UnknownApproval, ApprovalDecided, ApprovalTooLate, SamePerson, ChangedCommand,
    StaleRequest, and what the command raises.
    """

    approval: str
    command: Approvable

    def touches(self) -> tuple[str, ...]:
        return (approval_stream(self.network, self.approval), *self.command.touches())

    def decide(self, book: Book) -> Decision:
        state = _to_decide(book, self, self.approval)
        if digest_of(canonical(self.command)) != state.digest:
            raise ChangedCommand("This is not what was asked for.", field="approval")
        command = replace(self.command, at=self.at)
        done = command.decide_approved(book)
        if done.refusal is not None:
            raise done.refusal
        _require_unchanged(command, book, state)
        granted = ApprovalGranted(
            **self.context(state.rulebook), checker=self.actor, digest=state.digest
        )
        execution = Execution(
            network=self.network,
            approval=self.approval,
            maker=state.maker,
            checker=self.actor,
            digest=bytes.fromhex(state.digest),
        )
        return Decision(
            changes=[(approval_stream(self.network, self.approval), granted), *done.changes],
            answer={**_answer(state, "granted"), "checker": self.actor, "result": done.answer},
            keep=[execution, *done.keep],
        )


class RejectApproval(Command, frozen=True, kw_only=True):
    """Do not agree to a request, with one of the reasons and in words.

    Raises InvalidField, UnknownApproval, ApprovalDecided, ApprovalTooLate, SamePerson.
    """

    approval: str
    code: str
    reason: str

    def touches(self) -> tuple[str, ...]:
        return (approval_stream(self.network, self.approval),)

    def decide(self, book: Book) -> Decision:
        if self.code not in REASONS:
            raise InvalidField("Not one of the reasons.", field="code", codes=list(REASONS))
        text(self.reason, "reason")
        state = _to_decide(book, self, self.approval)
        rejected = ApprovalRejected(
            **self.context(state.rulebook),
            checker=self.actor,
            code=self.code,
            reason=self.reason,
        )
        told = {"checker": self.actor, "code": self.code, "reason": self.reason}
        return _decided(state, rejected, {**_answer(state, "rejected"), **told})


class WithdrawApproval(Command, frozen=True, kw_only=True):
    """Take back what one has asked for.

    Raises UnknownApproval, ApprovalDecided, ApprovalTooLate, NotTheMaker.
    """

    approval: str

    def touches(self) -> tuple[str, ...]:
        return (approval_stream(self.network, self.approval),)

    def decide(self, book: Book) -> Decision:
        state = _pending(book, self, self.approval)
        _require_time(state, self)
        if state.maker != self.actor:
            raise NotTheMaker("Somebody else asked for this.", field="approval")
        withdrawn = ApprovalWithdrawn(**self.context(state.rulebook), maker=self.actor)
        return _decided(state, withdrawn, _answer(state, "withdrawn"))


class ExpireApproval(Command, frozen=True, kw_only=True):
    """End a request that nobody decided in time.

    Raises UnknownApproval, ApprovalDecided, ApprovalNotDue.
    """

    approval: str

    def touches(self) -> tuple[str, ...]:
        return (approval_stream(self.network, self.approval),)

    def decide(self, book: Book) -> Decision:
        state = _pending(book, self, self.approval)
        if self.at < state.expires_at:
            raise ApprovalNotDue(
                "It may still be decided.", field="approval", expires_at=_text(state.expires_at)
            )
        expired = ApprovalExpired(**self.context(state.rulebook))
        return _decided(state, expired, _answer(state, "expired"))


def _pending(book: Book, command: Command, approval: str) -> ApprovalState:
    state: ApprovalState | None = book.get(approval_stream(command.network, approval))
    if state is None:
        raise UnknownApproval("No such approval.", field="approval")
    if state.status != "pending":
        raise ApprovalDecided(f"It is {state.status}.", field="approval", status=state.status)
    return state


def _to_decide(book: Book, command: Command, approval: str) -> ApprovalState:
    """Return a pending approval that the actor may decide, at this time."""
    state = _pending(book, command, approval)
    _require_time(state, command)
    if state.maker == command.actor:
        raise SamePerson("Who asked for this cannot decide it.", field="approval")
    return state


def _require_time(state: ApprovalState, command: Command) -> None:
    if command.at >= state.expires_at:
        raise ApprovalTooLate(
            "Nobody decided it in time.", field="approval", expires_at=_text(state.expires_at)
        )


def _require_unchanged(command: Approvable, book: Book, state: ApprovalState) -> None:
    """Refuse what would now do something else than what the checker was shown."""
    now = command.approval(book)
    would = None if now is None else (now.amount_minor, now.currency, plain(now.summary))
    if would != (state.amount_minor, state.currency, plain(state.summary)):
        raise StaleRequest(
            "It would do something else now than what was asked for.",
            field="approval",
            asked=state.summary,
            now=None if now is None else now.summary,
        )


def _decided(state: ApprovalState, event: Event, answer: dict[str, object]) -> Decision:
    return Decision([(approval_stream(state.network, state.approval), event)], answer)


def _answer(state: ApprovalState, status: str) -> dict[str, object]:
    return {
        "approval": state.approval,
        "status": status,
        "action": state.action,
        "words": state.summary["words"],
        "amount_minor": state.amount_minor,
        "currency": state.currency,
        "maker": state.maker,
    }


def _text(at: object) -> str:
    return str(msgspec.to_builtins(at))
