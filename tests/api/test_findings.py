"""Findings over HTTP: filed with a hand, looked into, resolved, opened again, counted, exported."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.findings import FindingAnswer, FindingDone, FindingsAnswer, SummaryAnswer
from api.hand_records import HandAnswer
from ledger.hands.resolving import RESOLUTIONS
from tests.api.conftest import Room, refused, serving
from tests.api.test_csv import fetched, records
from tests.api.test_hands import Game


class Desk:
    """A room with a flagged hand, and what the desk does about it."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.game = Game(room)
        self.hand = flagged(self.game)
        assert room.hand(self.hand).status_code == 201
        self.number = self.hand["ohh"]["game_number"]
        self.room.project()
        [found] = self.listed(hand=self.number)
        self.position = found["position"]

    def listed(self, **query: Any) -> list[dict[str, Any]]:
        answer = self.room.get("/v1/findings", role="support", **query)
        assert answer.status_code == 200, answer.text
        FindingsAnswer.model_validate(answer.json())
        found: list[dict[str, Any]] = answer.json()["findings"]
        return found

    def post(self, action: str, body: Any, role: str = "support", **about: Any) -> Any:
        position = about.pop("position", self.position)
        return self.room.post(f"/v1/findings/{position}/{action}", body, role=role, **about)

    def done(self, action: str, body: Any, **about: Any) -> dict[str, Any]:
        answer = self.post(action, body, **about)
        assert answer.status_code == 200, answer.text
        FindingDone.model_validate(answer.json())
        self.room.project()
        said: dict[str, Any] = answer.json()
        return said

    def shown(self, **query: Any) -> dict[str, Any]:
        answer = self.room.get(f"/v1/findings/{self.position}", role="support", **query)
        assert answer.status_code == 200, answer.text
        FindingAnswer.model_validate(answer.json())
        shown: dict[str, Any] = answer.json()
        return shown


EXPLAIN = {"text": "The cap was set up wrong."}
RESOLVE = {"resolution": "written-off", "reason": "A cent."}
REOPEN = {"reason": "It is not a cent."}


def flagged(game: Game, rake: float = 0.10) -> dict[str, Any]:
    """Give the next hand, with too high a rake."""
    hand = game.hand()
    win = {"player_id": 2, "win_amount": round(1 - rake, 2)}
    hand["ohh"]["pots"][0].update(rake=rake, player_wins=[win])
    return hand


@pytest.fixture(scope="module")
def house(module_dsn: str) -> Iterator[Room]:
    with serving(module_dsn) as room:
        yield room


@pytest.fixture
def desk(house: Room) -> Desk:
    return Desk(house)


def test_a_finding_is_listed_with_what_is_at_stake(desk: Desk) -> None:
    [found] = desk.listed(hand=desk.number)
    assert found == {
        "position": desk.position,
        "network": "entraction",
        "table": desk.game.table,
        "game_number": desk.number,
        "number": 1,
        "game_server": "game-server-1",
        "occurred_at": "2013-05-01T20:15:00Z",
        "code": "wrong-rake",
        "level": "flag",
        "where": "pots[0].rake",
        "expected": "0.05",
        "posted": "0.10",
        "message": found["message"],
        "currency": "EUR",
        "amount_minor": 5,
        "amount": "0.05",
        "status": "open",
        **dict.fromkeys(
            (
                *("changed_position", "explained_at", "explained_by", "explanation"),
                *("resolved_at", "resolved_by", "resolution", "reason", "corrected_by"),
            )
        ),
        "links": {
            "finding": f"/v1/findings/{desk.position}",
            "hand": f"/v1/hands/{desk.number}",
            "table": f"/v1/tables/{desk.game.table.replace('%', '%25').replace(' ', '%20')}",
        },
    }


def test_a_finding_is_explained_resolved_and_opened_again(desk: Desk) -> None:
    said = desk.done("explain", EXPLAIN)
    assert (said["game_number"], said["number"], said["status"]) == (desk.number, 1, "explained")
    [found] = desk.listed(hand=desk.number)
    assert (found["status"], found["explained_by"], found["explanation"]) == (
        "explained",
        "support-1",
        EXPLAIN["text"],
    )
    assert desk.done("resolve", RESOLVE, role="compliance")["status"] == "resolved"
    [found] = desk.listed(hand=desk.number)
    assert (found["status"], found["resolved_by"]) == ("resolved", "compliance-1")
    assert (found["resolution"], found["reason"]) == ("written-off", "A cent.")
    assert found["explanation"] == EXPLAIN["text"]
    assert found["changed_position"] == desk.shown()["steps"][-1]["position"]
    assert desk.done("reopen", REOPEN)["status"] == "open"
    [found] = desk.listed(hand=desk.number)
    assert (found["status"], found["explanation"], found["resolved_by"]) == ("open", None, None)
    steps = desk.shown()["steps"]
    assert [(step["became"], step["actor"], step["text"]) for step in steps] == [
        ("explained", "support-1", EXPLAIN["text"]),
        ("resolved", "compliance-1", "A cent."),
        ("open", "support-1", REOPEN["reason"]),
    ]


def test_a_finding_can_be_resolved_before_any_projection_knows_it(house: Room) -> None:
    game = Game(house)
    answer = house.hand(flagged(game)).json()
    [[position]] = house.sql(
        "SELECT max(notification_id) FROM journal.events"
        " WHERE topic = 'hand.flagged.v1' AND notification_id <= %s",
        answer["position"],
    )
    answer = house.post(f"/v1/findings/{position}/resolve", RESOLVE, role="support")
    assert answer.status_code == 200, answer.text


def test_the_same_request_answers_the_first_result_again(desk: Desk) -> None:
    key = f"explain-{desk.position}"
    first = desk.post("explain", EXPLAIN, key=key)
    again = desk.post("explain", EXPLAIN, key=key)
    assert again.headers["idempotent-replay"] == "true"
    assert again.json() == {**first.json(), "repeated": True}
    other = desk.post("explain", {"text": "Something else."}, key=key)
    assert refused(other, 422, "idempotency-key-reused")["differing"] == ["text"]
    assert desk.post("resolve", RESOLVE, key=key).status_code == 422
    desk.room.project()
    assert len(desk.shown()["steps"]) == 1


def test_what_cannot_be_done_says_why(desk: Desk) -> None:
    refused(desk.post("reopen", REOPEN), 409, "finding-not-resolved", current_status="open")
    desk.done("resolve", RESOLVE)
    refused(desk.post("resolve", RESOLVE), 409, "finding-resolved", retry="after-fix")
    refused(desk.post("explain", EXPLAIN), 409, "finding-resolved")
    for nothing in (desk.position - 1, desk.position + 10**9, 2**63 - 1):
        for action, body in (("explain", EXPLAIN), ("resolve", RESOLVE), ("reopen", REOPEN)):
            refused(desk.post(action, body, position=nothing), 404, "unknown-finding")
        answer = desk.room.get(f"/v1/findings/{nothing}", role="support")
        refused(answer, 404, "unknown-finding", field="finding")
    elsewhere = desk.post("explain", EXPLAIN, network="elsewhere")
    refused(elsewhere, 404, "unknown-finding")


@pytest.mark.parametrize(
    ("action", "body", "code", "field"),
    [
        ("explain", {}, "missing-field", "text"),
        ("explain", {"text": ""}, "invalid-value", "text"),
        ("explain", {"text": "two\nlines"}, "invalid-field", "text"),
        ("explain", {"text": "x" * 501}, "invalid-value", "text"),
        ("explain", {**EXPLAIN, "by": "me"}, "unknown-field", "by"),
        ("resolve", {"reason": "A cent."}, "missing-field", "resolution"),
        ("resolve", {**RESOLVE, "resolution": "forgotten"}, "invalid-value", "resolution"),
        ("resolve", {**RESOLVE, "corrected_by": "x"}, "invalid-field", "corrected_by"),
        ("resolve", {**RESOLVE, "resolution": "corrected-by-adjustment"}, "invalid-field",
         "corrected_by"),
        ("reopen", {"reason": 5}, "invalid-value", "reason"),
    ],
)  # fmt: skip
def test_a_body_that_says_nothing_is_refused(
    desk: Desk, action: str, body: Any, code: str, field: str
) -> None:
    refused(desk.post(action, body), 422, code, field=field)


@pytest.mark.parametrize("role", ["auditor", "operator", "cashier", "game-server", "partner"])
def test_only_support_and_compliance_resolve(desk: Desk, role: str) -> None:
    about = {"partner": "kerching"} if role == "partner" else {}
    for action, body in (("explain", EXPLAIN), ("resolve", RESOLVE), ("reopen", REOPEN)):
        answer = desk.post(action, body, role=role, **about)
        refused(answer, 403, "missing-scope", scope="findings:resolve")


def test_a_resolution_leads_to_the_booking_that_put_it_right(desk: Desk) -> None:
    game = desk.game
    seats = desk.room.get(f"/v1/tables/{game.table}", role="game-server").json()["seats"]
    chips = {str(seat["seat"]): seat["chips_minor"] for seat in seats}
    chips["2"] += 5
    body = {"chips_minor": chips, "ground": "technical-failure", "reason": "Too high a rake."}
    key = f"give-back-{desk.position}"
    asked = desk.room.post(f"/v1/tables/{game.table}/resync", body, role="operator", key=key)
    assert asked.status_code == 202, asked.text
    path = f"/v1/approvals/{asked.json()['approval']}/grant"
    assert desk.room.post(path, {}, role="approver").status_code == 200
    desk.done("resolve", {**RESOLVE, "resolution": "corrected-by-adjustment", "corrected_by": key})
    answer = desk.room.get(f"/v1/findings/{desk.position}", role="auditor").json()
    entries = desk.room.get(answer["finding"]["links"]["correction"], role="auditor").json()
    assert {entry["request_id"] for entry in entries["entries"]} == {key}
    event = desk.room.get(answer["steps"][0]["links"]["event"], role="auditor").json()
    assert event["event"] == "hand.finding_resolved.v1"
    assert event["links"]["hand"] == f"/v1/hands/{desk.number}"


def test_a_hand_shows_its_findings_in_words(desk: Desk) -> None:
    desk.done("explain", EXPLAIN)
    path = f"/v1/hands/{desk.number}"
    hand = HandAnswer.model_validate(desk.room.get(path, role="support").json())
    [found] = hand.findings
    assert (found.number, found.status, found.amount) == (1, "explained", "0.05")
    what = f"wrong-rake (pots[0].rake): {found.message} Expected: 0.05. Posted: 0.10."
    today = datetime.now(UTC)
    assert found.text in {
        f"{what} Explained by support-1 on {day:%Y-%m-%d}: {EXPLAIN['text']}"
        for day in (today, today - timedelta(minutes=1))
    }
    assert hand.events[-1].text == f"support-1 explained finding 1: {EXPLAIN['text']}"
    desk.done("resolve", RESOLVE)
    desk.done("reopen", REOPEN)
    hand = HandAnswer.model_validate(desk.room.get(path, role="support").json())
    assert [event.text for event in hand.events[-2:]] == [
        "support-1 resolved finding 1, written-off: A cent.",
        "support-1 opened finding 1 again: It is not a cent.",
    ]
    assert hand.findings[0].text.endswith("Posted: 0.10. Open.")
    assert [step.became for step in hand.findings[0].steps] == ["explained", "resolved", "open"]


def test_a_partner_is_told_how_a_finding_stands_and_not_what_was_written(desk: Desk) -> None:
    desk.done("resolve", RESOLVE)
    path = f"/v1/hands/{desk.number}"
    answer = desk.room.get(path, role="partner", partner="kerching")
    hand = HandAnswer.model_validate(answer.json())
    assert (hand.findings[0].status, hand.findings[0].steps) == ("resolved", [])
    assert hand.findings[0].text.endswith("Resolved.")
    assert "A cent." not in answer.text
    assert {event.event for event in hand.events} & {"hand.finding_resolved.v1"} == set()
    refused(desk.room.get("/v1/findings", role="partner", partner="kerching"), 403, "missing-scope")


def test_a_hand_posted_again_answers_its_first_result_after_its_finding_is_resolved(
    desk: Desk,
) -> None:
    desk.done("resolve", RESOLVE)
    again = desk.room.hand(desk.hand)
    assert again.json()["status"] == "repeated"
    assert [one["code"] for one in again.json()["findings"]] == ["wrong-rake"]
    other = flagged(desk.game, 0.15)
    other["ohh"]["game_number"] = desk.number
    refused(desk.room.hand(other), 422, "different-content")
    desk.room.project()
    found = desk.listed(hand=desk.number)
    assert [(one["number"], one["code"], one["status"]) for one in found] == [
        (1, "wrong-rake", "resolved"),
        (2, "different-content", "open"),
    ]
    desk.done("resolve", {**RESOLVE, "resolution": "site-was-right"},
              position=found[1]["position"])  # fmt: skip


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_the_document_says_what_each_resolution_means(house: Room, resolution: str) -> None:
    schema = house.http.get("/openapi.json").json()["components"]["schemas"]["ResolveBody"]
    told = schema["properties"]["resolution"]
    assert resolution in told["enum"]
    assert RESOLUTIONS[resolution] in told["description"]


# -- lists -----------------------------------------------------------------------------------


def test_findings_are_found_by_table_server_code_status_amount_and_period(desk: Desk) -> None:
    game, here = desk.game, {"table": desk.game.table}
    game.booked()
    game.stacks[1] -= 5
    dear = flagged(game, 0.50)
    assert desk.room.hand(dear).status_code == 201
    desk.done("explain", EXPLAIN)
    cheap, other = [row["position"] for row in desk.listed(**here)]

    def found(**query: Any) -> list[int]:
        return [row["position"] for row in desk.listed(**here, **query)]

    assert found(status="open") == found(least_minor=45) == [other]
    assert found(status="explained") == found(most_minor=5) == [cheap]
    assert found(status="unresolved") == found(code="wrong-rake") == [cheap, other]
    assert found(game_server="game-server-1", level="flag", currency="EUR") == [cheap, other]
    assert found(status="resolved") == found(game_server="nobody") == found(code="wrong-pot") == []
    assert found(order="newest-first") == [other, cheap]
    assert found(order="largest-first", currency="EUR") == [other, cheap]
    evening = {"occurred_from": "2013-05-01T20:15:00Z", "occurred_before": "2013-05-01T20:15:01Z"}
    assert found(**evening) == [cheap, other]
    assert found(occurred_before="2013-05-01T20:15:00Z") == []
    page = desk.room.get("/v1/findings", role="support", limit=1, **here).json()
    rest = desk.listed(limit=1, cursor=page["cursor"], **here)
    assert [page["findings"][0]["position"], rest[0]["position"]] == [cheap, other]


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ({"code": "wrong-mood"}, "invalid-value", "code"),
        ({"status": "forgotten"}, "invalid-value", "status"),
        ({"level": "off"}, "invalid-value", "level"),
        ({"order": "largest-first"}, "missing-field", "currency"),
        ({"least_minor": -1}, "invalid-value", "least_minor"),
        ({"kind": "wrong-rake"}, "unknown-field", "kind"),
        ({"cursor": "x"}, "invalid-cursor", "cursor"),
        ({"occurred_from": "2013-05-01"}, "invalid-value", "occurred_from"),
    ],
)
def test_a_question_that_cannot_be_is_refused(
    house: Room, query: dict[str, Any], code: str, field: str
) -> None:
    refused(house.get("/v1/findings", role="support", **query), 422, code, field=field)


def test_findings_are_counted_by_code_table_and_game_server(desk: Desk) -> None:
    here = {"table": desk.game.table}
    for by, name in (
        ("code", "wrong-rake"),
        ("table", desk.game.table),
        ("game_server", "game-server-1"),
    ):
        answer = desk.room.get("/v1/findings/summary", role="auditor", by=by, **here)
        [row] = SummaryAnswer.model_validate(answer.json()).summary
        assert (row.name, row.currency, row.findings, row.open) == (name, "EUR", 1, 1)
        assert (row.amount, row.unresolved) == ("0.05", "0.05")
        listed = desk.room.get(row.links["findings"], role="auditor").json()["findings"]
        assert [one["position"] for one in listed] == [desk.position]
    desk.done("resolve", RESOLVE)
    [row] = desk.room.get("/v1/findings/summary", role="auditor", **here).json()["summary"]
    assert (row["findings"], row["open"], row["resolved"], row["unresolved"]) == (1, 0, 1, "0.00")
    assert (
        desk.room.get("/v1/findings/summary", role="auditor", status="open", **here).json()[
            "summary"
        ]
        == []
    )


def test_an_answer_of_a_position_stays_what_it_was(desk: Desk) -> None:
    paths = (
        f"/v1/findings?table={desk.game.table}",
        f"/v1/findings/summary?table={desk.game.table}",
        f"/v1/findings/{desk.position}",
    )
    positions = [desk.room.project()]
    for action, body in (("explain", EXPLAIN), ("resolve", RESOLVE), ("reopen", REOPEN)):
        positions.append(desk.done(action, body)["position"])
    # Asked at once, and after more was done: the same.
    answers: dict[tuple[str, int], Any] = {}
    for again in range(2):
        for position in positions:
            for path in paths:
                mark = "&" if "?" in path else "?"
                answer = desk.room.get(f"{path}{mark}position={position}", role="support").json()
                assert answers.setdefault((path, position), answer) == answer
        if not again:
            desk.done("resolve", RESOLVE)
    stand = [answers[paths[0], position]["findings"][0]["status"] for position in positions]
    assert stand == ["open", "explained", "resolved", "open"]
    steps = [len(answers[paths[2], position]["steps"]) for position in positions]
    assert steps == [0, 1, 2, 3]


def test_a_file_of_findings_has_how_each_stands(desk: Desk) -> None:
    desk.done("resolve", RESOLVE)
    rows, end = records(fetched(desk.room, "/v1/findings", table=desk.game.table))
    [row] = rows
    assert (row["status"], row["resolution"], row["reason"]) == (
        "resolved",
        "written-off",
        "A cent.",
    )
    assert (row["amount_minor"], row["amount"], row["game_server"]) == (
        "5",
        "0.05",
        "game-server-1",
    )
    assert end[:2] == ["#end", "rows=1"]
    rows, _ = records(fetched(desk.room, "/v1/findings/summary", by="table"))
    assert desk.game.table in {row["name"] for row in rows}


def metrics(room: Room) -> dict[str, float]:
    lines = room.http.get("/metrics").text.splitlines()
    pairs = [line.rpartition(" ") for line in lines if line[0] != "#"]
    return {name: float(value) for name, _, value in pairs}


def test_findings_are_counted_for_the_alarms(desk: Desk) -> None:
    unresolved = 'cardroom_open_findings{code="wrong-rake"}'
    filed = 'cardroom_findings_total{code="wrong-rake",level="flag"}'
    before = metrics(desk.room)
    desk.done("explain", EXPLAIN)
    assert metrics(desk.room)[unresolved] == before[unresolved] >= 1
    desk.done("resolve", RESOLVE)
    after = metrics(desk.room)
    assert after[unresolved] == before[unresolved] - 1
    assert after[filed] == before[filed] >= 1
    # A series that nothing was counted in yet is there all the same.
    assert after['cardroom_findings_total{code="duplicate-card",level="flag"}'] == 0
    assert after['cardroom_open_findings{code="cards-unknown"}'] == 0


def test_a_hand_of_the_future_waits(desk: Desk) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    game = Game(desk.room)
    hand = game.hand(start_date_utc=tomorrow.strftime("%Y-%m-%dT%H:%M:%SZ"))
    dry = desk.room.hand(hand, query="?dry_run=true").json()
    assert (dry["verdict"], dry["findings"][0]["code"]) == ("refused", "malformed")
    refused(desk.room.hand(hand), 422, "malformed", field="start_date_utc", retry="later")
    waiting = desk.room.get("/v1/waiting-hands", role="game-server", table=game.table).json()
    assert [one["code"] for one in waiting["hands"]] == ["malformed"]
    hand["ohh"]["start_date_utc"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert desk.room.hand(hand).status_code == 201
