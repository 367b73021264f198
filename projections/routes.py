"""The events of a batch, decoded and handed to those who need them: once through all of them."""

from collections.abc import Callable
from typing import Any, Final

from ledger.core import Posting
from ledger.recorder import microseconds
from projections.hours import HOUR, HOURS_A_DAY
from projections.running import Account, Booked
from projections.source import Row

_DAY: Final = HOUR * HOURS_A_DAY

Note = Callable[[str, Any, int], None]
"""Takes an event: its stream, itself, its position."""

MoveKey = tuple[str, str, str, str]
"""Network, table, currency, player."""

Moves = dict[MoveKey, tuple[Account, ...]]
"""The accounts between which events of one stored name move an amount at a table."""

Known = dict[str, dict[str, Account]]
"""The accounts in memory, by currency and code."""

Unplaced = tuple[int, tuple[Posting, ...]]
"""Which of the events that move money has accounts that are not in memory, and its postings."""


class Route:
    """What is done with the events of one stored name."""

    __slots__ = ("decode", "kind", "moves", "moves_money", "note", "of_hand", "topic")

    def __init__(self, topic: str, decode: Callable[[bytes], Any], of_hand: bool) -> None:
        self.topic = topic
        self.decode = decode
        self.of_hand = of_hand
        self.kind = 0
        """Its number; 0 while none of them has moved money."""
        self.moves_money = True
        self.moves: Moves | None = None
        """The accounts that such events have moved money between; None when it is not so simple.
        """
        self.note: Note | None = None


class Reader:
    """Decodes events, and hands each to those who need it."""

    def __init__(
        self,
        known: Known,
        route_of: Callable[[str], Route],
        number_of: Callable[[Route], int],
        judge: Callable[[tuple[str, str, int], tuple[Posting, ...], int], list[int]],
    ) -> None:
        self.routes: dict[str, Route] = {}
        self.transactions: list[tuple[str, str, int]] = []
        """Network, request and position of what was booked otherwise than by a hand."""
        self._known = known
        self._route_of = route_of
        self._number_of = number_of
        self._judge = judge

    def read(self, rows: list[Row]) -> tuple[list[Booked], list[Unplaced]]:
        """Read some events; return those that move money, and which of them lack accounts."""
        booked: list[Booked] = []
        unplaced: list[Unplaced] = []
        routes = self.routes
        last_at: Any = None
        occurred = 0
        last_stream, network, rulebook = "", "", ""
        last_by = ("", "", 0)
        span = [0, 0]
        for stream_id, topic, state, position in rows:
            route = routes.get(topic)
            if route is None:
                route = routes[topic] = self._route_of(topic)
            event = route.decode(state)
            note = route.note
            if note is not None:
                note(stream_id, event, position)
            if not route.moves_money:
                continue
            accounts: tuple[Account, ...] | None = None
            amounts: tuple[int, ...] = ()
            moves = route.moves
            if moves is not None:
                accounts = moves.get((event.network, event.table, event.currency, event.player))
                amount: int = event.amount_minor
                amounts = (amount, -amount)
            if accounts is None:
                postings: tuple[Posting, ...] = event.postings()
                if not postings:
                    continue
                amounts = tuple([minor for _, _, minor in postings])
                accounts = self._accounts(postings)
                if not accounts:
                    unplaced.append((len(booked), postings))
                elif moves is not None:
                    moves[event.network, event.table, event.currency, event.player] = accounts
            # All events of a hand say these alike: what follows from them is worked out once.
            if event.occurred_at != last_at:
                last_at, last_stream = event.occurred_at, ""
                occurred = microseconds(last_at)
            if stream_id != last_stream or event.rulebook != rulebook or not rulebook:
                last_stream, rulebook = stream_id, event.rulebook
                network = network_of(stream_id)
                by = (network, rulebook, occurred // _DAY)
                if by != last_by or not rulebook:
                    last_by, span = by, self._judge(by, event.postings(), position)
            span[1] = position
            booked.append(
                (position, occurred, route.kind or self._number_of(route), accounts, amounts)
            )
            if not route.of_hand:
                self.transactions.append((network, event.request_id, position))
        return booked, unplaced

    def _accounts(self, postings: tuple[Posting, ...]) -> tuple[Account, ...]:
        """Return the accounts of postings; none when one of them is not in memory."""
        accounts: list[Account] = []
        for code, currency, _ in postings:
            account = self._known.get(currency, {}).get(code)
            if account is None:
                return ()
            accounts.append(account)
        return tuple(accounts)


def network_of(stream_id: str) -> str:
    """Return the network that a stream belongs to."""
    return stream_id.split(":", 2)[1]
