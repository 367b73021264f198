"""The books over HTTP: balances that add up, entries in pages, positions that are waited for."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from api import books, entries, findings, jackpots, lists
from tests.api.conftest import Room, refused, serving
from tests.api.test_hands import Game


@pytest.fixture(scope="module")
def played(module_dsn: str) -> Iterator[Room]:
    """Serve a room where some hands were played and projected."""
    with serving(module_dsn) as room:
        game = Game(room)
        room.game = game  # type: ignore[attr-defined]
        hands = []
        for _ in range(5):
            hands.append(game.hand())
            game.booked()
        flagged = game.hand()
        flagged["ohh"]["pots"][0].update(
            rake=0.10, player_wins=[{"player_id": 2, "win_amount": 0.90}]
        )
        answer = room.hand([*hands, flagged])
        assert {one["status"] for one in answer.json()["results"]} == {"booked"}
        body = {
            "player": game.players[0],
            "instrument": "tok_1",
            "currency": "EUR",
            "amount_minor": 700,
        }
        assert room.post("/v1/withdrawals", body, role="cashier").status_code == 201
        room.project()
        yield room


def game_of(room: Room) -> Game:
    game: Game = room.game  # type: ignore[attr-defined]
    return game


READS: list[tuple[str, dict[str, Any], str, type[BaseModel]]] = [
    ("/v1/client-funds", {}, "auditor", books.ClientFundsAnswer),
    ("/v1/trial-balance", {}, "auditor", books.TrialBalanceAnswer),
    ("/v1/accounts", {}, "auditor", books.AccountsAnswer),
    ("/v1/jackpots", {}, "support", jackpots.JackpotsAnswer),
    ("/v1/entries", {}, "auditor", entries.EntriesAnswer),
    ("/v1/findings", {}, "compliance", findings.FindingsAnswer),
    ("/v1/findings/summary", {}, "compliance", findings.SummaryAnswer),
    ("/v1/bankrolls", {}, "support", lists.BankrollsAnswer),
    ("/v1/deposits", {}, "support", lists.DepositsAnswer),
    ("/v1/withdrawals", {}, "support", lists.WithdrawalsAnswer),
    ("/v1/tables", {}, "game-server", lists.TablesAnswer),
    ("/v1/player-register", {}, "support", lists.PlayersAnswer),
    (
        "/v1/tables/{table}/days",
        {"first": "2013-05-01", "last": "2013-05-31"},
        "auditor",
        lists.DaysAnswer,
    ),
    ("/v1/players/{player}/bankroll", {}, "support", lists.BankrollAnswer),
]


@pytest.mark.parametrize(("path", "query", "role", "model"), READS, ids=lambda part: str(part)[:40])
def test_an_answer_is_what_the_document_says_and_carries_its_position(
    played: Room, path: str, query: dict[str, Any], role: str, model: type[BaseModel]
) -> None:
    game = game_of(played)
    path = path.format(table=game.table, player=game.players[0])
    answer = played.get(path, role=role, **query)
    assert answer.status_code == 200, answer.text
    found = model.model_validate(answer.json())
    assert found.position == played.sql("SELECT position FROM book.generation")[0][0]  # type: ignore[attr-defined]


def test_the_liability_is_what_was_paid_in_less_the_rake(played: Room) -> None:
    [funds] = played.get("/v1/client-funds", role="auditor").json()["currencies"]
    rake = 5 * 5 + 10
    assert funds["transit_minor"] == 10_000
    assert funds["liability_minor"] == 10_000 - rake
    assert (funds["liability"], funds["withdrawal"]) == ("99.65", "7.00")
    assert funds["coverage_bps"] == 10_000 * 10_000 // (10_000 - rake)
    [total] = played.get("/v1/trial-balance", role="auditor").json()["totals"]
    assert total["debit_minor"] == total["credit_minor"] > 0
    assert total["difference"] == "0.00"


def test_entries_are_paged_without_loss_or_repetition(played: Room) -> None:
    whole = played.get("/v1/entries", role="auditor", limit=500, order="oldest-first").json()
    keys = [(entry["position"], entry["line"]) for entry in whole["entries"]]
    assert whole["cursor"] is None
    assert keys == sorted(set(keys))
    paged: list[tuple[int, int]] = []
    query: dict[str, Any] = {"limit": 7, "order": "oldest-first"}
    for _ in range(len(keys)):
        page = played.get("/v1/entries", role="auditor", **query).json()
        paged += [(entry["position"], entry["line"]) for entry in page["entries"]]
        if page["cursor"] is None:
            break
        query["cursor"] = page["cursor"]
    assert paged == keys


def test_entries_of_a_hand_sum_to_zero(played: Room) -> None:
    number = played.sql(
        "SELECT originator_id FROM journal.events WHERE topic = 'hand.posted.v1' LIMIT 1"
    )[0][0].rpartition(":")[2]
    answer = played.get("/v1/entries", role="auditor", hand=number.lstrip("0"), limit=500).json()
    entries = answer["entries"]
    assert len(entries) >= 9
    assert sum(entry["debit_minor"] - entry["credit_minor"] for entry in entries) == 0


def test_the_findings_name_hand_and_what_was_expected(played: Room) -> None:
    [finding] = played.get("/v1/findings", role="auditor", code="wrong-rake").json()["findings"]
    assert (finding["expected"], finding["posted"]) == ("0.05", "0.10")


def test_a_tables_day_has_its_hands_and_its_rake_by_partner(played: Room) -> None:
    days = played.get(
        f"/v1/tables/{game_of(played).table}/days",
        role="operator",
        first="2013-05-01",
        last="2013-05-01",
    ).json()
    [day] = days["days"]
    assert (day["hands"], day["rake_minor"]) == (6, 35)
    assert sum(row["rake_minor"] for row in days["rake_by_partner"]) == 35


def test_a_partner_reads_only_its_own_players_money(played: Room) -> None:
    ours, theirs = game_of(played).players
    mine = {"role": "partner", "partner": "kerching"}
    assert played.get(f"/v1/players/{ours}/bankroll", **mine).status_code == 200
    refused(played.get(f"/v1/players/{theirs}/bankroll", **mine), 404, "not-your-player")
    assert theirs not in played.get("/v1/bankrolls", **mine).text
    refused(played.get("/v1/bankrolls?partner=another", **mine), 403, "not-your-partner")
    refused(played.get("/v1/deposits", **mine), 422, "missing-field", field="player")
    refused(played.get("/v1/deposits", player=theirs, **mine), 404, "not-your-player")
    assert len(played.get("/v1/deposits", player=ours, **mine).json()["deposits"]) == 1
    days = played.get(
        f"/v1/tables/{game_of(played).table}/days", first="2013-05-01", last="2013-05-01", **mine
    ).json()
    assert {row["partner"] for row in days["rake_by_partner"]} == {"kerching"}
    assert days["days"] == []


_BEYOND = ("invalid-value", "occurred_from")


@pytest.mark.parametrize(
    ("path", "query", "code", "field"),
    [
        ("/v1/entries", {"limit": 0}, "invalid-value", "limit"),
        ("/v1/entries", {"limit": 501}, "invalid-value", "limit"),
        ("/v1/entries", {"limit": "all"}, "invalid-value", "limit"),
        ("/v1/entries", {"cursor": "no cursor"}, "invalid-cursor", "cursor"),
        ("/v1/entries", {"cursor": "eyJhIjoxfQ"}, "invalid-cursor", "cursor"),
        ("/v1/entries", {"player": "' OR 1=1"}, "invalid-value", "player"),
        ("/v1/entries", {"currency": "eur"}, "invalid-value", "currency"),
        ("/v1/entries", {"order": "random"}, "invalid-value", "order"),
        ("/v1/entries", {"position_from": -1}, "invalid-value", "position_from"),
        ("/v1/entries", {"position_from": 10**30}, "invalid-value", "position_from"),
        ("/v1/entries", {"occurred_from": "2013-05-01T00:00:00"}, "invalid-value", "occurred_from"),
        ("/v1/entries", {"occurred_from": "yesterday"}, "invalid-value", "occurred_from"),
        ("/v1/entries", {"playr": "misspelt"}, "unknown-field", "playr"),
        ("/v1/entries", {"limit": [5, 7]}, "invalid-value", "limit"),
        ("/v1/entries", {"account": "a\0b"}, "invalid-value", "account"),
        ("/v1/entries", {"occurred_from": "0001-01-01T00:00:00+01:00"}, *_BEYOND),
        ("/v1/entries", {"occurred_from": "9999-12-31T23:59:59-01:00"}, *_BEYOND),
        ("/v1/findings", {"hand": "\0"}, "invalid-value", "hand"),
        ("/v1/bankrolls", {"cursor": "eyJhIjoxfQ"}, "invalid-cursor", "cursor"),
        ("/v1/tables", {"status": "broken"}, "invalid-value", "status"),
        ("/v1/trial-balance", {"at_least": "now"}, "invalid-value", "at_least"),
        ("/v1/trial-balance", {"wait_ms": 60_000}, "invalid-value", "wait_ms"),
    ],
)
def test_a_query_that_cannot_be_is_refused(
    played: Room, path: str, query: dict[str, Any], code: str, field: str
) -> None:
    refused(played.get(path, role="operator", **query), 422, code, field=field)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/tables/a%00b", "table"),
        ("/v1/statements/accounts/a%00b", "account"),
        ("/v1/statements/tables/%00", "table"),
        ("/v1/requests/%00", "key"),
        ("/v1/hands/%00", "game_number"),
        ("/v1/jackpots/%00", "jackpot"),
    ],
)
def test_a_path_with_what_is_no_text_is_refused(played: Room, path: str, field: str) -> None:
    refused(played.get(path, role="operator"), 422, "invalid-value", field=field)


@pytest.mark.parametrize("account", ["'; DROP TABLE journal.events; --", "a:b", "::", "x" * 400])
def test_an_account_that_does_not_exist_has_no_entries(played: Room, account: str) -> None:
    answer = played.get("/v1/entries", role="auditor", account=account)
    assert answer.status_code == 200
    assert answer.json()["entries"] == []


def test_a_zone_in_a_date_filter_counts(played: Room) -> None:
    def found(instant: str) -> int:
        answer = played.get("/v1/entries", role="auditor", occurred_before=instant, limit=500)
        return len([e for e in answer.json()["entries"] if e["event"].startswith("hand.")])

    assert found("2013-05-01T20:15:00Z") == 0
    assert found("2013-05-01T20:15:01Z") > 0
    assert found("2013-05-02T00:15:00+04:00") == 0
    assert found("2013-05-01T16:15:01-04:00") > 0


def test_an_answer_is_waited_for_and_refused_when_it_does_not_come(played: Room) -> None:
    head = played.sql("SELECT max(last_position) FROM journal.commits")[0][0]
    answer = played.get("/v1/trial-balance", role="auditor", at_least=head)
    assert answer.json()["position"] >= head
    began = time.monotonic()
    late = played.get("/v1/trial-balance", role="auditor", at_least=head + 1, wait_ms=100)
    problem = refused(late, 503, "position-not-reached", retry="later")
    assert problem["projected_position"] == head
    assert late.headers["retry-after"] == "1"
    assert time.monotonic() - began >= 0.1
    played.registered("Newcomer")
    projecting = threading.Timer(0.1, played.project)
    projecting.start()
    answer = played.get("/v1/trial-balance", role="auditor", at_least=head + 1, wait_ms=5_000)
    assert answer.json()["position"] > head
    projecting.join()


def test_a_token_is_asked_for_before_anything_is_waited_for(played: Room) -> None:
    began = time.monotonic()
    answer = played.http.get("/v1/trial-balance?at_least=999999999&wait_ms=5000")
    refused(answer, 401, "token-missing")
    assert time.monotonic() - began < 2
