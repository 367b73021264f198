"""The room that the hands are played in: players with money, tables of six, every seat taken."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import uvloop

from ops.bench.http import Connection, Requests
from ops.serving import Serving
from ops.simulator.load import LIMITS, SEATS

STACK_MINOR: Final = 20_000 * LIMITS.big_blind
"""So deep that no run makes anybody short."""

TABLES_EACH: Final = 3
"""At how many tables a player sits."""

PARTNERS: Final = ("kerching", "nordicbet", "gamevelvet")
WARRANTIES: Final = (
    "over_18",
    "full_legal_capacity",
    "not_citizen_of_mt",
    "lawful_jurisdiction",
    "not_employed_by_room",
)
CONNECTIONS: Final = 16


class TableSpec(NamedTuple):
    """A table as the load needs to know it: chips of seats 1 to 6 in minor units."""

    name: str
    players: tuple[str, ...]
    stacks: tuple[int, ...]


class Unfurnished(Exception):
    """The API refused something of the set-up."""


Post = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


def furnish(serving: Serving, tables: int) -> list[TableSpec]:
    """Register the players, pay their money in, open the tables and seat everybody."""
    return uvloop.run(_furnish(serving, tables))


async def _furnish(serving: Serving, tables: int) -> list[TableSpec]:
    names = [f"Table {number:04}" for number in range(1, tables + 1)]
    players = max(SEATS, SEATS * -(-tables // TABLES_EACH))
    connections = [await Connection.open(serving.port) for _ in range(CONNECTIONS)]
    cashier = _Desk(connections, Requests(serving.port, serving.token("cashier")), "cashier")
    floor = _Desk(connections, Requests(serving.port, serving.token("game-server")), "floor")
    try:
        ids = await cashier.each(range(players), _register)
        await cashier.each(ids, _pay_in)
        await floor.each(names, _open)
        # Seat by seat, so that no two requests of one moment are for the same table or player.
        seatings = [[_Seating(name, ids, number * SEATS) for number, name in enumerate(names)]]
        for seat in range(1, SEATS + 1):
            await floor.each([one._replace(seat=seat) for row in seatings for one in row], _buy_in)
    finally:
        for connection in connections:
            connection.close()
    stacks = (STACK_MINOR,) * SEATS
    return [
        TableSpec(
            name, tuple(_nickname((at * SEATS + seat) % players) for seat in range(SEATS)), stacks
        )
        for at, name in enumerate(names)
    ]


class _Seating(NamedTuple):
    table: str
    ids: Sequence[str]
    first: int
    seat: int = 0


class _Desk:
    """Sends commands over several connections, each to be answered before the next on it."""

    def __init__(self, connections: Sequence[Connection], requests: Requests, name: str) -> None:
        self._connections = connections
        self._requests = requests
        self._name = name
        self._keys = 0

    async def each(
        self, items: Iterable[Any], command: Callable[[Post, Any], Awaitable[Any]]
    ) -> list[Any]:
        """Run a command for each item; return what they gave, in order."""
        waiting = list(enumerate(items))
        results: list[Any] = [None] * len(waiting)
        waiting.reverse()

        async def work(connection: Connection) -> None:
            async def post(path: str, fields: dict[str, Any]) -> dict[str, Any]:
                return await self._post(connection, path, fields)

            while waiting:
                place, item = waiting.pop()
                results[place] = await command(post, item)

        await asyncio.gather(*map(work, self._connections))
        return results

    async def _post(
        self, connection: Connection, path: str, fields: dict[str, Any]
    ) -> dict[str, Any]:
        self._keys += 1
        request = self._requests.command(
            path, msgspec.json.encode(fields), f"bench-{self._name}-{self._keys}"
        )
        status, body = await connection.send(request)
        content: dict[str, Any] = msgspec.json.decode(body)
        if status >= 300:
            raise Unfurnished(
                f"POST {path}: {status} {content.get('code')}: {content.get('detail')}"
            )
        return content


def _nickname(number: int) -> str:
    return f"player-{number:05}"


async def _register(post: Post, number: int) -> str:
    answer = await post(
        "/v1/players",
        {
            "partner": PARTNERS[number % len(PARTNERS)],
            "nickname": _nickname(number),
            "identity_reference": f"bench-{number}",
            "warranties": dict.fromkeys(WARRANTIES, True),
        },
    )
    return str(answer["player"])


async def _pay_in(post: Post, player: str) -> None:
    await post(
        "/v1/deposits",
        {
            "player": player,
            "provider": "cardpay",
            "reference": f"bench-{player}",
            "instrument": f"tok-{player}",
            "currency": LIMITS.currency,
            "amount_minor": TABLES_EACH * STACK_MINOR,
            "confirmed": True,
        },
    )


async def _open(post: Post, name: str) -> None:
    await post(
        "/v1/tables",
        {
            "name": name,
            "game": LIMITS.game,
            "bet_type": LIMITS.bet_type,
            "currency": LIMITS.currency,
            "size": SEATS,
            "small_blind_minor": LIMITS.small_blind,
            "big_blind_minor": LIMITS.big_blind,
            "min_buy_in_minor": LIMITS.big_blind,
            "max_buy_in_minor": STACK_MINOR,
            "jackpot": "bad-beat",
        },
    )


async def _buy_in(post: Post, seating: _Seating) -> None:
    place = (seating.first + seating.seat - 1) % len(seating.ids)
    await post(
        f"/v1/tables/{seating.table.replace(' ', '%20')}/buy-ins",
        {
            "player": seating.ids[place],
            "seat": seating.seat,
            "currency": LIMITS.currency,
            "amount_minor": STACK_MINOR,
        },
    )
