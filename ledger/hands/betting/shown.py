"""The cards that players show while a hand is bet on."""

from collections.abc import Sequence
from typing import Final

from ledger.hands.contributions import Tally
from ledger.hands.dealing import read_dealt
from ledger.hands.games import GamePlay
from ledger.hands.ohh import Hand
from ledger.rulebooks.play import GameRules

RANKS: Final = "23456789TJQKA"


class Shown:
    """The cards face up, by players' ids in the hand; what a post leaves out is not known."""

    def __init__(self, hand: Hand, play: GamePlay, game: GameRules, tally: Tally) -> None:
        cards = read_dealt(hand, play, game, tally)
        self._up = cards.up
        self._faulty = cards.faulty
        self._streets = play.streets

    def by(self, player: int, street: int) -> Sequence[str] | None:
        """Return what a player shows on a street, from 0; None when that is not known."""
        count = sum(one.up for one in self._streets[: street + 1])
        up = self._up.get(player, [])[:count]
        known = len(up) == count and all(card != "" and card[0] in RANKS for card in up)
        return up if known and player not in self._faulty else None
