"""``cardroom windows``: what can still be protested, and closes soon."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final
from urllib.parse import unquote
from zoneinfo import ZoneInfo

import typer

from api.clock import now
from ledger import money
from ops.desk.connection import AsJson, AsWhom, Url, desk
from ops.desk.screen import Column, Screen, as_json, instant, right

OF_PLAYER: Final = (
    *(Column("when"), right("position"), Column("what", widest=32), right("taken")),
    *(right("change"), Column(""), Column("protest until")),
)
_CLOSING: Final = (
    *(Column("closes"), Column("player", widest=20), Column("partner", widest=12)),
    *(Column("what", widest=28), right("taken"), right("net"), Column("")),
)


def windows(
    *,
    partner: Annotated[str | None, typer.Option(help="Of this partner's players only.")] = None,
    days: Annotated[int, typer.Option(min=1, max=366, help="Closing within so many days.")] = 3,
    most: Annotated[int, typer.Option(min=1, help="How many are shown.")] = 50,
    as_printed_json: AsJson = False,
    url: Url = None,
    as_whom: AsWhom = None,
) -> None:
    """List the protest windows that close soon, with what is at stake in them."""
    query = {"partner": partner, "closing_within_days": days, "at": now().isoformat()}
    with desk("support", url, as_whom) as at:
        found = at.get("/v1/protest-windows", limit=min(most, 500), **query)
        rows, cursor = found["protest_windows"], found["cursor"]
        while cursor is not None and len(rows) < most:
            page = at.get("/v1/protest-windows", limit=min(most, 500), cursor=cursor, **query)
            rows += page["protest_windows"]
            cursor = page["cursor"]
    found["protest_windows"], found["cursor"] = rows[:most], cursor
    if as_printed_json:
        as_json(found)
    else:
        show(found, days, Screen(), more=cursor is not None or len(rows) > most)


def show(found: Mapping[str, Any], days: int, screen: Screen, *, more: bool) -> None:
    """Print what closes."""
    screen.title("Protest windows", f"closing within {days} days of {instant(found['at'])} UTC")
    if not found["protest_windows"]:
        screen.line("None.")
        return
    for stake in found["at_stake"] or ():
        screen.line(
            f"at stake in all of them: {stake['gross']} {stake['currency']} taken,"
            f" {stake['net']} net"
        )
    if found["at_stake"] is None:
        screen.line("at stake in all of them: not told, other rules judged on the same days")
    screen.table(_CLOSING, [_row(row) for row in found["protest_windows"]])
    screen.line()
    screen.line(
        "Taken from their accounts, also to others of theirs; net: what left them altogether."
    )
    if more:
        screen.line("There are more: --most shows them.")


def row_of_player(row: Mapping[str, Any]) -> Sequence[str]:
    """Show a transaction of a player whose page it is: what was taken, and what it changed."""
    change = money.text(-row["net_minor"], row["currency"])
    sign = "+" if row["net_minor"] < 0 else ""
    return [
        *(instant(row["occurred_at"])[:16], str(row["first_position"]), what(row)),
        *(row["gross"], f"{sign}{change}", row["currency"], until(row)),
    ]


def what(row: Mapping[str, Any]) -> str:
    """Say what a transaction was, and at which table: a hand, or what its first event says."""
    if row["hand"] is not None:
        said = f"hand {row['hand']}"
    else:
        said = str(row["event"].split(".")[1]).replace("_", " ")
    return said if row["table"] is None else f"{said}, {unquote(row['table'])}"


def until(row: Mapping[str, Any]) -> str:
    """Say until which day, in the rulebook's zone, a transaction may be protested."""
    if row["state"] in ("none", "unknown"):
        return "no protests" if row["state"] == "none" else "unknown rulebook"
    over = ", over" if row["state"] == "closed" else ""
    if row["window_zone"] is None:
        return f"next hand's end{over}"
    closes = datetime.fromisoformat(row["closes_at"]).astimezone(ZoneInfo(row["window_zone"]))
    return f"{closes - timedelta(seconds=1):%Y-%m-%d}{over}"


def _row(row: Mapping[str, Any]) -> Sequence[str]:
    return [
        *(instant(row["closes_at"])[:16], row["name"] or row["player"], row["partner"] or ""),
        *(what(row), row["gross"], row["net"], row["currency"]),
    ]
