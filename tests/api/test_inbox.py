"""What had been asked for by a position, and what had become of it."""

from typing import Any

from tests.api.conftest import Room
from tests.api.test_treasury import impatient

__all__ = ["impatient"]


def correction(room: Room, amount: int) -> str:
    body = {
        "currency": "EUR",
        "amount_minor": amount,
        "debit": "shortfall",
        "credit": "bank",
        "ground": "manifest-error",
        "reason": "A charge of the bank that nobody booked.",
    }
    answer = room.post("/v1/treasury/corrections", body, role="treasurer")
    assert answer.status_code == 202, answer.text
    return str(answer.json()["links"]["approval"])


def told(room: Room, **query: Any) -> dict[str, Any]:
    """Ask, whole pages put together; how old a request is depends on the clock."""
    answer = room.get("/v1/approvals", role="approver", **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    rows = [
        {name: part for name, part in row.items() if not name.endswith("_seconds")}
        for row in found["approvals"]
    ]
    if found["cursor"] is not None:
        rows += told(room, **{**query, "cursor": found["cursor"]})["approvals"]
    return {"approvals": rows, "position": found["position"]}


def test_approvals_are_told_again_as_of_a_position_and_may_not_be_decided(room: Room) -> None:
    asked: list[dict[str, Any]] = []

    def ask(answer: Any = None) -> None:
        assert answer is None or answer.is_success, answer.text
        room.project()
        asked.append(told(room))

    first, second, third = (correction(room, amount) for amount in (25, 35, 45))
    ask()
    ask(room.post(f"{first}/grant", role="approver"))
    no = {"code": "not-justified", "reason": "Nobody charged that."}
    ask(room.post(f"{second}/reject", no, role="approver"))
    ask(room.post(f"{third}/withdraw", role="treasurer"))
    for answer in asked:
        past = [{**row, "may_decide": False} for row in answer["approvals"]]
        again = told(room, position=answer["position"], limit=2)
        assert again == {**answer, "approvals": past}
    begun = asked[0]["position"]
    pending = told(room, position=begun, status="pending")["approvals"]
    assert len(pending) == 3
    assert told(room, status="pending")["approvals"] == []
    assert told(room, position=begun, status="granted")["approvals"] == []
