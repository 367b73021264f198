"""The projector: whole commits, once each, whatever happens between them."""

import threading
from datetime import date

import psycopg
import pytest
from eventsourcing.persistence import IntegrityError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.recorder import CheckpointRecorder
from projections import checkpoints, generations, runner, source
from projections.rebuild import compare
from projections.schema import book_of
from projections.source import Batch, JournalGapError, next_batch
from tests.projections.conftest import project, projector
from tests.projections.story import Room, write


def make(dsn: str, number: int) -> None:
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        generations.create(cursor, number)


def discard(dsn: str, number: int) -> None:
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        generations.drop(cursor, number)


def differences(dsn: str, one: int, other: int) -> list[str]:
    with (
        psycopg.connect(dsn) as connection,
        connection.cursor() as left,
        connection.cursor() as right,
    ):
        return compare(left, book_of(one), right, book_of(other))


def positions(batch: Batch) -> list[int]:
    return [row[3] for chunk in batch.chunks for row in chunk]


def test_a_batch_ends_where_a_commit_ends(dsn: str, room: Room) -> None:
    write(dsn, [list(room.open("Table 1")), list(room.hand("Table 1")), list(room.hand("Table 1"))])
    with psycopg.connect(dsn) as connection:
        ends = [row[0] for row in connection.execute("SELECT last_position FROM journal.commits")]
        for limit in range(1, ends[-1] + 5):
            batch = next_batch(connection, 0, limit)
            assert batch is not None
            assert batch.last_position == max([end for end in ends if end <= limit] or [ends[0]])
            assert positions(batch) == list(range(1, batch.last_position + 1))
        assert next_batch(connection, ends[-1], 100) is None
        assert next_batch(connection, 0, 100, until=ends[0] - 1) is None


def test_a_batch_ends_where_a_day_of_recording_ends(dsn: str, owner_dsn: str, room: Room) -> None:
    write(dsn, [list(room.open("Table 1")), list(room.hand("Table 1")), list(room.hand("Table 1"))])
    with psycopg.connect(owner_dsn) as connection:
        connection.execute("ALTER TABLE journal.commits DISABLE TRIGGER ALL")
        connection.execute(
            "UPDATE journal.commits SET recorded_at = CASE WHEN first_position = 1"
            " THEN timestamptz '2024-02-29 23:59:59.999999Z' ELSE '2024-03-01 00:00Z' END"
        )
        connection.commit()
        first = next_batch(connection, 0, 1000)
        assert first is not None
        second = next_batch(connection, first.last_position, 1000)
    assert second is not None
    assert (first.recorded_day, second.recorded_day) == (date(2024, 2, 29), date(2024, 3, 1))
    assert len(positions(first)) == first.last_position
    assert first.last_position + len(positions(second)) == second.last_position


def test_missing_events_stop_the_projector(dsn: str, owner_dsn: str, room: Room) -> None:
    write(dsn, [list(room.open("Table 1"))])
    with psycopg.connect(owner_dsn) as connection:
        connection.execute("ALTER TABLE journal.events DISABLE TRIGGER ALL")
        connection.execute("DELETE FROM journal.events WHERE notification_id = 2")
    with projector(dsn) as live, pytest.raises(JournalGapError):
        live.step()
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT position FROM book.generation").fetchone() == (0,)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(batches=st.lists(st.integers(1, 120), min_size=1, max_size=12))
def test_any_split_into_batches_gives_the_same_tables(books: str, batches: list[int]) -> None:
    """A projector is made anew for each batch, as after a restart."""
    make(books, 2)
    try:
        for size in (*batches, 100_000):
            with projector(books, 2, size) as restarted:
                restarted.step()
        assert differences(books, 1, 2) == []
    finally:
        discard(books, 2)
        with psycopg.connect(books) as connection:
            connection.execute(
                "UPDATE journal.tracking SET notification_id = 0 WHERE application_name = 'book_2'"
            )


@pytest.mark.parametrize("size", [1, 7, 50])
def test_any_chunks_of_a_batch_give_the_same_tables(
    books: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "CHUNK", size)
    make(books, 2)
    with projector(books, 2) as again:
        again.catch_up()
    assert differences(books, 1, 2) == []


def test_a_batch_that_fails_at_its_end_leaves_no_trace(
    dsn: str, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(dsn, room.day())
    project(dsn)
    make(dsn, 2)
    advance = checkpoints.advance
    calls = iter(range(1000))

    def every_other_time(
        recorder: CheckpointRecorder, connection: psycopg.Connection[object], *rest: object
    ) -> None:
        if next(calls) % 2 == 0:
            raise psycopg.OperationalError("the connection is gone")
        advance(recorder, connection, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(checkpoints, "advance", every_other_time)
    failures = 0
    for _ in range(100):
        with projector(dsn, 2, 30) as live:
            try:
                if not live.step():
                    break
            except psycopg.OperationalError:
                failures += 1
    assert failures > 3
    assert differences(dsn, 1, 2) == []


def test_a_batch_cannot_be_applied_twice(books: str) -> None:
    write(books, [list(Room(seed=2, network="other").open("Table 9"))])
    with projector(books) as one, projector(books) as other:
        assert one.step()
        with pytest.raises((psycopg.errors.UniqueViolation, IntegrityError)):
            other.step()
        assert not one.step()


@pytest.mark.parametrize(
    ("events", "seconds", "pause"),
    [
        (0, 0.0, runner.GATHER_SECONDS),
        (9, 0.004, runner.GATHER_SECONDS),
        (4_500, 0.05, 0.05 * runner.REST),
        (20_000, 2.0, runner.GATHER_MOST_SECONDS),
        (runner.GATHERED, 2.0, 0.0),
    ],
)
def test_commits_gather_after_a_small_batch(events: int, seconds: float, pause: float) -> None:
    assert runner.pause_after(events, seconds) == pause


def test_the_projector_follows_what_is_written(dsn: str, room: Room) -> None:
    generations.ensure(dsn)
    stop, reached = threading.Event(), threading.Event()
    wanted: list[int] = []

    def on_step(position: int) -> None:
        if wanted and position == wanted[0]:
            reached.set()

    thread = threading.Thread(target=runner.follow, args=(dsn, stop), kwargs={"on_step": on_step})
    thread.start()
    try:
        commits = room.day(hands=4)
        wanted.append(sum(len(commit) for commit in commits))
        write(dsn, commits)
        assert reached.wait(10)
    finally:
        stop.set()
        thread.join(10)
    assert not thread.is_alive()


def test_a_second_projector_waits_for_the_first(dsn: str, room: Room) -> None:
    generations.ensure(dsn)
    with psycopg.connect(dsn, autocommit=True) as first:
        first.execute("SELECT pg_advisory_lock(%s)", (runner.RUNNER_LOCK,))
        write(dsn, room.day(hands=1))
        stop, stepped = threading.Event(), threading.Event()
        thread = threading.Thread(
            target=runner.follow, args=(dsn, stop), kwargs={"on_step": lambda _: stepped.set()}
        )
        thread.start()
        assert not stepped.wait(0.3)
        first.close()
        try:
            assert stepped.wait(10)
        finally:
            stop.set()
            thread.join(10)


def test_tables_of_another_version_are_not_touched(books: str) -> None:
    with psycopg.connect(books) as connection:
        connection.execute("COMMENT ON SCHEMA book_1 IS 'made by another version'")
    with pytest.raises(generations.StaleGenerationError), projector(books):
        pass


def test_memory_is_forgotten_when_there_is_too_much(
    dsn: str, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.balances.CACHED", 3)
    monkeypatch.setattr("projections.streams.CACHED", 2)
    write(dsn, room.day())
    project(dsn, batch=25)
    monkeypatch.undo()
    make(dsn, 2)
    with projector(dsn, 2) as whole:
        whole.catch_up()
    assert differences(dsn, 1, 2) == []


def test_partitions_are_there_before_they_are_needed(
    dsn: str, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.partitions.PARTITION", 100)
    last = write(dsn, room.day())
    project(dsn)
    with psycopg.connect(dsn) as connection:
        names = connection.execute(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = 'book_1.entries'::regclass"
        ).fetchone()
        entries = connection.execute("SELECT max(position) FROM book.entries").fetchone()
    assert names == (last // 100 + 2,)
    assert entries is not None
    assert entries[0] > last - 3


def test_networks_that_use_the_same_ids_are_kept_apart(dsn: str) -> None:
    for network in ("harbour", "import-harbour"):
        write(dsn, Room(1, network=network).day(tables=1, hands=5))
    project(dsn)
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "SELECT player, currency, partner, cash_minor, pending_minor, chips_minor,"
            " array_agg(network ORDER BY network) FROM book.bankrolls GROUP BY 1, 2, 3, 4, 5, 6"
        ).fetchall()
    assert len(rows) == 4
    assert all(networks == ["harbour", "import-harbour"] for *_, networks in rows)
