"""Findings at the desk: listed, counted, looked into, explained, resolved, opened again."""

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from ops.desk.screen import WIDTH
from tests.api.conftest import Room, fresh_database, serving
from tests.api.test_findings import flagged
from tests.api.test_hands import Game
from tests.conftest import Server
from tests.ops.desk.test_desk import Result, folder, run, shape

__all__ = ["folder"]


@pytest.fixture(scope="module")
def story(postgres: Server) -> Iterator[Room]:
    """Serve a room with two hands whose rake was too high."""
    silent = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=silent)
    with fresh_database(postgres) as dsn, serving(dsn) as room:
        game = Game(room)
        assert room.hand(flagged(game)).status_code == 201
        game.booked()
        game.stacks[1] -= 5
        assert room.hand(flagged(game, 0.50)).status_code == 201
        room.project()
        room.game = game  # type: ignore[attr-defined]
        yield room
    structlog.reset_defaults()


class Desk:
    """Runs commands, and looks up where the findings are."""

    def __init__(self, room: Room, folder: Path) -> None:
        self.room = room
        self.folder = folder
        found = room.get("/v1/findings", role="support").json()["findings"]
        self.positions = [str(one["position"]) for one in found]
        self.hands = [one["game_number"] for one in found]
        self.table = found[0]["table"].replace("%20", " ")

    def run(self, *arguments: str) -> Result:
        result = run(self.room, self.folder, *arguments)
        self.room.project()
        return result

    def __call__(self, *arguments: str) -> str:
        result = self.run(*arguments)
        assert result.failed is None
        assert result.status == 0, result.printed
        assert "--json" in arguments or max(map(len, result.printed.splitlines())) <= WIDTH
        return result.printed


@pytest.fixture
def desk(story: Room, folder: Path) -> Desk:
    return Desk(story, folder)


def cells(printed: str) -> list[list[str]]:
    return [re.split(r" {2,}", line.strip()) for line in shape(printed)]


def test_what_is_not_resolved_is_listed_and_counted(desk: Desk) -> None:
    first, second = desk.positions
    whole = desk("findings")
    assert [line.split()[0] for line in whole.splitlines()[-2:]] == [first, second]
    assert "wrong-rake" in whole
    assert re.search(r"0\.05 +0\.10 +0\.05 +EUR +open", whole)
    dearest = desk("findings", "--largest", "EUR").splitlines()
    assert [line.split()[0] for line in dearest[-2:]] == [second, first]
    assert desk("findings", "--code", "wrong-share") == "None.\n"
    assert desk("findings", "--table", "Nowhere") == "None.\n"
    assert first in desk("findings", "--table", desk.table, "--server", "game-server-1")
    assert desk("findings", "--to", "2013-04-30") == "None.\n"
    assert first in desk("findings", "--from", "2013-05-01", "--to", "2013-05-01")
    assert "There are more: --most shows them." in desk("findings", "--most", "1")
    for by, name in (("code", "wrong-rake"), ("table", desk.table), ("server", "game-server-1")):
        assert cells(desk("findings", "--by", by))[-1] == [
            *(name, "2", "2", "0", "0", "0.50", "0.50", "EUR"),
        ]
    assert [str(one["position"]) for one in json.loads(desk("findings", "--json"))] == [
        *(first, second),
    ]


def test_a_finding_is_looked_into_from_the_first_word_to_the_last(desk: Desk) -> None:
    first, second = desk.positions
    shown = shape(desk("finding", first))
    assert (
        shown[0]
        == f"Finding {first} · wrong-rake · open · hand {desk.hands[0]} · table {desk.table}"
    )
    assert "at stake  0.05 EUR" in shown
    said = f"Finding 1 of hand {desk.hands[0]} is "
    assert desk("finding", first, "explain", "The cap was wrong.") == f"{said}explained.\n"
    assert "explained" in desk("findings", "--status", "explained")
    assert desk("finding", first, "resolve", "written-off", "A cent.") == f"{said}resolved.\n"
    assert first not in desk("findings").split()
    assert first in desk("findings", "--status", "all").split()
    assert desk("finding", first, "reopen", "No cent.", "--as", "jonas") == f"{said}open.\n"
    steps = [line for line in shape(desk("finding", first)) if " by " in line][1:]
    assert [re.sub(r", \(now\) UTC", "", step) for step in steps] == [
        "explained by Maria: The cap was wrong.",
        "resolved by Maria, written-off: A cent.",
        "opened again by jonas: No cent.",
    ]
    corrected = ("corrected-by-adjustment", "Given back.", "--corrected-by", "resync-17")
    desk("finding", second, "resolve", *corrected)
    assert "(by request resync-17)" in desk("finding", second)
    assert json.loads(desk("finding", second, "--json"))["finding"]["status"] == "resolved"


def test_a_hand_is_told_with_what_was_found_out_about_it(desk: Desk) -> None:
    printed = desk("hand", desk.hands[1])
    assert re.search(rf"{desk.positions[1]} +wrong-rake +0\.05 +0\.50 +0\.45 +resolved", printed)
    assert "Resolved by Maria" in " ".join(printed.split())


def test_a_finding_that_is_not_about_amounts_is_shown_without_one(desk: Desk) -> None:
    again = flagged(Game(desk.room))
    assert desk.room.hand(again).status_code == 201
    again["ohh"]["table_size"] = 9
    assert desk.room.hand(again).json()["code"] == "different-content"
    desk.room.project()
    number = again["ohh"]["game_number"]
    listed = desk("findings", "--hand", number, "--code", "different-content")
    position = re.search(rf"^ *(\d+) +{number} .* different-content +open$", listed, re.MULTILINE)
    assert position
    shown = desk("finding", position[1])
    assert "at stake" not in shown
    assert "─" not in shown, "an empty table"
    assert re.search(r"different-content +open$", desk("hand", number), re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["finding", "1"], "No such finding (unknown-finding)"),
        (["finding", "1", "explain", "x"], "No such finding (unknown-finding)"),
        (["finding", "{first}", "reopen", "x"],
         "The finding is not resolved (finding-not-resolved)"),
        (["finding", "{first}", "resolve", "corrected-by-adjustment", "x"],
         "The request that moved the money, with corrected-by-adjustment alone (invalid-field)"),
        (["findings", "--code", "wrong-mood"], "(invalid-value)"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_in_a_line(desk: Desk, arguments: list[str], line: str) -> None:
    result = desk.run(*(part.format(first=desk.positions[0]) for part in arguments))
    assert result.printed == ""
    assert result.failed is not None
    assert result.failed.endswith(line)


NOT_UNDERSTOOD = (
    "finding x",
    "finding 0",
    "finding 1 forget",
    "finding 1 explain",
    "finding 1 resolve written-off",
    "finding 1 reopen two words",
    "finding 1 explain x --corrected-by y",
    "finding 1 --corrected-by y",
    "findings --status lost",
    "findings --from yesterday",
)


@pytest.mark.parametrize("line", NOT_UNDERSTOOD)
def test_what_is_not_understood_is_asked_of_nobody(desk: Desk, line: str) -> None:
    assert desk.run(*line.split()).status == 2
