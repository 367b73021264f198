"""Withdrawals paid through a partner, and found in the bank's statement."""

from typing import Any

import pytest

from ledger import accounts
from ledger.bounds import InvalidField
from ledger.cashier.commands import PayWithdrawal
from ledger.cashier.events import withdrawal_stream
from ledger.core import Refused
from ledger.identity import ReferenceAlreadyUsed
from ledger.players.commands import SuspendPlayer
from ledger.players.standing import CurrencyMismatch
from ledger.treasury.refusals import AmountDiffers, MoreThanPartnerOwes, WithdrawalsNotPayable
from tests.ledger.given import (
    ALICE,
    BOB,
    IDENTITY,
    NETWORK,
    MemoryBook,
    a_book,
    fund,
    names,
    register,
)
from tests.ledger.treasury.desk import (
    discharge,
    held,
    liability,
    match,
    partner_settlement,
    released,
    request,
    settlement,
)
from tests.ledger.treasury.test_settlements import refusal

PARTNER = accounts.partner(NETWORK, "kerching")
AT_PARTNER = accounts.at_partner(NETWORK, "kerching")


@pytest.fixture
def book() -> MemoryBook:
    """Give a book with 100.00 of each of two players at the bank."""
    book = a_book()
    register(book)
    register(book, BOB, "bob")
    deposits = (fund(book, 10_000), fund(book, 10_000, BOB))
    book.when(settlement(book, deposits=deposits, paid_minor=20_000))
    return book


def paid(book: MemoryBook, amount_minor: int, player: str = ALICE) -> str:
    withdrawal = released(book, amount_minor, player)
    claim = IDENTITY.reference_claim(NETWORK, "withdrawal", "sepa", withdrawal)
    pay = PayWithdrawal(**book.ask(), withdrawal=withdrawal, provider="sepa", payment_claim=claim)
    book.when(pay)
    return withdrawal


# -- partners ------------------------------------------------------------------------------------


def test_what_is_settled_with_a_partner_is_no_longer_player_funds(book: MemoryBook) -> None:
    first, second = released(book, 3_000), released(book, 2_000, BOB)
    decision = book.when(partner_settlement(book, first, second))
    assert names(decision.changes)[:2] == ["partner.settled.v1", "claim.taken.v1"]
    assert (liability(book), held(book, "bank")) == (15_000, 15_000)
    assert decision.answer["amount_minor"] == decision.answer["partner_owes_minor"] == 5_000
    state = book.states[withdrawal_stream(NETWORK, first)]
    assert (state.status, state.bank_reference) == ("paid", decision.answer["bank_reference"])


def test_what_a_partner_holds_and_owes_is_shown_apart(book: MemoryBook) -> None:
    book.when(partner_settlement(book, released(book, 3_000)))
    assert (book.balance(AT_PARTNER), book.balance(PARTNER)) == (3_000, -3_000)
    book.when(discharge(book, 1_000, "r-1"))
    decision = book.when(discharge(book, 500, "r-2"))
    assert (book.balance(AT_PARTNER), book.balance(PARTNER)) == (1_500, -1_500)
    assert decision.answer["partner_owes_minor"] == 1_500
    assert liability(book) == 17_000


def test_a_partner_discharges_no_more_than_he_owes(book: MemoryBook) -> None:
    refusal(book, discharge(book, 1), MoreThanPartnerOwes)
    book.when(partner_settlement(book, released(book, 3_000)))
    found = refusal(book, discharge(book, 3_001), MoreThanPartnerOwes)
    assert found.extra["partner_owes_minor"] == 3_000


def test_a_partners_report_is_booked_once(book: MemoryBook) -> None:
    book.when(partner_settlement(book, released(book, 3_000)))
    book.when(discharge(book, 1_000))
    assert refusal(book, discharge(book, 1_000), ReferenceAlreadyUsed).field == "report"


@pytest.mark.parametrize(
    ("named", "fields", "fault"),
    [
        ("none", {}, "unknown"),
        ("requested", {}, "not-released"),
        ("paid", {}, "not-released"),
        ("released", {"partner": "harbour"}, "other-partner"),
        ("suspended", {}, "player-suspended"),
    ],
)
def test_what_is_not_settled_with_a_partner_is_refused(
    book: MemoryBook, named: str, fields: dict[str, Any], fault: str
) -> None:
    ids = {
        "none": "none",
        "requested": request(book, 1_000),
        "released": released(book, 1_000),
        "paid": paid(book, 1_000),
        "suspended": released(book, 1_000, BOB),
    }
    book.when(SuspendPlayer(**book.ask(), player=BOB, ground="fraud", reason="Case 1."))
    asked = partner_settlement(book, ids[named], **fields)
    found = refusal(book, asked, WithdrawalsNotPayable)
    assert found.extra["faults"] == [{"withdrawal": ids[named], "fault": fault}]


def test_a_partner_is_settled_with_for_something(book: MemoryBook) -> None:
    refusal(book, partner_settlement(book), WithdrawalsNotPayable)
    one = released(book, 1_000)
    asked = partner_settlement(book, one, one)
    assert refusal(book, asked, WithdrawalsNotPayable).extra["faults"][0]["fault"] == "named-twice"
    many = partner_settlement(book, *(f"w{number}" for number in range(1_001)))
    refusal(book, many, InvalidField)
    refusal(book, partner_settlement(book, one, currency="XPM"), CurrencyMismatch)


# -- the bank's statement ------------------------------------------------------------------------


def test_a_line_of_the_statement_matches_the_withdrawals_that_it_paid(book: MemoryBook) -> None:
    ids = paid(book, 1_000), paid(book, 500)
    before = book.balances()
    decision = book.when(match(book, 1_500, *ids, bank_reference="B-7"))
    assert names(decision.changes) == [
        "withdrawal.matched.v1",
        "withdrawal.matched.v1",
        "claim.taken.v1",
    ]
    assert book.balances() == before
    assert book.states[withdrawal_stream(NETWORK, ids[1])].bank_reference == "B-7"


@pytest.mark.parametrize(
    ("amount", "named", "fields", "refused"),
    [
        (999, "paid", {}, AmountDiffers),
        (1_000, "released", {}, WithdrawalsNotPayable),
        (1_000, "matched", {}, WithdrawalsNotPayable),
        (1_000, "paid", {"currency": "USD"}, WithdrawalsNotPayable),
        (1_000, "paid", {"bank_reference": "B-1"}, ReferenceAlreadyUsed),
    ],
)
def test_what_does_not_match_is_refused(
    book: MemoryBook, amount: int, named: str, fields: dict[str, Any], refused: type[Refused]
) -> None:
    ids = {
        "paid": paid(book, 1_000),
        "released": released(book, 1_000),
        "matched": paid(book, 1_000),
    }
    book.when(match(book, 1_000, ids["matched"], bank_reference="B-1"))
    refusal(book, match(book, amount, ids[named], **fields), refused)
