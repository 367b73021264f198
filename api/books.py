"""The books: what is owed and what covers it, every entry, every balance, every finding."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from api.auth import Caller, Scope, needs
from api.clock import now
from api.edge import Answer, LedgerRoute, PlayerId, edge_of, respond
from api.positions import Paged, Reached
from api.rows import row_model, shown
from api.tables import LONGEST_ID, id_of
from ledger import accounts
from ledger.core import stream
from ledger.hands.events import hand_stream
from ledger.players.events import player_stream
from projections import views
from projections.queries import client_funds, entries, findings, jackpots, trial_balance

router = APIRouter(prefix="/v1", tags=["books"], route_class=LedgerRoute, dependencies=[Reached])

Auditing = Annotated[Caller, needs(Scope.BOOKS_READ)]
Balances = Annotated[Caller, needs(Scope.BALANCES_READ)]
Findings = Annotated[Caller, needs(Scope.FINDINGS_READ)]
Name = Annotated[str | None, Query(max_length=64)]
TableName = Annotated[str | None, Query(max_length=LONGEST_ID)]
At = Annotated[int | None, Query(ge=0, le=2**63 - 1)]


def _in_utc(instant: datetime) -> datetime:
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise ValueError("not between the years 1 and 9999 in UTC") from None


Instant = Annotated[Annotated[AwareDatetime, AfterValidator(_in_utc)] | None, Query()]

_RENAMED = {"code": "account", "table_id": "table"}
_INTERNAL = ("account", "kind")

FundsRow: Any = row_model("ClientFundsRow", views.CLIENT_FUNDS)
BalanceRow: Any = row_model("TrialBalanceRow", views.TRIAL_BALANCE)
JackpotRow: Any = row_model("JackpotRow", views.JACKPOTS)
EntryRow: Any = row_model(
    "EntryRow",
    views.ENTRIES,
    without=("kind",),
    renamed=_RENAMED,
    position=int,
    line=int,
    partner=str | None,
    player=str | None,
    table_id=str | None,
)
FindingRow: Any = row_model(
    "FindingRow",
    views.FINDINGS,
    renamed={"table_id": "table", "place": "where"},
    position=int,
    expected=Any,
    posted=Any,
)


class FundsRowCovered(FundsRow):  # type: ignore[misc]
    """Client funds of one currency, and how far they are covered."""

    coverage_bps: int | None = Field(
        description="Assets per liability in 1/10000, rounded down; null when nothing is owed."
    )


class PartnerRow(BaseModel):
    """What is owed to the players of one partner, by component."""

    model_config = ConfigDict(extra="forbid")

    partner: str | None
    component: str
    currency: str
    balance_minor: int
    balance: str


class ClientFundsAnswer(Answer):
    """What is owed to players and what covers it."""

    currencies: list[FundsRowCovered]
    partners: list[PartnerRow]


class TotalRow(BaseModel):
    """What all components of a currency add up to."""

    model_config = ConfigDict(extra="forbid")

    network: str
    currency: str
    debit_minor: int
    debit: str
    credit_minor: int
    credit: str
    difference_minor: int = Field(description="0 in sound books.")
    difference: str


class TrialBalanceAnswer(Answer):
    """Debits and credits of every component; equal in each currency."""

    components: list[BalanceRow]
    totals: list[TotalRow]


class HouseAccount(BaseModel):
    """An account that is no player's and no table's."""

    model_config = ConfigDict(extra="forbid")

    account: str
    currency: str
    component: str
    side: str
    balance_minor: int = Field(description="Above zero on the account's own side.")
    balance: str


class AccountsAnswer(Answer):
    """The accounts of the house."""

    accounts: list[HouseAccount]


class JackpotsAnswer(Answer):
    """What each jackpot's pool holds."""

    jackpots: list[JackpotRow]


class EntriesAnswer(Answer):
    """A page of entries; a page may be short, the cursor leads on."""

    entries: list[EntryRow]
    cursor: str | None


class FindingsAnswer(Answer):
    """A page of open findings, the oldest first."""

    findings: list[FindingRow]
    cursor: str | None


@router.get(
    "/client-funds",
    response_model=ClientFundsAnswer,
    summary="Player funds and their coverage",
)
def get_client_funds(request: Request, caller: Auditing) -> Response:
    """Tell the whole liability to players by component, and what covers it. Source: K 1.8, 5.1."""
    with edge_of(request).reads.book() as at:
        currencies = client_funds.by_currency(at, network=caller.network)
        partners = client_funds.by_partner(at, network=caller.network, partner=caller.partner)
    return respond(
        {
            "currencies": [shown(row) for row in currencies],
            "partners": [shown(row) for row in partners],
            "position": at.position,
        }
    )


@router.get("/trial-balance", response_model=TrialBalanceAnswer, summary="The trial balance")
def get_trial_balance(request: Request, caller: Auditing) -> Response:
    """Tell debits and credits of every component."""
    with edge_of(request).reads.book() as at:
        balance = trial_balance.balance(at, network=caller.network)
    return respond(
        {
            "components": [shown(row) for row in balance.components],
            "totals": [shown(row) for row in balance.totals],
            "position": at.position,
        }
    )


@router.get("/accounts", response_model=AccountsAnswer, summary="The accounts of the house")
def list_accounts(request: Request, caller: Auditing) -> Response:
    """Tell what bank, transit, rake, jackpots, suspense and the like hold."""
    with edge_of(request).reads.book() as at:
        found = trial_balance.house_accounts(at, network=caller.network)
    listed = [shown(row, renamed=_RENAMED) for row in found]
    return respond({"accounts": listed, "position": at.position})


@router.get("/jackpots", response_model=JackpotsAnswer, summary="The jackpots")
def list_jackpots(request: Request, caller: Balances) -> Response:
    """Tell what each pool owes to players. Source: D."""
    with edge_of(request).reads.book() as at:
        found = jackpots.pools(at, network=caller.network)
    return respond({"jackpots": [shown(row) for row in found], "position": at.position})


@router.get("/entries", response_model=EntriesAnswer, summary="Entries")
def list_entries(
    request: Request,
    caller: Auditing,
    paging: Paged,
    *,
    account: Annotated[
        str | None, Query(max_length=500, description="Account code, `component:network:…`.")
    ] = None,
    currency: Annotated[str | None, Query(pattern="^[A-Z]{3}$")] = None,
    component: Name = None,
    partner: Name = None,
    player: Annotated[PlayerId | None, Query()] = None,
    table: TableName = None,
    hand: Annotated[str | None, Query(max_length=128, description="A game number.")] = None,
    request_id: Annotated[
        str | None, Query(max_length=128, description="The Idempotency-Key of a request.")
    ] = None,
    event: Annotated[str | None, Query(max_length=64, examples=["hand.raked.v1"])] = None,
    position_from: At = None,
    position_before: At = None,
    occurred_from: Instant = None,
    occurred_before: Instant = None,
    order: Literal["newest-first", "oldest-first"] = "newest-first",
) -> Response:
    """List every line of every event that moved money.

    Instants carry a zone (`2013-05-01T00:00:00Z`, `…%2B02:00`); ranges end before their end.
    The cursor pins the position of the first page. The read is recorded.
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
        position_from=position_from,
        position_before=position_before,
        occurred_from=occurred_from,
        occurred_before=occurred_before,
    )
    reads = edge_of(request).reads
    with reads.book() as at:
        page = entries.page(
            at,
            filters,
            limit=paging.limit,
            cursor=paging.cursor,
            newest_first=order == "newest-first",
        )
    subject = _subject(caller, player, account)
    reads.record(caller, "entries", subject, request.scope["request_id"], now())
    listed = [shown(row, without=_INTERNAL, renamed=_RENAMED) for row in page.rows]
    return respond({"entries": listed, "cursor": page.cursor, "position": page.position})


def _subject(caller: Caller, player: str | None, account: str | None) -> str:
    """Name whom a list of entries is about: the player if it is one's, else the network."""
    if player is None and account is not None and account.count(":") >= 2:
        parsed = accounts.parse(account)
        player = parsed.player if parsed.parts else None
    if player is not None:
        return player_stream(caller.network, player)
    return stream("entries", caller.network, "all")


@router.get("/findings", response_model=FindingsAnswer, summary="Open findings")
def list_findings(
    request: Request,
    caller: Findings,
    paging: Paged,
    table: TableName = None,
    *,
    hand: Annotated[str | None, Query(max_length=128, description="A game number.")] = None,
    code: Name = None,
) -> Response:
    """List what was found wrong with booked hands and is not resolved."""
    with edge_of(request).reads.book() as at:
        page = findings.page(
            at,
            network=caller.network,
            table_id=id_of(table) if table is not None else None,
            game_number=hand,
            code=code,
            limit=paging.limit,
            cursor=paging.cursor,
        )
    renamed = {"table_id": "table", "place": "where"}
    listed = [shown(row, renamed=renamed) for row in page.rows]
    return respond({"findings": listed, "cursor": page.cursor, "position": page.position})
