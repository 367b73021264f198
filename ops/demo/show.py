"""What an auditor wants to see in the evening, readable without colours."""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, Final

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from ledger import money
from ops.client import Client
from ops.demo.cashier import Patron
from ops.demo.floor import path_of
from ops.demo.refusals import Case

COMPONENTS: Final = ("bankroll", "frozen", "withdrawal", "chips", "pot", "jackpot")


def cents(amount_minor: int) -> str:
    """Write cents as people read them."""
    return money.text(amount_minor, "EUR")


class Evening:
    """Reads the books as the auditor and prints them; every answer includes ``position``."""

    def __init__(self, console: Console, auditor: Client, position: int) -> None:
        self.console = console
        self.auditor = auditor
        self.position = position

    def read(self, path: str, **query: Any) -> Any:
        """Read a list of the books, waiting for the projections to have come so far."""
        return self.auditor.get(path, at_least=self.position, wait_ms=10_000, **query)

    # -- the pages -------------------------------------------------------------------------------

    def client_funds(self) -> dict[str, Any]:
        """Print what is owed to players and what covers it; return the row of real money."""
        rows = self.read("/v1/client-funds")["currencies"]
        names = [*COMPONENTS, "liability", "bank", "transit", "assets", "debt"]
        columns = [f"{row['currency']} ({row['money']})" for row in rows]
        self._print(
            "Client funds by component",
            ["", *columns],
            [[_label(name), *(row[name] for row in rows)] for name in names],
        )
        return next(row for row in rows if row["money"] == "real")

    def bankrolls(self, patrons: Iterable[Patron]) -> None:
        """Print what a few players have."""
        rows = []
        for patron in patrons:
            found = self.read(f"/v1/players/{patron.player}/bankroll")["purses"]
            rows += [
                [patron.name, patron.partner, row["currency"], row["cash"], row["pending"],
                 row["chips"], row["debt"]]
                for row in found
            ]  # fmt: skip
        columns = ["player", "partner", "", "cash", "pending", "chips", "debt"]
        self._print("Bankrolls of a few players", columns, rows, left=3)

    def trial_balance(self) -> int:
        """Print debits and credits; return how much they differ by, over all currencies."""
        found = self.read("/v1/trial-balance")
        rows = [
            [row["currency"], row["component"], row["side"], row["debit_balance"],
             row["credit_balance"]]
            for row in found["components"]
        ]  # fmt: skip
        rows += [
            [row["currency"], "all entries", "", row["debit"], row["credit"]]
            for row in found["totals"]
        ]
        self._print("Trial balance", ["", "component", "side", "debit", "credit"], rows, left=3)
        return sum(abs(row["difference_minor"]) for row in found["totals"])

    def rake(self, tables: Iterable[str], first: date, last: date) -> int:
        """Print the rake by day and partner; return all of it."""
        by: dict[tuple[str, str], list[int]] = {}
        for table in tables:
            found = self.read(path_of(table, "days"), first=str(first), last=str(last))
            for row in found["rake_by_partner"]:
                if row["currency"] == "EUR":
                    total = by.setdefault((row["occurred_day"], row["partner"]), [0, 0])
                    total[0] += row["hands"]
                    total[1] += row["rake_minor"]
        rows = [[*key, str(hands), cents(rake)] for key, (hands, rake) in sorted(by.items())]
        self._print(
            "Rake by day and partner, EUR", ["day", "partner", "hands", "rake"], rows, left=2
        )
        return sum(rake for _, rake in by.values())

    def jackpots(self) -> int:
        """Print what the jackpots hold; return all of it."""
        rows = self.read("/v1/jackpots")["jackpots"]
        shown = [[row["jackpot"], row["currency"], row["pool"]] for row in rows]
        self._print("Jackpots", ["", "", "pool"], shown, left=2)
        return sum(row["pool_minor"] for row in rows)

    def hits(self) -> None:
        """Print the hits of the jackpots, and who got what of them."""
        rows = []
        for jackpot in self.read("/v1/jackpots")["jackpots"]:
            for hit in self.read(f"/v1/jackpots/{jackpot['jackpot']}/hits")["hits"]:
                hand = self.auditor.get(f"/v1/hands/{hit['game_number']}")
                names = {player["player"]: player["name"] for player in hand["players"]}
                told = f"hand {hit['game_number']}, {hit['table']}, {hit['status']}"
                rows.append([told, "", hit["pool"], ""])
                rows += [
                    [f"    {names[share['player']]}", share["part"], share["amount"],
                     str(share["position"])]
                    for share in hit["shares"]
                ]  # fmt: skip
        self._print("Hits of the jackpots", ["", "", "pool, shares", "event"], rows, left=2)

    def hand(self, game_number: str) -> None:
        """Print one hand in words, with its entries."""
        found = self.auditor.get(f"/v1/hands/{game_number}")
        names = {player["player"]: player["name"] for player in found["players"]}
        rows: list[Sequence[str]] = []
        for event in found["events"]:
            lines = event["postings"]
            rows.append([str(event["position"]), event["text"], "", ""])
            for line in lines:
                debit = line["amount"] if line["amount_minor"] > 0 else ""
                credit = line["amount"].lstrip("-") if line["amount_minor"] < 0 else ""
                rows.append(["", f"    {_named(line['account'], names)}", debit, credit])
        title = f"Hand {game_number}: {found['game']} at {found['table']}, {found['started_at']}"
        self._print(title, ["position", "", "debit", "credit"], rows, left=2)

    def findings(self) -> None:
        """Print what somebody has to look at."""
        rows = [
            [row["game_number"], row["table"], row["code"], row["where"] or ""]
            for row in self.read("/v1/findings")["findings"]
        ]
        self._print("Open findings", ["hand", "table", "code", "where"], rows, left=4)

    def refusals(self, cases: Sequence[Case]) -> None:
        """Print what was refused on purpose."""
        rows = [
            [case.what, str(case.answer.status), case.answer.code or "not refused",
             case.answer.content.get("retry", ""), "" if case.right else f"due: {case.due}"]
            for case in cases
        ]  # fmt: skip
        self._print(
            f"{len(cases)} requests refused on purpose",
            ["", "", "code", "retry", ""], rows, left=5,
        )  # fmt: skip

    def _print(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1
    ) -> None:
        table = Table(title=title, box=SIMPLE, title_justify="left", show_edge=False)
        for number, column in enumerate(columns):
            table.add_column(column, justify="left" if number < left else "right", overflow="fold")
        for row in rows:
            table.add_row(*row)
        self.console.print()
        self.console.print(table, highlight=False)


def _label(component: str) -> str:
    return {"liability": "= owed to players", "assets": "= covered by"}.get(component, component)


def _named(account: str, names: dict[str, str]) -> str:
    """Write an account with the player's name instead of his id."""
    return " ".join(names.get(part, part) for part in account.split(":") if part != "entraction")
