"""``cardroom demo``: the day, then the evening, then whether everything is as it must be."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Annotated, Final

import typer
from rich.console import Console

from ops.demo.cashier import Cashier
from ops.demo.desks import Desks
from ops.demo.floor import PAUSE, TABLES, Floor
from ops.demo.refusals import Case, refused
from ops.demo.show import Evening, cents
from ops.demo.tally import Tally
from ops.serving import Serving, temporary_folder

PLAYERS: Final = 72
SEED: Final = 2013
WIDTH: Final = 100
ROUNDS_BEFORE: Final = 5
"""So often may a player sit down at each table before the first hand."""


class Demonstration:
    """One card room's day, from the first player to the auditor."""

    def __init__(self, serving: Serving, desks: Desks, console: Console, hands: int) -> None:
        self.serving = serving
        self.desks = desks
        self.console = console
        self.hands = hands
        self.tally = Tally()
        rng = Random(SEED)  # noqa: S311
        self.now = datetime.now(UTC)
        self.cashier = Cashier(desks, self.tally, rng)
        self.floor = Floor(desks, self.cashier, self.tally, rng, self.now - (hands + 100) * PAUSE)
        self.refusals: list[Case] = []
        self.wrong: list[str] = []

    # -- the day ---------------------------------------------------------------------------------

    def day(self) -> None:
        """Let everything happen."""
        with self.told("players, deposits and withdrawals"):
            self.cashier.register(PLAYERS)
            self.cashier.day()
        with self.told("tables and seats"):
            for opening in TABLES:
                self.floor.open(opening)
            for _ in range(ROUNDS_BEFORE):
                for table in self.floor.room.tables.values():
                    self.floor.settle(table)
        with self.told("hands in batches and one by one"):
            self.floor.play(self.hands)
        with self.told("a bad beat that hits the jackpot, and the worker's settlement"):
            self.hit = self.floor.bad_beat("Ljung")
        with self.told("what seldom happens, and what must be refused"):
            self.running = self.floor.running("Klint")
            self.lost = self.floor.lost("Sippa")
            self.refusals = refused(self.desks, self.cashier, self.floor)
            self.floor.empty(self.floor.room.tables["Tistel"])
        tally = self.tally
        self.console.print(
            f"\n{len(self.cashier.patrons)} players of {len(self.desks.partners)} partners;"
            f" {tally.moves:,} buy-ins, top-ups and leavings;"
            f" {tally.hands:,} hands of {tally.games} games and {tally.limits} kinds of limit in"
            f" {tally.batches} batches and {tally.singles} single posts;"
            f" {tally.repeated} posted again and booked once;"
            f" hand {self.hit} hit the jackpot, which paid {cents(tally.jackpots_paid)} EUR;"
            f" hand {self.running} posted while it ran and when it was finished;"
            f" hand {self.floor.lost_hand} lost: {self.lost['maker']} asked for the table's chips"
            f" to be corrected, {self.lost['checker']} agreed, and"
            f" {self.lost['result']['suspense']} EUR stand in suspense."
        )

    @contextmanager
    def told(self, what: str) -> Iterator[None]:
        """Say what is being done, and how long it took."""
        began = time.monotonic()
        yield
        self.console.print(f"  {what}: {time.monotonic() - began:.1f} s", highlight=False)

    # -- the evening -----------------------------------------------------------------------------

    def evening(self) -> int:
        """Show the books, and hold them against what was counted; return the difference."""
        position = self.desks.auditor.get("/readyz")["journal_position"]
        evening = Evening(self.console, self.desks.auditor, position)
        evening.refusals(self.refusals)
        funds = evening.client_funds()
        patrons = list(self.cashier.patrons.values())
        evening.bankrolls([patrons[0], patrons[2], patrons[7], patrons[-1]])
        self._must("the trial balance", evening.trial_balance(), 0)
        first = (self.now - timedelta(days=3)).date()
        days = first, self.now.date()
        rake = evening.rake(self.floor.room.tables, *days)
        self._must("the rake", rake, sum(self.tally.rake.values()))
        self._must("the jackpots", evening.jackpots(), self.tally.pool)
        evening.hits()
        evening.findings()
        evening.hand(self._telling())
        self._check_books()
        self._check_accounts(evening)
        difference: int = funds["liability_minor"] - self.tally.liability
        self._must("client funds", funds["liability_minor"], self.tally.liability)
        for case in self.refusals:
            if not case.right:
                self.wrong.append(f"{case.what}: {case.answer.code}, not {case.due}")
        self._came()
        return difference

    def _came(self) -> None:
        """Show how what is owed follows from what was sent."""
        tally = self.tally
        self.console.print(
            f"\nOwed to players, counted by the demonstration itself: deposits"
            f" {cents(tally.deposited)} - collected debts {cents(tally.debts_collected)}"
            f" - taken back {cents(tally.taken_back)} - paid out {cents(tally.paid_out)}"
            f" - rake {cents(sum(tally.rake.values()))} + jackpots {cents(tally.jackpots)}"
            f" + resynchronised {cents(tally.resynced)} = {cents(tally.liability)} EUR",
            highlight=False,
        )

    def _telling(self) -> str:
        """Choose a hand with a side pot, if there was one, for real money."""
        real = [
            one.dealt for one in self.floor.posted if one.dealt.heading.limits.currency == "EUR"
        ]
        shown = max(real, key=lambda dealt: (len(dealt.hand.pots) > 1, dealt.rake))
        return shown.game_number

    def _check_accounts(self, evening: Evening) -> None:
        """Hold every player's account against what was counted for him."""
        for patron in self.cashier.patrons.values():
            rows = evening.read(f"/v1/players/{patron.player}/bankroll")["purses"]
            found = {row["currency"]: row["cash_minor"] for row in rows}
            for currency, amount in patron.account.items():
                self._must(f"{patron.name}'s account", found.get(currency, 0), amount)

    def _check_books(self) -> None:
        """Run ``cardroom check`` on the installation."""
        checked = self.serving.command("check")
        self.console.print("\ncardroom check", highlight=False)
        self.console.print(checked.stdout.rstrip(), highlight=False)
        if checked.returncode != 0:
            self.wrong.append(f"cardroom check: {checked.stdout}{checked.stderr}")

    def _must(self, what: str, found: int, due: int) -> None:
        if found != due:
            self.wrong.append(f"{what}: {found} in the books, {due} counted")


def run(hands: int, console: Console) -> bool:
    """Run the demonstration; tell whether everything was as it must be."""
    with temporary_folder() as folder:
        console.print("A card room's day, through the API of a fresh installation", highlight=False)
        with Serving(folder) as serving, Desks(serving) as desks:
            demonstration = Demonstration(serving, desks, console, hands)
            demonstration.day()
            difference = demonstration.evening()
            tally = demonstration.tally
    for wrong in demonstration.wrong:
        console.print(f"WRONG {wrong}", highlight=False)
    if demonstration.wrong:
        return False
    console.print(
        f"\nOK {tally.hands:,} hands, {cents(tally.liability)} EUR owed to players,"
        f" difference {cents(difference)}",
        highlight=False,
        soft_wrap=True,
    )
    return True


def demo(
    hands: Annotated[int, typer.Option(min=100, help="Hands that are played.")] = 2_000,
) -> None:
    """Run a card room's day on a fresh temporary installation, and show its books."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    if not run(hands, console):
        sys.exit(1)
