"""A card room's tables: who sits where with how much, where the dealer is, who posts what."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any, Literal, NamedTuple

from ops.simulator.games import Limits
from ops.simulator.play import Opening, Settled, play
from ops.simulator.rake import Schedule, by_schedule, free
from ops.simulator.record import Heading, Seated, record

ENOUGH = 2
"""A player is dealt in with at least so many bets, so that every forced bet can be paid."""


@dataclass
class Seat:
    """A player at a table, his chips in minor units, and the blinds that he owes."""

    player: str
    chips: int
    owes_big: bool = True
    owes_small: bool = False
    sitting_out: bool = False


@dataclass
class Table:
    """A table of the room."""

    name: str
    limits: Limits
    size: int
    buy_in: int
    seats: dict[int, Seat] = field(default_factory=dict)
    dealer: int = 0
    hands: int = 0

    @property
    def chips(self) -> int:
        """All chips on the table, in minor units."""
        return sum(seat.chips for seat in self.seats.values())

    def free_seat(self) -> int | None:
        """Return the lowest seat that nobody has."""
        return next((n for n in range(1, self.size + 1) if n not in self.seats), None)


class Move(NamedTuple):
    """What a player wants to do between two hands; the amount is in minor units."""

    kind: Literal["buy-in", "top-up", "leave"]
    table: str
    player: str
    seat: int
    amount: int


class Dealt(NamedTuple):
    """A hand that was played: its record, and what it was made from."""

    game_number: str
    table: str
    record: dict[str, Any]
    heading: Heading
    opening: Opening
    hand: Settled

    @property
    def rake(self) -> int:
        """The rake of the hand, in minor units."""
        return sum(self.hand.rakes)


class Room:
    """Tables and players. Money comes and goes by moves, which the caller carries out as well."""

    def __init__(
        self,
        rng: Random,
        *,
        at: datetime,
        site: str = "Entraction",
        first_game: int = 1,
        pause: timedelta = timedelta(seconds=40),
        schedule: Schedule = by_schedule,
    ) -> None:
        self.rng = rng
        self.at = at
        self.site = site
        self.pause = pause
        self.schedule = schedule
        self.next_game = first_game
        self.tables: dict[str, Table] = {}

    def open(self, name: str, limits: Limits, size: int, buy_in: int) -> Table:
        """Open a table at which players buy in for about so much."""
        table = self.tables[name] = Table(name, limits, size, buy_in)
        return table

    # -- between hands ---------------------------------------------------------------------------

    def moves(self, table: Table, waiting: Callable[[], str | None]) -> Iterator[Move]:
        """Propose who leaves, tops up and sits down; each is applied before the next is asked for.

        ``waiting`` names a player who would take a seat here, or None.
        """
        least = ENOUGH * table.limits.unit
        for number, seat in list(table.seats.items()):
            if seat.chips < least:
                stays = self.rng.random() < 0.6
                kind: Literal["top-up", "leave"] = "top-up" if stays else "leave"
                amount = table.buy_in if stays else seat.chips
                yield Move(kind, table.name, seat.player, number, amount)
            elif self.rng.random() < 0.01:
                yield Move("leave", table.name, seat.player, number, seat.chips)
        number = table.free_seat() or 0
        player = waiting() if number and (len(table.seats) < 2 or self.rng.random() < 0.3) else None
        if player is not None:
            yield Move("buy-in", table.name, player, number, self.wanted(table))

    def wanted(self, table: Table) -> int:
        """Return how much a player brings to a table: seldom deep, sometimes short."""
        return table.buy_in * self.rng.choice((4, 6, 10, 10, 10, 16)) // 10

    def apply(self, move: Move) -> None:
        """Carry a move out."""
        seats = self.tables[move.table].seats
        if move.kind == "leave":
            del seats[move.seat]
        elif move.kind == "top-up":
            seats[move.seat].chips += move.amount
        else:
            seats[move.seat] = Seat(move.player, move.amount)

    # -- a hand ----------------------------------------------------------------------------------

    def deal(
        self, table: Table, first: Callable[[Opening], Sequence[str]] = lambda _: ()
    ) -> Dealt | None:
        """Play the table's next hand; None when fewer than two players can be dealt in.

        ``first`` names the cards that are dealt first, once it is known who plays.
        """
        self._sit_out(table)
        opening = self._open_hand(table)
        if opening is None:
            return None
        limits = table.limits
        schedule = free if limits.currency == "XPM" else self.schedule
        heading = self._heading(table, opening)
        hand = play(self.rng, limits, opening, schedule, first(opening))
        for number, chips in hand.stacks.items():
            table.seats[number].chips = chips
        table.hands += 1
        self.next_game += 1
        self.at += self.pause
        return Dealt(heading.game_number, table.name, record(heading, hand), heading, opening, hand)

    def _heading(self, table: Table, opening: Opening) -> Heading:
        players = tuple(
            Seated(n, seat.player, seat.chips, n in opening.players, seat.sitting_out)
            for n, seat in sorted(table.seats.items())
        )
        number = str(self.next_game)
        return Heading(
            number, self.at, self.site, table.name, table.size, table.dealer, table.limits, players
        )

    def _sit_out(self, table: Table) -> None:
        for seat in table.seats.values():
            back, away = self.rng.random() < 0.3, self.rng.random() < 0.01
            seat.sitting_out = not back if seat.sitting_out else away

    def _open_hand(self, table: Table) -> Opening | None:
        ready = [
            number
            for number, seat in sorted(table.seats.items())
            if not seat.sitting_out and seat.chips >= ENOUGH * table.limits.unit
        ]
        if len(ready) < 2:
            return None
        if table.limits.ante:
            table.dealer = _after(table.dealer, ready)[0]
            players = tuple(_after(table.dealer, ready))
            stacks = {n: table.seats[n].chips for n in players}
            return Opening(players, stacks, players[0])
        return self._with_blinds(table, ready)

    def _with_blinds(self, table: Table, ready: list[int]) -> Opening:
        """Move the dealer, name the blinds, and let those who owe one post it or wait.

        Whoever owes the big blind waits while he is between the dealer and the big blind; else he
        posts it live and, if he missed both, the small blind dead. Source: K 10.1.3.
        """
        seats = table.seats
        if sum(not seats[n].owes_big for n in ready) < 2:  # the game begins: nobody owes anything
            for n in ready:
                seats[n].owes_big = seats[n].owes_small = False
        settled = [n for n in ready if not seats[n].owes_big]
        table.dealer = _after(table.dealer, settled)[0]
        around = _after(table.dealer, settled)
        dealer_posts_small = table.size == 2
        small = table.dealer if dealer_posts_small else around[0]
        big = _after(small, ready)[0]
        between = set(_between(table.dealer, big, range(1, table.size + 1)))
        players = [n for n in _after(table.dealer, ready) if n not in between or n in (small, big)]
        posts = [(small, "Post SB"), (big, "Post BB")]
        for n in players:
            if seats[n].owes_big and n not in (small, big):
                posts += [(n, "Post Dead")] if seats[n].owes_small else []
                posts.append((n, "Post Extra Blind"))
        self._owe(table, players, small, big)
        stacks = {n: seats[n].chips for n in players}
        return Opening(tuple(players), stacks, _after(big, sorted(players))[0], posts)

    def _owe(self, table: Table, players: list[int], small: int, big: int) -> None:
        """Note which blinds those who sit out have missed."""
        passed_small = set(_between(table.dealer, small, range(1, table.size + 1)))
        passed_big = set(_between(small, big, range(1, table.size + 1)))
        for n, seat in table.seats.items():
            if n in players:
                seat.owes_big = seat.owes_small = False
            elif seat.sitting_out and not seat.owes_big:
                seat.owes_small = seat.owes_small or n in passed_small
                seat.owes_big = n in passed_big


def _after(seat: int, seats: list[int]) -> list[int]:
    """Return seats, given in rising order, clockwise from the left of one of them."""
    return [n for n in seats if n > seat] + [n for n in seats if n <= seat]


def _between(start: int, end: int, seats: range) -> Iterator[int]:
    """Return the seats clockwise between two, both left out."""
    for n in _after(start, list(seats)):
        if n == end:
            return
        yield n
