"""``cardroom player``: who a player is, what he has, and what happened last."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final
from urllib.parse import unquote

import typer

from ops.desk.connection import AsJson, AsWhom, Desk, Url, desk
from ops.desk.screen import Column, Screen, as_json, instant, right
from ops.desk.windows import OF_PLAYER, row_of_player

PLAYER_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PAYMENTS: Final = 10
"""Deposits and withdrawals that are shown, the last ones."""


def player(
    who: Annotated[str, typer.Argument(help="A nickname, or a player's id.")],
    *,
    transactions: Annotated[
        int, typer.Option(min=0, max=500, help="How many of the last transactions.")
    ] = 10,
    as_printed_json: AsJson = False,
    url: Url = None,
    as_whom: AsWhom = None,
) -> None:
    """Tell a player's standing, money, payments and last transactions."""
    with desk("support", url, as_whom) as at:
        found = gathered(at, who, transactions)
    if as_printed_json:
        as_json(found)
    else:
        show(found, Screen())


def find(at: Desk, who: str) -> Any:
    """Find a player by his id or by the nickname that he bears now. Raises Refusal."""
    if PLAYER_ID.fullmatch(who):
        return at.get(f"/v1/players/{who}")
    return at.get("/v1/players", nickname=who)


def gathered(at: Desk, who: str, transactions: int) -> dict[str, Any]:
    """Ask for everything that the page shows, once the projections know what the player did."""
    account = find(at, who)
    of = account["player"]
    known = {"at_least": account["position"], "wait_ms": 2_000}
    bankroll = at.get(f"/v1/players/{of}/bankroll", **known)
    found = {
        "player": account,
        "bankroll": bankroll,
        "deposits": at.pages("/v1/deposits", "deposits", most=5_000, player=of),
        "withdrawals": at.pages("/v1/withdrawals", "withdrawals", most=5_000, player=of),
        "transactions": [],
    }
    if transactions:
        windows = at.get("/v1/protest-windows", player=of, limit=transactions)
        found["transactions"] = windows["protest_windows"]
    return found


def show(found: Mapping[str, Any], screen: Screen) -> None:
    """Print a player."""
    account, bankroll = found["player"], found["bankroll"]
    screen.title(account["nickname"] or "(erased)", account["status"], account["player"])
    came = "inferred from imported hands" if account["inferred"] else "registered"
    screen.line(
        f"partner {account['partner']}, {came} {instant(account['registered_at'])} UTC,"
        f" rulebook {account['rulebook']}"
    )
    purses = [
        [row[name] for name in ("currency", "cash", "frozen", "pending", "chips", "debt")]
        for row in bankroll["purses"]
    ]
    amounts = [right(name) for name in ("bankroll", "frozen", "pending", "chips", "debt")]
    screen.table([Column(""), *amounts], purses or [["", "", "", "", "", ""]])
    _seats(account, bankroll, screen)
    _payments(found["deposits"], "deposit", screen)
    _payments(found["withdrawals"], "withdrawal", screen)
    if found["transactions"]:
        rows = [row_of_player(row) for row in found["transactions"]]
        screen.table(OF_PLAYER, rows, title="Last transactions, and the last day to protest them")
    screen.line()
    screen.line(f"True for position {bankroll['position']}; instants are UTC.")


def _seats(account: Mapping[str, Any], bankroll: Mapping[str, Any], screen: Screen) -> None:
    seats = {seat["table"]: str(seat["seat"]) for seat in account["seats"]}
    rows = [
        [unquote(row["table"]), seats.get(row["table"], ""), row["chips"], row["currency"]]
        for row in bankroll["chips"]
    ]
    if rows:
        columns = [Column("table", widest=40), right("seat"), right("chips"), Column("")]
        screen.table(columns, rows, title="At tables")


def _payments(payments: Sequence[Mapping[str, Any]], what: str, screen: Screen) -> None:
    if not payments:
        return
    newest = sorted(payments, key=lambda row: int(row["last_position"]), reverse=True)
    rows = [
        [row[what], row.get("provider", ""), row["amount"], row["currency"], row["status"]]
        for row in newest[:PAYMENTS]
    ]
    title = f"{what.capitalize()}s"
    if len(newest) > PAYMENTS:
        title += f": the last {PAYMENTS} of {len(newest)}"
    columns = [Column(what, widest=40), Column("provider", widest=16), right("amount"), Column("")]
    screen.table([*columns, Column("status")], rows, title=title)
