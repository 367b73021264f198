"""What may be asked of a cash table, and when it is refused."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from msgspec.structs import replace

from ledger import money
from ledger.bounds import InvalidField, amount, text
from ledger.core import (
    Approvable,
    Asked,
    Book,
    Command,
    Context,
    Decision,
    Event,
    Kind,
    Refused,
    Retry,
)
from ledger.hands.events import HandState, hand_stream
from ledger.players.events import (
    BoughtIn,
    CashedOut,
    ChipsCorrected,
    PlayerState,
    ToppedUp,
    player_stream,
)
from ledger.players.standing import CurrencyMismatch, active, affordable, debt_collected, known
from ledger.rulebooks import Rulebook, adopted, asked
from ledger.tables import stakes
from ledger.tables.events import (
    ChipsAdded,
    ChipsBought,
    HandBegun,
    SeatLeft,
    TableClosed,
    TableCrashed,
    TableOpened,
    TableResynced,
    TableState,
    table_id,
    table_stream,
)


class UnknownTable(Refused):
    """No table of this network has that id."""

    code = "unknown-table"
    kind: ClassVar[Kind] = "missing"


class TableIsClosed(Refused):
    """The table was closed; it may be opened again."""

    code = "table-closed"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "later"


class TableExists(Refused):
    """A table of that name is open."""

    code = "table-exists"
    kind: ClassVar[Kind] = "conflict"


class TableNotEmpty(Refused):
    """Players sit at the table."""

    code = "table-not-empty"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "later"


class SeatUnknown(Refused):
    """The table has no such seat, or nobody sits in it."""

    code = "seat-unknown"


class SeatTaken(Refused):
    """Somebody sits there."""

    code = "seat-taken"
    kind: ClassVar[Kind] = "conflict"


class PlayerAlreadySeated(Refused):
    """A player has one seat at a table."""

    code = "player-already-seated"
    kind: ClassVar[Kind] = "conflict"


class PlayerNotSeated(Refused):
    """The player does not sit at the table."""

    code = "player-not-seated"
    kind: ClassVar[Kind] = "conflict"


class BuyInTooSmall(Refused):
    """Less than the table's minimum. Source: K 10.1.2."""

    code = "buy-in-too-small"


class BuyInTooLarge(Refused):
    """More in front of the player than the table's maximum. Source: K 10.1.2."""

    code = "buy-in-too-large"


class HandRunning(Refused):
    """Chips are added and taken off between hands only. Source: K 10.1.2, E."""

    code = "hand-running"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "later"


class HandNotSettled(Refused):
    """The hand that this is to follow is not booked yet."""

    code = "hand-not-settled"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "later"


class HandAlreadySettled(Refused):
    """The hand was booked already."""

    code = "hand-already-settled"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class NoCrashRule(Refused):
    """The table's rulebook does not say what becomes of its money when a server crashes."""

    code = "no-crash-rule"


class OpenTable(Command, frozen=True, kw_only=True):
    """Open a cash table, or one of that name that was closed.

    Without ``min_buy_in_minor`` the rulebook's minimum for the stakes applies. An ``inferred``
    table comes from imported history and may have any buy-in limits.
    Raises TableExists, UnknownRulebook and what ``stakes.check`` raises. Source: K 10.1.2.
    """

    name: str
    rulebook: str
    game: str
    bet_type: str
    currency: str
    size: int
    small_blind_minor: int = 0
    big_blind_minor: int = 0
    ante_minor: int = 0
    small_bet_minor: int | None = None
    big_bet_minor: int | None = None
    bring_in_minor: int | None = None
    spread_minor: tuple[int, ...] = ()
    hole_cards: int | None = None
    min_buy_in_minor: int | None = None
    max_buy_in_minor: int | None = None
    jackpot: str | None = None
    inferred: bool = False

    def touches(self) -> tuple[str, ...]:
        return (table_stream(self.network, table_id(self.name)),)

    def decide(self, book: Book) -> Decision:
        rulebook = adopted(book, self.network, self.rulebook, self.at.date())
        opened = self._opened(rulebook)
        stakes.check(opened, rulebook)
        stream = table_stream(self.network, opened.table_id)
        before: TableState | None = book.get(stream)
        if before is not None and before.status == "open":
            raise TableExists("A table of this name is open.", field="name")
        return Decision(
            changes=[(stream, opened)],
            answer={
                "table": opened.table_id,
                "name": self.name,
                "status": "open",
                "rulebook": rulebook.ref,
                "currency": self.currency,
                "min_buy_in_minor": opened.min_buy_in_minor,
                "max_buy_in_minor": opened.max_buy_in_minor,
            },
        )

    def _opened(self, rulebook: Rulebook) -> TableOpened:
        opened = TableOpened(
            **self.context(rulebook.ref),
            network=self.network,
            table_id=table_id(self.name),
            name=self.name,
            game=self.game,
            bet_type=self.bet_type,
            currency=self.currency,
            size=self.size,
            small_blind_minor=self.small_blind_minor,
            big_blind_minor=self.big_blind_minor,
            ante_minor=self.ante_minor,
            small_bet_minor=self.small_bet_minor,
            big_bet_minor=self.big_bet_minor,
            bring_in_minor=self.bring_in_minor,
            spread_minor=self.spread_minor,
            hole_cards=self.hole_cards,
            min_buy_in_minor=self.min_buy_in_minor or 0,
            max_buy_in_minor=self.max_buy_in_minor,
            jackpot=self.jackpot,
            inferred=self.inferred,
        )
        rule = stakes.rule_for(opened, rulebook)
        if self.min_buy_in_minor is not None or rule is None:
            return opened
        return replace(opened, min_buy_in_minor=rule.minimum_minor)


class BuyIn(Command, frozen=True, kw_only=True):
    """Seat a player with chips from his bankroll.

    An ``inferred`` buy-in comes from imported history: the table's limits do not bind it, nor how
    many seats there are, because some sites number those of a two-seat table 1 and 6.
    Raises InvalidAmount, UnknownTable, TableIsClosed, UnknownPlayer, PlayerIsClosed,
    PlayerIsSuspended, CurrencyMismatch, SeatUnknown, SeatTaken, PlayerAlreadySeated,
    BuyInTooSmall, BuyInTooLarge, InsufficientFunds, HandNotSettled. Source: K 1.11, 10.1.2.
    """

    table: str
    player: str
    seat: int
    currency: str
    amount_minor: int
    after_game_number: str | None = None
    inferred: bool = False

    def touches(self) -> tuple[str, ...]:
        return _streams(self)

    def decide(self, book: Book) -> Decision:
        amount(self.amount_minor)
        table = _open(book, self.network, self.table)
        player = active(book, self.network, self.player)
        _free_seat(table, self.seat, player, any_number=self.inferred)
        if self.currency != table.currency:
            raise CurrencyMismatch("The table plays in another currency.", field="currency")
        if self.after_game_number is not None:
            _settled(book, table, self.after_game_number)
        if not self.inferred:
            if self.amount_minor < table.min_buy_in_minor:
                raise BuyInTooSmall(
                    "Less than the table's minimum.",
                    field="amount_minor",
                    minimum_minor=table.min_buy_in_minor,
                )
            _not_too_large(table, self.amount_minor)
        affordable(player, table.currency, self.amount_minor)
        context = self.context(_rulebook(book, self, table).ref)
        bought = BoughtIn(
            **context,
            network=self.network,
            player=self.player,
            table=self.table,
            seat=self.seat,
            currency=table.currency,
            amount_minor=self.amount_minor,
            inferred=self.inferred,
        )
        seated = ChipsBought(
            **context,
            player=self.player,
            partner=player.partner,
            seat=self.seat,
            amount_minor=self.amount_minor,
            inferred=self.inferred,
        )
        left = player.purse(table.currency).bankroll_minor - self.amount_minor
        return Decision(
            changes=[
                (player_stream(self.network, self.player), bought),
                (table_stream(self.network, self.table), seated),
            ],
            answer=_seat_answer(table, self.seat, self.player, self.amount_minor, left),
        )


class TopUp(Command, frozen=True, kw_only=True):
    """Put more chips from the bankroll in front of a seated player, between hands.

    ``after_game_number`` says after which hand it was: then a hand begun since does not matter.
    Raises InvalidAmount, UnknownTable, TableIsClosed, UnknownPlayer, PlayerIsClosed,
    PlayerIsSuspended, CurrencyMismatch, PlayerNotSeated, HandRunning, HandNotSettled,
    BuyInTooLarge, InsufficientFunds. Source: K 10.1.2, E.
    """

    table: str
    player: str
    currency: str
    amount_minor: int
    after_game_number: str | None = None
    inferred: bool = False

    def touches(self) -> tuple[str, ...]:
        return _streams(self)

    def decide(self, book: Book) -> Decision:
        amount(self.amount_minor)
        table = _open(book, self.network, self.table)
        player = active(book, self.network, self.player)
        seat = _seat_of(table, self.player)
        if self.currency != table.currency:
            raise CurrencyMismatch("The table plays in another currency.", field="currency")
        _between_hands(book, table, seat, self.after_game_number)
        chips = table.seats[seat].chips_minor + self.amount_minor
        if not self.inferred:
            _not_too_large(table, chips)
        affordable(player, table.currency, self.amount_minor)
        context = self.context(_rulebook(book, self, table).ref)
        topped_up = ToppedUp(
            **context,
            network=self.network,
            player=self.player,
            table=self.table,
            currency=table.currency,
            amount_minor=self.amount_minor,
            inferred=self.inferred,
        )
        added = ChipsAdded(
            **context,
            player=self.player,
            seat=seat,
            amount_minor=self.amount_minor,
            inferred=self.inferred,
        )
        left = player.purse(table.currency).bankroll_minor - self.amount_minor
        return Decision(
            changes=[
                (player_stream(self.network, self.player), topped_up),
                (table_stream(self.network, self.table), added),
            ],
            answer=_seat_answer(table, seat, self.player, chips, left),
        )


class LeaveTable(Command, frozen=True, kw_only=True):
    """Empty a seat: all its chips go back to the player's bankroll.

    A suspended player may leave. What the player owes is collected first.
    Raises UnknownTable, TableIsClosed, UnknownPlayer, PlayerNotSeated, HandRunning,
    HandNotSettled. Source: K 1.11.
    """

    table: str
    player: str
    after_game_number: str | None = None
    inferred: bool = False

    def touches(self) -> tuple[str, ...]:
        return _streams(self)

    def decide(self, book: Book) -> Decision:
        table = _open(book, self.network, self.table)
        player = known(book, self.network, self.player)
        seat = _seat_of(table, self.player)
        _between_hands(book, table, seat, self.after_game_number)
        rulebook = _rulebook(book, self, table)
        context = self.context(rulebook.ref)
        changes, answer = _cash_out(table, seat, player, rulebook, context, inferred=self.inferred)
        return Decision(changes=changes, answer=answer)


class CloseTable(Command, frozen=True, kw_only=True):
    """Close a table that is empty, or with ``cash_out`` after everybody's chips went back.

    ``inferred``: imported history has the table's name at another game or other stakes.
    Raises UnknownTable, TableIsClosed, HandRunning, TableNotEmpty.
    """

    table: str
    cash_out: bool = False
    inferred: bool = False

    def touches(self) -> tuple[str, ...]:
        return (table_stream(self.network, self.table),)

    def decide(self, book: Book) -> Decision:
        table = _open(book, self.network, self.table)
        if table.running is not None:
            raise HandRunning("A hand is running.", field="table", game_number=table.running)
        if table.seats and not self.cash_out:
            raise TableNotEmpty(
                "Players sit at the table.", field="table", seats=sorted(table.seats)
            )
        rulebook = _rulebook(book, self, table)
        context = self.context(rulebook.ref)
        changes, cashed_out = _cash_everybody_out(
            book, table, rulebook, context, inferred=self.inferred
        )
        closed = TableClosed(**context, inferred=self.inferred)
        return Decision(
            changes=[*changes, (table_stream(self.network, self.table), closed)],
            answer={"table": self.table, "status": "closed", "cashed_out": cashed_out},
        )


class BeginHand(Command, frozen=True, kw_only=True):
    """Say that a hand is being played; chips of its seats stay where they are until it is booked.

    Without ``seats`` all occupied ones are in it.
    Raises UnknownTable, TableIsClosed, InvalidField, SeatUnknown, HandRunning,
    HandAlreadySettled.
    """

    table: str
    game_number: str
    seats: tuple[int, ...] = ()

    def touches(self) -> tuple[str, ...]:
        return (
            table_stream(self.network, self.table),
            hand_stream(self.network, self.game_number),
        )

    def decide(self, book: Book) -> Decision:
        text(self.game_number, "game_number", longest=64)
        table = _open(book, self.network, self.table)
        for seat in self.seats:
            if seat not in table.seats:
                raise SeatUnknown("Nobody sits there.", field="seats", seat=seat)
        if table.running is not None:
            raise HandRunning("A hand is running.", field="table", game_number=table.running)
        hand = book.get(hand_stream(self.network, self.game_number))
        if hand is not None or self.game_number == table.last_hand:
            raise HandAlreadySettled("The hand was booked already.", field="game_number")
        seats = tuple(sorted(set(self.seats or table.seats)))
        begun = HandBegun(
            **self.context(_rulebook(book, self, table).ref),
            game_number=self.game_number,
            seats=seats,
        )
        return Decision(
            changes=[(table_stream(self.network, self.table), begun)],
            answer={
                "table": self.table,
                "game_number": self.game_number,
                "status": "running",
                "seats": list(seats),
            },
        )


class ResyncTable(Approvable, frozen=True, kw_only=True):
    """Set every seat's chips to what the game server has, because a hand was lost.

    ``chips_minor`` names every occupied seat. The differences go to suspense, to be cleared.
    ``game_number`` is the lost hand, if it is known; a running hand ends with it.
    Raises UnknownTable, TableIsClosed, InvalidAmount, InvalidField, SeatUnknown.
    """

    ACTION: ClassVar[str] = "resync-table"

    table: str
    chips_minor: Mapping[int, int]
    ground: str
    reason: str
    game_number: str | None = None

    def touches(self) -> tuple[str, ...]:
        return (table_stream(self.network, self.table),)

    def approval(self, book: Book) -> Asked | None:
        table = _open(book, self.network, self.table)
        difference = self._difference(table)
        given = sum(part for part in difference.values() if part > 0)
        taken = -sum(part for part in difference.values() if part < 0)
        # What one player loses another may get: the sum alone would hide it.
        at_stake = max(given, taken)
        return asked(
            _rulebook(book, self, table),
            self.ACTION,
            at_stake,
            table.currency,
            f"Set the chips at table {table.name}: players get {money.text(given, table.currency)}"
            f" and lose {money.text(taken, table.currency)} {table.currency}, through suspense.",
            table=table.table_id,
            difference_minor={str(seat): part for seat, part in difference.items()},
            suspense_minor=given - taken,
            ground=self.ground,
            reason=self.reason,
            **({} if self.game_number is None else {"game_number": self.game_number}),
        )

    def decide_approved(self, book: Book) -> Decision:
        table = _open(book, self.network, self.table)
        rulebook = _rulebook(book, self, table)
        _reasoned(rulebook, self.ground, self.reason)
        if self.game_number is not None:
            text(self.game_number, "game_number", longest=64)
        if set(self.chips_minor) != set(table.seats):
            raise SeatUnknown(
                "Every occupied seat is named, and no other.",
                field="chips_minor",
                seats=sorted(table.seats),
            )
        for chips in self.chips_minor.values():
            amount(chips, "chips_minor", least=0)
        context = self.context(rulebook.ref)
        difference = self._difference(table)
        corrected: list[tuple[str, Event]] = []
        for number, amount_minor in difference.items():
            owner = table.seats[number].player
            event = ChipsCorrected(
                **context,
                network=self.network,
                player=owner,
                table=self.table,
                currency=table.currency,
                difference_minor=amount_minor,
                ground=self.ground,
                reason=self.reason,
            )
            corrected.append((player_stream(self.network, owner), event))
        resynced = TableResynced(
            **context,
            game_number=self.game_number,
            difference_minor=difference,
            ground=self.ground,
            reason=self.reason,
        )
        return Decision(
            changes=[*corrected, (table_stream(self.network, self.table), resynced)],
            answer={
                "table": self.table,
                "currency": table.currency,
                "difference_minor": {str(seat): part for seat, part in difference.items()},
                "suspense_minor": sum(difference.values()),
            },
        )

    def _difference(self, table: TableState) -> dict[int, int]:
        return {
            number: self.chips_minor[number] - seat.chips_minor
            for number, seat in table.seats.items()
            if self.chips_minor[number] != seat.chips_minor
        }


class CrashTable(Command, frozen=True, kw_only=True):
    """Book a server crash: a running hand is cancelled, all chips return to the accounts.

    The stakes of a running hand are not booked before it ends, so that every participant has
    back what he put in. Raises UnknownTable, TableIsClosed, InvalidField, NoCrashRule.
    Source: K 10.1.7.
    """

    table: str
    reason: str
    ground: str = "technical-failure"

    def touches(self) -> tuple[str, ...]:
        return (table_stream(self.network, self.table),)

    def decide(self, book: Book) -> Decision:
        table = _open(book, self.network, self.table)
        rulebook = _rulebook(book, self, table)
        if rulebook.interruptions.server_crash == "none":
            raise NoCrashRule(f"{rulebook.title} has no rule for a crash.", field="table")
        _reasoned(rulebook, self.ground, self.reason)
        context = self.context(rulebook.ref)
        crashed = TableCrashed(
            **context, game_number=table.running, ground=self.ground, reason=self.reason
        )
        changes, cashed_out = _cash_everybody_out(book, table, rulebook, context)
        return Decision(
            changes=[(table_stream(self.network, self.table), crashed), *changes],
            answer={
                "table": self.table,
                "status": "open",
                "cancelled": table.running,
                "cashed_out": cashed_out,
            },
        )


def _streams(command: BuyIn | TopUp | LeaveTable) -> tuple[str, ...]:
    return (
        table_stream(command.network, command.table),
        player_stream(command.network, command.player),
    )


def _rulebook(book: Book, command: Command, table: TableState) -> Rulebook:
    return adopted(book, command.network, table.rulebook, command.at.date())


def _open(book: Book, network: str, table: str) -> TableState:
    state: TableState | None = book.get(table_stream(network, table))
    if state is None:
        raise UnknownTable("No such table.", field="table")
    if state.status == "closed":
        raise TableIsClosed("The table is closed.", field="table")
    return state


def _free_seat(table: TableState, seat: int, player: PlayerState, *, any_number: bool) -> None:
    if not (any_number or 1 <= seat <= table.size):
        raise SeatUnknown(f"The table has seats 1 to {table.size}.", field="seat")
    if table.seat_of(player.player) is not None:
        raise PlayerAlreadySeated("The player sits at this table.", field="player")
    if seat in table.seats:
        raise SeatTaken("Somebody sits there.", field="seat")


def _seat_of(table: TableState, player: str) -> int:
    seat = table.seat_of(player)
    if seat is None:
        raise PlayerNotSeated("The player does not sit at this table.", field="player")
    return seat


def _not_too_large(table: TableState, chips_minor: int) -> None:
    most = table.max_buy_in_minor
    if most is not None and chips_minor > most:
        raise BuyInTooLarge(
            "More than the table's maximum.", field="amount_minor", maximum_minor=most
        )


def _settled(book: Book, table: TableState, after: str) -> None:
    if after == table.last_hand:
        return
    hand: HandState | None = book.get(hand_stream(table.network, after))
    if hand is None or hand.table != table.table_id:
        raise HandNotSettled("That hand is not booked yet.", field="after_game_number")


def _between_hands(book: Book, table: TableState, seat: int, after: str | None) -> None:
    if after is not None:
        _settled(book, table, after)
        # Between that hand and the one begun since: the game server counted it in already.
        if after == table.last_hand:
            return
    if table.running is not None and seat in table.running_seats:
        raise HandRunning(
            "A hand is running; chips move when it is booked.",
            field="table",
            game_number=table.running,
        )


def _reasoned(rulebook: Rulebook, ground: str, reason: str) -> None:
    rules = rulebook.interventions
    grounds: Sequence[str] = ("technical-failure",) if rules == "none" else rules.grounds
    if ground not in grounds:
        raise InvalidField("Not a ground of the rulebook.", field="ground", grounds=list(grounds))
    text(reason, "reason")


def _seat_answer(
    table: TableState, seat: int, player: str, chips_minor: int, bankroll_minor: int
) -> dict[str, Any]:
    return {
        "table": table.table_id,
        "seat": seat,
        "player": player,
        "currency": table.currency,
        "chips_minor": chips_minor,
        "bankroll_minor": bankroll_minor,
    }


def _cash_out(
    table: TableState,
    seat: int,
    player: PlayerState,
    rulebook: Rulebook,
    context: Context,
    *,
    inferred: bool = False,
) -> tuple[list[tuple[str, Event]], dict[str, Any]]:
    chips = table.seats[seat].chips_minor
    collected = debt_collected(player, table.currency, chips, rulebook, context)
    taken = sum(event.amount_minor for event in collected)
    cashed_out = CashedOut(
        **context,
        network=table.network,
        player=player.player,
        table=table.table_id,
        currency=table.currency,
        amount_minor=chips,
        inferred=inferred,
    )
    left = SeatLeft(
        **context, player=player.player, seat=seat, amount_minor=chips, inferred=inferred
    )
    own = player_stream(table.network, player.player)
    changes: list[tuple[str, Event]] = [
        (own, cashed_out),
        *((own, event) for event in collected),
        (table_stream(table.network, table.table_id), left),
    ]
    bankroll = player.purse(table.currency).bankroll_minor + chips - taken
    answer = _seat_answer(table, seat, player.player, 0, bankroll)
    return changes, {**answer, "cashed_out_minor": chips, "debt_collected_minor": taken}


def _cash_everybody_out(
    book: Book,
    table: TableState,
    rulebook: Rulebook,
    context: Context,
    *,
    inferred: bool = False,
) -> tuple[list[tuple[str, Event]], list[dict[str, Any]]]:
    changes: list[tuple[str, Event]] = []
    answers: list[dict[str, Any]] = []
    for number, seat in table.seats.items():
        player = known(book, table.network, seat.player)
        more, answer = _cash_out(table, number, player, rulebook, context, inferred=inferred)
        changes += more
        answers.append(answer)
    return changes, answers
