"""Claims: hashed names, taken and released."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.core import category_of
from ledger.identity import Claimed, Identity, Released, comparable, holder
from tests.ledger.given import IDENTITY, NETWORK, MemoryBook


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Alice", "ALICE"),
        ("alice", "ａｌｉｃｅ"),
        ("straße", "STRASSE"),
        ("Ångström", "A\u030angstro\u0308m"),
        ("ﬁsh", "fish"),
        ("\u01f0\u0323", "J\u030c\u0323"),
    ],
)
def test_a_nickname_is_the_same_whatever_its_case_and_encoding(one: str, other: str) -> None:
    assert IDENTITY.nickname_claim(NETWORK, one) == IDENTITY.nickname_claim(NETWORK, other)


@given(st.text())
def test_the_comparable_form_does_not_change_when_compared_again(name: str) -> None:
    assert comparable(comparable(name)) == comparable(name)


def test_claims_differ_by_network_kind_provider_and_key() -> None:
    claims = {
        IDENTITY.nickname_claim("one", "x"),
        IDENTITY.nickname_claim("two", "x"),
        IDENTITY.person_claim("one", "x"),
        IDENTITY.reference_claim("one", "deposit", "cardpay", "x"),
        IDENTITY.reference_claim("one", "withdrawal", "cardpay", "x"),
        IDENTITY.reference_claim("one", "deposit", "bankpay", "x"),
        Identity(b"some other installation").nickname_claim("one", "x"),
    }
    assert len(claims) == 7


def test_parts_of_a_reference_cannot_be_shifted_into_each_other() -> None:
    one = IDENTITY.reference_claim("one", "deposit", "card", 'pay","1')
    other = IDENTITY.reference_claim("one", "deposit", 'card","pay', "1")
    assert one != other


def test_a_claim_names_its_network_and_kind_and_hides_the_name() -> None:
    claim = IDENTITY.nickname_claim(NETWORK, "alice")
    category, network, kind, digest = claim.split(":")
    assert (category, network, kind) == ("claim", NETWORK, "nickname")
    assert category_of(claim) == "claim"
    assert len(digest) == 32
    assert "alice" not in claim


def test_a_short_key_is_an_error() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        Identity(b"short")


def test_a_released_claim_is_held_by_nobody_until_it_is_taken_again() -> None:
    book = MemoryBook()
    claim = IDENTITY.nickname_claim(NETWORK, "alice")
    context = {"actor": "test", "request_id": "r", "rulebook": ""}
    fields = {**context, "occurred_at": book.ask()["at"]}
    held = [holder(book, claim)]
    for event in (
        Claimed(**fields, holder="one"),
        Released(**fields, holder="one"),
        Claimed(**fields, holder="two"),
    ):
        book.record([(claim, event)])
        held.append(holder(book, claim))
    assert held == [None, "one", None, "two"]
