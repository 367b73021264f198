"""Whenever the worker looks, from whatever book, and however often: the same shares, once each."""

import random
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core import Refused
from ledger.jackpots.commands import AnnulHit, ReleaseHit
from ledger.jackpots.events import HitSettled
from ledger.jackpots.policies import settlements
from ledger.jackpots.sharing import shares_of
from tests.ledger.given import ALICE, BOB, CAROL, START, MemoryBook, granted
from tests.ledger.jackpots.hits import (
    PLAYERS,
    POOL,
    a_room,
    about,
    contribute,
    hit,
    purses,
    state_of,
    undecided,
)


class Paid(NamedTuple):
    """A hand pays into the pool."""

    amount_minor: int


class Hit(NamedTuple):
    """A hand hits it: ``ends`` says whether it is settled at once, after a release, or annulled."""

    ends: str
    among: tuple[str, ...]


PEOPLE = ((ALICE, BOB), (BOB, ALICE), (ALICE, BOB, CAROL), (CAROL, BOB, ALICE))
HAPPENS = st.lists(
    st.one_of(
        st.builds(Paid, st.integers(1, 100_000)),
        st.builds(
            Hit, st.sampled_from(["settled", "released", "annulled"]), st.sampled_from(PEOPLE)
        ),
    ),
    min_size=1,
    max_size=12,
)


def expected(happened: list[Paid | Hit]) -> list[int]:
    """Work out each pool that is shared out, without any worker: in the order of the hits."""
    got = paid = 0
    pools = []
    for one in happened:
        if isinstance(one, Paid):
            got += one.amount_minor
        elif one.ends != "annulled":
            pools.append(got - paid)
            losers, winners = one.among[:1], one.among[1:2]
            event = hit(a_room(), "1", losers=losers, winners=winners, dealt=one.among)
            paid += sum(share.amount_minor for share in shares_of(event, got - paid))
    return pools


class Room:
    """What happens, with a worker that looks, fails, is killed and asks again at any time."""

    def __init__(self, chance: random.Random) -> None:
        self.book: MemoryBook = a_room()
        self.chance = chance
        self.ends: dict[str, str] = {}

    def happen(self, number: int, one: Paid | Hit) -> None:
        game_number = str(100 + number)
        if isinstance(one, Paid):
            contribute(self.book, one.amount_minor, game_number)
            return
        self.ends[game_number] = one.ends
        losers, winners = one.among[:1], one.among[1:2]
        waits = one.ends != "settled"
        hit(self.book, game_number, losers=losers, winners=winners, dealt=one.among, review=waits)

    def look(self, seen: int | None = None) -> None:
        """Let a worker look from a book that has seen so much, and be asked twice the same."""
        asked = list(settlements(self.book, undecided(self.book, seen), START))
        for command in [*asked, *asked[: self.chance.randrange(2)]]:
            with suppress(Refused):
                self.book.when(command)

    def decide(self) -> None:
        """Let two persons decide the next hit that waits, if there is one."""
        for game_number, ends in self.ends.items():
            with suppress(Refused):
                said = about(self.book, game_number)
                if ends == "released":
                    granted(self.book, ReleaseHit(**said, reason="seen"))
                elif ends == "annulled":
                    granted(self.book, AnnulHit(**said, ground="collusion", reason="seen"))

    def disturb(self) -> None:
        """Do some of it now, in any order."""
        for _ in range(self.chance.randrange(3)):
            if self.chance.randrange(2):
                self.look(self.chance.randrange(len(self.book.history) + 1))
            else:
                self.decide()


@settings(max_examples=60, deadline=timedelta(seconds=10))
@given(happened=HAPPENS, seed=st.integers(0, 2**32))
def test_shares_are_the_same_whenever_the_worker_looks(
    happened: list[Paid | Hit], seed: int
) -> None:
    room = Room(random.Random(seed))
    for number, one in enumerate(happened):
        room.happen(number, one)
        room.disturb()
    for _ in happened:
        room.decide()
        room.look()
    book = room.book
    settled = [event for _, event in book.history if isinstance(event, HitSettled)]
    assert [event.pool_minor for event in settled] == expected(happened)
    assert [event.game_number for event in settled] == [
        game_number for game_number, ends in room.ends.items() if ends != "annulled"
    ]
    assert sum(book.balances().values()) == 0
    got = sum(one.amount_minor for one in happened if isinstance(one, Paid))
    paid = sum(purses(book, tuple(PLAYERS)).values())
    assert -book.balance(POOL) == got - paid >= 0
    if room.ends:
        assert (state_of(book).hits, state_of(book).paid_minor) == (len(room.ends), paid)
