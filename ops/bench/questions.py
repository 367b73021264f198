"""An auditor's questions, timed: each is asked many times, about something else each time."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from random import Random
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import psycopg

from ops.bench.http import Connection, Disconnected, Requests
from ops.bench.report import Report

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


Ask = Callable[[Random, Subjects], str]


class Kind(NamedTuple):
    """Questions of one kind, and within which time all but one in a hundred are answered."""

    name: str
    below_ms: float
    variants: Mapping[str, Ask]
    """What is asked in turn, by a name of its own: the slowest must be seen among the others."""

    def ask(self, rng: Random, about: Subjects) -> tuple[str, str]:
        """Draw a question; return the name of its variant, and its path."""
        name = rng.choice(tuple(self.variants))
        return name, self.variants[name](rng, about)


class Timed(NamedTuple):
    """Latencies of the questions of a kind, in milliseconds, in order: of all, of each variant."""

    kind: Kind
    sorted_ms: Sequence[float]
    by_variant: Mapping[str, Sequence[float]]


def at_share(sorted_ms: Sequence[float], share: float) -> float:
    """Return what this share of the questions did not exceed."""
    return sorted_ms[min(len(sorted_ms) - 1, int(share * len(sorted_ms)))]


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


def _position(rng: Random, about: Subjects) -> str:
    return f"position={rng.randrange(1, about.last_position + 1)}"


def _occurred(rng: Random, about: Subjects) -> str:
    return f"occurred_at={_text(_instant(rng, about))}"


def _both(rng: Random, about: Subjects) -> str:
    return f"{_position(rng, about)}&{_occurred(rng, about)}"


def _whole(_: Random, __: Subjects) -> str:
    return ""


def _since_position(rng: Random, about: Subjects) -> str:
    return f"&position_from={rng.randrange(1, about.last_position + 1)}"


def _since_instant(rng: Random, about: Subjects) -> str:
    return f"&occurred_from={_text(_instant(rng, about))}"


def _funds(as_of: Ask) -> Ask:
    return lambda rng, about: f"/v1/client-funds?{as_of(rng, about)}"


def _statement(of: str, period: Ask) -> Ask:
    def ask(rng: Random, about: Subjects) -> str:
        subject = quote(rng.choice(getattr(about, of)), safe="")
        return f"/v1/statements/{of}/{subject}?limit=100{period(rng, about)}"

    return ask


def _windows(rng: Random, about: Subjects) -> str:
    # As of an instant at which windows of some of the hands close within three days.
    at = _instant(rng, about) + timedelta(days=28)
    partner = rng.choice(about.partners)
    return f"/v1/protest-windows?partner={partner}&closing_within_days=3&at={_text(at)}"


def _list(path: str) -> Ask:
    """Ask for the first page of a list, with something drawn in the place of each name."""

    def ask(rng: Random, about: Subjects) -> str:
        day = (at := _instant(rng, about)).date()
        drawn = {
            "player": rng.choice(about.players),
            "table": quote(rng.choice(about.tables), safe=""),
            "hand": rng.choice(about.hands),
            "partner": rng.choice(about.partners),
            "event": rng.choice(about.events),
            "instant": _text(at),
            "day": day,
            "a_week_later": day + timedelta(days=7),
        }
        return path.format(**drawn)

    return ask


_PERIODS: Final = {"all": _whole, "since a position": _since_position, "since": _since_instant}
_LISTS: Final = (
    "/v1/entries",
    "/v1/entries?player={player}",
    "/v1/entries?table={table}",
    "/v1/entries?hand={hand}",
    "/v1/entries?partner={partner}&component=bankroll",
    "/v1/entries?event={event}",
    "/v1/entries?occurred_from={instant}&order=oldest-first",
    "/v1/entries?player={player}&occurred_before={instant}",
    "/v1/hands",
    "/v1/hands?table={table}",
    "/v1/tables/{table}/days?first={day}&last={a_week_later}",
    "/v1/tables",
    "/v1/bankrolls",
    "/v1/bankrolls?partner={partner}",
    "/v1/deposits",
    "/v1/deposits?player={player}",
    "/v1/withdrawals",
    "/v1/findings",
    "/v1/player-register",
)

KINDS: Final = (
    Kind(
        "client funds as of any instant",
        100,
        {
            "by position": _funds(_position),
            "by occurred time": _funds(_occurred),
            "by both": _funds(_both),
        },
    ),
    Kind(
        "a page of a statement",
        30,
        {
            f"{of}, {name}": _statement(of, period)
            for of in ("players", "tables", "accounts")
            for name, period in _PERIODS.items()
        },
    ),
    Kind("protest windows of a partner in 3 days", 100, {"": _windows}),
    Kind("the first page of a list", 30, {path: _list(path) for path in _LISTS}),
)


def _instant(rng: Random, about: Subjects) -> datetime:
    return about.first_at + rng.random() * (about.last_at - about.first_at)


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
        latencies: dict[str, list[float]] = {name: [] for name in kind.variants}
        for _ in range(times):
            variant, path = kind.ask(rng, about)
            began = time.perf_counter()
            await client.get(path)
            latencies[variant].append(1000 * (time.perf_counter() - began))
        asked = {name: sorted(of_one) for name, of_one in latencies.items() if of_one}
        found.append(Timed(kind, sorted(chain.from_iterable(asked.values())), asked))
    client.close()
    return found


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


# -- telling -------------------------------------------------------------------------------------


def tell(report: Report, quiet: Sequence[Timed], busy: Sequence[Timed], rate: int) -> None:
    """Report what each kind took, and each variant, quiet and while hands were posted."""
    for calm, beside in zip(quiet, busy, strict=True):
        name = calm.kind.name
        for variant, taken in calm.by_variant.items():
            if len(calm.by_variant) == 1:
                continue
            while_posting = beside.by_variant.get(variant)
            note = f"p50 {at_share(taken, 0.5):.1f} of {len(taken)}"
            if while_posting:
                note += f"; p99 while posting {at_share(while_posting, 0.99):.1f}"
            report.add(f"{name}: {variant}, p99", at_share(taken, 0.99), "ms", note)
        p99, busy_p99 = at_share(calm.sorted_ms, 0.99), at_share(beside.sorted_ms, 0.99)
        report.add(f"{name}, p50", at_share(calm.sorted_ms, 0.5), "ms")
        report.add(f"{name}, p99 while {rate:,} hands/s are posted", busy_p99, "ms")
        report.ask(f"{name}, p99", p99, unit="ms", below=calm.kind.below_ms)
        report.ask(f"{name}, p99 busy / quiet", busy_p99 / p99, below=2)
