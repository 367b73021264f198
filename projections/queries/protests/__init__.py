"""Protest windows: until when each transaction of a player may be protested, and what is at stake.

A window has no row of its own: it follows from the entries of a transaction and from the rulebook
version that judged it. Source: K 6.1, G, L.
"""

from projections.queries.protests.pages import Listed, Whose, closing, of_player
from projections.queries.protests.rules import Days
from projections.queries.protests.stakes import at_stake
from projections.queries.protests.windows import Stake, Window

__all__ = ["Days", "Listed", "Stake", "Whose", "Window", "at_stake", "closing", "of_player"]
