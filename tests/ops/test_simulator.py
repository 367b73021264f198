"""The simulator's hands are legal, pay the right players, and lose no money.

PokerKit (MIT) plays every hand again, action by action; it knows nothing of this project.
"""

import json
import warnings
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count
from random import Random
from typing import Any

import pokerkit as pk
import pytest

from ledger.hands.judge import judge
from ledger.hands.reading import read
from ledger.rulebooks import shipped
from ops.simulator import cards, load, pots, rake
from ops.simulator.games import Limits, antes, blinds
from ops.simulator.record import encode
from ops.simulator.room import Dealt, Move, Room

OPENED = datetime(2013, 6, 1, 18, tzinfo=UTC)
HANDS = 200

TABLES = {
    "no-limit hold'em": (blinds("Holdem", "NL", 100), 6, 8000),
    "no-limit hold'em, ten seats, short stacks": (blinds("Holdem", "NL", 20), 10, 300),
    "no-limit hold'em, two seats": (blinds("Holdem", "NL", 100), 2, 3000),
    "no-limit hold'em, play money": (blinds("Holdem", "NL", 100, "XPM"), 6, 8000),
    "fixed-limit hold'em": (blinds("Holdem", "FL", 100), 8, 1000),
    "pot-limit Omaha": (blinds("Omaha", "PL", 50), 6, 2000),
    "fixed-limit Omaha hi/lo": (blinds("OmahaHiLo", "FL", 200), 8, 3000),
    "fixed-limit seven-card stud": (antes("Stud", 100), 7, 1500),
    "fixed-limit five-card draw": (blinds("FiveCardDraw", "FL", 50), 6, 800),
}

PK_GAMES: dict[tuple[str, str], Any] = {
    ("Holdem", "NL"): pk.NoLimitTexasHoldem,
    ("Holdem", "FL"): pk.FixedLimitTexasHoldem,
    ("Omaha", "PL"): pk.PotLimitOmahaHoldem,
    ("OmahaHiLo", "FL"): pk.FixedLimitOmahaHoldemHighLowSplitEightOrBetter,
    ("Stud", "FL"): pk.FixedLimitSevenCardStud,
}


def played(name: str, *, hands: int = HANDS, seed: int = 1, **room: Any) -> Iterator[Dealt]:
    """Play hands at one table whose players come and go."""
    limits, size, buy_in = TABLES[name]
    newcomers = (f"player-{number}" for number in count(1))
    simulated = Room(Random(f"{name} {seed}"), at=OPENED, **room)
    table = simulated.open("Etomo", limits, size, buy_in)
    while table.hands < hands:
        for move in simulated.moves(table, lambda: next(newcomers)):
            simulated.apply(move)
        dealt = simulated.deal(table)
        if dealt is not None:
            yield dealt


every_table = pytest.mark.parametrize("name", TABLES)


# -- replayed by PokerKit ------------------------------------------------------------------------


def pk_streets(limits: Limits) -> tuple[tuple[pk.Street, ...], tuple[Any, ...], Any]:
    """Return a game's streets, hand types and betting structure as PokerKit has them."""
    unit = limits.unit
    if limits.game == "FiveCardDraw":
        first = pk.Street(False, (False,) * 5, 0, False, pk.Opening.POSITION, unit, 4)
        second = pk.Street(False, (), 0, True, pk.Opening.POSITION, 2 * unit, 4)
        return (first, second), (pk.StandardHighHand,), pk.BettingStructure.FIXED_LIMIT
    kind = PK_GAMES[limits.game, limits.bet_type]
    bets = (unit, 2 * unit) if limits.bet_type == "FL" else (unit,)
    forced = limits.bring_in or (limits.small_blind, limits.big_blind)
    game = kind((), True, limits.ante, forced, *bets)
    streets = tuple(replace(street, card_burning_status=False) for street in game.streets)
    return streets, game.hand_types, game.betting_structure


def pk_state(dealt: Dealt) -> pk.State:
    """Set up a hand: players in the order in which they sit left of the dealer."""
    limits, opening = dealt.heading.limits, dealt.opening
    streets, hand_types, structure = pk_streets(limits)
    posted = {"Post SB": limits.small_blind, "Post BB": limits.big_blind}
    forced = dict.fromkeys(opening.players, 0)
    dead = dict.fromkeys(opening.players, limits.ante)
    for player, action in opening.blinds:
        if action == "Post Dead":
            dead[player] = limits.small_blind
        else:
            forced[player] = posted.get(action, -limits.big_blind)
    in_order = list(forced.values())
    return pk.State(
        (
            pk.Automation.ANTE_POSTING,
            pk.Automation.BET_COLLECTION,
            pk.Automation.BLIND_OR_STRADDLE_POSTING,
            pk.Automation.HOLE_CARDS_SHOWING_OR_MUCKING,
            pk.Automation.HAND_KILLING,
            pk.Automation.CHIPS_PUSHING,
            pk.Automation.CHIPS_PULLING,
        ),
        pk.Deck.STANDARD,
        hand_types,
        streets,
        structure,
        False,
        list(dead.values()),
        in_order[::-1] if len(in_order) == 2 else in_order,  # PokerKit turns two round
        limits.bring_in,
        [opening.stacks[player] for player in opening.players],
        len(opening.players),
    )


def replay(dealt: Dealt) -> pk.State:
    """Play a hand again; PokerKit raises ValueError for what is out of turn or not legal."""
    state = pk_state(dealt)
    place = {player: number for number, player in enumerate(dealt.opening.players)}
    for street in dealt.hand.rounds:
        drawn: list[str] = []  # PokerKit deals when everyone has thrown his cards away
        if street.board:
            state.deal_board("".join(street.board))
        for action in street.actions:
            if action.action in ("Fold", "Check", "Call", "Bet", "Raise"):
                for hand in drawn:
                    state.deal_hole(hand)
                drawn = []
                assert state.actor_index == place[action.player], (street.street, action)
            match action.action:
                case "Dealt Cards" if street.street == "First Draw":
                    drawn.append("".join(action.cards))
                case "Dealt Cards":
                    state.deal_hole("".join(action.cards), place[action.player])
                case "Discard" | "Stand Pat":
                    state.stand_pat_or_discard("".join(action.cards))
                case "Bring In":
                    assert state.actor_index == place[action.player]
                    state.post_bring_in()
                case "Fold":
                    state.fold()
                case "Check" | "Call":
                    assert state.check_or_call().amount == action.amount
                case "Bet" | "Raise":
                    to = state.bets[place[action.player]] + action.amount
                    state.complete_bet_or_raise_to(to)
        for hand in drawn:
            state.deal_hole(hand)
    return state


@every_table
def test_every_hand_is_legal_and_pays_what_pokerkit_pays(name: str) -> None:
    for dealt in played(name, schedule=rake.free):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            state = replay(dealt)
        assert not state.status, "PokerKit waits for more"
        ours = [dealt.hand.stacks[player] for player in dealt.opening.players]
        odd_units = max(len(wins) for wins in dealt.hand.wins) - 2
        for mine, theirs in zip(ours, state.stacks, strict=True):
            # Of three winners PokerKit gives both odd units to the first; here each gets one.
            assert abs(mine - theirs) <= max(0, odd_units)


@every_table
def test_the_ledger_finds_nothing_wrong_with_a_hand(name: str) -> None:
    rulebook = next(book for book in shipped() if book.ref == "entraction@2013-01-01")
    for dealt in played(name, seed=2):
        judgement = judge(read(encode(dealt.record)), rulebook)
        assert list(judgement.findings) == []


@every_table
def test_no_money_is_lost_in_a_hand(name: str) -> None:
    for dealt in played(name, hands=50):
        before = sum(dealt.opening.stacks.values())
        assert before == sum(dealt.hand.stacks.values()) + dealt.rake
        ohh = json.loads(encode(dealt.record), parse_float=Decimal)["ohh"]
        put_in = sum(
            action.get("amount", 0) for street in ohh["rounds"] for action in street["actions"]
        )
        returned = sum(one["amount"] for one in ohh["x_uncalled_returned"])
        won = sum(win["win_amount"] for pot in ohh["pots"] for win in pot["player_wins"])
        taken = sum(pot["rake"] for pot in ohh["pots"])
        assert put_in - returned == sum(pot["amount"] for pot in ohh["pots"]) == won + taken


@every_table
def test_only_hands_and_moves_change_the_chips_of_a_seat(name: str) -> None:
    limits, size, buy_in = TABLES[name]
    newcomers = (f"player-{number}" for number in count(1))
    room = Room(Random(name), at=OPENED)
    table = room.open("Etomo", limits, size, buy_in)
    chips: dict[str, int] = {}
    for _ in range(60):
        for move in room.moves(table, lambda: next(newcomers)):
            room.apply(move)
            chips[move.player] = chips.get(move.player, 0) + move.amount
            if move.kind == "leave":
                chips[move.player] = 0
        dealt = room.deal(table)
        if dealt is None:
            continue
        stacks = {seated.name: seated.stack for seated in dealt.heading.players}
        assert stacks == {player: left for player, left in chips.items() if left}
        names = {seated.seat: seated.name for seated in dealt.heading.players}
        chips |= {names[seat]: stack for seat, stack in dealt.hand.stacks.items()}


def test_the_same_seed_plays_the_same_hands() -> None:
    one, two, other = (
        [encode(dealt.record) for dealt in played("pot-limit Omaha", hands=20, seed=seed)]
        for seed in (7, 7, 8)
    )
    assert one == two != other


def test_two_players_at_a_bigger_table_leave_the_big_blind_to_the_dealer() -> None:
    room = Room(Random(1), at=OPENED)
    table = room.open("Etomo", blinds("Holdem", "NL", 100), 6, 8000)
    for seat in (2, 5):
        room.apply(Move("buy-in", "Etomo", f"player-{seat}", seat, 8000))
    dealt = room.deal(table)
    assert dealt is not None
    assert (dealt.heading.dealer, 7 - dealt.heading.dealer) in ((2, 5), (5, 2))
    assert list(dealt.opening.blinds)[1] == (dealt.heading.dealer, "Post BB")
    assert dealt.opening.first == 7 - dealt.heading.dealer


def test_who_sits_down_posts_the_big_blind_or_waits_for_it() -> None:
    posted, waited = 0, 0
    for dealt in played("no-limit hold'em", hands=300):
        kinds = [action for _, action in dealt.opening.blinds]
        assert kinds[:2] == ["Post SB", "Post BB"]
        posted += "Post Extra Blind" in kinds
        waited += any(not seated.dealt for seated in dealt.heading.players)
    assert posted
    assert waited


# -- load ----------------------------------------------------------------------------------------


def test_hands_filled_in_for_load_are_as_right_as_played_ones() -> None:
    rulebook = next(book for book in shipped() if book.ref == "entraction@2013-01-01")
    scripts = load.scripts(Random(3), each=8)
    names = [f"player-{seat}" for seat in range(1, 7)]
    table = load.LoadTable("Etomo", names, [2_000_000] * 6)
    for number in range(1, 97):
        before = table.stacks
        hand = read(table.hand(scripts, number, b"2026-11-29T18:00:00Z"))
        assert list(judge(hand, rulebook).findings) == []
        assert (hand.game_number, hand.table_name) == (str(number), "Etomo")
        assert hand.dealer_seat == (number - 1) % 6 + 1
        assert [player.name for player in hand.players] == names
        assert [player.starting_stack for player in hand.players] == before
        assert sum(before) - sum(table.stacks) == sum(pot.rake for pot in hand.pots)


def test_a_quarter_of_the_hands_for_load_is_shown_down() -> None:
    for of_dealer in load.scripts(Random(4), each=20):
        assert sum(script.showdown for script in of_dealer) == 5


def test_a_table_for_load_says_when_a_player_runs_short() -> None:
    table = load.LoadTable("Etomo", ["a", "b", "c", "d", "e", "f"], [load.DEEPEST - 1] * 6)
    with pytest.raises(RuntimeError, match="Etomo has run short"):
        table.hand(load.scripts(Random(5), each=4), 1, b"2026-11-29T18:00:00Z")


# -- what a pot pays -----------------------------------------------------------------------------

ROYAL = ("Ts", "Js", "Qs", "Ks", "As")
LOW_BOARD = ("2c", "3d", "7h", "Kd", "Qc")


@pytest.mark.parametrize(
    ("own", "board", "low"),
    [
        (("As", "4s", "Kh", "Kc"), LOW_BOARD, (7, 4, 3, 2, 1)),
        (("As", "2s", "Kh", "Kc"), LOW_BOARD, None),
        (("4s", "5s", "6h", "Kc"), LOW_BOARD, (7, 5, 4, 3, 2)),
        (("As", "4s", "5h", "6c"), ("2c", "9d", "Th", "Kd", "7c"), None),
        (("As", "2s", "3h", "4c"), ("5c", "6d", "7h", "8d", "8c"), (7, 6, 5, 2, 1)),
        (("Ks", "Qs", "3h", "4c"), ("5c", "6d", "7h", "8d", "8c"), (7, 6, 5, 4, 3)),
        (("Ks", "Qs", "Jh", "4c"), ("5c", "6d", "7h", "8d", "8c"), None),
    ],
)
def test_a_low_is_five_ranks_up_to_eight_with_two_from_the_hand(
    own: tuple[str, ...], board: tuple[str, ...], low: tuple[int, ...] | None
) -> None:
    assert cards.low(own, board) == low


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("4d4c3h3c", "QhQd6sTc"),
        ("2d2c2h3c", "AhAdKsKc"),
        ("2d2c2h2s", "AhAdAsKc"),
        ("AhKd", "AsQd"),
        ("2h2d", "AsKd"),
        ("QhQd6s", "QsQc5s"),
    ],
)
def test_open_cards_are_ordered_by_their_pairs_first(better: str, worse: str) -> None:
    def split(text: str) -> list[str]:
        return [text[i : i + 2] for i in range(0, len(text), 2)]

    assert cards.showing(split(better)) > cards.showing(split(worse))


def test_an_all_in_player_wins_from_each_at_most_what_he_put_in() -> None:
    # Source: K 10.1.5: A 100, B folds after 50, C all-in 50.
    formed = pots.form({1: 100, 2: 50, 3: 50}, 0, {1, 3})
    assert formed == [pots.Pot(150, (1, 3)), pots.Pot(50, (1,))]


def test_dead_money_goes_into_the_main_pot() -> None:
    assert pots.form({1: 30, 2: 100, 3: 100}, 5, {1, 2, 3}) == [
        pots.Pot(95, (1, 2, 3)),
        pots.Pot(140, (2, 3)),
    ]


def test_odd_units_go_one_each_from_the_left_of_the_dealer() -> None:
    hands = dict.fromkeys((4, 6, 2), ("2c", "3d"))
    assert pots.divide(101, "Holdem", hands, ROYAL, (4, 6, 2)) == [
        pots.Win(4, 34),
        pots.Win(6, 34),
        pots.Win(2, 33),
    ]


def test_the_odd_unit_between_the_halves_goes_to_the_high() -> None:
    hands = {5: ("As", "4s", "9h", "9c"), 1: ("Kh", "Ks", "9s", "9d")}
    assert pots.divide(101, "OmahaHiLo", hands, LOW_BOARD, (5, 1)) == [
        pots.Win(1, 51, "high"),
        pots.Win(5, 50, "low"),
    ]


# -- rake ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bet_type", "lower_limit", "pot", "dealt", "due"),
    [
        ("NL", 100, 199, 6, 9),
        ("NL", 100, 200, 6, 10),
        ("PL", 100, 6100, 6, 300),
        ("NL", 100, 6100, 5, 200),
        ("NL", 100, 6100, 3, 75),
        ("FL", 50, 3000, 6, 100),
        ("FL", 75, 119, 6, 5),
        ("FL", 100, 499, 4, 0),
        ("FL", 150, 1000, 4, 50),
        ("FL", 200, 999, 4, 0),
        ("FL", 1000, 9999, 4, 200),
    ],
)
def test_the_fee_follows_the_schedule_of_2013(
    bet_type: str, lower_limit: int, pot: int, dealt: int, due: int
) -> None:
    assert rake.by_schedule(bet_type, lower_limit, pot, dealt) == due
