"""Bankrolls: what a player has in cash, frozen, pending and on tables, and what he owes."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa

from projections.queries import players
from projections.reading import BOOK, Page, Row, Snapshot, rows


class Bankroll(NamedTuple):
    """A player's money: a row per currency, and a row per table where he has chips."""

    position: int
    purses: Sequence[Row]
    chips: Sequence[Row]


def one(at: Snapshot, *, network: str, player: UUID) -> Bankroll:
    """Return a player's money; no rows when he has never had any."""
    purses, chips = BOOK["bankrolls"], BOOK["chips"]
    return Bankroll(
        at.position,
        rows(
            at,
            sa.select(purses)
            .where(purses.c.network == network, purses.c.player == player)
            .order_by(purses.c.currency),
        ),
        rows(
            at,
            sa.select(chips)
            .where(chips.c.network == network, chips.c.player == player)
            .order_by(chips.c.table_id, chips.c.currency),
        ),
    )


def page(
    at: Snapshot,
    *,
    network: str,
    partner: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page:
    """Return the purses of a page of players, those without money left out.

    Raises InvalidCursorError.
    """
    listed = players.page(at, network=network, partner=partner, limit=limit, cursor=cursor)
    purses = BOOK["bankrolls"]
    of_these = purses.c.player.in_([row["player"] for row in listed.rows])
    found = rows(
        at,
        sa.select(purses)
        .where(purses.c.network == network, of_these)
        .order_by(purses.c.player, purses.c.currency),
    )
    return Page(listed.position, found, listed.cursor)
