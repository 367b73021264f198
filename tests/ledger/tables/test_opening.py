"""Opening and closing cash tables."""

from typing import Any

import pytest

from ledger import accounts
from ledger.bounds import InvalidAmount, InvalidField
from ledger.core import Refused
from ledger.players.standing import CurrencyMismatch
from ledger.rulebooks import UnknownRulebook, parse, shipped_texts
from ledger.rulebooks.commands import AdoptRulebook
from ledger.tables.commands import (
    BeginHand,
    CloseTable,
    HandRunning,
    OpenTable,
    TableExists,
    TableIsClosed,
    TableNotEmpty,
    UnknownTable,
)
from ledger.tables.events import HandSettled, TableState, table_id, table_stream
from ledger.tables.stakes import (
    BuyInLimitsNotAllowed,
    JackpotNotAllowed,
    LimitNotOffered,
    StakesNotAllowed,
    UnknownGame,
)
from tests.ledger.given import (
    ALICE,
    BOB,
    NETWORK,
    START,
    MemoryBook,
    a_book,
    fund,
    names,
    open_table,
    register,
    sit,
)

NO_LIMIT: dict[str, Any] = {
    "name": "Etomo",
    "rulebook": "entraction",
    "game": "Holdem",
    "bet_type": "NL",
    "currency": "EUR",
    "size": 6,
    "small_blind_minor": 50,
    "big_blind_minor": 100,
    "min_buy_in_minor": 2_000,
    "max_buy_in_minor": 10_000,
}
FIXED: dict[str, Any] = {
    **NO_LIMIT,
    "bet_type": "FL",
    "min_buy_in_minor": None,
    "max_buy_in_minor": None,
}
SOKO: dict[str, Any] = {
    **NO_LIMIT,
    "game": "Soko",
    "bet_type": "FL",
    "small_blind_minor": 0,
    "big_blind_minor": 0,
    "ante_minor": 10,
    "small_bet_minor": 100,
    "big_bet_minor": 200,
    "max_buy_in_minor": None,
}


def table(book: MemoryBook, name: str = "Etomo") -> TableState:
    found: TableState = book.get(table_stream(NETWORK, table_id(name)))
    return found


def opening(book: MemoryBook, terms: dict[str, Any], **fields: Any) -> OpenTable:
    return OpenTable(**book.ask(), **{**terms, **fields})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Etomo", "Etomo"),
        ("Coslada Min 50BB", "Coslada Min 50BB"),
        ("a:b/c%d", "a%3Ab%2Fc%25d"),
        ("Ångström", "%C3%85ngstr%C3%B6m"),
        ("A\u030a", "%C3%85"),
        ("tab\there", "tab%09here"),
        ("\ud800", "%ED%A0%80"),
    ],
)
def test_a_table_id_has_nothing_that_separates_or_cannot_be_seen(name: str, expected: str) -> None:
    assert table_id(name) == expected


@pytest.mark.parametrize("terms", [NO_LIMIT, FIXED, SOKO])
def test_a_table_within_the_rulebook_is_opened(terms: dict[str, Any]) -> None:
    book = a_book()
    decision = book.when(opening(book, terms))
    assert names(decision.changes) == ["table.opened.v1"]
    state = table(book)
    assert (state.status, state.rulebook, state.seats) == ("open", "entraction", {})
    assert state.game == terms["game"]


@pytest.mark.parametrize(
    ("big_blind", "minimum"),
    [(25, 300), (100, 1_000), (200, 2_000), (300, 3_000), (500, 5_000)],
)
@pytest.mark.parametrize("game", ["Holdem", "Omaha"])
def test_fixed_limit_tables_take_their_minimum_from_the_rulebook(
    game: str, big_blind: int, minimum: int
) -> None:
    """Source: K 10.1.2."""
    book = a_book()
    stakes = {"game": game, "big_blind_minor": big_blind, "small_blind_minor": big_blind // 2}
    decision = book.when(opening(book, FIXED, **stakes))
    assert decision.answer["min_buy_in_minor"] == minimum
    assert decision.answer["max_buy_in_minor"] is None
    with pytest.raises(BuyInLimitsNotAllowed) as refused:
        book.when(opening(book, FIXED, **stakes, name="Other", min_buy_in_minor=minimum - 1))
    assert refused.value.extra == {"minimum_minor": minimum}


@pytest.mark.parametrize("maximum", [None, 10_001])
def test_a_rulebook_may_set_a_maximum_for_the_stakes(maximum: int | None) -> None:
    book = a_book()
    (text,) = [text for _, text in shipped_texts() if "entraction@2013-01-01" in ref_of(text)]
    revised = text.replace("revision = 1", "revision = 2").replace(
        'maximum = "none"', 'maximum = "100.00"'
    )
    book.when(AdoptRulebook(**book.ask(), text=revised, file="revised.toml"))
    stakes = {"big_blind_minor": 200, "small_blind_minor": 100}
    with pytest.raises(BuyInLimitsNotAllowed) as refused:
        book.when(opening(book, FIXED, **stakes, max_buy_in_minor=maximum))
    assert refused.value.extra == {"maximum_minor": 10_000}
    book.when(opening(book, FIXED, **stakes, max_buy_in_minor=10_000))


def ref_of(text: str) -> str:
    return parse(text, "a file").ref


REFUSED: list[tuple[dict[str, Any], dict[str, Any], type[Refused], str]] = [
    (NO_LIMIT, {"rulebook": "nobody"}, UnknownRulebook, "rulebook"),
    (NO_LIMIT, {"name": " "}, InvalidField, "name"),
    (NO_LIMIT, {"name": "x" * 65}, InvalidField, "name"),
    (NO_LIMIT, {"game": "Draw"}, UnknownGame, "game"),
    (NO_LIMIT, {"bet_type": "XL"}, LimitNotOffered, "bet_type"),
    (NO_LIMIT, {"currency": "USD"}, CurrencyMismatch, "currency"),
    (NO_LIMIT, {"currency": "XXX"}, InvalidField, "currency"),
    (NO_LIMIT, {"size": 1}, InvalidField, "size"),
    (NO_LIMIT, {"size": 11}, InvalidField, "size"),
    (NO_LIMIT, {"game": "Omaha", "size": 9}, InvalidField, "size"),
    (NO_LIMIT, {"big_blind_minor": 0}, InvalidAmount, "big_blind_minor"),
    (NO_LIMIT, {"small_blind_minor": -1}, InvalidAmount, "small_blind_minor"),
    (NO_LIMIT, {"small_blind_minor": 101}, StakesNotAllowed, "small_blind_minor"),
    (NO_LIMIT, {"ante_minor": -1}, InvalidAmount, "ante_minor"),
    (NO_LIMIT, {"spread_minor": (100,)}, StakesNotAllowed, "spread_minor"),
    (NO_LIMIT, {"hole_cards": 5}, StakesNotAllowed, "hole_cards"),
    (NO_LIMIT, {"min_buy_in_minor": None}, InvalidAmount, "min_buy_in_minor"),
    (NO_LIMIT, {"min_buy_in_minor": 0}, InvalidAmount, "min_buy_in_minor"),
    (NO_LIMIT, {"max_buy_in_minor": None}, BuyInLimitsNotAllowed, "max_buy_in_minor"),
    (NO_LIMIT, {"max_buy_in_minor": 1_999}, InvalidAmount, "max_buy_in_minor"),
    (NO_LIMIT, {"bet_type": "SL"}, StakesNotAllowed, "spread_minor"),
    (NO_LIMIT, {"bet_type": "SL", "spread_minor": (0,)}, InvalidAmount, "spread_minor"),
    (NO_LIMIT, {"bet_type": "SL", "spread_minor": (1,) * 9}, StakesNotAllowed, "spread_minor"),
    (NO_LIMIT, {"bring_in_minor": 0}, InvalidAmount, "bring_in_minor"),
    (NO_LIMIT, {"jackpot": "Bad Beat"}, InvalidField, "jackpot"),
    (NO_LIMIT, {"jackpot": "bad-beat", "size": 2}, JackpotNotAllowed, "jackpot"),
    (NO_LIMIT, {"jackpot": "bad-beat", "currency": "XPM"}, JackpotNotAllowed, "jackpot"),
    (NO_LIMIT, {"jackpot": "bad-beat", "game": "TripleDraw27"}, JackpotNotAllowed, "jackpot"),
    (NO_LIMIT, {"jackpot": "bad-beat", "game": "FiveCardDraw"}, JackpotNotAllowed, "jackpot"),
    (FIXED, {"max_buy_in_minor": 50_000}, BuyInLimitsNotAllowed, "max_buy_in_minor"),
    (SOKO, {"ante_minor": 0}, InvalidAmount, "ante_minor"),
    (SOKO, {"big_blind_minor": 100}, StakesNotAllowed, "big_blind_minor"),
    (SOKO, {"small_bet_minor": None}, StakesNotAllowed, "small_bet_minor"),
    (SOKO, {"big_bet_minor": 99}, InvalidAmount, "big_bet_minor"),
    (SOKO, {"small_bet_minor": 0}, InvalidAmount, "small_bet_minor"),
]


@pytest.mark.parametrize(("terms", "fields", "refusal", "field"), REFUSED)
def test_a_table_that_the_rulebook_does_not_have_is_refused(
    terms: dict[str, Any], fields: dict[str, Any], refusal: type[Refused], field: str
) -> None:
    book = a_book()
    with pytest.raises(refusal) as refused:
        book.when(opening(book, terms, **fields))
    assert refused.value.field == field


@pytest.mark.parametrize("game", ["Holdem", "Omaha", "OmahaHiLo", "Soko", "Stud", "StudHiLo"])
def test_games_that_qualify_may_play_for_a_jackpot(game: str) -> None:
    book = a_book()
    terms = NO_LIMIT if game.startswith(("Holdem", "Omaha")) else {**SOKO, "game": game}
    book.when(opening(book, terms, jackpot="bad-beat", size=6))
    assert table(book).jackpot == "bad-beat"


def test_a_rulebook_without_a_jackpot_has_no_jackpot_tables() -> None:
    book = a_book("empire")
    terms = {**FIXED, "rulebook": "empire", "currency": "USD", "min_buy_in_minor": 1_000}
    with pytest.raises(JackpotNotAllowed):
        book.when(opening(book, terms, jackpot="bad-beat"))


def test_a_table_of_another_site_takes_its_terms_as_posted() -> None:
    book = a_book("as-posted")
    terms = {**NO_LIMIT, "rulebook": "as-posted", "currency": "USD", "ante_minor": 250}
    book.when(opening(book, terms, min_buy_in_minor=1, max_buy_in_minor=None, jackpot="posted"))
    assert table(book).jackpot == "posted"


def test_an_inferred_table_may_have_any_buy_in_limits() -> None:
    book = a_book()
    book.when(opening(book, NO_LIMIT, min_buy_in_minor=None, max_buy_in_minor=None, inferred=True))
    assert (table(book).inferred, table(book).min_buy_in_minor) == (True, 0)


def test_an_open_table_is_not_opened_again() -> None:
    book = a_book()
    open_table(book)
    with pytest.raises(TableExists) as refused:
        open_table(book)
    assert (refused.value.code, refused.value.field) == ("table-exists", "name")


def close(book: MemoryBook, **fields: Any) -> CloseTable:
    return CloseTable(**book.ask(), table="Etomo", **fields)


def test_an_empty_table_is_closed_and_closed_once() -> None:
    book = a_book()
    open_table(book)
    assert book.when(close(book)).answer["status"] == "closed"
    with pytest.raises(TableIsClosed) as refused:
        book.when(close(book))
    assert (refused.value.code, refused.value.retry) == ("table-closed", "later")


def test_a_table_that_never_was_is_unknown() -> None:
    book = a_book()
    with pytest.raises(UnknownTable) as refused:
        book.when(close(book))
    assert (refused.value.code, refused.value.kind) == ("unknown-table", "missing")


def settled(book: MemoryBook, game_number: str, **fields: Any) -> None:
    event = HandSettled(
        occurred_at=START,
        actor="test",
        request_id=f"hand:{game_number}",
        rulebook="entraction@2013-01-01",
        game_number=game_number,
        started_at=START,
        **{"net_minor": {}, **fields},
    )
    book.record([(table_stream(NETWORK, "Etomo"), event)])


@pytest.mark.parametrize(("jackpot", "carry"), [("bad-beat", 7_500), ("other", 0), (None, 0)])
def test_a_reopened_table_goes_on_with_its_history_and_its_own_jackpots_remainder(
    jackpot: str | None, carry: int
) -> None:
    book = a_book()
    open_table(book, jackpot="bad-beat")
    settled(book, "81", jackpot_carry=7_500)
    book.when(close(book))
    open_table(book, jackpot=jackpot, size=4)
    state = table(book)
    assert (state.status, state.size, state.jackpot_carry) == ("open", 4, carry)
    assert (state.hands, state.last_hand, state.last_started_at) == (1, "81", START)


def test_closing_a_table_with_players_cashes_them_out_only_when_asked() -> None:
    book = a_book()
    open_table(book)
    for seat, player in ((1, ALICE), (4, BOB)):
        register(book, player, f"name {seat}")
        fund(book, 10_000, player)
        sit(book, "Etomo", seat, 5_000, player)
    with pytest.raises(TableNotEmpty) as refused:
        book.when(close(book))
    assert refused.value.extra == {"seats": [1, 4]}
    decision = book.when(close(book, cash_out=True))
    assert names(decision.changes) == [
        "player.cashed_out.v1",
        "table.seat_left.v1",
        "player.cashed_out.v1",
        "table.seat_left.v1",
        "table.closed.v1",
    ]
    assert [one["player"] for one in decision.answer["cashed_out"]] == [ALICE, BOB]
    for player in (ALICE, BOB):
        assert book.balance(accounts.bankroll(NETWORK, player)) == -10_000
    assert table(book).seats == {}


def test_a_table_is_not_closed_during_a_hand() -> None:
    book = a_book()
    open_table(book)
    book.when(BeginHand(**book.ask(), table="Etomo", game_number="81"))
    with pytest.raises(HandRunning) as refused:
        book.when(close(book, cash_out=True))
    assert (refused.value.code, refused.value.retry) == ("hand-running", "later")
