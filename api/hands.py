"""Posting hands: the hot path, plain ASGI from the first byte to the last.

No dependency injection and no pydantic stand between a hand and its booking: a room posts a
thousand hands for every other request.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

import msgspec
from fastapi import FastAPI
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from api import tokens
from api.auth import Caller
from api.clock import now
from api.edge import Edge, check_query, problem_of
from api.middleware import drain, too_large
from api.problems import Problem, encoded
from api.settings import EdgeSettings
from ledger.core import Refused
from ledger.hands import reading
from ledger.hands.commands import PostHand
from ledger.hands.findings import Finding
from ledger.hands.judge import as_posted
from ledger.hands.ohh import Hand, Raw
from ledger.hands.verdict import Expected, show
from ledger.journal import Outcome, Submission

JSON: Final = b"application/json"
NDJSON: Final = b"application/x-ndjson"
ACCEPTED: Final = [JSON.decode(), NDJSON.decode()]

DECODED_AT_ONCE: Final = 50
"""Hands that are decoded before other requests get their turn: about two milliseconds."""


class Options(NamedTuple):
    """What the query asks for."""

    dry_run: bool = False
    rulebook: str | None = None
    on: date | None = None


class PostHands:
    """``POST /v1/hands``."""

    def __init__(self, app: FastAPI, settings: EdgeSettings) -> None:
        self._app = app
        self._body_limit = settings.body_limit
        self._hands_limit = settings.hands_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        edge: Edge = self._app.state.edge
        at = now()
        caller = edge.verifier.caller(scope["headers"], at)
        scope["caller"] = caller
        query = scope["query_string"]
        options = _options(query) if query else Options()
        caller.require(tokens.Scope.HANDS_READ if options.dry_run else tokens.Scope.HANDS_POST)
        media_type, length = _content_headers(scope["headers"])
        body = await _read(receive, length, self._body_limit)
        items = reading.split(body)
        if not items:
            raise Problem("empty-batch", "the body holds no hand")
        if len(items) > self._hands_limit:
            raise Problem(
                "batch-too-large",
                f"{len(items)} hands in one batch",
                limit=self._hands_limit,
            )
        posts: list[PostHand | Problem] = []
        for index, item in enumerate(items):
            if index and index % DECODED_AT_ONCE == 0:
                await asyncio.sleep(0)
            posts.append(_command(edge, caller, at, item, options))
        submissions = [
            Submission(post, caller.client) for post in posts if isinstance(post, PostHand)
        ]
        outcomes = await edge.writer.submit(submissions) if submissions else []
        if len(items) == 1 and media_type == JSON and not body.lstrip().startswith(b"["):
            await self._answer_one(scope, send, posts[0], outcomes)
        else:
            await self._answer_batch(scope, send, posts, outcomes)

    async def _answer_one(
        self, scope: Scope, send: Send, post: PostHand | Problem, outcomes: Sequence[Outcome]
    ) -> None:
        if isinstance(post, Problem):
            self._count(["refused"])
            raise post
        [outcome] = outcomes
        scope["position"] = outcome.position
        result = _result(post, outcome)
        self._count([result["status"]])
        if outcome.status != "done":
            raise problem_of(outcome)
        booked = result["status"] == "booked"
        headers = [(b"idempotent-replay", b"true")] if outcome.repeated else []
        await _send(send, 201 if booked else 200, result, headers)

    async def _answer_batch(
        self,
        scope: Scope,
        send: Send,
        posts: Sequence[PostHand | Problem],
        outcomes: Sequence[Outcome],
    ) -> None:
        if outcomes and all(outcome.status == "failed" for outcome in outcomes):
            raise problem_of(outcomes[0])
        left = iter(outcomes)
        request_id = scope["request_id"]
        results = [
            _refused_unread(post, request_id)
            if isinstance(post, Problem)
            else _result(post, next(left), request_id)
            for post in posts
        ]
        self._count([result["status"] for result in results])
        problems = [result["problem"]["code"] for result in results if "problem" in result]
        self._app.state.metrics.count_refusals(problems)
        position = max((outcome.position for outcome in outcomes), default=None)
        scope["position"] = position
        await _send(send, 200, {"results": results, "position": position})

    def _count(self, statuses: Iterable[str]) -> None:
        self._app.state.metrics.count_hands(statuses)


# -- the request ---------------------------------------------------------------------------------


def _content_headers(headers: Iterable[tuple[bytes, bytes]]) -> tuple[bytes, int]:
    media_type, length = b"", 0
    for name, value in headers:
        if name == b"content-type":
            media_type = value.partition(b";")[0].strip().lower()
        elif name == b"content-length" and value.isdigit():
            length = int(value)
        elif name == b"content-encoding" and value.lower() != b"identity":
            raise encoded()
    if media_type not in (JSON, NDJSON):
        raise Problem("unsupported-media-type", f"send {' or '.join(ACCEPTED)}", accepted=ACCEPTED)
    return media_type, length


async def _read(receive: Receive, length: int, limit: int) -> bytes:
    """Read the body, no more of it than the limit allows."""
    if length > limit:
        await drain(receive)
        raise too_large(limit)
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return _within(body, limit)
    chunks, size = [body], len(body)
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            # What has come so far is not what was to be posted.
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            if message.get("more_body"):
                await drain(receive)
            raise too_large(limit)
    return b"".join(chunks)


def _within(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise too_large(limit)
    return body


def _options(query: bytes) -> Options:
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    check_query(pairs, Options._fields)
    given = dict(pairs)
    dry_run = given.get("dry_run", "false")
    rulebook, on = given.get("rulebook"), given.get("on")
    if dry_run not in ("true", "false"):
        raise Problem("invalid-value", "true or false", field="dry_run")
    if dry_run == "false" and (rulebook is not None or on is not None):
        name = "rulebook" if rulebook is not None else "on"
        raise Problem("invalid-value", "only with dry_run=true", field=name)
    try:
        day = date.fromisoformat(on) if on is not None else None
    except ValueError:
        raise Problem("invalid-value", "a date is written 2014-01-01", field="on") from None
    return Options(dry_run == "true", rulebook, day)


def _command(
    edge: Edge, caller: Caller, at: datetime, item: Raw, options: Options
) -> PostHand | Problem:
    """Decode one hand; one that cannot be read is refused and stops no other."""
    try:
        hand = reading.read(item)
    except Refused as refused:
        return Problem.of_refused(refused)
    network = caller.network
    claim = edge.identity.nickname_claim
    return PostHand(
        network=network,
        at=at,
        actor=caller.subject,
        request_id=f"hand:{hand.game_number}",
        hand=hand,
        posted_digest=reading.digest_of(item),
        claims={player.name: claim(network, player.name) for player in hand.players},
        rulebook=options.rulebook,
        on=options.on,
        dry_run=options.dry_run,
    )


# -- the answer ----------------------------------------------------------------------------------


def _result(post: PostHand, outcome: Outcome, request_id: str | None = None) -> dict[str, Any]:
    """Say what became of a hand; a problem is part of it when a request id is given."""
    answer = outcome.answer
    if outcome.status == "done":
        if post.dry_run:
            return {**answer, "status": "judged", "position": outcome.position}
        if "verdict" not in answer:
            return {**answer, "position": outcome.position}
        return {
            "game_number": answer["game_number"],
            "status": "repeated" if outcome.repeated else "booked",
            "position": outcome.position,
            "rulebook": answer["rulebook"],
            **_verdict(post.hand, answer),
        }
    problem = problem_of(outcome)
    findings = problem.extra.pop("findings", [])
    result: dict[str, Any] = {
        "game_number": post.hand.game_number,
        "status": outcome.status,
        "position": outcome.position,
        "verdict": "refused" if outcome.status == "refused" else None,
        "findings": findings,
    }
    if request_id is not None:
        result["problem"] = problem.document(request_id)
    return result


def _verdict(hand: Hand, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Give the stored verdict the names that this hand was posted with."""
    found = msgspec.convert(answer["findings"], list[Finding])
    expected: Expected | None = None
    if answer["expected"] is not None:
        expected = msgspec.convert(answer["expected"], Expected)
    elif not found:
        expected = as_posted(hand, answer["jackpot_contribution_minor"])
    shown = show(hand, answer["verdict"], expected, found)
    return {"verdict": shown.verdict, "expected": shown.expected, "findings": shown.findings}


def _refused_unread(problem: Problem, request_id: str) -> dict[str, Any]:
    return {
        "game_number": None,
        "status": "refused",
        "position": None,
        "verdict": "refused",
        "findings": [],
        "problem": problem.document(request_id),
    }


async def _send(
    send: Send, status: int, content: Any, headers: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    body = msgspec.json.encode(content)
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", JSON),
                (b"content-length", b"%d" % len(body)),
                *headers,
            ],
        }
    )
    await send({"type": "http.response.body", "body": body})
