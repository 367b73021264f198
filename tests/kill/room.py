"""A running room with its crowd, and the proof that it has booked what was acknowledged."""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random

from ledger.cashier.events import deposit_stream, withdrawal_stream
from ledger.hands.events import hand_stream
from ops.bench.house import furnish
from ops.serving import Serving
from tests.kill import books
from tests.kill.crowd import CLIENTS, NETWORK, TABLES_EACH, gather, seats, seats_of
from tests.kill.lines import Intent, Line, Reply

HANDS_AT_ONCE = 100
POCKET_MINOR = 10_000_000


class Room:
    """An installation, its furnished tables, the crowd, and everything acknowledged to it."""

    def __init__(
        self,
        serving: Serving,
        dsn: Callable[[], str],
        rng: Random,
        lines: Callable[[], Sequence[Line]] | None = None,
    ) -> None:
        self.serving = serving
        self.dsn = dsn
        self.rng = rng
        self._specs = furnish(serving, CLIENTS * TABLES_EACH)
        self._seats = seats(serving, self._specs)
        self._fill_pockets()
        self.crowd = gather(serving, self._specs, rng, lines or (lambda: [self._line()]))
        self._books = books.Books()
        self._books.read(dsn())
        self._furnished = Counter(self._books.balances)
        self._deposits = set(self._books.of("deposit.announced.v1"))
        self._hands: set[str] = set()
        self._keys: Counter[str] = Counter()
        self._steps: dict[str, set[str]] = {}
        """Kind of request -> streams of the withdrawals that it was acknowledged for."""

    def prove(self) -> str:
        """Bring the crowd to rest and prove everything; return what was proven, to be printed.

        Every acknowledged command is there once and nothing else is; balances are what the
        answers make them; everything acknowledged since the last proof, sent again, is answered
        as before and books nothing; ``cardroom check`` is clean.
        """
        self.crowd.rest()
        taken = self.crowd.take()
        self._note(taken)
        self._books.read(self.dsn())
        self._is_there_once()
        self._moved_nothing_else()
        self._is_answered_again(taken)
        checked = self.serving.command("check")
        assert checked.returncode == 0, checked.stdout + checked.stderr
        hands = sum(len(intent.hands) for intent, _ in taken)
        commands = sum(intent.key is not None for intent, _ in taken)
        return (
            f"{hands} hands and {commands} other commands acknowledged and proven; in all"
            f" {self.crowd.tries} tries without a definite answer"
        )

    def booked(self, intents: Sequence[Intent]) -> list[Intent]:
        """Return those requests of which anything is booked."""
        self._books.read(self.dsn())
        hands, keys = self._books.of("hand.posted.v1"), books.requests(self.dsn())
        return [
            intent
            for intent in intents
            if intent.key in keys or any(hand_stream(NETWORK, n) in hands for n in intent.hands)
        ]

    def _fill_pockets(self) -> None:
        """Pay in so much for each player that no withdrawal of the crowd lacks money."""
        line, token = self._line(), self.serving.token("cashier")
        for player in sorted(set(self._seats.values())):
            fields = {
                "player": player,
                "provider": "cardpay",
                "reference": f"pocket-{player}",
                "instrument": "tok_1",
                "currency": "EUR",
                "amount_minor": POCKET_MINOR,
                "confirmed": True,
            }
            body = json.dumps(fields).encode()
            reply = line.send(Intent("deposit", "/v1/deposits", body, token, f"pocket-{player}"))
            assert reply.is_done, reply
        line.close()

    # -- what was acknowledged -------------------------------------------------------------------

    def _note(self, taken: Sequence[tuple[Intent, Reply]]) -> None:
        for intent, reply in taken:
            self._hands.update(hand_stream(NETWORK, number) for number in intent.hands)
            if intent.key is not None:
                self._keys[intent.key] += 1
            if intent.kind == "deposit":
                self._deposits.add(deposit_stream(NETWORK, reply.content["deposit"]))
            elif intent.kind != "hands":
                stream = withdrawal_stream(NETWORK, reply.content["withdrawal"])
                self._steps.setdefault(intent.kind, set()).add(stream)

    def _is_there_once(self) -> None:
        found = self._books.of
        assert found("hand.posted.v1") == dict.fromkeys(self._hands, 1)
        assert sum(found("table.hand_settled.v1").values()) == len(self._hands)
        for topic in ("deposit.announced.v1", "deposit.confirmed.v1"):
            assert found(topic) == dict.fromkeys(self._deposits, 1)
        assert sum(found("player.deposited.v1").values()) == len(self._deposits)
        for kind, own, players in (
            ("withdrawal", "withdrawal.requested.v1", "player.withdrawal_reserved.v1"),
            ("reject", "withdrawal.rejected.v1", "player.withdrawal_given_back.v1"),
            ("review", "withdrawal.taken_in_review.v1", None),
            ("release", "withdrawal.released.v1", None),
            ("pay", "withdrawal.paid.v1", "player.withdrawal_paid_out.v1"),
        ):
            streams = self._steps.get(kind, set())
            assert found(own) == dict.fromkeys(streams, 1)
            if players is not None:
                assert sum(found(players).values()) == len(streams)
        assert books.requests(self.dsn()) == self._keys

    # -- what it moved ---------------------------------------------------------------------------

    def _moved_nothing_else(self) -> None:
        held = self._books.balances
        assert sum(held.values()) == 0
        assert _accounts(held) == _accounts(self._expected())
        assert _filled(books.projected(self.dsn())) == _filled(held)
        for table in self.crowd.tables:
            shown = [seat["chips_minor"] for seat in seats_of(self.serving, table.name.decode())]
            assert shown == table.stacks

    def _expected(self) -> Counter[str]:
        expected = Counter(self._furnished)
        for member in self.crowd.members:
            for account, amount in member.moved.items():
                expected[account] += amount
        for table in self.crowd.tables:
            name = table.name.decode()
            for seat, stack in enumerate(table.stacks, 1):
                expected[f"chips:{NETWORK}:{name}:{self._seats[name, seat]}"] = -stack
        return expected

    # -- what is sent again ----------------------------------------------------------------------

    def _is_answered_again(self, taken: Sequence[tuple[Intent, Reply]]) -> None:
        before = books.head(self.dsn())
        with ThreadPoolExecutor(CLIENTS) as pool:
            shares = [taken[number::CLIENTS] for number in range(CLIENTS)]
            list(pool.map(self._send_again, shares))
        assert books.head(self.dsn()) == before

    def _send_again(self, share: Sequence[tuple[Intent, Reply]]) -> None:
        line = self._line()
        hands = [(intent, reply) for intent, reply in share if intent.hands]
        for group in _groups(hands):
            body = b"[%b]" % b",".join(intent.body.strip(b"[]") for intent, _ in group)
            again = line.send(group[0][0]._replace(body=body))
            assert all(again.repeats), again
            assert again.substance == [hand for _, reply in group for hand in reply.substance]
        for intent, reply in share:
            if not intent.hands:
                again = line.send(intent)
                assert again.repeats == [True], again
                assert (again.status, again.substance) == (reply.status, reply.substance)
        line.close()

    def _line(self) -> Line:
        return Line(lambda: self.serving.port)


def _groups(
    answered: Sequence[tuple[Intent, Reply]],
) -> Iterator[Sequence[tuple[Intent, Reply]]]:
    waiting = iter(answered)
    while group := list(itertools.islice(waiting, HANDS_AT_ONCE)):
        yield group


def _filled(balances: Counter[str]) -> dict[str, int]:
    return {account: balance for account, balance in balances.items() if balance}


def _accounts(balances: Counter[str]) -> dict[str, int]:
    """Leave out what hands earn: given that all sums to zero, it follows from the chips."""
    earned = ("rake", "jackpot")
    return {
        account: balance
        for account, balance in _filled(balances).items()
        if not account.startswith(earned)
    }
