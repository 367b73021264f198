"""What a hand pays into the bad-beat jackpot."""

from typing import Final, Literal, NamedTuple

from ledger.money import is_real
from ledger.rulebooks.fees import FixedDrop, Jackpot, ShareOfRake

WHOLE: Final = 10_000
"""Basis points in a whole: a table's remainder is carried in 1/10000 of a minor unit."""


class Contribution(NamedTuple):
    """``booked_minor`` goes to the pool; the table carries ``carry`` 1/10000 minor units on."""

    booked_minor: int
    carry: int


def contributes(
    jackpot: Jackpot | Literal["none"],
    *,
    game: str,
    table_size: int,
    tournament: bool,
    currency: str,
) -> bool:
    """Tell whether a table takes part in the jackpot.

    Never in tournaments nor for play money; not where the rulebook leaves out two-seat tables or
    the game. Source: D.
    """
    return (
        jackpot != "none"
        and not tournament
        and is_real(currency)
        and (table_size > 2 or jackpot.two_seat_tables)
        and game not in jackpot.excluded_games
    )


def drop_of(jackpot: Jackpot | Literal["none"], *, pot_minor: int, rake_minor: int) -> int:
    """Return what leaves the pot for the jackpot besides the rake, for a table that takes part.

    Nothing where the pool lives on the rake (Source: D), nor from a pot that paid no rake or is
    too small. What is left of the pot after rake is the most that it can be.
    """
    if jackpot == "none" or not isinstance(jackpot.contribution, FixedDrop) or rake_minor == 0:
        return 0
    drop = jackpot.contribution
    if pot_minor < drop.pots_from_minor:
        return 0
    return min(drop.drop_minor, pot_minor - rake_minor)


def contribution_of(
    jackpot: Jackpot | Literal["none"], *, rake_minor: int, drop_minor: int, carry: int
) -> Contribution:
    """Work out what the pool gets from a hand of a table that takes part.

    ``carry`` is what the table carried so far, and the result's is what it carries on. A share of
    the rake is booked in whole units; a drop goes to the pool entirely. Source: D.
    """
    if jackpot == "none" or not isinstance(jackpot.contribution, ShareOfRake):
        return Contribution(drop_minor, carry)
    booked, left = divmod(carry + rake_minor * jackpot.contribution.share_bps, WHOLE)
    return Contribution(drop_minor + booked, left)
