"""What is printed: aligned tables within a hundred columns, and names made harmless."""

import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH: Final = 100

_HARMFUL: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories of what moves the cursor, changes the direction, or shows nothing."""

_JOINERS: Final = frozenset("\u200c\u200d")
"""Part of how some scripts are written."""


class Column(NamedTuple):
    """A column's heading, and whether it is aligned to the right.

    With ``widest`` it is at most so wide, and cut where there is no room; others never are.
    """

    heading: str
    right: bool = False
    widest: int | None = None


def right(heading: str) -> Column:
    """Make a column of amounts or other numbers."""
    return Column(heading, right=True)


def safe(text: str) -> str:
    """Show characters that a terminal would obey, or not show, by their code points."""
    return "".join(
        character
        if character in _JOINERS or unicodedata.category(character) not in _HARMFUL
        else f"\\x{ord(character):02x}" if ord(character) < 0x100 else f"\\u{ord(character):04x}"
        for character in text
    )  # fmt: skip


def instant(text: str | None) -> str:
    """Write an instant as people read it: UTC, to the second."""
    return "" if text is None else f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S}"


def text_of(value: Any) -> str:
    """Write what a finding expected, or what was posted: ``Alice 2.85, Bobby 2.80``."""
    if isinstance(value, list):
        return ", ".join(map(text_of, value))
    if isinstance(value, dict):
        return " ".join(text_of(part) for part in value.values() if part is not None)
    return "" if value is None else str(value)


class Screen:
    """Prints for a terminal; without one the same, plain, for files and other programs."""

    def __init__(self, console: Console | None = None) -> None:
        plain = not sys.stdout.isatty()
        self._console = console or Console(width=WIDTH if plain else None, highlight=False)

    def title(self, *parts: str) -> None:
        """Print what the rest is about: a name, then what is said of it."""
        first, *rest = map(safe, parts)
        line = Text(first, style="bold")
        for part in rest:
            line.append(f" · {part}", style="not bold")
        self._console.print(line, soft_wrap=True)

    def line(self, text: str = "", *, style: str = "") -> None:
        """Print a line; a longer text is wrapped."""
        self._console.print(Text(safe(text), style=style))

    def table(
        self, columns: Sequence[Column], rows: Iterable[Sequence[str]], *, title: str = ""
    ) -> None:
        """Print rows under their headings; a cell that is cut ends with an ellipsis."""
        lines = [[safe(cell) for cell in row] for row in rows]
        shown = Table(
            title=Text(title, style="bold") if title else None,
            title_justify="left",
            box=SIMPLE_HEAD,
            show_edge=False,
            padding=(0, 1, 0, 0),
        )
        for number, column in enumerate(columns):
            widths = [cell_len(line[number]) for line in lines]
            shown.add_column(
                column.heading,
                justify="right" if column.right else "left",
                # Where there is no room it is taken from those that may be cut.
                no_wrap=column.widest is None,
                max_width=column.widest,
                min_width=max(widths, default=0) if column.widest is None else None,
            )
        for line in lines:
            shown.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in line))
        with self._console.capture() as captured:
            self._console.print()
            self._console.print(shown)
        for printed in captured.get().splitlines():
            self._console.file.write(f"{printed.rstrip()}\n")


def as_json(content: Any) -> None:
    """Print an answer for other programs."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n")
