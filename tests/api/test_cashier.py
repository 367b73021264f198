"""The cashier over HTTP: deposits and withdrawals through their lives, and bad amounts."""

from typing import Any

import pytest

from api.cashier import (
    DepositAnnouncedOrConfirmed,
    DepositAnswer,
    DepositCredited,
    DepositDone,
    DepositTakenBack,
    PlayMoneyGiven,
    WithdrawalAnswer,
    WithdrawalDone,
    WithdrawalSetAside,
)
from tests.api.conftest import Room, refused


def deposit(player: str, reference: str, /, **changes: Any) -> dict[str, Any]:
    body = {
        "player": player,
        "provider": "cardpay",
        "reference": reference,
        "instrument": "tok_4f9a12",
        "currency": "EUR",
        "amount_minor": 5000,
    }
    return {**body, **changes}


def withdrawal(player: str, amount_minor: Any = 1000, /, **changes: Any) -> dict[str, Any]:
    body = {"player": player, "instrument": "tok_4f9a12", "currency": "EUR"}
    return {**body, "amount_minor": amount_minor, **changes}


def test_a_deposit_is_announced_confirmed_and_charged_back(room: Room) -> None:
    player = room.registered("Depositor")
    answer = room.post("/v1/deposits", deposit(player, "d-1"), role="cashier")
    announced = DepositAnnouncedOrConfirmed.model_validate(answer.json())
    assert (answer.status_code, announced.status, announced.amount) == (201, "announced", "50.00")
    path = f"/v1/deposits/{announced.deposit}"
    answer = room.post(f"{path}/confirm", role="cashier")
    credited = DepositCredited.model_validate(answer.json())
    assert (answer.status_code, credited.bankroll) == (200, "50.00")
    found = DepositAnswer.model_validate(room.get(path, role="support").json())
    assert found.status == "confirmed"
    room.post("/v1/withdrawals", withdrawal(player, 2000), role="cashier")
    answer = room.post(f"{path}/charge-back", {"reason": "Card fraud."}, role="cashier")
    taken = DepositTakenBack.model_validate(answer.json())
    assert (taken.taken_minor, taken.debt_minor, taken.debt) == (3000, 2000, "20.00")
    again = room.post(f"{path}/charge-back", {"reason": "Card fraud."}, role="cashier")
    refused(again, 409, "deposit-not-confirmed")


def test_a_deposit_that_failed_is_not_credited(room: Room) -> None:
    player = room.registered("Unlucky")
    answer = room.post("/v1/deposits", deposit(player, "d-2"), role="cashier")
    path = f"/v1/deposits/{answer.json()['deposit']}"
    answer = room.post(f"{path}/fail", {"reason": "Declined."}, role="cashier")
    assert DepositDone.model_validate(answer.json()).status == "failed"
    refused(room.post(f"{path}/confirm", role="cashier"), 409, "deposit-not-open", retry="never")
    reused = room.post("/v1/deposits", deposit(player, "d-2"), role="cashier")
    refused(reused, 409, "reference-already-used", field="reference")


def test_a_withdrawal_is_requested_reviewed_released_and_paid(room: Room) -> None:
    player = room.funded("Winner", 5000)
    answer = room.post("/v1/withdrawals", withdrawal(player, 4500), role="cashier")
    requested = WithdrawalSetAside.model_validate(answer.json())
    assert (answer.status_code, requested.bankroll) == (201, "5.00")
    path = f"/v1/withdrawals/{requested.withdrawal}"
    payment = {"provider": "sepa-bank", "payment_reference": "out-1"}
    refused(room.post(f"{path}/pay", payment, role="cashier"), 409, "withdrawal-not-released")
    for step, status in (("review", "in-review"), ("release", "released")):
        answer = room.post(f"{path}/{step}", role="compliance")
        assert WithdrawalDone.model_validate(answer.json()).status == status
    answer = room.post(f"{path}/pay", payment, role="cashier")
    assert WithdrawalDone.model_validate(answer.json()).status == "paid"
    found = WithdrawalAnswer.model_validate(room.get(path, role="support").json())
    assert (found.status, found.amount) == ("paid", "45.00")


def test_a_rejected_withdrawal_gives_the_money_back(room: Room) -> None:
    player = room.funded("Rejected", 5000)
    answer = room.post("/v1/withdrawals", withdrawal(player, 5000), role="cashier")
    path = f"/v1/withdrawals/{answer.json()['withdrawal']}"
    room.post(f"{path}/reject", {"reason": "Documents are missing."}, role="approver")
    balances = room.get(f"/v1/players/{player}", role="support").json()["balances"]
    assert (balances[0]["bankroll"], balances[0]["withdrawal"]) == ("50.00", "0.00")


def test_play_money_is_given_out(room: Room) -> None:
    player = room.registered("Funplayer")
    body = {"player": player, "currency": "XPM", "amount_minor": 100_000}
    answer = room.post("/v1/play-money", body, role="cashier")
    assert PlayMoneyGiven.model_validate(answer.json()).bankroll == "1000.00"
    real = room.post("/v1/play-money", {**body, "currency": "EUR"}, role="cashier")
    refused(real, 422, "currency-mismatch", field="currency")


@pytest.mark.parametrize(
    ("amount", "code"),
    [
        ("12.50", "invalid-value"),
        (12.5, "invalid-value"),
        (12.0, "invalid-value"),
        (1e3, "invalid-value"),
        (True, "invalid-value"),
        (None, "invalid-value"),
        ([], "invalid-value"),
        (0, "invalid-value"),
        (-1, "invalid-value"),
        (2**53 + 1, "invalid-value"),
        (10**30, "invalid-value"),
        (2**53, "insufficient-funds"),
        (5001, "insufficient-funds"),
    ],
)
@pytest.mark.parametrize("what", ["withdrawals"])
def test_what_is_no_amount_that_may_be_paid_is_refused(
    room: Room, what: str, amount: Any, code: str
) -> None:
    name = "Bounded"
    found = room.get("/v1/players", role="support", nickname=name)
    player = found.json()["player"] if found.status_code == 200 else room.funded(name, 5000)
    body = withdrawal(player, amount)
    refused(room.post(f"/v1/{what}", body, role="cashier"), 422, code, field="amount_minor")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999999", "01", "+1", "0x10"])
def test_a_number_that_json_does_not_have_is_refused(room: Room, number: str) -> None:
    body = b'{"player": "x", "amount_minor": %s}' % number.encode()
    answer = room.post("/v1/withdrawals", body, role="cashier")
    refused(answer, 400, "malformed-json", retry="after-fix")


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[}",
        b"\xff",
        b'{"a": "\xed\xa0\x80"}',
        b'{"a": "\\ud800"}',
        b"[" * 50_000,
        b"{'a': 1}",
    ],
    ids=repr,
)
def test_a_body_that_is_no_json_is_refused(room: Room, body: bytes) -> None:
    refused(room.post("/v1/withdrawals", body, role="cashier"), 400, "malformed-json")


@pytest.mark.parametrize("body", [b"[]", b"null", b'"text"', b"17"])
def test_a_body_that_is_no_object_is_refused(room: Room, body: bytes) -> None:
    answer = room.post("/v1/withdrawals", body, role="cashier")
    assert answer.status_code == 422
    assert answer.json()["code"] in ("invalid-value", "missing-field")


def test_a_body_beyond_the_limit_is_refused(room: Room) -> None:
    body = b'{"reason": "%s"}' % (b"x" * 70_000)
    answer = room.post("/v1/deposits/some/fail", body, role="cashier")
    refused(answer, 413, "body-too-large", limit_bytes=65_536)


def test_a_missing_body_is_refused(room: Room) -> None:
    assert room.post("/v1/withdrawals", role="cashier").json()["code"] == "missing-field"


def test_a_body_of_another_type_is_refused(room: Room) -> None:
    headers = {
        "Authorization": f"Bearer {room.token('cashier')}",
        "Idempotency-Key": "typed",
        "Content-Type": "text/plain",
    }
    answer = room.http.post("/v1/withdrawals", content=b"{}", headers=headers)
    refused(answer, 415, "unsupported-media-type")


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"currency": "USD"}, 422, "currency-mismatch"),
        ({"currency": "eur"}, 422, "invalid-value"),
        ({"provider": "Card Pay"}, 422, "invalid-value"),
        ({"reference": "with space"}, 422, "invalid-value"),
        ({"instrument": "4111111111111111"}, 422, "card-number"),
        ({"player": "00000000-0000-4000-8000-000000000000"}, 404, "unknown-player"),
        ({"confirmed": "yes"}, 422, "invalid-value"),
        ({"note": "thanks"}, 422, "unknown-field"),
    ],
    ids=str,
)
def test_a_deposit_that_cannot_be_is_refused(
    room: Room, changes: dict[str, Any], status: int, code: str
) -> None:
    found = room.get("/v1/players", role="support", nickname="Careful")
    player = found.json()["player"] if found.status_code == 200 else room.registered("Careful")
    answer = room.post("/v1/deposits", deposit(player, "d-9", **changes), role="cashier")
    if code == "card-number":
        assert answer.status_code == 422
        assert answer.json()["field"] == "instrument"
        assert "4111111111111111" not in answer.text
        return
    refused(answer, status, code)


def test_a_suspended_player_neither_deposits_nor_withdraws(room: Room) -> None:
    player = room.funded("Suspect", 5000)
    body = {"ground": "fraud", "reason": "Under investigation."}
    room.post(f"/v1/players/{player}/suspend", body, role="compliance")
    answer = room.post("/v1/withdrawals", withdrawal(player), role="cashier")
    refused(answer, 403, "player-suspended", retry="later")
    answer = room.post("/v1/deposits", deposit(player, "d-10"), role="cashier")
    refused(answer, 403, "player-suspended", retry="later")


@pytest.mark.parametrize("step", ["review", "release", "reject", "pay"])
def test_a_withdrawal_that_does_not_exist_is_refused(room: Room, step: str) -> None:
    bodies = {
        "reject": {"reason": "None."},
        "pay": {"provider": "sepa", "payment_reference": "out-9"},
    }
    role = "cashier" if step == "pay" else "compliance"
    answer = room.post(f"/v1/withdrawals/unheard-of/{step}", bodies.get(step), role=role)
    refused(answer, 404, "unknown-withdrawal", field="withdrawal")
