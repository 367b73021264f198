"""What hands pay into the bad-beat jackpot. Source: D."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.jackpots.contribution import Contribution, contributes, contribution_of, drop_of
from ledger.rulebooks import shipped
from ledger.rulebooks.fees import FixedDrop, Jackpot, ShareOfRake


def entraction() -> Jackpot:
    [jackpot] = [one.jackpot for one in shipped() if one.ref == "entraction@2013-01-01"]
    assert not isinstance(jackpot, str)
    return jackpot


SHARE = entraction()
DROP = msgspec.structs.replace(SHARE, contribution=FixedDrop(pots_from_minor=1000, drop_minor=50))


@pytest.mark.parametrize(
    ("difference", "takes_part"),
    [
        ({}, True),
        ({"game": "Soko", "table_size": 8}, True),
        ({"table_size": 3}, True),
        ({"table_size": 2}, False),
        ({"game": "TripleDraw27"}, False),
        ({"tournament": True}, False),
        ({"currency": "XPM"}, False),
        ({"currency": "XCR"}, False),
        ({"currency": "XTC"}, False),
    ],
)
@pytest.mark.parametrize("jackpot", [SHARE, DROP], ids=["share", "drop"])
def test_play_money_heads_up_tournaments_and_triple_draw_take_no_part(
    jackpot: Jackpot, difference: dict[str, Any], takes_part: bool
) -> None:
    table: dict[str, Any] = {
        "game": "Holdem",
        "table_size": 6,
        "tournament": False,
        "currency": "EUR",
    }
    assert contributes(jackpot, **{**table, **difference}) is takes_part
    assert not contributes("none", **{**table, **difference})


def test_two_seat_tables_take_part_where_the_rulebook_says_so() -> None:
    jackpot = msgspec.structs.replace(SHARE, two_seat_tables=True)
    assert contributes(jackpot, game="Holdem", table_size=2, tournament=False, currency="EUR")


@pytest.mark.parametrize(
    ("rake", "carry", "booked", "left"),
    [
        (60, 0, 6, 0),
        (65, 0, 6, 5000),
        (5, 5000, 1, 0),
        (9, 0, 0, 9000),
        (1, 9000, 1, 0),
        (0, 9000, 0, 9000),
        (300, 9999, 30, 9999),
    ],
)
def test_whole_cents_are_booked_and_the_rest_is_carried_on(
    rake: int, carry: int, booked: int, left: int
) -> None:
    got = contribution_of(SHARE, rake_minor=rake, drop_minor=0, carry=carry)
    assert got == Contribution(booked, left)


@given(st.lists(st.integers(0, 300)), st.integers(1, 10_000))
def test_no_part_of_a_cent_is_lost_on_the_way(rakes: list[int], share_bps: int) -> None:
    jackpot = msgspec.structs.replace(SHARE, contribution=ShareOfRake(share_bps=share_bps))
    booked = carry = 0
    for rake in rakes:
        got = contribution_of(jackpot, rake_minor=rake, drop_minor=0, carry=carry)
        assert 0 <= got.booked_minor <= rake + 1
        assert 0 <= got.carry < 10_000
        booked, carry = booked + got.booked_minor, got.carry
    assert booked * 10_000 + carry == sum(rakes) * share_bps


@pytest.mark.parametrize(
    ("pot", "rake", "drop"),
    [(999, 45, 0), (1000, 50, 50), (90_000, 300, 50), (1000, 0, 0), (1000, 980, 20)],
)
def test_a_fixed_drop_leaves_raked_pots_that_are_large_enough(
    pot: int, rake: int, drop: int
) -> None:
    assert drop_of(DROP, pot_minor=pot, rake_minor=rake) == drop


def test_a_drop_goes_to_the_pool_entirely_and_carries_nothing() -> None:
    got = contribution_of(DROP, rake_minor=300, drop_minor=50, carry=7)
    assert got == Contribution(50, 7)


@pytest.mark.parametrize("pot", [1000, 90_000])
def test_a_pool_that_lives_on_the_rake_takes_nothing_from_the_pot(pot: int) -> None:
    assert drop_of(SHARE, pot_minor=pot, rake_minor=50) == 0
    assert drop_of("none", pot_minor=pot, rake_minor=50) == 0


def test_without_a_jackpot_nothing_is_paid_and_a_carry_stays() -> None:
    assert contribution_of("none", rake_minor=300, drop_minor=0, carry=7) == Contribution(0, 7)
