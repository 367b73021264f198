"""Months over HTTP: closed by two people, fixed for good, with what came late beside them."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from api import periods
from ledger.cashier.commands import AnnounceDeposit
from projections.check.books import check
from tests.api.conftest import NETWORK, Room, refused, serving
from tests.api.test_hands import Game
from tests.api.test_treasury import granted

MAY, JUNE, JULY = "2013-05", "2013-06", "2013-07"


@pytest.fixture
def room(dsn: str) -> Iterator[Room]:
    """Serve a room over a database of its own: months are closed in order."""
    with serving(dsn) as room:
        yield room


def deposited(room: Room, player: str, at: datetime, amount: int) -> None:
    """Book a deposit that happened at another time than it is recorded."""
    reference = f"{player} {at} {amount}"
    room.carry_out(
        AnnounceDeposit(
            network=NETWORK,
            at=at,
            actor="import",
            request_id=reference,
            deposit=f"d-{at:%Y%m%d%H%M%S}-{amount}",
            player=player,
            provider="cardpay",
            instrument="tok-1",
            reference_claim=room.identity.reference_claim(NETWORK, "deposit", "cardpay", reference),
            currency="EUR",
            amount_minor=amount,
            confirmed=True,
        )
    )


def close(room: Room, month: str) -> dict[str, Any]:
    answer = room.post(f"/v1/periods/{month}/close", {}, role="treasurer")
    result = granted(room, answer)
    room.project()
    return result


def period(room: Room, month: str) -> periods.PeriodAnswer:
    answer = room.get(f"/v1/periods/{month}", role="auditor")
    assert answer.status_code == 200, answer.text
    return periods.PeriodAnswer.model_validate(answer.json())


def fixed(answer: periods.PeriodAnswer) -> str:
    """Return all that must never change of a closed month: not what came late."""
    figures = [
        {
            name: value
            for name, value in row.model_dump().items()
            if not name.startswith("late_d") and not name.startswith("late_c")
        }
        for row in answer.figures
        # A component that had nothing then is listed for what came late alone.
        if any((row.opening_minor, row.debit_minor, row.credit_minor, row.closing_minor))
    ]
    kept = answer.model_dump(
        include={"month", "period", "figures_position", "approved_by", "commit"}
    )
    return json.dumps([kept, figures], sort_keys=True, default=str)


def figure(answer: periods.PeriodAnswer, component: str, partner: str | None = None) -> Any:
    [row] = [
        row
        for row in answer.figures
        if (row.component, row.partner, row.currency) == (component, partner, "EUR")
    ]
    return row


def late(room: Room, month: str, **query: Any) -> periods.LateAnswer:
    answer = room.get(f"/v1/periods/{month}/late", role="auditor", **query)
    return periods.LateAnswer.model_validate(answer.json())


def test_the_figures_of_a_closed_month_never_change_whatever_is_recorded_later(room: Room) -> None:
    player = room.registered("Early")
    deposited(room, player, datetime(2013, 4, 30, 23, 59, 59, tzinfo=UTC), 100)
    deposited(room, player, datetime(2013, 5, 1, tzinfo=UTC), 1_000)
    deposited(room, player, datetime(2013, 5, 31, 23, 59, 59, 999_999, tzinfo=UTC), 2_000)
    deposited(room, player, datetime(2013, 6, 1, tzinfo=UTC), 50)
    game = Game(room)
    hand = game.hand()
    hand["ohh"]["start_date_utc"] = "2013-05-20T18:00:00Z"
    assert room.hand(hand).status_code == 201
    game.booked()
    close(room, MAY)
    first = period(room, MAY)
    bankroll = figure(first, "bankroll", "kerching")
    assert (bankroll.opening_minor, bankroll.credit_minor, bankroll.closing_minor) == (
        100,
        3_000,
        3_100,
    )
    assert figure(first, "transit").closing_minor == 3_100
    assert figure(first, "rake", "kerching").credit_minor > 0
    assert late(room, MAY).entries == []
    assert first.approved_by == "approver-1"
    assert (first.period.closed_by, first.period.status) == ("treasurer-1", "closed")

    deposited(room, player, datetime(2013, 5, 15, tzinfo=UTC), 7)
    deposited(room, player, datetime(2013, 4, 15, tzinfo=UTC), 5)
    deposited(room, player, datetime(2013, 6, 15, tzinfo=UTC), 11)
    backdated = game.hand()
    backdated["ohh"]["start_date_utc"] = "2013-05-21T18:00:00Z"
    assert room.hand(backdated).status_code == 201
    room.project()
    second = period(room, MAY)
    assert fixed(second) == fixed(first)
    assert figure(second, "transit").late_debit_minor == 7
    assert figure(second, "bankroll", "kerching").late_credit_minor == 7
    listed = late(room, MAY)
    assert {row.event for row in listed.entries} >= {"player.deposited.v1", "hand.raked.v1"}
    assert {row.occurred_at[:7] for row in listed.entries} == {MAY}
    assert all(row.position > first.figures_position for row in listed.entries)
    sums = sum(row.debit_minor for row in listed.entries if row.account.startswith("transit:"))
    assert sums == 7

    close(room, JUNE)
    june = period(room, JUNE)
    transit = figure(june, "transit")
    assert transit.opening_minor == 3_100
    assert transit.late_of_before_minor == 7 + 5
    assert (transit.debit_minor, transit.credit_minor) == (50 + 11, 0)
    assert transit.closing_minor == 3_100 + 12 + 61
    for row in june.figures:
        sign = 1 if row.side in ("asset", "expense", "equity", "suspense") else -1
        moved = sign * (row.debit_minor - row.credit_minor)
        assert row.opening_minor + row.late_of_before_minor + moved == row.closing_minor
    assert fixed(period(room, MAY)) == fixed(first)


def test_late_entries_come_in_pages(room: Room) -> None:
    player = room.registered("Paged")
    deposited(room, player, datetime(2013, 5, 1, tzinfo=UTC), 1)
    close(room, MAY)
    for day in range(2, 7):
        deposited(room, player, datetime(2013, 5, day, tzinfo=UTC), day)
    room.project()
    whole = late(room, MAY).entries
    assert len(whole) == 10
    pages, cursor = [], None
    while True:
        found = late(room, MAY, limit=3, **({"cursor": cursor} if cursor else {}))
        pages += found.entries
        cursor = found.cursor
        if cursor is None:
            break
    assert [(row.position, row.line) for row in pages] == [
        (row.position, row.line) for row in whole
    ]


def test_the_digest_is_that_of_the_commit_that_holds_the_closing(room: Room) -> None:
    deposited(room, room.registered("Digest"), datetime(2013, 5, 1, tzinfo=UTC), 1)
    close(room, MAY)
    found = period(room, MAY)
    assert found.commit is not None
    [[topic]] = room.sql(
        "SELECT topic FROM journal.events WHERE notification_id = %s", found.figures_position
    )
    assert topic == "period.closed.v1"
    [[digest]] = room.sql(
        "SELECT encode(digest, 'hex') FROM journal.commits"
        " WHERE %s BETWEEN first_position AND last_position",
        found.figures_position,
    )
    assert found.commit.digest == digest


def test_months_are_closed_in_order_and_when_they_are_over(room: Room) -> None:
    deposited(room, room.registered("Order"), datetime(2013, 5, 1, tzinfo=UTC), 1)
    close(room, MAY)
    skipped = room.post(f"/v1/periods/{JULY}/close", {}, role="treasurer")
    refused(skipped, 409, "period-out-of-order", first=JUNE)
    again = room.post(f"/v1/periods/{MAY}/close", {}, role="treasurer")
    refused(again, 409, "period-closed")
    running = f"{datetime.now(UTC):%Y-%m}"
    early = room.post(f"/v1/periods/{running}/close", {}, role="treasurer")
    refused(early, 409, "period-not-over", retry="later")
    refused(room.post("/v1/periods/2013-13/close", {}, role="treasurer"), 422, "invalid-value")
    answer = room.get("/v1/periods", role="auditor")
    found = periods.PeriodsAnswer.model_validate(answer.json())
    assert [(row.month, row.status) for row in found.periods] == [(MAY, "closed")]
    assert found.open_from == JUNE
    room.project()
    assert check(room.dsn).problems == []


def test_an_open_month_is_shown_as_it_is_now(room: Room) -> None:
    player = room.registered("Open")
    deposited(room, player, datetime(2013, 5, 1, tzinfo=UTC), 1)
    room.project()
    found = period(room, MAY)
    assert (found.period.status, found.commit, found.approved_by) == ("open", None, None)
    assert figure(found, "transit").closing_minor == 1
    deposited(room, player, datetime(2013, 5, 2, tzinfo=UTC), 2)
    room.project()
    assert figure(period(room, MAY), "transit").closing_minor == 3
    assert late(room, MAY).entries == []


def test_a_month_that_was_reopened_is_closed_with_what_came_late(room: Room) -> None:
    player = room.registered("Again")
    deposited(room, player, datetime(2013, 5, 1, tzinfo=UTC), 1)
    close(room, MAY)
    deposited(room, player, datetime(2013, 5, 2, tzinfo=UTC), 2)
    answer = room.post(
        f"/v1/periods/{MAY}/reopen", {"reason": "A deposit was missing."}, role="treasurer"
    )
    assert granted(room, answer) == {"month": MAY, "status": "reopened"}
    room.project()
    found = period(room, MAY)
    assert (found.period.status, found.period.reason) == ("reopened", "A deposit was missing.")
    assert figure(found, "transit").closing_minor == 3
    close(room, MAY)
    found = period(room, MAY)
    assert (found.period.status, found.period.times_closed) == ("closed", 2)
    assert figure(found, "transit").late_debit_minor == 0
    assert late(room, MAY).entries == []


def test_a_partners_token_sees_nothing_of_the_months(room: Room) -> None:
    for path in ("", f"/{MAY}", f"/{MAY}/late"):
        answer = room.get(f"/v1/periods{path}", role="auditor", partner="kerching")
        refused(answer, 403, "not-your-partner")
    answer = room.post(f"/v1/periods/{MAY}/close", {}, role="treasurer", partner="kerching")
    refused(answer, 403, "not-your-partner")


def test_what_was_told_of_months_is_told_again_as_of_its_position(room: Room) -> None:
    player = room.registered("Remembered")
    reads = ("", f"/{MAY}", f"/{JUNE}", f"/{MAY}/late")
    asked: list[tuple[str, dict[str, Any]]] = []

    def ask() -> None:
        room.project()
        for path in reads:
            asked.append((path, told(room, path)))

    deposited(room, player, datetime(2013, 5, 10, tzinfo=UTC), 500)
    ask()
    close(room, MAY)
    ask()
    deposited(room, player, datetime(2013, 5, 11, tzinfo=UTC), 70)
    ask()
    close(room, JUNE)
    ask()
    for month in (JUNE, MAY):
        reopening = room.post(
            f"/v1/periods/{month}/reopen", {"reason": "Too late."}, role="treasurer"
        )
        granted(room, reopening)
        ask()
    close(room, MAY)
    ask()
    for path, answer in asked:
        assert told(room, path, position=answer["position"]) == answer
    assert len({json.dumps(answer["periods"]) for path, answer in asked if path == ""}) == 6


def told(room: Room, path: str, **query: Any) -> dict[str, Any]:
    answer = room.get(f"/v1/periods{path}", role="auditor", **query)
    assert answer.status_code == 200, answer.text
    return {name: part for name, part in answer.json().items() if name != "as_of"}


@pytest.mark.parametrize("path", ["", f"/{MAY}", f"/{MAY}/late"])
def test_a_read_of_months_is_a_file_as_well(room: Room, path: str) -> None:
    player = room.registered("Filed")
    deposited(room, player, datetime(2013, 5, 10, tzinfo=UTC), 500)
    room.project()
    close(room, MAY)
    deposited(room, player, datetime(2013, 5, 11, tzinfo=UTC), 70)
    room.project()
    headers = {"Authorization": f"Bearer {room.token('auditor')}", "Accept": "text/csv"}
    answer = room.http.get(f"/v1/periods{path}", headers=headers)
    found = told(room, path)
    rows = found[{"": "periods", f"/{MAY}": "figures"}.get(path, "entries")]
    header, *records, end = answer.text.splitlines()
    assert (len(records), bool(rows)) == (len(rows), True)
    assert set(header.split(",")) <= set(rows[0])
    assert end.startswith(f"#end,rows={len(rows)},position=")
