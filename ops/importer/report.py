"""What an import did, counted while it runs, and how it is told at the end."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from ledger import money
from ledger.hands.contributions import tally
from ledger.hands.ohh import Hand

_ADDED_UP: Final = ("put in", "pots", "rake", "jackpot", "won")

_INFERRED: Final = {
    "RegisterPlayer": "players",
    "OpenTable": "tables",
    "AnnounceDeposit": "deposits",
    "IssuePlayMoney": "play money given out",
    "BuyIn": "buy-ins",
    "TopUp": "top-ups",
    "LeaveTable": "cash-outs",
    "CloseTable": "tables closed",
}
"""What commands are called in the report."""


class Refusal(msgspec.Struct, frozen=True):
    """A hand that was not booked: where it stands, and why."""

    file: str
    line: int
    game_number: str | None
    code: str
    message: str
    field: str | None = None

    def __str__(self) -> str:
        hand = f" hand {self.game_number}" if self.game_number else ""
        field = f" ({self.field})" if self.field else ""
        return f"{self.file}:{self.line}:{hand} {self.code}: {self.message}{field}"


class Report:
    """The sums of an import; amounts in minor units."""

    def __init__(self) -> None:
        self.booked = 0
        self.repeated = 0
        self.refused: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self.inferred: Counter[str] = Counter()
        self.networks: Counter[str] = Counter()
        self.put_in: Counter[str] = Counter()
        """Money that came in from outside in this run, by currency."""
        self.totals: dict[str, Counter[str]] = {}
        """Of the hands that are on the books now, whether booked in this run or before."""

    @property
    def hands(self) -> int:
        """How many hands were gone through."""
        return self.booked + self.repeated + sum(self.refused.values())

    def book(self, network: str, hand: Hand, answer: Mapping[str, Any], *, repeated: bool) -> None:
        """Count a hand that is on the books."""
        self.networks[network] += 1
        self._add_up(hand)
        if repeated:
            self.repeated += 1
            return
        self.booked += 1
        self.findings.update(finding["code"] for finding in answer.get("findings", ()))
        inferred = answer.get("inferred")
        if inferred:
            self.inferred.update(inferred["commands"])
            self.put_in[hand.money] += inferred["put_in_minor"]

    def refuse(self, code: str) -> None:
        """Count a hand that was not booked."""
        self.refused[code] += 1

    def _add_up(self, hand: Hand) -> None:
        sums = self.totals.setdefault(hand.money, Counter())
        sums["put in"] += tally(hand).put_in
        for pot in hand.pots:
            sums["pots"] += pot.amount
            sums["rake"] += pot.rake
            sums["jackpot"] += pot.jackpot
            sums["won"] += sum([win.win_amount for win in pot.player_wins])

    def lines(self) -> Iterator[str]:
        """Tell the report; the totals are those of the hands that are on the books now."""
        for network, hands in sorted(self.networks.items()):
            yield f"Network {network}: of these files, on the books: {hands}."
        refused = sum(self.refused.values())
        yield f"Hands: {self.booked} booked, {self.repeated} repeated, {refused} refused."
        if refused:
            yield f"  Refused: {_counted(self.refused)}."
        if self.refused["currency-mismatch"]:
            yield "  A site with money of its own? Try --rulebook as-posted."
        if self.findings:
            yield f"  Booked and flagged: {_counted(self.findings)}."
        if self.booked:
            yield f"  Inferred from them: {self._told()}."
        for currency, sums in sorted(self.totals.items()):
            amounts = [f"{name} {money.text(sums[name], currency)}" for name in _ADDED_UP]
            yield f"Totals in {currency}: {', '.join(amounts)}."
        for currency, amount in sorted(self.put_in.items()):
            yield f"Money that came in, as inferred: {money.text(amount, currency)} {currency}."
        for network in sorted(self.networks):
            yield f"To look at it: CARDROOM_NETWORK={network} cardroom tables"

    def _told(self) -> str:
        counted = Counter({name: self.inferred[command] for command, name in _INFERRED.items()})
        return _counted(counted)


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counter.items() if number) or "nothing"
