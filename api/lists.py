"""Lists that rest on projections: bankrolls, players, payments, tables and their days."""

from collections.abc import Container, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from api import csv, links, listing
from api.as_of import Asked, AsOfAsked, NotAsOf, Reading, StateAsOf, Told, reading
from api.auth import Caller, needs
from api.edge import Answer, LedgerRoute, PlayerId, edge_of, recording, respond
from api.links import Known, Links
from api.players import Player, partner_of
from api.positions import Paged, Reached
from api.problems import Problem
from api.reads import booked_hands
from api.rows import row_model, shown
from api.tables import TablePath, id_of
from api.tokens import Scope
from ledger.core import stream
from ledger.players.events import player_stream
from ledger.tables.commands import UnknownTable
from projections import views
from projections.queries import bankrolls, payments, players, tables
from projections.reading import Row

router = APIRouter(prefix="/v1", tags=["books"], route_class=LedgerRoute, dependencies=[Reached])

Balances = Annotated[Caller, needs(Scope.BALANCES_READ)]
Players = Annotated[Caller, needs(Scope.PLAYERS_READ)]
Tables = Annotated[Caller, needs(Scope.TABLES_READ)]
OfPlayer = Annotated[PlayerId | None, Query()]
OfPartner = Annotated[str | None, Query(max_length=64)]

LONGEST_DAYS = 366

_RENAMED = {"table_id": "table"}
_TABLE_RENAMED = {"table_id": "table", "position": "last_position"}
_STREAM_RENAMED = {"position": "last_position"}
_SEATS = ("seats",)
_OF_PURSE = ("network", "player")

PurseRow: Any = row_model("PurseRow", views.BANKROLLS, partner=str | None)
ChipsRow: Any = row_model("ChipsRow", views.CHIPS_AT_TABLES, without=_OF_PURSE, renamed=_RENAMED)
PlayerRow: Any = row_model(
    "PlayerRow",
    views.PLAYERS,
    renamed=_STREAM_RENAMED,
    inferred=bool,
    position=int,
    first_position=int,
)
DepositRow: Any = row_model(
    "DepositRow", views.DEPOSITS, renamed=_STREAM_RENAMED, position=int, first_position=int
)
WithdrawalRow: Any = row_model(
    "WithdrawalRow", views.WITHDRAWALS, renamed=_STREAM_RENAMED, position=int, first_position=int
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
    first_position=int,
)
DayRow: Any = row_model("TableDayRow", views.TABLE_DAYS, renamed=_RENAMED, hands=int)
RakeRow: Any = row_model("TableRakeRow", views.TABLE_RAKE, renamed=_RENAMED, hands=int)


class BankrollAnswer(Told):
    """What a player has: cash, frozen, pending and in chips, and what he owes."""

    player: str
    purses: list[PurseRow]
    chips: list[ChipsRow]


class BankrollsAnswer(Told):
    """The purses of a page of players."""

    bankrolls: list[PurseRow]
    cursor: str | None


class PlayersAnswer(Told):
    """A page of players, without their names."""

    players: list[PlayerRow]
    cursor: str | None


class DepositsAnswer(Told):
    """A page of deposits."""

    deposits: list[DepositRow]
    cursor: str | None


class WithdrawalsAnswer(Told):
    """A page of withdrawals."""

    withdrawals: list[WithdrawalRow]
    cursor: str | None


class TablesAnswer(Told):
    """A page of tables."""

    tables: list[TableRow]
    cursor: str | None


class DaysAnswer(Answer):
    """What was played and earned at a table, by day."""

    days: list[DayRow]
    rake_by_partner: list[RakeRow]


@router.get("/players/{player}/bankroll", response_model=BankrollAnswer, summary="A player's money")
def get_bankroll(request: Request, player: Player, caller: Balances, asked: AsOfAsked) -> Response:
    """Tell what a player has and owes, by the postings. The read is recorded."""
    partner_of(edge_of(request), caller, player)
    subject = player_stream(caller.network, player)
    with recording(request, caller, "bankroll", subject), reading(request, asked) as read:
        found = bankrolls.one(read.at, network=caller.network, player=UUID(player), known=read.past)
    return respond(
        {
            "player": player,
            "purses": [_purse(caller, read.known, row) for row in found.purses],
            "chips": [_chips(caller, read.known, row) for row in found.chips],
            **read.told(),
        }
    )


@router.get(
    "/bankrolls", response_model=BankrollsAnswer, responses=csv.DOCUMENTED, summary="Bankrolls"
)
def list_bankrolls(
    request: Request,
    caller: Balances,
    paging: Paged,
    asked: AsOfAsked,
    partner: OfPartner = None,
) -> Response:
    """List what players have and owe, in the order of their ids. The read is recorded."""
    partner = _own_partner(caller, partner)
    subject = stream("bankrolls", caller.network, partner or "all")
    find = partial(bankrolls.page, network=caller.network, partner=partner)
    show = listing.each(partial(_purse, caller))
    with recording(request, caller, "bankrolls", subject):
        return listing.answer(
            request, paging, asked, name="bankrolls", model=PurseRow, find=find, show=show
        )


@router.get(
    "/player-register",
    response_model=PlayersAnswer,
    responses=csv.DOCUMENTED,
    summary="The register of players",
)
def list_players(
    request: Request,
    caller: Players,
    paging: Paged,
    asked: StateAsOf,
    *,
    partner: OfPartner = None,
    status: Literal["active", "suspended", "closed"] | None = None,
) -> Response:
    """List players in the order of their ids, without their names. The read is recorded.

    As of an instant a page may be short, the cursor leads on.
    """
    partner = _own_partner(caller, partner)
    subject = stream("players", caller.network, partner or "all")
    find = partial(players.page, network=caller.network, partner=partner, status=status)
    show = listing.each(partial(_player, caller))
    with recording(request, caller, "players", subject):
        return listing.answer(
            request, paging, asked, name="players", model=PlayerRow, find=find, show=show
        )


@router.get(
    "/deposits", response_model=DepositsAnswer, responses=csv.DOCUMENTED, summary="Deposits"
)
def list_deposits(
    request: Request,
    caller: Players,
    paging: Paged,
    asked: StateAsOf,
    *,
    player: OfPlayer = None,
    status: Literal["announced", "confirmed", "failed", "charged-back"] | None = None,
) -> Response:
    """List deposits in the order of their ids. A partner names one of its players."""
    of = _of_player(request, caller, player)
    subject = _subject(caller, "deposits", player)
    find = partial(payments.deposits, network=caller.network, player=of, status=status)
    show = listing.each(partial(_payment, caller, "deposit"))
    with recording(request, caller, "deposits", subject):
        return listing.answer(
            request, paging, asked, name="deposits", model=DepositRow, find=find, show=show
        )


@router.get(
    "/withdrawals",
    response_model=WithdrawalsAnswer,
    responses=csv.DOCUMENTED,
    summary="Withdrawals",
)
def list_withdrawals(
    request: Request,
    caller: Players,
    paging: Paged,
    asked: StateAsOf,
    *,
    player: OfPlayer = None,
    status: Literal["requested", "in-review", "released", "paid", "rejected"] | None = None,
) -> Response:
    """List withdrawals in the order of their ids. A partner names one of its players."""
    of = _of_player(request, caller, player)
    subject = _subject(caller, "withdrawals", player)
    find = partial(payments.withdrawals, network=caller.network, player=of, status=status)
    show = listing.each(partial(_payment, caller, "withdrawal"))
    with recording(request, caller, "withdrawals", subject):
        return listing.answer(
            request, paging, asked, name="withdrawals", model=WithdrawalRow, find=find, show=show
        )


@router.get("/tables", response_model=TablesAnswer, responses=csv.DOCUMENTED, summary="Tables")
def list_tables(
    request: Request,
    caller: Tables,
    paging: Paged,
    asked: StateAsOf,
    status: Literal["open", "closed"] | None = None,
) -> Response:
    """List cash tables in the order of their ids.

    As of an instant a page may be short, the cursor leads on.
    """

    find = partial(tables.page, network=caller.network, status=status)
    show = partial(_tables, request, caller)
    return listing.answer(
        request, paging, asked, name="tables", model=TableRow, find=find, show=show
    )


@router.get(
    "/tables/{table}/days",
    response_model=DaysAnswer,
    responses=csv.DOCUMENTED,
    summary="A table's days",
    dependencies=[NotAsOf],
)
def get_table_days(
    request: Request,
    table: TablePath,
    caller: Balances,
    first: Annotated[date, Query(examples=["2013-05-01"])],
    last: Annotated[date, Query(examples=["2013-05-31"])],
) -> Response:
    """Tell hands, rake and jackpot contribution by day (UTC), and the rake by partner.

    A partner is told its own rake alone. CSV has the days, or a partner's rake. The days are those
    when the hands were played; what was recorded of them by an earlier instant is not kept.
    """
    if not 0 <= (last - first).days < LONGEST_DAYS:
        raise Problem(
            "invalid-value",
            f"the last day follows the first by at most {LONGEST_DAYS}",
            field="last",
        )
    with reading(request, Asked()) as read:
        at = read.at
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
    known = read.known
    days = found.days if caller.partner is None else []
    parts = {
        "days": [shown(row, renamed=_RENAMED, links=_day(caller, known, row)) for row in days],
        "rake_by_partner": [
            shown(row, renamed=_RENAMED, links=_day(caller, known, row))
            for row in found.rake_by_partner
        ],
    }
    name, model = ("days", DayRow) if caller.partner is None else ("rake_by_partner", RakeRow)
    return listing.answer_all(request, name, model, parts, read)


# -- rows ----------------------------------------------------------------------------------------


def _purse(caller: Caller, known: Known, row: Row) -> dict[str, Any]:
    """Show a purse; each figure leads to its entries."""
    player, currency = str(row["player"]), row["currency"]
    components = {
        "cash": "bankroll",
        "frozen": "frozen",
        "pending": "withdrawal",
        "chips": "chips",
        "debt": "debt",
    }
    figures = {
        figure: known.entries(player=player, component=component, currency=currency)
        for figure, component in components.items()
    }
    found = links.allowed(
        caller,
        player=links.player(player),
        statement=known.statement_of_player(player),
        **figures,
    )
    return shown(row, links=found)


def _chips(caller: Caller, known: Known, row: Row) -> dict[str, Any]:
    of = {"player": row["player"], "table": row["table_id"], "currency": row["currency"]}
    found = links.allowed(caller, entries=known.entries(**of), table=links.table(row["table_id"]))
    return shown(row, without=_OF_PURSE, renamed=_RENAMED, links=found)


def _player(caller: Caller, known: Known, row: Row) -> dict[str, Any]:
    player = str(row["player"])
    found = links.allowed(
        caller,
        player=links.player(player),
        bankroll=links.bankroll(player),
        statement=known.statement_of_player(player),
        entries=known.entries(player=player),
        last_event=links.event(row["position"]),
    )
    return shown(row, renamed=_STREAM_RENAMED, links=found)


def _payment(caller: Caller, what: str, known: Known, row: Row) -> dict[str, Any]:
    player = str(row["player"])
    itself = {what: links.payment(f"{what}s", row[what])}
    found = links.allowed(
        caller,
        **itself,
        player=links.player(player),
        statement=known.statement_of_player(player),
        last_event=links.event(row["position"]),
    )
    return shown(row, renamed=_STREAM_RENAMED, links=found)


def _tables(
    request: Request, caller: Caller, read: Reading, found: Sequence[Row]
) -> list[dict[str, Any]]:
    with edge_of(request).reads.snapshot() as connection:
        last = [row["last_hand"] for row in found]
        booked = booked_hands(connection, caller.network, last)
    return [_table(caller, booked, read.known, row) for row in found]


def _table(caller: Caller, booked: Container[str], known: Known, row: Row) -> dict[str, Any]:
    found = links.allowed(
        caller,
        table=links.table(row["table_id"]),
        hands=links.hands_of(row["table_id"]),
        last_hand=links.last_hand(row["last_hand"], booked),
        statement=known.statement("tables", row["table_id"]),
        entries=known.entries(table=row["table_id"]),
        last_event=links.event(row["position"]),
    )
    return shown(row, without=_SEATS, renamed=_TABLE_RENAMED, links=found)


def _day(caller: Caller, known: Known, row: Row) -> Links:
    """Lead to the day's rake: out of the table's pot, where its entries name the table."""
    midnight = datetime.combine(row["occurred_day"], datetime.min.time(), UTC)
    until = midnight + timedelta(days=1) if row["occurred_day"] < date.max else None
    return links.allowed(
        caller,
        rake=known.entries(
            table=row["table_id"],
            currency=row["currency"],
            event="hand.raked.v1",
            occurred_from=midnight,
            occurred_before=until,
        ),
        table=links.table(row["table_id"]),
    )


# -- who asks for whom ---------------------------------------------------------------------------


def _own_partner(caller: Caller, partner: str | None) -> str | None:
    """Return the partner whose list it is: a partner's own, whatever it names."""
    if caller.partner is None:
        return partner
    caller.require_own_partner(partner or caller.partner)
    return caller.partner


def _of_player(request: Request, caller: Caller, player: str | None) -> UUID | None:
    """Return the player whose list it is; a partner has to name one of its own."""
    if caller.partner is not None:
        if player is None:
            raise Problem("missing-field", "a partner names one of its players", field="player")
        partner_of(edge_of(request), caller, player)
    return UUID(player) if player is not None else None


def _subject(caller: Caller, what: str, player: str | None) -> str:
    if player is not None:
        return player_stream(caller.network, player)
    return stream(what, caller.network, "all")
