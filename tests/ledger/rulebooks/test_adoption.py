"""Rulebooks are adopted as events, and the version of the day judges."""

from datetime import UTC, date, datetime
from typing import Any

import msgspec
import pytest

from ledger.core import Event, Refused
from ledger.rulebooks import UnknownRulebook, adopted, shipped, text_of
from ledger.rulebooks.commands import (
    AdoptRulebook,
    DifferentRulebook,
    InvalidRulebook,
    RevisionGap,
)
from ledger.rulebooks.events import RulebookAdopted, RulebookState, evolve

EARLIER = text_of("entraction", date(2008, 1, 1))
LATER = text_of("entraction", date(2013, 1, 1))
CORRECTED = LATER.replace("revision = 1", "revision = 2").replace("draw = 24", "draw = 30")


class Books:
    """The streams of one network's rulebooks, as far as these tests need them."""

    def __init__(self, *texts: str) -> None:
        self.streams: dict[str, RulebookState] = {}
        for text in texts:
            self.adopt(text)

    def get(self, stream: str) -> Any:
        return self.streams.get(stream)

    def adopt(self, text: str) -> tuple[list[Event], dict[str, Any]]:
        command = AdoptRulebook(
            network="entraction",
            at=datetime(2013, 1, 2, tzinfo=UTC),
            actor="operator",
            request_id="adopt-1",
            text=text,
            file="a.toml",
        )
        decision = command.decide(self)
        for stream, event in decision.changes:
            self.streams[stream] = evolve(self.streams.get(stream), event)
        return [event for _, event in decision.changes], dict(decision.answer)


def test_adopting_a_rulebook_is_a_fact_with_text_and_hash() -> None:
    books = Books()
    [event], answer = books.adopt(LATER)
    assert isinstance(event, RulebookAdopted)
    assert (event.name, event.valid_from, event.revision) == ("entraction", date(2013, 1, 1), 1)
    assert event.text == LATER
    assert event.rulebook == "entraction@2013-01-01"
    assert answer == {
        "rulebook": "entraction@2013-01-01",
        "sha256": event.sha256,
        "already_adopted": False,
    }
    assert list(books.streams) == ["rulebook:entraction:entraction"]


def test_adopting_the_same_text_again_changes_nothing_and_says_so() -> None:
    books = Books(EARLIER, LATER)
    events, answer = books.adopt(LATER)
    assert events == []
    assert answer["already_adopted"] is True


def refusal(books: Books, text: str) -> Refused:
    with pytest.raises(Refused) as caught:
        books.adopt(text)
    return caught.value


def test_another_text_of_the_same_date_is_refused() -> None:
    refused = refusal(Books(LATER), LATER.replace("draw = 24", "draw = 30"))
    assert isinstance(refused, DifferentRulebook)
    assert "revision 2" in refused.message


def test_a_correction_is_the_next_revision_of_its_date() -> None:
    books = Books(LATER)
    [event], answer = books.adopt(CORRECTED)
    assert event.rulebook == answer["rulebook"] == "entraction@2013-01-01.r2"
    assert adopted(books, "entraction", "entraction", date(2014, 1, 1)).timing.draw == 30
    assert books.adopt(LATER)[1]["already_adopted"] is True


@pytest.mark.parametrize("texts", [(), (EARLIER,), (LATER, CORRECTED)])
def test_a_revision_that_follows_nothing_is_refused(texts: tuple[str, ...]) -> None:
    text = LATER.replace("revision = 1", f"revision = {len(texts) + 2}")
    assert isinstance(refusal(Books(*texts), text), RevisionGap)


def test_a_text_that_is_no_rulebook_is_refused_by_file_and_key() -> None:
    refused = refusal(Books(), LATER.replace("draw = 24", "draw = 24.5"))
    assert isinstance(refused, InvalidRulebook)
    assert refused.extra == {"file": "a.toml", "key": "timing.draw"}


@pytest.mark.parametrize(
    ("day", "ref"),
    [
        (date(1999, 12, 31), "entraction@2008-01-01"),
        (date(2008, 1, 1), "entraction@2008-01-01"),
        (date(2012, 12, 31), "entraction@2008-01-01"),
        (date(2013, 1, 1), "entraction@2013-01-01"),
        (date(2026, 2, 28), "entraction@2013-01-01"),
    ],
)
@pytest.mark.parametrize("order", [(EARLIER, LATER), (LATER, EARLIER)])
def test_the_version_in_force_on_the_day_judges(
    day: date, ref: str, order: tuple[str, str]
) -> None:
    assert adopted(Books(*order), "entraction", "entraction", day).ref == ref


def test_before_the_first_version_its_last_revision_judges() -> None:
    books = Books(LATER, CORRECTED)
    first = adopted(books, "entraction", "entraction", date(2000, 1, 1))
    assert first.ref == "entraction@2013-01-01.r2"


@pytest.mark.parametrize(("network", "name"), [("entraction", "empire"), ("other", "entraction")])
def test_a_rulebook_that_the_network_has_not_adopted_is_unknown(network: str, name: str) -> None:
    with pytest.raises(UnknownRulebook):
        adopted(Books(LATER), network, name, date(2014, 1, 1))


def test_a_state_survives_being_stored() -> None:
    [state] = Books(LATER, CORRECTED, EARLIER).streams.values()
    assert [version.revision for version in state.versions] == [1, 1, 2]
    assert msgspec.json.decode(msgspec.json.encode(state), type=RulebookState) == state


def test_every_shipped_rulebook_can_be_adopted() -> None:
    books = Books()
    for rulebook in shipped():
        books.adopt(text_of(rulebook.name, rulebook.valid_from))
    names = {rulebook.name for rulebook in shipped()}
    assert {state.name for state in books.streams.values()} == names
