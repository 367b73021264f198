"""A room that serves the real API on a real port, over a database of its own per test module."""

import itertools
import json
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest
import uvicorn
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from api.app import create_app
from api.settings import EdgeSettings
from api.tokens import issue
from ledger.core import Command
from ledger.identity import Identity
from ledger.journal import Journal, Submission
from projections import checkpoints, generations, runner
from tests.conftest import Server, create_database

NETWORK = "entraction"
IDENTITY_KEY = "0f" * 32
JWT_KEY = "a5" * 32


class Room:
    """A served API: tokens by role, requests with fresh keys, and the books behind it."""

    def __init__(self, url: str, dsn: str, settings: EdgeSettings) -> None:
        self.url = url
        self.dsn = dsn
        self.settings = settings
        self.identity = Identity(settings.identity_key_bytes)
        self.http = httpx.Client(base_url=url, timeout=30)
        self._tokens: dict[tuple[str, str | None, str, str, str], str] = {}
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    def token(
        self,
        role: str,
        partner: str | None = None,
        *,
        network: str = NETWORK,
        client: str = "",
        subject: str = "",
    ) -> str:
        name = (role, partner, network, client, subject)
        if name not in self._tokens:
            self._tokens[name] = issue(
                bytes.fromhex(JWT_KEY),
                subject=subject or f"{role}-1",
                client=client or partner or role,
                network=network,
                at=datetime.now(UTC),
                lifetime=timedelta(hours=1),
                role=role,
                partner=partner,
            )
        return self._tokens[name]

    def post(
        self,
        path: str,
        body: Any = None,
        *,
        role: str,
        partner: str | None = None,
        key: str | None = None,
        **token: str,
    ) -> httpx.Response:
        headers = {
            "Authorization": f"Bearer {self.token(role, partner, **token)}",
            "Idempotency-Key": key or f"{self._prefix}-{next(self._numbers)}",
        }
        if body is None:
            return self.http.post(path, headers=headers)
        headers["Content-Type"] = "application/json"
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.http.post(path, headers=headers, content=content)

    def get(
        self, path: str, *, role: str, partner: str | None = None, **query: Any
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token(role, partner)}"}
        return self.http.get(path, headers=headers, params=query or None)

    def hand(self, hand: Any, *, query: str = "", content_type: str = "application/json") -> Any:
        headers = {
            "Authorization": f"Bearer {self.token('game-server')}",
            "Content-Type": content_type,
        }
        content = hand if isinstance(hand, bytes) else json.dumps(hand).encode()
        return self.http.post(f"/v1/hands{query}", headers=headers, content=content)

    def carry_out(self, *commands: Command) -> None:
        """Carry commands out behind the API's back, as another process would."""
        journal = Journal(self.dsn, writer="test")
        try:
            submissions = [Submission(command, "test") for command in commands]
            for outcome in journal.execute(submissions):
                assert outcome.status == "done", outcome
        finally:
            journal.close()

    def project(self) -> int:
        """Bring the projections up to the end of the journal; return where they stand."""
        generations.ensure(self.dsn)
        with runner.connect(self.dsn) as connection, checkpoints.recorder() as recorder:
            with connection.transaction(), connection.cursor() as cursor:
                number = generations.live(cursor)
            assert number is not None
            return runner.Projector(connection, recorder, number).catch_up()

    def sql(self, query: str, *values: Any) -> list[Any]:
        with psycopg.connect(self.dsn) as connection:
            return connection.execute(query, values).fetchall()

    def registered(self, nickname: str, *, partner: str = "kerching") -> str:
        """Register a player and return his id."""
        answer = self.post(
            "/v1/players",
            {
                "partner": partner,
                "nickname": nickname,
                "identity_reference": f"person-{nickname}",
                "warranties": WARRANTIES,
            },
            role="cashier",
        )
        assert answer.status_code == 201, answer.text
        return str(answer.json()["player"])

    def funded(self, nickname: str, amount_minor: int, *, partner: str = "kerching") -> str:
        """Register a player with money on his bankroll and return his id."""
        player = self.registered(nickname, partner=partner)
        answer = self.post(
            "/v1/deposits",
            {
                "player": player,
                "provider": "cardpay",
                "reference": f"in-{nickname}",
                "instrument": "tok_4f9a12",
                "currency": "EUR",
                "amount_minor": amount_minor,
                "confirmed": True,
            },
            role="cashier",
        )
        assert answer.status_code == 201, answer.text
        return player

    def opened(self, name: str, **changes: Any) -> str:
        """Open a no-limit hold'em table of six seats, 0.25/0.50, and return its id."""
        body = {
            "name": name,
            "game": "Holdem",
            "bet_type": "NL",
            "currency": "EUR",
            "size": 6,
            "small_blind_minor": 25,
            "big_blind_minor": 50,
            "min_buy_in_minor": 1000,
            "max_buy_in_minor": 10000,
        }
        answer = self.post("/v1/tables", {**body, **changes}, role="game-server")
        assert answer.status_code == 201, answer.text
        return str(answer.json()["table"])

    def seated(self, table: str, player: str, seat: int, amount_minor: int = 2000) -> None:
        """Buy a player in."""
        body = {"player": player, "seat": seat, "currency": "EUR", "amount_minor": amount_minor}
        answer = self.post(f"/v1/tables/{table}/buy-ins", body, role="game-server")
        assert answer.status_code == 201, answer.text


WARRANTIES = {
    "over_18": True,
    "full_legal_capacity": True,
    "not_citizen_of_mt": True,
    "lawful_jurisdiction": True,
    "not_employed_by_room": True,
}


@contextmanager
def fresh_database(postgres: Server) -> Iterator[str]:
    """Give a fresh migrated database until the block ends."""
    name = f"cardroom_test_{secrets.token_hex(6)}"
    create_database(postgres, name, postgres.template)
    yield make_conninfo(postgres.application, dbname=name)
    with psycopg.connect(postgres.admin, autocommit=True) as connection:
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture(scope="module")
def module_dsn(postgres: Server) -> Iterator[str]:
    """Give a fresh migrated database that a whole module of tests shares."""
    with fresh_database(postgres) as dsn:
        yield dsn


@pytest.fixture(scope="module")
def room(module_dsn: str) -> Iterator[Room]:
    """Serve the API until the module's tests are over."""
    with serving(module_dsn) as room:
        yield room


class serving:  # noqa: N801
    """Serve the API in a thread of this process."""

    def __init__(self, dsn: str, **settings: Any) -> None:
        self._settings = EdgeSettings(
            database_url=dsn, identity_key=IDENTITY_KEY, jwt_key=JWT_KEY, **settings
        )
        self._dsn = dsn

    def __enter__(self) -> Room:
        config = uvicorn.Config(
            create_app(self._settings),
            loop="uvloop",
            http="httptools",
            log_config=None,
            access_log=False,
        )
        self._server = uvicorn.Server(config)
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listening]}, daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + 30
        while not self._server.started:
            assert self._thread.is_alive(), "the server did not start"
            assert time.monotonic() < deadline, "the server did not start in time"
            time.sleep(0.01)
        port = listening.getsockname()[1]
        self._room = Room(f"http://127.0.0.1:{port}", self._dsn, self._settings)
        return self._room

    def __exit__(self, *_: object) -> None:
        self._room.http.close()
        self._server.should_exit = True
        self._thread.join(30)


def refused(answer: httpx.Response, status: int, code: str, **members: Any) -> dict[str, Any]:
    """Check that an answer is this problem, with these members, and return it."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    problem: dict[str, Any] = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code), problem
    assert problem["status"] == status
    assert problem["retry"] in ("never", "after-fix", "later")
    assert problem["request_id"] == answer.headers["x-request-id"]
    for name, value in members.items():
        assert problem[name] == value, problem
    return problem
