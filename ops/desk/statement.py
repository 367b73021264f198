"""``cardroom statement``: what accounts held, every line, and what they held at the end."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import quote, unquote

import typer

from ledger.tables.events import table_id
from ops.client import Refusal
from ops.desk.connection import AsJson, AsWhom, Desk, DeskProblem, Url, desk
from ops.desk.days import begin, end
from ops.desk.player import PLAYER_ID, find
from ops.desk.screen import Column, Screen, as_json, instant, right

_LINES: Final = (
    *(Column("when"), right("position"), Column("what", widest=22), Column("account", widest=24)),
    *(right("debit"), right("credit"), right("balance")),
)
_ACCOUNTS: Final = (
    *(Column("account", widest=46), right("opening"), right("debit"), right("credit")),
    right("closing"),
)


def statement(
    of: Annotated[str, typer.Argument(help="A player's nickname or id, a table, an account.")],
    *,
    since: Annotated[
        str | None, typer.Option("--from", help="A day or an instant (UTC) on or after which.")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="The last day, or an instant before which.")
    ] = None,
    table: Annotated[bool, typer.Option("--table", help="It is a table's name.")] = False,
    most: Annotated[int, typer.Option(min=1, help="How many lines are shown.")] = 200,
    as_printed_json: AsJson = False,
    url: Url = None,
    as_whom: AsWhom = None,
) -> None:
    """Print a statement: opening balances, every line with its running balance, closing ones.

    Tables and accounts are an auditor's to read; players are support's too.
    """
    query = {"occurred_from": begin(since), "occurred_before": end(to)}
    role = "auditor" if table or ":" in of else "support"
    with desk(role, url, as_whom) as at:
        whose = _of(at, of, table=table)
        found = gathered(at, whose.path, most, query)
    if as_printed_json:
        as_json(found)
    else:
        show(found, whose, Screen(), most)


def gathered(at: Desk, path: str, most: int, query: Mapping[str, Any]) -> dict[str, Any]:
    """Ask for a statement, page by page."""
    found: dict[str, Any] = at.get(path, limit=min(most, 500), **query)
    cursor = found["cursor"]
    while cursor is not None and len(found["lines"]) < most:
        page = at.get(path, limit=min(most, 500), cursor=cursor, **query)
        found["lines"] += page["lines"]
        cursor = page["cursor"]
    return {**found, "lines": found["lines"][:most], "cursor": cursor}


def show(found: Mapping[str, Any], of: "Of", screen: Screen, most: int) -> None:
    """Print a statement."""
    period = found["period"]
    begins = instant(period["occurred_from"]) or "the beginning"
    ends = instant(period["occurred_before"]) or f"position {period['closes_at']}"
    screen.title(f"Statement of {of.name}", f"from {begins} to {ends}")
    screen.table(_ACCOUNTS, [_account(row, of) for row in found["accounts"]])
    screen.table(_LINES, [_line(row, of) for row in found["lines"]])
    screen.line()
    if found["cursor"] is not None:
        screen.line(f"There are more than {most} lines: --most shows them.")
    if any(row["lines"] is None for row in found["accounts"]):
        screen.line("Debits and credits of so many lines are added up in the CSV alone.")
    screen.line("Balances are above zero on the account's own side; instants are UTC.")


class Of(NamedTuple):
    """Whose statement it is: where it is asked for, what it is called, its part of the accounts."""

    path: str
    name: str
    part: str = ""

    def account(self, row: Mapping[str, Any]) -> str:
        """Write an account without its network and without whom the statement is of."""
        component, _, *parts = row["account"].split(":")
        rest = (part[:8] if PLAYER_ID.fullmatch(part) else unquote(part) for part in parts
                if part != self.part)  # fmt: skip
        return " ".join([component, *rest, row["currency"]])


def _of(at: Desk, of: str, *, table: bool) -> Of:
    """Find out whose statement is asked for: an account's, a table's, a player's."""
    if table:
        part = table_id(of)
        return Of(f"/v1/statements/tables/{quote(part, safe='')}", f"table {of}", part)
    if ":" in of:
        return Of(f"/v1/statements/accounts/{quote(of, safe='')}", f"account {of}")
    try:
        player = find(at, of)
    except Refusal as refusal:
        if refusal.answer.code != "unknown-player":
            raise
        raise DeskProblem(f"no player is called {of!r}; --table asks for a table") from None
    part = player["player"]
    return Of(f"/v1/statements/players/{part}", str(player["nickname"] or of), part)


def _account(row: Mapping[str, Any], of: Of) -> Sequence[str]:
    names = ("opening", "debit", "credit", "closing")
    return [of.account(row), *(row.get(name) or "" for name in names)]


def _line(row: Mapping[str, Any], of: Of) -> Sequence[str]:
    debit = row["debit"] if row["debit_minor"] else ""
    credit = row["credit"] if row["credit_minor"] else ""
    what = str(row["event"].split(".")[1]).replace("_", " ")
    return [
        *(instant(row["occurred_at"]), str(row["position"]), what, of.account(row)),
        *(debit, credit, row["balance"]),
    ]
