"""Hands on the books: their events in words and money, the record, and hands that wait."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field

from api import csv, links
from api.as_of import NotAsOf
from api.auth import Caller, needs
from api.edge import Answer, LedgerRoute, edge_of, recording, respond
from api.events import EventAnswer, described, links_of
from api.hand_findings import SAID_BY_STAFF, HandFinding, findings_of
from api.links import LINKS, Known, Links
from api.positions import Paged
from api.problems import Problem
from api.reads import Connection, head_of
from api.tables import LONGEST_ID, id_of
from api.tokens import Scope
from ledger import catalogue, money
from ledger.application import Recorded, events_of
from ledger.core import Event
from ledger.hands import record
from ledger.hands.events import (
    BadBeatHit,
    FindingExplained,
    FindingReopened,
    FindingResolved,
    HandAwarded,
    HandContested,
    HandFlagged,
    HandPosted,
    HandRaked,
    HandReturned,
    HandStaked,
    JackpotContributed,
    PotAdded,
    hand_stream,
)
from ledger.hands.ohh import Action, Hand
from ledger.players.events import PlayerRegistered, player_stream
from projections import cursors

router = APIRouter(prefix="/v1", tags=["hands"], route_class=LedgerRoute)

EXAMPLE: Final = "8100300"
MASKED_PARTNERS: Final = "masked-partners"
"""Stands for the other partners where a partner reads."""

Reading = Annotated[Caller, needs(Scope.HANDS_READ)]


class HandPlayer(BaseModel):
    """Who sat where, with how much, before the hand."""

    model_config = ConfigDict(extra="forbid")

    seat: int
    player: str | None = Field(description="Null for another partner's player.")
    name: str | None = Field(description="His nickname now; null when masked or erased.")
    starting_stack_minor: int
    starting_stack: str
    links: dict[str, str] = Field(default={}, description=LINKS)


class HandEvent(EventAnswer):
    """One event of the hand, in words as well."""

    commit: None = Field(default=None, exclude=True)  # type: ignore[assignment]
    text: str


class RefusedBefore(BaseModel):
    """A post under the same number that was refused."""

    model_config = ConfigDict(extra="forbid")

    code: str
    retry: str
    digest: str = Field(description="SHA-256 of its content, in hex.")
    refused_at: str


class HandAnswer(Answer):
    """A booked hand."""

    game_number: str
    stream: str
    table: str
    game: str
    currency: str
    started_at: str
    rulebook: str
    verdict: str
    players: list[HandPlayer]
    events: list[HandEvent]
    findings: list[HandFinding]
    record: dict[str, Any] = Field(
        description="The hand as it was posted, in its canonical form. Its names are those that "
        "the players bear now."
    )
    posted_digest: str = Field(description="SHA-256 of the posted bytes, in hex.")
    refused_before: list[RefusedBefore]
    links: dict[str, str] = Field(default={}, description=LINKS)


class WaitingHand(BaseModel):
    """A refused hand that may still be booked, when the books allow it."""

    model_config = ConfigDict(extra="forbid")

    game_number: str
    table: str | None
    code: str
    refused_at: str


class WaitingAnswer(Answer):
    """Hands that wait, the oldest first."""

    hands: list[WaitingHand]
    cursor: str | None = Field(description="Leads to the next page; null at the end.")


@router.get("/hands/{game_number}", response_model=HandAnswer, summary="A booked hand")
def get_hand(
    request: Request,
    game_number: Annotated[str, Path(min_length=1, max_length=128, examples=[EXAMPLE])],
    caller: Reading,
) -> Response:
    """Show a hand's events with their positions, in words and money, and its record.

    To a partner the players of others are masked, and what the house wrote about findings is left
    out. The read is recorded.
    """
    edge = edge_of(request)
    stream = hand_stream(caller.network, game_number)
    with edge.reads.snapshot() as connection:
        recorded = events_of(connection, stream)
        refused = _refused_before(connection, stream)
        if not recorded:
            # Whose players were refused is not known: a partner is told of none.
            told = refused if caller.partner is None else []
            raise Problem("unknown-hand", "no such hand is booked", refused_before=told)
        posted = recorded[0].event
        assert isinstance(posted, HandPosted)
        players = [seated.player for seated in posted.players]
        names = names_of(connection, caller.network, players)
        hidden = _hidden(connection, caller, players)
        head = head_of(connection)
    if hidden.issuperset(players):
        raise Problem("unknown-hand", "no such hand is booked", refused_before=[])
    shown = _Shown(posted, names, hidden, caller, head)
    with recording(request, caller, "hand", stream):
        content = {
            "game_number": posted.game_number,
            "stream": stream,
            "table": posted.table,
            "game": posted.game,
            "currency": posted.currency,
            "started_at": posted.occurred_at,
            "rulebook": posted.rulebook,
            "verdict": posted.verdict,
            "players": shown.players(),
            "events": shown.events(recorded),
            "findings": shown.findings(recorded),
            "record": shown.record(),
            "posted_digest": posted.posted_digest,
            "refused_before": refused,
            "links": links.allowed(
                caller,
                table=links.table(posted.table),
                entries=Known(head).entries(hand=posted.game_number),
            ),
            "position": head,
        }
    return respond(shown.masked(content))


class _Shown:
    """A hand as this caller may see it."""

    def __init__(
        self,
        posted: HandPosted,
        names: Mapping[str, str],
        hidden: set[str],
        caller: Caller,
        position: int,
    ) -> None:
        self._posted = posted
        self._hidden = hidden
        self._caller = caller
        self._partner = caller.partner
        self._position = position
        self._seats = {seated.player: seated.seat for seated in posted.players}
        self._names = {
            seated.player: f"seat {seated.seat}"
            if seated.player in hidden
            else names.get(seated.player, f"erased, seat {seated.seat}")
            for seated in posted.players
        }
        self._bare = names

    def players(self) -> list[dict[str, Any]]:
        return [
            {
                "seat": seated.seat,
                "player": None if seated.player in self._hidden else seated.player,
                "name": None if seated.player in self._hidden else self._bare.get(seated.player),
                "starting_stack_minor": seated.starting_stack_minor,
                "starting_stack": money.text(seated.starting_stack_minor, self._posted.currency),
                "links": self._of_player(seated.player),
            }
            for seated in self._posted.players
        ]

    def _of_player(self, player: str) -> Links:
        if player in self._hidden:
            return {}
        statement = Known(self._position).statement_of_player(player)
        return links.allowed(self._caller, player=links.player(player), statement=statement)

    def events(self, recorded: Sequence[Recorded]) -> list[dict[str, Any]]:
        left_out = () if self._partner is None else SAID_BY_STAFF
        return [self._event(one) for one in recorded if not isinstance(one.event, left_out)]

    def findings(self, recorded: Sequence[Recorded]) -> list[dict[str, Any]]:
        names = {seated.id: self._names[seated.player] for seated in self._posted.players}
        return findings_of(self._posted, recorded[1:], names, self._caller)

    def _event(self, recorded: Recorded) -> dict[str, Any]:
        recorded = recorded._replace(event=self._with_own_shares(recorded.event))
        found = described(recorded)
        for packed in ("record", "dictionary", "players", "expected"):
            found["fields"].pop(packed, None)
        about = {"event": links.event(recorded.position)}
        onward = links_of(self._caller, recorded) | links.allowed(self._caller, **about)
        # The whole hand is of one table; who is masked in it is not linked either.
        left_out = {"table"}
        if getattr(recorded.event, "player", None) in self._hidden:
            left_out |= {"player", "statement"}
        kept = {name: url for name, url in onward.items() if name not in left_out}
        return {**found, "text": self._text(recorded.event), "links": kept}

    def _text(self, event: Event) -> str:
        return in_words(event, self._names, self._posted.currency)

    def _with_own_shares(self, event: Event) -> Event:
        """Leave a partner its own share of rake and jackpot; those of others become one."""
        if self._partner is None:
            return event
        if isinstance(event, HandRaked):
            return replace(event, by_partner_minor=self._own(event.by_partner_minor))
        if isinstance(event, JackpotContributed):
            return replace(event, from_rake_minor=self._own(event.from_rake_minor))
        return event

    def _own(self, shares: Mapping[str, int]) -> dict[str, int]:
        own = {partner: part for partner, part in shares.items() if partner == self._partner}
        others = sum(shares.values()) - sum(own.values())
        return {**own, **({MASKED_PARTNERS: others} if others else {})}

    def record(self) -> dict[str, Any]:
        posted = self._posted
        names = [self._names[seated.player] for seated in posted.players]
        hand = record.unpack(posted.record, posted.dictionary, names)
        return {"ohh": as_posted(self._face_down(hand))}

    def _face_down(self, hand: Hand) -> Hand:
        """Turn the cards of hidden players over, unless they showed them to the table."""
        hidden = {seated.id for seated in self._posted.players if seated.player in self._hidden}
        if not hidden:
            return hand

        def turned(action: Action) -> Action:
            if action.player_id not in hidden or action.action == "Shows Cards":
                return action
            return replace(action, cards=action.cards and ["??"] * len(action.cards))

        rounds = [
            replace(street, actions=[turned(action) for action in street.actions])
            for street in hand.rounds
        ]
        return replace(hand, rounds=rounds)

    def masked(self, content: dict[str, Any]) -> Any:
        """Put the seat for the id of each hidden player, wherever it stands: accounts name it."""
        if not self._hidden:
            return content
        text = msgspec.json.encode(content).decode()
        for player in self._hidden:
            text = text.replace(player, f"masked-seat-{self._seats[player]}")
        return msgspec.Raw(text.encode())


def in_words(event: Event, names: Mapping[str, str], currency: str) -> str:
    """Say what an event of a hand was, for people."""

    def amount(amount_minor: int) -> str:
        return f"{money.text(amount_minor, currency)} {currency}"

    match event:
        case HandPosted():
            return f"Hand {event.game_number} was posted: {event.verdict}."
        case HandStaked():
            dead = f", {amount(event.dead_minor)} of it dead" if event.dead_minor else ""
            return f"{names[event.player]} staked {amount(event.amount_minor)}{dead}."
        case HandReturned():
            why = event.reason or "nobody covered it"
            return f"{names[event.player]} got {amount(event.amount_minor)} back: {why}."
        case HandAwarded():
            pot = f"side pot {event.pot}" if event.pot else "the main pot"
            half = f", {event.half} half" if event.half else ""
            return f"{names[event.player]} won {amount(event.amount_minor)} of {pot}{half}."
        case HandRaked():
            shares = ", ".join(f"{p} {amount(part)}" for p, part in event.by_partner_minor.items())
            return f"The rake was {amount(event.amount_minor)}: {shares}."
        case JackpotContributed():
            return f"{amount(event.amount_minor)} went to the jackpot {event.jackpot}."
        case BadBeatHit():
            losers, winners = (
                " and ".join(names[player] for player in players)
                for players in (event.losers, event.winners)
            )
            waits = ", if it is released" if event.waits else ""
            return f"The jackpot {event.jackpot} was hit: {losers} lost to {winners}{waits}."
        case PotAdded():
            return f"{amount(event.amount_minor)} were added to the pot from {event.paid_by}."
        case HandFlagged():
            return f"Flagged {event.finding.code}: {event.finding.message}"
        case FindingExplained():
            return f"{event.actor} explained finding {event.finding}: {event.text}"
        case FindingResolved():
            about = f"{event.actor} resolved finding {event.finding}, {event.resolution}"
            return f"{about}: {event.reason}"
        case FindingReopened():
            return f"{event.actor} opened finding {event.finding} again: {event.reason}"
        case HandContested():
            return f"Posted again with other content: {', '.join(event.differing)}."
    return event.NAME


_AMOUNTS: Final = frozenset(
    [
        "starting_stack",
        "amount",
        "rake",
        "jackpot",
        "win_amount",
        "bet_cap",
        "small_blind_amount",
        "big_blind_amount",
        "ante_amount",
        "x_small_bet",
        "x_big_bet",
        "x_bring_in",
        "x_spread",
    ]
)


def as_posted(hand: Hand) -> dict[str, Any]:
    """Write a canonical hand as it is posted: amounts are JSON numbers with the exact digits."""
    written: dict[str, Any] = _written(msgspec.to_builtins(hand), hand.money)
    return written


def _written(value: Any, currency: str, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _written(item, currency, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_written(item, currency, name) for item in value]
    if name in _AMOUNTS and type(value) is int:
        return msgspec.Raw(money.text(value, currency).encode())
    return value


def names_of(connection: Connection, network: str, players: Sequence[str]) -> dict[str, str]:
    """Return the nicknames that players bear now, by their ids."""
    rows = connection.execute(
        "SELECT player_id::text, nickname FROM vault.names"
        " WHERE network = %s AND player_id = ANY(%s::uuid[])",
        [network, list(players)],
    ).fetchall()
    return dict(rows)


def _hidden(connection: Connection, caller: Caller, players: Sequence[str]) -> set[str]:
    """Return the players that belong to other partners than the caller's."""
    if caller.partner is None:
        return set()
    streams = {player_stream(caller.network, player): player for player in players}
    rows = connection.execute(
        "SELECT originator_id, topic, state FROM journal.events"
        " WHERE originator_id = ANY(%s) AND originator_version = 1",
        [list(streams)],
    ).fetchall()
    own = set()
    for stream, topic, state in rows:
        registered = catalogue.decode(topic, bytes(state))
        if isinstance(registered, PlayerRegistered) and caller.sees_partner(registered.partner):
            own.add(streams[stream])
    return set(players) - own


def _refused_before(connection: Connection, stream: str) -> list[dict[str, Any]]:
    rows = connection.execute(
        "SELECT code, retry, encode(digest, 'hex'), refused_at FROM journal.refused_hands"
        " WHERE network = %s AND hand = %s ORDER BY refused_at LIMIT 100",
        [stream.split(":")[1], stream],
    ).fetchall()
    return [dict(zip(("code", "retry", "digest", "refused_at"), row, strict=True)) for row in rows]


# -- waiting -------------------------------------------------------------------------------------

# A hand waits while its last refusal rests on the books and nothing is booked under its number.
_WAITING: Final = """
FROM journal.refused_hands r
WHERE r.retry = 'later'
  AND NOT EXISTS (SELECT FROM journal.events e
                   WHERE e.originator_id = r.hand AND e.originator_version = 1)
  AND NOT EXISTS (SELECT FROM journal.refused_hands n
                   WHERE n.network = r.network AND n.hand = r.hand
                     AND (n.refused_at, n.digest) > (r.refused_at, r.digest))
"""


@router.get(
    "/waiting-hands",
    response_model=WaitingAnswer,
    responses=csv.DOCUMENTED,
    summary="Hands that wait",
    dependencies=[NotAsOf],
)
def list_waiting_hands(
    request: Request,
    caller: Annotated[Caller, needs(Scope.TABLES_READ)],
    table: Annotated[
        str | None, Query(max_length=LONGEST_ID, description="Of one table only.")
    ] = None,
    *,
    paging: Paged,
) -> Response:
    """List the hands that were refused over the state of the books: post them again later.

    They are those that wait now: which of them waited before is not kept.
    """
    of = id_of(table) if table is not None else None

    def page(cursor: str | None, limit: int) -> csv.Sheet:
        with edge_of(request).reads.snapshot() as connection:
            return _waiting(connection, caller.network, of, limit, cursor)

    if csv.wanted(request):
        csv.whole(request)
        return csv.respond("waiting_hands", WaitingHand, lambda cursor: page(cursor, csv.PAGE))
    found = page(paging.cursor, paging.limit)
    return respond({"hands": found.rows, "cursor": found.cursor, "position": found.position})


def _waiting(
    connection: Connection, network: str, table: str | None, limit: int, cursor: str | None
) -> csv.Sheet:
    listed = cursors.listing("waiting-hands", {"network": network, "table": table})
    head = head_of(connection)
    after: list[Any] = ["", ""]
    if cursor is not None:
        place = cursors.decode(cursor, listed, (str, str))
        after, head = place.key, min(place.position, head)
    rows = connection.execute(
        "SELECT r.game_number, r.table_id, r.code, r.refused_at, r.hand"
        + _WAITING
        + "AND r.network = %(network)s AND (%(table)s::text IS NULL OR r.table_id = %(table)s)"
        " AND (%(at)s::timestamptz IS NULL OR (r.refused_at, r.hand) > (%(at)s, %(hand)s))"
        " ORDER BY r.refused_at, r.hand LIMIT %(limit)s",
        {
            "network": network,
            "table": table,
            "at": after[0] or None,
            "hand": after[1],
            "limit": limit + 1,
        },
    ).fetchall()
    page = rows[:limit]
    onward = None
    if len(rows) > limit:
        last = page[-1]
        key = [last[3].isoformat(), last[4]]
        onward = cursors.encode(cursors.Cursor(listed, head, key))
    hands = [
        {"game_number": game_number, "table": table_id, "code": code, "refused_at": refused_at}
        for game_number, table_id, code, refused_at, _ in page
    ]
    return csv.Sheet(hands, head, onward)


def waiting_of(connection: Connection) -> int:
    """Count the hands that wait, of all networks."""
    row = connection.execute(f"SELECT count(DISTINCT (r.network, r.hand)) {_WAITING}").fetchone()
    return int(row[0]) if row else 0
