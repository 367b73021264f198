"""A hand that PokerKit plays at random, and what comes of it."""

import random
import warnings
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from pokerkit import Card, ChipsPushing, Operation, State

from tests.oracle.games import BIG, Game

Half = str | None


class Pot(NamedTuple):
    """A main or side pot, who could win it, and who won each half of it."""

    amount: int
    entitled: tuple[int, ...]
    winners: Mapping[Half, tuple[int, ...]]


class Played(NamedTuple):
    """A hand at its end. Players are counted from the left of the dealer, who is the last.

    ``astray`` is what PokerKit paid for lows that nobody has who could win the pot.
    """

    game: Game
    stacks: tuple[int, ...]
    operations: Sequence[Operation]
    pots: Sequence[Pot]
    final_stacks: tuple[int, ...]
    astray: int


def play(game: Game, seed: int) -> Played:
    """Play a hand to its end, legal actions only; the same seed plays the same hand."""
    rng = Random(seed)
    # PokerKit shuffles with the module's own generator.
    random.seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = game.start(rng)
        stacks = tuple(state.starting_stacks)
        temper = rng.choice((0.1, 0.25, 0.4))
        thrown: dict[int, set[Card]] = {}
        while not state.can_kill_hand() and not state.can_push_chips():
            _step(state, rng, temper, thrown)
        put_in = [stack - left for stack, left in zip(stacks, state.stacks, strict=True)]
        left_in = [player for player in state.player_indices if state.statuses[player]]
        formed = [(pot.amount, tuple(pot.player_indices)) for pot in state.pots]
        while state.can_kill_hand():
            state.kill_hand()
        lows = {player for player in state.player_indices if _has_low(state, player)}
        while state.status:
            state.push_chips()
    uncalled = max(put_in) - sorted(put_in)[-2]
    if len(left_in) == 1:
        # PokerKit leaves the last bet before the winner, what was called of it included.
        last = tuple(left_in)
        pots = [Pot(sum(put_in) - uncalled, last, {None: last})]
        return Played(game, stacks, state.operations, pots, tuple(state.stacks), 0)
    assert sum(amount for amount, _ in formed) == sum(put_in)
    pushes = [one for one in state.operations if isinstance(one, ChipsPushing)]
    paid = _by_merged_pot(pushes)
    pots, begins, astray = [], 0, 0
    for amount, entitled in formed:
        winners = _winners(paid, begins, lows)
        if len(entitled) == 1:
            winners = {None: entitled}
        pots.append(Pot(amount, entitled, winners))
        begins += amount
    for halves in paid:
        if "low" in halves and lows.isdisjoint(_who(halves["low"])):
            astray += sum(halves["low"])
    pots[-1] = pots[-1]._replace(amount=pots[-1].amount - uncalled)
    return Played(
        game,
        stacks,
        state.operations,
        [pot for pot in pots if pot.amount],
        tuple(state.stacks),
        astray,
    )


def _has_low(state: State, player: int) -> bool:
    return len(state.hand_types) > 1 and state.get_up_hand(player, 0, 1) is not None


Halves = dict[str, tuple[int, ...]]
"""What each half of a pot paid to each player."""


def _by_merged_pot(pushes: Sequence[ChipsPushing]) -> list[Halves]:
    """Collect what was paid by pot.

    PokerKit pays pots together for which the same players are left when losing hands are killed;
    who has won them has won each of them.
    """
    paid: dict[int, Halves] = {}
    for one in pushes:
        half = "low" if one.hand_type_index else "high"
        paid.setdefault(one.pot_index, {})[half] = tuple(one.amounts)
    return [paid[index] for index in sorted(paid)]


def _who(amounts: Sequence[int]) -> tuple[int, ...]:
    return tuple(player for player, chips in enumerate(amounts) if chips)


def _winners(paid: Sequence[Halves], begins: int, lows: set[int]) -> Mapping[Half, tuple[int, ...]]:
    """Find who won each half of the pot that begins after so many chips."""
    total = 0
    for halves in paid:
        total += sum(sum(amounts) for amounts in halves.values())
        if total > begins:
            break
    high = _who(halves["high"])
    if "low" not in halves:
        # One player is left: he has both halves, where he has a low.
        return {"high": high, "low": high} if lows.issuperset(high) else {None: high}
    low = _who(halves["low"])
    return {None: high} if lows.isdisjoint(low) else {"high": high, "low": low}


def _step(state: State, rng: Random, temper: float, thrown: dict[int, set[Card]]) -> None:
    if state.can_deal_board():
        state.deal_board()
    elif state.can_deal_hole():
        _deal(state, thrown)
    elif state.can_stand_pat_or_discard():
        player = state.stand_patter_or_discarder_index
        assert player is not None
        hand = list(state.hole_cards[player])
        cards = rng.sample(hand, rng.choice((0, 0, 1, 2, 3, 5)))
        thrown[player] = set(cards)
        state.stand_pat_or_discard(cards)
    elif state.can_post_bring_in():
        state.post_bring_in()
    elif state.can_show_or_muck_hole_cards():
        state.show_or_muck_hole_cards(True)
    else:
        _bet(state, rng, temper)


def _deal(state: State, thrown: Mapping[int, set[Card]]) -> None:
    """Deal a player his cards of a street; in a draw none that he has just thrown away.

    Source: K 10.9.8. PokerKit itself might deal them to him again.
    """
    player = state.hole_dealee_index
    assert player is not None
    count = len(state.hole_dealing_statuses[player])
    own = thrown.get(player, set())
    cards = [card for card in state.get_dealable_cards(count) if card not in own]
    state.deal_hole(cards[:count])


def _bet(state: State, rng: Random, temper: float) -> None:
    chance = rng.random()
    if chance < temper and state.can_complete_bet_or_raise_to():
        least = state.min_completion_betting_or_raising_to_amount
        most = state.max_completion_betting_or_raising_to_amount
        assert least is not None
        assert most is not None
        wish = rng.choice((least, least, min(most, least + BIG), rng.randint(least, most), most))
        state.complete_bet_or_raise_to(wish)
    elif chance > 0.75 and state.checking_or_calling_amount:
        state.fold()
    else:
        state.check_or_call()
