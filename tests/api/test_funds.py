"""What the client-funds account had as of any position: as it was answered then; and as CSV."""

from typing import Any

import httpx
import pytest

from tests.api.conftest import Room
from tests.api.test_treasury import bank, deposit, impatient, paid, released, settle

__all__ = ["impatient"]

OF_CARDPAY = "transit/cardpay"
READS = ("coverage", "transit", OF_CARDPAY, "bank", "unmatched", "partners")
PAGED = (OF_CARDPAY, "bank", "unmatched")


def asked_of(room: Room, path: str, accept: str = "*/*", **query: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {room.token('auditor')}", "Accept": accept}
    of = {"currency": "EUR"} if path == OF_CARDPAY else {}
    return room.http.get(f"/v1/treasury/{path}", headers=headers, params={**of, **query})


def told(room: Room, path: str, **query: Any) -> dict[str, Any]:
    """Ask, whole pages put together; how many days old a deposit is depends on the clock."""
    answer = asked_of(room, path, **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    if (cursor := found.pop("cursor", None)) is not None:
        following = told(room, path, **{**query, "cursor": cursor})
        for name in [name for name, part in found.items() if isinstance(part, list)]:
            found[name] += following[name]
    found.pop("as_of", None)
    return found


def moments(room: Room) -> list[dict[str, dict[str, Any]]]:
    """Book one thing after the other, and ask everything after each."""
    asked: list[dict[str, dict[str, Any]]] = []

    def ask(answer: Any = None) -> None:
        assert answer is None or answer.is_success, answer.text
        room.project()
        asked.append({path: told(room, path) for path in READS})

    player = room.registered("Remembered")
    deposits = [deposit(room, player, f"f-{amount}", amount) for amount in (5000, 2000, 700)]
    ask()
    ask(settle(room, "F-1", deposits=deposits[:1], paid_minor=4900, fee_minor=100))
    ask(settle(room, "F-2", paid_minor=1000, fee_minor=0))
    reason = {"reason": "Card fraud."}
    ask(room.post(f"/v1/deposits/{deposits[0]}/charge-back", reason, role="cashier"))
    ask(room.post(f"/v1/deposits/{deposits[2]}/charge-back", reason, role="cashier"))
    top_up = {
        "currency": "EUR",
        "amount_minor": 9000,
        "bank_reference": bank(),
        "reason": "Charge-backs.",
    }
    ask(room.post("/v1/treasury/top-ups", top_up, role="treasurer"))
    rich = room.funded("Richer", 4000)
    withdrawals = [paid(room, rich, 300), paid(room, rich, 200)]
    ask()
    match = {
        "bank_reference": bank(),
        "currency": "EUR",
        "amount_minor": 300,
        "withdrawals": withdrawals[:1],
    }
    ask(room.post("/v1/treasury/bank-matches", match, role="treasurer"))
    settled = {
        "partner": "kerching",
        "currency": "EUR",
        "withdrawals": [released(room, rich, 1500)],
        "bank_reference": bank(),
    }
    ask(room.post("/v1/treasury/partner-settlements", settled, role="treasurer"))
    report = {"partner": "kerching", "currency": "EUR", "amount_minor": 1500, "report": "F-KE"}
    ask(room.post("/v1/treasury/partner-discharges", report, role="treasurer"))
    ask(settle(room, "F-3", charge_backs=deposits[:1], paid_minor=-5000))
    return asked


def test_what_was_answered_is_answered_again_as_of_its_position(room: Room) -> None:
    asked = moments(room)
    for path in READS:
        answers = [moment[path] for moment in asked]
        shown = [{**answer, "position": 0} for answer in answers]
        assert any(one != shown[0] for one in shown), path
        for answer in answers:
            paged = {"limit": 2} if path in PAGED else {}
            again = told(room, path, position=answer["position"], **paged)
            assert again == answer, (path, answer["position"])


def test_states_are_known_by_position_alone(room: Room) -> None:
    for path in READS:
        answer = asked_of(room, path, occurred_at="2013-05-01T00:00:00Z")
        by_entries = path in ("coverage", "bank")
        assert answer.is_success == by_entries, path
        assert by_entries or answer.json()["code"] == "as-of-not-kept"


@pytest.mark.parametrize("path", READS)
def test_a_read_is_a_file_as_well(room: Room, path: str) -> None:
    room.project()
    found = told(room, path)
    [rows] = [part for part in found.values() if isinstance(part, list)]
    answer = asked_of(room, path, accept="text/csv")
    assert answer.headers["content-type"].startswith("text/csv")
    header, *records, end = answer.text.splitlines()
    assert len(records) == len(rows)
    assert set(header.split(",")) <= set(rows[0]) | {"links"} if rows else True
    assert end.startswith(f"#end,rows={len(rows)},position={found['position']}")
