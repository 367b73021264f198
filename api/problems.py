"""Refusals as RFC 9457 problems: one stable code each, and whether trying again helps."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from fastapi import APIRouter
from pydantic import BaseModel
from starlette.types import Send

from ledger.core import Refused, Retry
from ledger.hands.commands import RefusedByFindings
from ledger.hands.findings import LATER
from ledger.rulebooks.values import FINDING_CODES

MEDIA_TYPE: Final = b"application/problem+json"

STATUS: Final[dict[str, int]] = {
    "invalid": 422,
    "missing": 404,
    "forbidden": 403,
    "conflict": 409,
    "rule": 422,
}
"""HTTP status of a refusal by its kind."""

RETRY_AFTER_SECONDS: Final = 1
"""What ``Retry-After`` says when the service itself is the reason."""


class ProblemType(NamedTuple):
    """What one code means, wherever it appears."""

    status: int
    retry: Retry
    meaning: str


EDGE: Final[dict[str, ProblemType]] = {
    "malformed-json": ProblemType(
        400, "after-fix", "The body is not JSON, or holds a number that JSON cannot carry."
    ),
    "idempotency-key-missing": ProblemType(
        400, "after-fix", "Every POST but those of hands needs an Idempotency-Key header."
    ),
    "idempotency-key-invalid": ProblemType(
        400, "after-fix", "An Idempotency-Key is 1 to 128 visible ASCII characters."
    ),
    "token-missing": ProblemType(401, "after-fix", "The request carries no bearer token."),
    "token-invalid": ProblemType(
        401, "after-fix", "The bearer token is malformed, not signed by the issuer, or incomplete."
    ),
    "token-expired": ProblemType(401, "after-fix", "The bearer token is past its time."),
    "missing-scope": ProblemType(403, "never", "The token lacks the scope named in `scope`."),
    "not-your-player": ProblemType(
        404, "never", "There is no such player among the players of this partner."
    ),
    "not-your-partner": ProblemType(403, "never", "A partner's token acts for that partner alone."),
    "not-found": ProblemType(404, "never", "Nothing is kept under this path."),
    "unknown-account": ProblemType(
        404, "later", "Nothing has ever been booked to an account of that name."
    ),
    "unknown-hand": ProblemType(
        404, "later", "No hand is booked under this number; `refused_before` lists refused posts."
    ),
    "request-not-found": ProblemType(
        404, "later", "No finished request of this client has this key; it may still arrive."
    ),
    "method-not-allowed": ProblemType(405, "never", "The path exists, the method does not."),
    "request-in-progress": ProblemType(
        409, "later", "A request with this Idempotency-Key is being carried out now."
    ),
    "body-too-large": ProblemType(
        413, "after-fix", "The body is larger than the limit named in `limit_bytes`."
    ),
    "unsupported-media-type": ProblemType(
        415, "after-fix", "The body is compressed, or its Content-Type none that the path reads."
    ),
    "missing-field": ProblemType(422, "after-fix", "A field that the request needs is absent."),
    "unknown-field": ProblemType(422, "after-fix", "A field is not one of the request's."),
    "invalid-value": ProblemType(
        422, "after-fix", "A field has the wrong type, form or size; amounts are whole numbers."
    ),
    "invalid-cursor": ProblemType(
        422, "after-fix", "The cursor was not given out by this list, or for other filters."
    ),
    "as-of-not-kept": ProblemType(
        422, "after-fix", "This read cannot be answered as of that instant; leave `field` out."
    ),
    "idempotency-key-reused": ProblemType(
        422, "after-fix", "The key belongs to a request with other content; `differing` says where."
    ),
    "batch-too-large": ProblemType(422, "after-fix", "A batch holds more hands than the limit."),
    "empty-batch": ProblemType(422, "after-fix", "The body holds no hand."),
    "internal-error": ProblemType(
        500, "later", "A defect of the ledger; nothing was booked. The request id finds the log."
    ),
    "queue-full": ProblemType(
        503, "later", "More is being posted than is booked; nothing of this request was taken."
    ),
    "database-unavailable": ProblemType(
        503,
        "later",
        "The database cannot be reached; whether a command was booked is told by "
        "`GET /v1/requests/{key}` or by sending it again.",
    ),
    "position-not-reached": ProblemType(
        503, "later", "The projections did not reach `at_least` within `wait_ms`."
    ),
}
"""The edge's own problems; those of the rules are the subclasses of Refused."""


class Problem(Exception):
    """A problem to be answered; raised anywhere in the edge."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(detail)
        kind = EDGE[code]
        self.code = code
        self.status = kind.status
        self.retry: Retry = kind.retry
        self.detail = detail
        self.field = field
        self.headers = dict(headers or {})
        self.extra = extra

    @classmethod
    def of_refusal(
        cls,
        *,
        code: str,
        kind: str,
        retry: Retry,
        message: str,
        field: str | None,
        extra: Mapping[str, Any],
    ) -> "Problem":
        """Make the problem of a refused command; the rules know no HTTP."""
        problem = cls.__new__(cls)
        Exception.__init__(problem, message)
        problem.code = code
        problem.status = EDGE[code].status if code in EDGE else STATUS[kind]
        problem.retry = retry
        problem.detail = message
        problem.field = field
        problem.headers = {}
        problem.extra = dict(extra)
        return problem

    @classmethod
    def of_refused(cls, refused: Refused) -> "Problem":
        """Make the problem of a refusal that was raised at the edge itself."""
        return cls.of_refusal(
            code=refused.code,
            kind=refused.kind,
            retry=refused.retry,
            message=refused.message,
            field=refused.field,
            extra=refused.extra,
        )

    def document(self, request_id: str) -> dict[str, Any]:
        """Return the problem's members in the order in which people read them."""
        members: dict[str, Any] = {
            "type": f"/problems/{self.code}",
            "title": title(self.code),
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "retry": self.retry,
            "field": self.field,
            "request_id": request_id,
        }
        for name, value in self.extra.items():
            # A deposit that cannot be confirmed tells its own status: not the response's.
            members[f"current_{name}" if name in members else name] = value
        return members

    def header_lines(self) -> Iterator[tuple[bytes, bytes]]:
        """Return the response headers, names in lower case."""
        if self.status == 503:
            yield b"retry-after", str(RETRY_AFTER_SECONDS).encode()
        if self.status == 401:
            yield b"www-authenticate", b'Bearer realm="cardroom-ledger"'
        for name, value in self.headers.items():
            yield name.lower().encode("latin-1"), value.encode("latin-1")


def encoded() -> Problem:
    """The problem of a body that is compressed."""
    return Problem("unsupported-media-type", "send the body without Content-Encoding")


def title(code: str) -> str:
    """Return the title of a code: ``insufficient-funds`` -> "Insufficient funds"."""
    return code.replace("-", " ").capitalize()


async def answer(problem: Problem, send: Send, request_id: str) -> None:
    """Send a problem as the whole response."""
    body = msgspec.json.encode(problem.document(request_id))
    headers = [
        (b"content-type", MEDIA_TYPE),
        (b"content-length", str(len(body)).encode()),
        *problem.header_lines(),
    ]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def refusals(root: type[Refused] = Refused) -> Iterator[type[Refused]]:
    """Return every refusal of the ledger that has a code; a command line's own are none."""
    for kind in root.__subclasses__():
        if "code" in kind.__dict__ and kind.__module__.partition(".")[0] == "ledger":
            yield kind
        yield from refusals(kind)


def catalogue() -> dict[str, ProblemType]:
    """Return every code that can be answered, with what it means."""
    found: dict[str, ProblemType] = {
        code: ProblemType(
            422,
            "later" if code in LATER else "after-fix",
            "A finding of a posted hand: see `findings`.",
        )
        for code in FINDING_CODES
    }
    for kind in refusals():
        meaning = _first_sentence(kind.__doc__ or "")
        found[kind.code] = ProblemType(STATUS[kind.kind], kind.retry, meaning)
    # It stands for the code of whichever finding decides.
    del found[RefusedByFindings.code]
    return dict(sorted((found | EDGE).items()))


router = APIRouter(prefix="/problems", tags=["everyone"])


class ProblemMeaning(BaseModel):
    """What a problem's code means."""

    code: str
    title: str
    status: int
    retry: Retry
    meaning: str


@router.get(
    "/{code}",
    summary="What a problem's code means",
    description="The `type` of every problem leads here.",
)
def get_problem(code: str) -> ProblemMeaning:
    """Return the meaning of a code; needs no token."""
    found = catalogue().get(code)
    if found is None:
        raise Problem("not-found", "no problem has this code")
    return ProblemMeaning(code=code, title=title(code), **found._asdict())


def _first_sentence(text: str) -> str:
    return " ".join(text.strip().partition("\n\n")[0].split())


def where(location: Iterable[Any]) -> str:
    """Write the place of a fault in a body: ``("body", "seats", 3)`` -> "seats.3"."""
    parts = [str(part) for part in location]
    return ".".join(parts[1:] if parts[:1] in (["body"], ["query"], ["path"]) else parts)
