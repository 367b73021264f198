"""A treasurer over an in-memory book: commands with what they need, and the figures of the book."""

from typing import Any

from ledger.accounts import COMPONENTS, parse
from ledger.cashier.commands import (
    ChargeBackDeposit,
    ReleaseWithdrawal,
    RequestWithdrawal,
    TakeInReview,
)
from ledger.core import Asked, Decision, category_of
from ledger.hands.events import HandRaked, HandStaked, hand_stream
from ledger.treasury.commands import (
    CorrectTreasury,
    FundsFigures,
    RecordProviderSettlement,
    SweepRake,
    TopUpFunds,
    TransitFigures,
)
from ledger.treasury.events import (
    ProviderState,
    TreasuryState,
    provider_stream,
    treasury_stream,
)
from ledger.treasury.payouts import DischargePartner, MatchBankLine, SettleWithPartner
from tests.ledger.given import ALICE, IDENTITY, NETWORK, MemoryBook, open_table, sit

PROVIDER = "cardpay"


def bank_claim(reference: str) -> str:
    return IDENTITY.reference_claim(NETWORK, "bank", "client-funds", reference)


def held(book: MemoryBook, component: str, currency: str = "EUR") -> int:
    """Return what a component holds on its own side, all its accounts together."""
    debits = sum(
        amount
        for (account, of), amount in book.balances().items()
        if of == currency and parse(account).component == component
    )
    return (
        debits if COMPONENTS[component] in ("asset", "expense", "suspense", "equity") else -debits
    )


def liability(book: MemoryBook) -> int:
    return sum(held(book, name) for name, side in COMPONENTS.items() if side == "player-funds")


def transit_figures(book: MemoryBook, provider: str = PROVIDER) -> TransitFigures:
    """Read what the projections would say."""
    state: ProviderState | None = book.states.get(provider_stream(NETWORK, provider, "EUR"))
    house: TreasuryState | None = book.states.get(treasury_stream(NETWORK, "EUR"))
    return TransitFigures(
        position=len(book.history),
        settlements=state.settlements if state else 0,
        movements=house.movements if house else 0,
        transit_minor=book.balance(f"transit:{NETWORK}:{provider}"),
        to_keep_back_minor=sum(
            deposit.amount_minor
            for stream, deposit in book.states.items()
            if category_of(stream) == "deposit"
            and (deposit.provider, deposit.currency) == (provider, "EUR")
            and deposit.status == "charged-back"
            and deposit.settled_in is not None
            and deposit.charge_back_settled_in is None
        ),
    )


def funds_figures(book: MemoryBook) -> FundsFigures:
    """Read what the projections would say."""
    house: TreasuryState | None = book.states.get(treasury_stream(NETWORK, "EUR"))
    return FundsFigures(
        position=len(book.history),
        movements=house.movements if house else 0,
        bank_minor=held(book, "bank"),
        transit_minor=held(book, "transit"),
        liability_minor=liability(book),
        earned_minor=held(book, "rake"),
    )


def settlement(book: MemoryBook, /, **fields: Any) -> RecordProviderSettlement:
    """Ask for a settlement; ``paid_minor`` and ``fee_minor`` are 0 unless given."""
    reference = fields.pop("reference", f"set-{book.commands}")
    bank_reference = fields.pop("bank_reference", f"bank-{book.commands}")
    asked: dict[str, Any] = {
        "settlement": f"settlement-{book.commands}",
        "provider": PROVIDER,
        "reference": reference,
        "bank_reference": bank_reference,
        "currency": "EUR",
        "paid_minor": 0,
        "fee_minor": 0,
        "book": transit_figures(book),
        "rulebook": "entraction",
        **fields,
    }
    return RecordProviderSettlement(
        **book.ask(),
        reference_claim=IDENTITY.reference_claim(
            NETWORK, "settlement", asked["provider"], reference
        ),
        bank_claim=bank_claim(bank_reference),
        **asked,
    )


def sweep(book: MemoryBook, /, amount_minor: int, **fields: Any) -> SweepRake:
    reference = fields.pop("bank_reference", f"bank-{book.commands}")
    asked = {"currency": "EUR", "book": funds_figures(book), "rulebook": "entraction", **fields}
    return SweepRake(
        **book.ask(),
        amount_minor=amount_minor,
        bank_reference=reference,
        bank_claim=bank_claim(reference),
        **asked,
    )


def top_up(book: MemoryBook, /, amount_minor: int, **fields: Any) -> TopUpFunds:
    reference = fields.pop("bank_reference", f"bank-{book.commands}")
    asked = {"currency": "EUR", "reason": "Fees of May.", "rulebook": "entraction", **fields}
    return TopUpFunds(
        **book.ask(),
        amount_minor=amount_minor,
        bank_reference=reference,
        bank_claim=bank_claim(reference),
        **asked,
    )


def correction(book: MemoryBook, /, amount_minor: int = 100, **fields: Any) -> CorrectTreasury:
    asked: dict[str, Any] = {
        "currency": "EUR",
        "debit": "shortfall",
        "credit": "bank",
        "ground": "manifest-error",
        "reason": "A bank charge.",
        "rulebook": "entraction",
        **fields,
    }
    return CorrectTreasury(**book.ask(), amount_minor=amount_minor, **asked)


def partner_settlement(book: MemoryBook, /, *withdrawals: str, **fields: Any) -> SettleWithPartner:
    reference = fields.pop("bank_reference", f"bank-{book.commands}")
    asked = {"partner": "kerching", "currency": "EUR", "rulebook": "entraction", **fields}
    return SettleWithPartner(
        **book.ask(),
        settlement=f"settlement-{book.commands}",
        withdrawals=withdrawals,
        bank_reference=reference,
        bank_claim=bank_claim(reference),
        **asked,
    )


def discharge(book: MemoryBook, amount_minor: int, report: str = "r-1") -> DischargePartner:
    return DischargePartner(
        **book.ask(),
        partner="kerching",
        currency="EUR",
        amount_minor=amount_minor,
        report=report,
        report_claim=IDENTITY.reference_claim(NETWORK, "partner-report", "kerching", report),
    )


def match(
    book: MemoryBook, /, amount_minor: int, *withdrawals: str, **fields: Any
) -> MatchBankLine:
    reference = fields.pop("bank_reference", f"bank-{book.commands}")
    return MatchBankLine(
        **book.ask(),
        bank_reference=reference,
        bank_claim=bank_claim(reference),
        currency=fields.pop("currency", "EUR"),
        amount_minor=amount_minor,
        withdrawals=withdrawals,
    )


def agreed(book: MemoryBook, command: RecordProviderSettlement | CorrectTreasury) -> Decision:
    """Let a second person agree: decide and record; return what came of it."""
    assert isinstance(command.approval(book), Asked)
    decision = command.decide_approved(book)
    book.record(decision.changes)
    return decision


def charge_back(book: MemoryBook, deposit: str) -> None:
    book.when(ChargeBackDeposit(**book.ask(), deposit=deposit, reason="Dispute."))


def request(book: MemoryBook, amount_minor: int, player: str = ALICE) -> str:
    """Request a withdrawal; return its id."""
    withdrawal = f"w{book.commands}"
    book.when(
        RequestWithdrawal(
            **book.ask(),
            withdrawal=withdrawal,
            player=player,
            instrument="tok-1",
            currency="EUR",
            amount_minor=amount_minor,
        )
    )
    return withdrawal


def released(book: MemoryBook, amount_minor: int, player: str = ALICE) -> str:
    """Request a withdrawal and release it; return its id."""
    withdrawal = request(book, amount_minor, player)
    book.when(TakeInReview(**book.ask(), withdrawal=withdrawal))
    book.when(ReleaseWithdrawal(**book.ask(), withdrawal=withdrawal))
    return withdrawal


def earn(book: MemoryBook, amount_minor: int, player: str = ALICE) -> None:
    """Let chips of a player become rake, as the hands of a table make them."""
    table = f"Table {book.commands}"
    open_table(book, table, min_buy_in_minor=1)
    sit(book, table, 1, amount_minor, player)
    asked = book.ask()
    about: dict[str, Any] = {
        "occurred_at": asked["at"],
        "actor": asked["actor"],
        "request_id": asked["request_id"],
        "rulebook": "entraction@2013-01-01",
        "network": NETWORK,
        "table": table,
        "currency": "EUR",
        "amount_minor": amount_minor,
    }
    hand = hand_stream(NETWORK, asked["request_id"])
    book.history += [
        (hand, HandStaked(**about, player=player)),
        (hand, HandRaked(**about, by_partner_minor={"kerching": amount_minor})),
    ]
