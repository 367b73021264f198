"""``cardroom jackpots``: what the pools hold, what a hit would pay, and the last hits."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from ops.desk.connection import AsJson, AsWhom, Desk, Url, desk
from ops.desk.screen import Column, Screen, as_json, instant, right

_POOLS: Final = (
    *(Column("jackpot", widest=24), right("pool"), Column(""), right("hand that loses")),
    *(right("winner"), right("all dealt in"), right("undecided")),
)
_HITS: Final = (
    *(Column("hand"), Column("played"), Column("table", widest=20), Column("status")),
    *(right("pool"), right("paid"), Column(""), Column("lost", widest=20)),
    Column("won", widest=20),
)
_SHARES: Final = (
    *(Column("hand"), Column("player", widest=32), Column("as"), right("share"), Column("")),
    right("event"),
)
_REQUIREMENTS: Final = (Column("game"), Column("at least"), Column("hole cards"))


def jackpots(
    name: Annotated[str | None, typer.Argument(help="One jackpot, with rules and shares.")] = None,
    *,
    most: Annotated[int, typer.Option(min=1, max=50, help="How many hits are shown.")] = 5,
    as_printed_json: AsJson = False,
    url: Url = None,
    as_whom: AsWhom = None,
) -> None:
    """Show the jackpots' pools, and the last hits of each."""
    with desk("support", url, as_whom) as at:
        listed = at.get("/v1/jackpots")["jackpots"] if name is None else [{"jackpot": name}]
        names = dict.fromkeys(row["jackpot"] for row in listed)
        found = [gathered(at, one, most) for one in names]
    if as_printed_json:
        as_json(found)
        return
    screen = Screen()
    show(found, screen)
    if name is not None:
        show_one(found[0], screen)


def gathered(at: Desk, name: str, most: int) -> dict[str, Any]:
    """Ask for a jackpot, its last hits, and the names of who was in them."""
    path = f"/v1/jackpots/{quote(name, safe='')}"
    jackpot = at.get(path)
    hits = at.pages(f"{path}/hits", "hits", most=most)
    names: dict[str, str] = {}
    for hit in hits:
        hand = at.get(f"/v1/hands/{quote(hit['game_number'], safe='')}")
        names |= {one["player"]: one["name"] for one in hand["players"] if one["name"]}
    return {"jackpot": jackpot, "hits": hits, "names": names}


def show(found: Sequence[Mapping[str, Any]], screen: Screen) -> None:
    """Print pools and hits, one a line."""
    if not found:
        screen.line("No jackpots.")
        return
    screen.title("Jackpots", "a hit would pay these parts of the pool")
    screen.table(_POOLS, [row for one in found for row in _pools(one["jackpot"])])
    hits = [_hit(hit, one["names"]) for one in found for hit in one["hits"]]
    if hits:
        screen.table(_HITS, hits, title="Last hits")
    else:
        screen.line("No hits.")


def show_one(found: Mapping[str, Any], screen: Screen) -> None:
    """Print who got what of the hits, and which hands must lose."""
    shares = [
        [hit["game_number"], _name(share["player"], found["names"]), share["part"],
         share["amount"], hit["currency"], str(share["position"])]
        for hit in found["hits"]
        for share in hit["shares"]
    ]  # fmt: skip
    if shares:
        screen.table(_SHARES, shares, title="Shares")
    for rules in found["jackpot"]["rules"]:
        rows = [
            [one["game"], f"{one['hand']} {'-'.join(one['ranks'])}", one["hole_cards"]]
            for one in rules["requirements"]
        ]
        screen.table(_REQUIREMENTS, rows, title=f"Must lose, by {rules['rulebook']}")
        if rules["review"]:
            screen.line("A second person releases every hit.")


def _pools(jackpot: Mapping[str, Any]) -> Iterable[Sequence[str]]:
    following = {one["next_shares"]["currency"]: one["next_shares"] for one in jackpot["rules"]}
    for pool in jackpot["pools"]:
        parts = following.get(pool["currency"], {})
        yield [
            *(pool["jackpot"], pool["pool"], pool["currency"]),
            *(parts.get(part, "") for part in ("loser", "winner", "dealt_in")),
            str(jackpot["undecided"]),
        ]


def _hit(hit: Mapping[str, Any], names: Mapping[str, str]) -> Sequence[str]:
    return [
        *(hit["game_number"], instant(hit["occurred_at"])[:16], hit["table"], hit["status"]),
        *(hit.get("pool", ""), hit.get("paid", ""), hit["currency"]),
        *(", ".join(_name(one, names) for one in hit[who]) for who in ("losers", "winners")),
    ]


def _name(player: str | None, names: Mapping[str, str]) -> str:
    return "(another partner's)" if player is None else names.get(player, player)
