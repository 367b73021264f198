"""Problems: RFC 9457, one code each, and none without its meaning."""

import pytest

from api.problems import EDGE, Problem, catalogue, refusals, title, where
from ledger.core import Refused
from ledger.hands.commands import RefusedByFindings
from ledger.rulebooks.values import FINDING_CODES


class TooLate(Refused):
    """It came too late to be acted on."""

    code = "too-late"
    kind = "conflict"
    retry = "later"


def test_a_problem_has_the_members_of_the_standard_and_ours() -> None:
    problem = Problem("missing-scope", "the token does not allow x", scope="x")
    assert problem.document("r-1") == {
        "type": "/problems/missing-scope",
        "title": "Missing scope",
        "status": 403,
        "detail": "the token does not allow x",
        "code": "missing-scope",
        "retry": "never",
        "field": None,
        "request_id": "r-1",
        "scope": "x",
    }


def test_a_refusal_keeps_its_code_field_and_extras() -> None:
    problem = Problem.of_refused(TooLate("too late", field="at", closed_at="2014-01-01"))
    assert (problem.status, problem.retry, problem.field) == (409, "later", "at")
    assert problem.document("r")["closed_at"] == "2014-01-01"


def test_an_extra_never_takes_the_place_of_a_member_of_the_standard() -> None:
    document = Problem.of_refused(TooLate("too late", status="paid")).document("r")
    assert (document["status"], document["current_status"]) == (409, "paid")


@pytest.mark.parametrize("code", ["queue-full", "database-unavailable", "position-not-reached"])
def test_what_will_pass_says_when_to_try_again(code: str) -> None:
    problem = Problem(code, "busy")
    assert problem.status == 503
    assert (b"retry-after", b"1") in list(problem.header_lines())


def test_a_missing_token_is_asked_for() -> None:
    names = [name for name, _ in Problem("token-missing", "none").header_lines()]
    assert names == [b"www-authenticate"]


def test_every_refusal_of_the_rules_is_in_the_catalogue_with_its_meaning() -> None:
    known = catalogue()
    assert TooLate.code not in known, "no ledger refuses it"
    for refusal in set(refusals()) - {RefusedByFindings}:
        assert known[refusal.code].meaning, refusal
    for code in FINDING_CODES:
        assert known[code].meaning, code
    assert known.keys() >= EDGE.keys()


@pytest.mark.parametrize("code", sorted(EDGE))
def test_every_code_of_the_edge_is_kebab_case_and_has_an_error_status(code: str) -> None:
    assert code == code.lower()
    assert title(code).replace(" ", "-").lower() == code
    assert 400 <= EDGE[code].status < 600


@pytest.mark.parametrize(
    ("location", "field"),
    [
        (("body", "seats", 3), "seats.3"),
        (("body",), ""),
        (("query", "limit"), "limit"),
        (("header", "Idempotency-Key"), "header.Idempotency-Key"),
    ],
)
def test_a_fault_is_placed_by_its_path(location: tuple[str | int, ...], field: str) -> None:
    assert where(location) == field
