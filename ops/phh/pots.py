"""What a PHH hand pays: pots, what nobody called, and who won what.

A file gives each player's winnings or finishing stack, or neither: then PokerKit plays the hand
and says who won. In either case the pots follow from what was put in.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import pokerkit
from pokerkit.notation import parse_action

from ledger.hands.ohh import Malformed
from ops.phh.files import Amount, Phh


class Part(NamedTuple):
    """A player's part in the hand; ``folded`` is his place in the order of folding, 0 if none."""

    live: Amount
    dead: Amount
    folded: int
    starting: Amount


@dataclass
class Pot:
    """A pot, who may win it, and who did; players are numbered from 1."""

    amount: Amount
    entitled: Sequence[int]
    wins: dict[int, Amount] = field(default_factory=dict)


class Settled(NamedTuple):
    """What was returned uncalled, the pots, and what left them."""

    returned: list[tuple[int, Amount]]
    pots: list[Pot]
    rake: Amount


def settle(phh: Phh, parts: Sequence[Part]) -> Settled:
    """Settle a hand as its file says, else as PokerKit does.

    Raises Malformed where neither is possible, or where the file lets a player keep less than the
    hand can have cost him.
    """
    returned = _uncalled(parts)
    pots = _pots(parts, dict(returned))
    replay = _replay(phh)
    if phh.finishing_stacks:
        won = _won(parts, dict(returned), phh.finishing_stacks)
    elif phh.winnings:
        won = {number: amount for number, amount in enumerate(phh.winnings, 1) if amount}
    elif replay is not None:
        won = _won(parts, dict(returned), replay.stacks)
    else:
        message = "The file does not say who won, and PokerKit cannot play this hand."
        raise Malformed(message, field="finishing_stacks")
    rake = max(0, sum(pot.amount for pot in pots) - sum(won.values()))
    if replay is not None and _agree(replay, pots, won):
        for pot, wins in zip(pots, replay.pots, strict=True):
            pot.wins = wins
    else:
        _allot(pots, won)
    return Settled(returned, pots, rake)


def _uncalled(parts: Sequence[Part]) -> list[tuple[int, Amount]]:
    """Find what one player staked above all others."""
    stakes = sorted((part.live for part in parts), reverse=True)
    second = stakes[1] if len(stakes) > 1 else 0
    if stakes[0] == second:
        return []
    top = next(number for number, part in enumerate(parts, 1) if part.live == stakes[0])
    return [(top, stakes[0] - second)]


def _pots(parts: Sequence[Part], returned: Mapping[int, Amount]) -> list[Pot]:
    """Form main and side pots from what was staked and not returned; dead money is in the main."""
    stakes = {number: part.live - returned.get(number, 0) for number, part in enumerate(parts, 1)}
    left = [number for number, part in enumerate(parts, 1) if not part.folded] or list(stakes)
    pots: list[Pot] = []
    below: Amount = 0
    for level in sorted({stakes[number] for number in left} - {0}):
        amount = sum(min(stake, level) - min(stake, below) for stake in stakes.values())
        pots.append(Pot(amount, [number for number in left if stakes[number] >= level]))
        below = level
    rest = sum(stakes.values()) - sum(pot.amount for pot in pots)
    dead = sum(part.dead for part in parts)
    if not pots:
        return [Pot(rest + dead, left)] if rest + dead else []
    pots[-1].amount += rest
    pots[0].amount += dead
    return pots


def _won(
    parts: Sequence[Part], returned: Mapping[int, Amount], stacks: Sequence[Amount]
) -> dict[int, Amount]:
    """Return what each player won, from what he has in the end."""
    won: dict[int, Amount] = {}
    for number, (part, left) in enumerate(zip(parts, stacks, strict=True), 1):
        kept = part.starting - part.live - part.dead + returned.get(number, 0)
        if left < kept:
            message = f"p{number} cannot have less than {kept} in the end."
            raise Malformed(message, field=f"finishing_stacks[{number - 1}]")
        if left > kept:
            won[number] = left - kept
    return won


# -- who won which pot ---------------------------------------------------------------------------

_UNPLAYABLE: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""What PokerKit raises when it is given a hand that cannot be played."""


class _Replay(NamedTuple):
    """How a hand ends when PokerKit plays it; what each pot pays to whom, as far as it tells."""

    stacks: Sequence[Amount]
    pots: list[dict[int, Amount]]


def _replay(phh: Phh) -> _Replay | None:
    """Let PokerKit play a hand to its end; None where it cannot.

    Its own way of playing a hand history adds what it thinks is missing: cards and folds.
    """
    said = {
        name: value
        for name in pokerkit.HandHistory.required_field_names[phh.variant]
        if (value := getattr(phh, name)) is not None
    }
    said |= {"antes": phh.antes, "ante_trimming_status": phh.ante_trimming_status}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state = pokerkit.HandHistory(**said).create_state()
            for action in phh.actions:
                while state.can_burn_card():
                    state.burn_card("??")
                parse_action(state, action)
    except _UNPLAYABLE:
        return None
    if state.status:
        return None
    pots: list[dict[int, Amount]] = []
    for operation in state.operations:
        if isinstance(operation, pokerkit.ChipsPushing):
            while len(pots) <= operation.pot_index:
                pots.append({})
            wins = pots[operation.pot_index]
            for number, amount in enumerate(operation.amounts, 1):
                if amount:
                    wins[number] = wins.get(number, 0) + amount
    return _Replay(state.stacks, pots)


def _agree(replay: _Replay, pots: Sequence[Pot], won: Mapping[int, Amount]) -> bool:
    """Tell whether PokerKit made the same pots and gave each player what he won."""
    total: dict[int, Amount] = {}
    for wins in replay.pots:
        for number, amount in wins.items():
            total[number] = total.get(number, 0) + amount
    amounts = [sum(wins.values()) for wins in replay.pots]
    return amounts == [pot.amount for pot in pots] and total == won


def _allot(pots: Sequence[Pot], won: Mapping[int, Amount]) -> None:
    """Divide what each player won over the pots, the last side pot first.

    A side pot goes to who won most of those that may win it; what is left is the main pot's.
    """
    left = dict(won)
    for pot in reversed(pots[1:]):
        due = pot.amount
        for number in sorted(pot.entitled, key=lambda player: -left.get(player, 0)):
            share = min(due, left.get(number, 0))
            if share:
                pot.wins[number] = share
                left[number] -= share
                due -= share
    for number, amount in left.items():
        if amount and pots:
            pots[0].wins[number] = amount
