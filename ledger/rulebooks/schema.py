"""One operator's rules in one version: the shape of a rulebook."""

from datetime import date
from typing import Literal

from ledger.rulebooks.conduct import (
    Approvals,
    Credits,
    Funds,
    Interventions,
    Protests,
    Registration,
    Tournaments,
)
from ledger.rulebooks.fees import Jackpot, Rake
from ledger.rulebooks.play import (
    AllIn,
    ArtificialAllIn,
    Blinds,
    BringIn,
    GameRules,
    Interruptions,
    Limits,
    OddChip,
    Tables,
    Timing,
)
from ledger.rulebooks.values import AsPosted, Count, FindingCode, Game, Level, NoRule, Rules


class Rulebook(Rules, frozen=True):
    """A version of an operator's rules, in force from ``valid_from`` until the next version.

    Amounts are minor units of ``amounts_in``. A corrected text of the same date has a higher
    ``revision``. A rule that the operator does not have is "none"; "as-posted" means that the
    site's rule is not known and what it posted is taken for right.
    """

    name: str
    title: str
    valid_from: date
    revision: Count
    currencies: tuple[str, ...] | Literal["any"]
    amounts_in: str
    registration: Registration | NoRule
    funds: Funds
    tables: Tables | NoRule
    blinds: Blinds | NoRule | AsPosted
    bring_in: BringIn | NoRule | AsPosted
    all_in: AllIn
    artificial_all_in: ArtificialAllIn | NoRule
    timing: Timing
    interruptions: Interruptions
    limits: Limits
    games: dict[Game, GameRules]
    odd_chip: OddChip
    rake: Rake | NoRule | AsPosted
    jackpot: Jackpot | NoRule | AsPosted
    add_to_pot_paid_by: str
    tournaments: Tournaments | NoRule
    protests: Protests | NoRule
    interventions: Interventions | NoRule
    credits: Credits | NoRule
    approvals: Approvals | NoRule
    findings: dict[FindingCode, Level]

    @property
    def ref(self) -> str:
        """The version's name in events: ``entraction@2013-01-01``, ``…@2013-01-01.r2``."""
        revised = f".r{self.revision}" if self.revision > 1 else ""
        return f"{self.name}@{self.valid_from.isoformat()}{revised}"

    def allows_currency(self, currency: str) -> bool:
        """Tell whether cash tables and accounts may be in this currency."""
        return self.currencies == "any" or currency in self.currencies
