"""Whether the process can serve: it says so, and recovers by itself."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier, Literal

from api.health import Readiness
from tests.api.conftest import Room, refused, serving
from tests.conftest import Server


@contextmanager
def no_database(postgres: Server, dsn: str) -> Iterator[None]:
    """Cut the database off: no connection lives, none is let in."""
    name = str(conninfo_to_dict(dsn)["dbname"])
    with psycopg.connect(postgres.admin, autocommit=True) as connection:
        allow = SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        connection.execute(allow.format(Identifier(name), Literal(False)))
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
        )
        try:
            yield
        finally:
            connection.execute(allow.format(Identifier(name), Literal(True)))


def test_a_process_is_ready_while_its_projections_keep_up(room: Room) -> None:
    room.project()
    answer = room.http.get("/readyz")
    ready = Readiness.model_validate(answer.json())
    assert (answer.status_code, ready.status) == (200, "ready")
    assert ready.journal_position == ready.projected_position
    assert ready.lag_seconds == 0


def test_projections_that_lag_make_a_process_not_ready(module_dsn: str) -> None:
    with serving(module_dsn, ready_lag_seconds=0.001) as room:
        room.registered("Unprojected")
        time.sleep(0.01)
        answer = room.http.get("/readyz")
        found = Readiness.model_validate(answer.json())
        assert (answer.status_code, found.projections, found.database) == (503, False, True)
        room.project()
        assert room.http.get("/readyz").status_code == 200


def test_a_database_that_is_away_is_told_and_everything_goes_on_when_it_is_back(
    postgres: Server, room: Room
) -> None:
    player = room.registered("Patient")
    body = {"nickname": "Patience"}
    with no_database(postgres, room.dsn):
        assert room.http.get("/livez").status_code == 200
        away = room.http.get("/readyz")
        assert (away.status_code, away.json()["database"]) == (503, False)
        read = room.get(f"/v1/players/{player}", role="support")
        refused(read, 503, "database-unavailable", retry="later")
        metrics = room.http.get("/metrics")
        assert metrics.status_code == 200
        assert "cardroom_queue_depth" in metrics.text
        assert "cardroom_journal_position" not in metrics.text
        answer = room.post(f"/v1/players/{player}/nickname", body, role="support", key="n-1")
        refused(answer, 503, "database-unavailable", retry="later")
        assert answer.headers["retry-after"]
    answer = room.post(f"/v1/players/{player}/nickname", body, role="support", key="n-1")
    assert answer.status_code == 200
    assert room.get(f"/v1/players/{player}", role="support").json()["nickname"] == "Patience"


def test_metrics_count_requests_by_route_and_hands_by_outcome(room: Room) -> None:
    room.project()
    room.hand([{}])
    room.get("/v1/players/3b1f6c1e-6d0f-4f0e-9a57-0c5f6f0b7a11", role="support")
    lines = room.http.get("/metrics").text.splitlines()
    values = {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line[0] != "#"
    }
    assert values['cardroom_hands_total{status="refused"}'] >= 1
    route = 'method="GET",route="/v1/players/{player}",status="404"'
    assert values[f"cardroom_requests_total{{{route}}}"] == 1
    assert values['cardroom_requests_total{method="POST",route="/v1/hands",status="200"}'] >= 1
    assert values["cardroom_projector_lag_positions"] == 0
    assert values["cardroom_waiting_hands"] == 0
    assert values['cardroom_open_findings{code="wrong-rake"}'] == 0
    assert values["cardroom_journal_position"] > 0


def read(room: Room) -> dict[str, float]:
    lines = room.http.get("/metrics").text.splitlines()
    pairs = [line.rpartition(" ") for line in lines if line[0] != "#"]
    return {name: float(value) for name, _, value in pairs}


def test_metrics_count_refusals_by_code_those_in_a_batch_too(room: Room) -> None:
    before = read(room)
    room.get("/v1/players/3b1f6c1e-6d0f-4f0e-9a57-0c5f6f0b7a11", role="support")
    answer = room.post("/v1/hands", [{}, {}], role="game-server")
    codes = [result["problem"]["code"] for result in answer.json()["results"]]
    after = read(room)

    def more(code: str) -> float:
        name = f'cardroom_refusals_total{{code="{code}"}}'
        return after[name] - before.get(name, 0)

    assert more("unknown-player") == 1
    assert (len(codes), more(codes[0])) == (2, 2)


def test_metrics_tell_how_long_commands_take(room: Room) -> None:
    before = read(room)["cardroom_commit_seconds_count"]
    room.registered("Timed")
    assert read(room)["cardroom_commit_seconds_count"] == before + 1


def test_metrics_tell_of_the_last_check_and_of_the_database(room: Room) -> None:
    assert "cardroom_check_age_seconds" not in read(room)
    room.sql(
        "INSERT INTO audit.checks (checked_at, position, digest, seals, findings, seconds)"
        " VALUES (now() - interval '1 hour', 7, '', 0, 3, 2.5) RETURNING id"
    )
    found = read(room)
    assert 3600 <= found["cardroom_check_age_seconds"] < 3700
    told = [found[f"cardroom_check_{what}"] for what in ("findings", "position", "seconds")]
    assert told == [3, 7, 2.5]
    assert found["cardroom_database_bytes"] > 1_000_000
    assert found["cardroom_database_sessions"] >= 1
    assert found["cardroom_database_sessions_lost"] >= 0
    assert found["cardroom_oldest_transaction_seconds"] < 60


@pytest.mark.parametrize("path", ["/v1/hands", "/v1/players"])
def test_a_request_id_is_given_back(room: Room, path: str) -> None:
    answer = httpx.post(f"{room.url}{path}", headers={"X-Request-Id": "mine-1"})
    assert answer.headers["x-request-id"] == "mine-1"
    assert answer.json()["request_id"] == "mine-1"
