"""Statements: what accounts held, every line that changed it, and what they held at the end."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Annotated, Any, Final, NamedTuple
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api import csv, links
from api.as_of import Asked, AsOfAsked, At, Instant, Reading, Told, reading
from api.auth import Caller, needs
from api.edge import LedgerRoute, Slug, edge_of, recording, respond
from api.entries import RENAMED, EntryRow, entry, player_of_account
from api.links import LINKS, Known
from api.players import Player, partner_of
from api.positions import Paged, Paging, Reached
from api.problems import Problem
from api.rows import shown
from api.tables import TablePath, id_of
from api.tokens import Scope
from ledger.core import stream
from ledger.players.events import player_stream
from ledger.tables.commands import UnknownTable
from ledger.tables.events import table_stream
from projections.queries import statements
from projections.queries.statements import Period, Statement, Subject
from projections.reading import Row

router = APIRouter(
    prefix="/v1/statements", tags=["books"], route_class=LedgerRoute, dependencies=[Reached]
)

Auditing = Annotated[Caller, needs(Scope.BOOKS_READ)]
Balances = Annotated[Caller, needs(Scope.BALANCES_READ)]

AMOUNTS: Final = ("opening_minor", "lines", "debit_minor", "credit_minor", "closing_minor")
_OF_ACCOUNT: Final = ("code", "currency", "network", "component", "partner", "player", "table_id")
_KINDS: Final = ("position", "recorded", "occurred")
_SHOWN: Final = ("code", "currency", "component", "partner", *AMOUNTS)


class AccountRow(BaseModel):
    """What one account held when the period began, and when it ended."""

    model_config = ConfigDict(extra="forbid")

    account: str
    currency: str
    component: str
    partner: str | None
    opening_minor: int = Field(description="Above zero on the account's own side, as all balances.")
    opening: str
    lines: int | None = Field(
        description="Lines of the period; null, like their sums, when they are too many to be "
        "summed for the first page."
    )
    debit_minor: int | None
    debit: str | None = None
    credit_minor: int | None
    credit: str | None = None
    closing_minor: int
    closing: str
    links: dict[str, str] = Field(default={}, description=LINKS)


class TotalsRow(BaseModel):
    """What the lines of all pages add up to, in one currency."""

    model_config = ConfigDict(extra="forbid")

    currency: str
    lines: int
    debit_minor: int
    debit: str
    credit_minor: int
    credit: str


class PeriodAnswer(BaseModel):
    """The period as it was understood."""

    model_config = ConfigDict(extra="forbid")

    opens_after: int = Field(description="Last position that the opening balances include.")
    closes_at: int = Field(description="Last position that the closing balances include.")
    occurred_from: str | None
    occurred_before: str | None


class StatementAnswer(Told):
    """A page of a statement, the oldest lines first; a page may be short, the cursor leads on."""

    period: PeriodAnswer
    accounts: list[AccountRow] | None = Field(description="On the first page; null on the others.")
    lines: list[EntryRow] = Field(
        description="Their balances run on from the opening ones, across pages."
    )
    totals: list[TotalsRow] | None = Field(description="On the last page; null on the others.")
    cursor: str | None


class StatementRow(EntryRow):
    """A record of a statement as CSV."""

    row: str = Field(description="opening, line or closing.")


_COLUMNS: Final = ("row", *(name for name in csv.columns_of(StatementRow) if name != "row"))


async def _period(
    *,
    position_from: At = None,
    position_before: At = None,
    recorded_from: Instant = None,
    recorded_before: Instant = None,
    occurred_from: Instant = None,
    occurred_before: Instant = None,
) -> Period:
    period = Period(
        position_from,
        position_before,
        recorded_from,
        recorded_before,
        occurred_from,
        occurred_before,
    )
    kinds = set()
    for kind in _KINDS:
        begins, ends = getattr(period, f"{kind}_from"), getattr(period, f"{kind}_before")
        if begins is not None or ends is not None:
            kinds.add(kind)
        if begins is not None and ends is not None and ends < begins:
            raise Problem("invalid-value", "it ends before it begins", field=f"{kind}_before")
    if len(kinds) > 1:
        raise Problem(
            "invalid-value",
            "a period is by position, by recorded time or by occurred time",
            field=f"{sorted(kinds)[0]}_from",
        )
    return period


class Asking(NamedTuple):
    """Which lines of a statement, how many of them, and as of when."""

    paging: Paging
    period: Period
    as_of: Asked


async def _asking(
    paging: Paged, period: Annotated[Period, Depends(_period)], as_of: AsOfAsked
) -> Asking:
    if as_of.occurred_at is not None:
        raise Problem(
            "as-of-not-kept",
            "a statement ends before an instant by occurred_before",
            field="occurred_at",
        )
    return Asking(paging, period, as_of)


Asks = Annotated[Asking, Depends(_asking)]


@router.get(
    "/players/{player}",
    response_model=StatementAnswer,
    responses=csv.DOCUMENTED,
    summary="A player's statement",
)
def get_statement_of_player(
    request: Request, player: Player, caller: Balances, asking: Asks
) -> Response:
    """Tell what a player had, every line of his accounts, and what he has then.

    A period ends before its end; without one it is everything. `position` or `recorded_at` say
    what was known when the statement is made. Late lines stand in the order in which they were
    recorded. The cursor pins the position. CSV has the opening balances, all lines, and the
    closing balances with the sums. The read is recorded.
    """
    partner_of(edge_of(request), caller, player)
    subject = Subject(caller.network, player=UUID(player))
    return _answer(request, caller, asking, subject, player_stream(caller.network, player))


@router.get(
    "/partners/{partner}",
    response_model=StatementAnswer,
    responses=csv.DOCUMENTED,
    summary="A partner's statement",
)
def get_statement_of_partner(
    request: Request,
    partner: Annotated[Slug, Path(examples=["kerching"])],
    caller: Balances,
    asking: Asks,
) -> Response:
    """Tell what a partner earned and was paid: the accounts that are its own, not its players'."""
    caller.require_own_partner(partner)
    subject = Subject(caller.network, partner=partner)
    return _answer(request, caller, asking, subject, stream("partner", caller.network, partner))


@router.get(
    "/tables/{table}",
    response_model=StatementAnswer,
    responses=csv.DOCUMENTED,
    summary="A table's statement",
)
def get_statement_of_table(
    request: Request, table: TablePath, caller: Auditing, asking: Asks
) -> Response:
    """Tell the chips of each player at a table, its pot, and every line that moved them."""
    _require_staff(caller)
    of = table_stream(caller.network, id_of(table))
    if edge_of(request).reads.first(of) is None:
        raise UnknownTable("No such table.", field="table")
    return _answer(request, caller, asking, Subject(caller.network, table_id=id_of(table)), of)


@router.get(
    "/providers/{provider}",
    response_model=StatementAnswer,
    responses=csv.DOCUMENTED,
    summary="A payment provider's statement",
)
def get_statement_of_provider(
    request: Request,
    provider: Annotated[Slug, Path(examples=["cardpay"])],
    caller: Auditing,
    asking: Asks,
) -> Response:
    """Tell what is in transit with a payment provider, and what it kept."""
    _require_staff(caller)
    subject = Subject(caller.network, provider=provider)
    return _answer(request, caller, asking, subject, stream("provider", caller.network, provider))


@router.get(
    "/accounts/{account}",
    response_model=StatementAnswer,
    responses=csv.DOCUMENTED,
    summary="An account's statement",
)
def get_statement_of_account(
    request: Request,
    account: Annotated[
        str,
        Path(
            max_length=500,
            examples=["transit:entraction:cardpay"],
            description="The code of an account: of the house, as `/v1/accounts` lists them, "
            "or any other.",
        ),
    ],
    caller: Auditing,
    asking: Asks,
) -> Response:
    """Tell what one account held, every line of it, and what it holds then."""
    _require_staff(caller)
    subject = Subject(caller.network, account=account)
    return _answer(request, caller, asking, subject, _whose(caller, account))


def _require_staff(caller: Caller) -> None:
    """Raise not-your-partner for a partner's token: these accounts are of several partners."""
    if caller.partner is not None:
        raise Problem("not-your-partner", "the statement is not of one partner alone")


def _whose(caller: Caller, account: str) -> str:
    """Name whom an account's statement is about: its player, or the account itself."""
    player = player_of_account(account)
    if player is not None:
        return player_stream(caller.network, player)
    return stream("account", caller.network, account)


def _answer(
    request: Request, caller: Caller, asking: Asking, subject: Subject, of: str
) -> Response:
    def page(cursor: str | None, limit: int) -> tuple[Statement, Reading]:
        with reading(request, asking.as_of) as read:
            found = statements.page(
                read.at, subject, asking.period, known=read.as_of, limit=limit, cursor=cursor
            )
        if not found.found and (subject.account or subject.provider):
            raise Problem("unknown-account", "nothing has ever been booked there")
        return found, read.at_page(found.position)

    with recording(request, caller, "statement", of):
        if csv.wanted(request):
            csv.whole(request)
            return csv.respond("statement", _COLUMNS, _Sheets(page, caller).page)
        found, read = page(asking.paging.cursor, asking.paging.limit)
    return respond(
        {
            "period": {
                "opens_after": found.opening.position,
                "closes_at": found.closing.position,
                "occurred_from": asking.period.occurred_from,
                "occurred_before": asking.period.occurred_before,
            },
            "accounts": None
            if found.accounts is None
            else [_account(caller, read.known, asking.period, row) for row in found.accounts],
            "lines": [entry(caller, read.known, row) for row in found.lines],
            "totals": None if found.totals is None else [shown(row) for row in found.totals],
            "cursor": found.cursor,
            **read.told(),
        }
    )


def _account(caller: Caller, known: Known, period: Period, row: Row) -> dict[str, Any]:
    code, currency = row["code"], row["currency"]
    found = links.allowed(
        caller,
        entries=known.entries(account=code, currency=currency, **period._asdict()),
        statement=known.statement("accounts", code),
        player=links.player(row["player"]),
        table=links.table(row["table_id"]),
    )
    return shown({name: row[name] for name in _SHOWN}, renamed=RENAMED, links=found)


class _Sheets:
    """A statement as CSV: opening balances, lines page by page, closing balances with the sums."""

    def __init__(
        self, page: Callable[[str | None, int], tuple[Statement, Reading]], caller: Caller
    ) -> None:
        self._page = page
        self._caller = caller
        self._accounts: Sequence[Row] = ()
        self._sums: dict[int, list[int]] = defaultdict(lambda: [0, 0])

    def page(self, cursor: str | None) -> csv.Sheet:
        """Return the records of a page; what it is made of is held no longer than it is sent."""
        found, read = self._page(cursor, csv.PAGE)
        if found.accounts is not None:
            self._accounts = found.accounts
        rows = chain(
            (self._balance("opening", row) for row in found.accounts or ()),
            ({**entry(self._caller, None, row), "row": "line"} for row in found.lines),
            self._closing(found),
        )
        return csv.Sheet(rows, read.as_of.position, found.cursor)

    def _closing(self, found: Statement) -> Iterator[dict[str, Any]]:
        for row in found.lines:
            sums = self._sums[row["account"]]
            sums[0] += row["debit_minor"]
            sums[1] += row["credit_minor"]
        if found.cursor is None:
            for row in self._accounts:
                debit, credit = self._sums[row["account"]]
                summed = {**row, "debit_minor": debit, "credit_minor": credit}
                yield self._balance("closing", summed, "debit_minor", "credit_minor")

    def _balance(self, which: str, row: Row, *amounts: str) -> dict[str, Any]:
        balance = {
            "row": which,
            **{name: row[name] for name in (*_OF_ACCOUNT, *amounts)},
            "balance_minor": row[f"{which}_minor"],
        }
        return shown(balance, renamed=RENAMED)
