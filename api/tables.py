"""Cash tables: opening and closing, chips, hands that run, and what to do when one was lost."""

from collections.abc import Container
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api import approvals, links, players
from api.as_of import StateAsOf, Told, state_of
from api.auth import Caller, needs
from api.edge import (
    AmountMinor,
    Body,
    Currency,
    Done,
    Key,
    LedgerRoute,
    PlayerId,
    Slug,
    Text,
    carry_out,
    common,
    edge_of,
    respond,
    worded,
)
from api.links import LINKS, Known
from api.reads import Connection, booked_hands
from api.tokens import Scope
from ledger.tables.commands import (
    BeginHand,
    BuyIn,
    CloseTable,
    CrashTable,
    LeaveTable,
    OpenTable,
    ResyncTable,
    TopUp,
    UnknownTable,
)
from ledger.tables.events import TableState, table_id, table_stream

router = APIRouter(prefix="/v1/tables", tags=["tables"], route_class=LedgerRoute)

EXAMPLE = "Etomo"
LONGEST_ID = 64 * 4 * 3
"""Of a name's longest id: every character four bytes, every byte percent-encoded."""

TableName = Annotated[str, Field(min_length=1, max_length=64)]
GameNumber = Annotated[str, Field(min_length=1, max_length=64)]
TablePath = Annotated[
    str,
    Path(
        min_length=1,
        max_length=LONGEST_ID,
        examples=[EXAMPLE],
        description="The table's id: its name, percent-encoded in the path.",
    ),
]
Minor = Annotated[int, Field(ge=0, le=2**53, description="Whole minor units.")]
Seat = Annotated[int, Field(ge=1, le=10)]
Running = Annotated[Caller, needs(Scope.TABLES_RUN)]
Resyncing = Annotated[Caller, needs(Scope.TABLES_RESYNC)]
Reading = Annotated[Caller, needs(Scope.TABLES_READ)]


class TableBody(Body):
    """A cash table's game, limit, stakes and buy-in limits."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "Linnea 3",
                    "rulebook": "entraction",
                    "game": "Holdem",
                    "bet_type": "NL",
                    "currency": "EUR",
                    "size": 6,
                    "small_blind_minor": 25,
                    "big_blind_minor": 50,
                    "min_buy_in_minor": 1000,
                    "max_buy_in_minor": 5000,
                }
            ]
        }
    )

    name: TableName
    rulebook: Slug = "entraction"
    game: Annotated[str, Field(max_length=32, description="As `game_type` of a posted hand.")]
    bet_type: Literal["NL", "PL", "FL", "SL", "HPL"]
    currency: Currency
    size: Annotated[int, Field(ge=2, le=10)]
    small_blind_minor: Minor = 0
    big_blind_minor: Minor = 0
    ante_minor: Minor = 0
    small_bet_minor: Minor | None = None
    big_bet_minor: Minor | None = None
    bring_in_minor: Minor | None = None
    spread_minor: list[Minor] = Field(default_factory=list, max_length=8)
    hole_cards: Annotated[int, Field(ge=2, le=6)] | None = None
    min_buy_in_minor: Minor | None = Field(
        default=None, description="Absent: the rulebook's minimum for these stakes."
    )
    max_buy_in_minor: Minor | None = None
    jackpot: Slug | None = Field(default=None, description="The jackpot that it is played for.")


class BuyInBody(Body):
    """A player who sits down."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"player": players.EXAMPLE, "seat": 4, "currency": "EUR", "amount_minor": 2000}
            ]
        }
    )

    player: PlayerId
    seat: Seat
    currency: Currency
    amount_minor: AmountMinor
    after_game_number: GameNumber | None = Field(
        default=None, description="The hand that this follows; refused until it is booked."
    )


class TopUpBody(Body):
    """A seated player who adds chips."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"player": players.EXAMPLE, "currency": "EUR", "amount_minor": 500}]
        }
    )

    player: PlayerId
    currency: Currency
    amount_minor: AmountMinor
    after_game_number: GameNumber | None = None


class LeaveBody(Body):
    """A player who leaves with his chips."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"player": players.EXAMPLE}]})

    player: PlayerId
    after_game_number: GameNumber | None = None


class CloseBody(Body):
    """How a table is closed."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"cash_out": True}]})

    cash_out: bool = Field(
        default=False, description="Give everybody's chips back first; else nobody may sit there."
    )


class BeginBody(Body):
    """Which seats are in the hand."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"seats": [1, 2]}, {}]})

    seats: list[Seat] = Field(
        default_factory=list, max_length=10, description="Absent or empty: all occupied ones."
    )


class ResyncBody(Body):
    """What the game server has in front of every occupied seat."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "chips_minor": {"1": 2100, "2": 1900},
                    "ground": "technical-failure",
                    "reason": "Hand 8100200 was lost when the game server's disk failed.",
                    "game_number": "8100200",
                }
            ]
        }
    )

    chips_minor: dict[Annotated[str, Field(pattern="^([1-9]|10)$")], Minor] = Field(
        max_length=10, description="Seat -> chips, every occupied seat and no other."
    )
    ground: Slug
    reason: Text
    game_number: GameNumber | None = Field(default=None, description="The lost hand, if known.")


class CrashBody(Body):
    """Why the running hand is cancelled and everybody's chips go back."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"reason": "The game server lost power at 21:14."}]}
    )

    reason: Text
    ground: Slug = "technical-failure"


class TableDone(Done):
    """An open table."""

    table: str
    name: str
    status: str
    rulebook: str
    currency: str
    min_buy_in_minor: int
    min_buy_in: str
    max_buy_in_minor: int | None
    max_buy_in: str | None = None


class SeatDone(Done):
    """A seat after chips were moved."""

    table: str
    seat: int
    player: str
    currency: str
    chips_minor: int
    chips: str
    bankroll_minor: int
    bankroll: str


class SeatLeftDone(SeatDone):
    """A seat that was left."""

    cashed_out_minor: int
    cashed_out: str
    debt_collected_minor: int
    debt_collected: str


class CashedOut(BaseModel):
    """What one player was given back."""

    model_config = ConfigDict(extra="forbid")

    table: str
    seat: int
    player: str
    currency: str
    chips_minor: int
    chips: str
    bankroll_minor: int
    bankroll: str
    cashed_out_minor: int
    cashed_out: str
    debt_collected_minor: int
    debt_collected: str


class ClosedDone(Done):
    """A closed table."""

    table: str
    status: str
    cashed_out: list[CashedOut]


class BegunDone(Done):
    """A hand that runs."""

    table: str
    game_number: str
    status: str
    seats: list[int]


class ResyncDone(Done):
    """What was corrected; the sum stands in suspense until it is cleared."""

    table: str
    currency: str
    difference_minor: dict[str, int]
    suspense_minor: int
    suspense: str


class CrashDone(Done):
    """A table after a crash: open and empty."""

    table: str
    status: str
    cancelled: str | None
    cashed_out: list[CashedOut]


class SeatAnswer(BaseModel):
    """One seat: who sits there and his chips."""

    model_config = ConfigDict(extra="forbid")

    seat: int
    player: str | None = Field(description="Null for another partner's player.")
    name: str | None = Field(description="The nickname; null when masked or erased.")
    partner: str | None
    chips_minor: int
    chips: str


class TableAnswer(Told):
    """A table as it is now, enough for a game server to go on from; or as it was."""

    table: str
    name: str
    status: str
    rulebook: str
    game: str
    bet_type: str
    currency: str
    size: int
    small_blind_minor: int
    small_blind: str
    big_blind_minor: int
    big_blind: str
    ante_minor: int
    ante: str
    small_bet_minor: int | None = Field(description="Lower limit, where the blinds do not say it.")
    small_bet: str | None = None
    big_bet_minor: int | None = Field(description="Upper limit, where the blinds do not say it.")
    big_bet: str | None = None
    bring_in_minor: int | None = Field(description="Null: as the rulebook has it.")
    bring_in: str | None = None
    min_buy_in_minor: int
    min_buy_in: str
    max_buy_in_minor: int | None
    max_buy_in: str | None = None
    jackpot: str | None
    running: str | None = Field(description="Game number of the hand that is being played.")
    last_hand: str | None = Field(
        description="Game number of the last hand: booked, or named as lost by a correction."
    )
    last_started_at: str | None
    hands: int
    seats: list[SeatAnswer]
    links: dict[str, str] = Field(default={}, description=LINKS)


# -- commands ------------------------------------------------------------------------------------


@router.post("", status_code=201, response_model=TableDone, summary="Open a table")
async def open_table(request: Request, body: TableBody, caller: Running, key: Key) -> Response:
    """Open a cash table, or one of that name that was closed. Source: K 10.1.2."""
    fields = body.model_dump()
    command = OpenTable(
        **common(caller, key), **{**fields, "spread_minor": tuple(body.spread_minor)}
    )
    return await carry_out(request, caller, command)


@router.post("/{table}/buy-ins", status_code=201, response_model=SeatDone, summary="Buy in")
async def buy_in(
    request: Request, table: TablePath, body: BuyInBody, caller: Running, key: Key
) -> Response:
    """Seat a player with chips from his bankroll. Source: K 1.11, 10.1.2."""
    await players.require_own_player(request, caller, body.player)
    command = BuyIn(
        **common(caller, key),
        table=id_of(table),
        player=body.player,
        seat=body.seat,
        currency=body.currency,
        amount_minor=body.amount_minor,
        after_game_number=body.after_game_number,
    )
    return await carry_out(request, caller, command)


@router.post("/{table}/top-ups", status_code=201, response_model=SeatDone, summary="Add chips")
async def top_up(
    request: Request, table: TablePath, body: TopUpBody, caller: Running, key: Key
) -> Response:
    """Put more chips in front of a seated player, between hands. Source: K 10.1.2, E."""
    await players.require_own_player(request, caller, body.player)
    command = TopUp(
        **common(caller, key),
        table=id_of(table),
        player=body.player,
        currency=body.currency,
        amount_minor=body.amount_minor,
        after_game_number=body.after_game_number,
    )
    return await carry_out(request, caller, command)


@router.post("/{table}/leave", response_model=SeatLeftDone, summary="Leave a table")
async def leave(
    request: Request, table: TablePath, body: LeaveBody, caller: Running, key: Key
) -> Response:
    """Give all chips of a seat back to the bankroll. Source: K 1.11."""
    await players.require_own_player(request, caller, body.player)
    command = LeaveTable(
        **common(caller, key),
        table=id_of(table),
        player=body.player,
        after_game_number=body.after_game_number,
    )
    return await carry_out(request, caller, command, status=200)


@router.post("/{table}/close", response_model=ClosedDone, summary="Close a table")
async def close(
    request: Request, table: TablePath, body: CloseBody, caller: Running, key: Key
) -> Response:
    """Close a table; its name may be opened again."""
    command = CloseTable(**common(caller, key), table=id_of(table), cash_out=body.cash_out)
    return await carry_out(request, caller, command, status=200)


@router.post(
    "/{table}/hands/{game_number}/begin",
    status_code=201,
    response_model=BegunDone,
    summary="Say that a hand is being played",
)
async def begin_hand(
    *,
    request: Request,
    table: TablePath,
    game_number: Annotated[GameNumber, Path(examples=["8100301"])],
    body: BeginBody,
    caller: Running,
    key: Key,
) -> Response:
    """Hold the chips of its seats until the hand is booked. Optional: see the posting of hands."""
    command = BeginHand(
        **common(caller, key),
        table=id_of(table),
        game_number=game_number,
        seats=tuple(body.seats),
    )
    return await carry_out(request, caller, command)


@router.post(
    "/{table}/resync",
    response_model=ResyncDone,
    responses=approvals.AWAITED,
    summary="Correct a table's chips",
)
async def resync(
    request: Request, table: TablePath, body: ResyncBody, caller: Resyncing, key: Key
) -> Response:
    """Set every seat's chips to what the game server has, because a hand was lost.

    The differences are booked to suspense, for the treasurer to clear. From the threshold of the
    rulebook on a second person must agree first: what counts is the money that players are given
    or that is taken from them, whichever is more. When chips have moved before he does, ask again.
    """
    command = ResyncTable(
        **common(caller, key),
        table=id_of(table),
        chips_minor={int(seat): chips for seat, chips in body.chips_minor.items()},
        ground=body.ground,
        reason=body.reason,
        game_number=body.game_number,
    )
    return await approvals.submit_or_ask(request, caller, command, status=200)


@router.post("/{table}/crash", response_model=CrashDone, summary="Book a server crash")
async def crash(
    request: Request, table: TablePath, body: CrashBody, caller: Running, key: Key
) -> Response:
    """Cancel the running hand and give all chips back to the accounts. Source: K 10.1.7."""
    command = CrashTable(
        **common(caller, key), table=id_of(table), reason=body.reason, ground=body.ground
    )
    return await carry_out(request, caller, command, status=200)


# -- reads ---------------------------------------------------------------------------------------


@router.get("/{table}", response_model=TableAnswer, summary="A table as it is now")
def get_table(request: Request, table: TablePath, caller: Reading, asked: StateAsOf) -> Response:
    """Tell seats, chips and the last booked hand, up to the last commit or as of an instant.

    A game server that lost its state goes on from here. To a partner the players of others
    are shown by their chips alone.
    """
    state: TableState | None
    state, told = state_of(request, table_stream(caller.network, id_of(table)), asked)
    if state is None:
        raise UnknownTable("No such table.", field="table")
    with edge_of(request).reads.snapshot() as connection:
        names = _names(connection, caller, state)
        booked = booked_hands(connection, caller.network, [state.last_hand])
    found = _links(caller, state, booked, Known(told["position"]))
    return respond({**worded(_table(state, caller, names)), "links": found, **told})


def _links(caller: Caller, state: TableState, booked: Container[str], known: Known) -> links.Links:
    return links.allowed(
        caller,
        hands=links.hands_of(state.table_id),
        last_hand=links.last_hand(state.last_hand, booked),
        statement=known.statement("tables", state.table_id),
        entries=known.entries(table=state.table_id),
    )


def _names(connection: Connection, caller: Caller, state: TableState) -> dict[str, str]:
    seated = [seat.player for seat in state.seats.values() if caller.sees_partner(seat.partner)]
    rows = connection.execute(
        "SELECT player_id::text, nickname FROM vault.names"
        " WHERE network = %s AND player_id = ANY(%s::uuid[])",
        [caller.network, seated],
    ).fetchall()
    return dict(rows)


def _table(state: TableState, caller: Caller, names: dict[str, str]) -> dict[str, Any]:
    seats = []
    for number, seat in state.seats.items():
        shown = caller.sees_partner(seat.partner)
        seats.append(
            {
                "seat": number,
                "player": seat.player if shown else None,
                "name": names.get(seat.player) if shown else None,
                "partner": seat.partner if shown else None,
                "chips_minor": seat.chips_minor,
            }
        )
    return {
        "table": state.table_id,
        "name": state.name,
        "status": state.status,
        "rulebook": state.rulebook,
        "game": state.game,
        "bet_type": state.bet_type,
        "currency": state.currency,
        "size": state.size,
        "small_blind_minor": state.small_blind_minor,
        "big_blind_minor": state.big_blind_minor,
        "ante_minor": state.ante_minor,
        "small_bet_minor": state.small_bet_minor,
        "big_bet_minor": state.big_bet_minor,
        "bring_in_minor": state.bring_in_minor,
        "min_buy_in_minor": state.min_buy_in_minor,
        "max_buy_in_minor": state.max_buy_in_minor,
        "jackpot": state.jackpot,
        "running": state.running,
        "last_hand": state.last_hand,
        "last_started_at": state.last_started_at,
        "hands": state.hands,
        "seats": seats,
    }


def id_of(table: str) -> str:
    """Return the id of the table of a path, which names it by its id or by its plain name.

    What can be an id is one: the table named ``%2F`` is found by its id, ``%252F``.
    """
    return table if table_id(unquote(table)) == table else table_id(table)
