"""Legal hands that PokerKit plays have no finding; one step that it refuses is one.

PokerKit is not asked where this project's sources differ: it does not count the big blind as one of
four bets, and its first short all-in of a round opens the betting again.
"""

import json
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

import pytest
from pokerkit import State

from tests.ledger.hands.betting.bets import checked
from tests.ledger.hands.posts import rules
from tests.oracle import play as oracle
from tests.oracle.games import BIG, GAMES, Game
from tests.oracle.play import Played
from tests.oracle.record import amount, encoded

SEEDS = 40
ALL_CARDS = 0
"""With this seed the oracle hides nobody's cards: who shows what decides whose turn it is."""

every_game = pytest.mark.parametrize("game", GAMES, ids=[game.title for game in GAMES])


class Turn(NamedTuple):
    """A player's turn as PokerKit has it; ``least`` and ``most`` are totals, 0 for no raise."""

    operations: int
    player: int
    others: tuple[int, ...]
    """Who else is in the hand and has chips."""
    owed: int
    bet: int
    stack: int
    least: int
    most: int
    brought_in: bool
    """The bring-in is to be completed, which a post may call a bet."""


class Table:
    """Plays as the oracle does, within this project's own rules, and notes every turn."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.closed = -1
        """The street on which nobody may raise any more."""

    def bet(self, state: State, rng: Random, temper: float) -> None:
        player, street = state.actor_index, state.street_index
        assert player is not None
        assert street is not None
        least = most = 0
        blind = bool(sum(state.blinds_or_straddles)) and street == 0
        fixed = state.street is not None and (
            state.street.max_completion_betting_or_raising_count is not None
        )
        full = fixed and blind and state.completion_betting_or_raising_count >= 3
        if self.closed != street and not full and state.can_complete_bet_or_raise_to():
            least = state.min_completion_betting_or_raising_to_amount or 0
            most = state.max_completion_betting_or_raising_to_amount or 0
        owed = state.checking_or_calling_amount or 0
        others = tuple(
            one
            for one in state.player_indices
            if one != player and state.statuses[one] and state.stacks[one]
        )
        assert state.opener_index is not None
        if not state.stacks[state.opener_index]:
            # Where the highest hand is all-in, sources differ about who acts first.
            others = ()
        self.turns.append(
            Turn(
                len(state.operations),
                player,
                others,
                owed,
                state.bets[player],
                state.stacks[player],
                least,
                most,
                state.completion_status,
            )
        )
        chance = rng.random()
        if most and chance < temper:
            to = rng.choice((least, min(most, least + BIG), rng.randint(least, most), most))
            if to < self._full(state):
                self.closed = street
            state.complete_bet_or_raise_to(to)
        elif chance > 0.8 and owed:
            state.fold()
        else:
            state.check_or_call()

    @staticmethod
    def _full(state: State) -> int:
        """Return what a full bet or raise comes to, whatever the player has."""
        assert state.street is not None
        size = max(
            state.completion_betting_or_raising_amount,
            state.street.min_completion_betting_or_raising_amount,
        )
        return size if state.completion_status else size + max(state.bets)


def played(game: Game, seed: int) -> tuple[Played, list[Turn]]:
    table = Table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(oracle, "_bet", table.bet)
        return oracle.play(game, seed), table.turns


def post_of(hand: Played, seed: int, operations: int | None = None) -> dict[str, Any]:
    """Write a hand down, without its pots; up to an operation it is one that is not finished."""
    part = hand._replace(operations=list(hand.operations)[:operations])
    post: dict[str, Any] = json.loads(encoded(part, [], seed), parse_float=Decimal)
    if operations is not None:
        post["ohh"]["x_status"] = "running"
    return post


@every_game
def test_a_legal_hand_has_no_finding(game: Game) -> None:
    for seed in range(SEEDS):
        hand, _ = played(game, seed)
        assert checked(post_of(hand, seed), rules("entraction")) == [], seed


Step = tuple[dict[str, Any], str]
"""An action, and what is found."""


def refused(game: Game, turn: Turn) -> Iterator[Step]:
    """Name what PokerKit refuses in a turn: other actions, other amounts, other players."""

    def action(kind: str, chips: int = 0, player: int = turn.player) -> dict[str, Any]:
        return {"player_id": player + 1, "action": kind, "amount": amount(chips)}

    for other in turn.others:
        yield action("Fold", player=other), "out-of-turn"
    if turn.owed:
        yield action("Check"), "illegal-action"
        if not turn.brought_in:
            yield action("Bet", turn.owed + BIG), "illegal-action"
        if turn.owed < turn.stack:
            yield action("Call", turn.owed + 1), "illegal-amount"
        if turn.owed > 1:
            yield action("Call", turn.owed - 1), "illegal-amount"
    else:
        yield action("Call", 1), "illegal-action"
    kind = "Raise" if turn.owed or turn.bet else "Bet"
    if turn.most:
        added = turn.least - turn.bet - 1
        if turn.owed < added < turn.stack - 1:
            yield action(kind, added), "illegal-amount"
        added = turn.most - turn.bet + 1
        if game.limit != "NL" and turn.most < turn.bet + turn.stack:
            yield action(kind, added), "illegal-amount"


@every_game
def test_a_step_that_pokerkit_refuses_is_found(game: Game) -> None:
    tried: set[str] = set()
    for seed in range(SEEDS):
        hand, turns = played(game, seed)
        rng = Random(seed)
        turn = rng.choice(turns) if turns else None
        if turn is None:
            continue
        for step, code in refused(game, turn):
            post = post_of(hand, ALL_CARDS, turn.operations)
            post["ohh"]["rounds"][-1]["actions"].append(step)
            assert [one.code for one in checked(post, rules("entraction"))] == [code], (seed, step)
            tried.add(f"{step['action']} {code}")
    assert len(tried) >= 5, tried
