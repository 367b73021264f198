"""One hand from the first blind to the last chip: legal actions only, chosen at random."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from ops.simulator import cards, pots
from ops.simulator.games import STREETS, Limits, Street
from ops.simulator.rake import Schedule

MOST_BETS: Final = 4
"""Fixed limit: a bet and three raises a round. Source: K 10.2."""


class Action(NamedTuple):
    """What a player did; the amount is what he added to the pot, in minor units."""

    player: int
    action: str
    amount: int = 0
    all_in: bool = False
    cards: tuple[str, ...] = ()


class Round(NamedTuple):
    """A street as it was played."""

    street: str
    board: tuple[str, ...]
    actions: list[Action]


class Opening(NamedTuple):
    """Who is dealt in, clockwise from the left of the dealer, and who has to put in what."""

    players: tuple[int, ...]
    stacks: Mapping[int, int]
    first: int
    """Who acts first on the first street of a game with blinds."""
    blinds: Sequence[tuple[int, str]] = ()
    """Players and what they post, in the order of posting: ``Post SB``, ``Post Dead`` ..."""


class Settled(NamedTuple):
    """A played hand and what it pays; all amounts in minor units."""

    rounds: list[Round]
    returned: list[tuple[int, int]]
    pots: list[pots.Pot]
    rakes: list[int]
    wins: list[list[pots.Win]]
    stacks: dict[int, int]
    hands: dict[int, list[str]]


def play(
    rng: Random,
    limits: Limits,
    opening: Opening,
    schedule: Schedule,
    first: Sequence[str] = (),
) -> Settled:
    """Play a hand; every player must have at least two bets of the first street.

    ``first`` are the cards that are dealt first; whoever folds has no use of them.
    """
    return _Hand(rng, limits, opening, first).run(schedule)


class _Hand:
    def __init__(self, rng: Random, limits: Limits, opening: Opening, first: Sequence[str]) -> None:
        self.rng = rng
        self.limits = limits
        self.opening = opening
        self.players = opening.players
        self.stacks = {player: opening.stacks[player] for player in opening.players}
        self.put_in = dict.fromkeys(opening.players, 0)
        self.dead = 0
        self.live = set(opening.players)
        self.pack = cards.stacked(rng, first)
        self.hands: dict[int, list[str]] = {player: [] for player in opening.players}
        self.board: list[str] = []
        self.rounds: list[Round] = []
        self.temper = rng.choice((0.25, 0.5, 0.5, 0.8, 1.2))
        self.bets: dict[int, int] = {}
        self.to_match = 0

    # -- the course of a hand --------------------------------------------------------------------

    def run(self, schedule: Schedule) -> Settled:
        streets = STREETS[self.limits.game]
        for number, street in enumerate(streets):
            self._street(number, street)
            if len(self.live) == 1:
                break
        if len(self.live) > 1:
            self._showdown()
        raked = len(self.rounds) > 1
        return self._settle(schedule if raked else lambda *_: 0)

    def _street(self, number: int, street: Street) -> None:
        board = tuple(self._draw() for _ in range(street.board))
        self.board += board
        self.rounds.append(Round(street.name, board, []))
        self.bets = dict.fromkeys(self.players, 0)
        self.to_match = 0
        if number == 0:
            self._force_bets()
        self._deal(street)
        if number == 0 and self.limits.bring_in:
            self._bet(street, self._bring_in())
        else:
            self._bet(street, self.opening.first if number == 0 else self._first_to_act())

    def _force_bets(self) -> None:
        if self.limits.ante:
            for player in self.players:
                self._put("Post Ante", player, self.limits.ante)
            self.bets = dict.fromkeys(self.players, 0)
        for player, action in self.opening.blinds:
            small = action in ("Post SB", "Post Dead")
            self._put(action, player, self.limits.small_blind if small else self.limits.big_blind)
        self.to_match = self.limits.big_blind

    def _deal(self, street: Street) -> None:
        for player in self._clockwise():
            if street.draw:
                self._exchange(player)
            elif street.own:
                dealt = tuple(self._draw() for _ in range(street.own))
                self.hands[player] += dealt
                self._note(Action(player, "Dealt Cards", cards=dealt))

    def _exchange(self, player: int) -> None:
        hand = self.hands[player]
        thrown = cards.discards(self.rng, hand, min(5, len(self.pack)))
        if not thrown:
            self._note(Action(player, "Stand Pat"))
            return
        drawn = tuple(self._draw() for _ in thrown)
        self.hands[player] = [card for card in hand if card not in thrown] + list(drawn)
        self._note(Action(player, "Discard", cards=tuple(thrown)))
        self._note(Action(player, "Dealt Cards", cards=drawn))

    def _bring_in(self) -> int:
        """Let the lowest open card bring it in; return who is next."""
        player = min(self.players, key=lambda p: cards.order(self.hands[p][2]))
        self._put("Bring In", player, self.limits.bring_in)
        self.to_match = self.limits.bring_in
        return self.players[(self.players.index(player) + 1) % len(self.players)]

    def _first_to_act(self) -> int:
        """Left of the dealer; in stud the highest hand showing, nearest left of the dealer box."""
        if self.limits.game != "Stud":
            return self.players[0]
        return max(self._clockwise(), key=lambda p: cards.showing(self.hands[p][2:6]))

    # -- a round of betting ----------------------------------------------------------------------

    def _bet(self, street: Street, first: int) -> None:
        """Let everyone act in turn until all bets are matched.

        A raise that is not a full one, by an all-in, opens nothing again: who has acted since the
        last full bet may only call or fold. In fixed limit nobody raises such an all-in at all,
        because rules differ on how much that would be.
        """
        size = self.limits.bet(street)
        made = 1 if self.to_match == self.limits.big_blind and self.to_match else 0
        acted: set[int] = set()
        closed = False
        turns = self._turns(first)
        if self._brought_in():  # he has acted: when all call, the round is over
            acted = {turns.pop()}
        while turns:
            player = turns.pop(0)
            if not self._has_a_choice(player):
                continue
            may = player not in acted and not closed and self._faces_chips(player)
            may = may and (self.limits.bet_type != "FL" or made < MOST_BETS)
            acted.add(player)
            least, most = self._range(player, size)
            to = self._decide(player, least, most if may else 0)
            if to <= self.to_match:
                continue
            full, before = to >= least, self.to_match
            self._put("Raise" if before else "Bet", player, to - self.bets[player])
            self.to_match = to
            made += 1
            if not full:
                closed = self.limits.bet_type == "FL"
            else:
                acted = {player}
                if self.limits.bet_type != "FL":
                    size = max(size, to - before)
            turns = self._turns(player)[1:]

    def _turns(self, first: int) -> list[int]:
        start = self.players.index(first)
        return [p for p in self.players[start:] + self.players[:start] if p in self.live]

    def _has_a_choice(self, player: int) -> bool:
        if player not in self.live or self.stacks[player] == 0 or len(self.live) == 1:
            return False
        return self.bets[player] < self.to_match or self._faces_chips(player)

    def _faces_chips(self, player: int) -> bool:
        """Tell whether an opponent has more than he needs to call, so that a raise has a sense."""
        return any(
            self.bets[other] + self.stacks[other] > self.to_match
            for other in self.live
            if other != player
        )

    def _brought_in(self) -> bool:
        return 0 < self.to_match == self.limits.bring_in

    def _range(self, player: int, size: int) -> tuple[int, int]:
        """Return the least full raise and the most, both as totals of this round."""
        everything = self.bets[player] + self.stacks[player]
        if self.limits.bet_type == "FL":
            to = size if self._brought_in() else self.to_match + size
            return to, min(to, everything)
        least = self.to_match + size
        if self.limits.bet_type == "NL":
            return least, everything
        owed = self.to_match - self.bets[player]
        pot = sum(self.put_in.values()) + self.dead
        return least, min(self.to_match + pot + owed, everything)

    def _decide(self, player: int, least: int, most: int) -> int:
        """Fold, check, call or choose a raise; return its total, 0 for none."""
        owed = self.to_match - self.bets[player]
        chance = self.rng.random()
        if most > self.to_match and chance < (0.15 if owed else 0.45) * self.temper:
            return self._amount(least, most)
        if not owed:
            self._note(Action(player, "Check"))
        elif chance < (0.25 if len(self.rounds) == 1 else 0.15) + 0.35 * self.temper:
            self._put("Call", player, min(owed, self.stacks[player]))
        else:
            self.live.discard(player)
            self._note(Action(player, "Fold"))
        return 0

    def _amount(self, least: int, most: int) -> int:
        if most <= least:
            return most
        pot = sum(self.put_in.values()) + self.dead
        wish = self.rng.choice((least, least, least + pot // 3, least + pot // 2, pot, most))
        if wish == most and self.rng.random() < 0.5:
            wish = least
        return max(least, min(most, wish))

    # -- the end ---------------------------------------------------------------------------------

    def _showdown(self) -> None:
        self.rounds.append(Round("Showdown", (), []))
        for player in self._clockwise():
            self._note(Action(player, "Shows Cards", cards=tuple(self.hands[player])))

    def _settle(self, schedule: Schedule) -> Settled:
        player, amount = pots.uncalled(self.put_in)
        self.put_in[player] -= amount
        self.stacks[player] += amount
        formed = pots.form(self.put_in, self.dead, self.live)
        whole = sum(pot.amount for pot in formed)
        rake = schedule(self.limits.bet_type, self.limits.unit, whole, len(self.players))
        rakes = pots.over_pots(rake, formed)
        wins = [
            pots.divide(pot.amount - fee, self.limits.game, self.hands, self.board, pot.eligible)
            for pot, fee in zip(formed, rakes, strict=True)
        ]
        for win in (win for of_pot in wins for win in of_pot):
            self.stacks[win.player] += win.amount
        returned = [(player, amount)] if amount else []
        return Settled(self.rounds, returned, formed, rakes, wins, self.stacks, self.hands)

    # -- small things ----------------------------------------------------------------------------

    def _clockwise(self) -> Iterator[int]:
        return (player for player in self.players if player in self.live)

    def _draw(self) -> str:
        return self.pack.pop()

    def _put(self, action: str, player: int, amount: int) -> None:
        self.stacks[player] -= amount
        if action == "Post Dead":
            self.dead += amount
        else:
            self.put_in[player] += amount
            self.bets[player] += amount
        self._note(Action(player, action, amount, self.stacks[player] == 0))

    def _note(self, action: Action) -> None:
        self.rounds[-1].actions.append(action)
