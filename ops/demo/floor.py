"""The tables: who sits down, tops up and leaves, and the hands, in batches and one by one."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final, NamedTuple

from ops.client import Answer, Refusal
from ops.demo.cashier import PLAY, REAL, Cashier, Patron
from ops.demo.desks import Desks
from ops.demo.jackpot import JACKPOT, due, four_queens, settled
from ops.demo.tally import Tally
from ops.simulator.games import Limits, antes, blinds
from ops.simulator.play import Opening
from ops.simulator.record import encode, record
from ops.simulator.room import Dealt, Move, Room, Table


class NewTable(NamedTuple):
    """A table to be opened."""

    name: str
    limits: Limits
    size: int
    buy_in: int
    jackpot: bool = True


TABLES: Final = (
    NewTable("Vallmo", blinds("Holdem", "NL", 100), 6, 8_000),
    NewTable("Ljung", blinds("Holdem", "NL", 50), 10, 4_000),
    NewTable("Klint", blinds("Holdem", "FL", 100), 8, 3_000),
    NewTable("Sippa", blinds("Omaha", "PL", 50), 6, 4_000),
    NewTable("Iris", blinds("OmahaHiLo", "FL", 200), 8, 5_000),
    NewTable("Malva", antes("Stud", 100), 7, 3_000),
    NewTable("Tistel", blinds("FiveCardDraw", "FL", 50), 6, 1_500, jackpot=False),
    NewTable("Viol, heads-up", blinds("Holdem", "NL", 100), 2, 6_000, jackpot=False),
    NewTable("Fun 1", blinds("Holdem", "NL", 100, PLAY), 6, 10_000, jackpot=False),
)

HANDS_A_TURN: Final = 6
"""Hands of a table between two rounds of sitting down and leaving."""

REPEATS: Final = 3
"""Hands that are posted once more after every round."""


WITNESSES: Final = 4
"""So many sit at the table whose jackpot is hit: all of them share a part of it."""

PAUSE: Final = timedelta(seconds=15)
"""Between the starts of two hands of the room."""

IDLE_HAS: Final = 20_000
"""What somebody who sits nowhere has at least: more than any table lets him bring."""


class Posted(NamedTuple):
    """A booked hand and the bytes that it was posted as."""

    dealt: Dealt
    body: bytes


class Floor:
    """Runs the tables through the API; the simulated room does what was answered."""

    def __init__(
        self, desks: Desks, cashier: Cashier, tally: Tally, rng: Random, at: datetime
    ) -> None:
        self.desks = desks
        self.cashier = cashier
        self.tally = tally
        self.rng = rng
        self.room = Room(rng, at=at, first_game=8_100_001, pause=PAUSE)
        self.posted: list[Posted] = []
        self.lost_hand = ""
        self.hits: list[str] = []
        """Hands that hit the jackpot."""
        self.alone: Answer
        """What the operator was told who agreed to what he had asked for."""
        self.twice: Answer
        """What the approver was told who agreed once more."""

    # -- tables and seats ------------------------------------------------------------------------

    def open(self, opening: NewTable) -> None:
        """Open a table, in the ledger and in the room."""
        limits = opening.limits
        fixed = limits.bet_type == "FL"
        fields: dict[str, Any] = {
            "name": opening.name,
            "game": limits.game,
            "bet_type": limits.bet_type,
            "currency": limits.currency,
            "size": opening.size,
            "small_blind_minor": limits.small_blind,
            "big_blind_minor": limits.big_blind,
            "ante_minor": limits.ante,
            "min_buy_in_minor": opening.buy_in * 4 // 10,
            "max_buy_in_minor": None if fixed else opening.buy_in * 2,
        }
        if limits.ante:
            fields |= {
                "small_bet_minor": limits.small_bet,
                "big_bet_minor": limits.big_bet,
                "bring_in_minor": limits.bring_in,
            }
        if opening.jackpot:
            fields["jackpot"] = JACKPOT
            self.tally.jackpot_tables.add(opening.name)
        self.desks.floor.post("/v1/tables", **fields)
        self.room.open(opening.name, limits, opening.size, opening.buy_in)

    def settle(self, table: Table) -> None:
        """Let players sit down, top up and leave, through the ledger."""
        for move in self.room.moves(table, lambda: self._waiting(table)):
            self.carry_out(self._affordable(table, move))

    def carry_out(self, move: Move) -> None:
        """Carry a move out in the ledger, then in the room."""
        patron = self.cashier.patrons[move.player]
        currency = self.room.tables[move.table].limits.currency
        path = path_of(move.table, _PATHS[move.kind])
        answer = self.desks.floor.post(path, **fields_of(move, patron, currency))
        change = move.amount if move.kind == "leave" else -move.amount
        patron.account[currency] += change
        if answer["bankroll_minor"] != patron.account[currency]:
            raise AssertionError(f"{patron.name}: the ledger has another bankroll: {answer}")
        self.room.apply(move)
        self.tally.moves += 1

    def empty(self, table: Table) -> None:
        """Let everybody leave."""
        for seat, sitting in list(table.seats.items()):
            self.carry_out(Move("leave", table.name, sitting.player, seat, sitting.chips))

    def with_a_free_seat(self, name: str) -> Table:
        """Return a table after making sure that somebody sits there, and that not all do."""
        table = self.room.tables[name]
        while not table.seats:
            self.settle(table)
        if table.free_seat() is None:
            seat, sitting = next(iter(table.seats.items()))
            self.carry_out(Move("leave", name, sitting.player, seat, sitting.chips))
        return table

    def idle(self) -> Patron:
        """Return a player who sits nowhere and could."""
        seated = {
            seat.player for table in self.room.tables.values() for seat in table.seats.values()
        }
        return next(
            patron
            for patron in self.cashier.patrons.values()
            if patron.name not in seated and patron.account[REAL] >= IDLE_HAS
        )

    def _waiting(self, table: Table) -> str | None:
        seated = {seat.player for seat in table.seats.values()}
        currency = table.limits.currency
        free = [
            patron.name
            for patron in self.cashier.patrons.values()
            if patron.name not in seated and patron.account[currency] >= 2 * table.buy_in
        ]
        return self.rng.choice(free) if free else None

    def _affordable(self, table: Table, move: Move) -> Move:
        """Let a player leave who cannot pay for his top-up."""
        has = self.cashier.patrons[move.player].account[table.limits.currency]
        if move.kind != "top-up" or has >= move.amount:
            return move
        return move._replace(kind="leave", amount=table.seats[move.seat].chips)

    # -- hands -----------------------------------------------------------------------------------

    def play(self, hands: int) -> None:
        """Play rounds until so many hands are booked; every third round is posted one by one."""
        number = 0
        while self.tally.hands < hands:
            number += 1
            for table in self.room.tables.values():
                self.settle(table)
            dealt = [
                hand
                for table in self.room.tables.values()
                for hand in (self.room.deal(table) for _ in range(HANDS_A_TURN))
                if hand is not None
            ]
            if number % 3:
                self.post_together(dealt, lines=number % 2 == 0)
            else:
                self.post_each(dealt)
            self.repeat(single=bool(number % 2))

    def post_together(self, dealt: Sequence[Dealt], *, lines: bool) -> None:
        """Post hands in one request; all must be booked, with nothing found."""
        bodies = [encode(hand.record) for hand in dealt]
        results = self.desks.floor.post_hands(bodies, lines=lines)
        for hand, body, result in zip(dealt, bodies, results, strict=True):
            self._booked(hand, body, result)
        self.tally.batches += 1

    def post_each(self, dealt: Sequence[Dealt]) -> None:
        """Post hands one by one; all must be booked, with nothing found."""
        for hand in dealt:
            body = encode(hand.record)
            answer = self.desks.floor.post_hand(body)
            if not answer.done:
                raise Refusal(f"hand {hand.game_number}", answer)
            self._booked(hand, body, answer.content)
            self.tally.singles += 1

    def repeat(self, *, single: bool) -> None:
        """Post hands again that are booked: nothing may be booked twice."""
        again = self.rng.sample(self.posted, min(REPEATS, len(self.posted)))
        if single:
            statuses = [self.desks.floor.post_hand(one.body).content["status"] for one in again]
        else:
            results = self.desks.floor.post_hands([one.body for one in again])
            statuses = [result["status"] for result in results]
        if any(status != "repeated" for status in statuses):
            raise AssertionError(f"a hand that is booked was answered {statuses}")
        self.tally.repeated += len(statuses)

    def _booked(self, dealt: Dealt, body: bytes, result: dict[str, Any]) -> None:
        if (result["status"], result["verdict"]) != ("booked", "ok"):
            raise AssertionError(f"hand {dealt.game_number} was answered {result}")
        self.tally.booked(dealt)
        self.posted.append(Posted(dealt, body))
        hit = result["expected"]["bad_beat"]
        if hit is not None:
            self._hit(dealt, hit)

    def _hit(self, dealt: Dealt, hit: dict[str, Any]) -> None:
        """Count what is due for a hit of the jackpot; the worker must have paid the same."""
        shares = due(dealt, hit, self.tally.pool)
        found = settled(self.desks.auditor, dealt.game_number)
        names = {patron.player: patron.name for patron in self.cashier.patrons.values()}
        paid = [
            (names[share["player"]], share["part"], share["amount_minor"])
            for share in found["shares"]
        ]
        if sorted(paid) != sorted(share for share in shares if share[2]):
            raise AssertionError(f"hand {dealt.game_number} hit the jackpot: {paid}, not {shares}")
        for name, _, amount in shares:
            self.cashier.patrons[name].account[REAL] += amount
            self.tally.jackpots_paid += amount
        self.hits.append(dealt.game_number)

    # -- what seldom happens ---------------------------------------------------------------------

    def bad_beat(self, name: str) -> str:
        """Deal four queens and four aces until neither folds; return the hand's number."""
        hits, table = len(self.hits), self.room.tables[name]
        while len(table.seats) < WITNESSES:
            self.settle(table)
        while len(self.hits) == hits:
            self.post_each([self.next_hand(name, four_queens)])
        return self.hits[-1]

    def next_hand(
        self, name: str, first: Callable[[Opening], Sequence[str]] = lambda _: ()
    ) -> Dealt:
        """Deal the next hand of a table at which enough players sit."""
        table = self.room.tables[name]
        while True:
            dealt = self.room.deal(table, first)
            if dealt is not None:
                return dealt
            self.settle(table)

    def top_up(self, name: str) -> tuple[Move, Answer]:
        """Try to add a few chips to the shortest stack, whatever is answered."""
        seats = self.room.tables[name].seats
        seat, sitting = min(seats.items(), key=lambda one: one[1].chips)
        move = Move("top-up", name, sitting.player, seat, 100)
        patron = self.cashier.patrons[sitting.player]
        currency = self.room.tables[name].limits.currency
        return move, self.desks.floor.try_post(
            path_of(name, "top-ups"), fields_of(move, patron, currency)
        )

    def begun(self, name: str) -> Answer:
        """Say that a hand runs; a top-up meanwhile has to wait. Return what the top-up was told."""
        dealt = self.next_hand(name)
        self.desks.floor.post(path_of(name, f"hands/{dealt.game_number}/begin"))
        move, refused = self.top_up(name)
        self.post_each([dealt])
        self.carry_out(move)
        return refused

    def running(self, name: str) -> str:
        """Post a hand while it is played and again when it is finished; return its number."""
        dealt = self.next_hand(name)
        answer = self.desks.floor.post_hand(encode(record(dealt.heading, None)))
        if not answer.done:
            raise Refusal(f"running hand {dealt.game_number}", answer)
        self.post_each([dealt])
        return dealt.game_number

    def waiting(self, name: str) -> Answer:
        """Post two hands in the wrong order: the later one waits until the books allow it."""
        first = self.next_hand(name)
        while (second := self.room.deal(self.room.tables[name])) is None:
            self.post_each([first])
            first = self.next_hand(name)
        refused = self.desks.floor.post_hand(encode(second.record))
        self.post_each([first, second])
        return refused

    def lost(self, name: str) -> dict[str, Any]:
        """Lose a raked hand, and set the ledger's chips to what the game server has.

        The operator asks for it and cannot agree to it himself; the approver does.
        """
        dealt = self.next_hand(name)
        while not dealt.rake:
            self.post_each([dealt])
            dealt = self.next_hand(name)
        self.lost_hand = dealt.game_number
        seats = self.room.tables[name].seats
        asked = self.desks.operator.post(
            path_of(name, "resync"),
            chips_minor={str(number): seat.chips for number, seat in seats.items()},
            ground="technical-failure",
            reason=f"Hand {dealt.game_number} was lost with the game server's disk.",
            game_number=dealt.game_number,
        )
        grant = f"{asked['links']['approval']}/grant"
        self.alone = self.desks.operator_as_approver.try_post(grant, {})
        answer: dict[str, Any] = self.desks.approver.post(grant)
        self.twice = self.desks.approver.try_post(grant, {})
        result = answer["result"]
        self.tally.resynced += result["suspense_minor"]
        if result["suspense_minor"] != -dealt.rake:
            raise AssertionError(f"the lost hand's rake was {dealt.rake}: {answer}")
        return answer


_PATHS: Final = {"buy-in": "buy-ins", "top-up": "top-ups", "leave": "leave"}


def path_of(table: str, what: str = "") -> str:
    """Return the path of a table, or of something that is done at it."""
    name = table.replace(" ", "%20").replace(",", "%2C")
    return f"/v1/tables/{name}/{what}" if what else f"/v1/tables/{name}"


def fields_of(move: Move, patron: Patron, currency: str) -> dict[str, Any]:
    """Return what the ledger is told of a move."""
    fields: dict[str, Any] = {"player": patron.player}
    if move.kind != "leave":
        fields |= {"currency": currency, "amount_minor": move.amount}
    if move.kind == "buy-in":
        fields["seat"] = move.seat
    return fields
