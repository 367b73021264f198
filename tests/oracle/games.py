"""The games that PokerKit knows, set up as an online room deals them: no card is burnt."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, Final, NamedTuple

from pokerkit import (
    Automation,
    Deck,
    FixedLimitDeuceToSevenLowballTripleDraw,
    FixedLimitSevenCardStud,
    FixedLimitTexasHoldem,
    NoLimitTexasHoldem,
    PotLimitOmahaHoldem,
    StandardHighHand,
    State,
)
from pokerkit import FixedLimitOmahaHoldemHighLowSplitEightOrBetter as OmahaHiLo
from pokerkit import FixedLimitSevenCardStudHighLowSplitEightOrBetter as FixedLimitStudHiLo
from pokerkit.games import (
    FixedLimitPokerMixin,
    NoLimitPokerMixin,
    PotLimitPokerMixin,
    SingleDraw,
    TexasHoldemMixin,
    UnfixedLimitHoldem,
)


class PotLimitTexasHoldem(PotLimitPokerMixin, TexasHoldemMixin, UnfixedLimitHoldem):  # type: ignore[misc]
    """PokerKit has the parts of it, not the game."""


class FixedLimitOmahaHiLo(FixedLimitPokerMixin, OmahaHiLo):  # type: ignore[misc]
    """What PokerKit calls so is pot limit."""


class NoLimitFiveCardDraw(NoLimitPokerMixin, SingleDraw):  # type: ignore[misc]
    """PokerKit has the parts of it, not the game."""

    deck = Deck.STANDARD
    hand_types = (StandardHighHand,)
    hole_dealing_count = 5
    max_completion_betting_or_raising_count = None


AUTOMATIONS: Final = (
    Automation.ANTE_POSTING,
    Automation.BET_COLLECTION,
    Automation.BLIND_OR_STRADDLE_POSTING,
    Automation.CHIPS_PULLING,
)
"""Cards are dealt by the test, which keeps a player's own discards away from him; all hands that
reach the end are shown."""

SMALL, BIG, ANTE, BRING_IN = 5, 10, 2, 4


class Game(NamedTuple):
    """A game as the ledger calls it, and how PokerKit sets it up for so many players."""

    name: str
    limit: str
    players: tuple[int, int]
    make: Callable[[], Any]

    def start(self, rng: Random) -> State:
        """Begin a hand of so many players, with stacks of which some are short."""
        count = rng.randint(*self.players)
        deepest = rng.choice((30, 200, 1500))
        stacks = [rng.randint(BIG, deepest) for _ in range(count)]
        game = self.make()
        game.streets = tuple(replace(one, card_burning_status=False) for one in game.streets)
        state: State = game(stacks, count)
        return state

    @property
    def title(self) -> str:
        return f"{self.name} {self.limit}"


def _blinds(kind: Any, *bets: int) -> Callable[[], Any]:
    return lambda: kind(AUTOMATIONS, True, 0, (SMALL, BIG), *bets)


def _antes(kind: Any) -> Callable[[], Any]:
    return lambda: kind(AUTOMATIONS, True, ANTE, BRING_IN, BIG, 2 * BIG)


# Stud for seven: should eight need more cards than are left, PokerKit deals folded cards again,
# where here all share one (K 10.7.7).
GAMES: Final = (
    Game("Holdem", "NL", (2, 6), _blinds(NoLimitTexasHoldem, BIG)),
    Game("Holdem", "PL", (2, 6), _blinds(PotLimitTexasHoldem, BIG)),
    Game("Holdem", "FL", (2, 6), _blinds(FixedLimitTexasHoldem, BIG, 2 * BIG)),
    Game("Omaha", "PL", (2, 5), _blinds(PotLimitOmahaHoldem, BIG)),
    Game("OmahaHiLo", "FL", (2, 4), _blinds(FixedLimitOmahaHiLo, BIG, 2 * BIG)),
    Game("Stud", "FL", (2, 7), _antes(FixedLimitSevenCardStud)),
    Game("StudHiLo", "FL", (2, 7), _antes(FixedLimitStudHiLo)),
    Game("TripleDraw27", "FL", (2, 6),
         _blinds(FixedLimitDeuceToSevenLowballTripleDraw, BIG, 2 * BIG)),
    Game("FiveCardDraw", "NL", (2, 6), _blinds(NoLimitFiveCardDraw, BIG)),
)  # fmt: skip
