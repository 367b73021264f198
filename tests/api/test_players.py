"""Players over HTTP: registration, names, terms, standing, and who may see whom."""

from typing import Any

import pytest

from api.players import Accepted, PlayerAnswer, Registered, Standing
from tests.api.conftest import WARRANTIES, Room, refused

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def registration(nickname: str = "Malformed", /, **changes: Any) -> dict[str, Any]:
    body = {
        "partner": "kerching",
        "nickname": nickname,
        "identity_reference": f"person-{nickname}",
        "warranties": WARRANTIES,
    }
    return {**body, **changes}


def test_a_registered_player_is_found_by_id_and_by_nickname(room: Room) -> None:
    answer = room.post("/v1/players", registration("Riverboat"), role="cashier")
    assert answer.status_code == 201
    registered = Registered.model_validate(answer.json())
    assert not registered.repeated
    assert set(registered.warranted) == set(WARRANTIES)
    by_id = room.get(f"/v1/players/{registered.player}", role="support")
    by_name = room.get("/v1/players", role="support", nickname="RIVERBOAT")
    found = PlayerAnswer.model_validate(by_id.json())
    assert (found.nickname, found.status, found.partner) == ("Riverboat", "active", "kerching")
    assert by_name.json()["player"] == registered.player
    assert found.position >= registered.position


def test_a_read_of_a_player_is_recorded_before_it_is_answered(room: Room) -> None:
    player = room.registered("Observed")
    before = room.sql("SELECT count(*) FROM audit.reads")[0][0]
    answer = room.get(f"/v1/players/{player}", role="support")
    rows = room.sql("SELECT actor, what, subject, request_id FROM audit.reads ORDER BY id DESC")
    assert len(rows) == before + 1
    assert rows[0] == (
        "support-1",
        "player",
        f"player:entraction:{player}",
        answer.headers["x-request-id"],
    )


@pytest.mark.parametrize(
    ("changes", "status", "code", "field"),
    [
        ({"partner": None}, 422, "invalid-value", "partner"),
        ({"partner": "Not A Slug"}, 422, "invalid-value", "partner"),
        ({"nickname": ""}, 422, "invalid-value", "nickname"),
        ({"nickname": 7}, 422, "invalid-value", "nickname"),
        ({"nickname": "a" * 65}, 422, "invalid-value", "nickname"),
        ({"nickname": "ab"}, 422, "nickname-not-allowed", "nickname"),
        ({"nickname": "tab\there"}, 422, "nickname-not-allowed", "nickname"),
        ({"nickname": "nul\x00byte"}, 422, "nickname-not-allowed", "nickname"),
        ({"nickname": "a' OR '1'='1"}, 422, "nickname-not-allowed", "nickname"),
        ({"identity_reference": ""}, 422, "invalid-value", "identity_reference"),
        ({"identity_reference": "with space"}, 422, "invalid-value", "identity_reference"),
        ({"warranties": []}, 422, "invalid-value", "warranties"),
        ({"warranties": {"over_18": "yes"}}, 422, "invalid-value", "warranties.over_18"),
        ({"warranties": {"over_18": 1}}, 422, "invalid-value", "warranties.over_18"),
        ({"rulebook": "unheard-of"}, 404, "unknown-rulebook", "rulebook"),
        ({"is_admin": True}, 422, "unknown-field", "is_admin"),
    ],
    ids=str,
)
def test_a_registration_that_is_not_what_it_must_be_is_refused(
    room: Room, changes: dict[str, Any], status: int, code: str, field: str
) -> None:
    answer = room.post("/v1/players", registration(**changes), role="cashier")
    refused(answer, status, code, field=field)


@pytest.mark.parametrize("warranty", WARRANTIES)
def test_a_registration_without_a_warranty_is_refused_with_the_one_that_fails(
    room: Room, warranty: str
) -> None:
    for warranties in (
        {**WARRANTIES, warranty: False},
        {name: True for name in WARRANTIES if name != warranty},
    ):
        body = registration("Unwarranted", warranties=warranties)
        refused(
            room.post("/v1/players", body, role="cashier"),
            403,
            "warranty-missing",
            field=f"warranties.{warranty}",
            warranty=warranty,
        )


@pytest.mark.parametrize("field", ["partner", "nickname", "identity_reference", "warranties"])
def test_a_registration_that_lacks_a_field_is_refused(room: Room, field: str) -> None:
    body = registration("Incomplete")
    del body[field]
    refused(room.post("/v1/players", body, role="cashier"), 422, "missing-field", field=field)


def test_one_person_has_one_account_and_one_nickname_one_player(room: Room) -> None:
    room.registered("Twofold")
    body = registration("Twofold-2", identity_reference="person-Twofold")
    refused(room.post("/v1/players", body, role="cashier"), 409, "person-already-registered")
    body = registration("tWOFOLD", identity_reference="somebody-else")
    refused(room.post("/v1/players", body, role="cashier"), 409, "nickname-taken")


def test_a_nickname_is_changed_and_the_old_one_becomes_free(room: Room) -> None:
    player = room.registered("Formerly")
    answer = room.post(f"/v1/players/{player}/nickname", {"nickname": "Latterly"}, role="support")
    Standing.model_validate(answer.json())
    assert room.get(f"/v1/players/{player}", role="support").json()["nickname"] == "Latterly"
    refused(room.get("/v1/players", role="support", nickname="Formerly"), 404, "unknown-player")


def test_terms_are_accepted_by_version(room: Room) -> None:
    player = room.registered("Termed")
    body = {"document": "terms", "version": "2013-01", "language": "EN"}
    answer = room.post(f"/v1/players/{player}/terms", body, role="cashier")
    assert answer.status_code == 201
    assert Accepted.model_validate(answer.json()).language == "en"
    again = room.post(f"/v1/players/{player}/terms", body, role="cashier")
    refused(again, 409, "terms-already-accepted", retry="never")
    found = PlayerAnswer.model_validate(room.get(f"/v1/players/{player}", role="support").json())
    assert [(one.document, one.version) for one in found.terms] == [("terms", "2013-01")]


def test_a_player_is_suspended_reinstated_and_closed(room: Room) -> None:
    player = room.registered("Upanddown")
    path = f"/v1/players/{player}"
    body = {"ground": "collusion", "reason": "Chip dumping."}
    suspended = room.post(f"{path}/suspend", body, role="compliance")
    assert Standing.model_validate(suspended.json()).status == "suspended"
    reinstated = room.post(f"{path}/reinstate", {"reason": "Cleared."}, role="compliance")
    assert reinstated.json()["status"] == "active"
    closed = room.post(f"{path}/close", {"reason": "At his wish."}, role="compliance")
    assert closed.json()["status"] == "closed"
    again = room.post(f"{path}/suspend", body, role="compliance")
    refused(again, 409, "player-closed", retry="never")


@pytest.mark.parametrize(
    "path", ["nickname", "terms", "suspend", "reinstate", "close"], ids=lambda p: p
)
def test_what_is_asked_of_an_unknown_player_is_refused(room: Room, path: str) -> None:
    bodies: dict[str, dict[str, Any]] = {
        "nickname": {"nickname": "Nobody"},
        "terms": {"document": "terms", "version": "1", "language": "en"},
        "suspend": {"ground": "fraud", "reason": "Why."},
    }
    role = "cashier" if path in ("nickname", "terms") else "compliance"
    body = bodies.get(path, {"reason": "Why."})
    answer = room.post(f"/v1/players/{UNKNOWN}/{path}", body, role=role)
    refused(answer, 404, "unknown-player", field="player")


@pytest.mark.parametrize("player", ["1", "me", UNKNOWN + "0", "%00", "' or 1=1"])
def test_an_id_that_is_no_players_id_is_refused(room: Room, player: str) -> None:
    refused(room.get(f"/v1/players/{player}", role="support"), 422, "invalid-value", field="player")


def test_another_partners_player_looks_like_nobody(room: Room) -> None:
    theirs = room.registered("Theirs", partner="another")
    ours = room.registered("Ours")
    mine = {"role": "partner", "partner": "kerching"}
    assert room.get(f"/v1/players/{ours}", **mine).status_code == 200
    seen = refused(room.get(f"/v1/players/{theirs}", **mine), 404, "not-your-player")
    unseen = refused(room.get(f"/v1/players/{UNKNOWN}", **mine), 404, "not-your-player")
    assert seen["detail"] == unseen["detail"]
    refused(room.get("/v1/players", nickname="Theirs", **mine), 404, "not-your-player")
    answer = room.post(f"/v1/players/{theirs}/nickname", {"nickname": "Mine-now"}, **mine)
    refused(answer, 404, "not-your-player")
    body = {"document": "terms", "version": "9", "language": "en"}
    refused(room.post(f"/v1/players/{theirs}/terms", body, **mine), 404, "not-your-player")


def test_a_partner_registers_only_under_its_own_name(room: Room) -> None:
    mine = {"role": "partner", "partner": "kerching"}
    answer = room.post("/v1/players", registration("Smuggled", partner="another"), **mine)
    refused(answer, 403, "not-your-partner", field="partner")
    assert room.post("/v1/players", registration("Proper"), **mine).status_code == 201


def test_a_token_of_another_network_finds_nobody(room: Room) -> None:
    player = room.registered("Local")
    body = {"nickname": "Elsewhere"}
    answer = room.post(
        f"/v1/players/{player}/nickname", body, role="cashier", network="another-network"
    )
    refused(answer, 404, "unknown-player")
