"""Lists that rest on projections: bankrolls, deposits, withdrawals, tables and their days."""

from datetime import date
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from api.auth import Caller, Scope, needs
from api.clock import now
from api.edge import Answer, LedgerRoute, PlayerId, edge_of, respond
from api.players import Player, player_of
from api.positions import Paged, Reached
from api.problems import Problem
from api.rows import row_model, shown
from api.tables import TablePath, id_of
from ledger.core import stream
from ledger.players.events import player_stream
from ledger.tables.commands import UnknownTable
from projections import views
from projections.queries import bankrolls, payments, tables
from projections.reading import Page

router = APIRouter(prefix="/v1", tags=["books"], route_class=LedgerRoute, dependencies=[Reached])

Balances = Annotated[Caller, needs(Scope.BALANCES_READ)]
Players = Annotated[Caller, needs(Scope.PLAYERS_READ)]
Tables = Annotated[Caller, needs(Scope.TABLES_READ)]
OfPlayer = Annotated[PlayerId | None, Query()]

LONGEST_DAYS = 366

_RENAMED = {"table_id": "table"}
_TABLE_RENAMED = {"table_id": "table", "position": "last_position"}
_PAYMENT_RENAMED = {"position": "last_position"}
_SEATS = ("seats",)

PurseRow: Any = row_model("PurseRow", views.BANKROLLS, partner=str | None)
ChipsRow: Any = row_model(
    "ChipsRow", views.CHIPS_AT_TABLES, without=("network", "player"), renamed=_RENAMED
)
DepositRow: Any = row_model("DepositRow", views.DEPOSITS, renamed=_PAYMENT_RENAMED, position=int)
WithdrawalRow: Any = row_model(
    "WithdrawalRow", views.WITHDRAWALS, renamed=_PAYMENT_RENAMED, position=int
)
TableRow: Any = row_model(
    "TableRow",
    views.TABLES,
    without=_SEATS,
    renamed=_TABLE_RENAMED,
    size=int,
    small_bet_minor=int | None,
    big_bet_minor=int | None,
    max_buy_in_minor=int | None,
    jackpot=str | None,
    running=str | None,
    last_hand=str | None,
    last_started_at=str | None,
    hands=int,
    inferred=bool | None,
    position=int,
)
DayRow: Any = row_model("TableDayRow", views.TABLE_DAYS, renamed=_RENAMED, hands=int)
RakeRow: Any = row_model("TableRakeRow", views.TABLE_RAKE, renamed=_RENAMED, hands=int)


class BankrollAnswer(Answer):
    """What a player has: cash, frozen, pending and in chips, and what he owes."""

    player: str
    purses: list[PurseRow]
    chips: list[ChipsRow]


class BankrollsAnswer(Answer):
    """The purses of a page of players."""

    bankrolls: list[PurseRow]
    cursor: str | None


class DepositsAnswer(Answer):
    """A page of deposits."""

    deposits: list[DepositRow]
    cursor: str | None


class WithdrawalsAnswer(Answer):
    """A page of withdrawals."""

    withdrawals: list[WithdrawalRow]
    cursor: str | None


class TablesAnswer(Answer):
    """A page of tables."""

    tables: list[TableRow]
    cursor: str | None


class DaysAnswer(Answer):
    """What was played and earned at a table, by day."""

    days: list[DayRow]
    rake_by_partner: list[RakeRow]


@router.get("/players/{player}/bankroll", response_model=BankrollAnswer, summary="A player's money")
def get_bankroll(request: Request, player: Player, caller: Balances) -> Response:
    """Tell what a player has and owes, by the postings. The read is recorded."""
    edge = edge_of(request)
    player_of(edge, caller, player)
    with edge.reads.book() as at:
        found = bankrolls.one(at, network=caller.network, player=UUID(player))
    _record(request, caller, "bankroll", player_stream(caller.network, player))
    return respond(
        {
            "player": player,
            "purses": [shown(row) for row in found.purses],
            "chips": [
                shown(row, without=("network", "player"), renamed=_RENAMED) for row in found.chips
            ],
            "position": found.position,
        }
    )


@router.get("/bankrolls", response_model=BankrollsAnswer, summary="Bankrolls")
def list_bankrolls(
    request: Request,
    caller: Balances,
    paging: Paged,
    partner: Annotated[str | None, Query(max_length=64)] = None,
) -> Response:
    """List what players have and owe, in the order of their ids. The read is recorded."""
    if caller.partner is not None:
        caller.require_own_partner(partner or caller.partner)
        partner = caller.partner
    with edge_of(request).reads.book() as at:
        page = bankrolls.page(
            at,
            network=caller.network,
            partner=partner,
            limit=paging.limit,
            cursor=paging.cursor,
        )
    _record(request, caller, "bankrolls", stream("bankrolls", caller.network, partner or "all"))
    return _page("bankrolls", page, {})


@router.get("/deposits", response_model=DepositsAnswer, summary="Deposits")
def list_deposits(
    request: Request,
    caller: Players,
    paging: Paged,
    player: OfPlayer = None,
    status: Literal["announced", "confirmed", "failed", "charged-back"] | None = None,
) -> Response:
    """List deposits in the order of their ids. A partner names one of its players."""
    of = _of_player(request, caller, player)
    with edge_of(request).reads.book() as at:
        page = payments.deposits(
            at,
            network=caller.network,
            player=of,
            status=status,
            limit=paging.limit,
            cursor=paging.cursor,
        )
    _record(request, caller, "deposits", _subject(caller, "deposits", player))
    return _page("deposits", page, _PAYMENT_RENAMED)


@router.get("/withdrawals", response_model=WithdrawalsAnswer, summary="Withdrawals")
def list_withdrawals(
    request: Request,
    caller: Players,
    paging: Paged,
    player: OfPlayer = None,
    status: Literal["requested", "in-review", "released", "paid", "rejected"] | None = None,
) -> Response:
    """List withdrawals in the order of their ids. A partner names one of its players."""
    of = _of_player(request, caller, player)
    with edge_of(request).reads.book() as at:
        page = payments.withdrawals(
            at,
            network=caller.network,
            player=of,
            status=status,
            limit=paging.limit,
            cursor=paging.cursor,
        )
    _record(request, caller, "withdrawals", _subject(caller, "withdrawals", player))
    return _page("withdrawals", page, _PAYMENT_RENAMED)


@router.get("/tables", response_model=TablesAnswer, summary="Tables")
def list_tables(
    request: Request,
    caller: Tables,
    paging: Paged,
    status: Literal["open", "closed"] | None = None,
) -> Response:
    """List cash tables in the order of their ids."""
    with edge_of(request).reads.book() as at:
        page = tables.page(
            at,
            network=caller.network,
            status=status,
            limit=paging.limit,
            cursor=paging.cursor,
        )
    return _page("tables", page, _TABLE_RENAMED, _SEATS)


@router.get("/tables/{table}/days", response_model=DaysAnswer, summary="A table's days")
def get_table_days(
    request: Request,
    table: TablePath,
    caller: Balances,
    first: Annotated[date, Query(examples=["2013-05-01"])],
    last: Annotated[date, Query(examples=["2013-05-31"])],
) -> Response:
    """Tell hands, rake and jackpot contribution by day (UTC), and the rake by partner.

    A partner is told its own rake alone.
    """
    if not 0 <= (last - first).days < LONGEST_DAYS:
        raise Problem(
            "invalid-value",
            f"the last day follows the first by at most {LONGEST_DAYS}",
            field="last",
        )
    with edge_of(request).reads.book() as at:
        if tables.one(at, network=caller.network, table_id=id_of(table)) is None:
            raise UnknownTable("No such table.", field="table")
        found = tables.days(
            at,
            network=caller.network,
            table_id=id_of(table),
            first=first,
            last=last,
            partner=caller.partner,
        )
    return respond(
        {
            "days": [shown(row, renamed=_RENAMED) for row in found.days]
            if caller.partner is None
            else [],
            "rake_by_partner": [shown(row, renamed=_RENAMED) for row in found.rake_by_partner],
            "position": found.position,
        }
    )


def _page(
    name: str, page: Page, renamed: dict[str, str], without: tuple[str, ...] = ()
) -> Response:
    rows = [shown(row, without=without, renamed=renamed) for row in page.rows]
    return respond({name: rows, "cursor": page.cursor, "position": page.position})


def _of_player(request: Request, caller: Caller, player: str | None) -> UUID | None:
    """Return the player whose list it is; a partner has to name one of its own."""
    if caller.partner is not None:
        if player is None:
            raise Problem("missing-field", "a partner names one of its players", field="player")
        player_of(edge_of(request), caller, player)
    return UUID(player) if player is not None else None


def _subject(caller: Caller, what: str, player: str | None) -> str:
    if player is not None:
        return player_stream(caller.network, player)
    return stream(what, caller.network, "all")


def _record(request: Request, caller: Caller, what: str, subject: str) -> None:
    edge_of(request).reads.record(caller, what, subject, request.scope["request_id"], now())
