"""The betting of a hand: forced bets, whose turn it is, what he may do, and for how much."""

from ledger.hands.betting.engine import check_betting
from ledger.hands.betting.state import ArtificialAllIn

__all__ = ["ArtificialAllIn", "check_betting"]
