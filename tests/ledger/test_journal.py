"""The journal on a real PostgreSQL: retries, concurrency, lost acknowledgements, defects."""

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from eventsourcing.persistence import PersistenceError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ledger import catalogue, recorder
from ledger.application import Ledger, events_of
from ledger.cashier.commands import AnnounceDeposit, RequestWithdrawal
from ledger.core import Book, Command, Decision
from ledger.journal import SNAPSHOT_EVERY, Journal, Outcome, Submission
from ledger.link import Steps
from ledger.players.commands import RegisterPlayer, SuspendPlayer
from ledger.players.events import PlayerState, player_stream
from ledger.rulebooks import shipped_texts
from ledger.rulebooks.commands import AdoptRulebook
from tests.ledger.given import ALICE, IDENTITY, NETWORK, WARRANTIES
from tests.proxy import Proxy

AT = datetime(2014, 3, 1, 12, 0, tzinfo=UTC)


def asked(key: str | None, command: Command, **fields: str) -> Submission:
    return Submission(command, "desk", key, fields)


def common(request_id: str = "r") -> dict[str, Any]:
    return {"network": NETWORK, "at": AT, "actor": "tess", "request_id": request_id}


def deposit(number: int, amount_minor: int = 100, player: str = ALICE) -> Submission:
    reference = IDENTITY.reference_claim(NETWORK, "deposit", "cardpay", f"ref-{number}")
    command = AnnounceDeposit(
        **common(f"deposit-{number}"),
        deposit=str(UUID(int=number)),
        player=player,
        provider="cardpay",
        instrument="tok_1",
        reference_claim=reference,
        currency="EUR",
        amount_minor=amount_minor,
        confirmed=True,
    )
    return asked(f"deposit-{number}", command, amount_minor=str(amount_minor))


def withdrawal(number: int, amount_minor: int) -> Submission:
    command = RequestWithdrawal(
        **common(f"withdrawal-{number}"),
        withdrawal=str(UUID(int=number)),
        player=ALICE,
        instrument="tok_1",
        currency="EUR",
        amount_minor=amount_minor,
    )
    return asked(f"withdrawal-{number}", command, amount_minor=str(amount_minor))


def registration(player: str, nickname: str) -> Submission:
    command = RegisterPlayer(
        **common(),
        player=player,
        partner="kerching",
        rulebook="entraction",
        nickname=nickname,
        nickname_claim=IDENTITY.nickname_claim(NETWORK, nickname),
        person_claim=IDENTITY.person_claim(NETWORK, player),
        warranties=WARRANTIES,
    )
    return asked(f"register-{player}", command)


@pytest.fixture
def journal(dsn: str) -> Iterator[Journal]:
    journal = Journal(dsn, writer="test")
    adoptions = [
        asked(None, AdoptRulebook(**common(), text=text, file=str(file)))
        for file, text in shipped_texts()
    ]
    for outcome in journal.execute([*adoptions, registration(ALICE, "alice")]):
        assert outcome.status == "done", outcome
    yield journal
    journal.close()


def counted(dsn: str, query: str = "SELECT count(*) FROM journal.events") -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def bankroll(journal: Journal, player: str = ALICE) -> int:
    state, _ = journal.ledger.load(player_stream(NETWORK, player))
    assert isinstance(state, PlayerState)
    return state.purse("EUR").bankroll_minor


def test_a_request_sent_again_is_answered_with_the_first_result(journal: Journal, dsn: str) -> None:
    first = journal.execute([deposit(1)])[0]
    events = counted(dsn)
    again = journal.execute([deposit(1)])[0]
    assert again == Outcome("done", first.position, first.answer, repeated=True)
    assert counted(dsn) == events
    assert bankroll(journal) == 100


def test_a_key_used_for_another_request_names_what_differs(journal: Journal) -> None:
    journal.execute([deposit(1, 100)])
    other = journal.execute([deposit(1, 200)])[0]
    assert other.refusal is not None
    assert (other.refusal.code, other.refusal.extra["differing"]) == (
        "idempotency-key-reused",
        ["amount_minor"],
    )
    assert bankroll(journal) == 100


def test_the_same_request_twice_in_one_batch_is_carried_out_once(journal: Journal) -> None:
    outcomes = journal.execute([deposit(1), deposit(2), deposit(1)])
    assert [outcome.repeated for outcome in outcomes] == [False, False, True]
    assert bankroll(journal) == 200


def test_a_refusal_is_answered_again_even_when_it_would_succeed_now(journal: Journal) -> None:
    refused = journal.execute([withdrawal(1, 500)])[0]
    journal.execute([deposit(1, 500)])
    again = journal.execute([withdrawal(1, 500)])[0]
    assert refused.refusal is not None
    assert refused.refusal.code == "insufficient-funds"
    assert again.repeated
    assert again.refusal == refused.refusal
    assert bankroll(journal) == 500


def test_a_refused_command_does_not_keep_the_others_from_being_booked(journal: Journal) -> None:
    outcomes = journal.execute([deposit(1), withdrawal(1, 900), deposit(2)])
    assert [outcome.status for outcome in outcomes] == ["done", "refused", "done"]
    assert bankroll(journal) == 200


class Broken(Command, frozen=True, kw_only=True):
    """A command with a defect."""

    def decide(self, book: Book) -> Decision:
        book.get(player_stream(self.network, ALICE))
        raise ZeroDivisionError


def test_a_defect_fails_its_command_alone_and_leaves_its_key_open(journal: Journal) -> None:
    outcomes = journal.execute([deposit(1), asked("b", Broken(**common())), deposit(2)])
    assert [outcome.status for outcome in outcomes] == ["done", "failed", "done"]
    assert outcomes[1].refusal is not None
    assert (outcomes[1].refusal.code, outcomes[1].refusal.retry) == ("internal-error", "later")
    assert not journal.execute([asked("b", Broken(**common()))])[0].repeated


def test_what_cannot_be_stored_fails_alone(journal: Journal) -> None:
    bad = deposit(1)
    # PostgreSQL's text cannot hold a zero character, which this key has.
    bad = bad._replace(key="bad\x00key")
    outcomes = journal.execute([deposit(2), bad, deposit(3)])
    assert [outcome.status for outcome in outcomes] == ["done", "failed", "done"]
    assert bankroll(journal) == 200


def test_positions_have_no_gap_and_each_answer_names_its_own(journal: Journal, dsn: str) -> None:
    outcomes = journal.execute([deposit(1), withdrawal(1, 999_999), deposit(2)])
    count = counted(dsn)
    assert counted(dsn, "SELECT max(notification_id) FROM journal.events") == count
    assert outcomes[0].position < outcomes[2].position == count
    with psycopg.connect(dsn) as connection:
        for outcome, number in ((outcomes[0], 1), (outcomes[2], 2)):
            events = events_of(connection, f"deposit:{NETWORK}:{UUID(int=number)}")
            assert max(event.position for event in events) <= outcome.position


def test_another_process_is_not_refused_over_a_stale_state(journal: Journal, dsn: str) -> None:
    other = Journal(dsn, writer="other")
    assert other.execute([withdrawal(1, 50)])[0].status == "refused"
    journal.execute([deposit(1, 100)])
    # The other process remembers an empty bankroll.
    assert other.execute([withdrawal(2, 60)])[0].status == "done"
    # And this one remembers a full one.
    refused = journal.execute([withdrawal(3, 60)])[0]
    assert refused.refusal is not None
    assert refused.refusal.code == "insufficient-funds"
    assert bankroll(journal) == 40
    other.close()


def test_a_claim_goes_to_one_of_two_processes(journal: Journal, dsn: str) -> None:
    other = Journal(dsn, writer="other")
    # Both have looked and found the name free.
    assert other.execute([registration(str(uuid4()), "carol")])[0].status == "done"
    taken = journal.execute([registration(str(uuid4()), "Carol")])[0]
    assert taken.refusal is not None
    assert taken.refusal.code == "nickname-taken"
    other.close()


def test_no_batch_is_decided_more_than_twice(
    journal: Journal, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Journal(dsn, writer="other")
    # Each time before it gets the lock, another process is faster: first with the refusal of the
    # same request, which moves no position, then with the player's money.
    between = [[withdrawal(1, 50)], [deposit(1, 10)], [deposit(2, 10)]]
    begin = recorder.begin
    others = iter(between)

    def late() -> Steps[recorder.Head]:
        # The other's own append comes here as well: by then its turn is taken.
        for requests in itertools.islice(others, 1):
            monkeypatch.setattr(recorder, "begin", begin)
            other.execute(requests)
            monkeypatch.setattr(recorder, "begin", late)
        return (yield from begin())

    monkeypatch.setattr(recorder, "begin", late)
    outcomes = journal.execute([withdrawal(1, 50), deposit(3, 100)])
    assert [(o.status, o.repeated) for o in outcomes] == [("refused", True), ("done", False)]
    assert journal.decisions.again == 1
    assert journal.decisions.most == 2
    other.close()


def test_two_processes_writing_at_once_lose_and_double_nothing(journal: Journal, dsn: str) -> None:
    other = Journal(dsn, writer="other")
    outcomes: list[Outcome] = []

    def write(writer: Journal, numbers: range) -> None:
        for number in numbers:
            # Every deposit is sent by both: whoever is first books it.
            outcomes.extend(writer.execute([deposit(number), withdrawal(number, 40)]))

    threads = [
        threading.Thread(target=write, args=(journal, range(1, 60))),
        threading.Thread(target=write, args=(other, range(1, 60))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statuses = {outcome.refusal.code if outcome.refusal else "done" for outcome in outcomes}
    assert statuses <= {"done", "too-many-open"}
    with psycopg.connect(dsn) as connection:
        events = [e.event for e in events_of(connection, player_stream(NETWORK, ALICE))]
        booked = sum(
            -p.amount_minor
            for e in events
            for p in e.postings()
            if p.account == f"bankroll:{NETWORK}:{ALICE}"
        )
    assert booked == bankroll(journal)
    assert sum(e.NAME == "player.deposited.v1" for e in events) == 59
    other.close()


def test_a_lost_acknowledgement_is_answered_from_what_was_committed(
    journal: Journal, dsn: str
) -> None:
    where = conninfo_to_dict(dsn)
    with Proxy(str(where["host"]), int(str(where["port"]))) as proxy:
        through = Journal(make_conninfo(dsn, host="127.0.0.1", port=proxy.port), writer="far")
        assert through.execute([deposit(1)])[0].status == "done"
        proxy.arm()
        outcome = through.execute([deposit(2), deposit(3)])
        assert proxy.lost == 1
        assert [o.status for o in outcome] == ["done", "done"]
        assert bankroll(journal) == 300
        proxy.drop()
        assert through.execute([deposit(4)])[0].status == "done"
        assert bankroll(journal) == 400
        through.close()


def test_a_database_that_stays_away_is_said_and_books_nothing(
    journal: Journal, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ledger.journal.PATIENCE_SECONDS", 0.3)
    where = conninfo_to_dict(dsn)
    proxy = Proxy(str(where["host"]), int(str(where["port"])))
    through = Journal(make_conninfo(dsn, host="127.0.0.1", port=proxy.port), writer="far")
    assert through.execute([deposit(1)])[0].status == "done"
    proxy.close()
    away = through.execute([deposit(2)])[0]
    assert away.status == "failed"
    assert away.refusal is not None
    assert (away.refusal.code, away.refusal.retry) == ("database-unavailable", "later")
    assert bankroll(journal) == 100


def test_a_load_does_not_wait_long_for_a_database_that_is_away_nor_for_one_that_is_back(
    journal: Journal, dsn: str
) -> None:
    where = conninfo_to_dict(dsn)
    stream = player_stream(NETWORK, ALICE)
    with Proxy(str(where["host"]), int(str(where["port"]))) as proxy:
        ledger = Ledger.at(make_conninfo(dsn, host="127.0.0.1", port=proxy.port))
        loaded = ledger.load(stream)
        proxy.leave()
        began = time.monotonic()
        while time.monotonic() - began < 4:
            with pytest.raises(PersistenceError):
                ledger.load(stream)
        # The append lock may be held meanwhile: the library's own ten attempts take 50 seconds.
        assert time.monotonic() - began < 15
        proxy.come_back()
        began = time.monotonic()
        assert _sooner_or_later(ledger, stream) == loaded
        assert time.monotonic() - began < 5
        ledger.close()


def _sooner_or_later(ledger: Ledger, stream: str) -> Any:
    while True:
        with contextlib.suppress(PersistenceError):
            return ledger.load(stream)


def test_a_stream_loaded_from_its_snapshot_is_what_replaying_it_gives(
    journal: Journal, dsn: str
) -> None:
    numbers = range(1, SNAPSHOT_EVERY + 20)
    for start in range(1, len(numbers) + 1, 100):
        journal.execute([deposit(n) for n in numbers if start <= n < start + 100])
        journal.housekeep()
    assert counted(dsn, "SELECT count(*) FROM journal.snapshots") == 1
    stream = player_stream(NETWORK, ALICE)
    loaded = journal.ledger.load(stream)
    other = f"deposit:{NETWORK}:{UUID(int=1)}"
    both = {stream: loaded, other: journal.ledger.load(other), "player:x:y": (None, 0)}
    assert journal.ledger.load_all([*both]) == both
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("DELETE FROM journal.snapshots")
    assert journal.ledger.load(stream) == loaded
    assert journal.ledger.load_all([*both]) == both
    assert loaded[1] == len(numbers) + 1


def test_a_snapshot_of_another_shape_is_thrown_away(journal: Journal, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO journal.snapshots VALUES (%s, 1, 'snapshot.player.old', '{}')",
            [player_stream(NETWORK, ALICE)],
        )
    fresh = Journal(dsn, writer="fresh")
    assert fresh.execute([deposit(1)])[0].status == "done"
    assert counted(dsn, "SELECT count(*) FROM journal.snapshots") == 0
    fresh.close()


def test_a_suspension_by_another_process_is_seen_before_the_next_withdrawal(
    journal: Journal, dsn: str
) -> None:
    journal.execute([deposit(1, 100)])
    other = Journal(dsn, writer="other")
    suspend = SuspendPlayer(**common(), player=ALICE, ground="shared-account", reason="shared")
    other.execute([asked("suspend", suspend)])
    refused = journal.execute([withdrawal(1, 50)])[0]
    assert refused.refusal is not None
    assert refused.refusal.code == "player-suspended"
    other.close()


async def ahead(journal: Journal, *batches: list[Submission]) -> list[list[Outcome]]:
    """Decide each batch before the one before it is appended, as the writer does."""
    outcomes: list[list[Outcome]] = []
    before = None
    for batch in batches:
        intent = await journal.decide(batch)
        if before is not None:
            outcomes.append(await journal.append(before))
        before = intent
    assert before is not None
    return [*outcomes, await journal.append(before)]


def in_a_loop(dsn: str, *batches: list[Submission], times: int = 1) -> list[list[Outcome]]:
    """Carry batches out in an event loop of their own, each decided so many times at most."""

    async def run() -> list[list[Outcome]]:
        journal = Journal(dsn, writer="loop")
        try:
            # What it has to load is in memory then.
            await journal.append(await journal.decide([withdrawal(900, 1)]))
            outcomes = await ahead(journal, *batches)
            assert journal.decisions.most == times
            return outcomes
        finally:
            await journal.leave()

    return asyncio.run(run())


def test_a_batch_is_decided_on_top_of_the_one_that_is_being_appended(
    journal: Journal, dsn: str
) -> None:
    first, second, third = in_a_loop(
        dsn, [deposit(1, 100)], [withdrawal(1, 70)], [withdrawal(2, 70), deposit(2, 5)]
    )
    assert [o.status for o in (*first, *second, *third)] == ["done", "done", "refused", "done"]
    assert first[0].position < second[0].position < third[1].position
    assert bankroll(journal) == 35


def test_a_batch_on_top_of_one_that_another_process_overtook_is_decided_again(
    journal: Journal, dsn: str
) -> None:
    async def run() -> list[Outcome]:
        ours = Journal(dsn, writer="loop")
        one = await ours.decide([deposit(1, 100)])
        other = await ours.decide([withdrawal(1, 90)])
        # The player's stream has moved on before the first of both gets the lock.
        journal.execute([deposit(2, 50), withdrawal(2, 40)])
        outcomes = [*await ours.append(one), *await ours.append(other)]
        assert (ours.decisions.again, ours.decisions.most) == (2, 2)
        await ours.leave()
        return outcomes

    assert [outcome.status for outcome in asyncio.run(run())] == ["done", "done"]
    assert bankroll(journal) == 20


def test_a_batch_on_top_of_one_that_was_lost_rests_on_nothing(
    journal: Journal, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = conninfo_to_dict(dsn)

    async def run(proxy: Proxy) -> list[Outcome]:
        far = Journal(make_conninfo(dsn, host="127.0.0.1", port=proxy.port), writer="far")
        await far.append(await far.decide([withdrawal(900, 1)]))
        one = await far.decide([deposit(1, 100)])
        other = await far.decide([withdrawal(1, 70)])
        monkeypatch.setattr("ledger.journal.PATIENCE_SECONDS", 0.2)
        proxy.leave()
        lost = await far.append(one)
        proxy.come_back()
        monkeypatch.setattr("ledger.journal.PATIENCE_SECONDS", 5.0)
        outcomes = [*lost, *await far.append(other)]
        await far.leave()
        return outcomes

    with Proxy(str(where["host"]), int(str(where["port"]))) as proxy:
        lost, refused = asyncio.run(run(proxy))
    assert lost.refusal is not None
    assert lost.refusal.code == "database-unavailable"
    # The money that the second was decided on never came.
    assert refused.refusal is not None
    assert refused.refusal.code == "insufficient-funds"
    assert bankroll(journal) == 0


def test_the_same_request_in_two_batches_that_overlap_is_carried_out_once(
    journal: Journal, dsn: str
) -> None:
    first, second = in_a_loop(dsn, [deposit(1), deposit(2)], [deposit(2), deposit(3)], times=2)
    assert [(o.status, o.repeated) for o in (*first, *second)] == [
        ("done", False),
        ("done", False),
        ("done", True),
        ("done", False),
    ]
    assert bankroll(journal) == 300


def test_a_stream_that_moves_on_while_it_is_loaded_is_loaded_again(
    journal: Journal, dsn: str
) -> None:
    loaded, go_on = threading.Event(), threading.Event()

    async def run() -> list[Outcome]:
        ours = Journal(dsn, writer="loop")
        await ours.append(await ours.decide([registration(str(uuid4()), "erin")]))
        load_all = ours.ledger.load_all

        def slowly(streams: Sequence[str]) -> Any:
            found = load_all(streams)
            if player_stream(NETWORK, ALICE) in streams and not loaded.is_set():
                loaded.set()
                go_on.wait(10)
            return found

        ours.ledger.load_all = slowly  # type: ignore[method-assign]
        first = await ours.decide([registration(str(uuid4()), "frank")])
        second = asyncio.create_task(ours.decide([withdrawal(1, 60)]))
        await asyncio.to_thread(loaded.wait, 10)
        # Money comes in through another process, and is caught up with, before the load is over.
        journal.execute([deposit(1, 100)])
        await ours.append(first)
        go_on.set()
        outcomes = await ours.append(await second)
        outcomes += await ours.append(await ours.decide([withdrawal(2, 40)]))
        await ours.leave()
        return outcomes

    assert [outcome.status for outcome in asyncio.run(run())] == ["done", "done"]
    assert bankroll(journal) == 0


def test_what_others_wrote_before_the_batch_below_is_seen(journal: Journal, dsn: str) -> None:
    async def run() -> list[Outcome]:
        ours = Journal(dsn, writer="loop")
        await ours.append(await ours.decide([withdrawal(900, 1)]))
        one = await ours.decide([registration(str(uuid4()), "erin")])
        other = await ours.decide([withdrawal(1, 60)])
        # Neither of the first batch's streams: it is appended as it was decided.
        journal.execute([deposit(1, 100)])
        outcomes = [*await ours.append(one), *await ours.append(other)]
        assert ours.decisions.again == 1
        await ours.leave()
        return outcomes

    assert [outcome.status for outcome in asyncio.run(run())] == ["done", "done"]
    assert bankroll(journal) == 40


def test_a_stream_that_cannot_be_read_fails_alone_who_needs_it(journal: Journal, dsn: str) -> None:
    bob = str(uuid4())
    journal.execute([registration(bob, "bob")])
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO journal.snapshots SELECT %s, 7, topic, '{}' FROM (SELECT %s AS topic) t",
            [player_stream(NETWORK, bob), catalogue.SNAPSHOTS["player"]],
        )
    fresh = Journal(dsn, writer="fresh")
    outcomes = fresh.execute([deposit(1), deposit(2, player=bob), deposit(3)])
    assert [outcome.status for outcome in outcomes] == ["done", "failed", "done"]
    assert bankroll(journal) == 200
    fresh.close()
