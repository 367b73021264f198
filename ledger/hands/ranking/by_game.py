"""Which of two hands is the better one, by the ranking of each game."""

from collections.abc import Sequence

from ledger.hands.games import GamePlay
from ledger.hands.ranking import french, lows, ordinary, soko


def strength(play: GamePlay, own: Sequence[int], board: Sequence[int]) -> int:
    """Rank the best hand that a player's own cards and the board make; the highest wins.

    All of them are known, and as many as the game deals.
    """
    if play.high == "ordinary":
        if play.uses == "two-and-three":
            return ordinary.strength_of_two_and_three(own, board)
        return ordinary.strength((*own, *board))
    if play.high == "soko":
        return soko.strength(own)
    if play.high == "telesina":
        return french.telesina(own, board)
    if play.high == "americana":
        return french.americana(own)
    return lows.deuce_to_seven(own)


def low_strength(play: GamePlay, own: Sequence[int], board: Sequence[int]) -> int | None:
    """Rank the best low; the highest wins. None without a low that qualifies."""
    return lows.eight_or_better(play.uses, own, board)


def beats(play: GamePlay, one: int, other: int, players_left: int) -> bool:
    """Tell whether a strength beats another, with so many players left in the pot."""
    if play.high == "telesina":
        return french.telesina_beats(one, other, players_left)
    return one > other


def name(play: GamePlay, strength: int) -> str:
    """Say in words which kind of hand a strength is: ``full house``."""
    if play.high == "ordinary":
        return ordinary.name(strength)
    if play.high == "soko":
        return soko.name(strength)
    if play.high == "deuce-to-seven":
        return lows.deuce_to_seven_name(strength)
    return french.name(strength)


def low_name(strength: int) -> str:
    """Write a low out: ``8-6-4-2-A low``."""
    return lows.name(strength)
