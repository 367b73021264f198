"""``cardroom tables``: who sits where with how much, and what was played today."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from api.clock import now
from ledger import money
from ledger.tables.events import table_id
from ops.desk.connection import AsJson, AsWhom, Desk, Url, desk
from ops.desk.screen import Column, Screen, as_json, instant, right

_TABLES: Final = (
    *(Column("table", widest=24), Column("game", widest=22), right("stakes"), Column("")),
    *(right("seats"), right("chips"), right("hands"), right("rake"), Column("last hand")),
)
_SEATS: Final = (right("seat"), Column("player", widest=40), Column("partner"), right("chips"))


def tables(
    name: Annotated[str | None, typer.Argument(help="One table, with its seats.")] = None,
    *,
    closed: Annotated[bool, typer.Option("--closed", help="The closed ones.")] = False,
    most: Annotated[int, typer.Option(min=1, help="How many are shown.")] = 50,
    as_printed_json: AsJson = False,
    url: Url = None,
    as_whom: AsWhom = None,
) -> None:
    """List the tables: seats, chips, the last hand, hands and rake of today (UTC)."""
    with desk("support", url, as_whom) as at:
        if name is None:
            status = "closed" if closed else "open"
            listed = at.pages("/v1/tables", "tables", most=most + 1, status=status)
            ids = [row["table"] for row in listed]
        else:
            ids = [table_id(name)]
        found = [gathered(at, table) for table in ids[:most]]
    if as_printed_json:
        as_json(found)
    elif name is not None:
        show_one(found[0], Screen())
    else:
        show(found, Screen(), more=len(ids) > most)


def gathered(at: Desk, table: str) -> dict[str, Any]:
    """Ask for a table as it is, and for its day."""
    path = f"/v1/tables/{quote(table, safe='')}"
    today = now().date().isoformat()
    days = at.get(f"{path}/days", first=today, last=today)
    return {"table": at.get(path), "today": days["days"]}


def show(found: Sequence[Mapping[str, Any]], screen: Screen, *, more: bool) -> None:
    """Print the tables, one a line."""
    if not found:
        screen.line("No tables.")
        return
    screen.title("Tables", found[0]["table"]["status"])
    screen.table(_TABLES, [_row(one) for one in found])
    screen.line()
    screen.line("Hands and rake are today's, UTC." + (" --most shows more tables." if more else ""))


def show_one(found: Mapping[str, Any], screen: Screen) -> None:
    """Print a table with its seats."""
    table = found["table"]
    screen.title(table["name"], table["status"], f"{_game(table)} {_stakes(table)}",
                 f"rulebook {table['rulebook']}")  # fmt: skip
    hands, rake = _today(found)
    running = f", hand {table['running']} is being played" if table["running"] else ""
    screen.line(f"{hands} hands and {rake} {table['currency']} of rake today{running}")
    if table["last_hand"] is not None:
        screen.line(f"last hand {table['last_hand']}, {instant(table['last_started_at'])} UTC")
    rows = [
        [str(seat["seat"]), seat["name"] or seat["player"] or "(another partner's)",
         seat["partner"] or "", seat["chips"]]
        for seat in table["seats"]
    ]  # fmt: skip
    screen.table(_SEATS, rows)


def _row(one: Mapping[str, Any]) -> Sequence[str]:
    table = one["table"]
    chips = sum(seat["chips_minor"] for seat in table["seats"])
    hands, rake = _today(one)
    return [
        *(table["name"], _game(table), _stakes(table), table["currency"]),
        f"{len(table['seats'])}/{table['size']}",
        *(_text(chips, table), hands, rake),
        *(instant(table["last_started_at"])[:16],),
    ]


def _today(one: Mapping[str, Any]) -> tuple[str, str]:
    """Return hands and rake of today."""
    hands = sum(day["hands"] for day in one["today"])
    rake = sum(day["rake_minor"] for day in one["today"])
    return str(hands), _text(rake, one["table"])


def _game(table: Mapping[str, Any]) -> str:
    return f"{table['bet_type']} {table['game']}"


def _stakes(table: Mapping[str, Any]) -> str:
    """Say what is bet: the blinds, or the limits of a game without them, and the ante."""
    asked = ("small_blind", "big_blind") if table["big_blind_minor"] else ("small_bet", "big_bet")
    ante = [f"ante {table['ante']}"] if table["ante_minor"] else []
    bets = "/".join(table[name] for name in asked if table[f"{name}_minor"])
    return " ".join(filter(None, [bets, *ante]))


def _text(amount_minor: int, table: Mapping[str, Any]) -> str:
    return money.text(amount_minor, table["currency"])
