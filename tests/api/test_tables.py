"""Tables over HTTP: opened, played at, corrected, crashed, closed."""

import itertools
from typing import Any
from urllib.parse import quote

import pytest

from api.tables import (
    BegunDone,
    ClosedDone,
    CrashDone,
    ResyncDone,
    SeatDone,
    SeatLeftDone,
    TableAnswer,
    TableDone,
)
from tests.api.conftest import Room, refused

names = itertools.count(1)


def buy_in(player: str, seat: int = 1, amount_minor: int = 2000, **changes: Any) -> dict[str, Any]:
    body = {"player": player, "seat": seat, "currency": "EUR", "amount_minor": amount_minor}
    return {**body, **changes}


def somebody(room: Room, amount_minor: int = 5000, partner: str = "kerching") -> str:
    return room.funded(f"Guest{next(names)}", amount_minor, partner=partner)


def a_table(room: Room, **changes: Any) -> str:
    return room.opened(f"Table {next(names)}", **changes)


def test_a_player_sits_down_adds_chips_and_leaves(room: Room) -> None:
    table, player = a_table(room), somebody(room)
    path = f"/v1/tables/{table}"
    answer = room.post(f"{path}/buy-ins", buy_in(player, 3), role="game-server")
    seat = SeatDone.model_validate(answer.json())
    assert (answer.status_code, seat.chips, seat.bankroll) == (201, "20.00", "30.00")
    body = {"player": player, "currency": "EUR", "amount_minor": 500}
    answer = room.post(f"{path}/top-ups", body, role="game-server")
    assert SeatDone.model_validate(answer.json()).chips == "25.00"
    found = TableAnswer.model_validate(room.get(path, role="game-server").json())
    assert [(s.seat, s.player, s.chips_minor) for s in found.seats] == [(3, player, 2500)]
    answer = room.post(f"{path}/leave", {"player": player}, role="game-server")
    left = SeatLeftDone.model_validate(answer.json())
    assert (left.cashed_out, left.bankroll) == ("25.00", "50.00")


@pytest.mark.parametrize(
    ("changes", "status", "code", "field"),
    [
        ({"amount_minor": 999}, 422, "buy-in-too-small", "amount_minor"),
        ({"amount_minor": 10_001}, 422, "buy-in-too-large", "amount_minor"),
        ({"amount_minor": 5_001}, 422, "insufficient-funds", "amount_minor"),
        ({"amount_minor": "20.00"}, 422, "invalid-value", "amount_minor"),
        ({"seat": 7}, 422, "seat-unknown", "seat"),
        ({"seat": 0}, 422, "invalid-value", "seat"),
        ({"seat": "1"}, 422, "invalid-value", "seat"),
        ({"currency": "XPM"}, 422, "currency-mismatch", "currency"),
        ({"after_game_number": "404"}, 409, "hand-not-settled", "after_game_number"),
    ],
    ids=str,
)
def test_a_buy_in_outside_of_what_the_table_allows_is_refused(
    room: Room, changes: dict[str, Any], status: int, code: str, field: str
) -> None:
    table, player = a_table(room), somebody(room)
    answer = room.post(f"/v1/tables/{table}/buy-ins", buy_in(player, **changes), role="game-server")
    refused(answer, status, code, field=field)
    assert room.get(f"/v1/tables/{table}", role="game-server").json()["seats"] == []


def test_a_taken_seat_and_a_seated_player_are_refused(room: Room) -> None:
    table, first, second = a_table(room), somebody(room), somebody(room)
    room.seated(table, first, 1)
    path = f"/v1/tables/{table}/buy-ins"
    refused(room.post(path, buy_in(second, 1), role="game-server"), 409, "seat-taken")
    refused(room.post(path, buy_in(first, 2), role="game-server"), 409, "player-already-seated")


def test_chips_are_not_added_during_a_hand(room: Room) -> None:
    table, first, second = a_table(room), somebody(room), somebody(room)
    room.seated(table, first, 1)
    room.seated(table, second, 2)
    answer = room.post(f"/v1/tables/{table}/hands/771/begin", {}, role="game-server")
    assert BegunDone.model_validate(answer.json()).seats == [1, 2]
    assert room.get(f"/v1/tables/{table}", role="game-server").json()["running"] == "771"
    body = {"player": first, "currency": "EUR", "amount_minor": 500}
    answer = room.post(f"/v1/tables/{table}/top-ups", body, role="game-server")
    refused(answer, 409, "hand-running", retry="later", game_number="771")
    answer = room.post(f"/v1/tables/{table}/hands/772/begin", {}, role="game-server")
    refused(answer, 409, "hand-running", retry="later")


def test_a_lost_hand_is_corrected_and_its_difference_stands_in_suspense(room: Room) -> None:
    table, first, second = a_table(room), somebody(room), somebody(room)
    room.seated(table, first, 1)
    room.seated(table, second, 2)
    body = {
        "chips_minor": {"1": 2100, "2": 1850},
        "ground": "technical-failure",
        "reason": "A hand was lost.",
        "game_number": "900",
    }
    path = f"/v1/tables/{table}/resync"
    refused(room.post(path, body, role="game-server"), 403, "missing-scope", scope="tables:resync")
    awaiting = room.post(path, body, role="operator")
    assert awaiting.status_code == 202
    approval = awaiting.json()["links"]["approval"]
    granted = room.post(f"{approval}/grant", role="approver").json()
    answer = ResyncDone.model_validate({**granted["result"], "position": 1, "repeated": False})
    assert answer.difference_minor == {"1": 100, "2": -150}
    assert (answer.suspense_minor, answer.suspense) == (-50, "-0.50")
    for wrong in ({"1": 2100}, {"1": 1, "2": 1, "3": 1}):
        answer = room.post(path, {**body, "chips_minor": wrong}, role="operator")
        refused(answer, 422, "seat-unknown", field="chips_minor")
    for ill in ({"0": 1}, {"one": 1}, {"1": "21.00"}, {"1": -1}):
        answer = room.post(path, {**body, "chips_minor": ill}, role="operator")
        assert answer.json()["code"] == "invalid-value"
    answer = room.post(path, {**body, "ground": "whim"}, role="operator")
    refused(answer, 422, "invalid-field", field="ground")


def test_after_a_crash_everybody_has_his_chips_back(room: Room) -> None:
    table, first = a_table(room), somebody(room)
    room.seated(table, first, 1)
    body = {"reason": "The server lost power."}
    answer = room.post(f"/v1/tables/{table}/crash", body, role="game-server")
    crashed = CrashDone.model_validate(answer.json())
    assert [(one.player, one.cashed_out) for one in crashed.cashed_out] == [(first, "20.00")]
    assert room.get(f"/v1/tables/{table}", role="game-server").json()["seats"] == []


def test_a_table_is_closed_when_it_is_empty_or_cashed_out(room: Room) -> None:
    table, first = a_table(room), somebody(room)
    room.seated(table, first, 1)
    path = f"/v1/tables/{table}/close"
    refused(room.post(path, {}, role="game-server"), 409, "table-not-empty", seats=[1])
    answer = room.post(path, {"cash_out": True}, role="game-server")
    assert ClosedDone.model_validate(answer.json()).status == "closed"
    path = f"/v1/tables/{table}/buy-ins"
    refused(room.post(path, buy_in(first), role="game-server"), 409, "table-closed", retry="later")


@pytest.mark.parametrize(
    ("changes", "status", "code", "field"),
    [
        ({"name": ""}, 422, "invalid-value", "name"),
        ({"name": "x" * 65}, 422, "invalid-value", "name"),
        ({"name": "a\x00b"}, 422, "invalid-field", "name"),
        ({"game": "Snap"}, 422, "unknown-game", "game"),
        ({"bet_type": "XL"}, 422, "invalid-value", "bet_type"),
        ({"size": 1}, 422, "invalid-value", "size"),
        ({"size": 6.0}, 422, "invalid-value", "size"),
        ({"currency": "USD"}, 422, "currency-mismatch", "currency"),
        ({"big_blind_minor": -50}, 422, "invalid-value", "big_blind_minor"),
        ({"big_blind_minor": "0.50"}, 422, "invalid-value", "big_blind_minor"),
        ({"rulebook": "unheard-of"}, 404, "unknown-rulebook", "rulebook"),
        ({"inferred": True}, 422, "unknown-field", "inferred"),
    ],
    ids=str,
)
def test_a_table_that_cannot_be_is_not_opened(
    room: Room, changes: dict[str, Any], status: int, code: str, field: str
) -> None:
    body = {
        "name": f"Table {next(names)}",
        "game": "Holdem",
        "bet_type": "NL",
        "currency": "EUR",
        "size": 6,
        "small_blind_minor": 25,
        "big_blind_minor": 50,
        "min_buy_in_minor": 1000,
        "max_buy_in_minor": 5000,
        **changes,
    }
    refused(room.post("/v1/tables", body, role="game-server"), status, code, field=field)


def test_a_table_of_the_same_name_is_refused(room: Room) -> None:
    name = f"Table {next(names)}"
    room.opened(name)
    body = {
        "name": name,
        "game": "Holdem",
        "bet_type": "NL",
        "currency": "EUR",
        "size": 6,
        "small_blind_minor": 25,
        "big_blind_minor": 50,
        "min_buy_in_minor": 1000,
        "max_buy_in_minor": 5000,
    }
    refused(room.post("/v1/tables", body, role="game-server"), 409, "table-exists")


ODD_NAMES = ["Café Ø", "Über: 1/2", "50% more", "A/B", "日本", "../x", "%2f", "é" * 64]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_table_is_found_by_its_id_and_by_its_name_whatever_it_is(room: Room, name: str) -> None:
    answer = TableDone.model_validate(
        room.post(
            "/v1/tables",
            {
                "name": name,
                "game": "Holdem",
                "bet_type": "NL",
                "currency": "EUR",
                "size": 6,
                "small_blind_minor": 25,
                "big_blind_minor": 50,
                "min_buy_in_minor": 1000,
                "max_buy_in_minor": 5000,
            },
            role="game-server",
        ).json()
    )
    for known_as in (answer.table, name):  # encoded as any client encodes a part of a path
        found = room.get(f"/v1/tables/{quote(known_as, safe='')}", role="game-server")
        assert found.json()["name"] == name, known_as


@pytest.mark.parametrize("name", [".", ".."])
def test_a_table_named_by_dots_has_an_id_that_a_path_can_hold(room: Room, name: str) -> None:
    table = room.opened(name)
    found = room.get(f"/v1/tables/{quote(table, safe='')}", role="game-server")
    assert found.json()["name"] == name


def test_a_table_whose_name_looks_like_an_id_is_found_by_its_own_id(room: Room) -> None:
    first, second = room.opened("C/D"), room.opened("C%2FD")
    assert (first, second) == ("C%2FD", "C%252FD")
    for table, name in ((first, "C/D"), (second, "C%2FD")):
        found = room.get(f"/v1/tables/{quote(table, safe='')}", role="game-server")
        assert found.json()["name"] == name


@pytest.mark.parametrize("table", ["unheard of", "...", "%25", "a" * 300])
def test_a_table_that_does_not_exist_is_not_found(room: Room, table: str) -> None:
    answer = room.get(f"/v1/tables/{table}", role="game-server")
    assert answer.status_code == 404
    assert answer.json()["code"] in ("unknown-table", "not-found")


def test_to_a_partner_the_players_of_others_are_chips_alone(room: Room) -> None:
    table = a_table(room)
    ours, theirs = somebody(room), somebody(room, partner="another")
    room.seated(table, ours, 1)
    room.seated(table, theirs, 2)
    found = TableAnswer.model_validate(
        room.get(f"/v1/tables/{table}", role="partner", partner="kerching").json()
    )
    assert [(seat.player, seat.chips_minor) for seat in found.seats] == [(ours, 2000), (None, 2000)]
    assert found.seats[0].name is not None
    assert (found.seats[1].name, found.seats[1].partner) == (None, None)
