"""Real hands that hit the jackpot, posted at a table for high stakes, one after the other."""

from decimal import Decimal
from typing import Any

from ledger.hands import reading
from ledger.hands.commands import PostHand
from ledger.rulebooks import parse, shipped_texts
from ledger.rulebooks.commands import AdoptRulebook
from tests.ledger.given import (
    IDENTITY,
    NETWORK,
    MemoryBook,
    fund,
    open_table,
    register,
    sit,
)
from tests.ledger.hands.posts import a_post, encoded
from tests.ledger.jackpots.hits import JACKPOT, PLAYERS

STACK = 2_000_000
RAKE = 75
"""The cap for three players, which the whole pot of 200.00 reaches; all of it goes to the pool."""


def adopt(book: MemoryBook, **edits: str) -> None:
    """Adopt the rulebooks, revised: in this room the jackpot gets the whole rake."""
    changes = {
        "revision = 1": "revision = 2",
        "share_bps = 1000": "share_bps = 10000",
        **edits,
    }
    for file, text in shipped_texts():
        if parse(text, file).name == "entraction":
            revised = text
            for old, new in changes.items():
                revised = revised.replace(old, new)
            for one in (text, revised):
                book.when(AdoptRulebook(**book.ask(), text=one, file=file))


def seat_all(book: MemoryBook, table: str = "Etomo", **fields: Any) -> None:
    """Open a table of 50/100 that plays for the jackpot, with alice, bob and carol."""
    stakes = {"small_blind_minor": 5_000, "big_blind_minor": 10_000}
    buy_ins = {"min_buy_in_minor": 200_000, "max_buy_in_minor": STACK}
    open_table(book, table, jackpot=JACKPOT, **stakes, **buy_ins, **fields)
    for seat, (name, player) in enumerate(PLAYERS.items(), 1):
        register(book, player, name)
        fund(book, STACK, player)
        sit(book, table, seat, STACK, player)


class Dealer:
    """Deals hand after hand at the table, and knows what is in front of everybody."""

    def __init__(self, first: int = 100) -> None:
        self.number = first
        self.stacks = dict.fromkeys(PLAYERS, STACK)

    def hand(self, *, beaten: bool, loser: str = "alice", winner: str = "bob") -> PostHand:
        """Deal the next hand: with ``beaten`` six to ten in hearts loses to eight to queen.

        Whoever is neither loser nor winner folds.
        """
        third = next(name for name in PLAYERS if name not in (loser, winner))
        low, high = ("6h7hAsAc", "JhQhKsKc") if beaten else ("6c7dAsAc", "JcQdKsKc")
        dealt = {loser: low, winner: high, third: "4c4d5c5d"}
        small, big, last = PLAYERS
        deal = ", ".join(f"{name} deal {dealt[name]}" for name in PLAYERS)
        acts = {
            name: f"{name} fold" if name == third else f"{name} call {owed}"
            for name, owed in ((last, 100), (small, 50))
        }
        acts[big] = f"{big} fold" if big == third else f"{big} check"
        played = ", ".join(acts[name] for name in (last, small, big))
        left = [name for name in PLAYERS if name != third]
        checked = ", ".join(f"{name} check" for name in left)
        paid = {small: 5_000, big: 10_000, last: 0}
        paid |= {loser: 10_000, winner: 10_000}
        pot = sum(paid.values())
        board = [("Flop: 8h9hTh", checked), ("Turn: 2c", checked), ("River: 3d", checked)]
        shown = f"{loser} show {low}, {winner} show {high}"
        self.number += 1
        post = a_post(
            [
                ("Preflop", f"{deal}, {small} sb 50, {big} bb 100, {played}"),
                *board,
                ("Showdown", shown),
            ],
            [(_text(pot), {winner: _text(pot - RAKE)})],
            {name: _text(stack) for name, stack in self.stacks.items()},
            rake=_text(RAKE),
            small_blind_amount=Decimal(50),
            big_blind_amount=Decimal(100),
            game_number=str(self.number),
        )
        for name, amount in paid.items():
            self.stacks[name] -= amount
        self.stacks[winner] += pot - RAKE
        return posting(post)


def posting(post: Any) -> PostHand:
    """Return the command that books a post."""
    body = encoded(post)
    hand = reading.read(body)
    return PostHand(
        network=NETWORK,
        at=hand.started_at,
        actor="game-server-1",
        request_id=f"hand:{hand.game_number}",
        claims={
            player.name: IDENTITY.nickname_claim(NETWORK, player.name) for player in hand.players
        },
        hand=hand,
        posted_digest=reading.digest_of(body),
    )


def _text(amount_minor: int) -> str:
    return f"{amount_minor // 100}.{amount_minor % 100:02}"
