"""The games: what is dealt on each street, and which hand wins. One definition for each game.

What operators set themselves (players, decks, forced bets, who acts first, odd chips) stands in
the rulebook instead.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, NamedTuple

from ledger.hands.ohh import Hand

High = Literal["ordinary", "soko", "telesina", "americana", "deuce-to-seven"]
"""How hands are ranked for the pot, or for its high half; in ``deuce-to-seven`` the lowest wins."""

Low = Literal["eight-or-better"]

Uses = Literal["any-five", "two-and-three"]
"""Which cards make a hand: any five of a player's own and the board's, or exactly two and three."""


class Street(NamedTuple):
    """What is dealt on a street before its round of betting.

    ``down`` and ``up`` are the cards that each player gets, in this order; ``board`` is dealt to
    all. On a ``draw`` each player throws away none to five of his cards and gets as many.
    """

    name: str
    down: int = 0
    up: int = 0
    board: int = 0
    draw: bool = False

    @property
    def own(self) -> int:
        """How many cards each player gets, draws apart."""
        return self.down + self.up


NO_STREET: Final = Street("")
"""What is dealt on a street that the game does not have."""


@dataclass(frozen=True, eq=False)
class GamePlay:
    """How a game is dealt and won; ``low`` is None where the pot has no low half.

    A round of betting follows every street, the shared seventh card of stud apart.
    """

    streets: tuple[Street, ...]
    high: High
    low: Low | None = None
    uses: Uses = "any-five"

    @cached_property
    def by_name(self) -> dict[str, Street]:
        return {street.name: street for street in self.streets}

    @cached_property
    def own(self) -> int:
        """How many cards of his own a player has in the end."""
        return sum(street.own for street in self.streets)

    @cached_property
    def board(self) -> int:
        """How many cards lie on the board in the end."""
        return sum(street.board for street in self.streets)

    @cached_property
    def board_before(self) -> dict[str, int]:
        """How many cards lie on the board before each street that adds some."""
        total = 0
        return {
            street.name: (total := total + street.board) - street.board
            for street in self.streets
            if street.board
        }

    @cached_property
    def draws(self) -> bool:
        """Whether cards are drawn."""
        return any(street.draw for street in self.streets)

    @cached_property
    def dealt_at_once(self) -> bool:
        """Whether a player gets all cards of his own on the first street."""
        return self.own == self.streets[0].own


MOST_DRAWN: Final = 5
"""A player draws none to so many cards. Source: K 10.9.5, K 10.10.6, G."""

_BOARD: Final = (
    Street("Flop", board=3),
    Street("Turn", board=1),
    Street("River", board=1),
)

_SEVEN_STREETS: Final = (
    Street("Third Street", down=2, up=1),
    Street("Fourth Street", up=1),
    Street("Fifth Street", up=1),
    Street("Sixth Street", up=1),
    Street("Seventh Street", down=1),
)
"""Where the deck runs out, one card on the board serves all as their seventh. Source: K 10.7.7."""

_FIVE_STREETS: Final = (
    Street("Second Street", down=1, up=1),
    Street("Third Street", up=1),
    Street("Fourth Street", up=1),
    Street("Fifth Street", up=1),
)

GAMES: Final[dict[str, GamePlay]] = {
    # K 10.3
    "Holdem": GamePlay((Street("Preflop", down=2), *_BOARD), "ordinary"),
    # K 10.4
    "Omaha": GamePlay((Street("Preflop", down=4), *_BOARD), "ordinary", uses="two-and-three"),
    # K 10.5
    "OmahaHiLo": GamePlay(
        (Street("Preflop", down=4), *_BOARD), "ordinary", "eight-or-better", "two-and-three"
    ),
    # K 10.6
    "Soko": GamePlay(_FIVE_STREETS, "soko"),
    # K 10.7
    "Stud": GamePlay(_SEVEN_STREETS, "ordinary"),
    # K 10.8
    "StudHiLo": GamePlay(_SEVEN_STREETS, "ordinary", "eight-or-better"),
    # K 10.9, G
    "FiveCardDraw": GamePlay((Street("Deal", down=5), Street("First Draw", draw=True)), "ordinary"),
    # K 10.10
    "TripleDraw27": GamePlay(
        (
            Street("Deal", down=5),
            Street("First Draw", draw=True),
            Street("Second Draw", draw=True),
            Street("Third Draw", draw=True),
        ),
        "deuce-to-seven",
    ),
    # K 10.11
    "Telesina": GamePlay((*_FIVE_STREETS, Street("Vela", board=1)), "telesina"),
    # K 10.12
    "Americana": GamePlay(_FIVE_STREETS, "americana"),
}

_FIVE_CARD_OMAHA: Final = replace(GAMES["Omaha"], streets=(Street("Preflop", down=5), *_BOARD))


def play_of(hand: Hand) -> GamePlay | None:
    """Return how a posted hand's game is dealt and won; None for a game that is not known."""
    if hand.x_hole_cards == 5 and hand.game == "Omaha":
        return _FIVE_CARD_OMAHA
    return GAMES.get(hand.game)
