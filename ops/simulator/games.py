"""The games that are played here: what is dealt on each street, and what is bet on it."""

from typing import Final, Literal, NamedTuple

BetType = Literal["NL", "PL", "FL"]


class Street(NamedTuple):
    """A street: cards for each player, cards for all, and which fixed limit its bets have."""

    name: str
    own: int = 0
    board: int = 0
    upper: bool = False
    draw: bool = False


_FLOP_GAME = (
    Street("Flop", board=3),
    Street("Turn", board=1, upper=True),
    Street("River", board=1, upper=True),
)

STREETS: Final[dict[str, tuple[Street, ...]]] = {
    "Holdem": (Street("Preflop", own=2), *_FLOP_GAME),
    "Omaha": (Street("Preflop", own=4), *_FLOP_GAME),
    "OmahaHiLo": (Street("Preflop", own=4), *_FLOP_GAME),
    "FiveCardDraw": (Street("Deal", own=5), Street("First Draw", upper=True, draw=True)),
    "Stud": (
        Street("Third Street", own=3),
        Street("Fourth Street", own=1),
        Street("Fifth Street", own=1, upper=True),
        Street("Sixth Street", own=1, upper=True),
        Street("Seventh Street", own=1, upper=True),
    ),
}
"""Source: K 10.3-10.8; limits by street: D."""

SEATS: Final = {"Holdem": 10, "Omaha": 8, "OmahaHiLo": 8, "FiveCardDraw": 6, "Stud": 7}
"""Most players. Stud is kept to seven, so that its pack never runs out (K 10.7 allows eight)."""


class Limits(NamedTuple):
    """What a table plays for, in minor units."""

    game: str
    bet_type: BetType
    currency: str
    small_blind: int = 0
    big_blind: int = 0
    ante: int = 0
    bring_in: int = 0
    small_bet: int = 0
    big_bet: int = 0

    @property
    def unit(self) -> int:
        """The least bet of the first street."""
        return self.big_blind or self.small_bet

    def bet(self, street: Street) -> int:
        """Return the size of a bet: fixed in fixed limit, else the least."""
        return self.unit * 2 if self.bet_type == "FL" and street.upper else self.unit


def blinds(game: str, bet_type: BetType, big_blind: int, currency: str = "EUR") -> Limits:
    """Name the limits of a table with blinds; in fixed limit the big blind is the lower limit."""
    return Limits(game, bet_type, currency, big_blind // 2, big_blind)


def antes(game: str, small_bet: int, currency: str = "EUR") -> Limits:
    """Name the limits of a fixed-limit table with antes; the bring-in is twice the ante."""
    ante = max(1, small_bet // 10)
    return Limits(
        game, "FL", currency, ante=ante, bring_in=2 * ante, small_bet=small_bet,
        big_bet=2 * small_bet,
    )  # fmt: skip
