"""Random weeks of a treasurer: nothing is settled, swept or paid twice, and nothing gets lost."""

from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ledger import accounts
from ledger.approvals.commands import AWAITING, GrantApproval, RequestApproval
from ledger.cashier.commands import PayWithdrawal
from ledger.catalogue import STREAMS
from ledger.core import Approvable, Command, Refused, category_of
from ledger.treasury.events import (
    PartnerState,
    ProviderState,
    TreasuryState,
    partner_stream,
    provider_stream,
    treasury_stream,
)
from tests.ledger.given import ALICE, BOB, IDENTITY, NETWORK, MemoryBook, a_book, fund, register
from tests.ledger.treasury.desk import (
    charge_back,
    correction,
    discharge,
    earn,
    funds_figures,
    held,
    liability,
    match,
    partner_settlement,
    released,
    settlement,
    sweep,
    top_up,
    transit_figures,
)

players = st.sampled_from([ALICE, BOB])
amounts = st.integers(1, 1_500)
picks = st.lists(st.integers(0, 99), min_size=1, max_size=3)
mostly = st.sampled_from([True, True, True, True, False])
slips = st.sampled_from([0, 0, 0, -5, 5])
reasons = st.sampled_from([None, None, "Nobody knows."])
accounts_named = st.sampled_from(["bank", "suspense", "shortfall", "transit:cardpay"])


KEPT = {"paid": "deposit", "kept": "deposit", "released": "withdrawal", "matched": "withdrawal"}
USABLE: dict[str, Callable[[Any], bool]] = {
    "paid": lambda state: state.settled_in is None,
    "kept": lambda state: state.settled_in is not None and state.charge_back_settled_in is None,
    "released": lambda state: state.status == "released",
    "matched": lambda state: state.status == "paid" and state.bank_reference is None,
}


class Weeks(RuleBasedStateMachine):
    """The treasurer asks for anything; what is refused must change nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.book: MemoryBook = a_book()
        self.deposits: list[str] = []
        self.back: list[str] = []
        self.withdrawals: list[str] = []
        self.older: Any = None
        self.corrected = False

    @initialize()
    def two_players(self) -> None:
        for number, player in enumerate((ALICE, BOB)):
            register(self.book, player, f"player {number}")
            self.deposits.append(fund(self.book, 20_000, player))
        self.asked(settlement(self.book, deposits=(self.deposits[0],), paid_minor=20_000))

    def asked(self, command: Command) -> dict[str, Any] | None:
        """Decide twice, for it must be the same; return the answer, or None when refused."""
        states = dict(self.book.states)
        try:
            expected = command.decide(self.book)
            decision = self.book.when(command)
        except Refused:
            assert self.book.states == states
            return None
        assert decision == expected
        return dict(decision.answer)

    def approved(self, command: Approvable) -> None:
        """Ask as the edge does, and let a second person agree to what must be agreed to."""
        common: dict[str, Any] = {
            "network": NETWORK,
            "at": command.at,
            "request_id": command.request_id,
        }
        approval = f"approval-{self.book.commands}"
        answer = self.asked(
            RequestApproval(**common, actor="test", approval=approval, command=command)
        )
        if answer and answer.get("status") == AWAITING:
            grant = GrantApproval(**common, actor="other", approval=approval, command=command)
            assert self.asked(grant) is not None

    def picked(self, ids: list[str], pick: list[int], *, fresh: bool, of: str) -> tuple[str, ...]:
        """Return some of the ids: those with which it can be done if ``fresh``, else any."""
        states = self.book.states
        usable = [
            one for one in ids if not fresh or USABLE[of](states[f"{KEPT[of]}:{NETWORK}:{one}"])
        ]
        chosen = [usable[index % len(usable)] for index in pick] if usable else []
        return tuple(dict.fromkeys(chosen) if fresh else chosen)

    @rule(player=players, amount=amounts)
    def deposit(self, player: str, amount: int) -> None:
        self.deposits.append(fund(self.book, amount, player))

    @rule(pick=st.integers(0, 99))
    def take_back(self, pick: int) -> None:
        deposit = self.deposits[pick % len(self.deposits)]
        if deposit not in self.back:
            charge_back(self.book, deposit)
            self.back.append(deposit)

    @rule(
        paid=picks,
        kept=picks,
        keep=st.booleans(),
        fresh=mostly,
        fee=st.integers(0, 40),
        slip=slips,
        reason=reasons,
    )
    def settle(
        self,
        paid: list[int],
        kept: list[int],
        *,
        keep: bool,
        fresh: bool,
        fee: int,
        slip: int,
        reason: str | None,
    ) -> None:
        deposits = self.picked(self.deposits, paid, fresh=fresh, of="paid")
        back = self.picked(self.back, kept, fresh=fresh, of="kept") if keep else ()
        state = self.book.states
        total = sum(state[f"deposit:{NETWORK}:{one}"].amount_minor for one in deposits)
        total -= sum(state[f"deposit:{NETWORK}:{one}"].amount_minor for one in back)
        self.approved(
            settlement(
                self.book,
                deposits=deposits,
                charge_backs=back,
                fee_minor=fee,
                paid_minor=total - fee + slip,
                difference_reason=reason if slip else None,
            )
        )

    @rule(part=st.integers(1, 12), stale=st.booleans())
    def settle_without_a_list(self, part: int, stale: bool) -> None:
        figures = transit_figures(self.book)
        self.approved(
            settlement(
                self.book,
                paid_minor=figures.transit_minor * part // 10,
                book=self.older if stale and self.older else figures,
            )
        )
        self.older = figures

    @rule(player=players, amount=st.integers(1, 500))
    def play(self, player: str, amount: int) -> None:
        if self.book.states[f"player:{NETWORK}:{player}"].purse("EUR").bankroll_minor >= amount:
            earn(self.book, amount, player)

    @rule(part=st.integers(1, 12))
    def take_rake(self, part: int) -> None:
        figures = funds_figures(self.book)
        before = held(self.book, "bank") + held(self.book, "transit") - liability(self.book)
        if self.asked(sweep(self.book, max(1, figures.earned_minor * part // 10))):
            assert (
                before
                >= held(self.book, "bank") + held(self.book, "transit") - liability(self.book)
                >= 0
            )
            assert held(self.book, "bank") >= 0

    @rule(amount=amounts)
    def put_in(self, amount: int) -> None:
        self.asked(top_up(self.book, amount))

    @rule(debit=accounts_named, credit=accounts_named, amount=amounts)
    def correct(self, debit: str, credit: str, amount: int) -> None:
        self.approved(correction(self.book, amount, debit=debit, credit=credit))
        self.corrected = True

    @rule(player=players, amount=amounts)
    def ask_for_money(self, player: str, amount: int) -> None:
        if self.book.states[f"player:{NETWORK}:{player}"].purse("EUR").bankroll_minor >= amount:
            self.withdrawals.append(released(self.book, amount, player))

    @rule(pick=picks, partner=st.booleans(), fresh=mostly)
    def pay(self, pick: list[int], partner: bool, fresh: bool) -> None:
        ids = self.picked(self.withdrawals, pick, fresh=fresh, of="released")
        if partner:
            self.asked(partner_settlement(self.book, *ids))
            return
        for one in ids:
            claim = IDENTITY.reference_claim(NETWORK, "withdrawal", "sepa", one)
            pay = PayWithdrawal(
                **self.book.ask(), withdrawal=one, provider="sepa", payment_claim=claim
            )
            self.asked(pay)

    @rule(pick=picks, fresh=mostly)
    def find_in_the_statement(self, pick: list[int], fresh: bool) -> None:
        ids = self.picked(self.withdrawals, pick, fresh=fresh, of="matched")
        paid = sum(self.book.states[f"withdrawal:{NETWORK}:{one}"].amount_minor for one in ids)
        self.asked(match(self.book, max(1, paid), *ids))

    @rule(amount=amounts)
    def hear_of_the_partner(self, amount: int) -> None:
        self.asked(discharge(self.book, amount, f"report-{self.book.commands}"))

    @invariant()
    def postings_sum_to_zero(self) -> None:
        assert sum(self.book.balances().values()) == 0

    @invariant()
    def no_deposit_is_settled_or_kept_back_twice(self) -> None:
        steps = [
            (stream, event.NAME)
            for stream, event in self.book.history
            if event.NAME in ("deposit.settled.v1", "deposit.charge_back_settled.v1")
        ]
        assert len(steps) == len(set(steps))

    @invariant()
    def nothing_leaves_transit_that_did_not_enter_it(self) -> None:
        # Below zero is what a provider has yet to keep back, and what a correction says.
        if not self.corrected:
            owed_back = sum(
                state.amount_minor
                for stream, state in self.book.states.items()
                if category_of(stream) == "deposit"
                and state.status == "charged-back"
                and state.charge_back_settled_in is None
            )
            assert self.book.balance(accounts.transit(NETWORK, "cardpay")) >= -owed_back

    @invariant()
    def no_more_is_swept_than_was_earned(self) -> None:
        assert held(self.book, "swept") <= held(self.book, "rake")

    @invariant()
    def what_partners_hold_is_what_they_owe(self) -> None:
        state: PartnerState | None = self.book.states.get(
            partner_stream(NETWORK, "kerching", "EUR")
        )
        assert held(self.book, "at-partner") == held(self.book, "partner") >= 0
        assert held(self.book, "partner") == (state.owed_minor if state else 0)

    @invariant()
    def states_hold_the_sums_of_postings(self) -> None:
        provider: ProviderState | None = self.book.states.get(
            provider_stream(NETWORK, "cardpay", "EUR")
        )
        house: TreasuryState | None = self.book.states.get(treasury_stream(NETWORK, "EUR"))
        assert held(self.book, "fee") == (provider.fee_minor if provider else 0)
        assert held(self.book, "swept") == (house.swept_minor if house else 0)
        assert held(self.book, "own-funds") == (house.own_funds_minor if house else 0)

    def teardown(self) -> None:
        states: dict[str, Any] = {}
        for stream, event in self.book.history:
            category = category_of(stream)
            if category != "hand":
                states[stream] = STREAMS[category].evolve(states.get(stream), event)
        assert states == self.book.states


TestWeeks = Weeks.TestCase
TestWeeks.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
