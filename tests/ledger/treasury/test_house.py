"""The operator's own money, in and out of the client-funds account, and corrections."""

from typing import Any

import pytest

from ledger.bounds import InvalidAmount, InvalidField
from ledger.core import ApprovalNeeded, Refused
from ledger.identity import ReferenceAlreadyUsed
from ledger.players.standing import CurrencyMismatch
from ledger.treasury.policies import Funds, coverage_changes
from ledger.treasury.refusals import (
    CoverageUnchanged,
    CoverageWouldFall,
    FiguresOutOfDate,
    MoreThanAtBank,
    MoreThanEarned,
    NotATreasuryAccount,
)
from tests.ledger.given import BOB, NETWORK, START, MemoryBook, a_book, fund, names, register
from tests.ledger.treasury.desk import (
    agreed,
    charge_back,
    correction,
    earn,
    funds_figures,
    held,
    liability,
    settlement,
    sweep,
    top_up,
)
from tests.ledger.treasury.test_settlements import refusal


@pytest.fixture
def book() -> MemoryBook:
    """Give a book with 100.00 of a player at the bank, of which 6.00 became rake."""
    book = a_book()
    register(book)
    deposit = fund(book, 10_000)
    book.when(settlement(book, deposits=(deposit,), paid_minor=10_000))
    earn(book, 600)
    return book


def test_a_sweep_takes_earned_rake_out_of_the_account(book: MemoryBook) -> None:
    figures = funds_figures(book)
    decision = book.when(sweep(book, 400))
    assert names(decision.changes) == ["treasury.rake_swept.v1", "claim.taken.v1"]
    assert (held(book, "bank"), held(book, "swept"), liability(book)) == (9_600, 400, 9_400)
    assert decision.answer["unswept_minor"] == 200
    _, swept = decision.changes[0]
    assert (swept.book_position, swept.book_earned_minor) == (figures.position, 600)  # type: ignore[attr-defined]


def test_the_same_rake_is_swept_once(book: MemoryBook) -> None:
    book.when(sweep(book, 400))
    found = refusal(book, sweep(book, 201), MoreThanEarned)
    assert found.extra["unswept_minor"] == 200
    book.when(sweep(book, 200))
    refusal(book, sweep(book, 1), MoreThanEarned)


def test_a_sweep_rests_on_figures_that_include_the_last_movement(book: MemoryBook) -> None:
    older = funds_figures(book)
    book.when(sweep(book, 100))
    assert refusal(book, sweep(book, 100, book=older), FiguresOutOfDate).retry == "later"


def test_no_more_is_swept_than_is_at_the_bank() -> None:
    book = a_book()
    register(book)
    fund(book, 10_000)
    earn(book, 600)
    refusal(book, sweep(book, 600), MoreThanAtBank)


@pytest.mark.parametrize("fee", [1, 600])
def test_a_fee_that_is_not_topped_up_keeps_rake_on_the_account(book: MemoryBook, fee: int) -> None:
    deposit = fund(book, 5_000)
    book.when(settlement(book, deposits=(deposit,), paid_minor=5_000 - fee, fee_minor=fee))
    found = refusal(book, sweep(book, 601 - fee), CoverageWouldFall)
    assert found.extra["spare_minor"] == 600 - fee
    if fee < 600:
        book.when(sweep(book, 600 - fee))
    assert held(book, "bank") == liability(book)


def test_rake_is_not_swept_while_a_charge_back_leaves_funds_uncovered(book: MemoryBook) -> None:
    register(book, BOB, "bob")
    book.when(settlement(book, deposits=(fund(book, 2_000, BOB),), paid_minor=2_000))
    deposit = fund(book, 1_000)
    earn(book, 10_400)
    charge_back(book, deposit)
    assert (held(book, "rake"), held(book, "debt"), liability(book)) == (11_000, 1_000, 2_000)
    refusal(book, sweep(book, 10_001), CoverageWouldFall)


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"amount_minor": 0}, InvalidAmount),
        ({"amount_minor": -5}, InvalidAmount),
        ({"currency": "XPM"}, CurrencyMismatch),
        ({"bank_reference": ""}, InvalidField),
    ],
)
def test_what_cannot_be_a_sweep_is_refused(
    book: MemoryBook, fields: dict[str, Any], refused: type[Refused]
) -> None:
    refusal(book, sweep(book, **{"amount_minor": 5, **fields}), refused)


def test_a_top_up_is_the_operators_own_money(book: MemoryBook) -> None:
    book.when(top_up(book, 250))
    decision = book.when(top_up(book, 50))
    assert decision.answer["own_funds_minor"] == 300
    assert (held(book, "bank"), held(book, "own-funds"), liability(book)) == (10_300, 300, 9_400)


def test_a_top_up_is_not_rake(book: MemoryBook) -> None:
    book.when(top_up(book, 250))
    refusal(book, sweep(book, 601), MoreThanEarned)


def test_a_bank_reference_is_good_for_one_movement(book: MemoryBook) -> None:
    book.when(top_up(book, 5, bank_reference="B-1"))
    for again in (
        top_up(book, 5, bank_reference="B-1"),
        sweep(book, 5, bank_reference="B-1"),
        settlement(book, bank_reference="B-1", paid_minor=5),
    ):
        assert refusal(book, again, ReferenceAlreadyUsed).field == "bank_reference"


@pytest.mark.parametrize(
    ("debit", "credit"),
    [
        ("shortfall", "bank"),
        ("suspense", "bank"),
        ("bank", "suspense"),
        ("transit:cardpay", "suspense"),
        ("transit:cardpay", "transit:wire"),
    ],
)
def test_a_correction_moves_between_the_treasurys_accounts_once_two_agree(
    book: MemoryBook, debit: str, credit: str
) -> None:
    asked = correction(book, 70, debit=debit, credit=credit)
    refusal(book, asked, ApprovalNeeded)
    before = book.balances()
    agreed(book, asked)
    codes = [
        ":".join([name, NETWORK, *part]) for name, *part in (debit.split(":"), credit.split(":"))
    ]
    moved = {
        key: book.balances().get(key, 0) - before.get(key, 0)
        for key in ((codes[0], "EUR"), (codes[1], "EUR"))
    }
    assert list(moved.values()) == [70, -70]
    assert liability(book) == 9_400


def test_what_a_correction_is_asked_for_is_told_in_words(book: MemoryBook) -> None:
    wanted = correction(book, 70).approval(book)
    assert wanted is not None
    assert (wanted.action, wanted.amount_minor, wanted.currency) == ("correct-treasury", 70, "EUR")
    assert wanted.summary["words"] == (
        "Debit shortfall and credit bank with 0.70 EUR (manifest-error): A bank charge."
    )


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"debit": "bankroll"}, NotATreasuryAccount),
        ({"credit": "transit"}, NotATreasuryAccount),
        ({"debit": "bank:other"}, NotATreasuryAccount),
        ({"debit": "bank", "credit": "bank"}, NotATreasuryAccount),
        ({"credit": "transit:Card Pay"}, InvalidField),
        ({"ground": "because"}, InvalidField),
        ({"reason": ""}, InvalidField),
        ({"amount_minor": 0}, InvalidAmount),
        ({"currency": "XPM"}, CurrencyMismatch),
    ],
)
def test_what_cannot_be_a_correction_is_refused(
    book: MemoryBook, fields: dict[str, Any], refused: type[Refused]
) -> None:
    refusal(book, correction(book, **fields), refused)


# -- coverage ------------------------------------------------------------------------------------


def notice(book: MemoryBook, position: int, assets: int, owed: int, currency: str = "EUR") -> int:
    """Let the policy look at a book; carry out what it asks; return how much that was."""
    funds = [Funds(NETWORK, currency, assets, owed)]
    commands = list(coverage_changes(book, position, funds, START))
    for command in commands:
        book.when(command)
    return len(commands)


def test_coverage_that_falls_and_is_restored_is_recorded_once_each(book: MemoryBook) -> None:
    assert notice(book, 10, 100, 100) == 0
    assert notice(book, 11, 99, 100) == 1
    assert notice(book, 12, 98, 100) == 0
    assert notice(book, 13, 100, 100) == 1
    assert notice(book, 14, 101, 100) == 0
    told = [event for _, event in book.history if "coverage" in event.NAME]
    assert names([("treasury", event) for event in told]) == [
        "treasury.coverage_fell.v1",
        "treasury.coverage_restored.v1",
    ]
    assert [event.request_id for event in told] == ["coverage:EUR:11", "coverage:EUR:13"]


def test_an_older_book_says_nothing_about_coverage(book: MemoryBook) -> None:
    assert notice(book, 11, 99, 100) == 1
    assert notice(book, 11, 100, 100) == 0
    assert notice(book, 5, 100, 100) == 0


def test_play_money_needs_no_cover(book: MemoryBook) -> None:
    assert notice(book, 11, 0, 100, "XPM") == 0


def test_the_same_notice_twice_is_refused(book: MemoryBook) -> None:
    [command] = coverage_changes(book, 11, [Funds(NETWORK, "EUR", 1, 2)], START)
    book.when(command)
    assert refusal(book, command, CoverageUnchanged).retry == "never"


def test_coverage_of_play_money_is_refused(book: MemoryBook) -> None:
    [command] = coverage_changes(book, 11, [Funds(NETWORK, "EUR", 1, 2)], START)
    fields = {name: getattr(command, name) for name in command.__struct_fields__}
    refusal(book, type(command)(**{**fields, "currency": "XPM"}), CurrencyMismatch)


def test_a_coverage_event_does_not_outdate_figures(book: MemoryBook) -> None:
    figures = funds_figures(book)
    notice(book, 11, 99, 100)
    book.when(sweep(book, 5, book=figures))
