"""The fee that a game server takes out of a hand, by the network's schedule of 2013.

Worked out here once more, apart from the ledger's rulebook, so that one can be held against the
other. Source: K 10.1.9, D.
"""

from collections.abc import Callable
from typing import Final, NamedTuple


class Fee(NamedTuple):
    """``charge`` per full ``per``, in cents, and its caps by the most players that they are for."""

    charge: int
    per: int
    caps: tuple[tuple[int, int], ...]


BIG_BET: Final = Fee(5, 100, ((3, 75), (5, 200), (10, 300)))
"""No limit, pot limit."""

LOW: Final = Fee(5, 100, ((3, 75), (10, 100)))
"""Fixed limit, 0.50/1.00 and lower."""

MIDDLE: Final = Fee(25, 500, ((3, 75), (10, 200)))
"""Fixed limit, 1/2."""

HIGH: Final = Fee(50, 1000, ((3, 75), (10, 200)))
"""Fixed limit, 2/4 and higher."""

TABLE_FEE_BELOW: Final = 200

Schedule = Callable[[str, int, int, int], int]
"""Bet type, lower limit, pot, players dealt in -> rake; cents."""


def by_schedule(bet_type: str, lower_limit: int, pot: int, dealt: int) -> int:
    """Return the rake of a real-money hand in which enough was dealt to be raked, in cents."""
    fee = BIG_BET if bet_type != "FL" else _fixed(lower_limit)
    if pot < TABLE_FEE_BELOW and fee in (BIG_BET, LOW):
        return pot // 20
    return min(pot // fee.per * fee.charge, next(cap for most, cap in fee.caps if dealt <= most))


def free(bet_type: str, lower_limit: int, pot: int, dealt: int) -> int:
    """Return no rake: fun money. Source: K 10.1.8."""
    return 0


def _fixed(lower_limit: int) -> Fee:
    if lower_limit < 100:
        return LOW
    return MIDDLE if lower_limit < 200 else HIGH
