"""Single events: what was recorded, when, with which postings, under which digest."""

from contextlib import nullcontext
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api import links
from api.auth import Caller, needs
from api.edge import Answer, LedgerRoute, edge_of, recording, respond, worded
from api.links import LINKS, Known, Link, Links
from api.problems import Problem
from api.reads import booked_hands
from api.tokens import Scope
from ledger import accounts, money
from ledger.application import Recorded, event_at
from ledger.core import Event, category_of

router = APIRouter(prefix="/v1/events", tags=["books"], route_class=LedgerRoute)

Reading = Annotated[Caller, needs(Scope.BOOKS_READ)]
_OF_A_PLAYER: Final = ("player", "deposit", "withdrawal")
_META: Final = ("occurred_at", "actor", "request_id", "rulebook")


class PostingAnswer(BaseModel):
    """One line of an event: debits are positive, credits negative."""

    model_config = ConfigDict(extra="forbid")

    account: str
    side: str
    currency: str
    amount_minor: int
    amount: str


class CommitAnswer(BaseModel):
    """The append that an event was recorded in."""

    model_config = ConfigDict(extra="forbid")

    first_position: int
    last_position: int
    recorded_at: str
    writer: str
    digest: str = Field(description="SHA-256 over the digest before it and its rows, in hex.")


class EventAnswer(Answer):
    """An event as it was recorded. ``position`` is its own."""

    event: str
    stream: str
    version: int
    occurred_at: str
    actor: str
    request_id: str
    rulebook: str
    fields: dict[str, Any]
    postings: list[PostingAnswer]
    commit: CommitAnswer
    links: dict[str, str] = Field(default={}, description=LINKS)


@router.get("/{position}", response_model=EventAnswer, summary="An event")
def get_event(
    request: Request,
    position: Annotated[int, Path(ge=1, le=2**63 - 1, examples=[1])],
    caller: Reading,
) -> Response:
    """Show what is recorded at a position. Of a player's stream the read is recorded."""
    with edge_of(request).reads.snapshot() as connection:
        recorded = event_at(connection, position)
        if recorded is None or recorded.stream.split(":")[1] != caller.network:
            raise Problem("not-found", "nothing is recorded at this position", field="position")
        commit = connection.execute(
            "SELECT first_position, last_position, recorded_at, writer, encode(digest, 'hex')"
            " FROM journal.commits WHERE last_position >= %s ORDER BY last_position LIMIT 1",
            [position],
        ).fetchone()
        number = _hand_of(recorded)
        booked = booked_hands(connection, caller.network, [number])
    assert commit is not None
    personal = category_of(recorded.stream) in _OF_A_PLAYER
    with recording(request, caller, "event", recorded.stream) if personal else nullcontext():
        return respond(
            {
                **described(recorded),
                "commit": dict(zip(CommitAnswer.model_fields, commit, strict=True)),
                "links": links_of(caller, recorded)
                | links.allowed(caller, hand=links.hand(number if number in booked else None)),
            }
        )


def described(recorded: Recorded) -> dict[str, Any]:
    """Describe a recorded event: what it is, its own fields, and its postings."""
    event = recorded.event
    fields = msgspec.to_builtins(event, str_keys=True)
    meta = {name: fields.pop(name, getattr(event, name)) for name in _META}
    return {
        "position": recorded.position,
        "event": event.NAME,
        "stream": recorded.stream,
        "version": recorded.version,
        **meta,
        "fields": worded(fields),
        "postings": postings_of(event),
    }


def postings_of(event: Event) -> list[dict[str, Any]]:
    """Describe the lines that an event books."""
    return [
        {
            "account": posting.account,
            "side": accounts.parse(posting.account).side,
            "currency": posting.currency,
            "amount_minor": posting.amount_minor,
            "amount": money.text(posting.amount_minor, posting.currency),
        }
        for posting in event.postings()
    ]


_PAYMENTS: Final = {"deposit": "deposits", "withdrawal": "withdrawals"}


def links_of(caller: Caller, recorded: Recorded) -> Links:
    """Lead from an event to its entries, and to the table, player or payment it is of."""
    event, known = recorded.event, Known(recorded.position)
    found: dict[str, Link | None] = {}
    if event.postings():
        found["entries"] = known.entries(position_from=recorded.position)
    return links.allowed(caller, **found, **_whose(recorded))


def _hand_of(recorded: Recorded) -> str | None:
    """Return the hand that an event is of; a table's events name what they begin, settle, miss."""
    number: str | None = getattr(recorded.event, "game_number", None)
    return number or links.game_number_of(recorded.stream, recorded.event.request_id)


def _whose(recorded: Recorded) -> dict[str, Link | None]:
    """Lead to what the event's stream and its fields name."""
    event = recorded.event
    category, _, key = recorded.stream.split(":", 2)
    found: dict[str, Link | None] = {}
    table = key if category == "table" else getattr(event, "table", None)
    player = key if category == "player" else getattr(event, "player", None)
    found["table"] = links.table(table)
    found["player"] = links.player(player)
    if player is not None:
        found["statement"] = Known(recorded.position).statement_of_player(player)
    for what, plural in _PAYMENTS.items():
        name = key if category == what else getattr(event, what, None)
        if name is not None:
            found[what] = links.payment(plural, name)
    return found
