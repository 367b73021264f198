"""Uncalled bets, main and side pots, and who may win each of them."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from ledger.hands.contributions import Contribution, Tally

AllInRule = Literal["matched", "finished"]


class Pot(NamedTuple):
    """A pot and the players (by their ids in the hand) who may win it."""

    amount: int
    entitled: tuple[int, ...]


class Uncalled(NamedTuple):
    """What nobody covered of one player's chips; ``blind`` when he never bet, only posted."""

    player_id: int
    amount: int
    blind: bool


def uncalled(tally: Tally, apart: Mapping[int, int]) -> Uncalled | None:
    """Find the chips that no other player covered, folded or not.

    They are returned even to a player who has left. Dead money covers nothing, nor do the posts
    of players in ``apart``, who get them back. Source: K 10.1.5, G.
    """
    top, second = tally.top, tally.second
    if apart:
        stakes = [one for one in tally.players.values() if one.player_id not in apart]
        stakes.sort(key=lambda one: one.live, reverse=True)
        second = stakes[1].live if len(stakes) > 1 else 0
        top = stakes[0] if stakes and stakes[0].live > second else None
    if top is None:
        return None
    return Uncalled(top.player_id, top.live - second, not top.bet)


def pots_of(tally: Tally, returned: Mapping[int, int], rule: AllInRule) -> list[Pot]:
    """Divide what was put in, less what was returned, into the main pot and the side pots.

    ``matched``: a player wins from each opponent, folded or not, at most what he himself put in
    (K 10.1.5). ``finished``: an all-in player wins his stake once for each player who finished,
    and the others play for the rest (G). Dead money, and money added from outside, belongs to
    the main pot under ``matched`` and to the rest under ``finished``.
    """
    finished = tally.finished
    total = tally.put_in - sum(returned.values())
    if not total:
        return []
    plain = rule == "matched" or not tally.all_in or len(finished) == 1
    if plain and tally.least >= tally.second and _is_uncalled(tally, returned):
        return [Pot(total, tuple([one.player_id for one in finished]))]
    if not finished:
        return [Pot(total, ())]
    players = list(tally.players.values())
    live = {one.player_id: one.live - returned.get(one.player_id, 0) for one in players}
    if rule == "finished" and len(finished) > 1:
        return _finished(finished, live, total)
    return _matched(players, finished, live, total)


def _is_uncalled(tally: Tally, returned: Mapping[int, int]) -> bool:
    """Tell whether exactly the uncalled bet was returned, so that all stakes left are equal."""
    top = tally.top
    if top is None:
        return not returned
    return len(returned) == 1 and returned.get(top.player_id) == top.live - tally.second


def _matched(
    players: Sequence[Contribution],
    finished: Sequence[Contribution],
    live: Mapping[int, int],
    total: int,
) -> list[Pot]:
    pots: list[Pot] = []
    below = 0
    for level in sorted({live[one.player_id] for one in finished} - {0}):
        amount = sum(min(stake, level) - min(stake, below) for stake in live.values())
        entitled = tuple(one.player_id for one in finished if live[one.player_id] >= level)
        pots.append(Pot(amount, entitled))
        below = level
    over = [one for one in players if live[one.player_id] > below]
    free = tuple(one.player_id for one in finished if not one.allin)
    if over and free:
        # Only an all-in player is held to his stake; who could still have called wins it all.
        pots = _merged(pots, Pot(sum(live[one.player_id] - below for one in over), free))
    elif over:
        pots += _left_behind(over, live, below)
    # What matches nothing is in the main pot.
    rest = total - sum(pot.amount for pot in pots)
    if not pots:
        return [Pot(total, tuple(one.player_id for one in finished))]
    return [Pot(pots[0].amount + rest, pots[0].entitled), *pots[1:]]


def _merged(pots: list[Pot], last: Pot) -> list[Pot]:
    """Put a pot after others, or into the last of them when the same players may win both."""
    if pots and pots[-1].entitled == last.entitled:
        return [*pots[:-1], Pot(pots[-1].amount + last.amount, last.entitled)]
    return [*pots, last]


def _left_behind(over: Sequence[Contribution], live: Mapping[int, int], below: int) -> list[Pot]:
    """Settle what players bet against each other above all-in players, and then all left.

    A fold loses nothing to players who have folded before: the last one to leave such a pot was
    alone in it, and it is his.
    """
    pots: list[Pot] = []
    for level in sorted({live[one.player_id] for one in over}):
        inside = [one for one in over if live[one.player_id] >= level]
        last = max(inside, key=lambda one: one.folded).player_id
        pots = _merged(pots, Pot((level - below) * len(inside), (last,)))
        below = level
    return pots


def _finished(finished: Sequence[Contribution], live: Mapping[int, int], total: int) -> list[Pot]:
    pots: list[Pot] = []
    below = 0
    for level in sorted({live[one.player_id] for one in finished} - {0}):
        entitled = tuple(one.player_id for one in finished if live[one.player_id] >= level)
        pots.append(Pot((level - below) * len(entitled), entitled))
        below = level
    rest = total - sum(pot.amount for pot in pots)
    return _merged(pots, Pot(rest, _others(finished))) if rest else pots


def _others(finished: Sequence[Contribution]) -> tuple[int, ...]:
    """Name who plays for what all-in players cannot win: who is not all-in, else who bet most.

    What counts is what they bet, not what was returned to them of it.
    """
    free = [one for one in finished if not one.allin]
    if not free:
        most = max(one.live for one in finished)
        free = [one for one in finished if one.live == most]
    return tuple(one.player_id for one in free)
