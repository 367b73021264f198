"""What the room takes and what it gives back from it: rake and the bad-beat jackpot."""

from typing import Literal

from ledger.rulebooks.values import BetType, Bps, Game, NoRule, Range, Rules, Street


class Charge(Rules, frozen=True):
    """Pots of at least ``pots_from`` pay ``charge`` for each full ``per_full``."""

    pots_from_minor: int
    charge_minor: int
    per_full_minor: int


class Cap(Range, frozen=True):
    """The most that a hand pays with so many players dealt in."""

    cap_minor: int


class Band(Rules, frozen=True):
    """The rake at these limits, from ``lower_limit_from`` up to the next band of the same limits.

    The lower limit of a table is its big blind, in ante games its small bet.
    """

    limits: tuple[BetType, ...]
    lower_limit_from_minor: int
    charges: tuple[Charge, ...]
    caps: tuple[Cap, ...]


class Rake(Rules, frozen=True, eq=False):
    """The fee on a real-money pot. Source: K 10.1.9, D.

    Compared by identity, so that it can be the key of a memo: a rulebook's text is parsed once.
    """

    currency: str
    raked_after: dict[Game, Street]
    players_counted: Literal["dealt-cards"]
    computed: Literal["once-per-hand"]
    over_pots: Literal["by-size-half-up-rest-to-main-pot"]
    among_partners: Literal["by-stake-largest-remainder"]
    bands: tuple[Band, ...]


class ShareOfRake(Rules, frozen=True, tag_field="kind", tag="share-of-rake"):
    """The pool gets a share of each hand's rake; nothing more leaves the pot. Source: D."""

    share_bps: Bps


class FixedDrop(Rules, frozen=True, tag_field="kind", tag="fixed-drop"):
    """The pool gets a fixed amount out of each raked pot of at least ``pots_from``."""

    pots_from_minor: int
    drop_minor: int


class Qualifying(Rules, frozen=True):
    """The least hand that must be beaten; ``ranks`` are written from the highest down."""

    hand: Literal["four-of-a-kind", "straight-flush", "full-house"]
    ranks: str
    hole_cards: Literal["both", "any"]


class Jackpot(Rules, frozen=True):
    """The bad-beat jackpot. Source: D.

    The shares are of the pool at a hit; what they leave is the next pool. ``review``: a hit is
    paid only after a second person has released it.
    """

    contribution: ShareOfRake | FixedDrop
    loser_bps: Bps
    winner_bps: Bps
    dealt_in_bps: Bps
    dealt_in_includes_winner_and_loser: bool
    two_seat_tables: bool
    excluded_games: tuple[Game, ...]
    qualifying: dict[Game, Qualifying]
    several_qualify: Literal["two-highest-hands"] | NoRule
    review: bool
