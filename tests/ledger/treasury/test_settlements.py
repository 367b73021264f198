"""What providers pay to the bank: deposits once, less charge-backs and fees."""

from typing import Any

import pytest

from ledger import accounts
from ledger.bounds import InvalidAmount, InvalidField
from ledger.cashier.commands import AnnounceDeposit
from ledger.cashier.events import deposit_stream
from ledger.core import ApprovalNeeded, Refused
from ledger.identity import ReferenceAlreadyUsed
from ledger.players.standing import CurrencyMismatch
from ledger.treasury.refusals import DepositsNotPayable, FiguresOutOfDate, SettlementDiffers
from ledger.treasury.settlements import LONGEST_LIST
from tests.ledger.given import ALICE, IDENTITY, NETWORK, MemoryBook, a_book, fund, names, register
from tests.ledger.treasury.desk import (
    agreed,
    charge_back,
    held,
    liability,
    settlement,
    top_up,
    transit_figures,
)

TRANSIT = accounts.transit(NETWORK, "cardpay")
BANK = accounts.bank(NETWORK)
FEE = accounts.fee(NETWORK, "cardpay")
SUSPENSE = accounts.suspense(NETWORK)


@pytest.fixture
def book() -> MemoryBook:
    book = a_book()
    register(book)
    return book


def announced(book: MemoryBook, deposit: str, provider: str = "cardpay", **fields: Any) -> str:
    asked: dict[str, Any] = {"currency": "EUR", "amount_minor": 500, "confirmed": False, **fields}
    book.when(
        AnnounceDeposit(
            **book.ask(),
            deposit=deposit,
            player=ALICE,
            provider=provider,
            instrument="tok-1",
            reference_claim=IDENTITY.reference_claim(NETWORK, "deposit", provider, deposit),
            **asked,
        )
    )
    return deposit


def test_a_settlement_moves_deposits_from_transit_to_the_bank_less_the_fee(
    book: MemoryBook,
) -> None:
    first, second = fund(book, 5_000), fund(book, 2_500)
    decision = book.when(
        settlement(book, deposits=(first, second), paid_minor=7_350, fee_minor=150)
    )
    assert names(decision.changes) == [
        "provider.settled.v1",
        "claim.taken.v1",
        "claim.taken.v1",
        "deposit.settled.v1",
        "deposit.settled.v1",
    ]
    assert (book.balance(TRANSIT), book.balance(BANK), book.balance(FEE)) == (0, 7_350, 150)
    state = book.states[deposit_stream(NETWORK, first)]
    assert state.settled_in == decision.answer["settlement"]
    assert decision.answer["gross_minor"] == 7_500


def test_a_fee_never_reduces_what_is_owed_to_players(book: MemoryBook) -> None:
    deposit = fund(book, 5_000)
    book.when(settlement(book, deposits=(deposit,), paid_minor=4_900, fee_minor=100))
    assert liability(book) == 5_000
    assert held(book, "bank") + held(book, "transit") == 4_900
    book.when(top_up(book, 100))
    assert held(book, "bank") == liability(book)


def test_a_charge_back_of_a_settled_deposit_is_kept_from_a_later_settlement(
    book: MemoryBook,
) -> None:
    disputed = fund(book, 3_000)
    book.when(settlement(book, deposits=(disputed,), paid_minor=3_000))
    charge_back(book, disputed)
    assert book.balance(TRANSIT) == -3_000
    later = fund(book, 5_000)
    book.when(
        settlement(
            book, deposits=(later,), charge_backs=(disputed,), paid_minor=1_990, fee_minor=10
        )
    )
    assert (book.balance(TRANSIT), book.balance(BANK)) == (0, 4_990)
    again = settlement(book, charge_backs=(disputed,), paid_minor=-3_000)
    faults = refusal(book, again, DepositsNotPayable).extra["faults"]
    assert faults == [{"deposit": disputed, "field": "charge_backs", "fault": "settled-before"}]


def test_a_provider_may_collect_instead_of_paying(book: MemoryBook) -> None:
    disputed = fund(book, 3_000)
    book.when(settlement(book, deposits=(disputed,), paid_minor=3_000))
    charge_back(book, disputed)
    book.when(settlement(book, charge_backs=(disputed,), paid_minor=-3_020, fee_minor=20))
    assert (book.balance(TRANSIT), book.balance(BANK), book.balance(FEE)) == (0, -20, 20)


def test_a_deposit_paid_and_kept_back_in_one_settlement_comes_and_goes(book: MemoryBook) -> None:
    disputed, other = fund(book, 3_000), fund(book, 1_000)
    charge_back(book, disputed)
    book.when(
        settlement(book, deposits=(disputed, other), charge_backs=(disputed,), paid_minor=1_000)
    )
    assert (book.balance(TRANSIT), book.balance(BANK)) == (0, 1_000)


@pytest.mark.parametrize(
    ("named", "field", "fault"),
    [
        ("none", "deposits", "unknown"),
        ("open", "deposits", "not-confirmed"),
        ("settled", "deposits", "settled-before"),
        ("elsewhere", "deposits", "other-provider"),
        ("none", "charge_backs", "unknown"),
        ("settled", "charge_backs", "not-charged-back"),
        ("unpaid-back", "charge_backs", "not-settled"),
    ],
)
def test_what_a_settlement_cannot_cover_is_refused(
    book: MemoryBook, named: str, field: str, fault: str
) -> None:
    ids = {
        "none": "none",
        "open": announced(book, "open"),
        "settled": fund(book, 500),
        "elsewhere": announced(book, "elsewhere", "wire", confirmed=True),
        "unpaid-back": fund(book, 700),
    }
    book.when(settlement(book, deposits=(ids["settled"],), paid_minor=500))
    charge_back(book, ids["unpaid-back"])
    asked = settlement(book, **{field: (ids[named],)}, paid_minor=500)
    found = refusal(book, asked, DepositsNotPayable)
    assert found.extra["faults"] == [{"deposit": ids[named], "field": field, "fault": fault}]


def test_a_deposit_named_twice_is_refused(book: MemoryBook) -> None:
    deposit = fund(book, 500)
    asked = settlement(book, deposits=(deposit, deposit), paid_minor=1_000)
    assert refusal(book, asked, DepositsNotPayable).extra["faults"][0]["fault"] == "named-twice"


def test_too_long_a_list_is_refused(book: MemoryBook) -> None:
    ids = tuple(f"d{number}" for number in range(LONGEST_LIST + 1))
    refusal(book, settlement(book, deposits=ids, paid_minor=1), InvalidField)


@pytest.mark.parametrize("reference", ["reference", "bank_reference"])
def test_a_reference_is_good_for_one_settlement(book: MemoryBook, reference: str) -> None:
    first, second = fund(book, 500), fund(book, 500)
    book.when(settlement(book, deposits=(first,), paid_minor=500, **{reference: "R-1"}))
    again = settlement(book, deposits=(second,), paid_minor=500, **{reference: "R-1"})
    assert refusal(book, again, ReferenceAlreadyUsed).field == reference


def test_a_difference_is_refused_and_named(book: MemoryBook) -> None:
    deposit = fund(book, 5_000)
    asked = settlement(book, deposits=(deposit,), paid_minor=4_800, fee_minor=100)
    found = refusal(book, asked, SettlementDiffers)
    assert found.extra["difference_minor"] == -100
    assert found.extra["covered_minor"] == 5_000


@pytest.mark.parametrize("paid_minor", [4_800, 5_200])
def test_an_explained_difference_is_suspense_once_a_second_person_agrees(
    book: MemoryBook, paid_minor: int
) -> None:
    deposit = fund(book, 5_000)
    asked = settlement(
        book, deposits=(deposit,), paid_minor=paid_minor, difference_reason="Exchange rate?"
    )
    refusal(book, asked, ApprovalNeeded)
    wanted = asked.approval(book)
    assert wanted is not None
    assert (wanted.action, wanted.amount_minor) == ("correct-treasury", paid_minor - 5_000)
    agreed(book, asked)
    assert (book.balance(TRANSIT), book.balance(BANK)) == (0, paid_minor)
    assert book.balance(SUSPENSE) == 5_000 - paid_minor


def test_an_explanation_without_a_difference_is_refused(book: MemoryBook) -> None:
    deposit = fund(book, 5_000)
    asked = settlement(book, deposits=(deposit,), paid_minor=5_000, difference_reason="None.")
    assert refusal(book, asked, InvalidField).field == "difference_reason"


def test_a_gross_without_a_list_is_taken_from_all_that_is_in_transit(book: MemoryBook) -> None:
    fund(book, 5_000)
    fund(book, 2_000)
    figures = transit_figures(book)
    decision = book.when(settlement(book, paid_minor=5_900, fee_minor=100))
    assert (book.balance(TRANSIT), book.balance(BANK)) == (1_000, 5_900)
    _, settled = decision.changes[0]
    assert settled.book_position == figures.position  # type: ignore[attr-defined]
    assert settled.book_transit_minor == 7_000  # type: ignore[attr-defined]


def test_a_gross_beyond_what_is_in_transit_differs(book: MemoryBook) -> None:
    fund(book, 5_000)
    found = refusal(book, settlement(book, paid_minor=5_001), SettlementDiffers)
    assert (found.extra["covered_minor"], found.extra["difference_minor"]) == (5_000, 1)


def test_a_gross_rests_on_figures_that_include_the_last_settlement(book: MemoryBook) -> None:
    fund(book, 5_000)
    older = transit_figures(book)
    book.when(settlement(book, paid_minor=4_000))
    found = refusal(book, settlement(book, paid_minor=4_000, book=older), FiguresOutOfDate)
    assert found.retry == "later"
    book.when(settlement(book, paid_minor=1_000))


def test_a_gross_rests_on_figures_that_include_the_last_correction(book: MemoryBook) -> None:
    fund(book, 5_000)
    older = transit_figures(book)
    book.when(top_up(book, 1))
    refusal(book, settlement(book, paid_minor=4_000, book=older), FiguresOutOfDate)


def test_a_list_pays_no_more_than_a_gross_without_a_list_has_left(book: MemoryBook) -> None:
    first, second = fund(book, 5_000), fund(book, 2_000)
    book.when(settlement(book, paid_minor=5_000))
    asked = settlement(book, deposits=(first,), paid_minor=5_000)
    assert refusal(book, asked, SettlementDiffers).extra["covered_minor"] == 2_000
    book.when(settlement(book, deposits=(second,), paid_minor=2_000))
    assert book.balance(TRANSIT) == 0


def test_a_list_after_a_gross_pays_what_is_left_beside_charge_backs(book: MemoryBook) -> None:
    first, second = fund(book, 20_000), fund(book, 20_000)
    book.when(settlement(book, deposits=(first,), paid_minor=20_000))
    book.when(settlement(book, paid_minor=2_000))
    charge_back(book, first)
    # Of the second deposit 2,000 were paid without a list; the first is to be kept back.
    both = settlement(book, deposits=(second,), charge_backs=(first,))
    found = refusal(book, both, SettlementDiffers)
    assert (found.extra["covered_minor"], found.extra["difference_minor"]) == (-2_000, 2_000)
    alone = settlement(book, deposits=(second,), paid_minor=20_000)
    assert refusal(book, alone, SettlementDiffers).extra["covered_minor"] == 18_000


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"paid_minor": 0}, InvalidAmount),
        ({"paid_minor": -5, "fee_minor": 5}, InvalidAmount),
        ({"paid_minor": 2**53 + 1}, InvalidAmount),
        ({"fee_minor": -1, "paid_minor": 500}, InvalidAmount),
        ({"provider": "Card Pay", "paid_minor": 500}, InvalidField),
        ({"bank_reference": " ", "paid_minor": 500}, InvalidField),
        ({"currency": "XPM", "paid_minor": 500}, CurrencyMismatch),
        ({"currency": "USD", "paid_minor": 500}, CurrencyMismatch),
    ],
)
def test_what_cannot_be_a_settlement_is_refused(
    book: MemoryBook, fields: dict[str, Any], refused: type[Refused]
) -> None:
    fund(book, 500)
    refusal(book, settlement(book, **fields), refused)


def refusal(book: MemoryBook, command: Any, kind: type[Refused]) -> Refused:
    """Decide; check that it is refused in this way and that nothing was recorded."""
    before = dict(book.states)
    with pytest.raises(kind) as caught:
        book.when(command)
    assert book.states == before
    return caught.value
