"""Keys and digests: what makes a request the same as an earlier one."""

import asyncio
from typing import Any

import pytest

from api.idempotency import FieldDigests, Running, idempotency_key
from api.problems import Problem

DIGESTS = FieldDigests(b"a key of this test")


@pytest.mark.parametrize("key", ["a", "x" * 128, "deposit-1001", "~!{}"])
def test_a_key_of_visible_ascii_is_accepted(key: str) -> None:
    assert asyncio.run(idempotency_key(key)) == key


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (None, "idempotency-key-missing"),
        ("", "idempotency-key-missing"),
        ("x" * 129, "idempotency-key-invalid"),
        ("with space", "idempotency-key-invalid"),
        ("naïve", "idempotency-key-invalid"),
        ("tab\t", "idempotency-key-invalid"),
        ("end\n", "idempotency-key-invalid"),
    ],
)
def test_a_key_missing_or_of_another_form_is_refused(key: str | None, code: str) -> None:
    with pytest.raises(Problem) as caught:
        asyncio.run(idempotency_key(key))
    assert (caught.value.code, caught.value.status) == (code, 400)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}),
        ({"a": [{"x": 1, "y": 2}]}, {"a": [{"y": 2, "x": 1}]}),
    ],
)
def test_the_order_of_keys_does_not_matter(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert DIGESTS.of(one) == DIGESTS.of(other)


@pytest.mark.parametrize(
    ("one", "other", "differing"),
    [
        ({"a": 1}, {"a": 2}, {"a"}),
        ({"a": 1}, {"a": "1"}, {"a"}),
        ({"a": 1}, {"a": True}, {"a"}),
        ({"a": 1}, {}, {"a"}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a.c"}),
        ({"a": [1, 2]}, {"a": [2, 1]}, {"a"}),
        ({"a": None}, {}, {"a"}),
        ({"a": {}}, {}, {"a"}),
    ],
)
def test_what_differs_is_named_by_its_path(
    one: dict[str, Any], other: dict[str, Any], differing: set[str]
) -> None:
    first, second = DIGESTS.of(one), DIGESTS.of(other)
    assert {n for n in first.keys() | second.keys() if first.get(n) != second.get(n)} == differing


def test_a_digest_tells_nothing_without_the_key() -> None:
    assert FieldDigests(b"another key").of({"a": 1}) != DIGESTS.of({"a": 1})


def test_a_key_is_held_while_its_request_runs_and_by_its_client_alone() -> None:
    running = Running()
    with running.claim("entraction", "desk", "k"):
        assert ("entraction", "desk", "k") in running
        with running.claim("entraction", "another", "k"), running.claim("empire", "desk", "k"):
            pass
        with pytest.raises(Problem) as caught, running.claim("entraction", "desk", "k"):
            pytest.fail("the second request ran")
        assert (caught.value.code, caught.value.status) == ("request-in-progress", 409)
    with running.claim("entraction", "desk", "k"):
        pass


def test_a_key_is_free_again_after_a_failure() -> None:
    running = Running()
    with pytest.raises(RuntimeError), running.claim("entraction", "desk", "k"):
        raise RuntimeError
    assert ("entraction", "desk", "k") not in running
