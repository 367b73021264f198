"""Rebuilding: beside the live generation, proven equal, swapped with its grants and comments."""

import threading
import time
from collections.abc import Sequence

import psycopg
import pytest

from projections import generations, rebuild, runner
from projections.check.books import check
from projections.generations import StaleGenerationError
from projections.rebuild import (
    EVERYTHING,
    GenerationsDifferError,
    RebuildRunningError,
    SwapBlockedError,
)
from projections.schema import book_of
from tests.projections.conftest import project
from tests.projections.story import Room, write


def live(dsn: str) -> tuple[int, int]:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT generation, position FROM book.generation").fetchone()
    assert row is not None
    return row


def books_that_exist(dsn: str) -> list[int]:
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        return generations.existing(cursor)


def test_a_rebuild_takes_the_place_of_the_live_generation(books: str) -> None:
    before = live(books)
    steps: list[int] = []
    done = rebuild.rebuild(books, on_progress=steps.append)
    assert done.differences == []
    assert live(books) == (done.generation, done.position) == (2, before[1])
    assert books_that_exist(books) == [2]
    assert steps[-1] == before[1]
    assert check(books).clean


def test_a_rebuild_catches_up_with_what_the_live_one_does_not_have_yet(
    books: str, room: Room
) -> None:
    last = write(books, [list(room.hand("Table 1"))])
    assert live(books)[1] < last
    assert rebuild.rebuild(books).position == last


def test_a_damaged_generation_is_named_and_stays_until_that_is_accepted(books: str) -> None:
    with psycopg.connect(books) as connection:
        connection.execute("UPDATE book_1.accounts SET balance_minor = 1 WHERE account = 1")
        connection.execute("DELETE FROM book_1.entries WHERE position = 63")
    with pytest.raises(GenerationsDifferError) as raised:
        rebuild.rebuild(books)
    assert [one.table for one in raised.value.differences] == ["accounts", "entries"]
    assert live(books)[0] == 1
    assert books_that_exist(books) == [1]
    with pytest.raises(GenerationsDifferError, match=r"^accounts: "):
        rebuild.rebuild(books, accept=["entries"])
    assert live(books)[0] == 1
    done = rebuild.rebuild(books, accept=["entries", "accounts"])
    assert [one.table for one in done.differences] == ["accounts", "entries"]
    assert check(books).clean


def test_a_generation_whose_tables_are_gone_is_built_again(books: str) -> None:
    with psycopg.connect(books) as connection:
        connection.execute("DROP SCHEMA book_1 CASCADE")
    rebuild.rebuild(books, accept=EVERYTHING)
    assert check(books).clean


def test_without_a_generation_the_first_one_is_built(dsn: str, room: Room) -> None:
    last = write(dsn, room.day(hands=2))
    assert rebuild.rebuild(dsn).position == last
    assert check(dsn).clean


def test_grants_and_comments_go_with_the_views(books: str, auditor: str) -> None:
    with psycopg.connect(books) as connection:
        connection.execute(f"GRANT SELECT ON book.entries TO {auditor} WITH GRANT OPTION")
        connection.execute("GRANT SELECT ON book.jackpots TO PUBLIC")
        connection.execute("REVOKE ALL ON FUNCTION book.position_at FROM PUBLIC")
        connection.execute(f"GRANT EXECUTE ON FUNCTION book.position_at TO {auditor}")
    described = "SELECT relname, relacl::text, obj_description(oid) FROM pg_class"
    described += " WHERE relnamespace = 'book'::regnamespace UNION ALL"
    described += " SELECT proname, proacl::text, obj_description(oid) FROM pg_proc"
    described += " WHERE pronamespace = 'book'::regnamespace ORDER BY 1"
    with psycopg.connect(books) as connection:
        before = connection.execute(described).fetchall()
    rebuild.rebuild(books)
    with psycopg.connect(books) as connection:
        assert connection.execute(described).fetchall() == before
        connection.execute(f"REVOKE ALL ON book.entries FROM {auditor}")
        connection.execute(f"REVOKE ALL ON FUNCTION book.position_at FROM {auditor}")
    assert any(auditor in str(row[1]) for row in before)


def test_two_rebuilds_do_not_run_at_once(books: str) -> None:
    with psycopg.connect(books, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (rebuild.REBUILD_LOCK,))
        with pytest.raises(RebuildRunningError):
            rebuild.rebuild(books)


def test_what_an_interrupted_rebuild_left_is_dropped(books: str) -> None:
    with psycopg.connect(books) as connection, connection.cursor() as cursor:
        generations.create(cursor, 7)
    assert rebuild.rebuild(books).generation == 2
    assert books_that_exist(books) == [2]


def test_a_number_is_not_given_twice(books: str) -> None:
    assert [rebuild.rebuild(books).generation for _ in range(3)] == [2, 3, 4]


def test_the_projector_goes_on_in_the_new_generation(books: str, room: Room) -> None:
    stop, reached = threading.Event(), threading.Event()
    wanted: list[int] = [0]

    def on_step(position: int) -> None:
        if position >= wanted[0]:
            reached.set()

    thread = threading.Thread(target=runner.follow, args=(books, stop), kwargs={"on_step": on_step})
    thread.start()
    try:
        for _ in range(3):
            write(books, [list(room.hand("Table 1"))])
            rebuild.rebuild(books)
            reached.clear()
            wanted[0] = write(books, [list(room.hand("Table 2"))])
            assert reached.wait(10)
            assert live(books)[1] >= wanted[0]
    finally:
        stop.set()
        thread.join(10)
    project(books)
    assert check(books).clean
    assert books_that_exist(books) == [4]
    assert book_of(4) == "book_4"


# -- the swap ------------------------------------------------------------------------------------


def test_a_swap_waits_for_a_reader_in_short_moments_and_lets_the_others_pass(books: str) -> None:
    waited: list[str] = []
    passed: list[float] = []
    with psycopg.connect(books, application_name="slow reader") as slow:
        slow.execute("SELECT FROM book.generation")

        def on_wait(readers: Sequence[str]) -> None:
            waited.extend(readers)
            began = time.monotonic()
            with psycopg.connect(books) as other:
                other.execute("SELECT FROM book.generation")
            passed.append(time.monotonic() - began)
            if len(passed) == 2:
                slow.rollback()

        assert rebuild.rebuild(books, on_wait=on_wait).generation == 2
    assert all(reader.startswith("slow reader, process ") for reader in waited)
    assert len(passed) == 2
    assert max(passed) < rebuild.HELD_SECONDS


def test_a_swap_that_is_kept_waiting_too_long_leaves_everything_as_it_was(
    books: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "PATIENCE_SECONDS", 0.0)
    with psycopg.connect(books, application_name="slow reader") as slow:
        slow.execute("SELECT FROM book.entries")
        with pytest.raises(SwapBlockedError, match="slow reader"):
            rebuild.rebuild(books)
    assert live(books)[0] == 1
    assert books_that_exist(books) == [1]


def test_readers_and_a_swap_do_not_wait_for_each_other(books: str) -> None:
    """A reader holds the position's view and asks for another one while a swap begins."""
    done = threading.Event()
    failures: list[BaseException] = []

    def read() -> None:
        try:
            with psycopg.connect(books, autocommit=True) as connection:
                while not done.is_set():
                    with connection.transaction():
                        connection.execute("SELECT FROM book.generation")
                        connection.execute("SELECT FROM book.days")
        except psycopg.Error as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        held = [rebuild.rebuild(books).held_seconds for _ in range(3)]
    finally:
        done.set()
        for reader in readers:
            reader.join(10)
    assert failures == []
    assert max(held) < 1


# -- upgrades ------------------------------------------------------------------------------------


def of_another_version(dsn: str, number: int = 1) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute(
            f"COMMENT ON SCHEMA book_{number} IS 'Projections, generation {number}, definition 0'"
        )


def test_what_a_version_has_prepared_is_shown_when_it_starts(books: str, room: Room) -> None:
    of_another_version(books)
    prepared = rebuild.prepare(books)
    assert prepared is not None
    assert live(books)[0] == 1
    last = write(books, [list(room.hand("Table 1"))])
    rebuild.make_ready(books)
    assert live(books) == (prepared.generation, last)
    assert books_that_exist(books) == [prepared.generation]
    assert check(books).clean


def test_nothing_is_prepared_where_the_live_one_is_this_versions(books: str) -> None:
    assert rebuild.prepare(books) is None
    assert rebuild.adopt(books) is None
    assert books_that_exist(books) == [1]


def test_without_anything_prepared_another_versions_tables_are_not_served(books: str) -> None:
    of_another_version(books)
    with pytest.raises(StaleGenerationError, match="cardroom projections rebuild"):
        rebuild.make_ready(books)


def test_other_views_over_the_same_tables_are_shown_at_the_start(
    books: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = tuple(
        view._replace(comment="Which generation is live.") if view.name == "generation" else view
        for view in generations.VIEWS
    )
    monkeypatch.setattr(generations, "VIEWS", newer)
    rebuild.make_ready(books)
    with psycopg.connect(books) as connection:
        row = connection.execute(
            "SELECT obj_description('book.generation'::regclass, 'pg_class')"
        ).fetchone()
    assert row == ("Which generation is live.",)
    assert live(books)[0] == 1
