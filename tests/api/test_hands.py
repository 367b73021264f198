"""Posting hands: one, many, again, wrong, too many; and reading them back."""

import copy
import gzip
import itertools
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from api.hand_records import HandAnswer, WaitingAnswer
from api.hand_schema import EXAMPLE
from tests.api.conftest import Room, refused, serving

numbers = itertools.count(500_001)
tables = itertools.count(1)


class Game:
    """A table of its own with two players, who play the same hand over and over."""

    def __init__(self, room: Room) -> None:
        number = next(tables)
        self.room = room
        self.table = room.opened(f"Table {number}")
        self.names = (f"Alice{number}", f"Bobby{number}")
        self.players = [
            room.funded(name, 5000, partner=partner)
            for name, partner in zip(self.names, ("kerching", "another"), strict=True)
        ]
        for seat, player in enumerate(self.players, 1):
            room.seated(self.table, player, seat)
        self.stacks = [2000, 2000]

    def hand(self, **changes: Any) -> dict[str, Any]:
        """Give the next hand, as if the ones before it were booked."""
        hand = copy.deepcopy(EXAMPLE)
        ohh = hand["ohh"]
        ohh.update(game_number=str(next(numbers)), table_name=self.table)
        for index, player in enumerate(ohh["players"]):
            player.update(name=self.names[index], starting_stack=self.stacks[index] / 100)
        ohh.update(changes)
        return hand

    def booked(self) -> None:
        """Count a booked hand in."""
        self.stacks = [self.stacks[0] - 50, self.stacks[1] + 45]


@pytest.fixture
def game(room: Room) -> Game:
    return Game(room)


def test_a_hand_is_booked_once_and_answered_the_same_again(room: Room, game: Game) -> None:
    hand = game.hand()
    first = room.hand(hand)
    assert first.status_code == 201
    assert first.json() == {
        "game_number": hand["ohh"]["game_number"],
        "status": "booked",
        "position": first.json()["position"],
        "rulebook": "entraction@2013-01-01",
        "verdict": "ok",
        "expected": {
            "pots": [
                {
                    "number": 0,
                    "amount": "1.00",
                    "wins": [{"player": game.names[1], "amount": "0.95", "half": None}],
                }
            ],
            "uncalled_returned": first.json()["expected"]["uncalled_returned"],
            "rake": "0.05",
            "jackpot": "0.00",
            "jackpot_contribution": "0.00",
            "bad_beat": None,
        },
        "findings": [],
    }
    # The same content: other key order, other spaces, 1.0 for 1.00.
    other = json.dumps({"ohh": dict(reversed(hand["ohh"].items()))}, indent=3)
    again = room.hand(other.replace("1.0,", "1.00,").encode())
    assert again.status_code == 200
    assert again.headers["idempotent-replay"] == "true"
    assert again.json() == {**first.json(), "status": "repeated"}
    assert "idempotent-replay" not in first.headers


def test_the_same_number_with_other_content_is_refused_with_what_differs(
    room: Room, game: Game
) -> None:
    hand = game.hand()
    assert room.hand(hand).status_code == 201
    other = copy.deepcopy(hand)
    other["ohh"]["pots"][0]["rake"] = 0.04
    other["ohh"]["pots"][0]["player_wins"][0]["win_amount"] = 0.96
    problem = refused(room.hand(other), 422, "different-content", retry="never")
    assert problem["differing"] == ["pots[0].rake", "pots[0].player_wins[0].win_amount"]
    table = room.get(f"/v1/tables/{game.table}", role="game-server").json()
    assert [seat["chips_minor"] for seat in table["seats"]] == [1950, 2045]


def test_a_batch_is_answered_per_hand_and_one_bad_hand_stops_no_other(
    room: Room, game: Game
) -> None:
    first = game.hand()
    game.booked()
    second = game.hand()
    unseated = game.hand()
    unseated["ohh"]["players"][0]["name"] = "Nobody at all"
    answer = room.hand([first, {"ohh": {"game_number": 5}}, unseated, second, first, "x"])
    assert answer.status_code == 200
    results = answer.json()["results"]
    assert [result["status"] for result in results] == [
        "booked",
        "refused",
        "refused",
        "booked",
        "repeated",
        "refused",
    ]
    assert [result.get("problem", {}).get("code") for result in results] == [
        None,
        "malformed",
        "unknown-player",
        None,
        None,
        "malformed",
    ]
    assert results[2]["problem"]["retry"] == "later"
    assert results[4]["position"] >= results[0]["position"]
    assert answer.json()["position"] == max(r["position"] or 0 for r in results)


def test_hands_may_be_posted_one_per_line(room: Room, game: Game) -> None:
    first = game.hand()
    game.booked()
    body = b"\n".join(json.dumps(hand).encode() for hand in (first, game.hand())) + b"\n\n"
    answer = room.hand(body, content_type="application/x-ndjson")
    assert [result["status"] for result in answer.json()["results"]] == ["booked", "booked"]


def test_one_line_of_ndjson_is_a_batch_of_one(room: Room, game: Game) -> None:
    answer = room.hand(json.dumps(game.hand()).encode(), content_type="application/x-ndjson")
    assert [result["status"] for result in answer.json()["results"]] == ["booked"]


def test_hands_of_one_table_are_booked_in_the_order_in_which_they_stand(
    room: Room, game: Game
) -> None:
    hands = []
    for _ in range(20):
        hands.append(game.hand())
        game.booked()
    answer = room.hand(hands)
    assert {result["status"] for result in answer.json()["results"]} == {"booked"}


BODIES = {
    "nothing": (b"", 422, "empty-batch"),
    "spaces": (b" \n ", 422, "empty-batch"),
    "an empty array": (b"[]", 422, "empty-batch"),
    "no json": (b"hello", 422, "malformed"),
    "half an object": (b'{"ohh": {"game_number": "1"', 422, "malformed"),
    "half an array": (b'[{"ohh": {}}', 422, "malformed"),
    "another object": (b'{"hand": {}}', 422, "malformed"),
    "null": (b"null", 422, "malformed"),
    "a number": (b"17", 422, "malformed"),
    "not utf-8": (b'{"ohh": {"game_number": "\xff\xfe"}}', 422, "malformed"),
    "deeply nested": (b'{"ohh":' * 5000 + b"}" * 5000, 422, "malformed"),
    "a deep array": (b"[" * 100_000, 422, "malformed"),
}


@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_is_no_hand_is_refused(room: Room, body: str) -> None:
    content, status, code = BODIES[body]
    refused(room.hand(content), status, code, retry="after-fix")


AMOUNTS = ["NaN", "Infinity", "-Infinity", "1e999999", '"0.50"', "true", "null", "[]", "0.505"]


@pytest.mark.parametrize("amount", AMOUNTS)
def test_what_is_no_amount_is_refused_where_it_stands(room: Room, game: Game, amount: str) -> None:
    text = json.dumps(game.hand(small_blind_amount=0.123)).replace("0.123", amount)
    if amount == "null":
        assert room.hand(text.encode()).json()["code"] == "unlike-table"
        return
    refused(room.hand(text.encode()), 422, "malformed", retry="after-fix")


@pytest.mark.parametrize(
    ("change", "code", "retry"),
    [
        (lambda ohh: ohh["pots"][0].update(amount=2.00), "money-not-conserved", "after-fix"),
        (lambda ohh: ohh["pots"][0].update(amount=-1.00), "negative-amount", "after-fix"),
        (lambda ohh: ohh["players"][0].update(name="Nobody here"), "unknown-player", "later"),
        (lambda ohh: ohh["players"][0].update(starting_stack=5), "wrong-starting-stack", "later"),
        (lambda ohh: ohh["players"][0].update(seat=2), "duplicate-player", "after-fix"),
        (lambda ohh: ohh["players"][0].update(id=2), "duplicate-player", "after-fix"),
        (lambda ohh: ohh.update(table_name="No such table"), "table-closed", "later"),
        (lambda ohh: ohh.update(currency="USD"), "currency-mismatch", "after-fix"),
        (lambda ohh: ohh.update(currency="ZZZ"), "malformed", "after-fix"),
        (lambda ohh: ohh.update(game_type="Omaha"), "unlike-table", "after-fix"),
        (lambda ohh: ohh.update(game_type="Snap"), "unknown-game", "after-fix"),
        (lambda ohh: ohh.update(bet_limit={"bet_type": "XL"}), "malformed", "after-fix"),
        (lambda ohh: ohh.update(start_date_utc="yesterday"), "malformed", "after-fix"),
        (lambda ohh: ohh.update(game_number=""), "malformed", "after-fix"),
        (lambda ohh: ohh.update(game_number="a\x00b"), "malformed", "after-fix"),
        (lambda ohh: ohh.update(game_number=17), "malformed", "after-fix"),
        (lambda ohh: ohh.update(players=[]), "malformed", "after-fix"),
    ],
)
def test_a_hand_that_cannot_be_true_is_refused_and_books_nothing(
    room: Room, game: Game, change: Any, code: str, retry: str
) -> None:
    hand = game.hand()
    change(hand["ohh"])
    answer = room.hand(hand)
    refused(answer, 422, code, retry=retry)
    assert answer.json()["field"]
    table = room.get(f"/v1/tables/{game.table}", role="game-server").json()
    assert [seat["chips_minor"] for seat in table["seats"]] == [2000, 2000]
    assert table["hands"] == 0


def test_a_flagged_hand_is_booked_and_says_what_was_expected(room: Room, game: Game) -> None:
    hand = game.hand()
    hand["ohh"]["pots"][0].update(rake=0.10, player_wins=[{"player_id": 2, "win_amount": 0.90}])
    answer = room.hand(hand)
    assert answer.status_code == 201
    result = answer.json()
    assert result["verdict"] == "flagged"
    assert [finding["code"] for finding in result["findings"]] == ["wrong-rake"]
    assert result["findings"][0]["expected"] == "0.05"
    assert result["expected"]["pots"][0]["wins"][0]["player"] == game.names[1]
    assert room.hand(hand).json() == {**result, "status": "repeated"}


def test_a_refused_hand_waits_until_the_books_allow_it(room: Room, game: Game) -> None:
    early = game.hand()
    game.booked()
    late = game.hand()
    refused(room.hand(late), 422, "wrong-starting-stack", retry="later")
    waiting = room.get("/v1/waiting-hands", role="game-server", table=game.table)
    answer = WaitingAnswer.model_validate(waiting.json())
    assert [hand.game_number for hand in answer.hands] == [late["ohh"]["game_number"]]
    assert room.hand(early).status_code == 201
    assert room.hand(late).status_code == 201
    waiting = room.get("/v1/waiting-hands", role="game-server", table=game.table)
    assert waiting.json()["hands"] == []
    read = room.get(f"/v1/hands/{late['ohh']['game_number']}", role="support").json()
    assert [one["code"] for one in read["refused_before"]] == ["wrong-starting-stack"]


def test_waiting_hands_are_listed_page_by_page(room: Room, game: Game) -> None:
    hands = [game.hand() for _ in range(5)]
    for hand in hands:
        hand["ohh"]["players"][0]["name"] = "Not yet registered"
        refused(room.hand(hand), 422, "unknown-player")
    seen: list[str] = []
    query: dict[str, Any] = {"table": game.table, "limit": 2}
    for _ in range(3):
        page = room.get("/v1/waiting-hands", role="operator", **query).json()
        seen += [hand["game_number"] for hand in page["hands"]]
        if page["cursor"] is not None:
            query["cursor"] = page["cursor"]
    assert page["cursor"] is None
    assert seen == [hand["ohh"]["game_number"] for hand in hands]
    query.update(table="another table")
    refused(room.get("/v1/waiting-hands", role="operator", **query), 422, "invalid-cursor")


def test_the_verdict_of_a_booking_is_that_of_its_dry_run(room: Room, game: Game) -> None:
    hand = game.hand()
    dry = room.hand(hand, query="?dry_run=true").json()
    booked, again = room.hand(hand).json(), room.hand(hand).json()
    for name in ("verdict", "expected", "findings"):
        assert dry[name] == booked[name] == again[name]
    assert booked["expected"]["jackpot_contribution"] != ""


def test_a_dry_run_judges_and_books_nothing(room: Room, game: Game) -> None:
    hand = game.hand()
    before = room.sql("SELECT count(*) FROM journal.events")
    answer = room.hand(hand, query="?dry_run=true")
    assert answer.status_code == 200
    verdict = answer.json()
    assert (verdict["status"], verdict["verdict"]) == ("judged", "ok")
    assert verdict["expected"]["rake"] == "0.05"
    assert room.sql("SELECT count(*) FROM journal.events") == before
    assert room.hand(hand).status_code == 201


def test_a_dry_run_may_name_rulebook_and_day(room: Room, game: Game) -> None:
    hand = game.hand(table_name="Not on the books")
    early = room.hand(hand, query="?dry_run=true&on=2010-05-01").json()
    posted = room.hand(hand, query="?dry_run=true&rulebook=as-posted").json()
    assert early["expected"]["rake"] == "0.05"
    assert (early["verdict"], posted["verdict"]) == ("ok", "ok")
    unknown = room.hand(hand, query="?dry_run=true&rulebook=unheard-of")
    refused(unknown, 404, "unknown-rulebook", field="rulebook")
    for name in ("\0", "../entraction", "x" * 64):
        named = game.hand(table_name="Not on the books", x_rulebook=name)
        refused(room.hand(named, query="?dry_run=true"), 404, "unknown-rulebook")


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("?dry_run=perhaps", "invalid-value", "dry_run"),
        ("?dry_run=", "invalid-value", "dry_run"),
        ("?rulebook=empire", "invalid-value", "rulebook"),
        ("?on=2013-01-01", "invalid-value", "on"),
        ("?dry_run=true&on=tomorrow", "invalid-value", "on"),
        ("?dry_run=true&on=2013-13-01", "invalid-value", "on"),
        ("?dryrun=true", "unknown-field", "dryrun"),
        ("?dry_run=true&dry_run=false", "invalid-value", "dry_run"),
        ("?dry_run=true&rulebook=%00", "invalid-value", "rulebook"),
    ],
)
def test_a_query_that_is_not_understood_is_refused(
    room: Room, game: Game, query: str, code: str, field: str
) -> None:
    refused(room.hand(game.hand(), query=query), 422, code, field=field)


def test_a_running_hand_holds_the_chips_of_its_seats(room: Room, game: Game) -> None:
    hand = game.hand()
    running = copy.deepcopy(hand)
    running["ohh"].update(x_status="running", pots=[])
    del running["ohh"]["x_uncalled_returned"]
    answer = room.hand(running)
    assert (answer.status_code, answer.json()["status"]) == (200, "running")
    assert answer.json()["seats"] == [1, 2]
    body = {"player": game.players[0]}
    left = room.post(f"/v1/tables/{game.table}/leave", body, role="game-server")
    refused(left, 409, "hand-running", retry="later")
    assert room.hand(hand).status_code == 201
    left = room.post(f"/v1/tables/{game.table}/leave", body, role="game-server")
    assert left.status_code == 200


def test_a_booked_hand_is_shown_in_words_and_money(room: Room, game: Game) -> None:
    hand = game.hand()
    room.hand(hand)
    answer = room.get(f"/v1/hands/{hand['ohh']['game_number']}", role="support")
    found = HandAnswer.model_validate(answer.json())
    texts = [event.text for event in found.events]
    assert f"{game.names[0]} staked 0.50 EUR." in texts
    assert f"{game.names[1]} won 0.95 EUR of the main pot." in texts
    assert "The rake was 0.05 EUR: another 0.03 EUR, kerching 0.02 EUR." in texts
    assert found.record["ohh"]["players"] == hand["ohh"]["players"]
    for event in found.events:
        assert sum(posting.amount_minor for posting in event.postings) == 0
    posted = room.hand(found.record)
    assert posted.json()["status"] == "repeated"


def test_to_a_partner_the_players_of_others_are_masked(room: Room, game: Game) -> None:
    hand = game.hand()
    hand["ohh"]["rounds"][0]["actions"] += [
        {"action_number": 90, "player_id": 1, "action": "Dealt Cards", "cards": ["Ah", "Ad"]},
        {"action_number": 91, "player_id": 2, "action": "Dealt Cards", "cards": ["Kh", "Kd"]},
    ]
    room.hand(hand)
    path = f"/v1/hands/{hand['ohh']['game_number']}"
    answer = room.get(path, role="partner", partner="kerching")
    HandAnswer.model_validate(answer.json())
    dealt = [
        action["cards"]
        for action in answer.json()["record"]["ohh"]["rounds"][0]["actions"]
        if "cards" in action
    ]
    assert dealt == [["Ah", "Ad"], ["??", "??"]]
    assert game.names[0] in answer.text
    assert game.players[0] in answer.text
    assert game.names[1] not in answer.text
    assert game.players[1] not in answer.text
    assert "another" not in answer.text
    assert "The rake was 0.05 EUR: kerching 0.02 EUR, masked-partners 0.03 EUR." in answer.text
    refused(room.get(path, role="partner", partner="a-third"), 404, "unknown-hand")


def test_a_partner_cannot_tell_a_hand_of_others_from_one_that_was_never_booked(
    room: Room, game: Game
) -> None:
    booked, waiting = game.hand(), game.hand()
    assert room.hand(booked).status_code == 201
    waiting["ohh"]["players"][0]["name"] = "Not yet registered"
    refused(room.hand(waiting), 422, "unknown-player")
    numbers = (booked["ohh"]["game_number"], waiting["ohh"]["game_number"], "404405")
    answers = []
    for number in numbers:
        path = f"/v1/hands/{number}"
        problem = room.get(path, role="partner", partner="a-third").json()
        del problem["request_id"]
        answers.append(problem)
    assert answers[0] == answers[1] == answers[2]
    assert answers[0]["code"] == "unknown-hand"


def test_a_hand_that_was_never_booked_is_not_found(room: Room, game: Game) -> None:
    refused(room.get("/v1/hands/404404", role="support"), 404, "unknown-hand", refused_before=[])


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/xml", "", "multipart/form-data"]
)
def test_a_body_of_another_type_is_refused(room: Room, game: Game, content_type: str) -> None:
    answer = room.hand(game.hand(), content_type=content_type)
    refused(
        answer, 415, "unsupported-media-type", accepted=["application/json", "application/x-ndjson"]
    )


def test_a_compressed_body_is_refused_for_that_reason(room: Room) -> None:
    body = gzip.compress(b"{}")
    for path in ("/v1/hands", "/v1/tables"):
        headers = {
            "Authorization": f"Bearer {room.token('game-server')}",
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
            "Idempotency-Key": "compressed",
        }
        problem = refused(
            room.http.post(path, headers=headers, content=body), 415, "unsupported-media-type"
        )
        assert "Content-Encoding" in problem["detail"]


@pytest.mark.parametrize("role", ["cashier", "support", "auditor", "partner", "compliance"])
def test_only_game_servers_post_hands(room: Room, game: Game, role: str) -> None:
    token = room.token(role, "kerching" if role == "partner" else None)
    answer = room.http.post(
        "/v1/hands", json=game.hand(), headers={"Authorization": f"Bearer {token}"}
    )
    refused(answer, 403, "missing-scope", scope="hands:post", retry="never")


def test_of_a_body_that_breaks_off_nothing_is_booked(room: Room, game: Game) -> None:
    first = json.dumps(game.hand()).encode() + b"\n"
    head = (
        "POST /v1/hands HTTP/1.1\r\nHost: room\r\nContent-Type: application/x-ndjson\r\n"
        f"Authorization: Bearer {room.token('game-server')}\r\nContent-Length: 100000\r\n\r\n"
    )
    host, port = room.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + first)
        time.sleep(0.1)
        connection.sendall(first[:100])
    time.sleep(0.1)
    table = room.get(f"/v1/tables/{game.table}", role="game-server").json()
    assert table["hands"] == 0


@pytest.fixture(scope="module")
def narrow(module_dsn: str) -> Iterator[Room]:
    """Serve with small limits."""
    with serving(module_dsn, body_limit=4096, hands_limit=3) as room:
        yield room


def test_more_hands_than_the_limit_are_refused_and_none_is_booked(narrow: Room) -> None:
    refused(narrow.hand([{}] * 4), 422, "batch-too-large", limit=3)
    assert len(narrow.hand([{}] * 3).json()["results"]) == 3


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_beyond_the_limit_is_refused(narrow: Room, announced: bool) -> None:
    body = b" " * 5000
    chunks = iter([body[:2500], body[2500:]])
    headers = {
        "Authorization": f"Bearer {narrow.token('game-server')}",
        "Content-Type": "application/json",
    }
    content: Any = body if announced else chunks
    answer = narrow.http.post("/v1/hands", content=content, headers=headers)
    refused(answer, 413, "body-too-large", limit_bytes=4096)
    assert narrow.http.get("/livez").status_code == 200
