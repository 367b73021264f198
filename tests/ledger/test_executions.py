"""The database itself: what one person decides, or what is decided twice, is not carried out."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

import ledger.journal
from ledger.approvals.commands import GrantApproval, RequestApproval
from ledger.approvals.events import ApprovalGranted, Execution, approval_stream
from ledger.core import Book, Decision
from ledger.journal import Journal, Outcome, Submission
from ledger.rulebooks import shipped_texts
from ledger.rulebooks.commands import AdoptRulebook
from ledger.tables.commands import ResyncTable
from tests.ledger.given import NETWORK, MemoryBook, fund, open_table, register, sit

AT = datetime(2014, 3, 1, 12, 0, tzinfo=UTC)
APPROVAL = "5b1c0c7e-2f0d-4f6f-9d43-0c8d9b8f7a10"


def common(actor: str, request_id: str) -> dict[str, Any]:
    return {"network": NETWORK, "at": AT, "actor": actor, "request_id": request_id}


class Through(MemoryBook):
    """Carries the given commands out through a journal."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    def when(self, command: Any) -> Decision:
        [outcome] = self._journal.execute([Submission(command, "desk")])
        assert outcome.status == "done", outcome
        return Decision(answer=outcome.answer)


@pytest.fixture
def journal(dsn: str) -> Iterator[Journal]:
    """Give a journal in which somebody has asked for a resync."""
    journal = Journal(dsn, writer="test")
    book = Through(journal)
    for file, text in shipped_texts():
        book.when(AdoptRulebook(**book.ask(), text=text, file=file))
    open_table(book)
    register(book)
    fund(book, 20_000)
    sit(book, "Etomo", 1)
    asking = common("anna", "ask")
    book.when(RequestApproval(**asking, approval=APPROVAL, command=resync()))
    yield journal
    journal.close()


def resync() -> ResyncTable:
    return ResyncTable(
        **common("anna", "ask"),
        table="Etomo",
        chips_minor={1: 9_000},
        ground="technical-failure",
        reason="Hand 82 was lost.",
    )


class Careless(GrantApproval, frozen=True, kw_only=True):
    """A grant whose decide has lost every check that it should make."""

    def decide(self, book: Book) -> Decision:
        done = self.command.decide_approved(book)
        digest = "ab" * 32
        granted = ApprovalGranted(**self.context(), checker=self.actor, digest=digest)
        execution = Execution(
            network=self.network,
            approval=self.approval,
            maker=self.command.actor,
            checker=self.actor,
            digest=bytes.fromhex(digest),
        )
        return Decision(
            changes=[(approval_stream(self.network, self.approval), granted), *done.changes],
            keep=[execution],
        )


def careless(journal: Journal, actor: str, key: str) -> Outcome:
    grant = Careless(**common(actor, key), approval=APPROVAL, command=resync())
    [outcome] = journal.execute([Submission(grant, "desk", key)])
    return outcome


def granted(journal: Journal, checker: str) -> Outcome:
    grant = GrantApproval(**common(checker, checker), approval=APPROVAL, command=resync())
    [outcome] = journal.execute([Submission(grant, "desk", checker)])
    return outcome


def counted(dsn: str, table: str) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(f"SELECT count(*) FROM journal.{table}").fetchone()
    assert row is not None
    return int(row[0])


def test_one_person_in_both_parts_is_refused_by_the_database(journal: Journal, dsn: str) -> None:
    before = counted(dsn, "events")
    assert careless(journal, "anna", "grant-1").status == "failed"
    assert (counted(dsn, "events"), counted(dsn, "executions")) == (before, 0)


def test_a_second_execution_is_refused_by_the_database(
    journal: Journal, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger.journal, "PATIENCE_SECONDS", 0.1)
    assert careless(journal, "bert", "grant-1").status == "done"
    before = counted(dsn, "events")
    assert careless(journal, "carl", "grant-2").status == "failed"
    assert (counted(dsn, "events"), counted(dsn, "executions")) == (before, 1)


def test_what_is_granted_leaves_its_execution_beside_its_events(journal: Journal, dsn: str) -> None:
    outcome = granted(journal, "bert")
    assert outcome.status == "done", outcome
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "SELECT maker, checker, encode(e.digest, 'hex'), c.last_position"
            " FROM journal.executions e JOIN journal.commits c USING (recorded_at)"
        ).fetchone()
        assert row is not None
        text = connection.execute(
            "SELECT convert_from(state, 'UTF8')::jsonb ->> 'digest' FROM journal.events"
            " WHERE topic = 'approval.requested.v1'"
        ).fetchone()
    assert row == ("anna", "bert", text[0] if text else None, outcome.position)


def test_of_two_journals_that_remember_the_same_request_one_grants_it(
    journal: Journal, dsn: str
) -> None:
    other = Journal(dsn, writer="other")
    try:
        refused = granted(other, "anna").refusal
        assert refused is not None
        assert refused.code == "same-person"
        outcomes = [granted(journal, "bert"), granted(other, "carl")]
    finally:
        other.close()
    assert [outcome.status for outcome in outcomes] == ["done", "refused"]
    assert outcomes[1].refusal is not None
    assert outcomes[1].refusal.code == "approval-decided"
    assert counted(dsn, "executions") == 1
