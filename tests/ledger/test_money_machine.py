"""Random days at the cashier and the tables: money is conserved, and replay equals live."""

from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ledger import accounts
from ledger.approvals.commands import AWAITING, GrantApproval, RequestApproval
from ledger.cashier.commands import (
    AnnounceDeposit,
    ChargeBackDeposit,
    ConfirmDeposit,
    FailDeposit,
    IssuePlayMoney,
    PayWithdrawal,
    RejectWithdrawal,
    ReleaseWithdrawal,
    RequestWithdrawal,
    TakeInReview,
)
from ledger.catalogue import STREAMS
from ledger.core import Command, Refused, category_of
from ledger.players.commands import ClosePlayer, ReinstatePlayer, SuspendPlayer
from ledger.players.events import PlayerState, Purse, player_stream
from ledger.tables.commands import (
    BeginHand,
    BuyIn,
    CloseTable,
    CrashTable,
    LeaveTable,
    ResyncTable,
    TopUp,
)
from ledger.tables.events import TableState, table_stream
from tests.ledger.given import (
    ALICE,
    BOB,
    CAROL,
    IDENTITY,
    NETWORK,
    MemoryBook,
    a_book,
    fund,
    open_table,
    register,
)

PLAYERS = (ALICE, BOB, CAROL)
TABLES = ("Etomo", "Hebron")
NEVER_NEGATIVE = ("bankroll", "frozen", "withdrawal", "chips")

players = st.sampled_from(PLAYERS)
tables = st.sampled_from(TABLES)
amounts = st.one_of(st.integers(1, 300), st.integers(1, 20_000))
numbers = st.sampled_from([None, None, None, "81", "82"])
picks = st.integers(0, 99)
references = st.integers(0, 20).map(str)
rarely = st.integers(0, 9).map(lambda chance: chance == 9)


class Day(RuleBasedStateMachine):
    """Everybody asks for anything at any time; what is refused must change nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.book: MemoryBook = a_book()
        self.confirmed = 0
        self.charged_back = 0
        self.paid = 0
        self.wishes: dict[str, ResyncTable] = {}

    @initialize()
    def a_room(self) -> None:
        for number, player in enumerate(PLAYERS):
            register(self.book, player, f"player {number}")
            fund(self.book, 10_000, player)
            self.confirmed += 10_000
        for name in TABLES:
            open_table(self.book, name, min_buy_in_minor=100)

    def asked(self, kind: type[Command], **fields: Any) -> dict[str, Any] | None:
        """Decide twice, for it must be the same; return the answer, or None when refused."""
        command = kind(**{**self.book.ask(), **fields})
        states = dict(self.book.states)
        try:
            expected = command.decide(self.book)
            decision = self.book.when(command)
        except Refused:
            assert self.book.states == states
            return None
        assert decision == expected
        assert set(command.touches()) <= self.book.read
        return dict(decision.answer)

    def picked(self, category: str, pick: int) -> str:
        """Return the id of some deposit or withdrawal, or of none."""
        known = [stream for stream in self.book.states if category_of(stream) == category]
        return [*known, "entraction:none"][pick % (len(known) + 1)].rpartition(":")[2]

    @rule(player=players, amount=amounts, reference=references, confirmed=st.booleans())
    def deposit(self, player: str, amount: int, reference: str, confirmed: bool) -> None:
        answer = self.asked(
            AnnounceDeposit,
            deposit=f"deposit-{self.book.commands}",
            player=player,
            provider="cardpay",
            instrument="tok-1",
            reference_claim=IDENTITY.reference_claim(NETWORK, "deposit", "cardpay", reference),
            currency="EUR",
            amount_minor=amount,
            confirmed=confirmed,
        )
        if answer and confirmed:
            self.confirmed += amount

    @rule(pick=picks)
    def confirm(self, pick: int) -> None:
        answer = self.asked(ConfirmDeposit, deposit=self.picked("deposit", pick))
        self.confirmed += answer["amount_minor"] if answer else 0

    @rule(pick=picks)
    def fail(self, pick: int) -> None:
        self.asked(FailDeposit, deposit=self.picked("deposit", pick), reason="Declined.")

    @rule(pick=picks)
    def charge_back(self, pick: int) -> None:
        deposit = self.picked("deposit", pick)
        answer = self.asked(ChargeBackDeposit, deposit=deposit, reason="Dispute.")
        self.charged_back += answer["amount_minor"] if answer else 0

    @rule(player=players, amount=amounts)
    def withdraw(self, player: str, amount: int) -> None:
        self.asked(
            RequestWithdrawal,
            withdrawal=f"withdrawal-{self.book.commands}",
            player=player,
            instrument="tok-1",
            currency="EUR",
            amount_minor=amount,
        )

    @rule(pick=picks, reference=references, steps=st.sets(st.integers(0, 3)))
    def handle_withdrawal(self, pick: int, reference: str, steps: set[int]) -> None:
        """Any of the steps, in order: those that do not follow are refused."""
        withdrawal = self.picked("withdrawal", pick)
        claim = IDENTITY.reference_claim(NETWORK, "withdrawal", "bankpay", reference)
        kinds: list[tuple[type[Command], dict[str, Any]]] = [
            (TakeInReview, {}),
            (ReleaseWithdrawal, {}),
            (PayWithdrawal, {"provider": "bankpay", "payment_claim": claim}),
            (RejectWithdrawal, {"reason": "No papers."}),
        ]
        for step in sorted(steps):
            kind, fields = kinds[step]
            answer = self.asked(kind, withdrawal=withdrawal, **fields)
            if answer and kind is PayWithdrawal:
                self.paid += answer["amount_minor"]

    @rule(player=players, amount=amounts)
    def issue(self, player: str, amount: int) -> None:
        self.asked(IssuePlayMoney, player=player, currency="XPM", amount_minor=amount)

    @rule(player=players, close=rarely, suspend=rarely)
    def close_or_suspend_or_reinstate(self, player: str, close: bool, suspend: bool) -> None:
        if close:
            self.asked(ClosePlayer, player=player, reason="As asked.")
        elif suspend:
            self.asked(SuspendPlayer, player=player, ground="fraud", reason="Case 1.")
        else:
            self.asked(ReinstatePlayer, player=player, reason="Case 1 closed.")

    @rule(table=tables, player=players, seat=st.integers(1, 3), amount=amounts, after=numbers)
    def buy_in(self, table: str, player: str, seat: int, amount: int, after: str | None) -> None:
        self.asked(
            BuyIn,
            table=table,
            player=player,
            seat=seat,
            currency="EUR",
            amount_minor=amount,
            after_game_number=after,
        )

    @rule(table=tables, player=players, amount=amounts, after=numbers)
    def top_up(self, table: str, player: str, amount: int, after: str | None) -> None:
        self.asked(
            TopUp,
            table=table,
            player=player,
            currency="EUR",
            amount_minor=amount,
            after_game_number=after,
        )

    @rule(table=tables, player=players, after=numbers)
    def leave(self, table: str, player: str, after: str | None) -> None:
        self.asked(LeaveTable, table=table, player=player, after_game_number=after)

    @rule(table=tables, game_number=st.sampled_from(["81", "82"]))
    def begin(self, table: str, game_number: str) -> None:
        self.asked(BeginHand, table=table, game_number=game_number)

    @rule(table=tables, part=st.integers(0, 10), game_number=numbers)
    def resync(self, table: str, part: int, game_number: str | None) -> None:
        """The first seat loses a part of its chips to the last: a lost hand."""
        state: TableState = self.book.get(table_stream(NETWORK, table))
        chips = {number: seat.chips_minor for number, seat in state.seats.items()}
        if chips:
            first, last = min(chips), max(chips)
            lost = chips[first] * part // 10
            chips[first] -= lost
            chips[last] += lost - lost // 20
        wish = ResyncTable(
            **self.book.ask(),
            table=table,
            chips_minor=chips,
            ground="technical-failure",
            reason="Lost.",
            game_number=game_number,
        )
        approval = f"approval-{self.book.commands}"
        answer = self.asked(RequestApproval, approval=approval, command=wish)
        if answer and answer.get("status") == AWAITING:
            self.wishes[approval] = wish

    @rule(pick=picks, checker=st.sampled_from(["test", "checker", "checker"]))
    def agree(self, pick: int, checker: str) -> None:
        """Somebody grants what was asked for, at once or after much has happened."""
        if self.wishes:
            approval = [*self.wishes][pick % len(self.wishes)]
            self.asked(
                GrantApproval, actor=checker, approval=approval, command=self.wishes[approval]
            )

    @rule(table=tables, crash=rarely, close=rarely)
    def crash_or_close_and_reopen(self, table: str, crash: bool, close: bool) -> None:
        if crash:
            self.asked(CrashTable, table=table, reason="Power cut.")
        elif close and self.asked(CloseTable, table=table, cash_out=True):
            open_table(self.book, table, min_buy_in_minor=100)

    @invariant()
    def money_is_conserved(self) -> None:
        sums: dict[str, int] = {}
        for (account, currency), amount in self.book.balances().items():
            sums[currency] = sums.get(currency, 0) + amount
            component = accounts.parse(account).component
            if component in NEVER_NEGATIVE:
                assert amount <= 0, account
            if component == "debt":
                assert amount >= 0, account
        assert not any(sums.values())

    @invariant()
    def what_came_in_and_went_out_is_what_was_answered(self) -> None:
        transit = self.book.balance(accounts.transit(NETWORK, "cardpay"))
        assert transit == self.confirmed - self.charged_back
        assert self.book.balance(accounts.bank(NETWORK)) == -self.paid

    @invariant()
    def states_hold_the_sums_of_postings(self) -> None:
        balances = self.book.balances()
        for player in PLAYERS:
            state: PlayerState | None = self.book.get(player_stream(NETWORK, player))
            for currency in ("EUR", "XPM"):
                assert (state.purse(currency) if state else Purse()) == Purse(
                    bankroll_minor=-balances.get((accounts.bankroll(NETWORK, player), currency), 0),
                    frozen_minor=-balances.get((accounts.frozen(NETWORK, player), currency), 0),
                    withdrawal_minor=-balances.get(
                        (accounts.withdrawal(NETWORK, player), currency), 0
                    ),
                    debt_minor=balances.get((accounts.debt(NETWORK, player), currency), 0),
                )

    @invariant()
    def tables_and_players_agree_on_seats_and_chips(self) -> None:
        balances = self.book.balances()
        seated: dict[tuple[str, str], int] = {}
        for name in TABLES:
            table: TableState | None = self.book.get(table_stream(NETWORK, name))
            for number, seat in (table.seats if table else {}).items():
                seated[seat.player, name] = number
                chips = accounts.chips(NETWORK, name, seat.player)
                assert balances.pop((chips, "EUR"), 0) == -seat.chips_minor
        # Nobody who does not sit has chips.
        assert not [key for key in balances if key[0].startswith("chips:")]
        for player in PLAYERS:
            state: PlayerState | None = self.book.get(player_stream(NETWORK, player))
            seats = {name: seat for (who, name), seat in seated.items() if who == player}
            assert (state.seats if state else {}) == seats

    def teardown(self) -> None:
        """Replay equals live, also from a snapshot of every state."""
        assert MemoryBook(self.book.history).states == self.book.states
        for stream, state in self.book.states.items():
            kind = STREAMS[category_of(stream)].state
            assert msgspec.json.decode(msgspec.json.encode(state), type=kind) == state


TestDay = Day.TestCase
TestDay.settings = settings(max_examples=100, stateful_step_count=60, deadline=None)
