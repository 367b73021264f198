"""The worker settles hits of the jackpot: once each and in order, whoever is killed meanwhile."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from random import Random
from typing import Any

import psycopg
import pytest

from ledger.approvals.commands import GrantApproval, RequestApproval
from ledger.catalogue import decode
from ledger.core import Approvable, Command
from ledger.hands.events import BadBeatHit, JackpotContributed
from ledger.jackpots.commands import AnnulHit, HitFigures, ReleaseHit
from ledger.jackpots.events import HitSettled
from ledger.jackpots.sharing import shares_of
from ledger.journal import Journal, Submission
from ops import worker
from projections import generations, reading, runner
from projections.check.books import check
from projections.queries import jackpots
from tests.ledger.given import NETWORK, MemoryBook
from tests.ledger.jackpots.bad_beats import Dealer, adopt, seat_all
from tests.ledger.jackpots.hits import JACKPOT
from tests.ops.test_worker import Process, soon, working

PAIRS = (("alice", "bob"), ("bob", "carol"), ("carol", "alice"))


class Room(MemoryBook):
    """A table at which jackpots are hit, in a journal."""

    def __init__(self, dsn: str, **rulebook: str) -> None:
        super().__init__()
        self.dsn = dsn
        self.journal = Journal(dsn, writer="test")
        adopt(self, **rulebook)
        seat_all(self)
        self.dealer = Dealer()
        self.hits: list[str] = []

    def when(self, command: Command) -> Any:
        [outcome] = self.journal.execute([Submission(command, "desk")])
        assert outcome.status == "done", outcome
        return super().when(command)

    def play(self, *, beaten: bool) -> None:
        """Play a hand, that hits the jackpot or not."""
        loser, winner = PAIRS[self.dealer.number % len(PAIRS)]
        self.when(self.dealer.hand(beaten=beaten, loser=loser, winner=winner))
        if beaten:
            self.hits.append(str(self.dealer.number))

    def events(self, *topics: str) -> list[Any]:
        """Return the journal's events of these names, in order."""
        with psycopg.connect(self.dsn) as connection:
            rows = connection.execute(
                "SELECT topic, state FROM journal.events WHERE topic = ANY (%s)"
                " ORDER BY notification_id",
                [list(topics)],
            )
            return [decode(topic, bytes(state)) for topic, state in rows]

    def settled(self) -> list[HitSettled]:
        return self.events(HitSettled.NAME)

    def due(self) -> list[tuple[str, Any]]:
        """Work out what each hit is due, from the hands alone."""
        got = paid = 0
        due = []
        for event in self.events(JackpotContributed.NAME, BadBeatHit.NAME):
            if isinstance(event, JackpotContributed):
                got += event.amount_minor
                continue
            shares = shares_of(event, got - paid)
            paid += sum(share.amount_minor for share in shares)
            due.append((event.game_number, shares))
        return due

    def figures(self, game_number: str) -> HitFigures:
        """Read what the book says of a hit, once it has it."""
        engine = reading.engine(self.dsn, pool_size=1)

        def read() -> Any:
            with reading.snapshot(engine) as at:
                return jackpots.hit(at, network=NETWORK, jackpot=JACKPOT, game_number=game_number)

        assert soon(lambda: read() is not None)
        row = read()
        engine.dispose()
        return HitFigures(
            number=row["number"], position=row["position"], got_minor=row["got_minor"]
        )

    def decided_by_two(self, kind: type[Approvable], game_number: str, **fields: Any) -> None:
        """Let one person ask for a command about a hit, and another agree."""
        about = self.ask(
            actor="anna",
            jackpot=JACKPOT,
            currency="EUR",
            game_number=game_number,
            book=self.figures(game_number),
            **fields,
        )
        command = kind(**about)
        asking = {name: about[name] for name in ("network", "at", "actor", "request_id")}
        approval = f"approval-{self.commands}"
        self.when(RequestApproval(**asking, approval=approval, command=command))
        self.when(GrantApproval(**self.ask(actor="boris"), approval=approval, command=command))


@pytest.fixture
def follow(dsn: str) -> Iterator[str]:
    """A database whose projections follow."""
    generations.ensure(dsn)
    stop = threading.Event()
    projector = threading.Thread(target=runner.run, args=(dsn, stop))
    projector.start()
    yield dsn
    stop.set()
    projector.join()


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "LOOK_SECONDS", 0.1)


def is_as_it_must_be(room: Room) -> bool:
    """Every hit is settled once, in order, with its due; no cent is made or lost."""
    settled = room.settled()
    assert [(one.game_number, one.shares) for one in settled] == room.due()
    assert [one.number for one in settled] == list(range(1, len(settled) + 1))
    with psycopg.connect(room.dsn) as connection:
        paid = connection.execute(
            "SELECT coalesce(sum((convert_from(state, 'UTF8')::jsonb ->> 'amount_minor')::int), 0)"
            " FROM journal.events WHERE topic = 'player.jackpot_won.v1'"
        ).fetchone()
    assert paid == (sum(share.amount_minor for one in settled for share in one.shares),)
    return True


def test_hits_are_settled_in_order_and_the_books_prove_it(follow: str) -> None:
    room = Room(follow)
    with working(room):
        for beaten in (False, True, False, True, True):
            room.play(beaten=beaten)
        assert soon(lambda: len(room.settled()) == 3)
    assert is_as_it_must_be(room)
    head = room.settled()[-1]
    assert head.pool_minor == 5 * 75 - head.paid_before_minor
    report = _checked(room)
    assert not report.problems, report.problems
    room.journal.close()


def test_hits_wait_for_two_persons_where_the_rulebook_wants_it(follow: str) -> None:
    room = Room(follow, **{"review = false": "review = true "})
    with working(room):
        for beaten in (False, True, True):
            room.play(beaten=beaten)
        first, second = room.hits
        room.decided_by_two(AnnulHit, first, ground="collusion", reason="They never raised.")
        time.sleep(3 * worker.LOOK_SECONDS)
        assert not room.settled()
        room.decided_by_two(ReleaseHit, second, reason="Looked at.")
        assert soon(lambda: len(room.settled()) == 1)
    [settled] = room.settled()
    assert (settled.game_number, settled.pool_minor) == (second, 3 * 75)
    assert not _checked(room).problems
    room.journal.close()


def test_a_worker_killed_around_settlements_settles_each_hit_once(follow: str) -> None:
    rng = Random(int(os.environ.get("CARDROOM_KILL_SEED", "2013")))
    room = Room(follow)
    rounds, each = 4, 3
    for _ in range(rounds):
        before = len(room.settled())
        for _ in range(each):
            room.play(beaten=False)
            room.play(beaten=True)
        with ExitStack() as killed:
            for _ in range(2):
                killed.callback(Process(room.dsn).kill)
            assert soon(lambda before=before: len(room.settled()) > before)
            # At once, when its answer is not yet read; in the middle of the next look; between.
            time.sleep(rng.choice([0.0, 0.0, rng.uniform(0, 1.5)]))
    with working(room):
        assert soon(lambda: len(room.settled()) == rounds * each)
        time.sleep(3 * worker.LOOK_SECONDS)
    assert is_as_it_must_be(room)
    assert not _checked(room).problems
    room.journal.close()


def _checked(room: Room) -> Any:
    """Check the books once the projections have everything."""
    with psycopg.connect(room.dsn) as connection:
        row = connection.execute("SELECT max(last_position) FROM journal.commits").fetchone()
    assert row is not None
    engine = reading.engine(room.dsn, pool_size=1)
    assert reading.wait_for(engine, row[0], 30)
    engine.dispose()
    return check(room.dsn)
