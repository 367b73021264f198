"""The stored record of a hand: small, without names, and readable for ever."""

import hashlib
from importlib.resources import files

import pytest

from ledger.hands import reading, record
from tests.ledger.hands.posts import a_flop, encoded, read

DICTIONARIES = {1: "a324f3ac07b4b3ed09de7dd05aa3181068be2456713075ae944d0c91e0ff528f"}
"""Number -> SHA-256 of every dictionary that records may have been written with."""


@pytest.mark.parametrize("number", DICTIONARIES)
def test_a_dictionary_is_never_changed(number: int) -> None:
    content = (files("ledger.hands") / "dictionaries" / f"{number}.zdict").read_bytes()
    assert hashlib.sha256(content).hexdigest() == DICTIONARIES[number]


def test_the_current_dictionary_is_one_that_is_kept() -> None:
    assert record.CURRENT in DICTIONARIES


def test_a_record_written_once_is_read_for_ever() -> None:
    packed = bytes.fromhex(
        "28b52ffd60c303050500d3830d0b14bcc0852e4844b0030b4ea830810b5988021346a6c00428"
        "54c1095c6042184cb2b3a6c82589c86c699a852b64a10b39a88454740132fc1ee4f4597a2a4f"
        "488df851106322d639a29acb0a552e35cfe9fb09cd6aa9012a559b2da218cbc7a2a63308c919"
        "98719b6df0857a45d1e392a42c6f10b418be5848b6a30bef56483d9385edc1cc5d385345be45"
        "69f0a9fd25fac2b031709a500589b5c3028a"
    )
    assert record.unpack(packed, 1, ["alice", "bob", "carol"]) == read(a_flop())


def test_a_record_is_much_smaller_than_the_post() -> None:
    body = encoded(a_flop())
    assert len(record.pack(record.encode(reading.read(body)))) < len(body) / 6


def test_the_digest_depends_on_the_names_though_the_record_has_none() -> None:
    post = a_flop()
    post["ohh"]["players"][0]["name"] = "dave"
    one, other = read(a_flop()), read(post)
    assert record.encode(one) == record.encode(other)
    assert record.digest_of(one) != record.digest_of(other)
    assert record.digest_of(one, record.encode(one)) == record.digest_of(one)
