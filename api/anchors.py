"""The digests of now: whoever notes them outside can tell later that history was not changed."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api.auth import Caller, needs
from api.edge import Answer, LedgerRoute, edge_of, respond
from api.tokens import Scope
from projections import anchors

router = APIRouter(prefix="/v1/anchors", tags=["books"], route_class=LedgerRoute)


class AnchorAnswer(BaseModel):
    """The digest of a chain at its last link."""

    model_config = ConfigDict(extra="forbid")

    chain: str = Field(description="events, or seals: of the rows that are written beside them.")
    number: int = Field(description="The last position, or the number of the last seal.")
    digest: str = Field(description="The chain's digest there, SHA-256 in hex.")
    anchor: str = Field(description="Both as `cardroom check --against` takes them.")


class AnchorsAnswer(Answer):
    """The chains' last links."""

    anchors: list[AnchorAnswer]


@router.get("", response_model=AnchorsAnswer, summary="The digests of now")
def get_anchors(request: Request, caller: Annotated[Caller, needs(Scope.BOOKS_READ)]) -> Response:
    """Show the digests of the chains of events and of seals at their ends.

    Note them where no administrator of the database can change them. `cardroom check --against`
    compares: a book whose newest events were removed, or whose history was written anew, differs.
    """
    with edge_of(request).reads.snapshot() as connection:
        found = anchors.newest(connection)
    answers = [
        {
            "chain": "seals" if one.of_seals else "events",
            "number": one.number,
            "digest": one.digest,
            "anchor": str(one),
        }
        for one in found
    ]
    position = max((one.number for one in found if not one.of_seals), default=0)
    return respond({"anchors": answers, "position": position})
