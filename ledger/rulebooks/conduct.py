"""The rules about people and their money: registration, funds, tournaments, protests, approvals."""

from typing import Literal

from ledger.rulebooks.values import Bps, Count, NoRule, Rules


class Registration(Rules, frozen=True):
    """What a player warrants, and how many ids a person may have. Source: K 2, K 8.5, K 9.1.

    Citizenships are ISO 3166 codes, the language of the deciding terms an ISO 639 code.
    """

    minimum_age: Count
    full_legal_capacity: bool
    barred_citizenships: tuple[str, ...]
    illegal_jurisdictions_barred: bool
    staff_barred: bool
    active_ids_per_person: Count
    deciding_language: str


class Funds(Rules, frozen=True):
    """How money is credited, owed and limited. Source: K 1.6-1.8, K 5.1, K 8.2."""

    deposits_credited: Literal["when-provider-confirms"]
    debts_collected: Literal["first-from-later-credits"] | NoRule
    compensation_limit: Literal["amount-on-account"] | NoRule


class TournamentFees(Rules, frozen=True):
    """Taken out of buy-ins and rebuys where there is no entry fee, half a unit up.

    Source: K 11.2.
    """

    buy_in_bps: Bps
    rebuy_bps: Bps


class Tournaments(Rules, frozen=True):
    """Source: K 11, L.

    ``prize_chart`` "general": K 11.22 unless the tournament carries its own; "own": it must.
    ``clean_up`` is what the remaining players get when a crashed tournament cannot be restarted:
    the lowest prize still open each, and the rest of the pool by their chips.
    """

    without_entry_fee: TournamentFees | NoRule
    prize_chart: Literal["general", "own"]
    waiting_list: bool
    late_entry: bool
    unregister_before_start: bool
    unregister_satellite_seats: bool
    out_in_same_hand: Literal["more-chips-places-higher"]
    equal_chips: Literal["share-their-prizes"]
    odd_prize_units: Literal["highest-places"]
    absent_player: Literal["dealt-in-and-posts-blinds"]
    refund_hours_after_crash: Count | NoRule
    restart_minutes: Count | NoRule
    clean_up: Literal["lowest-open-prize-rest-by-chips"] | NoRule


class DaysWindow(Rules, frozen=True, tag_field="kind", tag="days"):
    """Open until the end of the n-th calendar day after the day of the transaction, in a zone."""

    days: Count
    zone: str


class NextHandWindow(Rules, frozen=True, tag_field="kind", tag="until-next-hand-ends"):
    """Open until the table's next hand ends."""


Channel = Literal["room", "network", "auditing-tool"]


class Protests(Rules, frozen=True):
    """Source: K 6.1, G. A late notice is kept and not acted on."""

    window: DaysWindow | NextHandWindow
    channels: tuple[Channel, ...]
    in_writing: bool
    with_match_history: bool
    what_counts: Literal["received"]
    late: Literal["disregarded"]
    not_considered: tuple[Literal["crash", "connection-trouble"], ...]
    error_found: Literal["refunded", "decided-by-room"]


Ground = Literal[
    "technical-failure",
    "manifest-error",
    "force-majeure",
    "similar-event",
    "breach-of-terms",
    "collusion",
    "fraud",
    "money-laundering",
    "crime",
    "misdeal",
    "supervisor-decision",
]
Breach = Literal[
    "several-ids",
    "talk-about-hand",
    "advantage-to-another",
    "bad-nickname",
    "bad-chat",
    "shared-account",
    "cheating-or-bots",
    "same-elsewhere",
    "other-breach",
]
Fraud = Literal[
    "collusion", "money-laundering", "card-fraud", "game-manipulation", "cheating", "attempt"
]


class Interventions(Rules, frozen=True):
    """Source: K 3.12, K 8.3, K 9, L.

    A breach may end in suspension and void winnings; fraud ends in suspension and forfeited or
    recovered funds.
    """

    grounds: tuple[Ground, ...]
    breaches: tuple[Breach, ...]
    frauds: tuple[Fraud, ...]
    card_fraud_funds: Literal["to-card-owner"] | NoRule
    disclosed_to: tuple[Literal["police", "court", "other-authority"], ...]
    ejection: bool


class Reload(Rules, frozen=True):
    """More credits for who has almost none. Source: G."""

    below_minor: int
    adds_minor: int
    after_hours: Count
    per_day: Count
    zone: str


class Credits(Rules, frozen=True):
    """Virtual credits. Source: G."""

    full_member_minor: int
    day_pass_minor: int
    day_pass_hours: Count
    reload: Reload
    convertible: bool


ApprovedAction = Literal[
    "resync-table",
    "correct-treasury",
    "close-period",
    "reopen-period",
    "release-withdrawal",
    "reverse-transaction",
    "adjust-balance",
    "forfeit-funds",
    "recover-funds",
    "compensate-player",
    "release-jackpot",
    "annul-jackpot",
]


class Threshold(Rules, frozen=True):
    """From this amount on the action needs a second person; "0.00" is every time."""

    action: ApprovedAction
    from_minor: int


class Approvals(Rules, frozen=True):
    """Four eyes: who asks is never who approves."""

    expires_after_hours: Count
    thresholds: tuple[Threshold, ...]

    def needed(self, action: str, amount_minor: int) -> bool:
        """Tell whether a second person must approve an action of this amount."""
        return any(
            one.action == action and abs(amount_minor) >= one.from_minor for one in self.thresholds
        )
