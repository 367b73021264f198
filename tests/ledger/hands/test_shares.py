"""Dividing pots: whatever the winners, boards and halves are, no unit appears or is lost."""

from hypothesis import given
from hypothesis import strategies as st

from ledger.hands.shares import divided, odd_turns
from ledger.hands.showdown import Half, Part
from tests.ledger.hands.posts import read, rules
from tests.ledger.hands.showdowns import a_showdown

NAMES = {name: "" for name in ("alice", "bob", "carol", "dave", "erin")}
HAND = read(a_showdown("OmahaHiLo", NAMES, [("20.00", {"alice": "20.00"})], dealer_seat=3))
RULES = rules("as-posted")

winners = st.lists(st.sampled_from(range(1, 6)), min_size=1, unique=True).map(tuple)


@st.composite
def parts(draw: st.DrawFn) -> list[Part]:
    """Draw one or two boards, each of them whole or in halves."""
    found = []
    for board in range(draw(st.integers(1, 2))):
        halves: tuple[Half | None, ...] = draw(st.sampled_from([(None,), ("high", "low")]))
        found += [Part(board, half, draw(winners)) for half in halves]
    return found


@given(parts(), st.integers(0, 10_000))
def test_the_shares_of_a_pot_are_the_whole_pot(parts: list[Part], net: int) -> None:
    shares = divided(HAND, parts, net, RULES)
    assert sum(shares.values()) == net
    assert min(shares.values()) >= 0
    paid = {player for player, _ in shares}
    assert paid == {player for part in parts for player in part.winners}


@given(winners, st.integers(0, 10_000))
def test_winners_of_one_pot_differ_by_a_unit_at_most_the_left_of_the_dealer_first(
    winners: tuple[int, ...], net: int
) -> None:
    shares = divided(HAND, [Part(0, None, winners)], net, RULES)
    turns = odd_turns(HAND, RULES)
    in_turn = [shares[player, None] for player in sorted(winners, key=turns.__getitem__)]
    assert in_turn == sorted(in_turn, reverse=True)
    assert in_turn[0] - in_turn[-1] <= 1


def test_odd_units_begin_left_of_the_dealer_and_go_round() -> None:
    """The dealer has seat 3: seats 4 and 5 come first, he himself last."""
    assert sorted(range(1, 6), key=odd_turns(HAND, RULES).__getitem__) == [4, 5, 1, 2, 3]


def test_halves_are_even_but_for_the_unit_that_goes_to_high() -> None:
    halves = [Part(0, "high", (1,)), Part(0, "low", (2,))]
    assert divided(HAND, halves, 101, RULES) == {(1, "high"): 51, (2, "low"): 50}


def test_each_board_has_its_share_and_the_first_the_odd_unit() -> None:
    boards = [Part(0, None, (1,)), Part(1, None, (2,))]
    assert divided(HAND, boards, 101, RULES) == {(1, None): 51, (2, None): 50}
