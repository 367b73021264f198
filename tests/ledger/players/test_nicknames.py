"""Which nicknames may be borne."""

import pytest

from ledger.players.nicknames import NicknameNotAllowed, check

RESERVED = ("Kerching", "Wood Shop Ltd", "damned")


@pytest.mark.parametrize(
    "nickname", ["bob", "Bob_2", "a.b-c d", "x" * 20, "Łukasz", "Анна", "田中太", "007"]
)
def test_an_ordinary_nickname_is_allowed(nickname: str) -> None:
    check(nickname, RESERVED)


@pytest.mark.parametrize(
    ("nickname", "rule"),
    [
        ("", "length"),
        ("ab", "length"),
        ("x" * 21, "length"),
        (" bob", "characters"),
        ("bob ", "characters"),
        ("bob  by", "characters"),
        ("bob._by", "characters"),
        ("bob!", "characters"),
        ("bob\n1", "characters"),
        ("b\u200bob", "characters"),
        ("<b>bob", "characters"),
        ("p\u0430ul", "scripts"),
        ("kerching", "reserved"),
        ("KERCHING fan", "reserved"),
        ("k3rch1ng", "reserved"),
        ("ker.ching", "reserved"),
        ("woodshopltd", "reserved"),
        ("so d-a-m-n-e-d", "reserved"),
    ],
)
def test_a_nickname_that_breaks_a_rule_is_refused_and_the_rule_is_named(
    nickname: str, rule: str
) -> None:
    with pytest.raises(NicknameNotAllowed) as refused:
        check(nickname, RESERVED)
    assert refused.value.code == "nickname-not-allowed"
    assert refused.value.field == "nickname"
    assert refused.value.extra == {"rule": rule}


def test_an_empty_reserved_word_reserves_nothing() -> None:
    check("bob", ("", "--"))
