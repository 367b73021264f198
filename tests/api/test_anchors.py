"""The digests of now, for whoever notes them outside."""

from projections import anchors
from projections.check.books import check
from tests.api.conftest import Room, refused


def test_the_digests_of_now_hold_against_the_book(room: Room) -> None:
    room.registered("Anchored")
    answer = room.get("/v1/anchors", role="auditor")
    assert answer.status_code == 200, answer.text
    found = answer.json()["anchors"]
    assert [one["chain"] for one in found] == ["events", "seals"]
    assert found[0]["number"] == answer.json()["position"]
    room.registered("Later")
    room.project()
    noted = [anchor for one in found for anchor in anchors.parse(one["anchor"])]
    report = check(room.dsn, against=noted)
    assert report.clean
    assert report.anchors == 2


def test_digests_are_for_those_who_read_the_books(room: Room) -> None:
    refused(room.get("/v1/anchors", role="game-server"), 403, "missing-scope")
