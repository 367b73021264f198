"""What was measured, what was asked, and whether it is met."""

from pathlib import Path
from typing import Any, Final

import msgspec
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

SHOWN_MB: Final = 5
"""Smaller processes are watched and written to the file, not printed."""


class Figure(msgspec.Struct, frozen=True):
    """One measured number."""

    name: str
    value: float
    unit: str
    note: str = ""


class Asked(msgspec.Struct, frozen=True):
    """One measured number that has a bound, and whether it keeps it."""

    name: str
    value: float
    unit: str
    bound: str
    met: bool


class Report(msgspec.Struct):
    """Everything that a run found out, in the order in which it did."""

    preloaded: int
    tables: int
    machine: str
    """What it was measured on: cores, interpreter, and whether the busiest modules are compiled."""

    figures: list[Figure] = []
    asked: list[Asked] = []
    memory: list[dict[str, Any]] = []

    def add(self, name: str, value: float, unit: str, note: str = "") -> None:
        """Note a number."""
        self.figures.append(Figure(name, value, unit, note))

    def ask(
        self,
        name: str,
        value: float,
        *,
        unit: str = "",
        at_least: float | None = None,
        below: float | None = None,
    ) -> None:
        """Note a number that has a bound."""
        if at_least is not None:
            bound, met = f"≥ {at_least:g}", value >= at_least
        else:
            assert below is not None
            bound, met = f"< {below:g}", value < below
        self.asked.append(Asked(name, value, unit, bound, met))

    @property
    def met(self) -> bool:
        """Tell whether every bound is kept."""
        return all(one.met for one in self.asked)

    def write(self, path: Path) -> None:
        """Write all of it as JSON."""
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n")

    def show(self, console: Console) -> None:
        """Print it."""
        for table in (self._figures(), *([self._memory()] if self.memory else []), self._asked()):
            console.print()
            console.print(table, highlight=False)

    def _figures(self) -> Table:
        table = _table(f"Measured with {self.preloaded:,} hands on the books, on {self.machine}")
        table.add_column("")
        table.add_column("value", justify="right")
        table.add_column("unit")
        table.add_column("", overflow="fold")
        for figure in self.figures:
            table.add_row(figure.name, _number(figure.value), figure.unit, figure.note)
        return table

    def _memory(self) -> Table:
        table = _table("Memory that each process holds alone, in MB, after so many hands")
        table.add_column("process")
        for when in self.memory[0]["mb"]:
            table.add_column(f"{int(when):,}", justify="right")
        for row in self.memory:
            if max(row["mb"].values()) < SHOWN_MB:
                continue
            table.add_row(row["process"], *(f"{value:.1f}" for value in row["mb"].values()))
        return table

    def _asked(self) -> Table:
        table = _table("Asked")
        table.add_column("")
        table.add_column("value", justify="right")
        table.add_column("asked", justify="right")
        table.add_column("met")
        for one in self.asked:
            value = f"{one.value:.2f} {one.unit}".rstrip()
            table.add_row(one.name, value, f"{one.bound} {one.unit}".rstrip(), _yes(one.met))
        return table


def _table(title: str) -> Table:
    return Table(title=title, box=SIMPLE, title_justify="left", show_edge=False)


def _yes(met: bool) -> str:
    return "yes" if met else "NO"


def _number(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
