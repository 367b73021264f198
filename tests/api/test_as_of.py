"""The books as of any instant: an answer that was given once is given again, whatever follows."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import pytest

from tests.api.conftest import Room, refused, serving
from tests.api.test_hands import Game

PATHS = [
    ("/v1/client-funds", "auditor"),
    ("/v1/trial-balance", "auditor"),
    ("/v1/accounts", "auditor"),
    ("/v1/jackpots", "support"),
    ("/v1/entries", "auditor"),
    ("/v1/findings", "compliance"),
    ("/v1/bankrolls", "support"),
    ("/v1/player-register", "support"),
    ("/v1/deposits", "support"),
    ("/v1/withdrawals", "support"),
    ("/v1/tables", "game-server"),
    ("/v1/hands", "game-server"),
    ("/v1/hands?table={table}", "game-server"),
    ("/v1/players/{player}/bankroll", "support"),
    ("/v1/players/{player}", "support"),
    ("/v1/players?nickname={nickname}", "support"),
    ("/v1/deposits/{deposit}", "support"),
    ("/v1/tables/{table}", "game-server"),
    ("/v1/statements/players/{player}", "support"),
    ("/v1/statements/partners/kerching", "support"),
    ("/v1/statements/tables/{table}", "auditor"),
    ("/v1/statements/providers/cardpay", "auditor"),
    ("/v1/statements/accounts/rake:entraction:kerching", "auditor"),
]
OF_STATES = (
    *("/v1/player-register", "/v1/deposits", "/v1/withdrawals", "/v1/tables", "/v1/hands"),
    *("/v1/players/{player}", "/v1/deposits/{deposit}", "/v1/tables/{table}"),
)


class Past(NamedTuple):
    """A room with answers that were given in the middle of its day."""

    room: Room
    names: dict[str, str]
    position: int
    recorded_at: str
    answers: dict[str, Any]

    def get(self, path: str, role: str, **query: Any) -> Any:
        path, _, given = path.format(**self.names).partition("?")
        return self.room.get(path, role=role, **dict(parse_qsl(given)), **query)


@pytest.fixture(scope="module")
def past(module_dsn: str) -> Iterator[Past]:
    """Serve a room, note its answers, and let it play, pay and rename on."""
    with serving(module_dsn) as room:
        game = Game(room)
        for _ in range(3):
            assert room.hand(game.hand()).status_code == 201
            game.booked()
        names = {"table": game.table, "player": game.players[0], "nickname": game.names[0]}
        position = room.project()
        [[recorded_at]] = room.sql(
            "SELECT recorded_at FROM journal.commits WHERE last_position = %s", position
        )
        deposits = room.get("/v1/deposits", role="support", player=names["player"]).json()
        names["deposit"] = deposits["deposits"][0]["deposit"]
        instant = recorded_at.astimezone(UTC).isoformat().replace("+00:00", "Z")
        past = Past(room, names, position, instant, {})
        for path, role in PATHS:
            past.answers[path] = past.get(path, role, position=position).json()
        _go_on(room, game, names)
        room.project()
        yield past


def _go_on(room: Room, game: Game, names: dict[str, str]) -> None:
    for _ in range(2):
        assert room.hand(game.hand()).status_code == 201
        game.booked()
    other = Game(room)
    assert room.hand(other.hand(start_date_utc="2012-01-01T10:00:00Z")).status_code == 201
    reason = {"reason": "The card was stolen."}
    path = f"/v1/deposits/{names['deposit']}/charge-back"
    assert room.post(path, reason, role="cashier").status_code == 200
    left = room.post(f"/v1/tables/{game.table}/leave", {"player": names["player"]},
                     role="game-server")  # fmt: skip
    assert left.status_code == 200, left.text
    renamed = room.post(
        f"/v1/players/{names['player']}/nickname", {"nickname": "Somebody else"}, role="cashier"
    )
    assert renamed.status_code == 200, renamed.text


def without_names(answer: Any) -> Any:
    """Leave out nicknames: they are those that the players bear now."""
    if isinstance(answer, dict):
        return {
            key: without_names(value)
            for key, value in answer.items()
            if key not in ("nickname", "name", "as_of")
        }
    if isinstance(answer, list):
        return [without_names(item) for item in answer]
    return answer


@pytest.mark.parametrize(("path", "role"), PATHS)
def test_an_answer_of_a_position_never_changes(past: Past, path: str, role: str) -> None:
    answer = past.get(path, role, position=past.position)
    assert answer.status_code == 200, answer.text
    then = past.answers[path]
    assert without_names(answer.json()) == without_names(then)
    told = {"position": past.position, "recorded_at": None, "occurred_at": None, "clamped": False}
    assert answer.json()["as_of"] == told
    assert without_names(past.get(path, role).json()) != without_names(then)


@pytest.mark.parametrize(("path", "role"), PATHS)
def test_a_recorded_time_is_a_position(past: Past, path: str, role: str) -> None:
    answer = past.get(path, role, recorded_at=past.recorded_at).json()
    assert without_names(answer) == without_names(past.answers[path])
    assert answer["as_of"]["recorded_at"] == past.recorded_at
    assert answer["as_of"]["position"] == past.position


@pytest.mark.parametrize(("path", "role"), [found for found in PATHS if "nickname" not in found[0]])
def test_more_than_the_book_has_is_answered_at_its_end_and_said(
    past: Past, path: str, role: str
) -> None:
    now = past.get(path, role).json()
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    for query in ({"position": 10**12}, {"recorded_at": tomorrow}):
        answer = past.get(path, role, **query).json()
        assert answer.pop("as_of")["clamped"] is True
        assert answer == now
    assert "as_of" not in now


@pytest.mark.parametrize("component", ["chips", "rake"])
def test_what_had_happened_is_known_whenever_it_was_recorded(past: Past, component: str) -> None:
    """The hand of 2012 was recorded last: it had happened before all that was recorded earlier."""

    def of(**query: Any) -> dict[str, int]:
        rows = past.get("/v1/trial-balance", "auditor", **query).json()["components"]
        return {row["component"]: row["debit_minor"] + row["credit_minor"] for row in rows}

    happened = of(occurred_at="2012-12-31T00:00:00Z")
    entries = past.get(
        "/v1/entries", "auditor", occurred_at="2012-12-31T00:00:00Z", limit=500
    ).json()["entries"]
    assert {entry["occurred_at"][:4] for entry in entries} == {"2012"}
    assert happened[component] == sum(
        entry["debit_minor"] + entry["credit_minor"]
        for entry in entries
        if entry["component"] == component
    )
    both = {"occurred_at": "2012-12-31T00:00:00Z", "position": past.position}
    assert of(**both) == {}


@pytest.mark.parametrize("path", OF_STATES)
def test_what_a_stream_had_become_is_not_asked_by_what_happened(past: Past, path: str) -> None:
    answer = past.get(path, "support", occurred_at="2013-05-01T00:00:00Z")
    refused(answer, 422, "as-of-not-kept", field="occurred_at", retry="after-fix")


@pytest.mark.parametrize(
    "query",
    [
        {"position": 5},
        {"recorded_at": "2013-05-01T00:00:00Z"},
        {"occurred_at": "2013-05-01T00:00:00Z"},
    ],
)
def test_days_of_a_table_are_refused_as_of_another_instant(
    past: Past, query: dict[str, Any]
) -> None:
    days = {"first": "2013-05-01", "last": "2013-05-02"}
    answer = past.get("/v1/tables/{table}/days", "auditor", **days, **query)
    refused(answer, 422, "as-of-not-kept", field=next(iter(query)))


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"position": -1}, "position"),
        ({"position": "last"}, "position"),
        ({"position": 10**30}, "position"),
        ({"recorded_at": "2013-05-01T00:00:00"}, "recorded_at"),
        ({"recorded_at": "2013-05-01"}, "recorded_at"),
        ({"occurred_at": "yesterday"}, "occurred_at"),
        ({"occurred_at": "0001-01-01T00:00:00+01:00"}, "occurred_at"),
        ({"position": 5, "recorded_at": "2013-05-01T00:00:00Z"}, "recorded_at"),
    ],
)
def test_an_instant_that_is_none_is_refused(past: Past, query: dict[str, Any], field: str) -> None:
    for path in ("/v1/client-funds", "/v1/entries", "/v1/players/{player}"):
        refused(past.get(path, "auditor", **query), 422, "invalid-value", field=field)


@pytest.mark.parametrize("instant", ["9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z"])
def test_the_ends_of_the_calendar_are_instants_too(past: Past, instant: str) -> None:
    for path in ("/v1/client-funds", "/v1/entries", "/v1/bankrolls"):
        answer = past.get(path, "auditor", occurred_at=instant)
        assert answer.status_code == 200, answer.text
        assert past.get(path, "auditor", recorded_at=instant).status_code == 200


def test_before_anything_was_recorded_the_books_are_empty(past: Past) -> None:
    for query in ({"position": 0}, {"recorded_at": "2001-01-01T00:00:00Z"}):
        assert past.get("/v1/entries", "auditor", **query).json()["entries"] == []
        assert past.get("/v1/client-funds", "auditor", **query).json()["currencies"] == []
        assert past.get("/v1/tables", "auditor", **query).json()["tables"] == []
        refused(past.get("/v1/tables/{table}", "auditor", **query), 404, "unknown-table")
        refused(past.get("/v1/players/{player}", "support", **query), 404, "unknown-player")
        refused(past.get("/v1/deposits/{deposit}", "support", **query), 404, "unknown-deposit")


def test_who_bore_a_nickname_then_is_found_by_it(past: Past) -> None:
    refused(past.get("/v1/players?nickname={nickname}", "support"), 404, "unknown-player")
    then = past.get("/v1/players?nickname={nickname}", "support", position=past.position).json()
    assert then["player"] == past.names["player"]
    assert then["nickname"] == "Somebody else"


def test_a_table_had_the_chips_that_were_on_it_then(past: Past) -> None:
    now = past.get("/v1/tables/{table}", "game-server").json()
    then = past.get("/v1/tables/{table}", "game-server", position=past.position).json()
    assert [seat["chips_minor"] for seat in then["seats"]] == [1850, 2135]
    assert len(now["seats"]) == 1
    assert (then["hands"], now["hands"]) == (3, 5)


def test_a_status_is_asked_of_what_had_become(past: Past) -> None:
    of = {"role": "support", "player": past.names["player"]}

    def found(**query: Any) -> list[str]:
        deposits = past.room.get("/v1/deposits", **of, **query).json()["deposits"]
        return [deposit["status"] for deposit in deposits]

    assert found(status="confirmed") == []
    assert found(status="charged-back") == ["charged-back"]
    assert found(status="confirmed", position=past.position) == ["confirmed"]
    assert found(status="charged-back", position=past.position) == []


def test_lists_as_of_an_instant_are_paged_without_loss(past: Past) -> None:
    for path, name in (("/v1/player-register", "players"), ("/v1/bankrolls", "bankrolls"),
                       ("/v1/hands", "hands"), ("/v1/hands?table={table}", "hands")):  # fmt: skip
        whole = past.get(path, "support", position=past.position).json()[name]
        query: dict[str, Any] = {"position": past.position, "limit": 1}
        found = []
        for _ in range(20):
            page = past.get(path, "support", **query).json()
            found += page[name]
            if page["cursor"] is None:
                break
            query["cursor"] = page["cursor"]
        assert found == whole
        assert found
