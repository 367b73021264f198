"""Mutants on their way into the book: read, and decided at a table of their own.

Whatever is posted, the answer is a decision or a refusal with a code, and what is booked adds up.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from ledger.core import Event, Refused
from ledger.hands import ohh, reading
from ledger.hands.commands import PostHand
from ledger.hands.events import hand_stream
from ledger.hands.ohh import Hand
from ledger.identity import ClaimState
from ledger.tables.events import HandSettled, Seat, TableState, table_id, table_stream
from tests.fuzz.corpus import Sample
from tests.ledger.given import IDENTITY, NETWORK, START, MemoryBook, a_book

OTHER: Final = "another-hand"


class MoneyLostError(AssertionError):
    """What was booked does not add up."""


def post(sample: Sample, posted: bytes) -> str:
    """Post a mutant twice, to a table that waits for it and after the right hand was booked.

    Returns what became of it at the table: ``booked``, ``running``, ``unread`` or the code of the
    refusal. Raises MoneyLostError, and whatever else must not be raised.
    """
    try:
        [item] = reading.split(posted) or [b""]
        hand = reading.read(item)
    except ValueError:
        return "unread"
    except Refused as refused:
        return str(refused.code)
    book, booked = _rooms(sample)
    answer = _decide(book, hand, item)
    _decide(booked, hand, item)
    return answer


def _decide(book: MemoryBook, hand: Hand, item: ohh.Raw) -> str:
    try:
        decision = _command(hand, item).decide(book)
    except Refused as refused:
        return str(refused.code)
    assert msgspec.json.decode(msgspec.json.encode(decision.answer)) == decision.answer
    if decision.refusal is not None:
        assert decision.refusal.code
        return str(decision.refusal.code)
    check_books([event for _, event in decision.changes])
    return "booked" if decision.changes else "running"


def check_books(events: Sequence[Event]) -> None:
    """Check that postings sum to zero, and that the table's mirror is what they did to chips."""
    sums: defaultdict[str, int] = defaultdict(int)
    chips: defaultdict[int, int] = defaultdict(int)
    for event in events:
        for account, currency, amount in event.postings():
            sums[currency] += amount
            if account.startswith("chips:"):
                # What a player has is owed to him: a credit.
                chips[int(account[-12:])] -= amount
    if any(sums.values()):
        raise MoneyLostError(f"postings sum to {dict(sums)}")
    for event in events:
        if isinstance(event, HandSettled):
            mirrored = {seat: net for seat, net in event.net_minor.items() if net}
            if mirrored != {seat: net for seat, net in chips.items() if net}:
                raise MoneyLostError(f"chips change by {dict(chips)}, the table says {mirrored}")


def _command(hand: Hand, item: ohh.Raw) -> PostHand:
    return PostHand(
        network=NETWORK,
        at=hand.started_at,
        actor="game-server-1",
        request_id="hand",
        hand=hand,
        posted_digest=reading.digest_of(item),
        claims={
            player.name: IDENTITY.nickname_claim(NETWORK, player.name) for player in hand.players
        },
        foreign=True,
    )


@lru_cache(maxsize=1 << 12)
def _rooms(sample: Sample) -> tuple[MemoryBook, MemoryBook]:
    """Give a book with the table and the players of a hand, and one in which it is booked."""
    hand = reading.read(sample.posted)
    rooms = []
    for _ in range(2):
        book = MemoryBook()
        book.states = {**_adopted().states, **_seated(hand, sample.book)}
        rooms.append(book)
    decision = _command(hand, sample.posted).decide(rooms[1])
    assert decision.refusal is None, decision.refusal
    rooms[1].record(decision.changes)
    assert rooms[1].states[hand_stream(NETWORK, hand.game_number)] is not None
    return rooms[0], rooms[1]


@lru_cache(maxsize=1)
def _adopted() -> MemoryBook:
    return a_book("entraction", "as-posted")


def _seated(hand: Hand, rulebook: str) -> dict[str, Any]:
    name = hand.table_name
    table = TableState(
        network=NETWORK,
        table_id=table_id(name),
        name=name,
        status="open",
        rulebook=rulebook,
        game=hand.game,
        bet_type=hand.bet_limit.bet_type,
        currency=hand.money,
        size=hand.table_size,
        small_blind_minor=hand.small_blind_amount or 0,
        big_blind_minor=hand.big_blind_amount or 0,
        ante_minor=hand.ante_amount or 0,
        small_bet_minor=hand.x_small_bet,
        big_bet_minor=hand.x_big_bet,
        bring_in_minor=hand.x_bring_in,
        spread_minor=tuple(hand.x_spread),
        hole_cards=hand.x_hole_cards,
        min_buy_in_minor=1,
        max_buy_in_minor=None,
        jackpot=None,
        seats={
            player.seat: Seat(_id(player.seat), "kerching", player.starting_stack)
            for player in hand.players
        },
    )
    claims = {
        IDENTITY.nickname_claim(NETWORK, player.name): ClaimState(_id(player.seat), START)
        for player in hand.players
    }
    return {table_stream(NETWORK, table.table_id): table, **claims}


def _id(seat: int) -> str:
    return f"a11ce000-0000-4000-8000-{seat:012}"
