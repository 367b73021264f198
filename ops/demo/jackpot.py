"""The bad-beat jackpot in the demonstration: how it is hit, and what is due for it."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ops.client import Client
from ops.simulator.cards import PACK
from ops.simulator.play import Opening
from ops.simulator.room import Dealt

JACKPOT: Final = "bad-beat"

QUEENS: Final = ("Qh", "Qs")
ACES: Final = ("Ah", "As")
BOARD: Final = ("Qc", "Qd", "Ac", "Ad", "2c")
"""Four queens lose to four aces, when neither of them folds."""

SETTLED_SECONDS: Final = 20
"""How long the worker may take; it looks every second."""


def four_queens(opening: Opening) -> Sequence[str]:
    """Stack the pack for hold'em: queens for the first player, aces for the second."""
    used = {*QUEENS, *ACES, *BOARD}
    others = [card for card in PACK if card not in used][: 2 * (len(opening.players) - 2)]
    return (*QUEENS, *ACES, *others, *BOARD)


def due(dealt: Dealt, hit: Mapping[str, Any], pool: int) -> list[tuple[str, str, int]]:
    """Work out who is due what of a pool, in cents: 40, 20 and 20 percent. Source: D."""
    names = {player.seat: player.name for player in dealt.heading.players}
    everyone = [names[seat] for seat in dealt.opening.players]
    shared = pool * 20 // 100 // len(everyone)
    return [
        (hit["loser"], "loser", pool * 40 // 100),
        (hit["winner"], "winner", pool * 20 // 100),
        *((name, "dealt-in", shared) for name in everyone),
    ]


def settled(auditor: Client, game_number: str) -> dict[str, Any]:
    """Wait until the worker has settled the hit of a hand, and return it as the books have it."""
    end = time.monotonic() + SETTLED_SECONDS
    while time.monotonic() < end:
        newest = auditor.get(f"/v1/jackpots/{JACKPOT}/hits", limit=1)["hits"]
        if newest and (newest[0]["game_number"], newest[0]["status"]) == (game_number, "settled"):
            found: dict[str, Any] = newest[0]
            return found
        time.sleep(0.1)
    raise AssertionError(f"the jackpot that hand {game_number} hit was not settled")
