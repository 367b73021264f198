"""The treasury over HTTP: what providers paid, what left, what covers; with a second person."""

from typing import Any

import pytest

from api import funds, treasury
from projections.check.books import check
from tests.api.conftest import Room, refused
from tests.api.test_hands import Game

BANK = iter(range(1, 10_000))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for projections that the tests themselves bring up to date."""
    monkeypatch.setattr(treasury, "PATIENCE_SECONDS", 0.0)


def bank() -> str:
    return f"B-{next(BANK)}"


def deposit(room: Room, player: str, reference: str, amount: int, **changes: Any) -> str:
    body = {
        "player": player,
        "provider": "cardpay",
        "reference": reference,
        "instrument": "tok_1",
        "currency": "EUR",
        "amount_minor": amount,
        "confirmed": True,
        **changes,
    }
    answer = room.post("/v1/deposits", body, role="cashier")
    assert answer.status_code == 201, answer.text
    return str(answer.json()["deposit"])


def settle(room: Room, reference: str, **fields: Any) -> Any:
    body = {
        "provider": "cardpay",
        "reference": reference,
        "bank_reference": bank(),
        "currency": "EUR",
        **fields,
    }
    return room.post("/v1/treasury/settlements", body, role="treasurer")


def released(room: Room, player: str, amount: int) -> str:
    body = {"player": player, "instrument": "tok_1", "currency": "EUR", "amount_minor": amount}
    answer = room.post("/v1/withdrawals", body, role="cashier")
    withdrawal = str(answer.json()["withdrawal"])
    for step in ("review", "release"):
        assert room.post(f"/v1/withdrawals/{withdrawal}/{step}", role="compliance").is_success
    return withdrawal


def paid(room: Room, player: str, amount: int) -> str:
    withdrawal = released(room, player, amount)
    body = {"provider": "sepa", "payment_reference": f"out-{withdrawal}"}
    assert room.post(f"/v1/withdrawals/{withdrawal}/pay", body, role="cashier").is_success
    return withdrawal


def granted(room: Room, answer: Any) -> dict[str, Any]:
    """Let a second person agree to what an answer says is awaited; return what came of it."""
    assert answer.status_code == 202, answer.text
    grant = room.post(f"{answer.json()['links']['approval']}/grant", role="approver")
    assert grant.status_code == 200, grant.text
    result: dict[str, Any] = grant.json()["result"]
    return result


def coverage(room: Room) -> dict[str, Any]:
    room.project()
    answer = room.get("/v1/treasury/coverage", role="auditor")
    found = funds.CoverageAnswer.model_validate(answer.json())
    [row] = [row for row in found.currencies if row.currency == "EUR"]
    return row.model_dump()


def transit(room: Room, provider: str = "cardpay") -> dict[str, Any]:
    room.project()
    answer = room.get("/v1/treasury/transit", role="auditor")
    found = funds.TransitAnswer.model_validate(answer.json())
    [row] = [row for row in found.providers if row.provider == provider]
    return row.model_dump()


def test_a_settlement_moves_deposits_to_the_bank_and_leaves_the_fee_uncovered(room: Room) -> None:
    player = room.registered("Settled")
    first, second = deposit(room, player, "s-1", 5000), deposit(room, player, "s-2", 2000)
    before = coverage(room)
    answer = settle(room, "CP-1", deposits=[first], paid_minor=4900, fee_minor=100)
    booked = treasury.SettlementDone.model_validate(answer.json())
    assert (answer.status_code, booked.gross, booked.paid, booked.fee) == (
        201,
        "50.00",
        "49.00",
        "1.00",
    )
    after = coverage(room)
    assert after["liability_minor"] == before["liability_minor"]
    assert after["spare_minor"] == before["spare_minor"] - 100
    assert after["fees_minor"] == before["fees_minor"] + 100
    listed = room.get("/v1/treasury/transit/cardpay", role="auditor", currency="EUR")
    page = funds.TransitDepositsAnswer.model_validate(listed.json())
    assert second in {row.deposit for row in page.deposits}
    assert first not in {row.deposit for row in page.deposits}
    again = settle(room, "CP-2", deposits=[first], paid_minor=5000)
    problem = refused(again, 409, "deposits-not-payable", field="deposits")
    assert problem["faults"] == [{"deposit": first, "field": "deposits", "fault": "settled-before"}]


def test_the_same_settlement_again_answers_the_first_result(room: Room) -> None:
    one = deposit(room, room.registered("Twice"), "t-1", 700)
    body = {
        "provider": "cardpay",
        "reference": "CP-twice",
        "bank_reference": bank(),
        "currency": "EUR",
        "paid_minor": 700,
        "deposits": [one],
    }
    first = room.post("/v1/treasury/settlements", body, role="treasurer", key="settle-twice")
    again = room.post("/v1/treasury/settlements", body, role="treasurer", key="settle-twice")
    assert (first.status_code, again.json()["repeated"]) == (201, True)
    assert again.json()["settlement"] == first.json()["settlement"]
    other = room.post("/v1/treasury/settlements", body, role="treasurer", key="settle-thrice")
    refused(other, 409, "reference-already-used", field="reference")


def test_a_gross_without_a_list_is_counted_off_the_oldest_deposits(room: Room) -> None:
    player = room.registered("Unlisted")
    ids = [
        deposit(room, player, f"u-{number}", amount, provider="wirepay")
        for number, amount in enumerate((1000, 2000, 4000))
    ]
    room.project()
    answer = settle(room, "WP-1", provider="wirepay", paid_minor=1500)
    assert answer.status_code == 201, answer.text
    row = transit(room, "wirepay")
    assert (row["amount_minor"], row["unexplained_minor"]) == (5500, 0)
    assert [(age["from_days"], age["deposits"], age["amount_minor"]) for age in row["ages"]] == [
        (0, 2, 5500)
    ]
    url = row["links"]["deposits"]
    listed = room.http.get(url, headers={"Authorization": f"Bearer {room.token('auditor')}"})
    page = funds.TransitDepositsAnswer.model_validate(listed.json())
    assert [(one.deposit, one.amount_minor) for one in page.deposits] == [
        (ids[1], 1500),
        (ids[2], 4000),
    ]
    shorter = room.get("/v1/treasury/transit/wirepay", role="auditor", currency="EUR", limit=1)
    rest = room.get(
        "/v1/treasury/transit/wirepay",
        role="auditor",
        currency="EUR",
        limit=1,
        cursor=shorter.json()["cursor"],
    )
    assert [one["deposit"] for one in rest.json()["deposits"]] == [ids[2]]
    assert rest.json()["cursor"] is None
    too_much = settle(room, "WP-2", provider="wirepay", paid_minor=5501)
    problem = refused(too_much, 422, "settlement-differs", field="paid_minor")
    assert (problem["covered"], problem["difference"]) == ("55.00", "0.01")


def test_a_charge_back_that_is_to_be_kept_back_is_below_zero_in_transit(room: Room) -> None:
    player = room.registered("Disputed")
    one = deposit(room, player, "cb-1", 900, provider="cardtwo")
    assert settle(room, "C2-1", provider="cardtwo", deposits=[one], paid_minor=900).is_success
    body = {"reason": "Card fraud."}
    assert room.post(f"/v1/deposits/{one}/charge-back", body, role="cashier").is_success
    assert transit(room, "cardtwo")["amount_minor"] == -900
    assert settle(room, "C2-2", provider="cardtwo", charge_backs=[one], paid_minor=-900).is_success
    row = transit(room, "cardtwo")
    assert (row["amount_minor"], row["ages"], row["oldest_at"]) == (0, [], None)


def test_a_difference_is_booked_when_a_second_person_agrees(room: Room) -> None:
    one = deposit(room, room.registered("Different"), "df-1", 3000)
    fields = {"deposits": [one], "paid_minor": 2950}
    refused(settle(room, "CP-df", **fields), 422, "settlement-differs")
    before = coverage(room)
    answer = settle(room, "CP-df", **fields, difference_reason="Less than on their list.")
    assert answer.json()["action"] == "correct-treasury"
    result = granted(room, answer)
    assert result["suspense_minor"] == -50
    assert coverage(room)["suspense_minor"] == before["suspense_minor"] + 50


def test_a_correction_is_booked_when_a_second_person_agrees(room: Room) -> None:
    body = {
        "currency": "EUR",
        "amount_minor": 25,
        "debit": "shortfall",
        "credit": "suspense",
        "ground": "manifest-error",
        "reason": "Nobody knows.",
    }
    before = coverage(room)
    answer = room.post("/v1/treasury/corrections", body, role="treasurer")
    assert coverage(room)["shortfall_minor"] == before["shortfall_minor"]
    alone = room.post(f"{answer.json()['links']['approval']}/grant", role="treasurer")
    refused(alone, 403, "missing-scope")
    granted(room, answer)
    after = coverage(room)
    assert after["shortfall_minor"] == before["shortfall_minor"] + 25
    assert after["suspense_minor"] == before["suspense_minor"] - 25
    wrong = room.post("/v1/treasury/corrections", {**body, "debit": "bankroll"}, role="treasurer")
    refused(wrong, 422, "invalid-value", field="debit")


@pytest.fixture(scope="module")
def played(room: Room) -> Room:
    """Give a room where hands earned rake, and whose deposits are at the bank."""
    game = Game(room)
    hands = []
    for _ in range(3):
        hands.append(game.hand())
        game.booked()
    assert {one["status"] for one in room.hand(hands).json()["results"]} == {"booked"}
    for row in coverage_of_providers(room):
        paid_now = row["amount_minor"]
        if paid_now > 0:
            answer = settle(
                room, f"all-{row['provider']}", provider=row["provider"], paid_minor=paid_now
            )
            assert answer.status_code == 201, answer.text
    return room


def coverage_of_providers(room: Room) -> list[dict[str, Any]]:
    room.project()
    found: list[dict[str, Any]] = room.get("/v1/treasury/transit", role="auditor").json()[
        "providers"
    ]
    return found


def top_up(room: Room, amount: int) -> Any:
    body = {
        "currency": "EUR",
        "amount_minor": amount,
        "bank_reference": bank(),
        "reason": "Fees of May.",
    }
    return room.post("/v1/treasury/top-ups", body, role="treasurer")


def test_rake_is_swept_as_far_as_it_is_earned_and_covers_nothing(played: Room) -> None:
    room = played
    short = -coverage(room)["spare_minor"] + coverage(room)["earned_minor"]
    if short > 0:
        answer = top_up(room, short)
        treasury.TopUpDone.model_validate(answer.json())
    now = coverage(room)
    assert now["sweepable_minor"] == now["earned_minor"] > 0
    body = {"currency": "EUR", "bank_reference": bank()}
    over = {**body, "amount_minor": now["sweepable_minor"] + 1}
    problem = refused(
        room.post("/v1/treasury/sweeps", over, role="treasurer"), 422, "more-than-earned"
    )
    assert problem["unswept_minor"] == now["earned_minor"]
    answer = room.post(
        "/v1/treasury/sweeps", {**body, "amount_minor": now["sweepable_minor"]}, role="treasurer"
    )
    swept = treasury.SweepDone.model_validate(answer.json())
    assert (answer.status_code, swept.unswept_minor) == (201, 0)
    after = coverage(room)
    assert (after["sweepable_minor"], after["status"]) == (0, "covered")
    event = room.get(f"/v1/events/{swept.position - 1}", role="auditor").json()
    assert event["fields"]["book_earned_minor"] == now["earned_minor"]


def test_a_sweep_over_a_book_that_lacks_the_last_movement_is_to_be_tried_later(
    played: Room,
) -> None:
    played.project()
    assert top_up(played, 100).status_code == 201
    body = {"currency": "EUR", "amount_minor": 1, "bank_reference": bank()}
    answer = played.post("/v1/treasury/sweeps", body, role="treasurer", key="sweep-later")
    refused(answer, 409, "figures-out-of-date", retry="later")
    played.project()
    again = played.post("/v1/treasury/sweeps", body, role="treasurer", key="sweep-later")
    refused(again, 422, "more-than-earned")


def test_withdrawals_settled_with_a_partner_are_shown_apart(played: Room) -> None:
    room = played
    player = room.funded("Partnered", 4000)
    withdrawal = released(room, player, 1500)
    before = coverage(room)
    body = {
        "partner": "kerching",
        "currency": "EUR",
        "withdrawals": [withdrawal],
        "bank_reference": bank(),
    }
    other = room.post(
        "/v1/treasury/partner-settlements", {**body, "partner": "harbour"}, role="treasurer"
    )
    assert refused(other, 409, "withdrawals-not-payable")["faults"][0]["fault"] == "other-partner"
    answer = room.post("/v1/treasury/partner-settlements", body, role="treasurer")
    done = treasury.PartnerSettlementDone.model_validate(answer.json())
    assert (done.amount, done.withdrawals) == ("15.00", 1)
    after = coverage(room)
    assert after["liability_minor"] == before["liability_minor"] - 1500
    assert after["spare_minor"] == before["spare_minor"]
    assert after["owed_by_partners_minor"] == before["owed_by_partners_minor"] + 1500
    report = {"partner": "kerching", "currency": "EUR", "amount_minor": 1500, "report": "KE-1"}
    answer = room.post("/v1/treasury/partner-discharges", report, role="treasurer")
    assert treasury.DischargeDone.model_validate(answer.json()).partner_owes_minor == 0
    room.project()
    answer = room.get("/v1/treasury/partners", role="auditor")
    [row] = funds.PartnersAnswer.model_validate(answer.json()).partners
    assert (row.settled_minor, row.discharged_minor, row.owed_minor) == (1500, 1500, 0)


def test_payments_are_matched_with_the_banks_statement(played: Room) -> None:
    room = played
    player = room.funded("Matched", 5000)
    ids = [paid(room, player, 1000), paid(room, player, 500)]
    room.project()
    answer = room.get("/v1/treasury/unmatched", role="auditor", limit=500)
    found = funds.UnmatchedAnswer.model_validate(answer.json())
    assert set(ids) <= {row.withdrawal for row in found.withdrawals}
    line = bank()
    body = {"bank_reference": line, "currency": "EUR", "amount_minor": 1500, "withdrawals": ids}
    wrong = room.post("/v1/treasury/bank-matches", {**body, "amount_minor": 1499}, role="treasurer")
    assert refused(wrong, 422, "amount-differs")["withdrawals"] == "15.00"
    answer = room.post("/v1/treasury/bank-matches", body, role="treasurer")
    assert treasury.BankMatchDone.model_validate(answer.json()).withdrawals == 2
    room.project()
    left = room.get("/v1/treasury/unmatched", role="auditor", limit=500).json()["withdrawals"]
    assert not set(ids) & {row["withdrawal"] for row in left}
    answer = room.get("/v1/treasury/bank", role="auditor", currency="EUR", limit=500)
    movements = funds.BankAnswer.model_validate(answer.json()).movements
    shown = {row.withdrawal: row.bank_reference for row in movements if row.withdrawal}
    assert [shown[one] for one in ids] == [line, line]
    assert movements[0].balance_minor == coverage(room)["bank_minor"]
    assert all(row.bank_reference for row in movements if not row.withdrawal)


def test_a_partners_token_sees_nothing_of_the_treasury(played: Room) -> None:
    for path in ("coverage", "transit", "transit/cardpay?currency=EUR", "bank", "unmatched"):
        answer = played.get(f"/v1/treasury/{path}", role="auditor", partner="kerching")
        refused(answer, 403, "not-your-partner")
    body = {"currency": "EUR", "amount_minor": 1, "bank_reference": bank()}
    answer = played.post("/v1/treasury/sweeps", body, role="treasurer", partner="kerching")
    refused(answer, 403, "not-your-partner")


def test_coverage_is_a_gauge_of_real_money(played: Room) -> None:
    player = played.registered("Playful")
    body = {"player": player, "currency": "XPM", "amount_minor": 100_000}
    assert played.post("/v1/play-money", body, role="cashier").status_code == 201
    expected = coverage(played)["coverage_bps"]
    lines = played.http.get("/metrics").text.splitlines()
    told = [line for line in lines if line.startswith("cardroom_coverage_bps")]
    assert told == [
        f'cardroom_coverage_bps{{currency="EUR",network="entraction"}} {float(expected)}'
    ]


def test_the_books_hold_after_all_of_this(played: Room) -> None:
    played.project()
    report = check(played.dsn)
    assert report.problems == []
