"""Protest windows over HTTP: what closes when, for whom, and who may ask."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from api.protest_windows import WindowsAnswer
from tests.api.conftest import Room, refused, serving
from tests.api.test_hands import Game

PATH = "/v1/protest-windows"
CLOSES = "2013-05-31T22:00:00Z"
"""Of what was played on 1 May 2013 in Malta's afternoon."""
IN_MAY = {"closing_from": "2013-05-31T00:00:00Z", "closing_before": "2013-06-01T00:00:00Z"}


@pytest.fixture(scope="module")
def played(module_dsn: str) -> Iterator[Room]:
    """Serve a room where two players of two partners played three hands."""
    with serving(module_dsn) as room:
        game = Game(room)
        room.game = game  # type: ignore[attr-defined]
        for _ in range(3):
            assert room.hand(game.hand()).status_code == 201
            game.booked()
        room.project()
        yield room


def game_of(room: Room) -> Game:
    game: Game = room.game  # type: ignore[attr-defined]
    return game


def windows(room: Room, **query: Any) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {room.token('support')}"}
    answer = room.http.get(PATH, headers=headers, params=query)
    assert answer.status_code == 200, answer.text
    model: type[BaseModel] = WindowsAnswer
    model.model_validate(answer.json())
    found: dict[str, Any] = answer.json()
    return found


def test_a_players_transactions_are_listed_newest_first_with_their_windows(played: Room) -> None:
    player = game_of(played).players[0]
    found = windows(played, player=player, at="2013-05-20T12:00:00Z")
    rows = found["protest_windows"]
    assert [row["event"].split(".")[1] for row in rows] == [
        *("staked", "staked", "staked", "bought_in", "deposited"),
    ]
    assert found["at_stake"] is None
    hand = rows[0]
    assert (hand["closes_at"], hand["state"], hand["rulebook"]) == (
        CLOSES,
        "open",
        "entraction@2013-01-01",
    )
    assert (hand["gross"], hand["net"], hand["name"]) == ("0.50", "0.50", game_of(played).names[0])
    assert hand["transaction"].endswith(hand["hand"])
    assert hand["links"]["hand"] == f"/v1/hands/{hand['hand']}"
    # Bought in and paid in today: for whoever asks as of May that is yet to come.
    assert [row["state"] for row in rows[3:]] == ["not-yet", "not-yet"]
    assert (rows[3]["gross"], rows[3]["net"]) == ("20.00", "0.00")
    assert (rows[4]["gross"], rows[4]["net"]) == ("0.00", "-50.00")


@pytest.mark.parametrize(
    ("at", "state"),
    [
        ("2013-05-01T20:14:59Z", "not-yet"),
        ("2013-05-31T21:59:59Z", "open"),
        (CLOSES, "closed"),
        ("2013-06-01T00:00:00%2B02:00", "closed"),
    ],
)
def test_a_window_is_open_as_of_any_instant(played: Room, at: str, state: str) -> None:
    query = f"player={game_of(played).players[1]}&at={at}"
    answer = played.get(f"{PATH}?{query}", role="support")
    assert {row["state"] for row in answer.json()["protest_windows"] if row["hand"]} == {state}
    kept = played.get(f"{PATH}?{query}&state={state}", role="support").json()["protest_windows"]
    assert {row["state"] for row in kept} == {state}


def test_what_closes_in_a_range_comes_with_what_is_at_stake(played: Room) -> None:
    found = windows(played, **IN_MAY)
    rows = found["protest_windows"]
    assert len(rows) == 6
    assert {row["closes_at"] for row in rows} == {CLOSES}
    # Of each hand the room keeps 0.05.
    gross = sum(row["gross_minor"] for row in rows)
    assert found["at_stake"] == [
        {
            "currency": "EUR",
            "gross_minor": gross,
            "gross": f"{gross / 100:.2f}",
            "net_minor": 15,
            "net": "0.15",
        }
    ]
    own = windows(played, partner="kerching", **IN_MAY)
    assert {row["partner"] for row in own["protest_windows"]} == {"kerching"}
    assert own["at_stake"][0]["net_minor"] == 150


def test_days_are_counted_from_the_instant_asked_for(played: Room) -> None:
    def rows(at: str, days: int) -> int:
        query = {"at": at, "closing_within_days": days}
        return len(windows(played, **query)["protest_windows"])

    assert rows("2013-05-29T00:00:00Z", 2) == 0
    assert rows("2013-05-29T00:00:00Z", 3) == 6
    assert rows(CLOSES, 1) == 6
    assert rows("2013-05-31T22:00:01Z", 366) == 0
    # Unless asked for otherwise: three days from now. Paid in today, it closes in thirty.
    assert windows(played)["protest_windows"] == []
    assert len(windows(played, closing_within_days=32)["protest_windows"]) == 4


@pytest.mark.parametrize(
    "asked", [IN_MAY, {"at": CLOSES, "closing_within_days": 3}, {"closing_within_days": 40}]
)
def test_pages_lead_through_everything_once(played: Room, asked: dict[str, Any]) -> None:
    whole = windows(played, **asked)["protest_windows"]
    assert len(whole) > 3
    paged: list[Any] = []
    query: dict[str, Any] = {"limit": 1, **asked}
    while True:
        found = windows(played, **query)
        paged += found["protest_windows"]
        if found["cursor"] is None:
            break
        query["cursor"] = found["cursor"]
        assert found["protest_windows"]
    assert paged == whole


def test_an_earlier_position_knows_of_fewer_transactions(played: Room) -> None:
    whole = windows(played, **IN_MAY)["protest_windows"]
    position = whole[-1]["first_position"]
    earlier = windows(played, position=whole[1]["last_position"], **IN_MAY)
    assert earlier["as_of"]["position"] < position
    assert [row["first_position"] for row in earlier["protest_windows"]] == [
        row["first_position"] for row in whole[:2]
    ]


def test_a_sheet_has_all_windows(played: Room) -> None:
    headers = {"Authorization": f"Bearer {played.token('auditor')}", "Accept": "text/csv"}
    answer = played.http.get(PATH, headers=headers, params=IN_MAY)
    lines = answer.text.splitlines()
    assert lines[0].startswith("network,player,partner,transaction")
    assert lines[-1].startswith("#end,rows=6")
    assert all(CLOSES in line for line in lines[1:-1])


def test_a_partner_sees_only_its_own_players_windows(played: Room) -> None:
    mine = {"role": "partner", "partner": "kerching"}
    ours, theirs = game_of(played).players
    token = {"Authorization": f"Bearer {played.token(**mine)}"}  # type: ignore[arg-type]
    answer = played.http.get(PATH, headers=token, params=IN_MAY)
    assert {row["player"] for row in answer.json()["protest_windows"]} == {ours}
    assert theirs not in answer.text
    assert answer.json()["at_stake"][0]["gross_minor"] == 150
    assert played.get(PATH, **mine, player=ours).status_code == 200
    refused(played.get(PATH, **mine, player=theirs), 404, "not-your-player")
    answer = played.http.get(PATH, headers=token, params={"partner": "another"})
    refused(answer, 403, "not-your-partner")


def test_what_staff_reads_of_a_player_is_written_down(played: Room) -> None:
    player = game_of(played).players[0]
    windows(played, player=player)
    windows(played, partner="kerching", **IN_MAY)
    read = played.sql("SELECT what, subject, actor FROM audit.reads ORDER BY read_at DESC LIMIT 2")
    assert read == [
        ("protest-windows", "protest-windows:entraction:kerching", "support-1"),
        ("protest-windows", f"player:entraction:{player}", "support-1"),
    ]


BEYOND = (datetime.max.replace(tzinfo=UTC) - timedelta(days=1)).isoformat()


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ({"closing_within_days": 0}, "invalid-value", "closing_within_days"),
        ({"closing_within_days": 367}, "invalid-value", "closing_within_days"),
        ({"closing_within_days": 3, **IN_MAY}, "invalid-value", "closing_within_days"),
        ({"closing_from": CLOSES}, "missing-field", "closing_before"),
        ({"closing_before": CLOSES}, "missing-field", "closing_from"),
        ({**IN_MAY, "closing_before": "2015-01-01T00:00:00Z"}, "invalid-value", "closing_before"),
        ({"at": BEYOND}, "invalid-value", "at"),
        ({"at": "2013-05-01"}, "invalid-value", "at"),
        ({"state": "half-open"}, "invalid-value", "state"),
        ({"player": "nobody"}, "invalid-value", "player"),
        ({"cursor": "eyJhIjoxfQ"}, "invalid-cursor", "cursor"),
    ],
)
def test_a_query_that_cannot_be_is_refused(
    played: Room, query: dict[str, Any], code: str, field: str
) -> None:
    refused(played.get(PATH, role="support", **query), 422, code, field=field)


def test_a_player_of_another_partner_than_asked_for_is_refused(played: Room) -> None:
    ours = game_of(played).players[0]
    headers = {"Authorization": f"Bearer {played.token('support')}"}
    answer = played.http.get(PATH, headers=headers, params={"player": ours, "partner": "another"})
    refused(answer, 422, "invalid-value", field="partner")
    unknown = "3b1f6c1e-6d0f-4f0e-9a57-0c5f6f0b7a11"
    refused(played.get(PATH, role="support", player=unknown), 404, "unknown-player")
