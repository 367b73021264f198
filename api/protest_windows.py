"""Protest windows: until when transactions may be protested, and what is at stake in them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api import csv, links
from api.as_of import AsOfAsked, Instant, Reading, Told, reading
from api.auth import Caller, needs
from api.clock import now
from api.edge import LedgerRoute, PlayerId, edge_of, recording, respond, worded
from api.hand_records import names_of
from api.players import partner_of
from api.positions import Paged, Reached
from api.problems import Problem
from api.rows import row_model
from api.tokens import Scope
from ledger.core import stream
from ledger.players.events import player_stream
from projections import views
from projections.queries import protests
from projections.queries.protests import Whose, Window
from projections.reading import Snapshot

router = APIRouter(prefix="/v1", tags=["books"], route_class=LedgerRoute, dependencies=[Reached])

Protests = Annotated[Caller, needs(Scope.PROTESTS_READ)]
State = Literal["open", "closed", "not-yet", "none", "unknown"]

SOON_DAYS = 3
LONGEST_DAYS = 366

_RENAMED = {"table_id": "table"}
_ViewRow: Any = row_model(
    "ProtestWindowRow",
    views.PROTEST_WINDOWS,
    renamed=_RENAMED,
    table_id=str | None,
    first_position=int,
    last_position=int,
    rulebook=str | None,
    window_days=int | None,
    window_zone=str | None,
    closes_at=str | None,
)


class WindowRow(_ViewRow):  # type: ignore[misc]
    """A transaction of a player, until when he may protest it, and what is at stake."""

    name: str | None = Field(description="The player's nickname now; null after it was erased.")
    hand: str | None = Field(description="The game number, if the transaction is a hand.")
    state: State = Field(
        description="At the instant `at`: open; closed; not-yet: it happens later; none: its "
        "rulebook knows no protests; unknown: no rulebook is known."
    )


class StakeRow(BaseModel):
    """What is at stake in one currency, over all windows of the list."""

    model_config = ConfigDict(extra="forbid")

    currency: str
    gross_minor: int = Field(description="What was taken from the players' accounts.")
    gross: str
    net_minor: int = Field(description="What left the players altogether; negative: they gained.")
    net: str


class WindowsAnswer(Told):
    """A page of protest windows; a page may be short, the cursor leads on."""

    at: str = Field(description="The instant as of which windows are open or closed.")
    protest_windows: list[WindowRow]
    at_stake: list[StakeRow] | None = Field(
        description="Of the whole list, on the first page of what closes in a range of time. Null "
        "on others, with `state`, and where transactions under other rules happened on the same "
        "days: the totals do not tell them apart, the rows do."
    )
    cursor: str | None


class _Range(NamedTuple):
    closing_from: datetime
    closing_before: datetime
    asked: dict[str, Any] | None = None
    """How it was asked for, if it moves on with the clock."""

    def days(self, at: Snapshot, network: str) -> protests.Days:
        """Return the days of the transactions whose windows close in it."""
        return protests.Days(at, network, self.closing_from, self.closing_before)


class _Page(NamedTuple):
    read: Reading
    rows: Sequence[dict[str, Any]]
    cursor: str | None
    stakes: Sequence[dict[str, Any]] | None


@router.get(
    "/protest-windows",
    response_model=WindowsAnswer,
    responses=csv.DOCUMENTED,
    summary="Protest windows",
)
def list_protest_windows(
    request: Request,
    caller: Protests,
    paging: Paged,
    asked: AsOfAsked,
    *,
    player: Annotated[PlayerId | None, Query()] = None,
    partner: Annotated[str | None, Query(max_length=64)] = None,
    closing_within_days: Annotated[
        int | None, Query(ge=1, le=LONGEST_DAYS, description="Counted from `at`.")
    ] = None,
    closing_from: Instant = None,
    closing_before: Instant = None,
    at: Annotated[
        Instant, Query(description="As of when windows are open or closed; absent: now.")
    ] = None,
    state: State | None = None,
) -> Response:
    """List until when transactions may be protested. Source: K 6.1, G.

    With a player and no range: all of his transactions, the newest first. With a range, or without
    a player: what closes in it, in the order in which it closes, within three days unless asked for
    otherwise. Windows that end with a table's next hand are listed with their player alone. The
    read is recorded.
    """
    moment = at or now()
    whose = _whose(request, caller, player, partner)
    within = _range(at, player, closing_within_days, closing_from, closing_before)

    def page(cursor: str | None, limit: int, *, summed: bool = False) -> _Page:
        with reading(request, asked) as read:
            days = None if within is None else within.days(read.at, caller.network)
            listed = _listed(read, whose, within, days, limit=limit, cursor=cursor)
            # At the same instant as the page: what is posted meanwhile is in neither.
            stakes = _at_stake(read, whose, days) if summed else None
        read = read.at_page(listed.position)
        kept = [one for one in listed.windows if state in (None, state_of(one, moment))]
        rows = _Shown(request, caller, read, moment).rows(kept)
        return _Page(read, rows, listed.cursor, stakes)

    with recording(request, caller, "protest-windows", _subject(whose)):
        if csv.wanted(request):
            csv.whole(request)

            def sheet(cursor: str | None) -> csv.Sheet:
                found = page(cursor, csv.PAGE)
                return csv.Sheet(found.rows, found.read.as_of.position, found.cursor)

            return csv.respond("protest_windows", WindowRow, sheet)
        found = page(paging.cursor, paging.limit, summed=paging.cursor is None and state is None)
    return respond(
        {
            "at": moment,
            "protest_windows": found.rows,
            "at_stake": found.stakes,
            "cursor": found.cursor,
            **found.read.told(),
        }
    )


def state_of(window: Window, moment: datetime) -> State:
    """Tell how a window stands at an instant."""
    if window.window in ("none", "unknown"):
        return "none" if window.window == "none" else "unknown"
    if moment < window.occurred_at:
        return "not-yet"
    return "open" if window.is_open(moment) else "closed"


def _whose(request: Request, caller: Caller, player: str | None, partner: str | None) -> Whose:
    if caller.partner is not None:
        caller.require_own_partner(partner or caller.partner)
        partner = caller.partner
    if player is None:
        return Whose(caller.network, partner=partner)
    if partner not in (None, partner_of(edge_of(request), caller, player)):
        raise Problem("invalid-value", "he is another partner's player", field="partner")
    return Whose(caller.network, player=UUID(player))


def _range(
    at: datetime | None,
    player: str | None,
    days: int | None,
    closing_from: datetime | None,
    closing_before: datetime | None,
) -> _Range | None:
    """Return the range of closings that is asked for; None: all transactions of the player."""
    if closing_from is None and closing_before is None:
        if days is None and player is not None:
            return None
        begins, days = at or now(), days or SOON_DAYS
        try:
            ends = begins + timedelta(days=days)
            return _Range(begins, ends, {"days": days} if at is None else None)
        except OverflowError:
            raise Problem("invalid-value", "beyond the calendar", field="at") from None
    if days is not None:
        raise Problem(
            "invalid-value", "name days or a range, not both", field="closing_within_days"
        )
    if closing_from is None or closing_before is None:
        missing = "closing_from" if closing_from is None else "closing_before"
        raise Problem("missing-field", "a range has two ends", field=missing)
    if closing_before - closing_from > timedelta(days=LONGEST_DAYS):
        raise Problem("invalid-value", f"at most {LONGEST_DAYS} days", field="closing_before")
    return _Range(closing_from, closing_before)


def _listed(
    read: Reading,
    whose: Whose,
    within: _Range | None,
    days: protests.Days | None,
    *,
    limit: int,
    cursor: str | None,
) -> protests.Listed:
    if within is None or days is None:
        assert whose.player is not None
        return protests.of_player(
            read.at,
            network=whose.network,
            player=whose.player,
            known=read.as_of,
            limit=limit,
            cursor=cursor,
        )
    return protests.closing(
        read.at, whose, days, known=read.as_of, limit=limit, cursor=cursor, asked=within.asked
    )


def _at_stake(
    read: Reading, whose: Whose, days: protests.Days | None
) -> Sequence[dict[str, Any]] | None:
    """Add up what is at stake in a range; None where that cannot be said, or none was asked for."""
    stakes = None if days is None else protests.at_stake(read.at, whose, days, known=read.as_of)
    return None if stakes is None else [worded(one._asdict()) for one in stakes]


class _Shown:
    """Windows as this caller may see them, at an instant."""

    def __init__(self, request: Request, caller: Caller, read: Reading, moment: datetime) -> None:
        self._request = request
        self._caller = caller
        self._read = read
        self._moment = moment

    def rows(self, windows: Sequence[Window]) -> list[dict[str, Any]]:
        """Show windows: a row for each currency that was moved, which is one as a rule."""
        players = sorted({str(window.player) for window in windows})
        with edge_of(self._request).reads.snapshot() as connection:
            names = names_of(connection, self._caller.network, players)
        return [
            {
                **worded({**self._columns(window), **stake._asdict()}),
                "name": names.get(str(window.player)),
                "links": self._links(window),
            }
            for window in windows
            for stake in window.stakes
        ]

    def _columns(self, window: Window) -> dict[str, Any]:
        is_hand = window.stream.startswith("hand:")
        return {
            "network": self._caller.network,
            "player": str(window.player),
            "partner": window.partner,
            "transaction": window.stream if is_hand else window.request_id,
            "hand": links.game_number_of(window.stream, window.request_id),
            "event": window.event,
            "table": window.table_id,
            "first_position": window.first_position,
            "last_position": window.last_position,
            "occurred_at": window.occurred_at,
            "rulebook": window.rulebook,
            "window_kind": window.window,
            "window_days": None if window.rule is None else window.rule.days,
            "window_zone": None if window.rule is None else window.rule.zone,
            "closes_at": window.closes_at,
            "state": state_of(window, self._moment),
        }

    def _links(self, window: Window) -> links.Links:
        hand = links.game_number_of(window.stream, window.request_id)
        of = {"hand": hand} if hand is not None else {"request_id": window.request_id}
        return links.allowed(
            self._caller,
            event=links.event(window.first_position),
            entries=self._read.known.entries(player=str(window.player), **of),
            hand=links.hand(hand),
            table=links.table(window.table_id),
            player=links.player(window.player),
        )


def _subject(whose: Whose) -> str:
    """Name whom a list is about: the player, or the partner's players."""
    if whose.player is not None:
        return player_stream(whose.network, str(whose.player))
    return stream("protest-windows", whose.network, whose.partner or "all")
