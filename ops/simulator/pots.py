"""Side pots, and how a pot is divided among its winners."""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from ops.simulator import cards


class Pot(NamedTuple):
    """A main or side pot and who may win it."""

    amount: int
    eligible: tuple[int, ...]


class Win(NamedTuple):
    """What a player gets out of a pot; ``half`` in high-low games when a low hand shared it."""

    player: int
    amount: int
    half: str | None = None


def uncalled(put_in: Mapping[int, int]) -> tuple[int, int]:
    """Return whose bet nobody covered, and by how much (0 when all is covered)."""
    first, *rest = sorted(put_in, key=lambda player: -put_in[player])
    return first, put_in[first] - (put_in[rest[0]] if rest else 0)


def form(put_in: Mapping[int, int], dead: int, live: Set[int]) -> list[Pot]:
    """Form the main pot and the side pots of what was put in and not returned.

    A player wins from each opponent, folded or not, at most what he put in himself; dead money
    matches nothing and is in the main pot. Source: K 10.1.5.
    """
    pots: list[Pot] = []
    below = 0
    for level in sorted({put_in[player] for player in live}):
        amount = sum(min(stake, level) - min(stake, below) for stake in put_in.values())
        eligible = tuple(player for player in put_in if player in live and put_in[player] >= level)
        pots.append(Pot(amount + (0 if pots else dead), eligible))
        below = level
    return pots


def over_pots(rake: int, pots: Sequence[Pot]) -> list[int]:
    """Divide the rake of a hand over its pots by size, half a cent up, the rest on the main pot."""
    whole = sum(pot.amount for pot in pots)
    side = [(2 * rake * pot.amount + whole) // (2 * whole) for pot in pots[1:]]
    return [rake - sum(side), *side]


def divide(
    amount: int,
    game: str,
    hands: Mapping[int, Sequence[str]],
    board: Sequence[str],
    eligible: Sequence[int],
) -> list[Win]:
    """Divide a pot after rake among the best hands of those who may win it.

    ``eligible`` goes clockwise from the left of the dealer: that is who gets odd units first. In
    high-low games the odd unit between the halves goes to the high. Source: D, K 10.3.6.
    """
    if len(eligible) == 1:
        return [Win(eligible[0], amount)]
    best = _best({player: cards.high(game, hands[player], board) for player in eligible})
    lows = {}
    if game == "OmahaHiLo":
        made = {player: cards.low(hands[player], board) for player in eligible}
        lows = {player: low for player, low in made.items() if low is not None}
    if not lows:
        return _shares(amount, best, None)
    for_low = amount // 2
    return _shares(amount - for_low, best, "high") + _shares(for_low, _best(lows), "low")


def _best(strengths: Mapping[int, int] | Mapping[int, tuple[int, ...]]) -> list[int]:
    top = min(strengths.values())
    return [player for player, strength in strengths.items() if strength == top]


def _shares(amount: int, winners: Sequence[int], half: str | None) -> list[Win]:
    share, odd = divmod(amount, len(winners))
    return [Win(player, share + (place < odd), half) for place, player in enumerate(winners)]
