"""What each player put into a hand, and how far he went with it."""

from typing import Final

import msgspec

from ledger.hands.ohh import Action, Hand

FORCED: Final = frozenset(
    ("Post Ante", "Post SB", "Post BB", "Straddle", "Post Dead", "Post Extra Blind", "Bring In")
)
"""Money that is posted, not bet."""

OUTSIDE: Final = frozenset(("Added Chips", "Sits Down", "Stands Up", "Player Adjustment"))
"""Told along with the hand; they move no money in it."""

ADDED: Final = "Add to Pot"
"""Money from outside the players."""


class Contribution(msgspec.Struct, gc=False):
    """One player's part in a hand, in minor units.

    ``live`` is what counts against the bets of others (antes, blinds, bets), ``dead`` what
    matches nothing. ``bet`` is the part of ``live`` that was not forced. ``folded`` is his place
    in the order of folding, 0 when he did not fold.
    """

    player_id: int
    seat: int
    stack: int
    live: int = 0
    dead: int = 0
    bet: int = 0
    folded: int = 0
    dealt: bool = False
    posted: bool = False
    allin: bool = False

    @property
    def put_in(self) -> int:
        return self.live + self.dead


class Tally(msgspec.Struct, gc=False):
    """The contributions of a hand by the players' ids inside it.

    ``strays`` are the indices (round, action) of actions by nobody who is in the hand;
    ``undealt_actors`` are players who act although they are said not to be dealt in.
    """

    players: dict[int, Contribution]
    streets: list[str]
    put_in: int = 0
    added: int = 0
    strays: list[tuple[int, int]] = []
    undealt_actors: list[int] = []

    def dealt(self) -> list[Contribution]:
        """Return the players who were dealt in, in the order of the post."""
        return [one for one in self.players.values() if one.dealt]


def tally(hand: Hand) -> Tally:
    """Go through a hand's actions once.

    A player counts as dealt in when he acts, has cards, or posts what is not returned to him;
    ``x_dealt: false`` says otherwise.
    """
    players = {
        player.id: Contribution(player.id, player.seat, player.starting_stack)
        for player in hand.players
    }
    result = Tally(players, [])
    who_is, folds = players.get, 0
    for round_ in hand.rounds:
        if round_.cards or round_.actions:
            result.streets.append(round_.street)
        for action in round_.actions:
            who = who_is(action.player_id)  # type: ignore[arg-type]
            if who is None:
                _stray(result, hand, action)
                continue
            kind = action.action
            if action.amount or kind in FORCED:
                _put_in(who, kind, action.amount)
            elif kind == "Fold":
                who.dealt = True
                folds += 1
                who.folded = folds
            elif kind not in OUTSIDE:
                who.dealt = True
            if action.is_allin:
                who.allin = True
    _complete(result, hand)
    return result


def _put_in(who: Contribution, kind: str, amount: int) -> None:
    if kind in FORCED:
        who.posted = True
        if kind == "Post Dead":
            who.dead += amount
        else:
            who.live += amount
    elif kind not in OUTSIDE:
        who.dealt = True
        who.live += amount
        who.bet += amount


def _stray(result: Tally, hand: Hand, action: Action) -> None:
    if action.action == ADDED:
        result.added += action.amount
        return
    if action.player_id is None and not action.amount:
        return
    for number, round_ in enumerate(hand.rounds):
        for index, other in enumerate(round_.actions):
            if other is action:
                result.strays.append((number, index))


def _complete(result: Tally, hand: Hand) -> None:
    """Settle who was dealt in and who is all-in, and add up."""
    returned = {one.player_id: one.amount for one in hand.x_uncalled_returned or () if one.reason}
    put_in = result.added
    for player, who in zip(hand.players, result.players.values(), strict=False):
        total = who.live + who.dead
        put_in += total
        if player.x_dealt is False:
            if who.dealt:
                result.undealt_actors.append(who.player_id)
            who.dealt = False
        elif who.posted and not who.dealt:
            who.dealt = returned.get(who.player_id, 0) < total
        if total and total == who.stack:
            who.allin = True
    result.put_in = put_in
