"""The support desk's command line against a served room: what it prints, and what it refuses."""

import json
import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import structlog
from typer.testing import CliRunner

from api.hand_schema import EXAMPLE
from ops.cli import EXPECTED, app
from ops.desk.screen import WIDTH
from projections.queries import statements
from tests.api.conftest import IDENTITY_KEY, JWT_KEY, Room, fresh_database, serving
from tests.conftest import Server

Desk = Callable[..., str]


class Result:
    """What a command printed, and the line that it failed with."""

    def __init__(self, printed: str, failed: str | None, status: int) -> None:
        self.printed = printed
        self.failed = failed
        self.status = status


@pytest.fixture(scope="module")
def story(postgres: Server) -> Iterator[Room]:
    """Serve a room in which two players met over one hand, and one asks for money."""
    # The room logs in this process: what a command prints must not be mixed with it.
    silent = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=silent)
    with fresh_database(postgres) as dsn, serving(dsn) as room:
        riverboat = room.funded("Riverboat", 5000, partner="kerching")
        cardsharp = room.funded("Cardsharp", 5000, partner="another")
        etomo = room.opened("Etomo")
        stud = {"game": "Stud", "bet_type": "FL", "size": 7, "ante_minor": 10}
        no_blinds = {"small_blind_minor": 0, "big_blind_minor": 0, "max_buy_in_minor": None}
        room.opened("Malva", **stud, **no_blinds, small_bet_minor=50, big_bet_minor=100)
        for seat, player in enumerate((riverboat, cardsharp), 1):
            room.seated(etomo, player, seat)
        assert room.hand(EXAMPLE).status_code == 201
        asked = {"player": riverboat, "instrument": "t", "currency": "EUR", "amount_minor": 700}
        assert room.post("/v1/withdrawals", asked, role="cashier").status_code == 201
        room.project()
        yield room
    structlog.reset_defaults()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a data folder with the room's key: the local issuer's."""
    folder = tmp_path_factory.mktemp("installation")
    (folder / "jwt.key").write_text(JWT_KEY)
    (folder / "identity.key").write_text(IDENTITY_KEY)
    return folder


def run(room: Room, folder: Path, *arguments: str, answer: str = "", **settings: str) -> Result:
    port = room.url.rpartition(":")[2]
    env = {"CARDROOM_DATA_DIR": str(folder), "CARDROOM_PORT": port, "LOGNAME": "Maria", **settings}
    result = CliRunner().invoke(app, arguments, env=env, input=answer)
    failed = None
    if isinstance(result.exception, EXPECTED):
        failed = str(result.exception)
    elif result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Result(result.stdout, failed, result.exit_code)


@pytest.fixture
def desk(story: Room, folder: Path) -> Desk:
    """Run a command at the desk that works, and return what it prints, times and ids apart."""

    def printed(*arguments: str, answer: str = "") -> str:
        result = run(story, folder, *arguments, answer=answer)
        assert result.failed is None
        assert result.status == 0, result.printed
        assert "--json" in arguments or max(map(len, result.printed.splitlines())) <= WIDTH
        return result.printed

    return printed


def shape(printed: str) -> list[str]:
    """Leave out what is another at each run: ids, today's instants, positions."""
    printed = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "(id)", printed)
    printed = re.sub(r"20[2-9]\d-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?", "(now)", printed)
    printed = re.sub(r"position \d+", "position (p)", printed)
    printed = re.sub(r"  +", "  ", re.sub(r"(?m)^( *)\d{2,}  ", "(p)  ", printed))
    printed = re.sub(r"(?<=\(now\)) +\d+  ", "  (p)  ", printed)
    return [line for line in printed.splitlines() if line.strip("─ ")]


HAND = """\
Hand 8100300 · Holdem no limit 0.25/0.50 EUR · table Etomo · 2013-05-01 20:15:00 UTC
verdict ok, by entraction@2013-01-01; hand:entraction:00000000000008100300
seat  player  began with  won or lost  ended with
1 D  Riverboat  20.00  -0.50  19.50
2  Cardsharp  20.00  +0.45  20.45
Preflop
  Cardsharp posts the small blind 0.25
  Riverboat posts the big blind 0.50
  Cardsharp calls 0.25
  Riverboat checks
Flop [9s 4d Kh]
  Cardsharp bets 1.00
  Riverboat folds
Pots, as posted
pot  amount  rake  won by  gets
main pot  1.00  0.05  Cardsharp  0.95
Events and their money, EUR
position  debit  credit
(p)  Hand 8100300 was posted: ok.
(p)  Riverboat staked 0.50 EUR.
  chips Etomo Riverboat  0.50
  pot Etomo  0.50
(p)  Cardsharp staked 1.50 EUR.
  chips Etomo Cardsharp  1.50
  pot Etomo  1.50
(p)  Cardsharp got 1.00 EUR back: nobody covered it.
  pot Etomo  1.00
  chips Etomo Cardsharp  1.00
(p)  The rake was 0.05 EUR: another 0.03 EUR, kerching 0.02 EUR.
  pot Etomo  0.05
  rake another  0.03
  rake kerching  0.02
(p)  Cardsharp won 0.95 EUR of the main pot.
  pot Etomo  0.95
  chips Etomo Cardsharp  0.95
"""


def test_a_hand_is_told_street_by_street_with_every_movement_of_its_money(desk: Desk) -> None:
    assert "\n".join(shape(desk("hand", "8100300"))) + "\n" == HAND


PLAYER = """\
Riverboat · active · (id)
partner kerching, registered (now) UTC, rulebook entraction
  bankroll  frozen  pending  chips  debt
EUR  23.00  0.00  7.00  19.50  0.00
At tables
table  seat  chips
Etomo  1  19.50  EUR
Deposits
deposit  provider  amount  status
(id)  cardpay  50.00  EUR  confirmed
Withdrawals
withdrawal  provider  amount  status
(id)  7.00  EUR  requested
Last transactions, and the last day to protest them
when  position  what  taken  change  protest until
(now)  (p)  withdrawal reserved  7.00  0.00  EUR  (now)
2013-05-01 20:15  (p)  hand 8100300, Etomo  0.50  -0.50  EUR  2013-05-31, over
(now)  (p)  bought in, Etomo  20.00  0.00  EUR  (now)
(now)  (p)  deposited  0.00  +50.00  EUR  (now)
True for position (p); instants are UTC.
"""


def test_a_player_is_told_with_his_money_and_his_last_transactions(desk: Desk, story: Room) -> None:
    printed = desk("player", "riverboat")
    printed = re.sub(r"(2013-05-01 20:15) +\d+", r"\1  (p)", printed)
    assert "\n".join(shape(printed)) + "\n" == PLAYER
    player = json.loads(desk("player", "Riverboat", "--json"))["player"]["player"]
    assert desk("player", player) == desk("player", "Riverboat")
    fewer = desk("player", "Riverboat", "--transactions", "1")
    assert "withdrawal reserved" in fewer
    assert "hand 8100300" not in fewer


def test_who_asks_is_written_down_with_what_was_read(desk: Desk, story: Room) -> None:
    desk("player", "Riverboat", "--as", "jonas")
    desk("hand", "8100300")
    read = story.sql("SELECT actor, what FROM audit.reads ORDER BY read_at DESC LIMIT 6")
    assert read[0] == ("Maria", "hand")
    assert {actor for actor, _ in read[1:]} == {"jonas"}
    assert {what for _, what in read[1:]} == {
        *("player", "bankroll", "deposits", "withdrawals", "protest-windows"),
    }


def test_a_statement_runs_from_the_opening_to_the_closing_balance(desk: Desk) -> None:
    printed = desk("statement", "Riverboat", "--from", "2013-05-01", "--to", "2013-05-01")
    lines = shape(printed)
    assert lines[0] == ("Statement of Riverboat · from 2013-05-01 00:00:00 to 2013-05-02 00:00:00")
    [line] = [line for line in lines if "staked" in line]
    assert line.endswith("staked  chips Etomo EUR  0.50  -0.50")
    whole = shape(desk("statement", "Riverboat"))
    assert "bankroll EUR  0.00  27.00  50.00  23.00" in whole
    assert "chips Etomo EUR  0.00  0.50  20.00  19.50" in whole
    assert "There are more than 2 lines: --most shows them." in shape(
        desk("statement", "Riverboat", "--most", "2")
    )


def test_a_statement_of_more_lines_than_are_added_up_says_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsummed = "Debits and credits of so many lines are added up in the CSV alone."
    assert unsummed not in shape(desk("statement", "Riverboat"))
    monkeypatch.setattr(statements, "SUMMED", 3)
    printed = shape(desk("statement", "Riverboat", "--most", "2"))
    assert unsummed in printed
    assert "bankroll EUR  0.00  23.00" in printed


def test_tables_and_accounts_have_statements_too(desk: Desk) -> None:
    assert any(
        line.startswith("pot EUR  0.00") for line in shape(desk("statement", "Etomo", "--table"))
    )
    transit = shape(desk("statement", "transit:entraction:cardpay"))
    assert "transit cardpay EUR  0.00  100.00  0.00  100.00" in transit


def test_the_tables_are_listed_with_seats_and_chips(desk: Desk) -> None:
    lines = shape(desk("tables"))
    assert lines[:2] == [
        "Tables · open",
        "table  game  stakes  seats  chips  hands  rake  last hand",
    ]
    assert lines[2] == "Etomo  NL Holdem  0.25/0.50  EUR  2/6  39.95  0  0.00  2013-05-01 20:15"
    assert lines[3] == "Malva  FL Stud  0.50/1.00 ante 0.10  EUR  0/7  0.00  0  0.00"
    one = shape(desk("tables", "Etomo"))
    assert one[0] == "Etomo · open · NL Holdem 0.25/0.50 · rulebook entraction"
    assert one[-1].endswith("Cardsharp  another  20.45")
    assert desk("tables", "--closed") == "No tables.\n"


def test_windows_that_close_soon_are_listed_with_what_is_at_stake(desk: Desk) -> None:
    assert shape(desk("windows"))[-1] == "None."
    lines = shape(desk("windows", "--days", "40", "--partner", "kerching"))
    assert "at stake in all of them: 27.00 EUR taken, -50.00 net" in lines
    assert [line.split("  ")[3] for line in lines if "Riverboat" in line] == [
        *("deposited", "bought in, Etomo", "withdrawal reserved"),
    ]
    more = shape(desk("windows", "--days", "40", "--most", "1"))
    assert more[-1] == "There are more: --most shows them."
    answer = json.loads(desk("windows", "--days", "40", "--most", "2", "--json"))
    assert len(answer["protest_windows"]) == 2


# -- approvals -----------------------------------------------------------------------------------


def ask(room: Room) -> str:
    body = {
        "chips_minor": {"1": 1950 + 100, "2": 2045 - 150},
        "ground": "technical-failure",
        "reason": "A hand was lost.",
    }
    answer = room.post("/v1/tables/Etomo/resync", body, role="operator")
    assert answer.status_code == 202, answer.text
    room.project()
    return str(answer.json()["approval"])


def test_what_waits_is_shown_and_decided_only_when_it_is_meant(
    story: Room, folder: Path, desk: Desk
) -> None:
    assert desk("approvals") == "Nothing waits for you.\n"
    approval = ask(story)
    assert approval[:8] in desk("approvals")
    [row] = json.loads(desk("approvals", "--json"))
    assert row["approval"] == approval
    no = run(story, folder, "approvals", "grant", approval[:6], answer="n\n")
    assert no.failed == "Nothing was decided"
    assert "A hand was lost." in no.printed
    why = ("--code", "wrong-amount", "--reason", "Seat 2 had more.")
    assert desk("approvals", "reject", approval[:8], *why, answer="y\n").endswith("Rejected.\n")
    story.project()
    assert desk("approvals") == "Nothing waits for you.\n"
    assert "rejected" in desk("approvals", "--all")
    again = run(story, folder, "approvals", "grant", approval)
    assert again.failed == f"No pending approval begins with {approval!r}"


def test_who_asked_cannot_agree_at_the_desk_either(story: Room, folder: Path, desk: Desk) -> None:
    approval = ask(story)
    refused = run(story, folder, "approvals", "grant", approval, "--yes", "--as", "operator-1")
    assert refused.failed is not None
    assert refused.failed.endswith("(same-person)")
    assert desk("approvals", "grant", approval, "--yes").endswith("Granted, and carried out.\n")


# -- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["player", "Nobody"], "Nobody bears this nickname (unknown-player)"),
        (["player", "3b1f6c1e-6d0f-4f0e-9a57-0c5f6f0b7a11"], "No such player (unknown-player)"),
        (["hand", "1/2"], "no such hand is booked (unknown-hand)"),
        (["tables", "Nowhere"], "No such table (unknown-table)"),
        (["statement", "Nowhere"], "no player is called 'Nowhere'; --table asks for a table"),
        (["statement", "bank:x:y"], "nothing has ever been booked there (unknown-account)"),
        (["windows", "--url", "http://127.0.0.1:1"],
         "CARDROOM_TOKEN is needed for another server"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_in_a_line(
    story: Room, folder: Path, arguments: list[str], line: str
) -> None:
    result = run(story, folder, *arguments)
    assert (result.failed, result.printed) == (line, "")


def test_a_token_without_the_right_is_told_which_right_it_lacks(story: Room, folder: Path) -> None:
    result = run(story, folder, "windows", CARDROOM_TOKEN=story.token("cashier"))
    assert result.failed == "no right: the token does not allow protests:read"
    result = run(story, folder, "windows", CARDROOM_TOKEN="nonsense")
    assert result.failed == "the bearer token cannot be accepted (token-invalid)"


def test_a_partner_reads_at_the_desk_what_it_may(story: Room, folder: Path) -> None:
    token = {"CARDROOM_TOKEN": story.token("partner", "kerching"), "CARDROOM_URL": story.url}
    result = run(story, folder, "hand", "8100300", **token)
    assert "Cardsharp" not in result.printed
    assert "seat 2 staked 1.50 EUR." in result.printed
    assert run(story, folder, "player", "Cardsharp", **token).failed == (
        "this partner has no such player (not-your-player)"
    )


def test_a_server_that_is_not_there_and_one_that_is_no_card_room_are_told(
    story: Room, folder: Path, tmp_path: Path
) -> None:
    silent = run(story, folder, "tables", CARDROOM_PORT="1")
    assert (
        silent.failed == "nobody answers at http://127.0.0.1:1: is 'cardroom serve' running there?"
    )
    nowhere = run(story, tmp_path, "tables")
    assert nowhere.failed is not None
    assert nowhere.failed.startswith(f"no card room is installed in {tmp_path}")
    assert list(tmp_path.iterdir()) == []
    with another_server() as url:
        strange = run(story, folder, "tables", CARDROOM_TOKEN="x", CARDROOM_URL=url)
    assert strange.failed == f"what answers at {url} is no card room"


@contextmanager
def another_server() -> Iterator[str]:
    """Serve a folder's listing: HTML."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Quiet(BaseHTTPRequestHandler):
    """Answers a page to everything, and logs nothing."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>It works!</html>")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.mark.parametrize("text", ["yesterday", "2013-13-01", "2013-05-01T25:00", "9999-12-31"])
def test_a_day_that_is_none_is_refused_before_anybody_is_asked(
    story: Room, folder: Path, text: str
) -> None:
    result = CliRunner().invoke(app, ["statement", "Riverboat", "--to", text])
    assert result.exit_code == 2
    assert "is no day" in result.output


def test_all_of_it_is_there_as_json(desk: Desk) -> None:
    everything: dict[tuple[str, ...], Any] = {
        ("hand", "8100300"): lambda found: found["record"]["ohh"]["game_number"] == "8100300",
        ("statement", "Riverboat"): lambda found: found["lines"],
        ("tables",): lambda found: found[0]["table"]["name"] == "Etomo",
        ("tables", "Etomo"): lambda found: found[0]["table"]["seats"],
    }
    for arguments, is_there in everything.items():
        assert is_there(json.loads(desk(*arguments, "--json")))
