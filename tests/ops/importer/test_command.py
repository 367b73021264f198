"""What one hand of real history implies, and what is booked of it."""

import json
from typing import Any

import pytest

from ledger import accounts
from ledger.core import Refused
from ledger.hands import ohh, reading
from ledger.players.events import player_stream
from ledger.tables.events import TableState, table_stream
from ops.importer.command import ImportHand, import_of, network_of
from tests.ledger.given import (
    ALICE,
    IDENTITY,
    NETWORK,
    MemoryBook,
    a_book,
    fund,
    names,
    open_table,
    register,
    sit,
)

Seats = dict[int, tuple[str, float]]
"""Seat -> name and starting stack."""


def a_hand(number: str, seats: Seats, **changed: Any) -> ohh.Hand:
    """Write down a hand: the first posts 1 and folds, the second posts 2, the others look on."""
    first, second, *_ = seats
    body = {
        "game_number": number,
        "start_date_utc": f"2011-03-21T16:{int(number):02}:00Z",
        "network_name": "Some Network",
        "table_name": "Etomo",
        "table_size": 6,
        "game_type": "Holdem",
        "bet_limit": {"bet_type": "NL"},
        "currency": "EUR",
        "dealer_seat": first,
        "small_blind_amount": 1,
        "big_blind_amount": 2,
        "players": [
            {"id": seat, "seat": seat, "name": name, "starting_stack": stack}
            for seat, (name, stack) in seats.items()
        ],
        "rounds": [
            {
                "street": "Preflop",
                "actions": [
                    {"player_id": first, "action": "Post SB", "amount": 1},
                    {"player_id": second, "action": "Post BB", "amount": 2},
                    {"player_id": first, "action": "Fold"},
                ],
            }
        ],
        "pots": [
            {
                "number": 0,
                "amount": 2,
                "player_wins": [{"player_id": second, "win_amount": 2}],
            }
        ],
        **changed,
    }
    return reading.read(json.dumps({"ohh": body}).encode())


def importing(hand: ohh.Hand) -> ImportHand:
    return import_of(IDENTITY, hand, "0" * 64, network=NETWORK)


def imported(book: MemoryBook, *hands: ohh.Hand) -> list[str]:
    """Import hands; return the names of what the last one became."""
    for hand in hands:
        decision = book.when(importing(hand))
        if decision.refusal is not None:
            raise decision.refusal
    return [name for name in names(decision.changes) if not name.startswith("hand.")]


def id_of(book: MemoryBook, nickname: str) -> str:
    return str(book.states[IDENTITY.nickname_claim(NETWORK, nickname)].holder)


def chips(book: MemoryBook) -> dict[int, int]:
    table: TableState = book.states[table_stream(NETWORK, "Etomo")]
    return {number: seat.chips_minor for number, seat in table.seats.items()}


def bankroll(book: MemoryBook, nickname: str) -> int:
    player = book.states[player_stream(NETWORK, id_of(book, nickname))]
    return int(player.purse("EUR").bankroll_minor)


def test_the_first_hand_brings_table_players_and_chips_into_being() -> None:
    book = a_book()
    imported(book, a_hand("1", {1: ("ann", 50), 4: ("ben", 80)}))
    assert chips(book) == {1: 4_900, 4: 8_100}
    assert bankroll(book, "ann") == bankroll(book, "ben") == 0
    assert book.balance(accounts.transit(NETWORK, "import")) == 13_000


def test_everything_that_was_inferred_says_so() -> None:
    book = a_book()
    imported(
        book,
        a_hand("1", {1: ("ann", 50), 4: ("ben", 80)}),
        a_hand("2", {1: ("ann", 60), 4: ("ben", 70)}),
        a_hand("3", {1: ("ann", 10), 4: ("ben", 10)}, big_blind_amount=4, small_blind_amount=2),
    )
    told = {event.NAME: event.inferred for _, event in book.history if hasattr(event, "inferred")}
    assert told == dict.fromkeys(
        (
            "player.registered.v1", "player.deposited.v1", "player.bought_in.v1",
            "player.topped_up.v1", "player.cashed_out.v1", "deposit.announced.v1",
            "table.opened.v1", "table.closed.v1", "table.chips_bought.v1", "table.chips_added.v1",
            "table.seat_left.v1",
        ),
        True,
    )  # fmt: skip


def test_stacks_that_carry_over_imply_nothing() -> None:
    book = a_book()
    first, second = {1: ("ann", 50), 4: ("ben", 80)}, {1: ("ann", 49), 4: ("ben", 81)}
    assert imported(book, a_hand("1", first), a_hand("2", second)) == ["table.hand_settled.v1"]


def test_more_chips_than_before_are_deposited_and_added() -> None:
    book = a_book()
    found = imported(
        book,
        a_hand("1", {1: ("ann", 50), 4: ("ben", 80)}),
        a_hand("2", {1: ("ann", 100), 4: ("ben", 81)}),
    )
    assert found[-3:] == [
        "player.topped_up.v1", "table.chips_added.v1", "table.hand_settled.v1",
    ]  # fmt: skip
    assert chips(book) == {1: 9_900, 4: 8_200}
    assert book.balance(accounts.transit(NETWORK, "import")) == 13_000 + 5_100


def test_fewer_chips_than_before_go_to_the_bankroll() -> None:
    book = a_book()
    found = imported(
        book,
        a_hand("1", {1: ("ann", 50), 4: ("ben", 80)}),
        a_hand("2", {1: ("ann", 20), 4: ("ben", 81)}),
    )
    assert "player.deposited.v1" not in found
    assert chips(book) == {1: 1_900, 4: 8_200}
    assert bankroll(book, "ann") == 2_900


def test_what_is_on_the_bankroll_is_not_deposited_again() -> None:
    book = a_book()
    found = imported(
        book,
        a_hand("1", {1: ("ann", 50), 4: ("ben", 80)}),
        a_hand("2", {1: ("ann", 20), 4: ("ben", 81)}),
        a_hand("3", {1: ("ann", 40), 4: ("ben", 82)}),
    )
    assert "player.deposited.v1" not in found
    assert bankroll(book, "ann") == 2_900 - 2_100


def test_who_is_absent_leaves_and_who_moves_takes_his_chips_along() -> None:
    book = a_book()
    imported(
        book,
        a_hand("1", {1: ("ann", 50), 4: ("ben", 80), 6: ("cy", 30)}),
        a_hand("2", {4: ("cy", 30), 6: ("ben", 81)}),
    )
    assert chips(book) == {4: 2_900, 6: 8_200}
    assert bankroll(book, "ann") == 4_900
    assert book.balance(accounts.transit(NETWORK, "import")) == 16_000


def test_who_looks_on_without_chips_is_registered_and_has_no_seat() -> None:
    book = a_book()
    imported(book, a_hand("1", {1: ("ann", 50), 4: ("ben", 80), 6: ("cy", 0)}))
    assert id_of(book, "cy")
    assert sorted(chips(book)) == [1, 4]


def test_seats_may_be_numbered_beyond_the_size_of_the_table() -> None:
    book = a_book()
    imported(book, a_hand("1", {4: ("ann", 50), 6: ("ben", 80)}, table_size=2))
    assert sorted(chips(book)) == [4, 6]


def test_play_money_is_given_out_and_marked() -> None:
    book = a_book()
    imported(book, a_hand("1", {1: ("ann", 50), 4: ("ben", 80)}, currency="XPM"))
    issued = [e for _, e in book.history if e.NAME == "player.play_money_issued.v1"]
    assert [(event.amount_minor, event.inferred) for event in issued] == [
        (5_000, True),
        (8_000, True),
    ]


def test_a_name_that_stands_for_other_stakes_is_opened_anew() -> None:
    book = a_book()
    later = a_hand("2", {1: ("ann", 49), 4: ("ben", 81)}, ante_amount=0.5)
    imported(book, a_hand("1", {1: ("ann", 50), 4: ("ben", 80)}), later)
    assert book.states[table_stream(NETWORK, "Etomo")].ante_minor == 50
    assert book.balance(accounts.transit(NETWORK, "import")) == 13_000


def test_a_hand_that_is_booked_is_not_booked_again_whatever_the_chips_are_now() -> None:
    book = a_book()
    first = a_hand("1", {1: ("ann", 50), 4: ("ben", 80)})
    imported(book, first, a_hand("2", {1: ("ann", 100), 4: ("ben", 81)}))
    decision = importing(first).decide(book)
    assert decision.answer["repeated"] is True
    assert not decision.changes


def test_another_content_under_a_booked_number_is_refused_and_moves_nothing() -> None:
    book = a_book()
    imported(book, a_hand("1", {1: ("ann", 50), 4: ("ben", 80)}))
    decision = importing(a_hand("1", {1: ("ann", 60), 4: ("ben", 80)})).decide(book)
    assert decision.refusal is not None
    assert decision.refusal.code == "different-content"
    assert names(decision.changes) == ["hand.contested.v1"]


@pytest.mark.parametrize(
    ("seats", "changed", "code"),
    [
        ({1: ("ann", 50), 4: ("ben", 80)}, {"pots": []}, "money-not-conserved"),
        ({1: ("ann", 0), 4: ("ben", 80)}, {}, "stake-exceeds-chips"),
        ({1: ("ann", 50), 4: ("ann", 80)}, {}, "duplicate-player"),
        ({1: ("ann", 50), 4: ("ben", 80)}, {"game_type": "Badugi"}, "unknown-game"),
        ({1: ("ann", 50), 4: ("ben", 80)}, {"currency": "USD"}, "currency-mismatch"),
        ({1: ("ann", 50), 4: ("ben", 80)}, {"x_rulebook": "unheard-of"}, "unknown-rulebook"),
        ({1: ("ann", 50), 4: ("ben", 80)}, {"tournament": True}, "not-a-cash-hand"),
        ({1: ("ann", 50), 4: ("ben", 80)}, {"x_status": "running"}, "hand-not-finished"),
        ({1: ("ann", 50), 4: ("ben", 80)}, {"x_partner": "No Slug"}, "invalid-field"),
    ],
)
def test_a_hand_that_is_refused_implies_nothing(
    seats: Seats, changed: dict[str, Any], code: str
) -> None:
    book = a_book()
    before = len(book.history)
    with pytest.raises(Refused) as refused:
        imported(book, a_hand("1", seats, **changed))
    assert refused.value.code == code
    assert len(book.history) == before


def test_nothing_is_inferred_about_a_table_that_its_game_server_opened() -> None:
    book = a_book()
    open_table(book)
    with pytest.raises(Refused) as refused:
        imported(book, a_hand("1", {1: ("ann", 50), 4: ("ben", 80)}))
    assert refused.value.code == "not-imported"


@pytest.mark.parametrize("chips_minor", [5_000, 6_000])
def test_no_money_of_a_registered_player_is_inferred(chips_minor: int) -> None:
    book = a_book()
    register(book, ALICE, "alice")
    fund(book, 20_000)
    sit(book, open_table(book, "Other"), 1, chips_minor)
    with pytest.raises(Refused) as refused:
        imported(book, a_hand("1", {1: ("Alice", 50), 4: ("ben", 80)}))
    assert refused.value.code == "not-imported"


@pytest.mark.parametrize(
    ("network_name", "site_name", "network"),
    [
        ("Entraction", "Some Room", "import-entraction"),
        ("", "Absolute Poker", "import-absolute-poker"),
        ("  ~ Åland 2 ~", "", "import-land-2"),
        ("", "", "import"),
    ],
)
def test_hands_have_a_network_of_their_own(network_name: str, site_name: str, network: str) -> None:
    seats = {1: ("ann", 50.0), 4: ("ben", 80.0)}
    hand = a_hand("1", seats, network_name=network_name, site_name=site_name)
    assert network_of(hand) == network
