"""Buying in, topping up, leaving, and hands that are being played."""

from typing import Any

import pytest

from ledger import accounts
from ledger.bounds import InvalidAmount, InvalidField
from ledger.cashier.commands import ChargeBackDeposit
from ledger.core import Refused
from ledger.hands.events import HandState, hand_stream
from ledger.players.commands import SuspendPlayer
from ledger.players.events import player_stream
from ledger.players.standing import (
    CurrencyMismatch,
    InsufficientFunds,
    PlayerIsSuspended,
    UnknownPlayer,
)
from ledger.tables.commands import (
    BeginHand,
    BuyIn,
    BuyInTooLarge,
    BuyInTooSmall,
    CloseTable,
    CrashTable,
    HandAlreadySettled,
    HandNotSettled,
    HandRunning,
    LeaveTable,
    NoCrashRule,
    PlayerAlreadySeated,
    PlayerNotSeated,
    ResyncTable,
    SeatTaken,
    SeatUnknown,
    TableIsClosed,
    TopUp,
    UnknownTable,
)
from ledger.tables.events import HandSettled, Seat, TableState, table_stream
from tests.ledger.given import (
    ALICE,
    BOB,
    CAROL,
    NETWORK,
    MemoryBook,
    a_book,
    fund,
    granted,
    names,
    open_table,
    register,
    sit,
)

TABLE = "Etomo"


@pytest.fixture
def book() -> MemoryBook:
    book = a_book()
    open_table(book)
    for player, nickname in ((ALICE, "alice"), (BOB, "bobby")):
        register(book, player, nickname)
        fund(book, 50_000, player)
    return book


def table(book: MemoryBook) -> TableState:
    found: TableState = book.get(table_stream(NETWORK, TABLE))
    return found


def bankroll(book: MemoryBook, player: str = ALICE) -> int:
    return -book.balance(accounts.bankroll(NETWORK, player))


def chips(book: MemoryBook, player: str = ALICE) -> int:
    return -book.balance(accounts.chips(NETWORK, TABLE, player))


def buy_in(book: MemoryBook, **fields: Any) -> BuyIn:
    asked: dict[str, Any] = {
        "table": TABLE,
        "player": ALICE,
        "seat": 1,
        "currency": "EUR",
        "amount_minor": 10_000,
    }
    return BuyIn(**book.ask(), **{**asked, **fields})


def top_up(book: MemoryBook, **fields: Any) -> TopUp:
    asked: dict[str, Any] = {
        "table": TABLE,
        "player": ALICE,
        "currency": "EUR",
        "amount_minor": 5_000,
    }
    return TopUp(**book.ask(), **{**asked, **fields})


def leave(book: MemoryBook, **fields: Any) -> LeaveTable:
    return LeaveTable(**book.ask(), **{"table": TABLE, "player": ALICE, **fields})


def begin(book: MemoryBook, game_number: str = "81", *seats: int) -> BeginHand:
    return BeginHand(**book.ask(), table=TABLE, game_number=game_number, seats=seats)


def settle(book: MemoryBook, game_number: str = "81", **net: int) -> None:
    ask = book.ask()
    event = HandSettled(
        occurred_at=ask["at"],
        actor="test",
        request_id=f"hand:{game_number}",
        rulebook="entraction@2013-01-01",
        game_number=game_number,
        started_at=ask["at"],
        net_minor={int(seat[1:]): amount for seat, amount in net.items()},
    )
    book.record([(table_stream(NETWORK, TABLE), event)])


def suspend(book: MemoryBook) -> None:
    book.when(SuspendPlayer(**book.ask(), player=ALICE, ground="fraud", reason="Case 1."))


# -- buying in ------------------------------------------------------------------------------


def test_buying_in_turns_bankroll_into_chips(book: MemoryBook) -> None:
    decision = book.when(buy_in(book))
    assert names(decision.changes) == ["player.bought_in.v1", "table.chips_bought.v1"]
    assert decision.answer == {
        "table": TABLE,
        "seat": 1,
        "player": ALICE,
        "currency": "EUR",
        "chips_minor": 10_000,
        "bankroll_minor": 40_000,
    }
    assert table(book).seats == {1: Seat(ALICE, "kerching", 10_000)}
    assert (bankroll(book), chips(book)) == (40_000, 10_000)
    assert book.get(player_stream(NETWORK, ALICE)).seats == {TABLE: 1}


def test_the_mirror_on_the_table_moves_no_money(book: MemoryBook) -> None:
    (_, bought), (_, mirror) = book.when(buy_in(book)).changes
    assert len(bought.postings()) == 2
    assert mirror.postings() == ()


BUY_INS: list[tuple[dict[str, Any], type[Refused], str, str]] = [
    ({"amount_minor": 0}, InvalidAmount, "invalid-amount", "amount_minor"),
    ({"table": "Nowhere"}, UnknownTable, "unknown-table", "table"),
    ({"player": CAROL}, UnknownPlayer, "unknown-player", "player"),
    ({"seat": 0}, SeatUnknown, "seat-unknown", "seat"),
    ({"seat": 7}, SeatUnknown, "seat-unknown", "seat"),
    ({"currency": "USD"}, CurrencyMismatch, "currency-mismatch", "currency"),
    ({"amount_minor": 3_999}, BuyInTooSmall, "buy-in-too-small", "amount_minor"),
    ({"amount_minor": 20_001}, BuyInTooLarge, "buy-in-too-large", "amount_minor"),
    ({"after_game_number": "81"}, HandNotSettled, "hand-not-settled", "after_game_number"),
]


@pytest.mark.parametrize(("fields", "refusal", "code", "field"), BUY_INS)
def test_an_impossible_buy_in_is_refused(
    book: MemoryBook, fields: dict[str, Any], refusal: type[Refused], code: str, field: str
) -> None:
    with pytest.raises(refusal) as refused:
        book.when(buy_in(book, **fields))
    assert (refused.value.code, refused.value.field) == (code, field)


@pytest.mark.parametrize("amount_minor", [4_000, 20_000])
def test_the_smallest_and_the_largest_buy_in_are_accepted(
    book: MemoryBook, amount_minor: int
) -> None:
    book.when(buy_in(book, amount_minor=amount_minor))
    assert chips(book) == amount_minor


def test_a_seat_is_taken_by_one_player(book: MemoryBook) -> None:
    book.when(buy_in(book))
    with pytest.raises(SeatTaken) as refused:
        book.when(buy_in(book, player=BOB))
    assert refused.value.code == "seat-taken"


def test_a_player_has_one_seat_at_a_table(book: MemoryBook) -> None:
    book.when(buy_in(book))
    with pytest.raises(PlayerAlreadySeated) as refused:
        book.when(buy_in(book, seat=2))
    assert refused.value.code == "player-already-seated"


def test_a_player_may_sit_at_several_tables(book: MemoryBook) -> None:
    book.when(buy_in(book))
    other = open_table(book, "Hebron")
    book.when(buy_in(book, table=other, seat=6))
    assert book.get(player_stream(NETWORK, ALICE)).seats == {TABLE: 1, "Hebron": 6}


def test_buying_in_for_more_than_the_bankroll_is_refused(book: MemoryBook) -> None:
    register(book, CAROL, "carol")
    fund(book, 9_999, CAROL)
    with pytest.raises(InsufficientFunds) as refused:
        book.when(buy_in(book, player=CAROL))
    assert refused.value.extra == {"available_minor": 9_999, "currency": "EUR"}


def test_a_suspended_player_does_not_sit_down(book: MemoryBook) -> None:
    suspend(book)
    with pytest.raises(PlayerIsSuspended):
        book.when(buy_in(book))


def test_nobody_sits_down_at_a_closed_table(book: MemoryBook) -> None:
    book.when(CloseTable(**book.ask(), table=TABLE))
    with pytest.raises(TableIsClosed):
        book.when(buy_in(book))


@pytest.mark.parametrize("amount_minor", [1, 50_000])
def test_an_inferred_buy_in_is_not_bound_by_the_tables_limits(
    book: MemoryBook, amount_minor: int
) -> None:
    decision = book.when(buy_in(book, amount_minor=amount_minor, inferred=True))
    assert all(getattr(event, "inferred", False) for _, event in decision.changes)
    assert chips(book) == amount_minor


def test_an_inferred_buy_in_needs_the_money_all_the_same(book: MemoryBook) -> None:
    with pytest.raises(InsufficientFunds):
        book.when(buy_in(book, amount_minor=50_001, inferred=True))


def test_a_player_may_sit_down_at_a_free_seat_during_a_hand(book: MemoryBook) -> None:
    sit(book, TABLE, 2, player=BOB)
    book.when(begin(book))
    book.when(buy_in(book))
    assert table(book).running_seats == (2,)
    book.when(top_up(book))


# -- topping up -----------------------------------------------------------------------------


def test_topping_up_adds_chips_between_hands(book: MemoryBook) -> None:
    book.when(buy_in(book))
    decision = book.when(top_up(book))
    assert names(decision.changes) == ["player.topped_up.v1", "table.chips_added.v1"]
    assert (decision.answer["chips_minor"], decision.answer["bankroll_minor"]) == (15_000, 35_000)
    assert (bankroll(book), chips(book), table(book).seats[1].chips_minor) == (
        35_000,
        15_000,
        15_000,
    )


TOP_UPS: list[tuple[dict[str, Any], type[Refused], str]] = [
    ({"amount_minor": -1}, InvalidAmount, "amount_minor"),
    ({"table": "Nowhere"}, UnknownTable, "table"),
    ({"player": BOB}, PlayerNotSeated, "player"),
    ({"player": CAROL}, UnknownPlayer, "player"),
    ({"currency": "XPM"}, CurrencyMismatch, "currency"),
    ({"amount_minor": 10_001}, BuyInTooLarge, "amount_minor"),
    ({"after_game_number": "82"}, HandNotSettled, "after_game_number"),
]


@pytest.mark.parametrize(("fields", "refusal", "field"), TOP_UPS)
def test_an_impossible_top_up_is_refused(
    book: MemoryBook, fields: dict[str, Any], refusal: type[Refused], field: str
) -> None:
    book.when(buy_in(book))
    with pytest.raises(refusal) as refused:
        book.when(top_up(book, **fields))
    assert refused.value.field == field


def test_what_was_won_counts_against_the_maximum(book: MemoryBook) -> None:
    book.when(buy_in(book))
    sit(book, TABLE, 2, player=BOB)
    settle(book, "81", s1=6_000, s2=-6_000)
    with pytest.raises(BuyInTooLarge) as refused:
        book.when(top_up(book))
    assert refused.value.extra == {"maximum_minor": 20_000}
    book.when(top_up(book, inferred=True))


def test_a_top_up_needs_the_money(book: MemoryBook) -> None:
    register(book, CAROL, "carol")
    fund(book, 10_000, CAROL)
    sit(book, TABLE, 3, 8_000, CAROL)
    with pytest.raises(InsufficientFunds):
        book.when(top_up(book, player=CAROL, amount_minor=2_001))


def test_a_suspended_player_adds_no_chips(book: MemoryBook) -> None:
    book.when(buy_in(book))
    suspend(book)
    with pytest.raises(PlayerIsSuspended):
        book.when(top_up(book))


@pytest.mark.parametrize("command", [top_up, leave])
def test_chips_stay_where_they_are_during_a_hand(book: MemoryBook, command: Any) -> None:
    book.when(buy_in(book))
    book.when(begin(book))
    with pytest.raises(HandRunning) as refused:
        book.when(command(book))
    assert (refused.value.code, refused.value.retry) == ("hand-running", "later")
    assert refused.value.extra == {"game_number": "81"}
    settle(book)
    book.when(command(book))


@pytest.mark.parametrize("command", [top_up, leave])
def test_chips_may_move_after_a_settled_hand_though_the_next_has_begun(
    book: MemoryBook, command: Any
) -> None:
    book.when(buy_in(book))
    book.when(begin(book, "81"))
    with pytest.raises(HandNotSettled) as refused:
        book.when(command(book, after_game_number="81"))
    assert (refused.value.code, refused.value.retry) == ("hand-not-settled", "later")
    settle(book, "81")
    book.when(begin(book, "82"))
    book.when(command(book, after_game_number="81"))


def test_chips_may_not_move_during_a_hand_because_an_old_one_is_named(book: MemoryBook) -> None:
    book.when(buy_in(book))
    book.when(begin(book, "82"))
    with pytest.raises(HandNotSettled):
        book.when(top_up(book, after_game_number="80"))


@pytest.mark.parametrize(
    ("table_of_hand", "refusal"), [(TABLE, HandRunning), ("Hebron", HandNotSettled)]
)
def test_naming_a_hand_before_the_last_one_does_not_help_during_a_hand(
    book: MemoryBook, table_of_hand: str, refusal: type[Refused]
) -> None:
    book.when(buy_in(book))
    book.states[hand_stream(NETWORK, "79")] = booked_hand(table_of_hand)
    settle(book, "80")
    book.when(begin(book, "81"))
    with pytest.raises(refusal):
        book.when(top_up(book, after_game_number="79"))
    settle(book, "81")
    if table_of_hand == TABLE:
        book.when(top_up(book, after_game_number="79"))


def test_a_hand_that_was_booked_elsewhere_does_not_begin(book: MemoryBook) -> None:
    book.states[hand_stream(NETWORK, "79")] = booked_hand("Hebron")
    with pytest.raises(HandAlreadySettled):
        book.when(begin(book, "79"))


def booked_hand(table_of_hand: str) -> HandState:
    return HandState(
        content_digest="", table=table_of_hand, players=(), record=b"", dictionary=0, answer={}
    )


def test_a_player_who_is_not_in_the_running_hand_may_move_his_chips(book: MemoryBook) -> None:
    book.when(buy_in(book))
    sit(book, TABLE, 2, player=BOB)
    book.when(begin(book, "81", 2))
    book.when(top_up(book))
    book.when(leave(book))
    with pytest.raises(HandRunning):
        book.when(leave(book, player=BOB))


# -- leaving --------------------------------------------------------------------------------


def test_leaving_turns_all_chips_into_bankroll(book: MemoryBook) -> None:
    book.when(buy_in(book))
    decision = book.when(leave(book))
    assert names(decision.changes) == ["player.cashed_out.v1", "table.seat_left.v1"]
    assert decision.answer["cashed_out_minor"] == 10_000
    assert (bankroll(book), chips(book), table(book).seats) == (50_000, 0, {})
    assert book.get(player_stream(NETWORK, ALICE)).seats == {}


def test_a_player_without_chips_leaves_without_postings(book: MemoryBook) -> None:
    book.when(buy_in(book))
    sit(book, TABLE, 2, player=BOB)
    settle(book, "81", s1=-10_000, s2=10_000)
    decision = book.when(leave(book))
    assert decision.answer["cashed_out_minor"] == 0
    assert [event.postings() for _, event in decision.changes] == [(), ()]
    book.when(buy_in(book))


def test_a_suspended_player_may_leave(book: MemoryBook) -> None:
    book.when(buy_in(book))
    suspend(book)
    book.when(leave(book))
    assert bankroll(book) == 50_000


def test_whoever_does_not_sit_cannot_leave(book: MemoryBook) -> None:
    with pytest.raises(PlayerNotSeated) as refused:
        book.when(leave(book))
    assert refused.value.code == "player-not-seated"


def test_an_inferred_departure_says_so(book: MemoryBook) -> None:
    book.when(buy_in(book))
    decision = book.when(leave(book, inferred=True))
    assert all(getattr(event, "inferred", False) for _, event in decision.changes)


def test_a_debt_is_collected_when_chips_come_back(book: MemoryBook) -> None:
    register(book, CAROL, "carol")
    deposit = fund(book, 10_000, CAROL)
    sit(book, TABLE, 3, 10_000, CAROL)
    book.when(ChargeBackDeposit(**book.ask(), deposit=deposit, reason="Dispute."))
    settle(book, "81", s3=-4_000)
    decision = book.when(leave(book, player=CAROL))
    assert names(decision.changes) == [
        "player.cashed_out.v1",
        "player.debt_collected.v1",
        "table.seat_left.v1",
    ]
    assert decision.answer["debt_collected_minor"] == 6_000
    purse = book.get(player_stream(NETWORK, CAROL)).purse("EUR")
    assert (purse.bankroll_minor, purse.debt_minor) == (0, 4_000)


# -- hands ----------------------------------------------------------------------------------


def test_a_begun_hand_has_all_occupied_seats_or_those_named(book: MemoryBook) -> None:
    book.when(buy_in(book))
    sit(book, TABLE, 4, player=BOB)
    assert book.when(begin(book, "81")).answer["seats"] == [1, 4]
    settle(book, "81")
    assert book.when(begin(book, "82", 4, 1, 4)).answer["seats"] == [1, 4]
    assert (table(book).running, table(book).running_seats) == ("82", (1, 4))


def test_one_hand_runs_at_a_time(book: MemoryBook) -> None:
    book.when(begin(book, "81"))
    with pytest.raises(HandRunning):
        book.when(begin(book, "82"))


def test_a_settled_hand_does_not_begin_again(book: MemoryBook) -> None:
    settle(book, "81")
    with pytest.raises(HandAlreadySettled) as refused:
        book.when(begin(book, "81"))
    assert (refused.value.code, refused.value.retry) == ("hand-already-settled", "never")


def test_a_hand_does_not_begin_with_an_empty_seat(book: MemoryBook) -> None:
    book.when(buy_in(book))
    with pytest.raises(SeatUnknown):
        book.when(begin(book, "81", 1, 2))


@pytest.mark.parametrize("game_number", ["", "x" * 65, "a\nb"])
def test_a_hand_has_a_printable_number(book: MemoryBook, game_number: str) -> None:
    with pytest.raises(InvalidField) as refused:
        book.when(begin(book, game_number))
    assert refused.value.field == "game_number"


def test_a_settled_hand_moves_chips_and_ends_the_running_one(book: MemoryBook) -> None:
    book.when(buy_in(book))
    sit(book, TABLE, 2, player=BOB)
    book.when(begin(book, "81"))
    settle(book, "81", s1=-300, s2=285)
    state = table(book)
    assert {seat: held.chips_minor for seat, held in state.seats.items()} == {1: 9_700, 2: 10_285}
    assert (state.running, state.last_hand, state.hands) == (None, "81", 1)


def test_a_hand_posted_late_does_not_end_the_running_one(book: MemoryBook) -> None:
    book.when(buy_in(book))
    book.when(begin(book, "82"))
    settle(book, "81")
    assert (table(book).running, table(book).running_seats) == ("82", (1,))


# -- resync and crash -----------------------------------------------------------------------


def resync(book: MemoryBook, chips_minor: dict[int, int], **fields: Any) -> ResyncTable:
    asked: dict[str, Any] = {
        "table": TABLE,
        "chips_minor": chips_minor,
        "ground": "technical-failure",
        "reason": "Hand 82 was lost when the server restarted.",
        "game_number": "82",
    }
    return ResyncTable(**book.ask(), **{**asked, **fields})


def test_resyncing_books_each_players_difference_to_suspense(book: MemoryBook) -> None:
    book.when(buy_in(book))
    sit(book, TABLE, 2, player=BOB)
    book.when(begin(book, "82"))
    decision = granted(book, resync(book, {1: 10_700, 2: 9_280}))
    assert names(decision.changes) == [
        "approval.granted.v1",
        "player.chips_corrected.v1",
        "player.chips_corrected.v1",
        "table.resynced.v1",
    ]
    result = decision.answer["result"]
    assert result["difference_minor"] == {"1": 700, "2": -720}
    assert result["suspense_minor"] == -20
    assert (chips(book, ALICE), chips(book, BOB)) == (10_700, 9_280)
    assert book.balance(accounts.suspense(NETWORK)) == -20
    state = table(book)
    assert (state.running, state.last_hand) == (None, "82")
    assert {seat: held.chips_minor for seat, held in state.seats.items()} == {1: 10_700, 2: 9_280}


def test_resyncing_without_a_difference_moves_nothing_and_ends_the_hand(book: MemoryBook) -> None:
    book.when(buy_in(book))
    settle(book, "81")
    book.when(begin(book, "82"))
    decision = book.when(resync(book, {1: 10_000}, game_number=None))
    assert names(decision.changes) == ["table.resynced.v1"]
    assert (table(book).running, table(book).last_hand) == (None, "81")


RESYNCS: list[tuple[dict[int, int], dict[str, Any], type[Refused], str]] = [
    ({}, {}, SeatUnknown, "chips_minor"),
    ({1: 1, 2: 1}, {}, SeatUnknown, "chips_minor"),
    ({1: -1}, {}, InvalidAmount, "chips_minor"),
    ({1: 1}, {"ground": "bad-luck"}, InvalidField, "ground"),
    ({1: 1}, {"reason": ""}, InvalidField, "reason"),
    ({1: 1}, {"game_number": ""}, InvalidField, "game_number"),
    ({1: 1}, {"table": "Nowhere"}, UnknownTable, "table"),
]


@pytest.mark.parametrize(("chips_minor", "fields", "refusal", "field"), RESYNCS)
def test_an_impossible_resync_is_refused(
    book: MemoryBook,
    chips_minor: dict[int, int],
    fields: dict[str, Any],
    refusal: type[Refused],
    field: str,
) -> None:
    book.when(buy_in(book))
    with pytest.raises(refusal) as refused:
        book.when(resync(book, chips_minor, **fields))
    assert refused.value.field == field


def test_a_crash_cancels_the_hand_and_returns_all_chips(book: MemoryBook) -> None:
    """Source: K 10.1.7."""
    book.when(buy_in(book))
    sit(book, TABLE, 2, player=BOB)
    book.when(begin(book, "81"))
    decision = book.when(CrashTable(**book.ask(), table=TABLE, reason="Power cut."))
    assert names(decision.changes) == [
        "table.crashed.v1",
        "player.cashed_out.v1",
        "table.seat_left.v1",
        "player.cashed_out.v1",
        "table.seat_left.v1",
    ]
    assert decision.answer["cancelled"] == "81"
    assert (bankroll(book, ALICE), bankroll(book, BOB)) == (50_000, 50_000)
    state = table(book)
    assert (state.status, state.running, state.seats) == ("open", None, {})


def test_a_crash_needs_a_ground_of_the_rulebook(book: MemoryBook) -> None:
    with pytest.raises(InvalidField):
        book.when(CrashTable(**book.ask(), table=TABLE, reason="?", ground="bad-luck"))


def test_a_rulebook_may_have_no_rule_for_crashes() -> None:
    book = a_book("gamevelvet")
    terms: dict[str, Any] = {"rulebook": "gamevelvet", "currency": "XCR", "game": "FiveCardDraw"}
    blinds = {"small_blind_minor": 0, "big_blind_minor": 0, "ante_minor": 10}
    open_table(book, bet_type="NL", size=4, **terms, **blinds)
    with pytest.raises(NoCrashRule) as refused:
        book.when(CrashTable(**book.ask(), table=TABLE, reason="Power cut."))
    assert refused.value.code == "no-crash-rule"
