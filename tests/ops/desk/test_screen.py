"""What is printed: harmless, aligned, within its columns."""

import io
import json

import pytest
from rich.cells import cell_len
from rich.console import Console

from ops.desk.screen import WIDTH, Column, Screen, as_json, instant, right, safe


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Riverboat", "Riverboat"),
        ("Zoë Þór", "Zoë Þór"),
        ("Дмитрий", "Дмитрий"),
        ("麻雀大王", "麻雀大王"),
        ("سلام", "سلام"),
        ("می\u200cروم", "می\u200cروم"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("[red]Fish[/red]", "[red]Fish[/red]"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("two\r\nlines\ttab", "two\\x0d\\x0alines\\x09tab"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("a\u2028b", "a\\u2028b"),
        ("\ufeff\u200b", "\\ufeff\\u200b"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\ue0041"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_by_its_code(text: str, shown: str) -> None:
    assert safe(text) == shown


def printed(*, terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(file=file, width=WIDTH, force_terminal=terminal, highlight=False)
    screen = Screen(console)
    screen.title("[bold]Name", "麻雀" * 10, "\x1b[31m")
    columns = [Column("player", widest=40), Column("what", widest=60), right("amount"), Column("")]
    names = ["麻雀" * 20, "[red]x", "\x1b[31mred", "y" * 90]
    rows = [[name, "w" * 80, f"{10**number}.00", "EUR"] for number, name in enumerate(names, 8)]
    screen.table(columns, rows, title="[link]Table")
    return file.getvalue()


def test_no_line_is_wider_than_the_screen_and_no_amount_is_cut() -> None:
    lines = printed().splitlines()
    assert max(map(cell_len, lines)) <= WIDTH
    for amount in ("100000000.00", "1000000000.00", "10000000000.00", "100000000000.00"):
        [line] = [line for line in lines if f" {amount}  EUR" in line]
        assert "…" in line
    assert all(line == line.rstrip() for line in lines)


def test_names_are_never_taken_for_markup_or_for_commands_to_the_terminal() -> None:
    plain = printed()
    assert "[bold]Name" in plain
    assert "[red]x" in plain
    assert "[link]Table" in plain
    assert "\x1b" not in plain
    coloured = printed(terminal=True)
    assert "\\x1b[31mred" in coloured
    assert "\x1b[31m" not in coloured


def test_amounts_are_aligned_by_their_ends() -> None:
    lines = [line for line in printed().splitlines() if line.endswith("EUR")]
    assert len({cell_len(line) for line in lines}) == 1


def test_instants_are_written_without_their_zone() -> None:
    assert instant("2013-05-01T20:15:00Z") == "2013-05-01 20:15:00"
    assert instant("2013-05-01T20:15:00.123456+00:00") == "2013-05-01 20:15:00"
    assert instant(None) == ""


def test_answers_are_printed_as_they_came(capsys: pytest.CaptureFixture[str]) -> None:
    as_json({"name": "\x1b[31m", "amount_minor": 2**53})
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert json.loads(out) == {"name": "\x1b[31m", "amount_minor": 2**53}
