"""A small client of the API: commands under keys of its own, refusals as they are answered."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import httpx

JSON: Final = {"Content-Type": "application/json"}
NDJSON: Final = {"Content-Type": "application/x-ndjson"}
TIMEOUT_SECONDS: Final = 60.0


class Answer(NamedTuple):
    """What the API said, refusals included."""

    status: int
    content: Any
    headers: Mapping[str, str]

    @property
    def done(self) -> bool:
        """Tell whether the request was carried out, now or before."""
        return self.status < 300

    @property
    def code(self) -> str | None:
        """The code of a refusal; None when there is none."""
        return None if self.done else self.content["code"]


class Refusal(Exception):
    """The API refused what was to be done."""

    def __init__(self, request: str, answer: Answer) -> None:
        problem = answer.content
        super().__init__(f"{request}: {answer.status} {problem['code']}: {problem['detail']}")
        self.answer = answer


class Client:
    """Speaks with the API as the bearer of one token, or of none.

    Keys are numbered: ``name-1``, ``name-2``; two clients of one run have different names.
    """

    def __init__(self, base_url: str, token: str | None, *, name: str) -> None:
        self._http = httpx.Client(
            base_url=base_url,
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT_SECONDS,
        )
        self._name = name
        self._keys = 0

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """Read; raises Refusal."""
        answer = _answer(self._http.get(path, params=query))
        if not answer.done:
            raise Refusal(f"GET {path}", answer)
        return answer.content

    def read(self, path: str) -> bytes:
        """Read an answer as it came, its numbers with all of their digits; raises Refusal."""
        response = self._http.get(path)
        answer = _answer(response)
        if not answer.done:
            raise Refusal(f"GET {path}", answer)
        return response.content

    def post(self, path: str, **fields: Any) -> Any:
        """Command under a new key; raises Refusal."""
        answer = self.try_post(path, fields)
        if not answer.done:
            raise Refusal(f"POST {path}", answer)
        return answer.content

    def try_post(
        self, path: str, fields: Mapping[str, Any] | bytes, *, key: str | None = None
    ) -> Answer:
        """Command, under a new key unless one is given, and return what is answered.

        Bytes are sent as they are.
        """
        if key is None:
            self._keys += 1
            key = f"{self._name}-{self._keys}"
        headers = {"Idempotency-Key": key, **JSON}
        if isinstance(fields, bytes):
            return _answer(self._http.post(path, content=fields, headers=headers))
        return _answer(self._http.post(path, json=fields, headers=headers))

    def post_hand(self, hand: bytes, **query: Any) -> Answer:
        """Post one hand."""
        return _answer(self._http.post("/v1/hands", content=hand, headers=JSON, params=query))

    def post_hands(self, hands: Sequence[bytes], *, lines: bool = False) -> list[dict[str, Any]]:
        """Post hands together, as an array or one per line, and return what became of each.

        Raises Refusal when the batch was refused as a whole.
        """
        body, headers = (b"\n".join(hands), NDJSON) if lines else (b"[%b]" % b",".join(hands), JSON)
        answer = _answer(self._http.post("/v1/hands", content=body, headers=headers))
        if not answer.done:
            raise Refusal("POST /v1/hands", answer)
        results: list[dict[str, Any]] = answer.content["results"]
        return results


def _answer(response: httpx.Response) -> Answer:
    return Answer(response.status_code, response.json(), response.headers)
