"""Jackpots over HTTP: pools and rules, what was paid in, hits and their shares, two persons."""

from collections.abc import Iterator
from typing import Any

import pytest

from api.jackpots import ContributionsAnswer, HitsAnswer, JackpotAnswer
from ops.worker import Worker
from tests.api.conftest import Room, refused, serving
from tests.ledger.given import ALICE, BOB, CAROL
from tests.projections.hits import ANNULLED, SETTLED, WAITING, a_day
from tests.projections.story import write

POOL = 5 * 75
"""The whole rake of five hands was paid in; of the two of the first hit 0.60, 0.30 and 0.30."""
PAID = 150 * 4_000 // 10_000 + 150 * 2_000 // 10_000 + 3 * (150 * 2_000 // 10_000 // 3)


@pytest.fixture(scope="module")
def day(module_dsn: str) -> Iterator[Room]:
    """Serve a room in which one hit is settled, one annulled, and one waits."""
    write(module_dsn, a_day().commits)
    with serving(module_dsn) as room:
        room.project()
        yield room


def get(room: Room, path: str, *, role: str = "support", **query: Any) -> Any:
    answer = room.get(path, role=role, **query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def hits(room: Room, **query: Any) -> list[dict[str, Any]]:
    answer = get(room, "/v1/jackpots/bad-beat/hits", **query)
    HitsAnswer.model_validate(answer)
    return list(answer["hits"])


def test_a_jackpot_tells_its_pool_its_rules_and_what_a_hit_would_pay(day: Room) -> None:
    answer = get(day, "/v1/jackpots/bad-beat")
    JackpotAnswer.model_validate(answer)
    [pool] = answer["pools"]
    assert (pool["pool_minor"], pool["pool"]) == (POOL - PAID, "2.55")
    [rules] = answer["rules"]
    assert (rules["rulebook"], rules["review"]) == ("entraction@2013-01-01.r2", True)
    assert rules["contribution"] == {"share_bps": 10_000}
    requirements = {one["game"]: (one["hand"], one["ranks"]) for one in rules["requirements"]}
    assert requirements["Holdem"] == ("four-of-a-kind", "QQQQ")
    assert rules["next_shares"]["loser"] == "1.02"
    assert rules["next_shares"]["dealt_in_minor"] == 51
    assert answer["undecided"] == 1


def test_the_rules_are_those_of_the_day_that_is_asked_for(day: Room) -> None:
    [rules] = get(day, "/v1/jackpots/bad-beat", on="2010-01-01")["rules"]
    assert rules["rulebook"] == "entraction@2008-01-01.r2"


def test_a_jackpot_is_told_as_it_was(day: Room) -> None:
    newest = hits(day)[0]
    before = get(day, "/v1/jackpots/bad-beat", position=newest["position"] - 1)
    assert before["undecided"] == 1
    first = get(day, "/v1/jackpots", position=hits(day)[-1]["position"])["jackpots"]
    assert [row["pool_minor"] for row in first] == [150]


def test_an_unknown_jackpot_is_not_found(day: Room) -> None:
    refused(day.get("/v1/jackpots/other", role="support"), 404, "unknown-jackpot")


def test_contributions_are_told_by_day_and_table(day: Room) -> None:
    query = {"first": "2013-06-01", "last": "2013-06-30"}
    answer = get(day, "/v1/jackpots/bad-beat/contributions", **query)
    ContributionsAnswer.model_validate(answer)
    [row] = answer["contributions"]
    assert (row["occurred_day"], row["table"], row["hands"]) == ("2013-06-01", "Etomo", 5)
    assert row["contribution_minor"] == POOL
    other = {"first": "2013-07-01", "last": "2013-07-31"}
    assert get(day, "/v1/jackpots/bad-beat/contributions", **other)["contributions"] == []


def test_contributions_are_told_as_csv(day: Room) -> None:
    answer = day.http.get(
        "/v1/jackpots/bad-beat/contributions",
        params={"first": "2013-06-01", "last": "2013-06-30"},
        headers={"Authorization": f"Bearer {day.token('support')}", "Accept": "text/csv"},
    )
    header, row, end = answer.text.splitlines()
    assert header.startswith("network,jackpot,currency,occurred_day,table,hands")
    assert row == "entraction,bad-beat,EUR,2013-06-01,Etomo,5,375,3.75"
    assert end.startswith("#end,rows=1")


def test_hits_are_told_newest_first_with_what_became_of_them(day: Room) -> None:
    waiting, annulled, settled = hits(day)
    assert [one["game_number"] for one in (waiting, annulled, settled)] == [
        WAITING,
        ANNULLED,
        SETTLED,
    ]
    assert [one["status"] for one in (waiting, annulled, settled)] == [
        "waiting",
        "annulled",
        "settled",
    ]
    assert (annulled["ground"], annulled["shares"]) == ("collusion", [])
    assert (settled["losers"], settled["winners"]) == ([ALICE], [BOB])
    assert (settled["pool"], settled["paid"], settled["left"]) == ("1.50", "1.20", "0.30")


def test_every_share_leads_to_its_event(day: Room) -> None:
    settled = hits(day, role="auditor")[-1]
    shares = {(one["player"], one["part"]): one for one in settled["shares"]}
    assert {key: one["amount"] for key, one in shares.items()} == {
        (ALICE, "loser"): "0.60",
        (BOB, "winner"): "0.30",
        (ALICE, "dealt-in"): "0.10",
        (BOB, "dealt-in"): "0.10",
        (CAROL, "dealt-in"): "0.10",
    }
    share = shares[ALICE, "loser"]
    event = get(day, share["links"]["event"], role="auditor")
    assert (event["event"], event["fields"]["amount_minor"]) == ("player.jackpot_won.v1", 60)
    entries = get(day, share["links"]["entries"], role="auditor")["entries"]
    assert {row["account"]: row["credit_minor"] - row["debit_minor"] for row in entries} == {
        "jackpot:entraction:bad-beat": -60,
        f"bankroll:entraction:{ALICE}": 60,
    }
    assert (
        get(day, settled["links"]["decided"], role="auditor")["event"] == "jackpot.hit_settled.v1"
    )
    assert get(day, settled["links"]["hand"])["verdict"] == "ok"


def test_hits_are_told_as_they_were(day: Room) -> None:
    annulled = hits(day)[1]
    before = hits(day, position=annulled["decided_position"] - 1)
    assert [one["status"] for one in before] == ["waiting", "waiting", "settled"]
    settled = before[-1]
    first = hits(day, position=settled["decided_position"] - 1)
    assert [one["status"] for one in first] == ["released"]
    assert first[0]["shares"] == []
    assert first[0]["pool_minor"] is None
    assert hits(day, position=settled["position"])[0]["status"] == "waiting"


def test_hits_are_told_in_pages_and_by_status(day: Room) -> None:
    page = get(day, "/v1/jackpots/bad-beat/hits", limit=2)
    rest = get(day, "/v1/jackpots/bad-beat/hits", limit=2, cursor=page["cursor"])
    found = [*page["hits"], *rest["hits"]]
    assert [one["number"] for one in found] == [3, 2, 1]
    assert rest["cursor"] is None
    assert [one["number"] for one in hits(day, status="annulled")] == [2]


def test_a_partner_sees_its_own_players_alone(day: Room) -> None:
    answer = day.get("/v1/jackpots/bad-beat/hits", role="partner", partner="other")
    settled = answer.json()["hits"][-1]
    HitsAnswer.model_validate(answer.json())
    assert (settled["losers"], settled["dealt"]) == ([None], [None] * 3)
    assert {one["player"] for one in settled["shares"]} == {None}
    assert {str(one["links"]) for one in settled["shares"]} == {"{}"}
    own = day.get("/v1/jackpots/bad-beat/hits", role="partner", partner="kerching")
    assert own.json()["hits"][-1]["losers"] == [ALICE]


def test_a_partner_is_told_nothing_of_tables_and_decides_nothing(day: Room) -> None:
    query = {"first": "2013-06-01", "last": "2013-06-30"}
    path = "/v1/jackpots/bad-beat/contributions"
    refused(day.get(path, role="partner", partner="other", **query), 403, "not-your-partner")
    refused(
        day.post(
            f"/v1/jackpots/bad-beat/hits/{WAITING}/release",
            {"reason": "Ours."},
            role="partner",
            partner="other",
        ),
        403,
        "missing-scope",
    )


def test_reads_of_hits_are_recorded(day: Room) -> None:
    hits(day)
    rows = day.sql("SELECT DISTINCT actor, subject FROM audit.reads WHERE what = 'jackpot'")
    assert ("support-1", "jackpot:entraction:bad-beat:all") in rows


# -- two persons ---------------------------------------------------------------------------------


@pytest.fixture
def decided(dsn: str) -> Iterator[Room]:
    """Serve a room of its own, in which something is decided."""
    write(dsn, a_day().commits)
    with serving(dsn) as room:
        room.project()
        yield room


def test_a_hit_is_released_by_two_persons_and_settled_by_the_worker(decided: Room) -> None:
    path = f"/v1/jackpots/bad-beat/hits/{WAITING}/release"
    asked = decided.post(path, {"reason": "Looked at."}, role="operator")
    assert asked.status_code == 202, asked.text
    assert asked.json()["amount"] == "2.04"
    decided.project()
    [row] = get(decided, "/v1/approvals", role="approver", show="to-decide")["approvals"]
    assert row["summary"]["game_number"] == WAITING
    assert row["links"]["jackpot"] == "/v1/jackpots/bad-beat/hits"
    granted = decided.post(f"{asked.json()['links']['approval']}/grant", role="approver")
    assert granted.json()["result"]["status"] == "released"
    decided.project()
    assert hits(decided)[0]["status"] == "released"
    worker = Worker(decided.dsn)
    assert worker.look() == 1
    worker.close()
    decided.project()
    newest = hits(decided)[0]
    assert (newest["status"], newest["pool"], newest["paid"]) == ("settled", "2.55", "2.04")


def test_a_hit_is_annulled_by_two_persons(decided: Room) -> None:
    path = f"/v1/jackpots/bad-beat/hits/{WAITING}/annul"
    body = {"ground": "collusion", "reason": "They never raised."}
    asked = decided.post(path, body, role="operator")
    decided.post(f"{asked.json()['links']['approval']}/grant", role="approver")
    decided.project()
    assert hits(decided)[0]["status"] == "annulled"
    [pool] = get(decided, "/v1/jackpots")["jackpots"]
    assert pool["pool_minor"] == POOL - PAID


def test_what_is_no_hit_or_decided_is_refused(decided: Room) -> None:
    body = {"reason": "Looked at."}
    for game_number, status, code in (
        ("101", 404, "unknown-hit"),
        (SETTLED, 409, "hit-decided"),
        (ANNULLED, 409, "hit-decided"),
    ):
        path = f"/v1/jackpots/bad-beat/hits/{game_number}/release"
        refused(decided.post(path, body, role="operator"), status, code)
