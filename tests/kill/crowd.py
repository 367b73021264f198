"""Clients that post hands, deposits and withdrawals at once, and remember every answer."""

import http.client
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import Any
from urllib.parse import quote

from ops.bench.house import TableSpec
from ops.serving import Serving
from ops.simulator import load
from tests.kill.lines import Intent, Line, Reply

CLIENTS = 8
TABLES_EACH = 2
NETWORK = "entraction"
THINKING_SECONDS = 0.08
"""Longest pause between two requests of a client: the machine is shared."""

PATIENCE_SECONDS = 90.0
OPENED = datetime(2014, 3, 1, tzinfo=UTC)
UNANSWERED = (OSError, http.client.HTTPException, json.JSONDecodeError)


class Unexpected(Exception):
    """A request got an answer that it must never get."""


class Abandoned(Exception):
    """The client was told to stop trying."""


class Clients:
    """The crowd: started, brought to rest with everything answered, or abandoned."""

    def __init__(self, members: Sequence["Client"]) -> None:
        self.members = members
        self._threads: list[threading.Thread] = []

    def go(self, *, exact: bool = True) -> None:
        """Let all of them work.

        ``exact``: the ledger keeps its database, so what is sent once is never a repeat.
        """
        self._threads = [
            threading.Thread(target=member.work, name=member.name, daemon=True)
            for member in self.members
        ]
        for member in self.members:
            member.exact = exact
            member.resting.clear()
            member.abandoned.clear()
        for thread in self._threads:
            thread.start()

    def rest(self) -> None:
        """Wait until each has a definite answer to its last request; raises what went wrong."""
        for member in self.members:
            member.resting.set()
        for thread in self._threads:
            thread.join()
        self._complain()

    def abandon(self) -> None:
        """Let each stop at once, its last request unanswered if it is."""
        for member in self.members:
            member.abandoned.set()
        self.rest()

    def progress(self, answers: int) -> None:
        """Wait for so many further answers; raises what went wrong."""
        wanted = self.answered + answers
        end = time.monotonic() + PATIENCE_SECONDS
        while self.answered < wanted:
            self._complain()
            assert time.monotonic() < end, "no answers"
            time.sleep(0.01)

    def take(self) -> list[tuple[Intent, Reply]]:
        """Return what was acknowledged since the last time."""
        taken = []
        for member in self.members:
            taken += member.acknowledged
            member.acknowledged = []
        return taken

    @property
    def answered(self) -> int:
        """Requests with a definite answer since the beginning."""
        return sum(member.answered for member in self.members)

    @property
    def tries(self) -> int:
        """Times that a request was sent again because it had no definite answer."""
        return sum(member.tries for member in self.members)

    @property
    def tables(self) -> Iterator[load.LoadTable]:
        """All tables, with the stacks that the posted hands make."""
        return (table for member in self.members for table in member.tables)

    def _complain(self) -> None:
        for member in self.members:
            if member.failure is not None:
                raise member.failure


class Client:
    """One client: its own tables; players that the others pay in and out as well."""

    def __init__(
        self,
        number: int,
        rng: Random,
        tables: Sequence[load.LoadTable],
        players: Sequence[str],
        lines: Sequence[Line],
        tokens: dict[str, str],
    ) -> None:
        self.name = f"crowd-{number}"
        self.tables = tables
        self.exact = True
        self.resting = threading.Event()
        self.abandoned = threading.Event()
        self.failure: BaseException | None = None
        self.acknowledged: list[tuple[Intent, Reply]] = []
        self.pending: Intent | None = None
        self.answered = 0
        self.tries = 0
        self.moved: Counter[str] = Counter()
        """Account -> what the acknowledged commands have posted to it, in minor units."""

        self._rng = rng
        self._players = players
        self._lines = lines
        self._turn = itertools.count(number)
        self._tokens = tokens
        self._scripts = load.scripts(rng, each=12)
        self._games = itertools.count((number + 1) * 10**7)
        self._keys = itertools.count(1)
        self._next: list[Callable[[], Intent]] = []
        """What follows from an answer, such as the payment of a withdrawal."""

    def work(self) -> None:
        """Send one request after the other until told to rest."""
        try:
            while self.pending is not None or not self.resting.is_set():
                if self.pending is None:
                    time.sleep(self._rng.uniform(0, THINKING_SECONDS))
                    self.pending = self._next.pop()() if self._next else self._intend()
                self._insist(self.pending)
                self.pending = None
        except Abandoned:
            pass
        except BaseException as failure:
            self.failure = failure

    # -- sending ---------------------------------------------------------------------------------

    def _insist(self, intent: Intent) -> None:
        """Send a request again and again, the same bytes, until its answer is definite."""
        end = time.monotonic() + PATIENCE_SECONDS
        for attempt in itertools.count(1):
            replies = self._send(intent)
            definite = [reply for reply in replies if reply is not None and reply.is_definite]
            for reply in definite:
                if not reply.is_done:
                    raise Unexpected(f"{intent.path}: {reply}")
            if definite:
                surely = self.exact and attempt == 1 and len(definite) == len(replies)
                _check_once(intent, definite, at_least=int(surely))
                self._acknowledge(intent, definite[0])
                return
            if self.abandoned.is_set():
                raise Abandoned
            if time.monotonic() > end:
                raise Unexpected(f"{intent.path}: no definite answer, at last {replies}")
            self.tries += 1
            time.sleep(self._rng.uniform(0.02, 0.1))

    def _send(self, intent: Intent) -> list[Reply | None]:
        """Send over the next line, or, when there are two, sometimes over both at once."""
        turn = next(self._turn)
        lines = [self._lines[turn % len(self._lines)]]
        if len(self._lines) > 1 and self._rng.random() < 0.3:
            lines = list(self._lines)
        asked = [line for line in lines if _answers(line.ask, intent) is not _NOTHING]
        replies = [_answers(line.answer) for line in asked]
        return [None if reply is _NOTHING else reply for reply in replies] or [None]

    def _acknowledge(self, intent: Intent, reply: Reply) -> None:
        self.acknowledged.append((intent, reply))
        self.answered += 1
        if intent.key is not None:
            _FOLLOWS[intent.kind](self, intent, reply.content)

    # -- what is asked for -----------------------------------------------------------------------

    def _intend(self) -> Intent:
        draw = self._rng.random()
        if draw < 0.45:
            return self._hands(1)
        if draw < 0.65:
            return self._hands(self._rng.randint(2, 6))
        return self._deposit() if draw < 0.82 else self._withdrawal()

    def _hands(self, count: int) -> Intent:
        bodies, numbers = [], []
        for _ in range(count):
            number = next(self._games)
            started = OPENED + timedelta(seconds=number % 10**7)
            table = self._rng.choice(self.tables)
            text = started.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
            bodies.append(table.hand(self._scripts, number, text))
            numbers.append(str(number))
        body = bodies[0] if count == 1 else b"[%b]" % b",".join(bodies)
        return Intent("hands", "/v1/hands", body, self._tokens["game-server"], hands=tuple(numbers))

    def _command(self, kind: str, path: str, role: str, **fields: Any) -> Intent:
        key = f"{self.name}-{next(self._keys)}"
        return Intent(kind, path, json.dumps(fields).encode(), self._tokens[role], key)

    def _deposit(self) -> Intent:
        return self._command(
            "deposit",
            "/v1/deposits",
            "cashier",
            player=self._rng.choice(self._players),
            provider="cardpay",
            reference=f"{self.name}-{next(self._keys)}",
            instrument="tok_1",
            currency="EUR",
            amount_minor=self._rng.randint(100, 500),
            confirmed=True,
        )

    def _withdrawal(self) -> Intent:
        return self._command(
            "withdrawal",
            "/v1/withdrawals",
            "cashier",
            player=self._rng.choice(self._players),
            instrument="tok_1",
            currency="EUR",
            amount_minor=self._rng.randint(1, 100),
        )

    def _step(self, withdrawal: str, step: str) -> Intent:
        path = f"/v1/withdrawals/{withdrawal}/{step}"
        if step == "reject":
            return self._command(step, path, "compliance", reason="asked to")
        if step == "pay":
            reference = f"{self.name}-{next(self._keys)}"
            return self._command(
                step, path, "cashier", provider="sepa-bank", payment_reference=reference
            )
        return self._command(step, path, "compliance")

    # -- what an answer means --------------------------------------------------------------------

    def _deposited(self, intent: Intent, answer: dict[str, Any]) -> None:
        self._move("transit", "bankroll", answer, provider=answer["provider"])

    def _withdrawn(self, intent: Intent, answer: dict[str, Any]) -> None:
        self._move("bankroll", "withdrawal", answer)
        steps = self._rng.choice((["reject"], ["review", "release", "pay"]))
        for step in reversed(steps):
            self._next.append(partial(self._step, answer["withdrawal"], step))

    def _rejected(self, intent: Intent, answer: dict[str, Any]) -> None:
        self._move("withdrawal", "bankroll", answer)

    def _paid(self, intent: Intent, answer: dict[str, Any]) -> None:
        self._move("withdrawal", "bank", answer)

    def _stepped(self, intent: Intent, answer: dict[str, Any]) -> None:
        """Nothing moves in a review."""

    def _move(self, source: str, target: str, answer: dict[str, Any], provider: str = "") -> None:
        ends = {
            "bankroll": f"bankroll:{NETWORK}:{answer['player']}",
            "withdrawal": f"withdrawal:{NETWORK}:{answer['player']}",
            "transit": f"transit:{NETWORK}:{provider}",
            "bank": f"bank:{NETWORK}",
        }
        self.moved[ends[source]] += answer["amount_minor"]
        self.moved[ends[target]] -= answer["amount_minor"]


_FOLLOWS = {
    "deposit": Client._deposited,
    "withdrawal": Client._withdrawn,
    "reject": Client._rejected,
    "review": Client._stepped,
    "release": Client._stepped,
    "pay": Client._paid,
}
_NOTHING: Any = object()


def _answers(send: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a call gives, or _NOTHING when the connection gave no answer."""
    try:
        return send(*arguments)
    except UNANSWERED:
        return _NOTHING


def _check_once(intent: Intent, replies: Sequence[Reply], *, at_least: int) -> None:
    """Of the answers to one request at most one is the first; all others say the same again.

    None is, when the ledger itself had to look up what became of it.
    """
    for repeats in zip(*(reply.repeats for reply in replies), strict=True):
        if not at_least <= repeats.count(False) <= 1:
            raise Unexpected(f"{intent.path}: not booked once: {replies}")
    if any(reply.substance != replies[0].substance for reply in replies):
        raise Unexpected(f"{intent.path}: two answers: {replies}")


def gather(
    serving: Serving,
    specs: Sequence[TableSpec],
    rng: Random,
    lines: Callable[[], Sequence[Line]],
) -> Clients:
    """Make the clients of a furnished room; each gets lines of its own."""
    tokens = {role: serving.token(role) for role in ("game-server", "cashier", "compliance")}
    players = sorted(set(seats(serving, specs).values()))
    members = []
    for number in range(CLIENTS):
        own = specs[number * TABLES_EACH : (number + 1) * TABLES_EACH]
        tables = [load.LoadTable(*spec) for spec in own]
        seed = rng.getrandbits(64)
        members.append(Client(number, Random(seed), tables, players, lines(), tokens))
    return Clients(members)


def seats(serving: Serving, specs: Sequence[TableSpec]) -> dict[tuple[str, int], str]:
    """Read who sits where: table and seat -> player id."""
    return {
        (spec.name, seat["seat"]): seat["player"]
        for spec in specs
        for seat in seats_of(serving, spec.name)
    }


def seats_of(serving: Serving, table: str) -> list[dict[str, Any]]:
    """Read the seats of a table from the API."""
    line = Line(lambda: serving.port)
    try:
        answer = line.get(f"/v1/tables/{quote(table)}", serving.token("game-server"))
    finally:
        line.close()
    found: list[dict[str, Any]] = answer["seats"]
    return found
