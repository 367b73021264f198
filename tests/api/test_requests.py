"""A request under its key: once, again, differently, and while it runs."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest

from api.requests import RequestAnswer
from tests.api.conftest import Room, refused, serving
from tests.ledger.hands.posts import a_flop, encoded

APPEND_LOCK = 7215501113


def body(player: str, amount_minor: int = 1000, **changes: Any) -> dict[str, Any]:
    return {
        "player": player,
        "instrument": "tok_1",
        "currency": "EUR",
        "amount_minor": amount_minor,
        **changes,
    }


@pytest.fixture(scope="module")
def player(room: Room) -> str:
    return room.funded("Repeater", 50_000)


def bankroll(room: Room, player: str) -> int:
    found = room.get(f"/v1/players/{player}", role="support").json()
    return int(found["balances"][0]["bankroll_minor"])


def test_the_same_request_again_answers_the_first_result_and_moves_nothing(
    room: Room, player: str
) -> None:
    first = room.post("/v1/withdrawals", body(player), role="cashier", key="w-1")
    before = bankroll(room, player)
    other_order = dict(reversed(body(player).items()))
    again = room.post("/v1/withdrawals", other_order, role="cashier", key="w-1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == {**first.json(), "repeated": True}
    assert "idempotent-replay" not in first.headers
    assert again.headers["idempotent-replay"] == "true"
    assert bankroll(room, player) == before


def test_a_request_is_found_by_its_key_whatever_it_is(room: Room, player: str) -> None:
    for key in ("order/17", "a%2Fb", "//", "50%", "?#&"):
        assert room.post("/v1/withdrawals", body(player), role="cashier", key=key).is_success
        found = room.get(f"/v1/requests/{quote(key, safe='')}", role="cashier")
        assert (found.status_code, found.json().get("key")) == (200, key)


def test_a_refusal_again_is_the_same_refusal(room: Room, player: str) -> None:
    asked = body(player, 10**9)
    first = room.post("/v1/withdrawals", asked, role="cashier", key="w-2")
    again = room.post("/v1/withdrawals", asked, role="cashier", key="w-2")
    refused(first, 422, "insufficient-funds", available=first.json()["available"])
    problem = refused(again, 422, "insufficient-funds", repeated=True)
    assert again.headers["idempotent-replay"] == "true"
    assert problem["available_minor"] == first.json()["available_minor"]


@pytest.mark.parametrize(
    ("changes", "differing"),
    [
        ({"amount_minor": 2000}, ["amount_minor"]),
        ({"instrument": "tok_2", "amount_minor": 1}, ["amount_minor", "instrument"]),
    ],
)
def test_the_same_key_with_other_content_is_refused_with_the_fields_that_differ(
    room: Room, player: str, changes: dict[str, Any], differing: list[str]
) -> None:
    room.post("/v1/withdrawals", body(player), role="cashier", key="w-3")
    before = bankroll(room, player)
    answer = room.post("/v1/withdrawals", body(player, **changes), role="cashier", key="w-3")
    refused(answer, 422, "idempotency-key-reused", retry="after-fix", differing=differing)
    assert bankroll(room, player) == before


def test_the_same_key_on_another_path_is_refused(room: Room, player: str) -> None:
    room.post("/v1/withdrawals", body(player), role="cashier", key="w-4")
    answer = room.post("/v1/deposits/some-deposit/confirm", role="cashier", key="w-4")
    problem = refused(answer, 422, "idempotency-key-reused")
    assert {"request", "path.deposit", "amount_minor"} <= set(problem["differing"])


def test_a_key_belongs_to_its_client(room: Room, player: str) -> None:
    room.post("/v1/withdrawals", body(player), role="cashier", key="w-5")
    other = room.post(
        "/v1/withdrawals", body(player, 1234), role="cashier", key="w-5", client="another-desk"
    )
    assert other.status_code == 201
    assert not other.json()["repeated"]


def test_a_refusal_that_may_pass_leaves_the_key_open(room: Room) -> None:
    player = room.funded("Comeback", 5000)
    path = f"/v1/players/{player}"
    room.post(f"{path}/suspend", {"ground": "fraud", "reason": "Why."}, role="compliance")
    answer = room.post("/v1/withdrawals", body(player), role="cashier", key="w-6")
    refused(answer, 403, "player-suspended", retry="later")
    room.post(f"{path}/reinstate", {"reason": "Cleared."}, role="compliance")
    answer = room.post("/v1/withdrawals", body(player), role="cashier", key="w-6")
    assert (answer.status_code, answer.json()["repeated"]) == (201, False)


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (None, "idempotency-key-missing"),
        ("", "idempotency-key-missing"),
        ("x" * 129, "idempotency-key-invalid"),
        ("two words", "idempotency-key-invalid"),
        ("naïve".encode(), "idempotency-key-invalid"),
    ],
)
def test_a_post_without_a_proper_key_is_refused(
    room: Room, player: str, key: Any, code: str
) -> None:
    headers: dict[str, Any] = {"Authorization": f"Bearer {room.token('cashier')}"}
    if key is not None:
        headers["Idempotency-Key"] = key
    answer = room.http.post("/v1/withdrawals", json=body(player), headers=headers)
    refused(answer, 400, code)


def test_what_became_of_a_request_is_told_to_its_client_alone(room: Room, player: str) -> None:
    done = room.post("/v1/withdrawals", body(player), role="cashier", key="w-7")
    room.post("/v1/withdrawals", body(player, 10**9), role="cashier", key="w-8")
    found = RequestAnswer.model_validate(room.get("/v1/requests/w-7", role="cashier").json())
    assert (found.status, found.position) == ("done", done.json()["position"])
    assert found.answer is not None
    assert found.answer["withdrawal"] == done.json()["withdrawal"]
    found = RequestAnswer.model_validate(room.get("/v1/requests/w-8", role="cashier").json())
    assert found.status == "refused"
    assert found.problem is not None
    assert found.problem["code"] == "insufficient-funds"
    refused(room.get("/v1/requests/w-7", role="support"), 404, "request-not-found", retry="later")
    refused(room.get("/v1/requests/none", role="cashier"), 404, "request-not-found")


@contextmanager
def nothing_is_appended(room: Room) -> Iterator[None]:
    """Hold the append lock, as another process would in the middle of a long append."""
    with psycopg.connect(room.dsn) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [APPEND_LOCK])
        yield
        connection.rollback()


class Posting:
    """A request that is made in a thread of its own."""

    def __init__(self, room: Room, asked: dict[str, Any], key: str) -> None:
        self._room, self._asked, self._key = room, asked, key
        self._thread = threading.Thread(target=self._post)
        self._thread.start()

    def _post(self) -> None:
        headers = {
            "Authorization": f"Bearer {self._room.token('cashier')}",
            "Idempotency-Key": self._key,
        }
        url = f"{self._room.url}/v1/withdrawals"
        self._answer = httpx.post(url, json=self._asked, headers=headers, timeout=30)

    def answer(self) -> httpx.Response:
        self._thread.join(30)
        return self._answer


def until(condition: Any) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_key_whose_request_still_runs_is_refused_for_now(room: Room, player: str) -> None:
    def running() -> bool:
        found = room.get("/v1/requests/w-9", role="cashier").json()
        return bool(found.get("status") == "running")

    with nothing_is_appended(room):
        first = Posting(room, body(player), "w-9")
        until(running)
        second = room.post("/v1/withdrawals", body(player), role="cashier", key="w-9")
        refused(second, 409, "request-in-progress", retry="later")
    assert first.answer().status_code == 201
    again = room.post("/v1/withdrawals", body(player), role="cashier", key="w-9")
    assert again.json()["repeated"]


def test_a_full_queue_is_told_and_takes_nothing(module_dsn: str, room: Room, player: str) -> None:
    def depth() -> float:
        lines = narrow.http.get("/metrics").text.splitlines()
        return float(
            next(line for line in lines if line.startswith("cardroom_queue_depth")).split()[1]
        )

    with serving(module_dsn, queue_limit=1) as narrow:
        with nothing_is_appended(narrow):
            # One is being appended, the next is decided, a third waits; more is too much.
            posted_before = []
            for key, waiting in (("q-1", 0), ("q-2", 0), ("q-0", 1)):
                posted_before.append(Posting(narrow, body(player), key))
                until(lambda: _is_running(narrow, key) and depth() == waiting)  # noqa: B023
            third = narrow.post("/v1/withdrawals", body(player), role="cashier", key="q-3")
            refused(third, 503, "queue-full", retry="later")
            assert third.headers["retry-after"] == "1"
            posted = narrow.hand(encoded(a_flop()))
            refused(posted, 503, "queue-full", retry="later")
            assert posted.headers["retry-after"] == "1"
            ready = narrow.http.get("/readyz")
            assert (ready.status_code, ready.json()["queue"]) == (503, False)
        assert {one.answer().status_code for one in posted_before} == {201}
        third = narrow.post("/v1/withdrawals", body(player), role="cashier", key="q-3")
        assert (third.status_code, third.json()["repeated"]) == (201, False)


def _is_running(room: Room, key: str) -> bool:
    found = room.get(f"/v1/requests/{key}", role="cashier").json()
    return bool(found.get("status") == "running")
