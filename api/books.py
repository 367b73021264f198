"""The books: what is owed and what covers it, and every balance."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api import csv, links, listing
from api.as_of import AsOfAsked, Told, reading
from api.auth import Caller, needs
from api.edge import LedgerRoute
from api.links import LINKS, Known, Links
from api.positions import Reached
from api.rows import row_model, shown
from api.tokens import Scope
from projections import views
from projections.queries import client_funds, trial_balance
from projections.reading import Row

router = APIRouter(prefix="/v1", tags=["books"], route_class=LedgerRoute, dependencies=[Reached])

Auditing = Annotated[Caller, needs(Scope.BOOKS_READ)]
Balances = Annotated[Caller, needs(Scope.BALANCES_READ)]

_RENAMED = {"code": "account", "table_id": "table"}

FundsRow: Any = row_model("ClientFundsRow", views.CLIENT_FUNDS)
BalanceRow: Any = row_model("TrialBalanceRow", views.TRIAL_BALANCE)

_FIGURES: Final = ("bankroll", "frozen", "withdrawal", "chips", "pot", "jackpot", "bank", "transit")
"""Figures of client funds that are components of the same name; debt is one as well."""


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
    links: dict[str, str] = Field(default={}, description=LINKS)


class ClientFundsAnswer(Told):
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
    links: dict[str, str] = Field(default={}, description=LINKS)


class TrialBalanceAnswer(Told):
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
    links: dict[str, str] = Field(default={}, description=LINKS)


class AccountsAnswer(Told):
    """The accounts of the house."""

    accounts: list[HouseAccount]


@router.get(
    "/client-funds",
    response_model=ClientFundsAnswer,
    responses=csv.DOCUMENTED,
    summary="Player funds and their coverage",
)
def get_client_funds(request: Request, caller: Auditing, asked: AsOfAsked) -> Response:
    """Tell the whole liability to players by component, and what covers it. Source: K 1.8, 5.1.

    CSV has the currencies.
    """
    with reading(request, asked) as read:
        currencies = client_funds.by_currency(read.at, network=caller.network, known=read.past)
        partners = client_funds.by_partner(
            read.at, network=caller.network, partner=caller.partner, known=read.past
        )
    known = read.known
    parts = {
        "currencies": [shown(row, links=_funds(caller, known, row)) for row in currencies],
        "partners": [shown(row, links=_component(caller, known, row)) for row in partners],
    }
    return listing.answer_all(request, "currencies", FundsRowCovered, parts, read)


@router.get(
    "/trial-balance",
    response_model=TrialBalanceAnswer,
    responses=csv.DOCUMENTED,
    summary="The trial balance",
)
def get_trial_balance(request: Request, caller: Auditing, asked: AsOfAsked) -> Response:
    """Tell debits and credits of every component. CSV has the components."""
    with reading(request, asked) as read:
        balance = trial_balance.balance(read.at, network=caller.network, known=read.past)
    known = read.known
    parts = {
        "components": [
            shown(row, links=_component(caller, known, row)) for row in balance.components
        ],
        "totals": [
            shown(row, links=links.allowed(caller, entries=known.entries(currency=row["currency"])))
            for row in balance.totals
        ],
    }
    return listing.answer_all(request, "components", BalanceRow, parts, read)


@router.get(
    "/accounts",
    response_model=AccountsAnswer,
    responses=csv.DOCUMENTED,
    summary="The accounts of the house",
)
def list_accounts(request: Request, caller: Auditing, asked: AsOfAsked) -> Response:
    """Tell what bank, transit, rake, suspense and the like hold."""
    with reading(request, asked) as read:
        found = trial_balance.house_accounts(read.at, network=caller.network, known=read.past)
    parts = {
        "accounts": [
            shown(row, renamed=_RENAMED, links=_account(caller, read.known, row)) for row in found
        ]
    }
    return listing.answer_all(request, "accounts", HouseAccount, parts, read)


def _funds(caller: Caller, known: Known, row: Row) -> Links:
    """Lead from each figure of client funds to its entries; those of nothing explain it too."""
    figures = {
        figure: known.entries(component=figure, currency=row["currency"])
        for figure in (*_FIGURES, "debt")
    }
    return links.allowed(caller, **figures)


def _component(caller: Caller, known: Known, row: Row) -> Links:
    partner = row.get("partner")
    return links.allowed(
        caller,
        entries=known.entries(
            component=row["component"], partner=partner, currency=row["currency"]
        ),
        statement=known.statement_of_partner(partner) if partner is not None else None,
    )


def _account(caller: Caller, known: Known, row: Row) -> Links:
    return links.allowed(
        caller,
        entries=known.entries(account=row["code"], currency=row["currency"]),
        statement=known.statement("accounts", row["code"]),
    )
