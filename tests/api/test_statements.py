"""Statements and comparisons over HTTP: whose they are, which period, and where they lead."""

import csv as reader
import io
from typing import Any

import pytest

from api import comparison, csv, statements
from tests.api.conftest import Room, refused
from tests.api.test_books import game_of, played
from tests.api.test_csv import fetched, records

__all__ = ["played"]


def paths(room: Room) -> list[tuple[str, str]]:
    game = game_of(room)
    return [
        (f"/v1/statements/players/{game.players[0]}", "support"),
        ("/v1/statements/partners/kerching", "support"),
        (f"/v1/statements/tables/{game.table}", "auditor"),
        ("/v1/statements/providers/cardpay", "auditor"),
        ("/v1/statements/accounts/rake:entraction:kerching", "auditor"),
    ]


def pages(room: Room, path: str, role: str, **query: Any) -> list[dict[str, Any]]:
    found = []
    while True:
        answer = room.get(path, role=role, **query)
        assert answer.status_code == 200, answer.text
        statements.StatementAnswer.model_validate(answer.json())
        found.append(answer.json())
        if found[-1]["cursor"] is None:
            return found
        query["cursor"] = found[-1]["cursor"]


def adds_up(found: list[dict[str, Any]]) -> None:
    """Check that each account's balance runs from its opening to its closing one."""
    held = {(row["account"], row["currency"]): row["opening_minor"] for row in found[0]["accounts"]}
    sums = {(row["account"], row["currency"]): [0, 0] for row in found[0]["accounts"]}
    for page in found:
        for line in page["lines"]:
            key = (line["account"], line["currency"])
            change = line["debit_minor"] - line["credit_minor"]
            assert abs(line["balance_minor"] - held[key]) == abs(change)
            held[key] = line["balance_minor"]
            sums[key][0] += line["debit_minor"]
            sums[key][1] += line["credit_minor"]
    for row in found[0]["accounts"]:
        key = (row["account"], row["currency"])
        assert row["closing_minor"] == held[key]
        assert [row["debit_minor"], row["credit_minor"]] == sums[key]
    for total in found[-1]["totals"]:
        assert total["lines"] == sum(len(page["lines"]) for page in found)
        assert total["debit_minor"] == sum(debit for debit, _ in sums.values())
        assert total["credit_minor"] == sum(credit for _, credit in sums.values())


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize(
    "period",
    [
        {},
        {"position_from": 25},
        {"position_from": 25, "position_before": 40},
        {"position_before": 1},
        {"recorded_from": "2001-01-01T00:00:00Z", "recorded_before": "9999-12-31T00:00:00Z"},
        {"recorded_before": "2001-01-01T00:00:00Z"},
        {"occurred_from": "2013-05-01T00:00:00Z", "occurred_before": "2013-05-02T00:00:00Z"},
        {"occurred_from": "2013-05-02T00:00:00+02:00"},
        {"occurred_before": "2013-05-01T20:15:00Z"},
        {"occurred_from": "0001-01-01T00:00:00Z", "occurred_before": "9999-12-31T23:59:59.999999Z"},
        {"occurred_before": "0001-01-01T00:00:00Z"},
        {"recorded_from": "0001-01-01T00:00:00Z", "recorded_before": "9999-12-31T23:59:59.999999Z"},
        {"position": 30},
    ],
)
def test_a_statement_adds_up_on_every_page(
    played: Room, number: int, period: dict[str, Any]
) -> None:
    path, role = paths(played)[number]
    whole = pages(played, path, role, limit=500, **period)
    paged = pages(played, path, role, limit=2, **period)
    adds_up(whole)
    adds_up(paged)
    assert [line for page in paged for line in page["lines"]] == whole[0]["lines"]
    assert paged[0]["accounts"] == whole[0]["accounts"]
    assert len(whole[0]["lines"]) < 3 or len(paged) > 1


def test_a_players_statement_closes_with_what_he_has(played: Room) -> None:
    player = game_of(played).players[0]
    [page] = pages(played, f"/v1/statements/players/{player}", "support", limit=500)
    bankroll = played.get(f"/v1/players/{player}/bankroll", role="support").json()
    [purse] = bankroll["purses"]
    closing = {row["component"]: row["closing_minor"] for row in page["accounts"]}
    assert closing["bankroll"] == purse["cash_minor"]
    assert closing["withdrawal"] == purse["pending_minor"] == 700
    assert closing["chips"] == purse["chips_minor"]
    assert page["lines"][0]["event"] == "player.deposited.v1"
    assert [line["position"] for line in page["lines"]] == sorted(
        line["position"] for line in page["lines"]
    )


def test_a_partners_statement_is_of_its_own_accounts(played: Room) -> None:
    [page] = pages(played, "/v1/statements/partners/kerching", "support", limit=500)
    assert [row["account"] for row in page["accounts"]] == ["rake:entraction:kerching"]
    days = played.get(
        f"/v1/tables/{game_of(played).table}/days",
        role="auditor",
        first="2013-05-01",
        last="2013-05-01",
    ).json()
    earned = [row for row in days["rake_by_partner"] if row["partner"] == "kerching"]
    assert page["accounts"][0]["closing_minor"] == earned[0]["rake_minor"]


@pytest.mark.parametrize("number", range(5))
def test_a_statement_as_csv_opens_and_closes(
    played: Room, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv, "PAGE", 4)
    path, role = paths(played)[number]
    [page] = pages(played, path, role, limit=500)
    answer = fetched(played, path, role)
    rows, end = records(answer)
    header = next(reader.reader(io.StringIO(answer.text)))
    assert header[0] == "row"
    of = {which: [row for row in rows if row["row"] == which]
          for which in ("opening", "line", "closing")}  # fmt: skip
    assert end[1] == f"rows={len(rows)}"
    assert [row["row"] for row in rows] == (
        ["opening"] * len(page["accounts"])
        + ["line"] * len(page["lines"])
        + ["closing"] * len(page["accounts"])
    )
    for shown, account in zip(of["closing"], page["accounts"], strict=True):
        assert shown["account"] == account["account"]
        for column, figure in (("debit", "debit"), ("credit", "credit"), ("balance", "closing")):
            assert shown[f"{column}_minor"] == str(account[f"{figure}_minor"])
            assert shown[column] == account[figure]
    assert [row["balance"] for row in of["line"]] == [line["balance"] for line in page["lines"]]
    assert [row["hand"] or None for row in of["line"]] == [line["hand"] for line in page["lines"]]


def test_a_partner_reads_statements_of_itself_and_its_players_alone(played: Room) -> None:
    game = game_of(played)
    ours, theirs = game.players
    mine = {"role": "partner", "partner": "kerching"}
    page = played.get(f"/v1/statements/players/{ours}", **mine).json()
    assert page["lines"]
    # Links that the token may not follow are not given.
    assert set(page["lines"][-1]["links"]) <= {"hand", "table", "player", "statement"}
    assert played.get("/v1/statements/partners/kerching", **mine).json()["lines"]
    refused(played.get(f"/v1/statements/players/{theirs}", **mine), 404, "not-your-player")
    refused(played.get("/v1/statements/partners/another", **mine), 403, "not-your-partner")
    refused(played.get(f"/v1/statements/tables/{game.table}", **mine), 403, "missing-scope")
    refused(played.get("/v1/hands", **mine), 403, "not-your-partner")


def test_a_read_of_a_players_statement_is_recorded(played: Room) -> None:
    player = game_of(played).players[1]
    reads = "SELECT count(*) FROM audit.reads WHERE what = 'statement' AND subject LIKE %s"
    before = played.sql(reads, f"%{player}")[0][0]
    played.get(f"/v1/statements/players/{player}", role="support")
    account = f"chips:entraction:{game_of(played).table}:{player}"
    played.get(f"/v1/statements/accounts/{account}", role="auditor")
    assert played.sql(reads, f"%{player}")[0][0] == before + 2


@pytest.mark.parametrize(
    ("path", "query", "status", "code", "field"),
    [
        ("players/{player}", {"position_from": 9, "position_before": 3}, 422, "invalid-value",
         "position_before"),
        ("players/{player}", {"position_from": 9, "occurred_before": "2013-05-01T00:00:00Z"}, 422,
         "invalid-value", "occurred_from"),
        ("players/{player}", {"occurred_from": "May"}, 422, "invalid-value", "occurred_from"),
        ("players/{player}", {"occurred_at": "2013-05-01T00:00:00Z"}, 422, "as-of-not-kept",
         "occurred_at"),
        ("players/{player}", {"cursor": "x"}, 422, "invalid-cursor", "cursor"),
        ("players/3b1f6c1e-6d0f-4f0e-9a57-0c5f6f0b7a11", {}, 404, "unknown-player", "player"),
        ("tables/Nowhere", {}, 404, "unknown-table", "table"),
        ("providers/nobody", {}, 404, "unknown-account", None),
        ("accounts/bank:elsewhere", {}, 404, "unknown-account", None),
        ("accounts/chips:entraction:x", {}, 404, "unknown-account", None),
        ("accounts/nonsense", {}, 404, "unknown-account", None),
    ],
)  # fmt: skip
def test_a_statement_that_cannot_be_is_refused(
    played: Room, path: str, query: dict[str, Any], status: int, code: str, field: str | None
) -> None:
    path = path.format(player=game_of(played).players[0])
    answer = played.get(f"/v1/statements/{path}", role="auditor", **query)
    refused(answer, status, code, field=field)


def test_a_partner_without_income_has_an_empty_statement(played: Room) -> None:
    [page] = pages(played, "/v1/statements/partners/unheard-of", "support")
    assert (page["accounts"], page["lines"], page["totals"]) == ([], [], [])


# -- comparison ----------------------------------------------------------------------------------


def compared(room: Room, **query: Any) -> dict[str, Any]:
    answer = room.get("/v1/comparison", role="auditor", **query)
    assert answer.status_code == 200, answer.text
    comparison.ComparisonAnswer.model_validate(answer.json())
    found: dict[str, Any] = answer.json()
    return found


def follow(room: Room, url: str) -> list[dict[str, Any]]:
    answer = room.get(f"{url}&limit=500", role="auditor")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["entries"]
    return found


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"from_position": 24},
        {"from_position": 24, "to_position": 50},
        {"from_occurred_at": "2013-05-01T12:00:00Z", "to_occurred_at": "2013-05-02T00:00:00Z"},
        {"from_position": 24, "to_position": 50, "from_occurred_at": "2013-05-02T00:00:00Z"},
        {"from_recorded_at": "2001-01-01T00:00:00Z", "to_recorded_at": "2100-01-01T00:00:00Z"},
    ],
)
def test_the_links_lead_to_what_makes_the_difference(played: Room, query: dict[str, Any]) -> None:
    found = compared(played, limit=500, **query)
    assert found["accounts"]
    for row in [*found["components"], *found["accounts"]]:
        entries = [
            entry
            for name in ("recorded", "happened")
            if name in row["links"]
            for entry in follow(played, row["links"][name])
        ]
        change = sum(entry["debit_minor"] - entry["credit_minor"] for entry in entries)
        assert abs(row["difference_minor"]) == abs(change)
        assert row["then_minor"] - row["before_minor"] == row["difference_minor"]
        if "debit_minor" in row:
            assert row["debit_minor"] == sum(entry["debit_minor"] for entry in entries)
            assert row["credit_minor"] == sum(entry["credit_minor"] for entry in entries)
    [total] = found["totals"]
    assert total["debit_minor"] == total["credit_minor"] > 0


def test_changed_accounts_are_paged_and_filtered(played: Room) -> None:
    whole = compared(played, limit=500)["accounts"]
    paged: list[dict[str, Any]] = []
    query: dict[str, Any] = {"limit": 2}
    for number in range(20):
        page = compared(played, **query)
        paged += page["accounts"]
        assert (page["components"] is None) is (number > 0)
        if page["cursor"] is None:
            break
        query["cursor"] = page["cursor"]
    assert paged == whole
    rake = compared(played, component="rake")
    assert {row["component"] for row in rake["accounts"] + rake["components"]} == {"rake"}
    ours = compared(played, partner="kerching")
    assert {row["partner"] for row in ours["accounts"] + ours["components"]} == {"kerching"}


def test_the_same_instant_twice_differs_by_nothing(played: Room) -> None:
    found = compared(played, from_position=40, to_position=40)
    assert (found["components"], found["accounts"], found["totals"]) == ([], [], [])
    assert found["before"]["position"] == found["then"]["position"] == found["position"] == 40


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"from_position": 50, "to_position": 40}, "to_position"),
        ({"from_position": 5, "to_occurred_at": "2013-05-01T00:00:00Z"}, "to_occurred_at"),
        ({"from_occurred_at": "2013-05-02T00:00:00Z", "to_occurred_at": "2013-05-01T00:00:00Z"},
         "to_occurred_at"),
        ({"from_position": 5, "from_recorded_at": "2013-05-01T00:00:00Z"}, "from_recorded_at"),
        ({"to_position": 5, "to_recorded_at": "2013-05-01T00:00:00Z"}, "to_recorded_at"),
        ({"to_position": -1}, "to_position"),
    ],
)  # fmt: skip
def test_instants_that_cannot_be_compared_are_refused(
    played: Room, query: dict[str, Any], field: str
) -> None:
    answer = played.get("/v1/comparison", role="auditor", **query)
    refused(answer, 422, "invalid-value", field=field)
