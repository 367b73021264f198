"""Four eyes: asked for by one person, decided by another, done once and to the letter."""

import hashlib
import itertools
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ledger import accounts
from ledger.approvals.commands import (
    AWAITING,
    REASONS,
    ExpireApproval,
    GrantApproval,
    RejectApproval,
    RequestApproval,
    WithdrawApproval,
)
from ledger.approvals.events import (
    ApprovalRequested,
    ApprovalState,
    Execution,
    approval_stream,
    digest_of,
)
from ledger.approvals.policies import Pending, expire
from ledger.bounds import InvalidField
from ledger.core import ApprovalNeeded, Command, Decision, Refused
from ledger.players.events import player_stream
from ledger.tables.commands import CloseTable, LeaveTable, ResyncTable, TopUp
from ledger.tables.events import TableState, table_stream
from tests.ledger.given import (
    ALICE,
    BOB,
    NETWORK,
    MemoryBook,
    a_book,
    fund,
    names,
    open_table,
    register,
    sit,
)

TABLE, APPROVAL = "Etomo", "5b1c0c7e-2f0d-4f6f-9d43-0c8d9b8f7a10"
MAKER, CHECKER = "anna", "bert"
HOURS = 72
"""After which the rulebook lets a request expire."""


@pytest.fixture
def book() -> MemoryBook:
    return a_room()


def a_room(rulebook: str = "entraction") -> MemoryBook:
    """Alice and Bob sit with 100.00 each; 100.00 are left on each account."""
    book = a_book("entraction", rulebook)
    open_table(book, TABLE, rulebook=rulebook)
    for seat, (player, nickname) in enumerate(((ALICE, "alice"), (BOB, "bobby")), 1):
        register(book, player, nickname)
        fund(book, 20_000, player)
        sit(book, TABLE, seat, player=player)
    return book


def resync(book: MemoryBook, chips_minor: dict[int, int] | None = None) -> ResyncTable:
    """Make what the maker asks for: Alice won 7.00 of Bob, 0.20 were raked."""
    return ResyncTable(
        **book.ask(actor=MAKER),
        table=TABLE,
        chips_minor=chips_minor or {1: 10_680, 2: 9_300},
        ground="technical-failure",
        reason="Hand 82 was lost.",
        game_number="82",
    )


def request(book: MemoryBook, command: ResyncTable, approval: str = APPROVAL) -> RequestApproval:
    own = {"at": command.at, "actor": command.actor, "request_id": command.request_id}
    return RequestApproval(**book.ask(**own), approval=approval, command=command)


def asked(book: MemoryBook, chips_minor: dict[int, int] | None = None) -> ResyncTable:
    """Ask for it, and return what was asked for."""
    command = resync(book, chips_minor)
    assert book.when(request(book, command)).answer["status"] == AWAITING
    return command


def state(book: MemoryBook) -> ApprovalState:
    found: ApprovalState = book.get(approval_stream(NETWORK, APPROVAL))
    return found


def read_back(book: MemoryBook) -> ResyncTable:
    """Read the command back from the approval's text, as the edge does."""
    text = msgspec.json.decode(state(book).command, type=dict[str, msgspec.Raw])
    return msgspec.json.decode(text["command"], type=ResyncTable)


def suspense(book: MemoryBook) -> int:
    return book.balance(accounts.suspense(NETWORK))


def step(book: MemoryBook, name: str, command: ResyncTable, **fields: Any) -> Command:
    """Make what somebody does with the approval; by default who may, and in time."""
    actor = {"withdraw": MAKER, "expire": "policy:approval-expiry"}.get(name, CHECKER)
    context = book.ask(**{"actor": actor, **fields})
    if name == "expire" and "at" not in fields:
        context["at"] = command.at + timedelta(hours=HOURS)
    approval: dict[str, Any] = {**context, "approval": APPROVAL}
    match name:
        case "grant":
            return GrantApproval(**approval, command=command)
        case "reject":
            return RejectApproval(**approval, code="wrong-amount", reason="Seat 2 had more.")
        case "withdraw":
            return WithdrawApproval(**approval)
        case _:
            return ExpireApproval(**approval)


STEPS = {"grant": "granted", "reject": "rejected", "withdraw": "withdrawn", "expire": "expired"}


# -- asking ----------------------------------------------------------------------------------


def test_what_needs_a_second_person_is_asked_for_and_not_done(book: MemoryBook) -> None:
    command = resync(book)
    decision = book.when(request(book, command))
    assert names(decision.changes) == ["approval.requested.v1"]
    [(stream, event)] = decision.changes
    assert isinstance(event, ApprovalRequested)
    assert stream == approval_stream(NETWORK, APPROVAL)
    assert (event.maker, event.rulebook) == (MAKER, "entraction@2013-01-01")
    assert event.expires_at == command.at + timedelta(hours=HOURS)
    assert event.digest == hashlib.sha256(event.command.encode()).hexdigest()
    assert (event.action, event.amount_minor, event.currency) == ("resync-table", 700, "EUR")
    assert event.summary["table"] == TABLE
    assert event.summary["suspense_minor"] == -20
    assert "alice" not in event.command + str(event.summary)
    assert decision.answer["approval"] == APPROVAL
    assert suspense(book) == 0


def test_the_text_of_a_request_is_the_command_to_the_letter(book: MemoryBook) -> None:
    command = asked(book)
    assert read_back(book) == command
    assert digest_of(state(book).command) == state(book).digest


AMOUNTS: list[tuple[dict[int, int], int | None]] = [
    ({1: 10_000, 2: 10_000}, None),
    ({1: 10_001, 2: 10_000}, 1),
    ({1: 9_000, 2: 10_000}, 1_000),
    ({1: 10_700, 2: 9_280}, 720),
    # Nothing would stay in suspense, and yet one player's money would become another's.
    ({1: 15_000, 2: 5_000}, 5_000),
]


@pytest.mark.parametrize(("chips_minor", "amount_minor"), AMOUNTS)
def test_the_amount_is_what_players_are_given_or_lose_whichever_is_more(
    book: MemoryBook, chips_minor: dict[int, int], amount_minor: int | None
) -> None:
    decision = book.when(request(book, resync(book, chips_minor)))
    if amount_minor is None:
        assert names(decision.changes) == ["table.resynced.v1"]
        assert "approval" not in decision.answer
    else:
        assert names(decision.changes) == ["approval.requested.v1"]
        assert decision.answer["amount_minor"] == amount_minor


def test_a_rulebook_without_approvals_asks_nobody() -> None:
    book = a_room("as-posted")
    decision = book.when(request(book, resync(book)))
    assert names(decision.changes)[-1] == "table.resynced.v1"
    assert suspense(book) == -20


def test_what_would_be_refused_is_not_asked_for(book: MemoryBook) -> None:
    with pytest.raises(Refused) as refused:
        book.when(request(book, resync(book, {1: 1})))
    assert refused.value.code == "seat-unknown"
    assert state(book) is None


def test_nothing_that_needs_two_is_done_without_being_asked_for(book: MemoryBook) -> None:
    with pytest.raises(ApprovalNeeded):
        book.when(resync(book))
    assert names(book.when(resync(book, {1: 10_000, 2: 10_000})).changes) == ["table.resynced.v1"]


# -- deciding --------------------------------------------------------------------------------


def test_a_grant_does_what_was_asked_for_in_one_append(book: MemoryBook) -> None:
    command = asked(book)
    grant = step(book, "grant", read_back(book))
    decision = book.when(grant)
    assert names(decision.changes) == [
        "approval.granted.v1",
        "player.chips_corrected.v1",
        "player.chips_corrected.v1",
        "table.resynced.v1",
    ]
    assert decision.answer["result"]["suspense_minor"] == suspense(book) == -20
    found = state(book)
    assert (found.status, found.checker, found.decided_at) == ("granted", CHECKER, grant.at)
    done = decision.changes[-1][1]
    assert (done.actor, done.request_id) == (MAKER, command.request_id)
    assert done.occurred_at == grant.at
    assert decision.keep == [
        Execution(
            network=NETWORK,
            approval=APPROVAL,
            maker=MAKER,
            checker=CHECKER,
            digest=bytes.fromhex(found.digest),
        )
    ]


def test_a_rejection_says_why_and_by_whom(book: MemoryBook) -> None:
    command = asked(book)
    decision = book.when(step(book, "reject", command))
    assert names(decision.changes) == ["approval.rejected.v1"]
    found = state(book)
    assert (found.status, found.checker, found.code) == ("rejected", CHECKER, "wrong-amount")
    assert found.reason == "Seat 2 had more."
    assert suspense(book) == 0


@pytest.mark.parametrize(
    ("code", "reason", "field"),
    [("whim", "Why not.", "code"), ("other", "", "reason"), ("other", " x", "reason")],
)
def test_a_rejection_needs_one_of_the_reasons_and_words(
    book: MemoryBook, code: str, reason: str, field: str
) -> None:
    asked(book)
    reject = RejectApproval(**book.ask(actor=CHECKER), approval=APPROVAL, code=code, reason=reason)
    with pytest.raises(InvalidField) as refused:
        book.when(reject)
    assert refused.value.field == field
    assert state(book).status == "pending"
    assert code in REASONS or refused.value.extra["codes"] == list(REASONS)


LATE = timedelta(hours=HOURS)
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("grant", {"actor": MAKER}, "same-person"),
    ("reject", {"actor": MAKER}, "same-person"),
    ("withdraw", {"actor": CHECKER}, "not-the-maker"),
    ("grant", {"network": "other"}, "unknown-approval"),
    ("reject", {"network": "other"}, "unknown-approval"),
    ("withdraw", {"network": "other"}, "unknown-approval"),
    ("expire", {"network": "other"}, "unknown-approval"),
    ("grant", {"at": LATE}, "approval-too-late"),
    ("reject", {"at": LATE}, "approval-too-late"),
    ("withdraw", {"at": LATE}, "approval-too-late"),
    ("grant", {"actor": MAKER, "at": LATE}, "approval-too-late"),
    ("expire", {"at": LATE - timedelta(microseconds=1)}, "approval-not-due"),
]


@pytest.mark.parametrize(("name", "fields", "code"), WRONG)
def test_who_may_not_or_not_now_is_refused_and_nothing_is_changed(
    book: MemoryBook, name: str, fields: dict[str, Any], code: str
) -> None:
    command = asked(book)
    if "at" in fields:
        fields = {**fields, "at": command.at + fields["at"]}
    with pytest.raises(Refused) as refused:
        book.when(step(book, name, command, **fields))
    assert refused.value.code == code
    assert (state(book).status, suspense(book)) == ("pending", 0)


@pytest.mark.parametrize(("first", "second"), list(itertools.product(STEPS, STEPS)))
def test_what_is_decided_stays_decided(book: MemoryBook, first: str, second: str) -> None:
    command = asked(book)
    book.when(step(book, first, command))
    money = suspense(book)
    with pytest.raises(Refused) as refused:
        book.when(step(book, second, command))
    assert refused.value.code == "approval-decided"
    assert refused.value.extra["status"] == state(book).status == STEPS[first]
    assert suspense(book) == money


CHANGES: list[dict[str, Any]] = [
    {"chips_minor": {1: 10_681, 2: 9_299}},
    {"reason": "Hand 82 was lost!"},
    {"ground": "manifest-error"},
    {"game_number": "83"},
    {"table": "Hebron"},
    {"actor": CHECKER},
    {"at": datetime.fromisoformat("2013-06-01T00:00:00Z")},
    {"request_id": "another"},
    {"network": "other"},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_nothing_but_what_was_asked_for_can_be_granted(
    book: MemoryBook, change: dict[str, Any]
) -> None:
    command = replace(asked(book), **change)
    with pytest.raises(Refused) as refused:
        book.when(step(book, "grant", command))
    assert refused.value.code == "changed-command"
    assert (state(book).status, suspense(book)) == ("pending", 0)


# -- over the book as it is when it is granted -------------------------------------------------


def top_up(book: MemoryBook) -> Command:
    return TopUp(**book.ask(), table=TABLE, player=ALICE, currency="EUR", amount_minor=100)


def leave(book: MemoryBook) -> Command:
    return LeaveTable(**book.ask(), table=TABLE, player=BOB)


def close(book: MemoryBook) -> Command:
    return CloseTable(**book.ask(), table=TABLE, cash_out=True)


MEANWHILE: list[tuple[Callable[[MemoryBook], Command], str]] = [
    (top_up, "stale-request"),
    (leave, "seat-unknown"),
    (close, "table-closed"),
]


@pytest.mark.parametrize(("happens", "code"), MEANWHILE)
def test_what_cannot_be_done_as_it_was_asked_for_is_not_granted(
    book: MemoryBook, happens: Callable[[MemoryBook], Command], code: str
) -> None:
    command = asked(book)
    book.when(happens(book))
    with pytest.raises(Refused) as refused:
        book.when(step(book, "grant", command))
    assert refused.value.code == code
    assert (state(book).status, suspense(book)) == ("pending", 0)
    assert book.when(step(book, "withdraw", command)).answer["status"] == "withdrawn"


def test_the_second_of_two_requests_for_the_same_is_stale(book: MemoryBook) -> None:
    first, second = resync(book), resync(book)
    book.when(request(book, first))
    book.when(request(book, second, approval="another"))
    book.when(step(book, "grant", first))
    again = GrantApproval(**book.ask(actor=CHECKER), approval="another", command=second)
    with pytest.raises(Refused) as refused:
        book.when(again)
    assert refused.value.code == "stale-request"
    assert suspense(book) == -20


# -- expiry ------------------------------------------------------------------------------------


def test_a_request_expires_when_its_time_is_over_and_not_before(book: MemoryBook) -> None:
    asked(book)
    pending = Pending(NETWORK, APPROVAL, state(book).expires_at)
    assert expire(pending, pending.expires_at - timedelta(microseconds=1)) == ()
    [command] = expire(pending, pending.expires_at)
    assert expire(pending, pending.expires_at + timedelta(days=9)) == (command,)
    decision = book.when(command)
    assert names(decision.changes) == ["approval.expired.v1"]
    assert state(book).decided_at == pending.expires_at


# -- everybody at once ---------------------------------------------------------------------------

Act = tuple[str, str, int]
people = st.sampled_from([MAKER, CHECKER, "carl"])
acts = st.lists(
    st.tuples(st.sampled_from([*STEPS, "top-up"]), people, st.integers(0, HOURS + 2)), max_size=12
)


@settings(max_examples=150, deadline=None)
@given(acts=acts)
def test_whoever_does_what_and_when_it_is_done_at_most_once_and_by_two(acts: list[Act]) -> None:
    book = a_room()
    command = asked(book)
    executions: list[Execution] = []
    for name, who, hour in acts:
        at = command.at + timedelta(hours=hour)
        before, money = state(book), suspense(book)
        wish = (
            replace(top_up(book), at=at)
            if name == "top-up"
            else step(book, name, command, actor=who, at=at)
        )
        try:
            decision: Decision = book.when(wish)
        except Refused:
            assert (state(book), suspense(book)) == (before, money)
            continue
        executions += [row for row in decision.keep if isinstance(row, Execution)]
        if name != "top-up":
            assert before.status == "pending"
            assert (hour >= HOURS) == (name == "expire")
    assert len(executions) == (state(book).status == "granted")
    assert all(one.maker != one.checker for one in executions)
    assert suspense(book) == (-20 if executions else 0)
    table: TableState = book.get(table_stream(NETWORK, TABLE))
    owed = {seat.player: seat.chips_minor for seat in table.seats.values()}
    for player, chips in owed.items():
        assert book.balance(accounts.chips(NETWORK, TABLE, player)) == -chips
        assert book.get(player_stream(NETWORK, player)).purse("EUR").bankroll_minor >= 0
