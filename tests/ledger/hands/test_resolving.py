"""The life of a finding: filed with the hand, explained, resolved, opened again."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from ledger.core import Refused
from ledger.hands.events import HandState, hand_stream
from ledger.hands.resolving import (
    CORRECTED,
    RESOLUTIONS,
    ExplainFinding,
    FindingIsResolved,
    FindingNotResolved,
    ReopenFinding,
    ResolveFinding,
    UnknownFinding,
)
from tests.ledger.given import NETWORK, MemoryBook, names
from tests.ledger.hands.posts import a_flop
from tests.ledger.hands.test_booking import a_table, posted

RAKED_TOO_MUCH: dict[str, Any] = a_flop()
RAKED_TOO_MUCH["ohh"]["pots"][0].update(
    rake=0.50, player_wins=[{"player_id": 2, "win_amount": 5.50}]
)


def a_finding() -> MemoryBook:
    """Book a hand whose rake is not the rulebook's."""
    book = a_table()
    assert names(posted(book, RAKED_TOO_MUCH).changes)[-2:] == [
        "hand.flagged.v1",
        "table.hand_settled.v1",
    ]
    return book


def explain(book: MemoryBook, text: str = "The cap was set up wrong.", **fields: Any) -> Any:
    about = {"game_number": "81", "finding": 1, **fields}
    return book.when(ExplainFinding(**book.ask(actor="maria"), **about, text=text))


def resolve(book: MemoryBook, resolution: str = "written-off", **fields: Any) -> Any:
    about = {"game_number": "81", "finding": 1, "reason": "It is a cent.", **fields}
    return book.when(ResolveFinding(**book.ask(actor="jonas"), **about, resolution=resolution))


def reopen(book: MemoryBook, **fields: Any) -> Any:
    about = {"game_number": "81", "finding": 1, "reason": "It is not.", **fields}
    return book.when(ReopenFinding(**book.ask(actor="maria"), **about))


def status(book: MemoryBook) -> tuple[str, ...]:
    state = book.get(hand_stream(NETWORK, "81"))
    assert isinstance(state, HandState)
    return state.findings


def test_a_finding_is_filed_open_with_its_hand() -> None:
    assert status(a_finding()) == ("open",)
    book = a_table()
    posted(book, a_flop())
    assert status(book) == ()


def test_an_explained_finding_stays_open_to_be_resolved() -> None:
    book = a_finding()
    decision = explain(book)
    assert names(decision.changes) == ["hand.finding_explained.v1"]
    assert decision.answer == {"game_number": "81", "number": 1, "status": "explained"}
    assert status(book) == ("explained",)
    assert resolve(book).answer["status"] == "resolved"
    assert status(book) == ("resolved",)


def test_an_explanation_can_be_followed_by_a_better_one() -> None:
    book = a_finding()
    explain(book)
    [(stream, event)] = explain(book, "It was set up wrong at all tables.").changes
    assert stream == hand_stream(NETWORK, "81")
    assert (event.actor, event.text, event.occurred_at) == (
        "maria",
        "It was set up wrong at all tables.",
        book.history[-1][1].occurred_at,
    )


def test_a_finding_can_be_resolved_that_nobody_explained() -> None:
    book = a_finding()
    [(_, event)] = resolve(book, CORRECTED, corrected_by="resync-17").changes
    assert (event.resolution, event.corrected_by) == (CORRECTED, "resync-17")
    assert status(book) == ("resolved",)


def test_a_reopened_finding_is_open_as_it_was_at_first() -> None:
    book = a_finding()
    explain(book)
    resolve(book)
    assert names(reopen(book).changes) == ["hand.finding_reopened.v1"]
    assert status(book) == ("open",)
    explain(book)
    resolve(book)
    assert status(book) == ("resolved",)


def test_nothing_moves_and_nothing_of_the_hand_changes_when_a_finding_is_resolved() -> None:
    book = a_finding()
    before = book.balances()
    for command in (explain, resolve, reopen):
        decision = command(book)
        assert all(event.postings() == () for _, event in decision.changes)
    assert book.balances() == before


@pytest.mark.parametrize("then", [explain, resolve])
def test_a_hand_posted_again_answers_its_first_result_whatever_was_said_of_its_findings(
    then: Callable[[MemoryBook], Any],
) -> None:
    book = a_table()
    first = posted(book, RAKED_TOO_MUCH).answer
    then(book)
    again = posted(book, RAKED_TOO_MUCH)
    assert list(again.changes) == []
    assert again.answer == {**first, "repeated": True}


def test_a_contested_hand_has_a_finding_more_even_after_the_others_are_resolved() -> None:
    book = a_finding()
    resolve(book)
    another = copy.deepcopy(RAKED_TOO_MUCH)
    another["ohh"]["dealer_seat"] = 1
    refusal = posted(book, another).refusal
    assert refusal is not None
    assert refusal.code == "different-content"
    assert status(book) == ("resolved", "open")
    resolve(book, "site-was-right", finding=2)
    assert status(book) == ("resolved", "resolved")
    # The same other content is told once.
    assert posted(book, another).changes == ()


@pytest.mark.parametrize(
    ("command", "fields", "refusal", "field"),
    [
        (explain, {"finding": 0}, UnknownFinding, "finding"),
        (explain, {"finding": 2}, UnknownFinding, "finding"),
        (resolve, {"finding": -1}, UnknownFinding, "finding"),
        (resolve, {"game_number": "82"}, UnknownFinding, "finding"),
        (reopen, {"finding": 2}, UnknownFinding, "finding"),
        (reopen, {}, FindingNotResolved, None),
    ],
)
def test_what_cannot_be_done_about_a_finding_is_refused(
    command: Callable[..., Any], fields: dict[str, Any], refusal: type[Refused], field: str | None
) -> None:
    book = a_finding()
    with pytest.raises(refusal) as raised:
        command(book, **fields)
    assert raised.value.field == field
    assert status(book) == ("open",)


@pytest.mark.parametrize("command", [explain, resolve])
def test_a_resolved_finding_has_to_be_opened_again_first(command: Callable[..., Any]) -> None:
    book = a_finding()
    resolve(book)
    with pytest.raises(FindingIsResolved):
        command(book)
    reopen(book)
    command(book)


@pytest.mark.parametrize(
    ("command", "fields", "field"),
    [
        (explain, {"text": ""}, "text"),
        (explain, {"text": " said with spaces "}, "text"),
        (explain, {"text": "a bell \a"}, "text"),
        (explain, {"text": "x" * 501}, "text"),
        (resolve, {"reason": ""}, "reason"),
        (resolve, {"resolution": "forgotten"}, "resolution"),
        (resolve, {"resolution": ""}, "resolution"),
        (resolve, {"resolution": CORRECTED}, "corrected_by"),
        (resolve, {"resolution": CORRECTED, "corrected_by": ""}, "corrected_by"),
        (resolve, {"resolution": "written-off", "corrected_by": "r-1"}, "corrected_by"),
        (reopen, {"reason": "\n"}, "reason"),
    ],
)
def test_what_is_said_about_a_finding_must_say_something(
    command: Callable[..., Any], fields: dict[str, Any], field: str
) -> None:
    book = a_finding()
    with pytest.raises(Refused) as raised:
        command(book, **fields)
    assert (raised.value.code, raised.value.field) == ("invalid-field", field)
    assert status(book) == ("open",)


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_every_resolution_resolves(resolution: str) -> None:
    book = a_finding()
    by = {"corrected_by": "resync-17"} if resolution == CORRECTED else {}
    assert resolve(book, resolution, **by).answer["status"] == "resolved"
