"""How ``POST /v1/hands`` stands in the OpenAPI document: posted hands are not pydantic's."""

from typing import Any, Final

from api.hands import JSON, NDJSON
from ledger.hands.ohh import json_schema

EXAMPLE: Final[dict[str, Any]] = {
    "ohh": {
        "spec_version": "1.4.7",
        "game_number": "8100300",
        "start_date_utc": "2013-05-01T20:15:00Z",
        "table_name": "Etomo",
        "table_size": 6,
        "game_type": "Holdem",
        "bet_limit": {"bet_type": "NL"},
        "currency": "EUR",
        "dealer_seat": 1,
        "small_blind_amount": 0.25,
        "big_blind_amount": 0.50,
        "ante_amount": 0,
        "players": [
            {"id": 1, "seat": 1, "name": "Riverboat", "starting_stack": 20.00},
            {"id": 2, "seat": 2, "name": "Cardsharp", "starting_stack": 20.00},
        ],
        "rounds": [
            {
                "id": 0,
                "street": "Preflop",
                "actions": [
                    {"action_number": 1, "player_id": 2, "action": "Post SB", "amount": 0.25},
                    {"action_number": 2, "player_id": 1, "action": "Post BB", "amount": 0.50},
                    {"action_number": 3, "player_id": 2, "action": "Dealt Cards"},
                    {"action_number": 4, "player_id": 1, "action": "Dealt Cards"},
                    {"action_number": 5, "player_id": 2, "action": "Call", "amount": 0.25},
                    {"action_number": 6, "player_id": 1, "action": "Check"},
                ],
            },
            {
                "id": 1,
                "street": "Flop",
                "cards": ["9s", "4d", "Kh"],
                "actions": [
                    {"action_number": 1, "player_id": 2, "action": "Bet", "amount": 1.00},
                    {"action_number": 2, "player_id": 1, "action": "Fold"},
                ],
            },
        ],
        "pots": [
            {
                "number": 0,
                "amount": 1.00,
                "rake": 0.05,
                "player_wins": [{"player_id": 2, "win_amount": 0.95}],
            }
        ],
        "x_uncalled_returned": [{"player_id": 2, "amount": 1.00}],
    }
}
"""A heads-up hand at a table of six: the flop is bet and not called."""

_DESCRIPTION: Final = """\
Post one hand, a JSON array of hands, or one hand per line (NDJSON), up to 1,000 in one request.
Each is judged and booked by itself; a hand that is refused stops no other, and hands of one table
are booked in the order in which they stand.

A hand's number is its id: the same content again answers the first result (`repeated`), other
content is refused with `different-content`. A refusal that says `retry: later` rests on the
books, or on the clock: a hand that begins more than five minutes from now is `malformed` until
then. Such a hand waits, and may be posted again. A flagged hand is booked as it was posted, and
its findings are open until somebody resolves them (`GET /v1/findings`).

One hand answers 201 when it was booked, 200 when it is a repeat, and its problem otherwise. A
batch answers 200 with one result per hand, in order; only when none could be decided does it
answer a problem for all.

With `dry_run=true` the verdict is answered and nothing is booked; `rulebook` and `on` then choose
by which rulebook and which day it is judged.

Scope: `hands:post`; for a dry run `hands:read`."""


def operation() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the operation and the schemas that it refers to."""
    hand, components = json_schema()
    components = {**components, "HandResult": _RESULT, "HandResults": _RESULTS}
    result = {"$ref": "#/components/schemas/HandResult"}
    results = {"$ref": "#/components/schemas/HandResults"}
    return {
        "tags": ["game-server"],
        "summary": "Post hands",
        "description": _DESCRIPTION,
        "operationId": "post_hands",
        "security": [{"HTTPBearer": []}],
        "parameters": [
            _parameter("dry_run", {"type": "boolean", "default": False}, "Book nothing."),
            _parameter("rulebook", {"type": "string"}, "Judge by this one; dry runs only."),
            _parameter("on", {"type": "string", "format": "date"}, "Judge as on this day."),
        ],
        "requestBody": {
            "required": True,
            "content": {
                JSON.decode(): {
                    "schema": {"anyOf": [hand, {"type": "array", "items": hand}]},
                    "examples": {
                        "one": {"summary": "One hand", "value": EXAMPLE},
                        "batch": {"summary": "A batch of one", "value": [EXAMPLE]},
                    },
                },
                NDJSON.decode(): {
                    "schema": {"type": "string", "description": "One hand per line."}
                },
            },
        },
        "responses": {
            "201": _response("The hand was booked.", result),
            "200": _response(
                "A repeat, a verdict, or the results of a batch.", {"anyOf": [result, results]}
            ),
        },
    }, components


def _parameter(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, "description": description}


def _response(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {JSON.decode(): {"schema": schema}}}


_NULLABLE: Final = {"type": ["string", "null"]}

_ONE_OR_MORE: Final = {"oneOf": [_NULLABLE, {"type": "array", "items": _NULLABLE}]}

_BAD_BEAT: Final[dict[str, Any]] = {
    "type": ["object", "null"],
    "description": "Who hit the bad-beat jackpot, by the names posted; null when nobody did. "
    "`loser` and `winner` are a name each, or a list where several share that part.",
    "required": ["loser", "winner", "dealt"],
    "properties": {
        "loser": {**_ONE_OR_MORE, "description": "Who lost with the high hand."},
        "winner": {**_ONE_OR_MORE, "description": "Who won the main pot with the highest hand."},
        "dealt": {
            "type": "array",
            "items": _NULLABLE,
            "description": "Everybody who was dealt in, loser and winner included.",
        },
    },
}

_RESULT: Final[dict[str, Any]] = {
    "title": "HandResult",
    "type": "object",
    "description": "What became of one posted hand.",
    "required": ["game_number", "status", "position"],
    "properties": {
        "game_number": {**_NULLABLE, "description": "Null when the hand could not be read."},
        "status": {
            "enum": ["booked", "repeated", "refused", "failed", "running", "judged"],
            "description": "`failed`: not decided; post it again. `running`: noted as being "
            "played. `judged`: a dry run.",
        },
        "position": {
            "type": ["integer", "null"],
            "description": "The journal position that it is true for.",
        },
        "rulebook": {"type": "string", "description": "The version that it was judged by."},
        "verdict": {"enum": ["ok", "unverified", "flagged", "refused", None]},
        "expected": {
            "type": ["object", "null"],
            "description": "What the rules give, whatever was posted; null if nothing can be said.",
            "properties": {"bad_beat": _BAD_BEAT},
        },
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["code", "level", "where", "expected", "posted", "message"],
                "properties": {
                    "code": {"type": "string"},
                    "level": {"enum": ["refuse", "flag", "unverified"]},
                    "where": {"type": "string"},
                    "expected": {},
                    "posted": {},
                    "message": {"type": "string"},
                },
            },
        },
        "seats": {
            "type": "array",
            "items": {"type": "integer"},
            "description": "The seats that are in a running hand.",
        },
        "problem": {
            "$ref": "#/components/schemas/Problem",
            "description": "In a batch, of a hand that was not booked.",
        },
    },
}

_RESULTS: Final[dict[str, Any]] = {
    "title": "HandResults",
    "type": "object",
    "description": "One result per posted hand, in order.",
    "required": ["results", "position"],
    "properties": {
        "results": {"type": "array", "items": {"$ref": "#/components/schemas/HandResult"}},
        "position": {"type": ["integer", "null"]},
    },
}
