"""Players: registration, names, terms, standing, and what an account holds."""

from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field

from api import links
from api.as_of import Asked, StateAsOf, Told, state_of
from api.auth import Caller, needs
from api.edge import (
    Body,
    Done,
    Edge,
    Key,
    LedgerRoute,
    PlayerId,
    Reference,
    Slug,
    Text,
    carry_out,
    common,
    edge_of,
    recording,
    respond,
    worded,
)
from api.links import LINKS, Known
from api.problems import Problem
from api.tokens import Scope
from ledger.identity import ClaimState
from ledger.players.commands import (
    AcceptTerms,
    ChangeNickname,
    ClosePlayer,
    RegisterPlayer,
    ReinstatePlayer,
    SuspendPlayer,
)
from ledger.players.events import PlayerRegistered, PlayerState, player_stream
from ledger.players.standing import UnknownPlayer

router = APIRouter(prefix="/v1/players", tags=["players"], route_class=LedgerRoute)

EXAMPLE = "3b1f6c1e-6d0f-4f0e-9a57-0c5f6f0b7a11"
Nickname = Annotated[str, Field(min_length=1, max_length=64)]
Player = Annotated[PlayerId, Path(examples=[EXAMPLE])]
Registering = Annotated[Caller, needs(Scope.PLAYERS_REGISTER)]
Intervening = Annotated[Caller, needs(Scope.PLAYERS_INTERVENE)]
Reading = Annotated[Caller, needs(Scope.PLAYERS_READ)]


class Registration(Body):
    """A person who wants to play, and what he warrants."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "partner": "kerching",
                    "nickname": "Riverboat",
                    "identity_reference": "kyc-000412",
                    "warranties": {
                        "over_18": True,
                        "full_legal_capacity": True,
                        "not_citizen_of_mt": True,
                        "lawful_jurisdiction": True,
                        "not_employed_by_room": True,
                    },
                }
            ]
        }
    )

    partner: Slug
    nickname: Nickname
    identity_reference: Reference = Field(
        description="Your own identifier of the person; kept as a keyed hash. One active account "
        "per person in the whole network."
    )
    warranties: dict[Annotated[str, Field(max_length=64)], bool] = Field(
        max_length=32, description="What the rulebook asks for, each `true`."
    )
    rulebook: Slug = "entraction"


class Naming(Body):
    """A new nickname."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"nickname": "Steamboat"}]})

    nickname: Nickname


class Acceptance(Body):
    """A version of the terms or the software licence that the player accepted."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"document": "terms", "version": "2013-01", "language": "en"}]
        }
    )

    document: Literal["terms", "licence"]
    version: Annotated[str, Field(min_length=1, max_length=64)]
    language: Annotated[str, Field(pattern="^[A-Za-z]{2,3}$", description="ISO 639.")]


class Suspension(Body):
    """Why a player is suspended from play."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"ground": "collusion", "reason": "Chip dumping reported on 2013-05-01."}]
        }
    )

    ground: Slug
    reason: Text


class Reason(Body):
    """Why."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"reason": "The player asked for it."}]}
    )

    reason: Text


class Registered(Done):
    """A new player."""

    player: str
    partner: str
    status: str
    rulebook: str
    warranted: list[str]


class Standing(Done):
    """How a player stands now."""

    player: str
    status: str


class Accepted(Done):
    """A version that the player accepted."""

    player: str
    document: str
    version: str
    language: str


class Balance(BaseModel):
    """What a player has in one currency: whole minor units, and as people read it."""

    model_config = ConfigDict(extra="forbid")

    currency: str
    bankroll_minor: int
    bankroll: str
    frozen_minor: int
    frozen: str
    withdrawal_minor: int = Field(description="Requested and not yet paid.")
    withdrawal: str
    debt_minor: int = Field(description="What the player owes.")
    debt: str


class SeatTaken(BaseModel):
    """Where a player sits."""

    table: str
    seat: int


class TermsVersion(BaseModel):
    """A version that was accepted."""

    document: str
    version: str
    accepted_at: str


class PlayerAnswer(Told):
    """A player's account as it is now, or was as of the instant that was asked for."""

    player: str
    partner: str
    nickname: str | None = Field(description="The one that he bears now; null when erased.")
    status: Literal["active", "suspended", "closed"]
    rulebook: str
    registered_at: str
    terms: list[TermsVersion]
    balances: list[Balance]
    seats: list[SeatTaken]
    deposits: list[str] = Field(description="Announced, neither confirmed nor failed.")
    withdrawals: list[str] = Field(description="Requested, neither paid nor rejected.")
    inferred: bool = Field(description="Came from imported history.")
    links: dict[str, str] = Field(default={}, description=LINKS)


# -- commands ------------------------------------------------------------------------------------


@router.post("", status_code=201, response_model=Registered, summary="Register a player")
async def register_player(
    request: Request, body: Registration, caller: Registering, key: Key
) -> Response:
    """Open an account under a partner. Source: K 2, 9.1."""
    caller.require_own_partner(body.partner)
    edge = edge_of(request)
    command = RegisterPlayer(
        **common(caller, key),
        player=str(uuid4()),
        partner=body.partner,
        rulebook=body.rulebook,
        nickname=body.nickname,
        nickname_claim=edge.identity.nickname_claim(caller.network, body.nickname),
        person_claim=edge.identity.person_claim(caller.network, body.identity_reference),
        warranties=body.warranties,
        reserved_words=edge.settings.reserved_words,
    )
    return await carry_out(request, caller, command)


@router.post("/{player}/nickname", response_model=Standing, summary="Change a nickname")
async def change_nickname(
    request: Request, player: Player, body: Naming, caller: Registering, key: Key
) -> Response:
    """Give a player another nickname; the old one becomes free. Not while he is seated."""
    await require_own_player(request, caller, player)
    edge = edge_of(request)
    command = ChangeNickname(
        **common(caller, key),
        player=player,
        nickname=body.nickname,
        nickname_claim=edge.identity.nickname_claim(caller.network, body.nickname),
        reserved_words=edge.settings.reserved_words,
    )
    return await carry_out(request, caller, command, status=200)


@router.post(
    "/{player}/terms", status_code=201, response_model=Accepted, summary="Accept a version of terms"
)
async def accept_terms(
    request: Request, player: Player, body: Acceptance, caller: Registering, key: Key
) -> Response:
    """Record what a player accepted, and in which language. Source: K 3.2, 8.5."""
    await require_own_player(request, caller, player)
    command = AcceptTerms(
        **common(caller, key),
        player=player,
        document=body.document,
        version=body.version,
        language=body.language,
    )
    return await carry_out(request, caller, command)


@router.post("/{player}/suspend", response_model=Standing, summary="Suspend a player")
async def suspend_player(
    request: Request, player: Player, body: Suspension, caller: Intervening, key: Key
) -> Response:
    """Keep a player from playing, depositing and withdrawing. Source: K 9.1-2."""
    command = SuspendPlayer(
        **common(caller, key), player=player, ground=body.ground, reason=body.reason
    )
    return await carry_out(request, caller, command, status=200)


@router.post("/{player}/reinstate", response_model=Standing, summary="End a suspension")
async def reinstate_player(
    request: Request, player: Player, body: Reason, caller: Intervening, key: Key
) -> Response:
    """Let a suspended player play again."""
    command = ReinstatePlayer(**common(caller, key), player=player, reason=body.reason)
    return await carry_out(request, caller, command, status=200)


@router.post("/{player}/close", response_model=Standing, summary="Close an account")
async def close_player(
    request: Request, player: Player, body: Reason, caller: Intervening, key: Key
) -> Response:
    """Close an empty account for good; the person may open another one."""
    command = ClosePlayer(**common(caller, key), player=player, reason=body.reason)
    return await carry_out(request, caller, command, status=200)


# -- reads ---------------------------------------------------------------------------------------


@router.get("", response_model=PlayerAnswer, summary="Find a player by nickname")
def find_player(
    request: Request,
    nickname: Annotated[Nickname, Query(examples=["Riverboat"])],
    caller: Reading,
    asked: StateAsOf,
) -> Response:
    """Find who bears a nickname now, or bore it then; letter case does not matter.

    The read is recorded.
    """
    identity = edge_of(request).identity
    claim: ClaimState | None
    claim, _ = state_of(request, identity.nickname_claim(caller.network, nickname), asked)
    if claim is None or claim.holder is None:
        raise UnknownPlayer("Nobody bears this nickname.", field="nickname")
    return _answer_player(request, caller, claim.holder, asked)


@router.get("/{player}", response_model=PlayerAnswer, summary="A player's account")
def get_player(request: Request, player: Player, caller: Reading, asked: StateAsOf) -> Response:
    """Tell how an account stands and what it holds. The read is recorded."""
    return _answer_player(request, caller, player, asked)


def _answer_player(request: Request, caller: Caller, player: str, asked: Asked) -> Response:
    edge = edge_of(request)
    stream = player_stream(caller.network, player)
    player_of(edge, caller, player)
    state: PlayerState | None
    state, told = state_of(request, stream, asked)
    if state is None:
        raise UnknownPlayer("He was not registered yet.", field="player")
    with recording(request, caller, "player", stream), edge.reads.snapshot() as connection:
        row = connection.execute(
            "SELECT nickname FROM vault.names WHERE network = %s AND player_id = %s",
            [caller.network, player],
        ).fetchone()
    known = Known(told["position"])
    found = links.allowed(
        caller,
        bankroll=links.bankroll(player),
        statement=known.statement_of_player(player),
        entries=known.entries(player=player),
    )
    nickname = row[0] if row else None
    return respond({**_account(state), "nickname": nickname, "links": found, **told})


def player_of(edge: Edge, caller: Caller, player: str) -> tuple[PlayerState, int]:
    """Return a player that the caller may see, and a position.

    Raises unknown-player; a partner's token is told the same of another partner's player.
    """
    state: PlayerState | None
    state, position = edge.reads.state(player_stream(caller.network, player))
    _require_seen(caller, None if state is None else state.partner)
    assert state is not None
    return state, position


def partner_of(edge: Edge, caller: Caller, player: str) -> str:
    """Return the partner of a player that the caller may see: he never changes.

    Raises unknown-player; a partner's token is told the same of another partner's player.
    """
    began = edge.reads.first(player_stream(caller.network, player))
    return _require_seen(caller, began.partner if isinstance(began, PlayerRegistered) else None)


def _require_seen(caller: Caller, partner: str | None) -> str:
    """Return a player's partner if the caller may see him; None is that of a player unknown."""
    if partner is not None and caller.sees_partner(partner):
        return partner
    if caller.partner is not None:
        raise Problem("not-your-player", "this partner has no such player", field="player")
    raise UnknownPlayer("No such player.", field="player")


async def require_own_player(request: Request, caller: Caller, player: str) -> None:
    """Raise not-your-player when a partner's token names another partner's player.

    A player never changes his partner: what is read here stays true.
    """
    if caller.partner is not None:
        await run_in_threadpool(partner_of, edge_of(request), caller, player)


def _account(state: PlayerState) -> dict[str, Any]:
    return {
        "player": state.player,
        "partner": state.partner,
        "status": state.status,
        "rulebook": state.rulebook,
        "registered_at": state.registered_at,
        "terms": [
            {"document": document, "version": version, "accepted_at": accepted_at}
            for document, _, version, accepted_at in (
                (*name.partition(" "), at) for name, at in state.terms.items()
            )
        ],
        "balances": [
            worded(
                {
                    "currency": currency,
                    "bankroll_minor": purse.bankroll_minor,
                    "frozen_minor": purse.frozen_minor,
                    "withdrawal_minor": purse.withdrawal_minor,
                    "debt_minor": purse.debt_minor,
                }
            )
            for currency, purse in sorted(state.purses.items())
        ],
        "seats": [{"table": table, "seat": seat} for table, seat in state.seats.items()],
        "deposits": list(state.deposits),
        "withdrawals": list(state.withdrawals),
        "inferred": state.inferred,
    }
