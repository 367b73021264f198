"""``cardroom judge``: one verdict a line, whatever the file holds."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ops.judge import judge_hands, verdicts
from tests.ledger.hands.posts import a_flop, encoded


def lines(capfdbinary: pytest.CaptureFixture[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]


def test_each_hand_gets_a_line(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    file = tmp_path / "hands.jsonl"
    bad = b'{"ohh":{"game_number":"82"}}'
    file.write_bytes(b"\n".join([encoded(a_flop()), bad, b"garbage"]))
    judge_hands(file)
    ok, malformed, garbage = lines(capfdbinary)
    assert (ok["game_number"], ok["verdict"], ok["findings"]) == ("81", "ok", [])
    assert ok["expected"]["rake"] == "0.30"
    assert (malformed["game_number"], malformed["expected"]) == ("82", None)
    assert malformed["findings"][0]["code"] == "malformed"
    assert (garbage["game_number"], garbage["verdict"]) == (None, "refused")


@pytest.mark.parametrize(
    ("rulebook", "on", "verdict"),
    [
        (None, None, "ok"),
        ("as-posted", None, "ok"),
        ("entraction", date(2009, 1, 1), "ok"),
        ("house", None, "refused"),
    ],
)
def test_rulebook_and_day_may_be_set(rulebook: str | None, on: date | None, verdict: str) -> None:
    [found] = verdicts(encoded(a_flop()), rulebook, on)
    assert found.verdict == verdict


def test_a_hand_may_name_its_rulebook() -> None:
    post = a_flop(x_rulebook="house")
    [found] = verdicts(encoded(post), None, None)
    assert [one.code for one in found.findings] == ["unknown-rulebook"]
    [found] = verdicts(encoded(post), "entraction", None)
    assert found.verdict == "ok"


def test_an_array_that_does_not_close_is_one_refusal() -> None:
    [found] = verdicts(b"[" + encoded(a_flop()), None, None)
    assert [one.code for one in found.findings] == ["malformed"]


def test_a_hand_of_the_future_is_refused() -> None:
    [found] = verdicts(encoded(a_flop(start_date_utc="2999-01-01T00:00:00Z")), None, None)
    assert (found.verdict, [one.code for one in found.findings]) == ("refused", ["malformed"])
    assert found.findings[0].where == "start_date_utc"
