"""Money in and out: deposits confirmed, failed or taken back, withdrawals step by step."""

from dataclasses import dataclass
from itertools import cycle
from random import Random
from typing import Any, Final

from ops.demo.desks import Desks
from ops.demo.tally import Tally

FIRST: Final = [
    "Amber",
    "Birch",
    "Cedar",
    "Clover",
    "Copper",
    "Frost",
    "Hazel",
    "Linden",
    "Maple",
    "Pearl",
]
SECOND: Final = ["Badger", "Falcon", "Heron", "Lynx", "Marten", "Otter", "Plover", "Raven"]
REAL: Final = "EUR"
PLAY: Final = "XPM"


@dataclass
class Patron:
    """A player as the demonstration knows him; what he has in his account, by currency."""

    name: str
    partner: str
    player: str
    account: dict[str, int]


class Cashier:
    """Registers players and moves their money, counting along."""

    def __init__(self, desks: Desks, tally: Tally, rng: Random) -> None:
        self.desks = desks
        self.tally = tally
        self.rng = rng
        self.patrons: dict[str, Patron] = {}
        self.references = 0

    def register(self, players: int) -> None:
        """Register players with the partners, in turn."""
        names = [f"{first}{second}" for second in SECOND for first in FIRST][:players]
        for name, (partner, client) in zip(names, cycle(self.desks.partners.items()), strict=False):
            fields = self.desks.register(partner, name, f"kyc-{name}")
            player = client.post("/v1/players", **fields)["player"]
            client.post(
                f"/v1/players/{player}/terms", document="terms", version="2013-01", language="en"
            )
            self.patrons[name] = Patron(name, partner, player, {REAL: 0, PLAY: 0})

    def deposit(self, patron: Patron, amount: int, *, confirmed: bool = True) -> dict[str, Any]:
        """Announce a deposit; unless told otherwise the provider confirms it."""
        self.references += 1
        answer: dict[str, Any] = self.desks.cashier.post(
            "/v1/deposits",
            player=patron.player,
            provider="cardpay",
            reference=f"cp-{self.references}",
            instrument=f"tok-{patron.name}",
            currency=REAL,
            amount_minor=amount,
        )
        if confirmed:
            self.confirm(patron, answer)
        return answer

    def confirm(self, patron: Patron, deposit: dict[str, Any]) -> None:
        """Confirm a deposit; what the player owes is collected first."""
        path = f"/v1/deposits/{deposit['deposit']}/confirm"
        answer = self.desks.cashier.post(path)
        collected = answer["debt_collected_minor"]
        self.tally.deposited += answer["amount_minor"]
        self.tally.debts_collected += collected
        self._now(patron, answer["amount_minor"] - collected, answer)

    def fail(self, patron: Patron, amount: int) -> None:
        """Announce a deposit that the provider does not pay."""
        deposit = self.deposit(patron, amount, confirmed=False)
        path = f"/v1/deposits/{deposit['deposit']}/fail"
        self.desks.cashier.post(path, reason="The card was declined.")

    def charge_back(self, patron: Patron, amount: int) -> None:
        """Pay in, play some of it away, and have the provider take all of it back."""
        deposit = self.deposit(patron, amount)
        gone = self.withdraw(patron, amount // 2)
        path = f"/v1/deposits/{deposit['deposit']}/charge-back"
        answer = self.desks.cashier.post(path, reason="The cardholder disputes the payment.")
        taken: int = answer["taken_minor"]
        self.tally.taken_back += taken
        patron.account[REAL] -= taken
        assert gone["status"] == "paid"

    def play_money(self, patron: Patron, amount: int) -> None:
        """Give a player fun money."""
        answer = self.desks.cashier.post(
            "/v1/play-money", player=patron.player, currency=PLAY, amount_minor=amount
        )
        self.tally.play_money += amount
        self._now(patron, amount, answer, PLAY)

    def withdraw(self, patron: Patron, amount: int, *, until: str = "paid") -> dict[str, Any]:
        """Take a withdrawal up to a step: requested, in-review, released, paid or rejected."""
        desks = self.desks
        answer: dict[str, Any] = desks.cashier.post(
            "/v1/withdrawals",
            player=patron.player,
            instrument=f"tok-{patron.name}",
            currency=REAL,
            amount_minor=amount,
        )
        self._now(patron, -amount, answer)
        path = f"/v1/withdrawals/{answer['withdrawal']}"
        if until != "requested":
            answer |= desks.compliance.post(f"{path}/review")
        if until == "rejected":
            reason = "The account is not in the player's name."
            answer |= desks.approver.post(f"{path}/reject", reason=reason)
            patron.account[REAL] += amount
        if until in ("released", "paid"):
            answer |= desks.approver.post(f"{path}/release")
        if until == "paid":
            reference = f"out-{answer['withdrawal'][:8]}"
            answer |= desks.cashier.post(
                f"{path}/pay", provider="sepa-bank", payment_reference=reference
            )
            self.tally.paid_out += amount
        return answer

    def day(self) -> None:
        """Let everybody pay in, and some of everything else happen."""
        patrons = list(self.patrons.values())
        for patron in patrons:
            self.deposit(patron, 100 * self.rng.randint(300, 900))
        for patron in patrons[::7]:
            self.play_money(patron, 200_000)
        for patron in patrons[3:40:9]:
            self.fail(patron, 5_000)
        for patron in patrons[5::10]:
            self.withdraw(patron, 2_500)
        self.withdraw(patrons[1], 4_000, until="rejected")
        self.withdraw(patrons[2], 3_000, until="in-review")
        self.withdraw(patrons[4], 1_500, until="released")
        self.debtor(patrons[-1])

    def debtor(self, patron: Patron) -> None:
        """Let a player owe money after a charge-back, and pay half of his next deposit with it."""
        self.withdraw(patron, patron.account[REAL])
        self.charge_back(patron, 6_000)
        self.deposit(patron, 2_000)

    def _now(
        self, patron: Patron, change: int, answer: dict[str, Any], currency: str = REAL
    ) -> None:
        patron.account[currency] += change
        found = answer["bankroll_minor"]
        if found != patron.account[currency]:
            raise AssertionError(
                f"{patron.name}: {found} on the account, not {patron.account[currency]}"
            )
