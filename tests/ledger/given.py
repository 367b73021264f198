"""Given / when / then over an in-memory book: the streams that a journal would give."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from ledger.approvals.commands import GrantApproval, RequestApproval
from ledger.cashier.commands import AnnounceDeposit
from ledger.catalogue import EVENTS, STREAMS, decode, encode
from ledger.core import Approvable, Command, Decision, Event, category_of
from ledger.identity import Identity
from ledger.players.commands import RegisterPlayer
from ledger.rulebooks import parse, shipped_texts
from ledger.rulebooks.commands import AdoptRulebook
from ledger.tables.commands import BuyIn, OpenTable

NETWORK = "entraction"
START = datetime(2013, 6, 1, 12, 0, tzinfo=UTC)
IDENTITY = Identity(b"a key that only the tests know")
ALICE = "a11ce000-0000-4000-8000-000000000001"
BOB = "b0b00000-0000-4000-8000-000000000002"
CAROL = "ca501000-0000-4000-8000-000000000003"

WARRANTIES = {
    "over_18": True,
    "full_legal_capacity": True,
    "not_citizen_of_mt": True,
    "lawful_jurisdiction": True,
    "not_employed_by_room": True,
}

Change = tuple[str, Event]


class MemoryBook:
    """Streams of events with their states; ``read`` has every stream that was asked for."""

    def __init__(self, history: Sequence[Change] = ()) -> None:
        self.states: dict[str, Any] = {}
        self.history: list[Change] = []
        self.read: set[str] = set()
        self.commands = 0
        self.record(history)

    def get(self, stream: str) -> Any:
        self.read.add(stream)
        return self.states.get(stream)

    def record(self, changes: Sequence[Change]) -> None:
        """Fold events in, as they would be read back from storage."""
        for stream, event in changes:
            stored = decode(event.NAME, encode(event))
            assert stored == event, event
            evolve = STREAMS[category_of(stream)].evolve
            self.states[stream] = evolve(self.states.get(stream), stored)
            self.history.append((stream, stored))

    def when(self, command: Command) -> Decision:
        """Decide a command and record what it became; a refusal is raised and records nothing."""
        decision = command.decide(self)
        self.record(decision.changes)
        assert msgspec.json.decode(msgspec.json.encode(decision.answer)) == decision.answer
        return decision

    def balances(self) -> dict[tuple[str, str], int]:
        """Return the sums of all postings per account and currency, without the empty ones."""
        sums: defaultdict[tuple[str, str], int] = defaultdict(int)
        for _, event in self.history:
            for account, currency, amount in event.postings():
                sums[account, currency] += amount
        return {key: amount for key, amount in sums.items() if amount}

    def balance(self, account: str, currency: str = "EUR") -> int:
        """Return the sum of postings of an account; what is owed is negative."""
        return self.balances().get((account, currency), 0)

    def ask(self, **fields: Any) -> dict[str, Any]:
        """Return the fields that every command has, each time a minute later."""
        self.commands += 1
        return {
            "network": NETWORK,
            "at": START + timedelta(minutes=self.commands),
            "actor": "test",
            "request_id": f"request-{self.commands}",
            **fields,
        }


def a_book(*rulebooks: str) -> MemoryBook:
    """Give a book that has adopted the named rulebooks, ``entraction`` when none is named."""
    book = MemoryBook()
    for file, text in shipped_texts():
        if parse(text, file).name in (rulebooks or ("entraction",)):
            book.when(AdoptRulebook(**book.ask(), text=text, file=file))
    return book


def names(changes: Sequence[Change]) -> list[str]:
    """Return the stored names of what a decision changed, in order."""
    for _, event in changes:
        assert EVENTS[event.NAME] is type(event)
    return [event.NAME for _, event in changes]


def register(book: MemoryBook, player: str = ALICE, nickname: str = "alice") -> None:
    """Register a player who warrants everything."""
    book.when(
        RegisterPlayer(
            **book.ask(),
            player=player,
            partner="kerching",
            rulebook="entraction",
            nickname=nickname,
            nickname_claim=IDENTITY.nickname_claim(NETWORK, nickname),
            person_claim=IDENTITY.person_claim(NETWORK, f"passport of {player}"),
            warranties=WARRANTIES,
        )
    )


def fund(book: MemoryBook, amount_minor: int, player: str = ALICE) -> str:
    """Deposit money for a player, confirmed at once; return the deposit's id."""
    deposit = f"d{book.commands}"
    book.when(
        AnnounceDeposit(
            **book.ask(),
            deposit=deposit,
            player=player,
            provider="cardpay",
            instrument="tok-1",
            reference_claim=IDENTITY.reference_claim(NETWORK, "deposit", "cardpay", deposit),
            currency="EUR",
            amount_minor=amount_minor,
            confirmed=True,
        )
    )
    return deposit


def open_table(book: MemoryBook, name: str = "Etomo", **fields: Any) -> str:
    """Open a six-seat pot-limit Omaha table of 1/2 for 40 to 200; return its id."""
    terms: dict[str, Any] = {
        "name": name,
        "rulebook": "entraction",
        "game": "Omaha",
        "bet_type": "PL",
        "currency": "EUR",
        "size": 6,
        "small_blind_minor": 100,
        "big_blind_minor": 200,
        "min_buy_in_minor": 4_000,
        "max_buy_in_minor": 20_000,
    }
    decision = book.when(OpenTable(**book.ask(), **{**terms, **fields}))
    return str(decision.answer["table"])


def sit(
    book: MemoryBook, table: str, seat: int, amount_minor: int = 10_000, player: str = ALICE
) -> None:
    """Seat a player with chips."""
    book.when(
        BuyIn(
            **book.ask(),
            table=table,
            player=player,
            seat=seat,
            currency="EUR",
            amount_minor=amount_minor,
        )
    )


def granted(book: MemoryBook, command: Approvable) -> Decision:
    """Ask for a command and let a second person agree; return what the grant became."""
    approval = f"approval-{book.commands}"
    asking = {"actor": command.actor, "request_id": command.request_id}
    book.when(RequestApproval(**book.ask(**asking), approval=approval, command=command))
    checker = book.ask(actor="checker")
    return book.when(GrantApproval(**checker, approval=approval, command=command))
