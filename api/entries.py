"""Entries: every line of every event that moved money, by whatever an auditor looks for."""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from api import csv, links, listing
from api.as_of import AsOfAsked, At, Instant, Told
from api.auth import Caller, needs
from api.edge import LedgerRoute, PlayerId, recording
from api.links import Known, Links
from api.positions import Paged, Reached
from api.rows import row_model, shown
from api.tables import LONGEST_ID, id_of
from api.tokens import Scope
from ledger import accounts, money
from ledger.core import stream
from ledger.hands.events import hand_stream
from ledger.players.events import player_stream
from projections import views
from projections.as_of import AsOf, resolve
from projections.queries import entries
from projections.reading import Page, Row, Snapshot

router = APIRouter(prefix="/v1", tags=["books"], route_class=LedgerRoute, dependencies=[Reached])

Auditing = Annotated[Caller, needs(Scope.BOOKS_READ)]
Name = Annotated[str | None, Query(max_length=64)]
Amount = Annotated[int | None, Query(ge=0, le=money.MAX_MINOR)]

RENAMED = {"code": "account", "table_id": "table"}
_INTERNAL = ("account", "kind")

_Columns: Any = row_model(
    "EntryColumns",
    views.ENTRIES,
    without=("account", "kind"),
    renamed=RENAMED,
    position=int,
    line=int,
    partner=str | None,
    player=str | None,
    table_id=str | None,
)


class EntryRow(_Columns):  # type: ignore[misc]
    """One line of an event that moved money."""

    hand: str | None = Field(description="Game number of the hand that it is of.")


class EntriesAnswer(Told):
    """A page of entries; a page may be short, the cursor leads on."""

    entries: list[EntryRow]
    cursor: str | None


@router.get("/entries", response_model=EntriesAnswer, responses=csv.DOCUMENTED, summary="Entries")
def list_entries(
    request: Request,
    caller: Auditing,
    paging: Paged,
    asked: AsOfAsked,
    *,
    account: Annotated[
        str | None, Query(max_length=500, description="Account code, `component:network:…`.")
    ] = None,
    currency: Annotated[str | None, Query(pattern="^[A-Z]{3}$")] = None,
    component: Name = None,
    partner: Name = None,
    player: Annotated[PlayerId | None, Query()] = None,
    table: Annotated[str | None, Query(max_length=LONGEST_ID)] = None,
    hand: Annotated[str | None, Query(max_length=128, description="A game number.")] = None,
    request_id: Annotated[
        str | None, Query(max_length=128, description="The Idempotency-Key of a request.")
    ] = None,
    event: Annotated[str | None, Query(max_length=64, examples=["hand.raked.v1"])] = None,
    ground: Annotated[
        str | None,
        Query(max_length=64, description="Of events that name the ground they were done on."),
    ] = None,
    least_minor: Annotated[Amount, Query(description="Least amount, debit or credit.")] = None,
    most_minor: Annotated[Amount, Query(description="Greatest amount, debit or credit.")] = None,
    position_from: At = None,
    position_before: At = None,
    recorded_from: Instant = None,
    recorded_before: Instant = None,
    occurred_from: Instant = None,
    occurred_before: Instant = None,
    order: Literal["newest-first", "oldest-first"] = "newest-first",
) -> Response:
    """List every line of every event that moved money.

    Instants carry a zone (`2013-05-01T00:00:00Z`, `…%2B02:00`); ranges end before their end.
    The cursor pins the position of the first page. Where few entries pass the filters a page may
    be short, or empty: there are no more when `cursor` is null. As CSV all come at once. The read
    is recorded.
    """
    if caller.partner is not None:
        caller.require_own_partner(partner or caller.partner)
        partner = caller.partner
    filters = entries.Filters(
        network=caller.network,
        account=account,
        currency=currency,
        component=component,
        partner=partner,
        player=UUID(player) if player is not None else None,
        table_id=id_of(table) if table is not None else None,
        hand=hand_stream(caller.network, hand) if hand is not None else None,
        request_id=request_id,
        event=event,
        ground=ground,
        least_minor=least_minor,
        most_minor=most_minor,
        position_from=position_from,
        position_before=position_before,
        recorded_from=recorded_from,
        recorded_before=recorded_before,
        occurred_from=occurred_from,
        occurred_before=occurred_before,
    )
    subject = _subject(caller, player, account)

    def find(at: Snapshot, *, known: AsOf | None, **page: Any) -> Page:
        newest_first = order == "newest-first"
        return entries.page(
            at, filters, known=known or resolve(at), newest_first=newest_first, **page
        )

    plain = csv.wanted(request)
    show = listing.each(lambda known, row: entry(caller, None if plain else known, row))
    with recording(request, caller, "entries", subject):
        return listing.answer(
            request, paging, asked, name="entries", model=EntryRow, find=find, show=show
        )


def entry(caller: Caller, known: Known | None, row: Row) -> dict[str, Any]:
    """Show an entry and the number of its hand; with links, when there is a place for them."""
    game_number = links.game_number_of(row["stream"], row["request_id"])
    found = None if known is None else _links(caller, known, row, game_number)
    answer = shown(row, without=_INTERNAL, renamed=RENAMED, links=found)
    answer["hand"] = game_number
    return answer


def _links(caller: Caller, known: Known, row: Row, game_number: str | None) -> Links:
    code, player = row["code"], row["player"]
    player = None if player is None else str(player)
    return links.allowed(
        caller,
        event=links.event(row["position"]),
        hand=links.hand(game_number),
        table=links.table(row["table_id"]),
        player=links.player(player),
        statement=known.statement("accounts", code)
        if player is None
        else known.statement_of_player(player),
        account=known.entries(account=code, currency=row["currency"]),
        request=known.entries(request_id=row["request_id"])
        if game_number is None
        else known.entries(hand=game_number),
    )


def _subject(caller: Caller, player: str | None, account: str | None) -> str:
    """Name whom a list of entries is about: the player if it is one's, else the network."""
    if player is None and account is not None:
        player = player_of_account(account)
    if player is not None:
        return player_stream(caller.network, player)
    return stream("entries", caller.network, "all")


def player_of_account(code: str) -> str | None:
    """Return the player of an account by its code, which may be none that can exist."""
    parts = 3 if code.startswith("chips:") else 2
    return accounts.parse(code).player if code.count(":") >= parts else None
