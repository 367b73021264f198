"""Bankrolls: what a player has in cash, frozen, pending and on tables, and what he owes."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa

from projections.as_of import AsOf, view
from projections.queries import players
from projections.reading import Page, Row, Snapshot, rows


class Bankroll(NamedTuple):
    """A player's money: a row per currency, and a row per table where he has chips."""

    position: int
    purses: Sequence[Row]
    chips: Sequence[Row]


def one(at: Snapshot, *, network: str, player: UUID, known: AsOf | None = None) -> Bankroll:
    """Return a player's money; no rows when he has never had any."""
    purses = view("bankrolls", known, _ids([player]))
    chips = view("chips", known, _ids([player]))
    return Bankroll(
        at.position if known is None else known.position,
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
    known: AsOf | None = None,
) -> Page:
    """Return the purses of a page of players, those without money left out.

    Raises InvalidCursorError.
    """
    listed = players.registered(
        at, network=network, partner=partner, limit=limit, cursor=cursor, known=known
    )
    if known is not None:
        known = known._replace(position=listed.position)
    these = [row["player"] for row in listed.rows]
    purses = view("bankrolls", known, _ids(these))
    of_these = purses.c.player.in_(these)
    found = rows(
        at,
        sa.select(purses)
        .where(purses.c.network == network, of_these)
        .order_by(purses.c.player, purses.c.currency),
    )
    return Page(listed.position, found, listed.cursor)


def _ids(players: Sequence[UUID]) -> sa.ColumnElement[Sequence[UUID]]:
    return sa.cast(players, sa.ARRAY(sa.Uuid))
