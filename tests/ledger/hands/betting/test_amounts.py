"""How much may be bet and raised: every limit, as totals that a dealer would call out.

Amounts in the tables are what an action adds to the pot.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from ledger.hands.betting.limits import bring_in_of, limit_of
from ledger.hands.settlement import lower_limit
from ledger.tables.events import table_stream
from tests.ledger.given import NETWORK, a_book, open_table
from tests.ledger.hands.betting.bets import FOUR, TWO, codes, findings
from tests.ledger.hands.posts import a_post, read, rules

AMOUNT, ACTION = "illegal-amount", "illegal-action"
BLINDS = "ann sb 1, bob bb 2"
LIMPED = ("Preflop", f"{BLINDS}, cat call 2, dan call 2, ann call 1, bob check")

Case = tuple[str, str, str, str | None]
"""Source, what is tried, the play, and what is found."""


def ids(cases: list[Case]) -> list[str]:
    return [f"{one[0]} {one[1]}" for one in cases]


# -- no limit ----------------------------------------------------------------------------------

NO_LIMIT: list[Case] = [
    ("K 10.2.1", "a raise of the big blind", "cat raise 4", None),
    ("K 10.2.1", "a raise of less", "cat raise 3.99", AMOUNT),
    ("K 10.2.4", "all that he has", "cat raise 100!", None),
    ("K 10.2.1", "a raise of the raise before", "cat raise 7, dan raise 12", None),
    ("K 10.2.1", "a raise of less than the raise before", "cat raise 7, dan raise 11", AMOUNT),
    ("K 10.2.1", "the small blind's raise counts what he has posted",
     "cat raise 7, dan fold, ann raise 11", None),
    ("K 10.2.1", "the small blind raises too little",
     "cat raise 7, dan fold, ann raise 10", AMOUNT),
    ("E", "a call of another amount", "cat call 3", AMOUNT),
    ("E", "a call of less", "cat raise 7, dan call 6", AMOUNT),
    ("E", "a check that costs something", "cat fold, dan fold, ann call 1, bob check 1", AMOUNT),
    ("E", "a fold that costs something", "cat fold 1", AMOUNT),
    ("E", "said to be all-in with chips left", "cat raise 4!", AMOUNT),
    ("E", "said to be all-in with a call", "cat call 2!", AMOUNT),
]  # fmt: skip


@pytest.mark.parametrize(("play", "code"), [one[2:] for one in NO_LIMIT], ids=ids(NO_LIMIT))
def test_at_no_limit_a_raise_is_at_least_the_one_before(play: str, code: str | None) -> None:
    assert codes(f"{BLINDS}, {play}") == ([code] if code else [])


@pytest.mark.parametrize(
    ("play", "code"),
    [
        ("ann bet 2", None),  # K 10.2.4: the minimum is the big blind
        ("ann bet 1.99", AMOUNT),
        ("ann bet 98!", None),
        ("ann bet 10, bob raise 20", None),
        ("ann bet 10, bob raise 19", AMOUNT),
        ("ann bet 10, bob raise 30, cat raise 50", None),
        ("ann bet 10, bob raise 30, cat raise 49", AMOUNT),
    ],
)
def test_at_no_limit_the_least_bet_is_the_big_blind(play: str, code: str | None) -> None:
    assert codes([LIMPED, ("Flop", play)]) == ([code] if code else [])


def test_the_finding_says_what_may_be_bet() -> None:
    [found] = findings(f"{BLINDS}, cat raise 3")
    assert (found.expected, found.posted) == ("4.00 to 100.00", "3.00")
    [found] = findings(f"{BLINDS}, cat raise 7, dan fold, ann raise 10")
    assert (found.expected, found.posted) == ("11.00 to 99.00", "10.00")
    [found] = findings(f"{BLINDS}, cat raise 7, dan call 6")
    assert (found.expected, found.posted) == ("7.00", "6.00")


def test_a_tournament_without_a_least_raise_lets_anyone_raise_by_any_amount() -> None:
    """L, flop: raise by any amount; any number of raises."""
    more = {"rulebook": "live-tournament", "tournament": True}
    assert codes(f"{BLINDS}, cat raise 3, dan raise 4, ann raise 4, bob raise 4", **more) == []
    raises = ", ".join(f"{name} raise {amount}" for name, amount in zip(
        ("cat", "dan", "ann", "bob", "cat", "dan"), (3, 4, 4, 4, 4, 4), strict=True
    ))  # fmt: skip
    assert codes(f"{BLINDS}, {raises}", **more) == []
    assert codes([LIMPED, ("Flop", "ann bet 1")], **more) == [AMOUNT]


CREDITS: dict[str, Any] = {
    "rulebook": "gamevelvet",
    "game": "FiveCardDraw",
    "currency": "XCR",
    "small_blind_amount": 0,
    "big_blind_amount": 0,
    "ante_amount": 10,
}
ANTES = "ann ante 10, bob ante 10, cat ante 10, dan ante 10"


@pytest.mark.parametrize(
    ("play", "limit", "code"),
    [
        # G: a bet is at least the ante and at most the table limit, if any
        ("ann bet 10, bob raise 11", None, None),
        ("ann bet 9", None, AMOUNT),
        ("ann bet 90!", None, None),
        ("ann bet 40, bob raise 50", 50, None),
        ("ann bet 51", 50, AMOUNT),
        ("ann bet 40, bob raise 51", 50, AMOUNT),
        ("ann bet 50, bob raise 60", 50, ACTION),
    ],
)
def test_for_credits_the_least_bet_is_the_ante_and_the_most_the_table_s(
    play: str, limit: int | None, code: str | None
) -> None:
    more = {**CREDITS, "x_big_bet": limit} if limit else CREDITS
    assert codes(f"{ANTES}, {play}", **more) == ([code] if code else [])


# -- pot limit and half-pot limit ---------------------------------------------------------------

POT_LIMIT: list[Case] = [
    # the pot after calling: 1 + 2 + 2 to call, so 2 + 5
    ("K 10.2.5", "the pot before the flop", "cat raise 7", None),
    ("K 10.2.5", "more than the pot", "cat raise 7.01", AMOUNT),
    ("K 10.2.5", "the least raise", "cat raise 4", None),
    ("K 10.2.5", "less than the least", "cat raise 3", AMOUNT),
    # 1 + 2 + 7 + 7 to call: to 7 + 17
    ("K 10.2.5", "the pot again", "cat raise 7, dan raise 24", None),
    ("K 10.2.5", "more than the pot again", "cat raise 7, dan raise 25", AMOUNT),
    # 1 + 2 + 2 + 1 to call: to 2 + 6, of which he has posted 1
    ("K 10.2.5", "the small blind bets the pot", "cat call 2, dan fold, ann raise 7", None),
    ("K 10.2.5", "the small blind bets more", "cat call 2, dan fold, ann raise 7.01", AMOUNT),
    # a dead blind is in the pot: 1 + 2 + 1 + 2 + 2
    ("K 10.1.4", "dead money counts", "dan dead 1, dan blind 2, cat raise 10", None),
]  # fmt: skip


@pytest.mark.parametrize(("play", "code"), [one[2:] for one in POT_LIMIT], ids=ids(POT_LIMIT))
def test_at_pot_limit_the_most_is_the_pot_after_calling(play: str, code: str | None) -> None:
    assert codes(f"{BLINDS}, {play}", limit="PL") == ([code] if code else [])


HALF_POT: list[Case] = [
    # half of 1 + 2 + 2
    ("K 10.2.6", "half the pot before the flop", "cat raise 4.50", None),
    ("K 10.2.6", "more than half the pot", "cat raise 4.51", AMOUNT),
    # half of 1 + 2 + 4.50 + 4.50
    ("K 10.2.6", "half the pot again", "cat raise 4.50, dan raise 10.50", None),
    ("K 10.2.6", "more again", "cat raise 4.50, dan raise 10.51", AMOUNT),
]


@pytest.mark.parametrize(("play", "code"), [one[2:] for one in HALF_POT], ids=ids(HALF_POT))
def test_at_half_pot_limit_the_most_is_half_of_it(play: str, code: str | None) -> None:
    assert codes(f"{BLINDS}, {play}", limit="HPL") == ([code] if code else [])


@pytest.mark.parametrize(
    ("limit", "play", "code"),
    [
        ("PL", "ann bet 8", None),
        ("PL", "ann bet 8.01", AMOUNT),
        ("PL", "ann bet 1", AMOUNT),
        ("PL", "ann bet 8, bob raise 32", None),  # 8 + 8 + 8 to call: to 8 + 24
        ("PL", "ann bet 8, bob raise 33", AMOUNT),
        ("HPL", "ann bet 4", None),
        ("HPL", "ann bet 4.01", AMOUNT),
        ("HPL", "ann bet 4, bob raise 12", None),
    ],
)
def test_after_the_flop_the_pot_is_what_was_bet_before(
    limit: str, play: str, code: str | None
) -> None:
    assert codes([LIMPED, ("Flop", play)], limit=limit) == ([code] if code else [])


# -- fixed limit -------------------------------------------------------------------------------

FIXED: list[Case] = [
    ("K 10.2.2", "a raise of the lower limit", "cat raise 4", None),
    ("K 10.2.2", "a raise of the upper limit too early", "cat raise 6", AMOUNT),
    ("K 10.2.2", "a raise of less", "cat raise 3", AMOUNT),
    ("K 10.2.2", "the big blind is the first bet: three raises",
     "cat raise 4, dan raise 6, ann raise 7", None),
    ("K 10.2.2", "a fifth bet", "cat raise 4, dan raise 6, ann raise 7, bob raise 8", ACTION),
    ("E", "once capped, a player may call",
     "cat raise 4, dan raise 6, ann raise 7, bob call 6, cat call 4, dan call 2", None),
]  # fmt: skip


@pytest.mark.parametrize("rulebook", ["entraction", "empire"])
@pytest.mark.parametrize(("play", "code"), [one[2:] for one in FIXED], ids=ids(FIXED))
def test_at_fixed_limit_bets_have_one_size_and_there_are_four(
    play: str, code: str | None, rulebook: str
) -> None:
    assert codes(f"{BLINDS}, {play}", limit="FL", rulebook=rulebook) == ([code] if code else [])


CHECKED = "ann check, bob check, cat check, dan check"


@pytest.mark.parametrize(
    ("street", "play", "code"),
    [
        # K 10.2.2: the lower limit in the first two rounds, the upper in the last two
        ("Flop", "ann bet 2", None),
        ("Flop", "ann bet 4", AMOUNT),
        ("Flop", "ann bet 2, bob raise 4, cat raise 6, dan raise 8", None),
        ("Flop", "ann bet 2, bob raise 4, cat raise 6, dan raise 8, ann raise 8", ACTION),
        ("Turn", "ann bet 4", None),
        ("Turn", "ann bet 2", AMOUNT),
        ("Turn", "ann bet 4, bob raise 8, cat raise 12, dan raise 16", None),
        ("River", "ann bet 4", None),
        ("River", "ann bet 2", AMOUNT),
    ],
)
def test_the_upper_limit_is_bet_in_the_last_two_rounds(
    street: str, play: str, code: str | None
) -> None:
    streets = ["Flop", "Turn", "River"]
    before = [(one, CHECKED) for one in streets[: streets.index(street)]]
    assert codes([LIMPED, *before, (street, play)], limit="FL") == ([code] if code else [])


DRAWS = {
    "FiveCardDraw": ["First Draw"],
    "TripleDraw27": ["First Draw", "Second Draw", "Third Draw"],
}


@pytest.mark.parametrize(
    ("game", "street", "bet", "code"),
    [
        ("FiveCardDraw", "First Draw", 4, None),
        ("FiveCardDraw", "First Draw", 2, AMOUNT),
        ("TripleDraw27", "First Draw", 2, None),
        ("TripleDraw27", "First Draw", 4, AMOUNT),
        ("TripleDraw27", "Second Draw", 4, None),
        ("TripleDraw27", "Third Draw", 2, AMOUNT),
    ],
)
def test_draw_games_have_their_own_rounds_at_the_lower_limit(
    game: str, street: str, bet: int, code: str | None
) -> None:
    """K 10.10.7; five-card draw by the rulebook."""
    streets = DRAWS[game]
    before = [(one, CHECKED) for one in streets[: streets.index(street)]]
    rounds = [("Deal", LIMPED[1]), *before, (street, f"ann bet {bet}")]
    assert codes(rounds, game=game, limit="FL") == ([code] if code else [])


def test_a_straddle_is_one_of_the_four_bets() -> None:
    play = "ann sb 1, bob bb 2, cat straddle 4, dan raise 6, ann raise 7"
    assert codes(play, limit="FL") == []
    assert codes(f"{play}, bob raise 8", limit="FL") == [ACTION]


# -- spread limit: 1-2-3 -----------------------------------------------------------------------

SPREAD = {"limit": "SL", "x_spread": [1, 2, 3], "small_blind_amount": 0.25, "big_blind_amount": 0.5}
OPENED = "ann sb 0.25, bob bb 0.50"
CALLED = ("Preflop", f"{OPENED}, cat call 0.50, dan call 0.50, ann call 0.25, bob check")

SPREAD_LIMIT: list[tuple[str, str, str, str, str | None]] = [
    # source, what, street, play, what is found; the big blind is 0.50
    ("K 10.2.3", "a raise of the big blind", "Preflop", "cat raise 1", None),
    ("K 10.2.3", "a raise of the limit", "Preflop", "cat raise 1.50", None),
    ("K 10.2.3", "a raise of more", "Preflop", "cat raise 1.60", AMOUNT),
    ("D", "a raise lower than the one before", "Preflop", "cat raise 1.50, dan raise 2", AMOUNT),
    ("D", "a lower raise that caps at 3 x 1", "Preflop",
     "cat raise 1.50, dan raise 2.50, ann raise 2.75", None),
    ("D", "a lower raise that does not", "Preflop",
     "cat raise 1.50, dan raise 2.50, ann raise 2.65", AMOUNT),
    ("D", "more than the cap", "Preflop",
     "cat raise 1.50, dan raise 2.50, ann raise 3.25", AMOUNT),
    ("D", "a raise when it is capped", "Preflop",
     "cat raise 1.50, dan raise 2.50, ann raise 2.75, bob raise 3", ACTION),
    ("K 10.2.3", "the least bet", "Flop", "ann bet 0.50", None),
    ("K 10.2.3", "less than the big blind", "Flop", "ann bet 0.40", AMOUNT),
    ("K 10.2.3", "the limit of the second round", "Flop",
     "ann bet 1, bob raise 2, cat raise 3", None),
    ("K 10.2.3", "more than it", "Flop", "ann bet 1.50", AMOUNT),
    ("K 10.2.3", "the limit of the third round", "Turn",
     "ann bet 2, bob raise 4, cat raise 6", None),
    ("K 10.2.3", "more than it", "Turn", "ann bet 2.50", AMOUNT),
    ("K 10.2.3", "the limit of the last round", "River", "ann bet 3", None),
    ("K 10.2.3", "more than it", "River", "ann bet 3.50", AMOUNT),
    ("D", "the cap of the last round", "River", "ann bet 3, bob raise 6, cat raise 9", None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("street", "play", "code"),
    [one[2:] for one in SPREAD_LIMIT],
    ids=[f"{one[0]} {one[1]}" for one in SPREAD_LIMIT],
)
def test_at_spread_limit_bets_lie_between_the_big_blind_and_the_round_s_limit(
    street: str, play: str, code: str | None
) -> None:
    streets = ["Flop", "Turn", "River"]
    if street == "Preflop":
        rounds = [("Preflop", f"{OPENED}, {play}")]
    else:
        before = [(one, CHECKED) for one in streets[: streets.index(street)]]
        rounds = [CALLED, *before, (street, play)]
    assert codes(rounds, **SPREAD) == ([code] if code else [])


# -- all-ins -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cat", "dan", "play", "code"),
    [
        # RULES 3, K 10.2.1: ann bets 10, cat is all-in with 14; 4 more are no raise
        ("16", "100", "ann bet 10, bob call 10, cat raise 14!, dan fold, ann call 4, bob call 4",
         None),
        ("16", "100", "ann bet 10, bob call 10, cat raise 14!, dan fold, ann raise 30", ACTION),
        ("16", "100", "ann bet 10, bob call 10, cat raise 14!, dan fold, ann call 4, bob raise 30",
         ACTION),
        # dan has not acted yet: he may raise, by 10 at least
        ("16", "100", "ann bet 10, bob call 10, cat raise 14!, dan raise 24", None),
        ("16", "100", "ann bet 10, bob call 10, cat raise 14!, dan raise 23", AMOUNT),
        # and then ann may as well
        ("16", "100", "ann bet 10, bob call 10, cat raise 14!, dan raise 24, ann raise 30", None),
        # 14 and 18 are together no raise; 14 and 22 are one
        ("16", "20", "ann bet 10, bob call 10, cat raise 14!, dan raise 18!, ann raise 30", ACTION),
        ("16", "24", "ann bet 10, bob call 10, cat raise 14!, dan raise 22!, ann raise 22", None),
        # 20 are a raise
        ("22", "100", "ann bet 10, bob call 10, cat raise 20!, dan fold, ann raise 20", None),
        ("22", "100", "ann bet 10, bob call 10, cat raise 20!, dan fold, ann raise 19", AMOUNT),
        # a bet of less than the least opens nothing for who has checked
        ("3", "100", "ann check, bob check, cat bet 1!, dan call 1, ann call 1, bob call 1", None),
        ("3", "100", "ann check, bob check, cat bet 1!, dan call 1, ann raise 3", ACTION),
        ("3", "100", "ann check, bob check, cat bet 1!, dan raise 3, ann raise 8", None),
        # who has more than that may not bet so little
        ("4", "100", "ann check, bob check, cat bet 1", AMOUNT),
        ("16", "100", "ann bet 10, bob fold, cat raise 13", AMOUNT),
        # less than the bet is no raise at all
        ("11", "100", "ann bet 10, bob fold, cat raise 9!", AMOUNT),
        ("11", "100", "ann bet 10, bob fold, cat call 9!", None),
    ],
)  # fmt: skip
def test_a_short_all_in_does_not_open_the_betting_again(
    cat: str, dan: str, play: str, code: str | None
) -> None:
    stacks = {**FOUR, "cat": cat, "dan": dan}
    assert codes([LIMPED, ("Flop", play)], stacks) == ([code] if code else [])


def test_a_rulebook_may_let_it_open_the_betting() -> None:
    entraction = rules("entraction")
    opens = replace(entraction, limits=replace(entraction.limits, short_all_in_reopens=True))
    play = "ann bet 10, bob call 10, cat raise 14!, dan fold, ann raise 30"
    assert codes([LIMPED, ("Flop", play)], {**FOUR, "cat": "16"}, rulebook=opens) == []


@pytest.mark.parametrize(
    ("play", "code"),
    [
        # ann bets 2, cat is all-in with 3: the next raise completes it to 4, or adds 2
        ("dan raise 4", None),
        ("dan raise 5", None),
        ("dan raise 6", AMOUNT),
        ("dan call 3, ann raise 3", ACTION),
        ("dan call 3, ann call 1, bob call 1", None),
        # a short all-in is none of the four bets
        ("dan raise 4, ann raise 4, bob raise 6, dan call 4", None),
        ("dan raise 4, ann raise 4, bob raise 6, dan raise 6", ACTION),
    ],
)
def test_at_fixed_limit_a_short_all_in_may_be_completed(play: str, code: str | None) -> None:
    rounds = [LIMPED, ("Flop", f"ann bet 2, bob call 2, cat raise 3!, {play}")]
    found = codes(rounds, {**FOUR, "cat": "5"}, limit="FL")
    assert found == ([code] if code else [])


def test_a_table_may_cap_what_is_bet_in_a_hand() -> None:
    """The standard's bet_cap: who has reached it is as good as all-in."""
    assert codes(f"{BLINDS}, cat raise 20!, dan call 20!, ann fold, bob fold", cap="20") == []
    assert codes(f"{BLINDS}, cat raise 20, dan call 20, ann call 19, bob call 18", cap="20") == []
    assert codes(f"{BLINDS}, cat raise 21", cap="20") == [AMOUNT]
    rounds = [("Preflop", f"{BLINDS}, cat raise 20, dan call 20, ann fold, bob fold")]
    rounds += [("Flop", ""), ("Turn", ""), ("River", "")]
    assert codes(rounds, cap="20", running=False) == []
    assert codes([*rounds[:1], ("Flop", "cat check")], cap="20") == [ACTION]


def test_a_raise_that_nobody_could_call_is_none() -> None:
    """L: when one other player is left and he is all-in, the betting has ended."""
    stacks = {"ann": "100", "bob": "30"}
    assert codes("ann sb 1, bob bb 2, ann raise 29, bob call 28!", stacks) == []
    assert codes("ann sb 1, bob bb 2, ann call 1, bob raise 28!, ann raise 60", stacks) == [ACTION]


def test_what_a_post_leaves_out_is_the_table_s() -> None:
    book = a_book("entraction")
    antes = {"small_blind_minor": 0, "big_blind_minor": 0, "ante_minor": 50}
    stud = open_table(
        book, game="Stud", bet_type="FL", small_bet_minor=500, big_bet_minor=1_000,
        bring_in_minor=200, max_buy_in_minor=None, **antes,
    )  # fmt: skip
    table = book.get(table_stream(NETWORK, stud))
    hand = read(a_post([("Third Street", "")], [], TWO, game_type="Stud",
                       bet_limit={"bet_type": "FL"}, small_blind_amount=0, big_blind_amount=0,
                       ante_amount=0.5))  # fmt: skip
    entraction = rules("entraction")
    limit = limit_of(hand, entraction, table, entraction.games["Stud"])
    assert limit is not None
    assert [limit.least(street) for street in range(5)] == [500, 500, 1_000, 1_000, 1_000]
    assert bring_in_of(hand, entraction, table) == 200
    assert bring_in_of(hand, entraction, None) == 100
    assert limit_of(hand, entraction, None, entraction.games["Stud"]) is None


def test_a_game_of_antes_goes_by_its_small_bet_whatever_blind_is_named() -> None:
    hand = read(a_post([("Third Street", "")], [], TWO, game_type="Stud",
                       bet_limit={"bet_type": "FL"}, small_blind_amount=0, big_blind_amount=0.01,
                       ante_amount=0.1, x_small_bet=1, x_big_bet=2))  # fmt: skip
    entraction = rules("entraction")
    limit = limit_of(hand, entraction, None, entraction.games["Stud"])
    assert limit is not None
    assert [limit.least(street) for street in range(5)] == [100, 100, 200, 200, 200]
    assert lower_limit(hand, entraction) == 100


def test_amounts_are_not_checked_where_the_stakes_are_not_known() -> None:
    """A fixed-limit stud game whose post does not say what a bet is; turns are checked."""
    assert codes("ann bet 7, bob raise 11", TWO, rulebook="as-posted", game="FiveCardDraw",
                 limit="FL", small_blind_amount=0, big_blind_amount=0) == []  # fmt: skip
    assert codes("ann bet 7, bob raise 7", TWO, rulebook="as-posted", game="FiveCardDraw",
                 limit="FL", small_blind_amount=0, big_blind_amount=0) == [AMOUNT]  # fmt: skip
