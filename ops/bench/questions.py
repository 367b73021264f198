"""An auditor's questions, timed: each is asked many times, about something else each time."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import psycopg

from ops.bench.http import Connection, Disconnected, Requests

CANDIDATES: Final = 5_000
"""Players, tables and hands that are asked about, drawn once."""

ENTRIES_A_HAND: Final = 8
"""About how many positions lie between two hands, to find hands spread over the book."""


class Subjects(NamedTuple):
    """What is asked about."""

    players: Sequence[str]
    tables: Sequence[str]
    hands: Sequence[str]
    partners: Sequence[str]
    accounts: Sequence[str]
    events: Sequence[str]
    last_position: int
    first_at: datetime
    last_at: datetime


class Kind(NamedTuple):
    """Questions of one kind, and within which time all but one in a hundred are answered."""

    name: str
    below_ms: float
    ask: Callable[[Random, Subjects], str]


class Timed(NamedTuple):
    """Latencies of the questions of a kind, in milliseconds, in order."""

    kind: Kind
    sorted_ms: Sequence[float]

    def at(self, share: float) -> float:
        """Return what this share of the questions did not exceed."""
        return self.sorted_ms[min(len(self.sorted_ms) - 1, int(share * len(self.sorted_ms)))]


class Unanswered(Exception):
    """A question was answered with a problem."""


def subjects(connection: psycopg.Connection[Any], rng: Random) -> Subjects:
    """Draw what is asked about from the whole of the book."""

    def column(query: str, *values: Any) -> list[Any]:
        return [value for (value,) in connection.execute(query, values or None)]

    [last] = column("SELECT position FROM book.generation")
    drawn = [rng.randrange(1, last + 1) for _ in range(CANDIDATES)]
    around = [position + step for position in drawn for step in range(ENTRIES_A_HAND)]
    return Subjects(
        players=_some(rng, column("SELECT player::text FROM book.players")),
        tables=_some(rng, column("SELECT table_id FROM book.tables")),
        hands=column(
            "SELECT ltrim(split_part(originator_id, ':', 3), '0') FROM journal.events"
            " WHERE notification_id = ANY(%s) AND topic = 'hand.posted.v1'",
            around,
        ),
        partners=column("SELECT DISTINCT partner FROM book.players"),
        accounts=column("SELECT code FROM book.accounts WHERE player IS NULL AND table_id IS NULL"),
        events=column("SELECT name FROM book.kinds"),
        last_position=last,
        first_at=min(column("SELECT min(first_occurred_at) FROM book.blocks")),
        last_at=max(column("SELECT max(recorded_at) FROM journal.commits")),
    )


def _some(rng: Random, values: list[str]) -> Sequence[str]:
    return rng.sample(values, min(len(values), CANDIDATES))


# -- the questions -------------------------------------------------------------------------------


def _as_of(rng: Random, about: Subjects) -> str:
    """Ask for a random instant: by position, by occurred time, or both."""
    position = f"position={rng.randrange(1, about.last_position + 1)}"
    instant = about.first_at + rng.random() * (about.last_at - about.first_at)
    occurred = f"occurred_at={_text(instant)}"
    return rng.choice((position, occurred, f"{position}&{occurred}"))


def _funds(rng: Random, about: Subjects) -> str:
    return f"/v1/client-funds?{_as_of(rng, about)}"


def _statement(rng: Random, about: Subjects) -> str:
    what = rng.choice(("players", "tables", "accounts"))
    of = rng.choice(getattr(about, what))
    begins = about.first_at + rng.random() * (about.last_at - about.first_at)
    period = rng.choice(
        (
            "",
            f"&occurred_from={_text(begins)}",
            f"&position_from={rng.randrange(1, about.last_position + 1)}",
        )
    )
    return f"/v1/statements/{what}/{quote(of, safe='')}?limit=100{period}"


def _windows(rng: Random, about: Subjects) -> str:
    # As of an instant at which windows of some of the hands close within three days.
    at = about.first_at + timedelta(days=28) + rng.random() * (about.last_at - about.first_at)
    partner = rng.choice(about.partners)
    return f"/v1/protest-windows?partner={partner}&closing_within_days=3&at={_text(at)}"


def _first_page(rng: Random, about: Subjects) -> str:
    player, table = rng.choice(about.players), quote(rng.choice(about.tables), safe="")
    hand, partner = rng.choice(about.hands), rng.choice(about.partners)
    event = rng.choice(about.events)
    at = about.first_at + rng.random() * (about.last_at - about.first_at)
    return rng.choice(
        (
            "/v1/entries",
            f"/v1/entries?player={player}",
            f"/v1/entries?table={table}",
            f"/v1/entries?hand={hand}",
            f"/v1/entries?partner={partner}&component=bankroll",
            f"/v1/entries?event={event}",
            f"/v1/entries?occurred_from={_text(at)}&order=oldest-first",
            f"/v1/entries?player={player}&occurred_before={_text(at)}",
            f"/v1/tables/{table}/days?first={at.date()}&last={at.date() + timedelta(days=7)}",
            "/v1/tables",
            "/v1/bankrolls",
            f"/v1/bankrolls?partner={partner}",
            "/v1/deposits",
            f"/v1/deposits?player={player}",
            "/v1/withdrawals",
            "/v1/findings",
            "/v1/player-register",
        )
    )


KINDS: Final = (
    Kind("client funds as of any instant", 100, _funds),
    Kind("a page of a statement", 30, _statement),
    Kind("protest windows of a partner in 3 days", 100, _windows),
    Kind("the first page of a list", 30, _first_page),
)


def _text(instant: datetime) -> str:
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# -- asking --------------------------------------------------------------------------------------


def timed(port: int, token: str, about: Subjects, times: int, seed: int) -> list[Timed]:
    """Ask each kind so many times, one client, one question at a time; raises Unanswered."""
    return asyncio.run(_timed(port, token, about, times, seed))


async def _timed(port: int, token: str, about: Subjects, times: int, seed: int) -> list[Timed]:
    rng = Random(seed)  # noqa: S311
    client = _Client(port, Requests(port, token))
    found = []
    for kind in KINDS:
        latencies = []
        for path in _paths(kind, rng, about, times):
            began = time.perf_counter()
            await client.get(path)
            latencies.append(1000 * (time.perf_counter() - began))
        found.append(Timed(kind, sorted(latencies)))
    client.close()
    return found


def _paths(kind: Kind, rng: Random, about: Subjects, times: int) -> Iterator[str]:
    for _ in range(times):
        yield kind.ask(rng, about)


class _Client:
    """One client; the API closes a connection that was idle, and then it opens another."""

    def __init__(self, port: int, requests: Requests) -> None:
        self._port = port
        self._requests = requests
        self._connection: Connection | None = None

    async def get(self, path: str) -> bytes:
        for attempt in range(3):
            if self._connection is None or self._connection.closed:
                self._connection = await Connection.open(self._port)
            try:
                status, body = await self._connection.send(self._requests.read(path))
            except Disconnected:
                if attempt == 2:
                    raise
                continue
            if status != 200:
                raise Unanswered(f"{path}: {status} {body[:500].decode()}")
            return body
        raise Unanswered(path)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
