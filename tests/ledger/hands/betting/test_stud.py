"""Games with antes: who brings it in, who acts first by his cards, and stud's own rules."""

from typing import Any

import pytest

from tests.ledger.hands.betting.bets import checked, codes, findings
from tests.ledger.hands.posts import a_post, rules

MISSING, TURN, AMOUNT, ACTION = (
    "missing-forced-bet",
    "out-of-turn",
    "illegal-amount",
    "illegal-action",
)
THREE = {"ann": "100", "bob": "100", "cat": "100"}
"""Cat is the dealer, or sits at his box."""

ANTES = "ann ante 0.50, bob ante 0.50, cat ante 0.50"
FIXED: dict[str, Any] = {
    "limit": "FL",
    "deal": "",
    "small_blind_amount": 0,
    "big_blind_amount": 0,
    "ante_amount": 0.5,
    "x_small_bet": 5,
    "x_big_bet": 10,
}
"""5/10 with an ante of 0.50: the bring-in is twice the ante, 1.00."""

FIXED_ROOT: dict[str, Any] = {
    "bet_limit": {"bet_type": "FL"},
    "x_status": "running",
    **{key: value for key, value in FIXED.items() if key not in ("limit", "deal")},
}
POT = {**FIXED, "limit": "PL"}
FIRST = {"Stud": "Third Street", "StudHiLo": "Third Street"}


def opening(game: str, ann: str, bob: str, cat: str, play: str) -> list[tuple[str, str]]:
    """Deal each player his cards of the first street; the last one lies face up."""
    street = FIRST.get(game, "Second Street")
    down = "????" if street == "Third Street" else "??"
    cards = f"ann deal {down}{ann}, bob deal {down}{bob}, cat deal {down}{cat}"
    return [(street, f"{ANTES}, {cards}, {play}")]


BRING_INS: list[tuple[str, str, str, tuple[str, str, str], str]] = [
    # source, game, limit, the cards that ann, bob and cat show, and who brings it in
    ("K 10.7.4 fixed limit: the lowest card", "Stud", "FL", ("Kh", "2d", "Ac"), "bob"),
    ("K 10.7.4 clubs are lowest", "Stud", "FL", ("2h", "2d", "2c"), "cat"),
    ("K 10.7.4 spades are highest", "Stud", "FL", ("2s", "2h", "9c"), "bob"),
    ("K 10.7.4 pot limit: the highest card", "Stud", "PL", ("Kh", "2d", "Ac"), "cat"),
    ("K 10.7.4 spades are highest", "Stud", "PL", ("Kh", "Ks", "Kd"), "bob"),
    ("K 10.8.4 the lowest card", "StudHiLo", "FL", ("3h", "4d", "9c"), "ann"),
    ("K 10.8.4 the lowest card, at pot limit as well", "StudHiLo", "PL", ("3h", "4d", "Kc"), "ann"),
    ("K 10.6.6 the highest card", "Soko", "FL", ("Kh", "2d", "Ac"), "cat"),
    ("K 10.6.6 spades are highest", "Soko", "FL", ("Ah", "As", "Ac"), "bob"),
    ("K 10.11.6 the highest card", "Telesina", "FL", ("Kh", "7d", "Ac"), "cat"),
    ("K 10.11.6 hearts are highest", "Telesina", "FL", ("As", "Ah", "Ad"), "bob"),
    ("K 10.11.6 spades are lowest", "Telesina", "FL", ("As", "Kh", "Ac"), "cat"),
    ("K 10.12.6 the highest card", "Americana", "FL", ("Kh", "7d", "Qc"), "ann"),
    ("K 10.12.6 spades are highest", "Americana", "FL", ("Ah", "Qd", "As"), "cat"),
]


@pytest.mark.parametrize("case", BRING_INS, ids=[f"{one[0]} {one[1]}" for one in BRING_INS])
def test_the_card_that_the_rulebook_names_brings_it_in(
    case: tuple[str, str, str, tuple[str, str, str], str],
) -> None:
    _, game, limit, shown, by = case
    for name in THREE:
        rounds = opening(game, *shown, f"{name} bring-in 1")
        found = codes(rounds, THREE, game=game, **{**FIXED, "limit": limit})
        assert found == ([] if name == by else [MISSING]), name


def test_cards_that_are_not_known_bring_anyone_in() -> None:
    rounds = opening("Stud", "Kh", "??", "Ac", "ann bring-in 1")
    assert codes(rounds, THREE, game="Stud", **FIXED) == []


@pytest.mark.parametrize("card", ["", "?", "Zz", "\x00", "10h"])
def test_cards_that_are_none_are_not_known(card: str) -> None:
    post = a_post(
        opening("Stud", "Kh", "2d", "Ac", "ann bring-in 1"),
        [],
        THREE,
        game_type="Stud",
        **FIXED_ROOT,
    )
    deal = next(one for one in post["ohh"]["rounds"][0]["actions"] if one.get("cards"))
    deal["cards"][-1] = card
    assert [one.code for one in checked(post, rules("entraction"))] == []


def test_the_rulebook_of_an_unknown_site_takes_the_bring_in_as_posted() -> None:
    rounds = opening("Stud", "Kh", "2d", "Ac", "ann bring-in 3, bob fold")
    assert codes(rounds, THREE, game="Stud", rulebook="as-posted", **FIXED) == []


THIRD_STREET: list[tuple[str, str, str, str | None]] = [
    # bob has the lowest card; the bring-in is 1.00
    ("K 10.7.4", "twice the ante", "bob bring-in 1", None),
    ("K 10.7.4", "less", "bob bring-in 0.50", AMOUNT),
    ("K 10.7.4", "another amount that the limit does not allow", "bob bring-in 3", AMOUNT),
    ("K 10.7.4", "higher: the bet of the limit", "bob bring-in 5", None),
    ("K 10.7.4", "a bet instead", "bob bet 5, cat call 5", None),
    ("K 10.7.4", "a bet instead, by another player", "cat bet 5", MISSING),
    ("K 10.7.4", "a fold instead", "bob fold", MISSING),
    ("K 10.7.4", "twice", "bob bring-in 1, cat bring-in 1", ACTION),
    ("K 10.7.4", "then clockwise", "bob bring-in 1, cat call 1, ann call 1", None),
    ("K 10.7.4", "not clockwise", "bob bring-in 1, ann call 1", TURN),
    ("K 10.7.4", "nobody has raised: the bring-in has acted",
     "bob bring-in 1, cat call 1, ann call 1, bob check", TURN),
    ("K 10.2.2", "completing the bring-in", "bob bring-in 1, cat raise 5, ann call 5, bob call 4",
     None),
    ("K 10.2.2", "completing it is a bet as well", "bob bring-in 1, cat bet 5, ann fold, bob fold",
     None),
    ("K 10.2.2", "a raise of another size", "bob bring-in 1, cat raise 6", AMOUNT),
    ("K 10.2.2", "raising after it is complete", "bob bring-in 1, cat raise 5, ann raise 10", None),
    ("K 10.2.2", "the bring-in is no bet: four follow",
     "bob bring-in 1, cat raise 5, ann raise 10, bob raise 14, cat raise 15", None),
    ("K 10.2.2", "a fifth", "bob bring-in 1, cat raise 5, ann raise 10, bob raise 14, cat raise 15,"
     " ann raise 15", ACTION),
]  # fmt: skip


@pytest.mark.parametrize(
    ("play", "code"),
    [one[2:] for one in THIRD_STREET],
    ids=[f"{one[0]} {one[1]}" for one in THIRD_STREET],
)
def test_the_bring_in_opens_the_first_round(play: str, code: str | None) -> None:
    rounds = opening("Stud", "Kh", "2d", "Ac", play)
    assert codes(rounds, THREE, game="Stud", **FIXED) == ([code] if code else [])


def test_a_table_may_have_a_bring_in_of_its_own() -> None:
    for bring_in, found in (("2", []), ("1", [AMOUNT])):
        rounds = opening("Stud", "Kh", "2d", "Ac", f"bob bring-in {bring_in}")
        assert codes(rounds, THREE, game="Stud", x_bring_in=2, **FIXED) == found


def test_at_pot_limit_the_bring_in_may_be_up_to_the_pot() -> None:
    """K 10.2.5, K 10.7.4: the antes are 1.50; the pot after calling is then 3.00."""
    for bring_in, found in (("1", []), ("1.50", []), ("1.60", [AMOUNT])):
        rounds = opening("Stud", "Kh", "2d", "Ac", f"cat bring-in {bring_in}")
        assert codes(rounds, THREE, game="Stud", **POT) == found
    for to, found in (("2", []), ("4.50", []), ("4.60", [AMOUNT]), ("1.50", [AMOUNT])):
        for kind in ("bet", "raise"):
            rounds = opening("Stud", "Kh", "2d", "Ac", f"cat bring-in 1, ann {kind} {to}")
            assert codes(rounds, THREE, game="Stud", **POT) == found
    rounds = opening("Stud", "Kh", "2d", "Ac", "cat bring-in 1, ann raise 2, bob bet 4")
    assert codes(rounds, THREE, game="Stud", **POT) == [ACTION]


def test_who_has_less_than_the_bring_in_puts_in_what_he_has() -> None:
    stacks = {**THREE, "bob": "1.20"}
    play = "bob bring-in 0.70!, cat call 1, ann call 1"
    rounds = opening("Stud", "Kh", "2d", "Ac", play)
    assert codes(rounds, stacks, game="Stud", **FIXED) == []
    rounds = opening("Stud", "Kh", "2d", "Ac", "bob bring-in 0.70!, cat raise 5, ann fold")
    assert codes(rounds, stacks, game="Stud", **FIXED) == []


# -- later streets -----------------------------------------------------------------------------

OPENED = "bob bring-in 1, cat call 1, ann call 1"


def on_fourth(cards: tuple[str, str, str], play: str) -> list[tuple[str, str]]:
    """Ann shows a king, bob a deuce and cat an ace; each gets another card."""
    dealt = ", ".join(f"{name} deal {card}" for name, card in zip(THREE, cards, strict=True))
    return [*opening("Stud", "Kh", "2d", "Ac", OPENED), ("Fourth Street", f"{dealt}, {play}")]


@pytest.mark.parametrize(
    ("source", "cards", "first"),
    [
        ("K 10.7.5 the ace is highest", ("3h", "3d", "3c"), "cat"),
        ("K 10.7.5 a pair is higher", ("3h", "2s", "Qc"), "bob"),
        ("K 10.7.5 of two pairs the higher one", ("Ks", "2s", "Qc"), "ann"),
        ("K 10.7.5 the second card decides", ("Ah", "3d", "Kc"), "ann"),
    ],
)
def test_the_highest_showing_hand_acts_first(
    source: str, cards: tuple[str, str, str], first: str
) -> None:
    for name in THREE:
        found = codes(on_fourth(cards, f"{name} check"), THREE, game="Stud", **FIXED)
        assert found == ([] if name == first else [TURN]), source


def test_of_equal_hands_the_nearest_left_of_the_dealer_box_acts_first() -> None:
    # ann K-A, cat A-K: ann sits at the left of the box, which is cat's
    assert codes(on_fourth(("Ad", "3d", "Kc"), "ann check"), THREE, game="Stud", **FIXED) == []
    assert codes(on_fourth(("Ad", "3d", "Kc"), "cat check"), THREE, game="Stud", **FIXED) == [TURN]


def test_who_has_folded_shows_nothing() -> None:
    rounds = opening("Stud", "Kh", "2d", "Ac", "bob bring-in 1, cat fold, ann call 1")
    fourth = "ann deal 3h, bob deal 4d, ann check, bob check"
    assert codes([*rounds, ("Fourth Street", fourth)], THREE, game="Stud", **FIXED) == []


def test_when_the_highest_hand_is_all_in_the_next_or_the_highest_with_chips_acts() -> None:
    stacks = {**THREE, "cat": "1.50"}
    played = OPENED.replace("cat call 1", "cat call 1!")
    rounds = opening("Stud", "Kh", "2d", "Ac", played)
    for first, found in (("ann", []), ("bob", [])):
        fourth = f"ann deal 3h, bob deal 2s, cat deal Ad, {first} check"
        play = [*rounds, ("Fourth Street", fourth)]
        assert codes(play, stacks, game="Stud", **FIXED) == found


def test_a_card_that_is_not_known_lets_anyone_act_first() -> None:
    for name in THREE:
        rounds = on_fourth(("3h", "??", "3c"), f"{name} check")
        assert codes(rounds, THREE, game="Stud", **FIXED) == []


FOURTH_STREET: list[tuple[str, str, str, str, str, str | None]] = [
    # game, limit, second card of bob (who shows a deuce), play; what is found
    ("K 10.7.7", "no pair: the lower limit", "Stud", "9d", "cat bet 5", None),
    ("K 10.7.7", "no pair: no double bet", "Stud", "9d", "cat bet 10", AMOUNT),
    ("K 10.7.7", "a pair: the lower limit", "Stud", "2s", "bob bet 5", None),
    ("K 10.7.7", "a pair: double", "Stud", "2s", "bob bet 10", None),
    ("K 10.7.7", "a pair: neither", "Stud", "2s", "bob bet 7", AMOUNT),
    ("K 10.7.7", "double by who has no pair", "Stud", "2s", "bob check, cat bet 10", None),
    ("K 10.7.7", "raising double", "Stud", "2s", "bob bet 5, cat raise 15", None),
    ("K 10.2.1", "a raise is not less than the bet", "Stud", "2s", "bob bet 10, cat raise 15",
     AMOUNT),
    ("K 10.7.7", "three raises", "Stud", "2s",
     "bob bet 5, cat raise 10, ann raise 20, bob raise 25", None),
    ("K 10.7.7", "a fourth raise, whatever their size", "Stud", "2s",
     "bob bet 5, cat raise 10, ann raise 20, bob raise 25, cat raise 30", ACTION),
    ("K 10.7.7", "the card is not known", "Stud", "??", "cat bet 10", None),
    ("K 10.8.7", "not in hi/lo", "StudHiLo", "2s", "bob bet 10", AMOUNT),
]  # fmt: skip


@pytest.mark.parametrize(
    ("game", "card", "play", "code"),
    [one[2:] for one in FOURTH_STREET],
    ids=[f"{one[0]} {one[1]}" for one in FOURTH_STREET],
)
def test_with_an_open_pair_on_fourth_street_double_may_be_bet(
    game: str, card: str, play: str, code: str | None
) -> None:
    rounds = on_fourth(("8h", card, "8c"), play)
    assert codes(rounds, THREE, game=game, **FIXED) == ([code] if code else [])


@pytest.mark.parametrize(
    ("street", "bet", "code"),
    [
        ("Fourth Street", 5, None),
        ("Fifth Street", 10, None),
        ("Fifth Street", 5, AMOUNT),
        ("Sixth Street", 10, None),
        ("Seventh Street", 10, None),
        ("Seventh Street", 5, AMOUNT),
    ],
)
def test_stud_is_bet_at_the_lower_limit_on_two_streets(
    street: str, bet: int, code: str | None
) -> None:
    """RULES 3: stud 2 lower, rest upper. The ace acts first throughout."""
    names = ["Fourth Street", "Fifth Street", "Sixth Street", "Seventh Street"]
    cards = ["3h4d5c", "6h7d8c", "9hTdJc", "??????"]
    rounds = opening("Stud", "Kh", "2d", "Ac", OPENED)
    for name, dealt in zip(names, cards, strict=True):
        deals = [f"{who} deal {dealt[2 * n : 2 * n + 2]}" for n, who in enumerate(THREE)]
        play = f"cat bet {bet}" if name == street else "cat check, ann check, bob check"
        rounds.append((name, ", ".join([*deals, play])))
        if name == street:
            break
    assert codes(rounds, THREE, game="Stud", **FIXED) == ([code] if code else [])


@pytest.mark.parametrize("game", ["Stud", "StudHiLo"])
def test_there_is_no_betting_after_a_seventh_card_that_all_share(game: str) -> None:
    """K 10.7.7, K 10.8.7: eight players, and the deck has run out."""
    names = "abcdefgh"
    ranks = "23456789"
    deals = ", ".join(f"{name} deal ????{rank}d" for name, rank in zip(names, ranks, strict=True))
    antes = ", ".join(f"{name} ante 0.50" for name in names)
    calls = ", ".join(f"{name} call 1" for name in names[1:])
    # h shows a nine and acts first on every street
    checks = ", ".join(f"{name} check" for name in "habcdefg")
    rounds = [("Third Street", f"{antes}, {deals}, a bring-in 1, {calls}")]
    for street, suit in (("Fourth Street", "h"), ("Fifth Street", "s"), ("Sixth Street", "c")):
        dealt = ", ".join(
            f"{name} deal {rank}{suit}" for name, rank in zip(names, ranks, strict=True)
        )
        rounds.append((street, f"{dealt}, {checks}"))
    stacks = dict.fromkeys(names, "100")
    shared = [*rounds, ("Seventh Street: Ks", "")]
    assert codes(shared, stacks, game=game, running=False, **FIXED) == []
    bet = [*rounds, ("Seventh Street: Ks", checks)]
    [found] = findings(bet, stacks, game=game, running=False, **FIXED)
    assert (found.code, found.where) == (ACTION, "rounds[4].actions[0]")


def test_telesina_has_a_round_of_betting_after_the_vela() -> None:
    """K 10.11.7: five rounds; the highest hand showing acts first in the last one as well."""
    rounds = opening("Telesina", "Kh", "7d", "Ac", "cat bring-in 1, ann call 1, bob call 1")
    streets = [("Third Street", "8h8d9c"), ("Fourth Street", "ThJdQc"), ("Fifth Street", "9h9dTc")]
    for name, dealt in streets:
        deals = [f"{who} deal {dealt[2 * n : 2 * n + 2]}" for n, who in enumerate(THREE)]
        rounds.append((name, ", ".join([*deals, "cat check, ann check, bob check"])))
    last = [*rounds, ("Vela: As", "cat bet 10, ann call 10, bob fold")]
    assert codes(last, THREE, game="Telesina", running=False, **FIXED) == []
    none = [*rounds, ("Vela: As", "")]
    assert codes(none, THREE, game="Telesina", running=False, **FIXED) == [TURN]
