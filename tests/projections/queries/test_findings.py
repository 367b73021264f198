"""Findings as they are kept and as they were: listed, counted, opened again, at any instant."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from random import Random
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from ledger import catalogue
from ledger.hands.events import (
    FindingExplained,
    FindingReopened,
    FindingResolved,
    HandContested,
    HandFlagged,
    hand_stream,
)
from ledger.hands.filed import ABOUT
from ledger.hands.findings import Finding
from projections import reading, rebuild
from projections.as_of import AsOf
from projections.check.books import check
from projections.cursors import InvalidCursorError
from projections.findings import FindingRow, Hand
from projections.queries import findings
from projections.queries.findings import Filters
from projections.reading import Snapshot
from tests.conftest import Server
from tests.projections.conftest import copy_of, project
from tests.projections.story import NETWORK, START, Room, Written, write

LATER, LATEST = START + timedelta(hours=1), START + timedelta(hours=3)
CODES = ("wrong-rake", "wrong-share", "cards-unknown", "out-of-turn")


def a_mess(room: Room, seed: int, steps: int = 120) -> list[list[Written]]:
    """Flag, contest, explain, resolve and reopen at random, as commands would allow it."""
    random = Random(seed)
    status: dict[str, list[str]] = {}
    commits: list[list[Written]] = []
    for step in range(steps):
        room.now += timedelta(minutes=random.randrange(0, 3))
        if random.random() < 0.3 or not status:
            name = random.choice([*room.tables])
            events = list(room.hand(name))
            number = str(room.hands)
            flagged = random.randrange(0, 3)
            # Every fifth hand has one already.
            status[number] = ["open"] * (flagged + (room.hands % 5 == 0))
            about = {"occurred_at": room.now, "actor": f"server-{random.randrange(2)}",
                     "request_id": f"hand:{number}", "rulebook": ""}  # fmt: skip
            stream = hand_stream(NETWORK, number)
            events += [(stream, HandFlagged(finding=a_finding(random), **about))
                       for _ in range(flagged)]  # fmt: skip
        else:
            number = random.choice([*status])
            about = {"occurred_at": room.now, "actor": random.choice(("maria", "jonas")),
                     "request_id": f"desk-{step}", "rulebook": ""}  # fmt: skip
            events = [(hand_stream(NETWORK, number), event)
                      for event in something(random, status[number], number, about)]  # fmt: skip
        if commits and random.random() < 0.3:
            commits[-1] += events
        elif events:
            commits.append(events)
    return commits


def a_finding(random: Random) -> Finding:
    code: Any = random.choice(CODES)
    amounts = random.choice([("1.00", f"{random.randrange(1, 5)}.00"), (None, None)])
    return Finding(
        code=code,
        level="unverified" if code == "cards-unknown" else "flag",
        where="pots",
        expected=amounts[0],
        posted=amounts[1],
        message="Not so.",
    )


def something(random: Random, status: list[str], number: str, about: Any) -> Iterator[Any]:
    if not status or random.random() < 0.1:
        status.append("open")
        yield HandContested(content_digest=about["request_id"], differing=("pots",), **about)
        return
    one = random.randrange(len(status))
    said = {"game_number": number, "finding": one + 1, **about}
    if status[one] == "resolved":
        status[one] = "open"
        yield FindingReopened(reason="No.", **said)
    elif random.random() < 0.5:
        status[one] = "explained"
        yield FindingExplained(text=f"Because of {about['request_id']}.", **said)
    else:
        status[one] = "resolved"
        yield FindingResolved(resolution="written-off", reason="A cent.", **said)


def told(dsn: str, known: AsOf) -> dict[int, FindingRow]:
    """Work the findings of an instant out of the journal in the plainest way there is."""
    hands: dict[str, list[tuple[int, Any]]] = {}
    posted: dict[str, Any] = {}
    with psycopg.connect(dsn) as connection:
        for stream, position, topic, state in connection.execute(
            "SELECT originator_id, notification_id, topic, state FROM journal.events"
            " WHERE originator_id LIKE 'hand:%%' AND notification_id <= %s"
            " ORDER BY notification_id",
            (known.position,),
        ):
            event = catalogue.decode(topic, bytes(state))
            posted.setdefault(stream, event)
            happened = known.occurred_at is None or event.occurred_at <= known.occurred_at
            if isinstance(event, ABOUT) and (
                happened or isinstance(event, HandFlagged | HandContested)
            ):
                hands.setdefault(stream, []).append((position, event))
    rows = [row for stream in hands for row in Hand(posted[stream], hands[stream]).rows()]
    return {
        row.position: row
        for row in rows
        if known.occurred_at is None or row.occurred_at <= known.occurred_at
    }


SHOWN = (*(name for name in FindingRow._fields if name != "finding"),)


def listed(at: Snapshot, known: AsOf | None, **filters: Any) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    cursor = None
    order = filters.pop("order", "oldest-first")
    while True:
        page = findings.page(
            at, Filters(NETWORK, **filters), known=known, order=order, limit=7, cursor=cursor
        )
        for row in page.rows:
            assert row["position"] not in found
            found[row["position"]] = {name: row[name] for name in SHOWN}
        cursor = page.cursor
        if cursor is None:
            return found


@pytest.fixture(scope="module", params=[1, 2])
def messed(request: pytest.FixtureRequest, postgres: Server, day: str) -> Iterator[str]:
    """Give the name of a database with the day and a mess of findings after it, to be copied.

    It was projected a few events at a time.
    """
    room = Room()
    room.day()
    with copy_of(postgres, day) as dsn:
        for seed in (request.param, request.param + 100):
            write(dsn, a_mess(room, seed))
            project(dsn, batch=7)
        yield str(conninfo_to_dict(dsn)["dbname"])


@pytest.fixture
def mess(postgres: Server, messed: str) -> Iterator[str]:
    with copy_of(postgres, messed) as dsn:
        yield dsn


def test_a_finding_stands_as_its_events_have_it_now_and_at_any_instant(mess: str) -> None:
    engine = reading.engine(mess)
    random = Random(5)
    with reading.snapshot(engine) as at:
        expected = told(mess, AsOf(at.position))
        assert Counter(row.status for row in expected.values()).keys() == {
            *("open", "explained", "resolved"),
        }
        assert listed(at, None) == listed(at, AsOf(at.position)) == shown(expected)
        last = max(row.occurred_at for row in expected.values())
        for _ in range(25):
            moment = START + (last - START) * random.random()
            known = AsOf(random.randrange(at.position), random.choice([None, moment]))
            assert listed(at, known) == shown(told(mess, known)), known
    engine.dispose()


def shown(expected: dict[int, FindingRow]) -> dict[int, dict[str, Any]]:
    return {
        position: {name: getattr(row, name) for name in SHOWN} for position, row in expected.items()
    }


def test_batches_leave_no_trace_in_what_is_kept(mess: str) -> None:
    assert check(mess).clean
    assert rebuild.rebuild(mess).differences == []
    assert check(mess).clean


@pytest.mark.parametrize(
    ("filters", "passes"),
    [
        ({"status": "open"}, lambda row: row.status == "open"),
        ({"status": "explained"}, lambda row: row.status == "explained"),
        ({"status": "resolved"}, lambda row: row.status == "resolved"),
        ({"status": "unresolved"}, lambda row: row.status != "resolved"),
        ({"code": "wrong-share"}, lambda row: row.code == "wrong-share"),
        ({"level": "unverified"}, lambda row: row.level == "unverified"),
        ({"level": "refuse"}, lambda row: row.code == "different-content"),
        ({"table_id": "Table 2"}, lambda row: row.table_id == "Table 2"),
        ({"game_server": "server-0"}, lambda row: row.game_server == "server-0"),
        ({"game_number": "20"}, lambda row: row.game_number == "20"),
        ({"currency": "EUR", "least_minor": 100, "most_minor": 200},
         lambda row: row.amount_minor in (100, 200)),
        ({"most_minor": 0}, lambda row: row.amount_minor == 0),
        ({"currency": "USD"}, lambda row: False),
        ({"occurred_from": LATER, "occurred_before": LATEST},
         lambda row: LATER <= row.occurred_at < LATEST),
    ],
)  # fmt: skip
def test_filters_leave_what_passes_them(mess: str, filters: Any, passes: Any) -> None:
    engine = reading.engine(mess)
    with reading.snapshot(engine) as at:
        for known in (None, AsOf(at.position), AsOf(at.position // 2)):
            expected = told(mess, known or AsOf(at.position))
            kept = {position: row for position, row in expected.items() if passes(row)}
            assert listed(at, known, **filters) == shown(kept)
            for by, of in (("code", "code"), ("table", "table_id"), ("game_server", "game_server")):
                found = findings.summary(at, Filters(NETWORK, **filters), by=by, known=known)
                assert found == counted([*kept.values()], of)
    engine.dispose()


def counted(kept: Sequence[FindingRow], of: str) -> list[dict[str, Any]]:
    groups: dict[str, list[FindingRow]] = {}
    for row in kept:
        groups.setdefault(getattr(row, of), []).append(row)
    return [
        {
            "name": name,
            "currency": "EUR",
            "findings": len(rows),
            **{
                status: sum(row.status == status for row in rows)
                for status in ("open", "explained", "resolved")
            },
            "amount_minor": sum(row.amount_minor or 0 for row in rows),
            "unresolved_minor": sum(
                row.amount_minor or 0 for row in rows if row.status != "resolved"
            ),
        }
        for name, rows in sorted(groups.items())
    ]


def test_findings_are_listed_in_the_order_that_is_asked_for(mess: str) -> None:
    engine = reading.engine(mess)
    with reading.snapshot(engine) as at:
        oldest = [*listed(at, None)]
        assert oldest == sorted(oldest)
        assert [*listed(at, None, order="newest-first")] == oldest[::-1]
        largest = listed(at, None, order="largest-first", currency="EUR").values()
        keys = [(-row["amount_minor"], row["position"]) for row in largest]
        assert keys == sorted(keys)
        assert len(keys) == sum(
            row["amount_minor"] is not None for row in listed(at, None).values()
        )
        page = findings.page(at, Filters(NETWORK), limit=1)
        with pytest.raises(InvalidCursorError):
            findings.page(at, Filters(NETWORK, code="wrong-rake"), limit=1, cursor=page.cursor)
    engine.dispose()


def test_all_findings_are_counted_however_they_stand(mess: str) -> None:
    rows = told(mess, AsOf(10**9)).values()
    expected = Counter((row.code, row.level, row.status) for row in rows)
    with psycopg.connect(mess) as connection:
        kept = connection.execute(
            "SELECT code, level, status, findings FROM book.finding_counts WHERE findings <> 0"
        ).fetchall()
    assert Counter({tuple(of): findings for *of, findings in kept}) == expected


def test_the_life_of_a_finding_is_told_step_by_step(at: Snapshot) -> None:
    [row] = findings.page(at, Filters(NETWORK, game_number="15")).rows
    life = findings.one(at, network=NETWORK, position=row["position"])
    assert life is not None
    assert life.finding == row
    assert (row["status"], row["explanation"], row["resolution"]) == ("open", None, None)
    assert [step["became"] for step in life.steps] == ["explained", "resolved", "open"]
    assert [step["text"] for step in life.steps] == [
        "The cap was set up wrong.",
        "Given back.",
        "To another player.",
    ]
    resolved = life.steps[1]["position"]
    before = findings.one(at, network=NETWORK, position=row["position"], known=AsOf(resolved))
    assert before is not None
    assert before.steps == life.steps[:2]
    assert (before.finding["status"], before.finding["reason"]) == ("resolved", "Given back.")
    assert (before.finding["corrected_by"], before.finding["resolved_by"]) == ("resync-1", "maria")
    assert findings.one(at, network="elsewhere", position=row["position"]) is None
    assert findings.one(at, network=NETWORK, position=row["position"] + 1) is None


def test_a_posted_card_that_no_text_can_hold_stops_no_projection(books: str, room: Room) -> None:
    about: dict[str, Any] = {"occurred_at": room.now, "actor": "server-1", "request_id": "hand:21"}
    finding = Finding(
        code="card-not-in-deck", level="flag", where="rounds", posted=["\0\0"], message="No card."
    )
    hand = list(room.hand("Table 1"))
    flagged = HandFlagged(finding=finding, rulebook="", **about)
    write(books, [[*hand, (hand_stream(NETWORK, "21"), flagged)]])
    project(books)
    engine = reading.engine(books)
    with reading.snapshot(engine) as at:
        [row] = findings.page(at, Filters(NETWORK, code="card-not-in-deck")).rows
    engine.dispose()
    assert row["posted"] == ["\ufffd\ufffd"]
    assert check(books).clean
