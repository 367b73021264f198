"""``cardroom windows``: what can still be protested, and closes soon."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

import typer

from api.clock import now
from ops.desk.connection import AsJson, AsWhom, Url, desk
from ops.desk.screen import Column, Screen, as_json, instant, right

OF_PLAYER: Final = (
    *(Column("when"), right("position"), Column("what", widest=26), Column("table", widest=14)),
    *(right("taken"), right("net"), Column(""), Column("protest until")),
)
_CLOSING: Final = (
    *(Column("closes"), Column("player", widest=20), Column("partner", widest=12)),
    *(Column("what", widest=26), right("taken"), right("net"), Column("")),
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
    if more:
        screen.line("\nThere are more: --most shows them.")


def row_of_player(row: Mapping[str, Any]) -> Sequence[str]:
    """Show a transaction of a player whose page it is."""
    return [
        *(instant(row["occurred_at"]), str(row["first_position"]), what(row), row["table"] or ""),
        *(row["gross"], row["net"], row["currency"], until(row)),
    ]


def what(row: Mapping[str, Any]) -> str:
    """Say what a transaction was: a hand, or what its first event says."""
    if row["hand"] is not None:
        return f"hand {row['hand']}"
    return str(row["event"].split(".")[1]).replace("_", " ")


def until(row: Mapping[str, Any]) -> str:
    """Say until when a transaction may be protested, and whether that is over."""
    if row["state"] in ("none", "unknown"):
        return "no protests" if row["state"] == "none" else "unknown rulebook"
    if row["closes_at"] is None:
        return "next hand's end"
    # The last day on which it is open is what people count with.
    last = datetime.fromisoformat(row["closes_at"]) - timedelta(seconds=1)
    state = "" if row["state"] == "open" else f", {row['state']}"
    return f"{last:%Y-%m-%d %H:%M}{state}"


def _row(row: Mapping[str, Any]) -> Sequence[str]:
    return [
        *(instant(row["closes_at"]), row["name"] or row["player"], row["partner"] or ""),
        *(what(row), row["gross"], row["net"], row["currency"]),
    ]
