"""Four eyes from end to end: asked for, found in the inbox, decided, followed."""

import itertools
import json
import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from api.approvals import ApprovalDone, Awaiting, GrantedDone, RejectedDone
from api.inbox import ApprovalAnswer, ApprovalsAnswer
from api.tokens import Scope, issue
from ledger.approvals.commands import RequestApproval
from ledger.approvals.policies import Pending, expire
from ledger.tables.commands import ResyncTable
from tests.api.conftest import JWT_KEY, NETWORK, Room, refused, serving

names = itertools.count(1)
NOBODYS = "5b1c0c7e-2f0d-4f6f-9d43-0c8d9b8f7a10"
HOURS = 72
LOST = {"ground": "technical-failure", "reason": "A hand was lost.", "game_number": "900"}


def a_table(room: Room) -> str:
    """Open a table at which two players sit with 20.00 each."""
    table = room.opened(f"Shared {next(names)}")
    for seat in (1, 2):
        room.seated(table, room.funded(f"Sitter{next(names)}", 5000), seat)
    return table


def ask(room: Room, table: str, first: int = 2100, second: int = 1850, **more: Any) -> Any:
    body = {"chips_minor": {"1": first, "2": second}, **LOST}
    return room.post(f"/v1/tables/{table}/resync", body, **{"role": "operator", **more})


def asked(room: Room, table: str | None = None, **more: Any) -> str:
    """Ask for a resync that needs a second person; return the approval's path."""
    answer = ask(room, table or a_table(room), **more)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["links"]["approval"])


def chips(room: Room, table: str) -> list[int]:
    seats = room.get(f"/v1/tables/{table}", role="operator").json()["seats"]
    return [seat["chips_minor"] for seat in seats]


def status(room: Room, approval: str) -> str:
    return str(room.get(approval, role="approver").json()["status"])


def executions(room: Room, approval: str) -> list[Any]:
    return room.sql(
        "SELECT maker, checker FROM journal.executions WHERE approval = %s",
        approval.rpartition("/")[2],
    )


def inbox(room: Room, role: str, **query: Any) -> list[dict[str, Any]]:
    answer = room.get("/v1/approvals", role=role, **query)
    assert answer.status_code == 200, answer.text
    page = ApprovalsAnswer.model_validate(answer.json())
    return [row.model_dump() for row in page.approvals]


# -- asking --------------------------------------------------------------------------------------


def test_a_request_that_needs_a_second_person_books_nothing_and_says_how_to_follow_it(
    room: Room,
) -> None:
    table = a_table(room)
    answer = ask(room, table)
    told = Awaiting.model_validate(answer.json())
    assert (answer.status_code, told.status) == (202, "awaiting-approval")
    assert (told.amount_minor, told.amount, told.currency) == (150, "1.50", "EUR")
    assert told.words.startswith(f"Set the chips at table {table}: players get 1.00 and lose 1.50")
    assert chips(room, table) == [2000, 2000]
    found = ApprovalAnswer.model_validate(room.get(told.links["approval"], role="approver").json())
    assert (found.status, found.maker, found.checker) == ("pending", "operator-1", None)
    assert (found.may_decide, found.may_withdraw) == (True, False)
    assert found.summary["difference_minor"] == {"1": 100, "2": -150}
    assert found.command["chips_minor"] == {"1": 2100, "2": 1850}
    assert found.links["table"] == f"/v1/tables/{table.replace(' ', '%20')}"
    assert found.expires_in_seconds is not None
    assert HOURS * 3600 - 60 < found.expires_in_seconds <= HOURS * 3600


def test_below_the_threshold_it_is_done_at_once(room: Room) -> None:
    answer = ask(room, a_table(room), 2000, 2000)
    assert (answer.status_code, answer.json()["suspense_minor"]) == (200, 0)


def test_a_request_sent_again_answers_the_first_result_whatever_became_of_it(room: Room) -> None:
    table = a_table(room)
    first = ask(room, table, key="resync-1")
    again = ask(room, table, key="resync-1")
    approval = first.json()["links"]["approval"]
    assert room.post(f"{approval}/grant", role="approver").status_code == 200
    after = ask(room, table, key="resync-1")
    for answer in (again, after):
        assert answer.status_code == 202
        assert answer.headers["idempotent-replay"] == "true"
        assert {**answer.json(), "repeated": False} == first.json()
    assert status(room, approval) == "granted"
    assert chips(room, table) == [2100, 1850]
    refused(ask(room, table, 2200, key="resync-1"), 422, "idempotency-key-reused")


# -- deciding ------------------------------------------------------------------------------------


def test_what_a_second_person_agrees_to_is_done(room: Room) -> None:
    table = a_table(room)
    approval = asked(room, table)
    answer = room.post(f"{approval}/grant", role="approver", key="grant-1")
    granted = GrantedDone.model_validate(answer.json())
    assert (granted.status, granted.maker, granted.checker) == (
        "granted",
        "operator-1",
        "approver-1",
    )
    assert granted.result["suspense_minor"] == -50
    assert (granted.result["suspense"], granted.amount) == ("-0.50", "1.50")
    assert chips(room, table) == [2100, 1850]
    assert executions(room, approval) == [("operator-1", "approver-1")]
    room.project()
    booked = room.get(room.get(approval, role="auditor").json()["links"]["entries"], role="auditor")
    accounts = [entry["account"].partition(":")[0] for entry in booked.json()["entries"]]
    assert sorted(accounts) == ["chips", "chips", "suspense", "suspense"]
    again = room.post(f"{approval}/grant", role="approver", key="grant-1")
    assert again.headers["idempotent-replay"] == "true"
    assert {**again.json(), "repeated": False} == answer.json()
    refused(room.post(f"{approval}/grant", role="approver"), 409, "approval-decided")
    assert executions(room, approval) == [("operator-1", "approver-1")]


def test_who_asked_cannot_decide_whatever_his_client_and_his_role(room: Room) -> None:
    approval = asked(room)
    for step, body in (("grant", None), ("reject", {"code": "other", "reason": "No."})):
        answer = room.post(
            f"{approval}/{step}", body, role="approver", client="desk-2", subject="operator-1"
        )
        refused(answer, 403, "same-person", retry="never")
    assert status(room, approval) == "pending"
    refused(room.post(f"{approval}/grant", role="operator"), 403, "missing-scope")


def test_a_token_of_another_network_finds_nothing(room: Room) -> None:
    approval = asked(room)
    for step, role, body in (
        ("grant", "approver", None),
        ("reject", "approver", {"code": "other", "reason": "No."}),
        ("withdraw", "operator", None),
    ):
        answer = room.post(f"{approval}/{step}", body, role=role, network="elsewhere")
        refused(answer, 404, "unknown-approval")
    assert status(room, approval) == "pending"


@pytest.mark.parametrize("step", ["", "/grant", "/reject", "/withdraw"])
def test_a_partners_token_is_kept_out_whatever_its_scopes(room: Room, step: str) -> None:
    approval = asked(room)
    token = issue(
        bytes.fromhex(JWT_KEY),
        subject="partner-1",
        client="kerching",
        network=NETWORK,
        at=datetime.now(UTC),
        lifetime=timedelta(hours=1),
        scopes=[Scope.APPROVALS_READ, Scope.APPROVALS_DECIDE, Scope.APPROVALS_WITHDRAW],
        partner="kerching",
    )
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": f"partner{step}"}
    body = {"code": "other", "reason": "No."} if step == "/reject" else None
    answer = room.http.request(
        "POST" if step else "GET", f"{approval}{step}", headers=headers, json=body
    )
    refused(answer, 403, "not-your-partner")


def test_a_rejection_is_told_with_its_reason(room: Room) -> None:
    table = a_table(room)
    approval = asked(room, table)
    body = {"code": "whim", "reason": "No."}
    answer = room.post(f"{approval}/reject", body, role="approver")
    codes = refused(answer, 422, "invalid-field", field="code")["codes"]
    assert "wrong-amount" in codes
    answer = room.post(f"{approval}/reject", {**body, "code": "wrong-amount"}, role="approver")
    rejected = RejectedDone.model_validate(answer.json())
    assert (rejected.status, rejected.code, rejected.reason) == ("rejected", "wrong-amount", "No.")
    found = room.get(approval, role="operator").json()
    assert (found["status"], found["checker"], found["code"]) == (
        "rejected",
        "approver-1",
        "wrong-amount",
    )
    assert chips(room, table) == [2000, 2000]
    assert executions(room, approval) == []


def test_who_asked_may_withdraw_it_and_nobody_else(room: Room) -> None:
    approval = asked(room)
    answer = room.post(f"{approval}/withdraw", role="operator", subject="operator-2")
    refused(answer, 403, "not-the-maker")
    answer = room.post(f"{approval}/withdraw", role="operator")
    assert ApprovalDone.model_validate(answer.json()).status == "withdrawn"
    answer = room.post(f"{approval}/grant", role="approver")
    refused(answer, 409, "approval-decided", current_status="withdrawn")


def test_what_has_become_something_else_is_not_granted_and_stays_pending(room: Room) -> None:
    table = a_table(room)
    approval = asked(room, table)
    player = room.sql(
        "SELECT convert_from(state, 'UTF8')::jsonb ->> 'player' FROM journal.events"
        " WHERE originator_id = %s AND topic = 'table.chips_bought.v1' LIMIT 1",
        f"table:{NETWORK}:{table}",
    )[0][0]
    body = {"player": player, "currency": "EUR", "amount_minor": 100}
    assert room.post(f"/v1/tables/{table}/top-ups", body, role="game-server").status_code == 201
    problem = refused(
        room.post(f"{approval}/grant", role="approver"), 409, "stale-request", retry="after-fix"
    )
    assert problem["asked"]["difference_minor"]["2"] == -150
    assert (status(room, approval), executions(room, approval)) == ("pending", [])
    body = {"player": player}
    assert room.post(f"/v1/tables/{table}/leave", body, role="game-server").status_code == 200
    answer = room.post(f"{approval}/grant", role="approver")
    refused(answer, 422, "seat-unknown", field="chips_minor")
    assert (status(room, approval), executions(room, approval)) == ("pending", [])


def old_request(room: Room) -> Pending:
    """Ask for something so long ago that its time is over."""
    table, approval = a_table(room), str(uuid4())
    common: dict[str, Any] = {
        "network": NETWORK,
        "at": datetime.now(UTC) - timedelta(hours=HOURS),
        "actor": "operator-1",
        "request_id": f"old-request-{approval}",
    }
    command = ResyncTable(
        **common,
        table=table,
        chips_minor={1: 2100, 2: 1850},
        ground="technical-failure",
        reason="A hand was lost.",
    )
    room.carry_out(RequestApproval(**common, approval=approval, command=command))
    return Pending(NETWORK, approval, common["at"] + timedelta(hours=HOURS))


def test_a_request_that_is_too_old_is_not_granted_and_expires(room: Room) -> None:
    pending = old_request(room)
    path = f"/v1/approvals/{pending.approval}"
    refused(room.post(f"{path}/grant", role="approver"), 409, "approval-too-late")
    found = room.get(path, role="approver").json()
    assert (found["status"], found["expires_in_seconds"], found["may_decide"]) == (
        "pending",
        0,
        False,
    )
    room.carry_out(*expire(pending, datetime.now(UTC)))
    refused(room.post(f"{path}/grant", role="approver"), 409, "approval-decided")
    assert executions(room, path) == []


def test_monitoring_is_told_what_waits_and_what_the_worker_has_left(room: Room) -> None:
    def scraped() -> tuple[float, float]:
        room.project()
        lines = room.http.get("/metrics").text.splitlines()
        values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        names = ("cardroom_pending_approvals", "cardroom_overdue_approvals")
        waiting, overdue = (float(values[name]) for name in names)
        return waiting, overdue

    waiting, overdue = scraped()
    asked(room)
    old = old_request(room)
    assert scraped() == (waiting + 2, overdue + 1)
    room.carry_out(*expire(old, datetime.now(UTC)))
    assert scraped() == (waiting + 1, overdue)


# -- the inbox -----------------------------------------------------------------------------------


@pytest.fixture
def three(room: Room) -> list[str]:
    """Three requests: of operator-1, of operator-2, and one of operator-1 that was rejected."""
    room.project()
    for row in inbox(room, "approver", show="to-decide", limit=500):
        reject = {"code": "other", "reason": "Of another test."}
        room.post(f"/v1/approvals/{row['approval']}/reject", reject, role="approver")
    subjects = ("operator-1", "operator-2", "operator-1")
    paths = [asked(room, subject=subject) for subject in subjects]
    room.post(f"{paths[2]}/reject", {"code": "duplicate", "reason": "Twice."}, role="approver")
    room.project()
    return [path.rpartition("/")[2] for path in paths]


def test_the_inbox_shows_what_waits_the_oldest_first(room: Room, three: list[str]) -> None:
    rows = inbox(room, "approver", show="to-decide")
    assert [row["approval"] for row in rows] == three[:2]
    assert rows[0]["words"].startswith("Set the chips at table")
    assert (rows[0]["amount"], rows[0]["currency"], rows[0]["may_decide"]) == ("1.50", "EUR", True)
    assert 0 <= rows[1]["age_seconds"] <= rows[0]["age_seconds"] < 60
    assert rows[0]["links"]["approval"] == f"/v1/approvals/{three[0]}"
    mine = inbox(room, "operator", show="mine")
    assert {row["maker"] for row in mine} == {"operator-1"}
    assert [row["approval"] for row in mine[-2:]] == [three[0], three[2]]
    assert (mine[-2]["may_withdraw"], mine[-1]["may_withdraw"]) == (True, False)
    assert [row["approval"] for row in inbox(room, "auditor", status="pending")] == three[:2]
    assert inbox(room, "auditor", status="rejected")[-1]["reason"] == "Twice."
    assert not any(row["may_decide"] for row in inbox(room, "auditor"))
    assert inbox(room, "approver", action="close-period") == []


def test_the_inbox_is_turned_page_by_page(room: Room, three: list[str]) -> None:
    first = room.get("/v1/approvals", role="approver", show="to-decide", limit=1).json()
    query = {"show": "to-decide", "limit": 1, "cursor": first["cursor"]}
    second = room.get("/v1/approvals", role="approver", **query).json()
    found = [row["approval"] for row in (*first["approvals"], *second["approvals"])]
    assert (found, second["cursor"]) == (three[:2], None)
    answer = room.get("/v1/approvals", role="approver", **{**query, "show": "all"})
    refused(answer, 422, "invalid-cursor")


# -- several at once -----------------------------------------------------------------------------


def test_of_many_who_grant_at_once_through_two_processes_one_does(room: Room) -> None:
    with serving(room.dsn) as other:
        for turn in range(3):
            table = a_table(room)
            approval = asked(room, table)
            answers: list[httpx.Response] = []

            def grant(number: int, path: str, turn: int, answers: list[httpx.Response]) -> None:
                line = (room, other)[number % 2]
                token = line.token("approver", subject=f"approver-{number}")
                headers = {
                    "Authorization": f"Bearer {token}",
                    "Idempotency-Key": f"race-{turn}-{number}",
                }
                url = f"{line.url}{path}/grant"
                answers.append(httpx.post(url, headers=headers, timeout=30))

            threads = [
                threading.Thread(target=grant, args=(number, approval, turn, answers))
                for number in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            codes = sorted(answer.status_code for answer in answers)
            assert codes == [200] + [409] * 7, [json.dumps(a.json()) for a in answers]
            assert len(executions(room, approval)) == 1
            assert chips(room, table) == [2100, 1850]
