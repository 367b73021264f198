"""The check: sound books pass, and whatever a superuser changes is found and named."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg.types.json import Jsonb

from ledger import catalogue, recorder
from ledger.core import Event, Posting
from ledger.hands.events import HandAwarded, hand_stream
from ledger.identity import Claimed
from ledger.tables.events import HandSettled, table_stream
from projections.check.books import check
from projections.check.report import Report
from tests.projections.conftest import project
from tests.projections.story import NETWORK, Room, Written, write


def plant(owner_dsn: str, *statements: str) -> None:
    """Change what cannot be changed, as its owner can who takes the triggers off meanwhile."""
    with psycopg.connect(owner_dsn) as connection, unguarded(connection):
        for statement in statements:
            assert connection.execute(statement).rowcount > 0, statement


@contextmanager
def unguarded(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Take the triggers of the journal off, and put them on again so that nobody sees it."""
    names = (
        "SELECT tgrelid::regclass, tgname, CASE tgenabled WHEN 'A' THEN 'ALWAYS' ELSE '' END"
        " FROM pg_trigger WHERE NOT tgisinternal AND tgrelid::regclass::text LIKE 'journal.%'"
    )
    triggers = connection.execute(names).fetchall()
    for table, name, _ in triggers:
        connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER {name}")
    yield
    for table, name, when in triggers:
        connection.execute(f"ALTER TABLE {table} ENABLE {when} TRIGGER {name}")


def found(report: Report) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for problem in report.problems:
        places.setdefault(problem.code, []).append(problem.where)
    return places


def test_sound_books_pass(books: str, room: Room) -> None:
    told: list[tuple[str, int]] = []
    report = check(books, lambda what, at: told.append((what, at)))
    assert report.problems == []
    assert report.clean
    assert report.hands == room.hands
    assert report.projected == report.position == report.events == told[-1][1]
    assert "events" in dict(told)
    with psycopg.connect(books) as connection:
        row = connection.execute(
            "SELECT count(*), (SELECT count(*) FROM journal.commits),"
            " (SELECT encode(digest, 'hex') FROM journal.commits ORDER BY 1 DESC LIMIT 1)"
            " FROM book.entries"
        ).fetchone()
        last = connection.execute(
            "SELECT encode(digest, 'hex') FROM journal.commits ORDER BY last_position DESC LIMIT 1"
        ).fetchone()
    assert row is not None
    assert (report.entries, report.commits) == row[:2]
    assert last == (report.digest,)


def test_empty_books_pass(dsn: str) -> None:
    report = check(dsn)
    assert report.clean
    assert report.projected is None


def test_books_that_are_not_projected_yet_pass(books: str, room: Room) -> None:
    write(books, [list(room.hand("Table 2"))])
    report = check(books)
    assert report.clean
    assert report.projected is not None
    assert report.projected < report.position


def test_books_larger_than_one_batch_pass(books: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = check(books)
    monkeypatch.setattr("projections.check.chain.BATCH", 20)
    assert check(books) == whole


AMOUNT = (
    "UPDATE journal.events SET state = convert_to(regexp_replace(convert_from(state, 'UTF8'),"
    " '\"amount_minor\":[0-9]+', '\"amount_minor\":7'), 'UTF8') WHERE notification_id = 63"
)


def test_a_changed_amount_is_found(books: str, books_owner: str) -> None:
    plant(books_owner, AMOUNT)
    with psycopg.connect(books) as connection:
        row = connection.execute(
            "SELECT originator_id, (SELECT format('commit %s-%s', first_position, last_position)"
            " FROM journal.commits WHERE 63 BETWEEN first_position AND last_position)"
            " FROM journal.events WHERE notification_id = 63"
        ).fetchone()
    assert row is not None
    stream, commit = row
    places = found(check(books))
    assert places["digest-differs"] == [commit]
    assert places["hand-does-not-add-up"] == [stream]
    assert "entry 63/0" in places["entry-differs"]


def test_a_dropped_event_is_found(books: str, books_owner: str) -> None:
    plant(books_owner, "DELETE FROM journal.events WHERE notification_id = 63")
    report = check(books)
    assert {"missing-events", "digest-differs", "version-gap"} <= report.counts.keys()
    (missing,) = [one for one in report.problems if one.code == "missing-events"]
    assert missing.message == "no event at 63"


def test_newest_events_that_were_dropped_are_found(books: str, books_owner: str) -> None:
    plant(
        books_owner,
        "DELETE FROM journal.events WHERE notification_id >= (SELECT max(first_position)"
        " FROM journal.commits)",
        "DELETE FROM journal.commits WHERE first_position = (SELECT max(first_position)"
        " FROM journal.commits)",
    )
    places = found(check(books))
    assert places["newest-events-missing"] == ["checkpoint book_1"]
    assert "entries-beyond-journal" in places


def test_newest_events_are_missed_by_requests_and_snapshots(books: str, books_owner: str) -> None:
    with psycopg.connect(books) as connection:
        connection.execute(
            "INSERT INTO journal.requests VALUES ('harbour', 'cashier', 'k1', %s, %s,"
            " 10000, now())",
            (Jsonb({}), Jsonb({})),
        )
        connection.execute(
            "INSERT INTO journal.snapshots VALUES ('player:harbour:x', 9, %s, '')",
            (catalogue.SNAPSHOTS["player"],),
        )
    places = found(check(books))
    assert places["newest-events-missing"] == ["request harbour cashier k1"]
    assert places["snapshot-of-nothing"] == ["player:harbour:x, version 9"]


def test_a_dropped_commit_is_found(books: str, books_owner: str) -> None:
    plant(
        books_owner,
        "DELETE FROM journal.commits WHERE first_position = (SELECT max(first_position)"
        " FROM journal.commits)",
    )
    places = found(check(books))
    assert "events-without-commit" in places
    plant(
        books_owner,
        "DELETE FROM journal.commits WHERE first_position = (SELECT min(first_position)"
        " FROM journal.commits WHERE first_position > 1)",
    )
    assert "commit-gap" in found(check(books))


def test_two_swapped_events_are_found(books: str, books_owner: str) -> None:
    plant(
        books_owner,
        "UPDATE journal.events SET notification_id = 1000000 WHERE notification_id = 63",
        "UPDATE journal.events SET notification_id = 63 WHERE notification_id = 64",
        "UPDATE journal.events SET notification_id = 64 WHERE notification_id = 1000000",
    )
    places = found(check(books))
    assert "digest-differs" in places
    assert any(where.startswith("position 63,") for where in places["version-gap"])


@pytest.mark.parametrize(
    "change",
    [
        "recorded_at = recorded_at + interval '1 microsecond'",
        "writer = 'somebody else'",
        "digest = sha256(digest)",
    ],
)
def test_a_changed_commit_is_found(books: str, books_owner: str, change: str) -> None:
    plant(books_owner, f"UPDATE journal.commits SET {change} WHERE first_position = 1")
    places = found(check(books))
    assert places["digest-differs"][0].startswith("commit 1-")


def test_recorded_time_that_goes_back_is_found(books: str, books_owner: str) -> None:
    plant(
        books_owner,
        "UPDATE journal.commits SET recorded_at = '2001-01-01' WHERE first_position ="
        " (SELECT max(first_position) FROM journal.commits)",
    )
    assert "recorded-time-goes-back" in found(check(books))


@pytest.mark.parametrize(
    ("change", "code", "where"),
    [
        ("entries SET amount_minor = amount_minor + 1 WHERE position = 63 AND line = 0",
         "entry-differs", "entry 63/0"),
        ("entries SET balance_minor = 0 WHERE position = 63 AND line = 0",
         "entry-differs", "entry 63/0"),
        ("entries SET account = 1 WHERE position = 63 AND line = 1",
         "entry-differs", "entry 63/1"),
        ("entries SET occurred_at = occurred_at + interval '1 s' WHERE position = 63 AND line = 0",
         "entry-differs", "entry 63/0"),
        ("accounts SET balance_minor = balance_minor + 1 WHERE account = 3",
         "account-differs", "account "),
        ("accounts SET player = gen_random_uuid() WHERE account = 2",
         "account-misplaced", "account bankroll:"),
        ("components SET debit_minor = debit_minor + 1 WHERE component = 1",
         "component-differs", "component harbour"),
        ("components SET side = 'income' WHERE name = 'jackpot'",
         "component-misplaced", "component "),
        ("totals SET credit_minor = credit_minor + 1 WHERE component = 2",
         "total-differs", "component 2, occurred 2024-02-29"),
        ("kinds SET name = name || '!' WHERE kind = 1", "kinds-differ", "kinds"),
        ("table_days SET hands = hands + 1 WHERE table_id = 'Table 2'",
         "table-day-differs", "table_days harbour Table 2"),
        ("table_rake SET rake_minor = 0 WHERE table_id = 'Table 2' AND partner = 'north'",
         "table-day-differs", "table_rake harbour Table 2"),
        ("findings SET position = position + 1", "finding-differs", "position "),
        ("transactions SET request_id = 'x' WHERE request_id = 'seat Table 1 2'",
         "transaction-missing", "transactions ("),
        ("days SET last_position = 1", "signpost-missing", "days "),
        ("blocks SET first_occurred_at = '2030-01-01' WHERE block = 0",
         "signpost-missing", "blocks "),
        ("component_blocks SET block = 77 WHERE component = 1",
         "signpost-needless", "component_blocks "),
        ("kind_blocks SET block = 77 WHERE kind = 1", "signpost-needless", "kind_blocks "),
        ("players SET state = jsonb_set(state, '{status}', '\"closed\"')",
         "state-differs", "player:harbour:"),
        ("tables SET position = 1 WHERE table_id = 'Table 1'",
         "state-differs", "table:harbour:Table 1"),
        ("deposits SET state = jsonb_set(state, '{amount_minor}', '1') WHERE deposit = 'd2'",
         "state-differs", "deposit:harbour:d2"),
    ],
)  # fmt: skip
def test_a_changed_row_of_the_projections_is_found(
    books: str, change: str, code: str, where: str
) -> None:
    with psycopg.connect(books) as connection:
        assert connection.execute(f"UPDATE book_1.{change}").rowcount > 0
    places = found(check(books))
    assert any(place.startswith(where) for place in places[code]), places


@pytest.mark.parametrize(
    ("removed", "code"),
    [
        ("entries WHERE position = 63", "entry-differs"),
        ("accounts WHERE account = 4", "account-missing"),
        ("players", "state-differs"),
        ("withdrawals", "state-differs"),
        ("component_blocks WHERE component = 2", "signpost-missing"),
        ("findings", "finding-differs"),
    ],
)
def test_a_removed_row_of_the_projections_is_found(books: str, removed: str, code: str) -> None:
    with psycopg.connect(books) as connection:
        assert connection.execute(f"DELETE FROM book_1.{removed}").rowcount > 0
    assert code in found(check(books))


def appended(books: str, *events: Written) -> dict[str, list[str]]:
    """Append events that no command would have made, project them, and check."""
    write(books, [events])
    project(books)
    return found(check(books))


ABOUT = {"actor": "x", "request_id": "x", "rulebook": ""}


def test_a_hand_that_does_not_add_up_is_found(books: str, room: Room) -> None:
    award = HandAwarded(
        network=NETWORK,
        table="Table 1",
        currency="EUR",
        player=room.players[0],
        pot=0,
        amount_minor=100,
        occurred_at=room.now,
        **ABOUT,
    )
    places = appended(books, (hand_stream(NETWORK, "900"), award))
    assert places["hand-does-not-add-up"] == [hand_stream(NETWORK, "900")]
    assert places["table-differs-from-hand"] == [hand_stream(NETWORK, "900")]
    assert places["table-chips-differ"] == [f"chips:{NETWORK}:Table 1:{room.players[0]}"]


def test_a_table_that_differs_from_its_hand_is_found(books: str, room: Room) -> None:
    settled = HandSettled(
        game_number="901",
        started_at=room.now,
        net_minor={1: 5, 2: -5, 6: 1},
        occurred_at=room.now,
        **ABOUT,
    )
    with pytest.raises(KeyError):
        appended(books, (table_stream(NETWORK, "Table 1"), settled))
    places = found(check(books))
    assert places["table-differs-from-hand"] == [hand_stream(NETWORK, "901")] * 2
    assert "empty-seat-settled" in places
    assert "unreadable-event" in places


def test_postings_that_do_not_sum_to_zero_are_found(
    books: str, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lost(Event, frozen=True, kw_only=True):
        NAME = "hand.lost.v1"

        def postings(self) -> tuple[Posting, ...]:
            return (Posting(f"bank:{NETWORK}", "EUR", 3), Posting(f"bank:{NETWORK}", "USD", -3))

    monkeypatch.setitem(catalogue._DECODERS, Lost.NAME, msgspec.json.Decoder(Lost))
    places = appended(books, (hand_stream(NETWORK, "902"), Lost(occurred_at=room.now, **ABOUT)))
    assert len(places["unbalanced-event"]) == 2
    assert sorted(places["trial-balance"]) == [f"{NETWORK} EUR", f"{NETWORK} USD"]


def test_an_event_that_cannot_be_read_is_found(books: str, books_owner: str) -> None:
    plant(
        books_owner, "UPDATE journal.events SET topic = 'hand.unheard.v1' WHERE notification_id=63"
    )
    places = found(check(books))
    assert places["unreadable-event"][0].startswith("position 63, ")


def test_a_claim_of_nobody_is_found(books: str, room: Room) -> None:
    claim = f"claim:{NETWORK}:nickname:00"
    taken = Claimed(holder="nobody", occurred_at=room.now, **ABOUT)
    known = Claimed(holder=room.players[0], occurred_at=room.now, **ABOUT)
    places = appended(books, (claim, taken), (f"{claim}1", known))
    assert [where.split(", ")[1] for where in places["claim-of-nobody"]] == [claim]


def test_findings_beyond_what_is_shown_are_counted(
    books: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.check.report.SHOWN", 2)
    with psycopg.connect(books) as connection:
        changed = connection.execute("UPDATE book_1.entries SET kind = 99").rowcount
    report = check(books)
    assert report.counts["entry-differs"] == changed
    assert len(found(report)["entry-differs"]) == 2


def test_what_is_hashed_is_what_the_journal_hashed(books: str) -> None:
    """The first commit's digest, from its rows as PostgreSQL itself writes them."""
    with psycopg.connect(books) as connection:
        first, last, at, writer, digest = (
            connection.execute(
                "SELECT first_position, last_position, recorded_at, writer, digest"
                " FROM journal.commits WHERE first_position = 1"
            ).fetchone()
            or ()
        )
        with connection.cursor().copy(
            "COPY (SELECT * FROM journal.events WHERE notification_id <= %s ORDER BY"
            " notification_id) TO STDOUT (FORMAT binary)",
            (last,),
        ) as copy:
            rows = b"".join(copy)[19:-2]
    header = recorder.commit_header(first, last, at, writer)
    assert recorder.chain(recorder.FIRST_DIGEST, header, rows) == digest
