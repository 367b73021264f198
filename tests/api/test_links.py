"""From any figure down to the posted hand: every link of every answer leads somewhere it should."""

from collections.abc import Iterator
from typing import Any

import pytest

from api import links
from ledger.hands.events import hand_stream
from tests.api.conftest import Room, serving
from tests.api.test_hands import Game


@pytest.fixture(scope="module")
def played(module_dsn: str) -> Iterator[Room]:
    """Serve a room where hands were played, one lost, and chips corrected for it."""
    with serving(module_dsn) as room:
        game = Game(room)
        room.game = game  # type: ignore[attr-defined]
        for changes in ({}, {"game_number": "GRAND/PRIX 7"}):
            assert room.hand(game.hand(**changes)).status_code == 201
            game.booked()
        flagged = game.hand()
        flagged["ohh"]["pots"][0].update(
            rake=0.10, player_wins=[{"player_id": 2, "win_amount": 0.90}]
        )
        assert room.hand(flagged).status_code == 201
        withdrawal = {
            "player": game.players[0],
            "instrument": "tok_1",
            "currency": "EUR",
            "amount_minor": 700,
        }
        assert room.post("/v1/withdrawals", withdrawal, role="cashier").status_code == 201
        table = room.get(f"/v1/tables/{game.table}", role="game-server").json()
        chips = {str(seat["seat"]): seat["chips_minor"] for seat in table["seats"]}
        chips["1"] += 30
        lost = {
            "chips_minor": chips,
            "ground": "technical-failure",
            "reason": "A hand was lost.",
            "game_number": "LOST 9",
        }
        answer = room.post(f"/v1/tables/{game.table}/resync", lost, role="operator")
        assert answer.status_code == 202, answer.text
        granted = room.post(f"/v1/approvals/{answer.json()['approval']}/grant", {}, role="approver")
        assert granted.status_code == 200, granted.text
        room.project()
        yield room


def game_of(room: Room) -> Game:
    game: Game = room.game  # type: ignore[attr-defined]
    return game


STARTS = [
    "/v1/client-funds",
    "/v1/trial-balance",
    "/v1/accounts",
    "/v1/jackpots",
    "/v1/findings",
    "/v1/bankrolls",
    "/v1/player-register",
    "/v1/deposits",
    "/v1/withdrawals",
    "/v1/tables",
    "/v1/hands",
    "/v1/comparison",
    "/v1/tables/{table}/days?first=2013-05-01&last=2013-05-02",
    "/v1/statements/partners/kerching",
]

NOT_FOR_ALL = ("missing-scope", "missing-field", "not-your-partner")
"""Why a list that nobody linked to may be refused."""


def links_in(answer: Any) -> Iterator[tuple[str, str]]:
    """Return every link of an answer with its name."""
    if isinstance(answer, dict):
        for key, value in answer.items():
            if key == "links":
                yield from value.items()
            else:
                yield from links_in(value)
    elif isinstance(answer, list):
        for item in answer:
            yield from links_in(item)


@pytest.mark.parametrize(
    ("role", "partner"),
    [("auditor", None), ("support", None), ("partner", "kerching")],
)
def test_every_link_can_be_followed_by_whom_it_was_given_to(
    played: Room, role: str, partner: str | None
) -> None:
    """Follow all links from all starts, and theirs, until there is nothing new."""
    game = game_of(played)
    starts = [start.format(table=game.table.replace(" ", "%20")) for start in STARTS]
    starts += [f"/v1/deposits?player={game.players[0]}", f"/v1/players/{game.players[0]}"]
    waiting, seen = [*starts], {*starts}
    kinds = set()
    while waiting:
        url = waiting.pop()
        answer = played.get(url, role=role, partner=partner)
        if url in starts and answer.json().get("code") in NOT_FOR_ALL:
            continue
        assert answer.status_code == 200, f"{url}: {answer.text}"
        for name, found in links_in(answer.json()):
            kinds.add(name)
            if found not in seen:
                seen.add(found)
                waiting.append(found)
        assert len(seen) < 2_000
    assert {"player", "statement", "hand", "table"} <= kinds


def test_a_hand_that_was_lost_or_still_runs_is_not_linked(played: Room) -> None:
    game = game_of(played)
    path = f"/v1/tables/{game.table}"
    table = played.get(path, role="auditor").json()
    assert table["last_hand"] == "LOST 9"
    [listed] = played.get("/v1/tables", role="auditor").json()["tables"]
    resynced = played.get(listed["links"]["last_event"], role="auditor").json()
    assert resynced["fields"]["game_number"] == "LOST 9"
    begun = played.post(f"{path}/hands/RUNS%2010/begin", {}, role="game-server").json()
    running = played.get(f"/v1/events/{begun['position']}", role="auditor").json()
    assert running["fields"]["game_number"] == "RUNS 10"
    for answer in (table, listed, resynced, running):
        assert {"hand", "last_hand"}.isdisjoint(answer["links"])


def test_a_figure_is_the_sum_of_the_entries_that_it_leads_to(played: Room) -> None:
    [funds] = played.get("/v1/client-funds", role="auditor").json()["currencies"]
    assert set(funds["links"]) == {
        *("bankroll", "frozen", "withdrawal", "chips", "pot", "jackpot"),
        *("bank", "transit", "debt"),
    }
    for figure, url in funds["links"].items():
        entries = played.get(f"{url}&limit=500", role="auditor").json()["entries"]
        total = sum(entry["debit_minor"] - entry["credit_minor"] for entry in entries)
        assert abs(total) == funds[f"{figure}_minor"]
    player = game_of(played).players[0]
    [purse] = played.get(f"/v1/players/{player}/bankroll", role="auditor").json()["purses"]
    for figure in ("cash", "frozen", "pending", "chips", "debt"):
        entries = played.get(f"{purse['links'][figure]}&limit=500", role="auditor").json()
        total = sum(entry["credit_minor"] - entry["debit_minor"] for entry in entries["entries"])
        assert total == purse[f"{figure}_minor"]


def test_a_figure_of_the_past_leads_to_its_entries_of_then(played: Room) -> None:
    position = played.sql("SELECT position FROM book.generation")[0][0] - 10
    answer = played.get("/v1/client-funds", role="auditor", position=position).json()
    [funds] = answer["currencies"]
    entries = played.get(f"{funds['links']['chips']}&limit=500", role="auditor").json()["entries"]
    total = sum(entry["credit_minor"] - entry["debit_minor"] for entry in entries)
    assert total == funds["chips_minor"]
    assert max(entry["position"] for entry in entries) <= position


def test_from_the_rake_to_the_hand_in_words_and_as_posted(played: Room) -> None:
    rows = played.get("/v1/accounts", role="auditor").json()["accounts"]
    [rake] = [row for row in rows if row["account"] == "rake:entraction:kerching"]
    entries = played.get(rake["links"]["entries"], role="auditor").json()["entries"]
    for entry in entries:
        event = played.get(entry["links"]["event"], role="auditor").json()
        assert event["event"] == "hand.raked.v1"
        hand = played.get(event["links"]["hand"], role="auditor").json()
        assert hand["game_number"] == entry["hand"]
        assert any(text["text"].startswith("The rake was") for text in hand["events"])
        assert hand["record"]["ohh"]["game_number"] == entry["hand"]
        table = played.get(hand["links"]["table"], role="auditor").json()
        assert table["table"] == game_of(played).table
        statement = played.get(hand["players"][0]["links"]["statement"], role="auditor").json()
        assert entry["position"] in {
            line["position"] for line in statement["lines"] if line["hand"] == entry["hand"]
        } | {entry["position"]}
    assert "GRAND/PRIX 7" in {entry["hand"] for entry in entries}


def test_entries_are_found_by_ground_and_amount(played: Room) -> None:
    def found(**query: Any) -> list[dict[str, Any]]:
        answer = played.get("/v1/entries", role="auditor", limit=500, **query)
        assert answer.status_code == 200, answer.text
        entries: list[dict[str, Any]] = answer.json()["entries"]
        return entries

    corrected = found(ground="technical-failure")
    assert [entry["event"] for entry in corrected] == ["player.chips_corrected.v1"] * 2
    assert {entry["component"] for entry in corrected} == {"suspense", "chips"}
    assert found(ground="force-majeure") == []
    assert found(ground="technical-failure", component="suspense") == [corrected[0]] or (
        found(ground="technical-failure", component="suspense") == [corrected[1]]
    )
    assert found(ground="technical-failure", event="hand.raked.v1") == []
    amounts = [entry["debit_minor"] + entry["credit_minor"] for entry in found()]
    for least, most in ((30, 30), (700, None), (None, 5), (51, 1999)):
        query = {name: value for name, value in (("least_minor", least), ("most_minor", most))
                 if value is not None}  # fmt: skip
        kept = [entry["debit_minor"] + entry["credit_minor"] for entry in found(**query)]
        assert kept == [a for a in amounts if (least or 0) <= a <= (most or 10**9)]
        assert kept


def test_entries_are_found_by_when_they_were_recorded(played: Room) -> None:
    whole = played.get("/v1/entries", role="auditor", limit=500).json()["entries"]
    moment = sorted({entry["recorded_at"] for entry in whole})[3]
    for name, kept in (
        ("recorded_from", [e for e in whole if e["recorded_at"] >= moment]),
        ("recorded_before", [e for e in whole if e["recorded_at"] < moment]),
    ):
        answer = played.get("/v1/entries", role="auditor", limit=500, **{name: moment})
        keys = [(entry["position"], entry["line"]) for entry in answer.json()["entries"]]
        assert keys == [(entry["position"], entry["line"]) for entry in kept]
        assert keys


@pytest.mark.parametrize(
    ("number", "request_id", "expected"),
    [
        ("8100301", "hand:8100301", "8100301"),
        ("8100301", "import:entraction:hand:8100301", "8100301"),
        ("007", "hand:007", "007"),
        ("GRAND/PRIX", "hand:GRAND/PRIX", "GRAND/PRIX"),
        ("GRAND/PRIX", "import:entraction:hand:1", None),
    ],
)
def test_the_number_of_a_hand_is_read_from_its_stream_or_its_request(
    number: str, request_id: str, expected: str | None
) -> None:
    stream = hand_stream("entraction", number)
    assert links.game_number_of(stream, request_id) == expected
    assert links.game_number_of("player:entraction:1", request_id) is None
