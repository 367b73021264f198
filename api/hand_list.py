"""Hands that are booked: a list to find them by table, as of any position."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api import csv, links, listing
from api.as_of import StateAsOf, Told
from api.auth import Caller, needs
from api.edge import LedgerRoute
from api.links import LINKS, Known
from api.positions import Paged, Reached
from api.problems import Problem
from api.rows import shown
from api.tables import LONGEST_ID, id_of
from api.tokens import Scope
from projections.as_of import AsOf, resolve
from projections.queries import hands
from projections.reading import Page, Row, Snapshot

router = APIRouter(prefix="/v1", tags=["hands"], route_class=LedgerRoute, dependencies=[Reached])

Reading = Annotated[Caller, needs(Scope.HANDS_READ)]


class HandRow(BaseModel):
    """A booked hand in one line."""

    model_config = ConfigDict(extra="forbid")

    position: int = Field(description="Of its first event.")
    network: str
    game_number: str
    table: str
    game: str
    currency: str
    started_at: str
    players: int = Field(description="How many were dealt in.")
    rulebook: str
    verdict: str
    links: dict[str, str] = Field(default={}, description=LINKS)


class HandsAnswer(Told):
    """A page of hands; a page may be short, the cursor leads on."""

    hands: list[HandRow]
    cursor: str | None


@router.get("/hands", response_model=HandsAnswer, responses=csv.DOCUMENTED, summary="Hands")
def list_hands(
    request: Request,
    caller: Reading,
    paging: Paged,
    asked: StateAsOf,
    table: Annotated[
        str | None, Query(max_length=LONGEST_ID, description="Of one table only.")
    ] = None,
) -> Response:
    """List booked hands, the last booked first. A partner finds those of its players in their
    statements.
    """
    if caller.partner is not None:
        raise Problem("not-your-partner", "hands are of players of several partners")

    def find(at: Snapshot, *, known: AsOf | None, **page: Any) -> Page:
        position = (known or resolve(at)).position
        if table is None:
            return hands.page(at, network=caller.network, known=position, **page)
        of = id_of(table)
        return hands.of_table(at, network=caller.network, table_id=of, known=position, **page)

    show = listing.each(partial(_hand, caller))
    return listing.answer(request, paging, asked, name="hands", model=HandRow, find=find, show=show)


def _hand(caller: Caller, known: Known, row: Row) -> dict[str, Any]:
    found = links.allowed(
        caller,
        hand=links.hand(row["game_number"]),
        table=links.table(row["table_id"]),
        entries=known.entries(hand=row["game_number"]),
        event=links.event(row["position"]),
    )
    return shown(row, renamed={"table_id": "table"}, links=found)
