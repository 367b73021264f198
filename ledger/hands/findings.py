"""Findings: what is wrong with a posted hand, as the rulebook weighs it."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

import msgspec

from ledger import money
from ledger.rulebooks.values import ALWAYS_REFUSED, FindingCode

Level = Literal["refuse", "flag", "unverified"]

LATER: Final = frozenset(("unknown-player", "wrong-starting-stack", "table-closed"))
"""Codes that depend on the books: the same hand may be right later."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One discrepancy. Amounts are decimal strings; players stand by their ids in the hand."""

    code: FindingCode
    level: Level
    where: str
    expected: Any = None
    posted: Any = None
    message: str
    later: bool = False
    """Whether it rests on the books alone, so that posting again later may help."""


class Findings(list[Finding]):
    """Collects findings at the levels that a rulebook gives them; what is off is left out."""

    def __init__(self, levels: Mapping[FindingCode, str], currency: str) -> None:
        super().__init__()
        self._levels = levels
        self._currency = currency

    def add(
        self,
        code: FindingCode,
        where: str,
        message: str,
        *,
        expected: Any = None,
        posted: Any = None,
        later: bool = False,
    ) -> None:
        weighed = "refuse" if code in ALWAYS_REFUSED else self._levels[code]
        if weighed == "off":
            return
        level: Level = "refuse" if weighed == "refuse" else "flag"
        if code == "cards-unknown" and level == "flag":
            # What nobody can know is no discrepancy.
            level = "unverified"
        self.append(
            Finding(
                code=code,
                level=level,
                where=where,
                expected=expected,
                posted=posted,
                message=message,
                later=later,
            )
        )

    def text(self, amount_minor: int) -> str:
        """Write an amount as findings show it."""
        return money.text(amount_minor, self._currency)

    def texts(self, amounts_minor: Iterable[int]) -> list[str]:
        return [self.text(amount) for amount in amounts_minor]

    @property
    def refused(self) -> bool:
        return bool(self) and any(finding.level == "refuse" for finding in self)

    @property
    def verdict(self) -> Literal["ok", "unverified", "flagged", "refused"]:
        """Sum up: the weightiest finding decides."""
        if not self:
            return "ok"
        levels = {finding.level for finding in self}
        if "refuse" in levels:
            return "refused"
        return "flagged" if "flag" in levels else "unverified"
