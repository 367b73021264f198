"""Stored name -> event type, category -> state: where stored history meets today's code.

Every stored name ever written stays readable here. An event type that changes shape gets a new
stored name; the old name is read by an upcast in ``UPCASTS``, which is given the old fields.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

import ledger.approvals.events as approvals
import ledger.cashier.events as cashier
import ledger.hands.events as hands
import ledger.jackpots.events as jackpots
import ledger.periods.events as periods
import ledger.players.events as players
import ledger.rulebooks.events as rulebooks
import ledger.tables.events as tables
import ledger.treasury.events as treasury
from ledger import identity
from ledger.core import Event, category_of
from ledger.hands import all_ins


class Stream(NamedTuple):
    """What a category of streams folds into, and how.

    ``revision`` is raised when evolve changes its meaning without changing the state's shape, so
    that older snapshots are left aside.
    """

    state: type[msgspec.Struct]
    evolve: Callable[[Any, Any], Any]
    revision: int = 1


EVENTS: Final[dict[str, type[Event]]] = {
    event.NAME: event
    for capability in (
        identity,
        players,
        cashier,
        tables,
        hands,
        all_ins,
        jackpots,
        rulebooks,
        approvals,
        treasury,
        periods,
    )
    for event in capability.EVENTS
}

STREAMS: Final[dict[str, Stream]] = {
    "player": Stream(players.PlayerState, players.evolve),
    "claim": Stream(identity.ClaimState, identity.evolve_claim),
    "deposit": Stream(cashier.DepositState, cashier.evolve_deposit),
    "withdrawal": Stream(cashier.WithdrawalState, cashier.evolve_withdrawal),
    "table": Stream(tables.TableState, tables.evolve),
    "hand": Stream(hands.HandState, hands.evolve),
    "all-ins": Stream(all_ins.AllInState, all_ins.evolve),
    "jackpot": Stream(jackpots.JackpotState, jackpots.evolve),
    "provider": Stream(treasury.ProviderState, treasury.evolve_provider),
    "partner": Stream(treasury.PartnerState, treasury.evolve_partner),
    "treasury": Stream(treasury.TreasuryState, treasury.evolve_treasury),
    "period": Stream(periods.PeriodState, periods.evolve),
    "rulebook": Stream(rulebooks.RulebookState, rulebooks.evolve),
    "approval": Stream(approvals.ApprovalState, approvals.evolve),
}


def evolve_of(stream: str) -> Callable[[Any, Any], Any]:
    """Return what folds the events of a stream."""
    return STREAMS[category_of(stream)].evolve


UPCASTS: Final[Mapping[str, Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]]] = {}
"""Old stored name -> (old fields -> newer stored name, its fields)."""

_ENCODER: Final = msgspec.json.Encoder()
_DECODERS: Final = {name: msgspec.json.Decoder(event) for name, event in EVENTS.items()}

encode: Final = _ENCODER.encode
"""Encode an event's fields as JSON: readable in the database without this code."""


def decode(topic: str, state: bytes) -> Event:
    """Read a stored event of any age. Raises UnknownEventError for a name never written."""
    decoder = _DECODERS.get(topic)
    if decoder is not None:
        return decoder.decode(state)
    fields = msgspec.json.decode(state)
    while topic in UPCASTS:
        topic, fields = UPCASTS[topic](fields)
    if topic not in EVENTS:
        raise UnknownEventError(topic)
    return msgspec.convert(fields, EVENTS[topic])


class UnknownEventError(LookupError):
    """A stored name that this version of the code does not know."""


def _fingerprint(category: str, stream: Stream) -> str:
    shape = msgspec.json.encode(msgspec.json.schema(stream.state), order="sorted")
    digest = hashlib.sha256(shape + str(stream.revision).encode()).hexdigest()
    return f"snapshot.{category}.{digest[:12]}"


SNAPSHOTS: Final[dict[str, str]] = {
    category: _fingerprint(category, stream) for category, stream in STREAMS.items()
}
"""Category -> topic of its snapshots; it changes with the state's shape: none is misread."""

SNAPSHOT_STATES: Final[dict[str, type[msgspec.Struct]]] = {
    topic: STREAMS[category].state for category, topic in SNAPSHOTS.items()
}
