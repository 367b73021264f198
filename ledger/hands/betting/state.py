"""A table while a hand is bet on: who is in, who is still to act, what has to be matched."""

from abc import ABC, abstractmethod
from typing import Final, NamedTuple

from ledger.hands.betting.shown import Shown
from ledger.hands.contributions import Tally
from ledger.hands.findings import Findings
from ledger.hands.games import GamePlay
from ledger.hands.ohh import Action, Hand
from ledger.rulebooks import Rulebook
from ledger.rulebooks.play import GameRules
from ledger.rulebooks.values import RuleCode

ROUND: Final = 1
REST: Final = 2
"""How far a fault keeps others from being told: to the end of its round, or of the hand."""


class Actor:
    """A player who is dealt in; amounts in minor units.

    ``stack`` are the chips that he may bet (up to the cap, where the table has one), ``chips``
    what is left of them. ``bet`` is what he has bet in this round, ``answered`` the last full bet
    or raise that he has answered. ``pat_in`` is the round before whose betting he did not draw in
    time.
    """

    __slots__ = (
        "all_in",
        "answered",
        "bet",
        "chips",
        "folded",
        "pat_in",
        "place",
        "player_id",
        "seat",
        "stack",
    )

    def __init__(self, player_id: int, seat: int, stack: int) -> None:
        self.player_id = player_id
        self.seat = seat
        self.stack = self.chips = stack
        self.place = 0
        self.bet = 0
        self.answered = 0
        self.folded = False
        self.all_in = False
        self.pat_in = -1


class Range(NamedTuple):
    """Totals of a round that a bet or raise may come to, both ends included."""

    least: int
    most: int


class ArtificialAllIn(NamedTuple):
    """A player who was treated as all-in because he could not act, as the rulebook allows."""

    player_id: int
    where: str


class Limit(ABC):
    """One table's limit, with its stakes; every total is that of a round."""

    __slots__ = ()

    @abstractmethod
    def least(self, street: int) -> int:
        """Return the smallest bet of a street, from 0."""

    @abstractmethod
    def ranges(self, betting: "Betting", actor: Actor) -> list[Range]:
        """Return what a player's bet or raise may come to, whatever chips he has."""

    @abstractmethod
    def allows(self, betting: "Betting", actor: Actor, total: int) -> bool:
        """Tell whether a player with more chips than that may bet or raise to a total."""

    @abstractmethod
    def capped(self, betting: "Betting") -> bool:
        """Tell whether nobody may raise any more in this round."""


class Betting:
    """The betting of one hand as far as it has come; amounts in minor units.

    ``ring`` is who was dealt in, clockwise from the left of the dealer; ``able`` who of them can
    still bet. ``waiting`` is who is still to act in this round, the next one last.
    """

    __slots__ = (
        "able",
        "actors",
        "artificial",
        "bets",
        "brought_in",
        "due",
        "findings",
        "full",
        "full_bets",
        "game",
        "hand",
        "left",
        "limit",
        "number",
        "open_pair",
        "opened",
        "play",
        "posted",
        "quiet",
        "ring",
        "rulebook",
        "shown",
        "size",
        "street",
        "tally",
        "to_match",
        "waiting",
        "why_closed",
    )

    def __init__(
        self,
        hand: Hand,
        tally: Tally,
        *,
        rulebook: Rulebook,
        game: GameRules,
        play: GamePlay,
        limit: Limit | None,
        findings: Findings,
    ) -> None:
        self.hand = hand
        self.tally = tally
        self.rulebook = rulebook
        self.game = game
        self.play = play
        self.limit = limit
        """None where the stakes are not known: then amounts are not checked."""
        self.findings = findings
        self.shown: Shown | None = None
        if game.acts_first_later == "highest-showing" or game.bring_in_by != "none":
            self.shown = Shown(hand, play, game, tally)
        self.ring = _ring(hand, tally)
        self.able = [one for one in self.ring if not one.all_in]
        self.actors: dict[int | None, Actor] = {one.player_id: one for one in self.ring}
        self.left = len(self.ring)
        self.waiting: list[Actor] = []
        self.why_closed = ""
        """Why nobody may bet in this round, where that is so."""
        self.number = -1
        self.street = -1
        """Which of the game's streets is played, from 0."""
        self.posted = 0
        """The highest of the forced bets."""
        self.to_match = 0
        """The highest bet of this round."""
        self.due = 0
        """What a forced bet should have been, where its player is all-in for less."""
        self.full = 0
        """What the last full bet or raise came to: a short all-in is none."""
        self.size = 0
        """How much a raise must add."""
        self.bets = 0
        """Full bets and raises in this round."""
        self.full_bets = 0
        """Full bets and raises in the hand, so that it can be told who has answered them all."""
        self.brought_in = False
        """Whether nobody has bet more than the bring-in."""
        self.open_pair = False
        """Whether double the limit may be bet."""
        self.opened = 1
        """What ``full_bets`` was when the betting of this round began; more where there is none."""
        self.quiet = 0
        self.artificial: list[ArtificialAllIn] = []

    # -- money -----------------------------------------------------------------------------------

    @property
    def pot(self) -> int:
        """All that is in the pot by now."""
        outside = [who.put_in for who in self.tally.players.values() if not who.dealt]
        return self.tally.added + sum(outside) + sum([one.stack - one.chips for one in self.ring])

    def pay(self, actor: Actor, amount: int) -> None:
        """Let a player put chips into the pot; whoever has none left is all-in."""
        actor.chips -= amount
        if actor.chips <= 0 and not (actor.all_in or actor.folded):
            actor.all_in = True
            self.able.remove(actor)

    # -- turns -----------------------------------------------------------------------------------

    def let_act(self, place: int) -> None:
        """Let everyone act who can, once, beginning with a place of the ring or the next one."""
        able, at = self.able, 0
        for one in able:
            if one.place >= place:
                break
            at += 1
        waiting = able[at:] + able[:at]
        waiting.reverse()
        self.waiting = waiting

    def let_answer(self, actor: Actor) -> None:
        """Let everyone else act who can, beginning at the left of a player."""
        self.let_act(actor.place)
        if self.waiting and self.waiting[-1] is actor:
            self.waiting.pop()

    def must_act(self) -> list[Actor]:
        """Name who is still to act; who is alone with chips and owes nothing need not."""
        waiting = self.waiting
        if self.left < 2:
            return []
        if len(self.able) == 1 and waiting and waiting[0].bet >= self.to_match:
            return []
        return waiting[::-1]

    # -- findings --------------------------------------------------------------------------------

    def tell(
        self,
        code: RuleCode,
        action: Action | None,
        message: str,
        *,
        expected: object = None,
        posted: object = None,
        quiets: int = ROUND,
    ) -> None:
        """Note what is wrong with an action, or with a round as a whole.

        What is wrong later in the same round may follow from it and is not told; nor in the
        ``REST`` of the hand, where a fault leaves it open who is still in.
        """
        if not self.quiet:
            where = self.where(action)
            self.findings.add(code, where, message, expected=expected, posted=posted)
        self.quiet = max(self.quiet, quiets)

    def where(self, action: Action | None) -> str:
        """Return the path of an action of this round, or of the round."""
        path = f"rounds[{self.number}]"
        for index, other in enumerate(self.hand.rounds[self.number].actions):
            if other is action:
                return f"{path}.actions[{index}]"
        return path

    def tell_amount(
        self, action: Action, ranges: list[Range], before: int, chips: int, message: str
    ) -> None:
        """Note an amount that is none of those allowed, all as they add to the pot."""
        self.tell(
            "illegal-amount",
            action,
            message,
            expected=self._words(ranges, before, chips),
            posted=self.findings.text(action.amount),
        )

    def _words(self, ranges: list[Range], before: int, chips: int) -> str:
        text = self.findings.text
        words = []
        for least, most in ranges:
            low, high = max(0, least - before), min(most - before, chips)
            if low >= chips:
                words.append(f"{text(chips)} (all-in)")
            else:
                words.append(text(low) if low >= high else f"{text(low)} to {text(high)}")
        return " or ".join(dict.fromkeys(words))


def _ring(hand: Hand, tally: Tally) -> list[Actor]:
    """Seat those who were dealt in clockwise, from the left of the dealer or of his box."""
    dealer, cap = hand.dealer_seat, hand.bet_limit.bet_cap or 0
    after: list[Actor] = []
    before: list[Actor] = []
    last, sorted_ = -1, True
    for who in tally.players.values():
        if not who.dealt:
            continue
        seat = who.seat
        sorted_ = sorted_ and last < seat
        last = seat
        chips = min(who.stack, cap) if cap else who.stack
        (after if seat > dealer else before).append(Actor(who.player_id, seat, chips))
    if not sorted_:
        after.sort(key=_seat)
        before.sort(key=_seat)
    after += before
    for place, actor in enumerate(after):
        actor.place = place
        if actor.chips <= 0:
            actor.all_in = True
    return after


def _seat(actor: Actor) -> int:
    return actor.seat
