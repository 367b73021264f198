"""The projections are rebuilt and swapped while a crowd posts and somebody reads all the while."""

import re
import sys
import threading
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import psycopg
import pytest

from ledger import catalogue
from tests.kill.crowd import NETWORK
from tests.kill.lines import Line
from tests.kill.room import Room

pytestmark = [
    pytest.mark.kill,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into other processes"),
]

REBUILDS = 3
LONGEST_HOLD_SECONDS = 1.0
OWED = ("bankroll", "frozen", "withdrawal", "chips", "pot", "jackpot")


class Answered(NamedTuple):
    """A read: what was asked for, what was answered, and how long that took."""

    path: str
    content: Any
    seconds: float


class Reader:
    """Reads one thing after the other, as fast as it is answered; any answer but 200 ends it."""

    def __init__(self, room: Room, account: str) -> None:
        self.answers: list[Answered] = []
        self.failure: BaseException | None = None
        self._paths = ("client-funds", "trial-balance", f"entries?account={account}&limit=20")
        self._line = Line(lambda: room.serving.port)
        self._token = room.serving.token("auditor")
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "Reader":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._line.close()

    def _work(self) -> None:
        try:
            for path in cycle(self._paths):
                if self._done.is_set():
                    return
                began = time.monotonic()
                content = self._line.get(f"/v1/{path}", self._token)
                self.answers.append(Answered(path, content, time.monotonic() - began))
        except BaseException as failure:
            self.failure = failure


class Truth:
    """The journal's postings, added up in plain steps to wherever an answer says that it is."""

    def __init__(self, dsn: str, account: str) -> None:
        self.lines: list[tuple[int, int, int]] = []
        """Position, line and signed amount of the entries of one account."""

        self._ends: list[int] = []
        self._sums: list[Counter[tuple[str, str]]] = []
        """Component and side -> amount, after each commit."""

        sums: Counter[tuple[str, str]] = Counter()
        with psycopg.connect(dsn) as connection:
            ends = {
                last for (last,) in connection.execute("SELECT last_position FROM journal.commits")
            }
            for position, topic, state in connection.execute(
                "SELECT notification_id, topic, state FROM journal.events ORDER BY 1"
            ):
                postings = catalogue.decode(topic, bytes(state)).postings()
                for line, (code, _, amount) in enumerate(postings):
                    side = "debit_minor" if amount > 0 else "credit_minor"
                    sums[code.partition(":")[0], side] += abs(amount)
                    if code == account:
                        self.lines.append((position, line, amount))
                if position in ends:
                    self._ends.append(position)
                    self._sums.append(Counter(sums))

    def at(self, position: int) -> Counter[tuple[str, str]]:
        """Return the sums at a position, which is the end of a commit."""
        index = bisect_right(self._ends, position) - 1
        assert self._ends[index] == position, f"an answer is true for {position}: half a commit"
        return self._sums[index]

    def verify(self, answer: Answered) -> None:
        """Compare an answer with the journal up to the position that it gives."""
        position = answer.content["position"]
        sums = self.at(position)
        if answer.path == "trial-balance":
            given = Counter(
                {
                    (row["component"], side): row[side]
                    for row in answer.content["components"]
                    for side in ("debit_minor", "credit_minor")
                }
            )
            assert +given == +sums
        elif answer.path == "client-funds":
            [row] = answer.content["currencies"]
            owed = sum(sums[name, "credit_minor"] - sums[name, "debit_minor"] for name in OWED)
            assert row["liability_minor"] == owed
        else:
            until = [entry for entry in self.lines if entry[0] <= position]
            given_lines = [
                (row["position"], row["line"], row["debit_minor"] - row["credit_minor"])
                for row in answer.content["entries"]
            ]
            assert given_lines == until[::-1][:20]


def held(printed: str) -> float:
    found = re.search(r"Readers were held for (\d+\.\d+) s at most", printed)
    assert found, printed
    return float(found[1])


def test_a_rebuild_under_load_refuses_no_post_and_no_read_is_wrong(
    room: Room, tell: Callable[[str], None]
) -> None:
    account = f"bank:{NETWORK}"
    holds: list[float] = []
    room.crowd.go()
    room.crowd.progress(100)
    before = room.crowd.answered
    with Reader(room, account) as reader:
        for number in range(REBUILDS):
            done = room.serving.command("projections", "rebuild")
            assert done.returncode == 0, done.stdout + done.stderr
            assert f"Generation {number + 2} is live" in done.stdout
            assert "replaced" not in done.stdout
            holds.append(held(done.stdout))
            room.crowd.progress(20)
    answered = room.crowd.answered - before
    tell(room.prove())
    assert reader.failure is None, reader.failure
    assert room.crowd.tries == 0
    truth = Truth(room.dsn(), account)
    for answer in reader.answers:
        truth.verify(answer)
    positions = [answer.content["position"] for answer in reader.answers]
    slowest = max(answer.seconds for answer in reader.answers)
    tell(
        f"{REBUILDS} rebuilds beside {answered} requests and {len(reader.answers)} reads,"
        f" all right; readers held {_shown(holds)} s, the slowest read {slowest:.2f} s"
    )
    assert positions == sorted(positions)
    assert len(set(positions)) > 10
    assert max(holds) < LONGEST_HOLD_SECONDS
    assert slowest < LONGEST_HOLD_SECONDS * 2  # the two cores are everybody's


def _shown(seconds: Sequence[float]) -> str:
    return ", ".join(f"{one:.2f}" for one in seconds)
