"""Money in: announced, confirmed or failed, and what a provider takes back."""

from typing import Any

import pytest

from ledger import accounts
from ledger.bounds import InvalidAmount, InvalidField
from ledger.cashier.commands import (
    OPEN_LIMIT,
    AnnounceDeposit,
    ChargeBackDeposit,
    ConfirmDeposit,
    DepositExists,
    DepositNotConfirmed,
    DepositNotOpen,
    FailDeposit,
    IssuePlayMoney,
    PayWithdrawal,
    ReleaseWithdrawal,
    RequestWithdrawal,
    TakeInReview,
    TooManyOpen,
    UnknownDeposit,
)
from ledger.cashier.events import deposit_stream
from ledger.core import Command, Refused
from ledger.identity import ReferenceAlreadyUsed
from ledger.money import MAX_MINOR
from ledger.players.commands import AccountNotEmpty, ClosePlayer, SuspendPlayer
from ledger.players.events import Purse, player_stream
from ledger.players.standing import (
    CurrencyMismatch,
    PlayerIsClosed,
    PlayerIsSuspended,
    UnknownPlayer,
)
from tests.ledger.given import (
    ALICE,
    BOB,
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

BANKROLL = accounts.bankroll(NETWORK, ALICE)
TRANSIT = accounts.transit(NETWORK, "cardpay")
DEBT = accounts.debt(NETWORK, ALICE)


@pytest.fixture
def book() -> MemoryBook:
    book = a_book()
    register(book)
    return book


def reference(name: str) -> str:
    return IDENTITY.reference_claim(NETWORK, "deposit", "cardpay", name)


def announce(book: MemoryBook, deposit: str = "d1", **fields: Any) -> AnnounceDeposit:
    asked: dict[str, Any] = {
        "deposit": deposit,
        "player": ALICE,
        "provider": "cardpay",
        "instrument": "tok-1",
        "reference_claim": reference(deposit),
        "currency": "EUR",
        "amount_minor": 5_000,
    }
    return AnnounceDeposit(**book.ask(), **{**asked, **fields})


def confirm(book: MemoryBook, deposit: str = "d1") -> ConfirmDeposit:
    return ConfirmDeposit(**book.ask(), deposit=deposit)


def fail(book: MemoryBook, deposit: str = "d1") -> FailDeposit:
    return FailDeposit(**book.ask(), deposit=deposit, reason="Declined.")


def charge_back(book: MemoryBook, deposit: str = "d1") -> ChargeBackDeposit:
    return ChargeBackDeposit(**book.ask(), deposit=deposit, reason="Card holder disputes.")


def withdraw(book: MemoryBook, amount_minor: int) -> RequestWithdrawal:
    return RequestWithdrawal(
        **book.ask(),
        withdrawal=f"w{book.commands}",
        player=ALICE,
        instrument="tok-1",
        currency="EUR",
        amount_minor=amount_minor,
    )


def suspend(book: MemoryBook) -> SuspendPlayer:
    return SuspendPlayer(**book.ask(), player=ALICE, ground="fraud", reason="Case 1.")


def purse(book: MemoryBook) -> Purse:
    found: Purse = book.get(player_stream(NETWORK, ALICE)).purse("EUR")
    return found


def test_an_announced_deposit_moves_no_money(book: MemoryBook) -> None:
    decision = book.when(announce(book))
    assert names(decision.changes) == [
        "deposit.announced.v1",
        "claim.taken.v1",
        "player.deposit_expected.v1",
    ]
    assert decision.answer["status"] == "announced"
    assert book.balances() == {}


def test_a_confirmed_deposit_is_credited_and_in_transit(book: MemoryBook) -> None:
    book.when(announce(book))
    decision = book.when(confirm(book))
    assert names(decision.changes) == ["deposit.confirmed.v1", "player.deposited.v1"]
    assert book.balances() == {(TRANSIT, "EUR"): 5_000, (BANKROLL, "EUR"): -5_000}
    assert purse(book) == Purse(bankroll_minor=5_000)
    assert decision.answer["bankroll_minor"] == 5_000
    assert book.get(player_stream(NETWORK, ALICE)).deposits == ()


def test_a_deposit_may_be_announced_and_confirmed_at_once(book: MemoryBook) -> None:
    decision = book.when(announce(book, confirmed=True))
    assert names(decision.changes) == [
        "deposit.announced.v1",
        "claim.taken.v1",
        "deposit.confirmed.v1",
        "player.deposited.v1",
    ]
    assert book.get(deposit_stream(NETWORK, "d1")).status == "confirmed"
    assert purse(book) == Purse(bankroll_minor=5_000)


def test_an_inferred_deposit_says_so(book: MemoryBook) -> None:
    decision = book.when(announce(book, confirmed=True, inferred=True))
    inferred = [getattr(event, "inferred", None) for _, event in decision.changes]
    assert inferred == [True, None, None, True]


def test_a_failed_deposit_moves_no_money(book: MemoryBook) -> None:
    book.when(announce(book))
    decision = book.when(fail(book))
    assert names(decision.changes) == ["deposit.failed.v1", "player.deposit_not_received.v1"]
    assert book.balances() == {}


@pytest.mark.parametrize("first", [confirm, fail])
@pytest.mark.parametrize("second", [confirm, fail])
def test_a_deposit_is_confirmed_or_failed_once(book: MemoryBook, first: Any, second: Any) -> None:
    book.when(announce(book))
    book.when(first(book))
    with pytest.raises(DepositNotOpen) as refused:
        book.when(second(book))
    assert (refused.value.code, refused.value.retry) == ("deposit-not-open", "never")


def test_a_provider_reference_stands_for_one_deposit(book: MemoryBook) -> None:
    book.when(announce(book, "d1"))
    with pytest.raises(ReferenceAlreadyUsed) as refused:
        book.when(announce(book, "d2", reference_claim=reference("d1")))
    assert (refused.value.code, refused.value.field) == ("reference-already-used", "reference")
    assert refused.value.extra == {"used_by": "d1"}


def test_the_reference_of_a_failed_deposit_stays_used(book: MemoryBook) -> None:
    book.when(announce(book, "d1"))
    book.when(fail(book, "d1"))
    with pytest.raises(ReferenceAlreadyUsed):
        book.when(announce(book, "d2", reference_claim=reference("d1")))


def test_a_deposit_id_is_used_once(book: MemoryBook) -> None:
    book.when(announce(book))
    with pytest.raises(DepositExists) as refused:
        book.when(announce(book, reference_claim=reference("another")))
    assert refused.value.code == "deposit-exists"


@pytest.mark.parametrize("amount_minor", [0, -5, MAX_MINOR + 1])
def test_a_deposit_of_an_impossible_amount_is_refused(book: MemoryBook, amount_minor: int) -> None:
    with pytest.raises(InvalidAmount):
        book.when(announce(book, amount_minor=amount_minor))


@pytest.mark.parametrize("currency", ["USD", "XPM", "XCR", "XTC", "XXX"])
def test_a_deposit_in_a_currency_that_the_rulebook_does_not_take_is_refused(
    book: MemoryBook, currency: str
) -> None:
    with pytest.raises(CurrencyMismatch) as refused:
        book.when(announce(book, currency=currency))
    assert (refused.value.code, refused.value.field) == ("currency-mismatch", "currency")


@pytest.mark.parametrize(
    "instrument", ["", "4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111"]
)
def test_a_card_number_is_never_kept(book: MemoryBook, instrument: str) -> None:
    with pytest.raises(InvalidField) as refused:
        book.when(announce(book, instrument=instrument))
    assert refused.value.field == "instrument"


@pytest.mark.parametrize(
    "instrument", ["tok-1", "4111111111111112", "123456789", "1234567812345670x"]
)
def test_a_token_that_is_no_card_number_is_kept(book: MemoryBook, instrument: str) -> None:
    book.when(announce(book, instrument=instrument))
    assert book.get(deposit_stream(NETWORK, "d1")).instrument == instrument


@pytest.mark.parametrize(("field", "value"), [("deposit", "a:b"), ("provider", "Card Pay")])
def test_a_deposit_with_an_impossible_id_is_refused(
    book: MemoryBook, field: str, value: str
) -> None:
    with pytest.raises(InvalidField) as refused:
        book.when(announce(book, **{field: value}))
    assert refused.value.field == field


def test_a_deposit_for_nobody_is_refused(book: MemoryBook) -> None:
    with pytest.raises(UnknownPlayer):
        book.when(announce(book, player=BOB))


def test_a_suspended_player_announces_no_deposit(book: MemoryBook) -> None:
    book.when(suspend(book))
    with pytest.raises(PlayerIsSuspended) as refused:
        book.when(announce(book, confirmed=True))
    assert (refused.value.code, refused.value.retry) == ("player-suspended", "later")


def test_money_that_arrives_after_a_suspension_is_credited(book: MemoryBook) -> None:
    book.when(announce(book))
    book.when(suspend(book))
    book.when(confirm(book))
    assert purse(book) == Purse(bankroll_minor=5_000)


def test_an_account_is_not_closed_while_a_deposit_is_on_its_way(book: MemoryBook) -> None:
    book.when(announce(book))
    with pytest.raises(AccountNotEmpty) as refused:
        book.when(ClosePlayer(**book.ask(), player=ALICE, reason="As asked."))
    assert refused.value.extra["deposits"] == ["d1"]


def test_a_closed_account_takes_no_deposit(book: MemoryBook) -> None:
    book.when(ClosePlayer(**book.ask(), player=ALICE, reason="As asked."))
    with pytest.raises(PlayerIsClosed):
        book.when(announce(book))


def test_a_player_has_a_bounded_number_of_open_deposits(book: MemoryBook) -> None:
    for number in range(OPEN_LIMIT):
        book.when(announce(book, f"d{number}"))
    with pytest.raises(TooManyOpen) as refused:
        book.when(announce(book, "one-more"))
    assert (refused.value.code, refused.value.retry) == ("too-many-open", "later")
    book.when(fail(book, "d0"))
    book.when(announce(book, "one-more"))


def test_a_charge_back_takes_the_amount_from_the_bankroll(book: MemoryBook) -> None:
    book.when(announce(book, confirmed=True))
    decision = book.when(charge_back(book))
    assert names(decision.changes) == [
        "deposit.charged_back.v1",
        "player.deposit_charged_back.v1",
    ]
    assert (decision.answer["taken_minor"], decision.answer["debt_minor"]) == (5_000, 0)
    assert book.balances() == {}


def test_what_the_bankroll_cannot_give_back_becomes_a_debt(book: MemoryBook) -> None:
    book.when(announce(book, confirmed=True))
    book.when(withdraw(book, 2_000))
    sit(book, open_table(book, min_buy_in_minor=2_000), 1, 2_000)
    decision = book.when(charge_back(book))
    assert (decision.answer["taken_minor"], decision.answer["debt_minor"]) == (1_000, 4_000)
    assert purse(book) == Purse(withdrawal_minor=2_000, debt_minor=4_000)
    assert book.balance(DEBT) == 4_000
    assert book.balance(accounts.chips(NETWORK, "Etomo", ALICE)) == -2_000
    assert book.balance(TRANSIT) == 0


def test_a_charge_back_against_an_empty_bankroll_is_all_debt(book: MemoryBook) -> None:
    book.when(announce(book, confirmed=True))
    book.when(withdraw(book, 5_000))
    postings = book.when(charge_back(book)).changes[1][1].postings()
    assert [(p.account, p.amount_minor) for p in postings] == [(DEBT, 5_000), (TRANSIT, -5_000)]


def test_a_deposit_is_charged_back_once(book: MemoryBook) -> None:
    book.when(announce(book, confirmed=True))
    book.when(charge_back(book))
    before = book.balances()
    with pytest.raises(DepositNotConfirmed) as refused:
        book.when(charge_back(book))
    assert refused.value.code == "deposit-not-confirmed"
    assert refused.value.extra == {"status": "charged-back"}
    assert book.balances() == before


def test_a_deposit_that_was_never_credited_is_not_charged_back(book: MemoryBook) -> None:
    book.when(announce(book))
    with pytest.raises(DepositNotConfirmed):
        book.when(charge_back(book))
    book.when(fail(book))
    with pytest.raises(DepositNotConfirmed):
        book.when(charge_back(book))


def test_a_closed_account_is_charged_back_into_debt(book: MemoryBook) -> None:
    book.when(announce(book))
    book.when(confirm(book))
    spent = withdraw(book, 5_000)
    book.when(spent)
    pay_out(book, spent.withdrawal)
    book.when(ClosePlayer(**book.ask(), player=ALICE, reason="As asked."))
    book.when(charge_back(book))
    assert purse(book) == Purse(debt_minor=5_000)


def pay_out(book: MemoryBook, withdrawal: str) -> None:
    book.when(TakeInReview(**book.ask(), withdrawal=withdrawal))
    book.when(ReleaseWithdrawal(**book.ask(), withdrawal=withdrawal))
    claim = IDENTITY.reference_claim(NETWORK, "withdrawal", "bankpay", withdrawal)
    book.when(
        PayWithdrawal(**book.ask(), withdrawal=withdrawal, provider="bankpay", payment_claim=claim)
    )


@pytest.mark.parametrize(("credited", "collected"), [(1_000, 1_000), (5_000, 4_000)])
def test_a_debt_is_collected_first_from_a_later_deposit(
    book: MemoryBook, credited: int, collected: int
) -> None:
    book.when(announce(book, "d1", confirmed=True, amount_minor=4_000))
    book.when(withdraw(book, 4_000))
    book.when(charge_back(book, "d1"))
    decision = book.when(announce(book, "d2", confirmed=True, amount_minor=credited))
    assert names(decision.changes)[-2:] == ["player.deposited.v1", "player.debt_collected.v1"]
    assert decision.answer["debt_collected_minor"] == collected
    assert decision.answer["bankroll_minor"] == credited - collected
    assert purse(book) == Purse(
        bankroll_minor=credited - collected, withdrawal_minor=4_000, debt_minor=4_000 - collected
    )


@pytest.mark.parametrize("command", [confirm, fail, charge_back])
def test_an_unknown_deposit_is_refused(book: MemoryBook, command: Any) -> None:
    with pytest.raises(UnknownDeposit) as refused:
        book.when(command(book, "nothing"))
    assert (refused.value.code, refused.value.kind) == ("unknown-deposit", "missing")


def play_money(book: MemoryBook, currency: str, amount_minor: int = 100_000) -> Command:
    return IssuePlayMoney(**book.ask(), player=ALICE, currency=currency, amount_minor=amount_minor)


def test_play_money_is_issued_from_its_own_account(book: MemoryBook) -> None:
    decision = book.when(play_money(book, "XPM"))
    assert decision.answer["bankroll_minor"] == 100_000
    assert book.balances() == {
        (accounts.play_issue(NETWORK), "XPM"): 100_000,
        (BANKROLL, "XPM"): -100_000,
    }


@pytest.mark.parametrize("currency", ["EUR", "XCR", "XTC"])
def test_only_play_money_of_the_rulebook_is_issued(book: MemoryBook, currency: str) -> None:
    with pytest.raises(CurrencyMismatch):
        book.when(play_money(book, currency))


def test_play_money_is_not_issued_in_impossible_amounts(book: MemoryBook) -> None:
    with pytest.raises(InvalidAmount):
        book.when(play_money(book, "XPM", 0))


def test_a_refused_command_leaves_no_trace(book: MemoryBook) -> None:
    fund(book, 1_000)
    history, states = list(book.history), dict(book.states)
    for command in (announce(book, currency="USD"), confirm(book), withdraw(book, 1_001)):
        with pytest.raises(Refused):
            book.when(command)
    assert book.history == history
    assert book.states == states
