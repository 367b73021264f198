"""What each player put into a hand, and how far he went with it."""

from typing import Final

from ledger.hands.ohh import Action, Hand

FORCED: Final = frozenset(
    ("Post Ante", "Post SB", "Post BB", "Straddle", "Post Dead", "Post Extra Blind", "Bring In")
)
"""Money that is posted, not bet."""

OUTSIDE: Final = frozenset(("Added Chips", "Sits Down", "Stands Up", "Player Adjustment"))
"""Told along with the hand; they move no money in it."""

BETS: Final = frozenset(("Bet", "Raise", "Call"))

ADDED: Final = "Add to Pot"
"""Money from outside the players, whoever is said to add it."""

UNDEALT: Final = FORCED | OUTSIDE | {ADDED}
"""What a player may do who is not dealt in."""


class Contribution:
    """One player's part in a hand, in minor units.

    ``live`` is what counts against the bets of others (antes, blinds, bets), ``dead`` what
    matches nothing. ``bet`` is the part of ``live`` that was not forced. ``folded`` is his place
    in the order of folding, 0 when he did not fold.
    """

    __slots__ = (
        "allin",
        "bet",
        "dead",
        "dealt",
        "folded",
        "live",
        "player_id",
        "posted",
        "seat",
        "stack",
    )

    def __init__(self, player_id: int, seat: int, stack: int) -> None:
        self.player_id = player_id
        self.seat = seat
        self.stack = stack
        self.live = 0
        self.dead = 0
        self.bet = 0
        self.folded = 0
        self.dealt = False
        self.posted = False
        self.allin = False

    @property
    def put_in(self) -> int:
        return self.live + self.dead


class Tally:
    """The contributions of a hand by the players' ids inside it.

    ``streets`` are those that were dealt or played, ``dealt`` counts the players dealt in,
    ``overdrawn`` says that someone staked more than he had. ``strays`` are the indices (round,
    action) of actions by nobody who is in the hand; ``undealt_actors`` are players who act, or
    whose posts stay in the pot, although they are said not to be dealt in.
    """

    __slots__ = (
        "added",
        "all_in",
        "dealt",
        "finished",
        "least",
        "overdrawn",
        "players",
        "put_in",
        "second",
        "strays",
        "streets",
        "top",
        "undealt_actors",
    )

    def __init__(self, players: dict[int, Contribution], streets: list[str]) -> None:
        self.players = players
        self.streets = streets
        self.finished: list[Contribution] = []
        """Who did not fold, in the order of the post; who put something in, where anyone did."""
        self.all_in = False
        """Whether any of them is all-in."""
        self.least = 0
        """The smallest live stake among them."""
        self.second = 0
        """The second highest live stake of all: nothing above it was covered."""
        self.top: Contribution | None = None
        """Whose stake nobody covered, where it is higher than the second."""
        self.put_in = 0
        self.added = 0
        self.dealt = 0
        self.overdrawn = False
        self.strays: list[tuple[int, int]] = []
        self.undealt_actors: list[int] = []


def tally(hand: Hand) -> Tally:
    """Go through a hand's actions once.

    A player counts as dealt in when he acts, has cards, or posts what is not returned to him;
    ``x_dealt: false`` says otherwise.
    """
    players: dict[int | None, Contribution] = {
        one.id: Contribution(one.id, one.seat, one.starting_stack) for one in hand.players
    }
    streets: list[str] = []
    result = Tally(players, streets)  # type: ignore[arg-type]
    folds = 0
    for round_ in hand.rounds:
        actions = round_.actions
        if actions or round_.cards:
            streets.append(round_.street)
        for action in actions:
            try:
                who = players[action.player_id]
            except KeyError:
                _stray(result, hand, action)
                continue
            amount, kind = action.amount, action.action
            if amount:
                if kind in BETS:
                    who.dealt = True
                    who.live += amount
                    who.bet += amount
                elif kind == ADDED:
                    result.added += amount
                else:
                    _put_in(who, kind, amount)
                if action.is_allin:
                    who.allin = True
            elif kind == "Fold":
                who.dealt = True
                folds += 1
                who.folded = folds
            else:
                if kind not in UNDEALT:
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
    undealt = [player.id for player in hand.players if player.x_dealt is False]
    for player_id in undealt:
        who = result.players[player_id]
        if who.dealt or (who.posted and not _returned_whole(hand, player_id, who.put_in)):
            result.undealt_actors.append(player_id)
            who.dealt = False
    put_in, dealt = result.added, 0
    highest = second = 0
    least = -1
    for who in result.players.values():
        live = who.live
        total = live + who.dead
        if total:
            put_in += total
            if total >= who.stack:
                who.allin = True
                result.overdrawn = result.overdrawn or total > who.stack
            if who.posted and not who.dealt and who.player_id not in undealt:
                who.dealt = not _returned_whole(hand, who.player_id, total)
            if live > highest:
                highest, second, result.top = live, highest, who
            elif live > second:
                second = live
            if who.dealt and not who.folded:
                result.finished.append(who)
                result.all_in = result.all_in or who.allin
                if live < least or least < 0:
                    least = live
        if who.dealt:
            dealt += 1
    if highest == second:
        result.top = None
    if put_in and not result.finished:
        # The last one standing, though he put nothing in.
        result.finished = [who for who in result.players.values() if who.dealt and not who.folded]
        least = -1
    result.put_in, result.dealt, result.least, result.second = put_in, dealt, least, second


def _returned_whole(hand: Hand, player_id: int, total: int) -> bool:
    """Tell whether a player got back all that he posted, for a reason that was given."""
    return any(
        one.reason and one.player_id == player_id and one.amount >= total
        for one in hand.x_uncalled_returned or ()
    )
