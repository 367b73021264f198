"""Events as they were stored once: files of history that every later version must read alike.

A golden file is never changed. An event type that changes shape gets a new stored name and a file
of its own; the old file stays and is read by an upcast.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from ledger import catalogue, identity
from ledger.approvals import events as approvals
from ledger.cashier import events as cashier
from ledger.core import Event
from ledger.hands import all_ins
from ledger.hands import events as hands
from ledger.jackpots import events as jackpots
from ledger.periods import events as periods
from ledger.players import events as players
from ledger.tables import events as tables
from ledger.treasury import events as treasury

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = sorted(GOLDEN.glob("*.json"))
KEPT: tuple[type[Event], ...] = (
    *identity.EVENTS,
    *players.EVENTS,
    *cashier.EVENTS,
    *tables.EVENTS,
    *hands.EVENTS,
    *all_ins.EVENTS,
    *jackpots.EVENTS,
    *approvals.EVENTS,
    *treasury.EVENTS,
    *periods.EVENTS,
)


def stored(file: Path) -> tuple[bytes, Any]:
    """Return the event's stored text and what it booked."""
    golden = json.loads(file.read_text())
    return json.dumps(golden["event"]).encode(), golden["postings"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_stored_event_is_read_and_books_what_it_always_booked(file: Path) -> None:
    state, postings = stored(file)
    event = catalogue.decode(file.stem, state)
    assert [list(posting) for posting in event.postings()] == postings


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_stored_event_loses_nothing_when_it_is_read(file: Path) -> None:
    state, _ = stored(file)
    event = catalogue.decode(file.stem, state)
    if file.stem == event.NAME:
        assert json.loads(catalogue.encode(event)) == json.loads(state)


@pytest.mark.parametrize("kind", KEPT, ids=lambda kind: kind.NAME)
def test_every_kind_of_event_has_a_golden_file_with_all_its_fields(kind: type[Event]) -> None:
    state, _ = stored(GOLDEN / f"{kind.NAME}.json")
    assert set(json.loads(state)) == set(kind.__struct_fields__)
