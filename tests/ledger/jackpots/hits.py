"""Hits of a jackpot on an in-memory book, and what the book would say of them."""

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ledger import catalogue
from ledger.hands.events import BadBeatHit, HandPosted, JackpotContributed, hand_stream
from ledger.jackpots.commands import HitFigures
from ledger.jackpots.events import JackpotState, jackpot_stream
from ledger.jackpots.policies import Undecided, settlements
from tests.ledger.given import ALICE, BOB, CAROL, NETWORK, START, MemoryBook, a_book, register

JACKPOT = "bad-beat"
POOL = f"jackpot:{NETWORK}:{JACKPOT}"
PLAYERS = {"alice": ALICE, "bob": BOB, "carol": CAROL}
GOLDEN = Path(__file__).parents[2] / "golden"


def a_room() -> MemoryBook:
    """Register alice, bob and carol."""
    book = a_book()
    for name, player in PLAYERS.items():
        register(book, player, name)
    return book


def golden(kind: type[Any]) -> Any:
    """Return an event as it was stored once."""
    stored = json.loads((GOLDEN / f"{kind.NAME}.json").read_text())["event"]
    return catalogue.decode(kind.NAME, json.dumps(stored).encode())


def contribute(book: MemoryBook, amount_minor: int, game_number: str) -> None:
    """Let a hand pay into the pool; what it staked is of no matter here."""
    contributed = replace(
        golden(JackpotContributed),
        amount_minor=amount_minor,
        from_pot_minor=0,
        from_rake_minor={"kerching": amount_minor},
    )
    book.record([(hand_stream(NETWORK, game_number), contributed)])


def hit(book: MemoryBook, game_number: str, **fields: Any) -> BadBeatHit:
    """Let a hand hit the jackpot: alice loses to bob, carol was dealt in as well."""
    said = {"losers": (ALICE,), "winners": (BOB,), "dealt": (ALICE, BOB, CAROL), "doubts": ()}
    event: BadBeatHit = replace(golden(BadBeatHit), game_number=game_number, **{**said, **fields})
    posted = replace(golden(HandPosted), game_number=game_number, expected=None)
    stream = hand_stream(NETWORK, game_number)
    book.record([(stream, posted), (stream, event)])
    return event


def undecided(book: MemoryBook, seen: int | None = None) -> Iterator[Undecided]:
    """Give the hits as a book that has seen so much of the history would have them.

    All of them: a book that is behind does not know which were decided.
    """
    got = number = 0
    for position, (_, event) in enumerate(book.history[:seen], 1):
        if isinstance(event, JackpotContributed):
            got += event.amount_minor
        elif isinstance(event, BadBeatHit):
            number += 1
            figures = HitFigures(number=number, position=position, got_minor=got)
            yield Undecided(
                NETWORK, event.jackpot, event.currency, event.game_number, event.waits, figures
            )


def figures_of(book: MemoryBook, game_number: str) -> HitFigures:
    """Return what the book says of a hit."""
    return next(one.figures for one in undecided(book) if one.game_number == game_number)


def about(book: MemoryBook, game_number: str, **fields: Any) -> dict[str, Any]:
    """Return the fields of a command about a hit."""
    said = {
        "jackpot": JACKPOT,
        "currency": "EUR",
        "game_number": game_number,
        "book": figures_of(book, game_number),
    }
    return book.ask(**{**said, **fields})


def work(book: MemoryBook, seen: int | None = None) -> list[str]:
    """Let the worker look once over a book; return the hands that it settled."""
    asked = list(settlements(book, undecided(book, seen), START + timedelta(days=1)))
    for command in asked:
        book.when(command)
    return [command.game_number for command in asked]


def state_of(book: MemoryBook) -> JackpotState:
    state = book.get(jackpot_stream(NETWORK, JACKPOT, "EUR"))
    assert isinstance(state, JackpotState)
    return state


def purses(book: MemoryBook, players: Sequence[str] = tuple(PLAYERS)) -> dict[str, int]:
    """Return what is on each player's account."""
    return {name: -book.balance(f"bankroll:{NETWORK}:{PLAYERS[name]}") for name in players}
