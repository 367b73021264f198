"""What a command may contain at all."""

import pytest

from ledger import bounds
from ledger.bounds import InvalidAmount, InvalidField
from ledger.money import MAX_MINOR


@pytest.mark.parametrize("amount", [0, -1, MAX_MINOR + 1, True, 1.0, "1", None])
def test_an_amount_that_is_no_whole_number_above_zero_is_refused(amount: object) -> None:
    with pytest.raises(InvalidAmount) as refused:
        bounds.amount(amount, "stake_minor")  # type: ignore[arg-type]
    assert (refused.value.code, refused.value.field) == ("invalid-amount", "stake_minor")


@pytest.mark.parametrize("amount", [1, MAX_MINOR])
def test_the_smallest_and_the_largest_amount_are_accepted(amount: int) -> None:
    assert bounds.amount(amount) == amount


@pytest.mark.parametrize("slug", ["", "A", "a:b", "a--b", "-a", "a-", "a/b", "ä", "a" * 65, "a\n"])
def test_what_is_no_slug_is_refused(slug: str) -> None:
    with pytest.raises(InvalidField):
        bounds.slug(slug, "partner")


@pytest.mark.parametrize("own_id", ["", ".", "a:b", "a b", "a/b", "é", "x" * 65, "a\n"])
def test_an_id_that_cannot_name_a_stream_is_refused(own_id: str) -> None:
    with pytest.raises(InvalidField):
        bounds.own_id(own_id, "deposit")


@pytest.mark.parametrize(
    "player",
    ["", "alice", "a11ce000-0000-1000-8000-000000000001", "A11CE000-0000-4000-8000-000000000001"],
)
def test_a_player_id_that_is_no_random_uuid_is_refused(player: str) -> None:
    with pytest.raises(InvalidField):
        bounds.player_id(player)


@pytest.mark.parametrize("text", ["", " ", " a", "a ", "a\0b", "a\u202eb", "x" * 501, "\ud800"])
def test_a_text_that_says_nothing_or_hides_something_is_refused(text: str) -> None:
    with pytest.raises(InvalidField):
        bounds.text(text, "reason")


def test_a_currency_without_known_digits_is_refused() -> None:
    assert bounds.currency("EUR") == "EUR"
    with pytest.raises(InvalidField):
        bounds.currency("XXX")
