"""Why the treasury refuses."""

from typing import ClassVar

from ledger.core import Kind, Refused, Retry


class DepositsNotPayable(Refused):
    """Some of the named deposits, or charge-backs, are none that this settlement can cover.

    ``faults`` names each: unknown, of another provider or currency, not confirmed, not charged
    back, settled before, not settled, named twice.
    """

    code = "deposits-not-payable"
    kind: ClassVar[Kind] = "conflict"


class SettlementDiffers(Refused):
    """What reached the bank and the fee are together not what the settlement covers.

    ``difference_minor`` is what there is too much, below zero what is missing. Say why, and it
    goes to suspense once a second person agrees.
    """

    code = "settlement-differs"


class FiguresOutOfDate(Refused):
    """The treasury moved money since the figures were read that this rests on."""

    code = "figures-out-of-date"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "later"


class MoreThanEarned(Refused):
    """No more rake is swept than was earned and not swept before. Source: K 1.9."""

    code = "more-than-earned"


class MoreThanAtBank(Refused):
    """No more leaves the client-funds account than is on it."""

    code = "more-than-at-bank"


class CoverageWouldFall(Refused):
    """What is left would not cover what is owed to players. Source: K 1.8, K 5.1."""

    code = "coverage-would-fall"


class WithdrawalsNotPayable(Refused):
    """Some of the named withdrawals cannot be part of this.

    ``faults`` names each: unknown, not released, not paid, of another partner or currency, of a
    suspended player, matched before, named twice.
    """

    code = "withdrawals-not-payable"
    kind: ClassVar[Kind] = "conflict"


class AmountDiffers(Refused):
    """The bank's line is not the sum of the withdrawals that it is said to pay."""

    code = "amount-differs"


class MoreThanPartnerOwes(Refused):
    """A partner pays his players no more than was settled with him and is not paid yet."""

    code = "more-than-partner-owes"


class NotATreasuryAccount(Refused):
    """Corrections stay between bank, transit:PROVIDER, suspense and shortfall, two of them."""

    code = "not-a-treasury-account"
    kind: ClassVar[Kind] = "invalid"


class CoverageUnchanged(Refused):
    """Coverage is what it was said to be last, or the figures are older than that."""

    code = "coverage-unchanged"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"
