"""Money out: requested, in review, released, paid; or rejected."""

from typing import Any

import pytest

from ledger import accounts
from ledger.bounds import InvalidAmount, InvalidField
from ledger.cashier.commands import (
    OPEN_LIMIT,
    ChargeBackDeposit,
    PayWithdrawal,
    RejectWithdrawal,
    ReleaseWithdrawal,
    RequestWithdrawal,
    TakeInReview,
    TooManyOpen,
    UnknownWithdrawal,
    WithdrawalExists,
    WithdrawalNotInReview,
    WithdrawalNotOpen,
    WithdrawalNotReleased,
    WithdrawalNotRequested,
)
from ledger.cashier.events import withdrawal_stream
from ledger.core import Command, Refused
from ledger.identity import ReferenceAlreadyUsed
from ledger.players.commands import ReinstatePlayer, SuspendPlayer
from ledger.players.events import Purse, player_stream
from ledger.players.standing import (
    CurrencyMismatch,
    InsufficientFunds,
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
    register,
)

STEPS = ("review", "release", "pay", "reject")


@pytest.fixture
def book() -> MemoryBook:
    book = a_book()
    register(book)
    fund(book, 10_000)
    return book


def request(book: MemoryBook, withdrawal: str = "w1", **fields: Any) -> RequestWithdrawal:
    asked: dict[str, Any] = {
        "withdrawal": withdrawal,
        "player": ALICE,
        "instrument": "tok-1",
        "currency": "EUR",
        "amount_minor": 6_000,
    }
    return RequestWithdrawal(**book.ask(), **{**asked, **fields})


def step(book: MemoryBook, name: str, withdrawal: str = "w1", reference: str = "") -> Command:
    match name:
        case "review":
            return TakeInReview(**book.ask(), withdrawal=withdrawal)
        case "release":
            return ReleaseWithdrawal(**book.ask(), withdrawal=withdrawal)
        case "pay":
            paid = IDENTITY.reference_claim(
                NETWORK, "withdrawal", "bankpay", reference or withdrawal
            )
            return PayWithdrawal(
                **book.ask(), withdrawal=withdrawal, provider="bankpay", payment_claim=paid
            )
        case _:
            return RejectWithdrawal(**book.ask(), withdrawal=withdrawal, reason="No papers.")


def purse(book: MemoryBook) -> Purse:
    found: Purse = book.get(player_stream(NETWORK, ALICE)).purse("EUR")
    return found


def test_a_requested_withdrawal_leaves_the_bankroll_and_stays_owed(book: MemoryBook) -> None:
    decision = book.when(request(book))
    assert names(decision.changes) == [
        "withdrawal.requested.v1",
        "player.withdrawal_reserved.v1",
    ]
    assert decision.answer["bankroll_minor"] == 4_000
    assert purse(book) == Purse(bankroll_minor=4_000, withdrawal_minor=6_000)
    assert book.balance(accounts.withdrawal(NETWORK, ALICE)) == -6_000


def test_a_withdrawal_is_reviewed_released_and_paid_from_the_bank(book: MemoryBook) -> None:
    book.when(request(book))
    statuses = [book.when(step(book, name)).answer["status"] for name in STEPS[:3]]
    assert statuses == ["in-review", "released", "paid"]
    assert purse(book) == Purse(bankroll_minor=4_000)
    assert book.balance(accounts.bank(NETWORK)) == -6_000
    assert book.get(player_stream(NETWORK, ALICE)).withdrawals == ()


@pytest.mark.parametrize("before", [(), ("review",), ("review", "release")])
def test_an_open_withdrawal_can_be_rejected_and_its_money_is_back(
    book: MemoryBook, before: tuple[str, ...]
) -> None:
    book.when(request(book))
    for name in before:
        book.when(step(book, name))
    decision = book.when(step(book, "reject"))
    assert names(decision.changes) == [
        "withdrawal.rejected.v1",
        "player.withdrawal_given_back.v1",
    ]
    assert purse(book) == Purse(bankroll_minor=10_000)


WRONG_STEPS: list[tuple[tuple[str, ...], str, type[Refused], str]] = [
    ((), "release", WithdrawalNotInReview, "withdrawal-not-in-review"),
    ((), "pay", WithdrawalNotReleased, "withdrawal-not-released"),
    (("review",), "review", WithdrawalNotRequested, "withdrawal-not-requested"),
    (("review",), "pay", WithdrawalNotReleased, "withdrawal-not-released"),
    (("review", "release"), "review", WithdrawalNotRequested, "withdrawal-not-requested"),
    (("review", "release"), "release", WithdrawalNotInReview, "withdrawal-not-in-review"),
    (("review", "release", "pay"), "pay", WithdrawalNotReleased, "withdrawal-not-released"),
    (("review", "release", "pay"), "reject", WithdrawalNotOpen, "withdrawal-not-open"),
    (("reject",), "reject", WithdrawalNotOpen, "withdrawal-not-open"),
    (("reject",), "review", WithdrawalNotRequested, "withdrawal-not-requested"),
    (("review", "reject"), "release", WithdrawalNotInReview, "withdrawal-not-in-review"),
    (("review", "release", "reject"), "pay", WithdrawalNotReleased, "withdrawal-not-released"),
]


@pytest.mark.parametrize(("before", "wrong", "refusal", "code"), WRONG_STEPS)
def test_a_wrong_step_is_refused_and_moves_nothing(
    book: MemoryBook, before: tuple[str, ...], wrong: str, refusal: type[Refused], code: str
) -> None:
    book.when(request(book))
    for name in before:
        book.when(step(book, name))
    balances = book.balances()
    with pytest.raises(refusal) as refused:
        # With a reference of its own, so that only the state stands in the way.
        book.when(step(book, wrong, reference="another"))
    assert refused.value.code == code
    assert book.balances() == balances


@pytest.mark.parametrize("name", STEPS)
def test_a_step_of_an_unknown_withdrawal_is_refused(book: MemoryBook, name: str) -> None:
    with pytest.raises(UnknownWithdrawal) as refused:
        book.when(step(book, name))
    assert (refused.value.code, refused.value.kind) == ("unknown-withdrawal", "missing")


def test_reserved_money_cannot_be_reserved_again(book: MemoryBook) -> None:
    book.when(request(book, "w1", amount_minor=6_000))
    with pytest.raises(InsufficientFunds) as refused:
        book.when(request(book, "w2", amount_minor=4_001))
    assert refused.value.code == "insufficient-funds"
    assert refused.value.extra == {"available_minor": 4_000, "currency": "EUR"}
    book.when(request(book, "w2", amount_minor=4_000))
    assert purse(book) == Purse(withdrawal_minor=10_000)


def test_a_payment_reference_stands_for_one_payment(book: MemoryBook) -> None:
    for withdrawal in ("w1", "w2"):
        book.when(request(book, withdrawal, amount_minor=1_000))
        book.when(step(book, "review", withdrawal))
        book.when(step(book, "release", withdrawal))
    book.when(step(book, "pay", "w1", reference="transfer 7"))
    with pytest.raises(ReferenceAlreadyUsed) as refused:
        book.when(step(book, "pay", "w2", reference="transfer 7"))
    assert refused.value.field == "payment_reference"
    assert book.balance(accounts.bank(NETWORK)) == -1_000


def test_a_withdrawal_id_is_used_once(book: MemoryBook) -> None:
    book.when(request(book))
    with pytest.raises(WithdrawalExists) as refused:
        book.when(request(book, amount_minor=1))
    assert refused.value.code == "withdrawal-exists"


def test_frozen_money_never_leaves(book: MemoryBook) -> None:
    stream = player_stream(NETWORK, ALICE)
    state = book.get(stream)
    purses = {"EUR": Purse(bankroll_minor=1_000, frozen_minor=9_000)}
    book.states[stream] = type(state)(**{**state_fields(state), "purses": purses})
    with pytest.raises(InsufficientFunds):
        book.when(request(book, amount_minor=1_001))
    book.when(request(book, amount_minor=1_000))


def state_fields(state: Any) -> dict[str, Any]:
    return {name: getattr(state, name) for name in state.__struct_fields__}


def suspend(book: MemoryBook) -> SuspendPlayer:
    return SuspendPlayer(**book.ask(), player=ALICE, ground="fraud", reason="Case 1.")


def test_a_suspended_player_requests_no_withdrawal(book: MemoryBook) -> None:
    book.when(suspend(book))
    with pytest.raises(PlayerIsSuspended):
        book.when(request(book))


@pytest.mark.parametrize(
    ("before", "wanted"), [(("review",), "release"), (("review", "release"), "pay")]
)
def test_a_suspended_players_withdrawal_is_neither_released_nor_paid(
    book: MemoryBook, before: tuple[str, ...], wanted: str
) -> None:
    book.when(request(book))
    for name in before:
        book.when(step(book, name))
    book.when(suspend(book))
    with pytest.raises(PlayerIsSuspended):
        book.when(step(book, wanted))
    book.when(ReinstatePlayer(**book.ask(), player=ALICE, reason="Case 1 closed."))
    book.when(step(book, wanted))


def test_a_suspended_players_withdrawal_can_be_rejected(book: MemoryBook) -> None:
    book.when(request(book))
    book.when(suspend(book))
    book.when(step(book, "reject"))
    assert purse(book) == Purse(bankroll_minor=10_000)


def test_a_debt_is_collected_from_a_rejected_withdrawal(book: MemoryBook) -> None:
    deposit = fund(book, 3_000)
    book.when(request(book, amount_minor=13_000))
    book.when(ChargeBackDeposit(**book.ask(), deposit=deposit, reason="Dispute."))
    assert purse(book) == Purse(withdrawal_minor=13_000, debt_minor=3_000)
    book.when(step(book, "reject"))
    assert purse(book) == Purse(bankroll_minor=10_000)


def test_a_player_has_a_bounded_number_of_open_withdrawals(book: MemoryBook) -> None:
    for number in range(OPEN_LIMIT):
        book.when(request(book, f"w{number}", amount_minor=1))
    with pytest.raises(TooManyOpen):
        book.when(request(book, "one-more", amount_minor=1))


@pytest.mark.parametrize(
    ("fields", "refusal", "field"),
    [
        ({"amount_minor": 0}, InvalidAmount, "amount_minor"),
        ({"withdrawal": "a:b"}, InvalidField, "withdrawal"),
        ({"instrument": "4111111111111111"}, InvalidField, "instrument"),
        ({"player": BOB}, UnknownPlayer, "player"),
        ({"currency": "USD"}, CurrencyMismatch, "currency"),
        ({"currency": "XPM"}, CurrencyMismatch, "currency"),
    ],
)
def test_an_impossible_request_is_refused_and_names_the_field(
    book: MemoryBook, fields: dict[str, Any], refusal: type[Refused], field: str
) -> None:
    with pytest.raises(refusal) as refused:
        book.when(request(book, **fields))
    assert refused.value.field == field


def test_a_withdrawals_state_follows_its_events(book: MemoryBook) -> None:
    book.when(request(book))
    state = book.get(withdrawal_stream(NETWORK, "w1"))
    assert (state.player, state.amount_minor, state.status) == (ALICE, 6_000, "requested")
