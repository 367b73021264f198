"""The verdict on a posted hand: everything that is checked, in the order in which it rests on
what came before.

The same judgement answers a dry run and decides a booking; a dry run has no table.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from ledger import money
from ledger.hands import seating, settlement
from ledger.hands.contributions import Tally, tally
from ledger.hands.findings import Finding, Findings
from ledger.hands.ohh import Hand
from ledger.hands.rake import over_pots
from ledger.hands.settlement import Settlement
from ledger.jackpots.contribution import Contribution, contribution_of
from ledger.rulebooks import Rulebook
from ledger.tables.events import TableState


class Judgement(msgspec.Struct, gc=False):
    """A hand worked out: who put in what, how it was settled, and what is wrong with it.

    ``settlement`` is None when the money does not add up or the players cannot be told apart.
    """

    hand: Hand
    rulebook: Rulebook
    tally: Tally
    settlement: Settlement | None
    findings: Findings
    jackpot_carry: int = 0
    in_jackpot: bool = True
    """Whether the table plays for a jackpot; a hand judged alone is taken to."""

    @property
    def verdict(self) -> str:
        return self.findings.verdict

    def contribution(self) -> Contribution:
        """Return what the jackpot's pool gets out of the posted rake and drop."""
        settled = self.settlement
        if settled is None:
            return Contribution(0, self.jackpot_carry)
        return self._contribution(settled.rake, settled.jackpot)

    def _contribution(self, rake: int, drop: int) -> Contribution:
        jackpot = self.rulebook.jackpot
        if jackpot == "as-posted" or not self.in_jackpot:
            return Contribution(drop, self.jackpot_carry)
        if not settlement.takes_part(self.hand, self.rulebook):
            return Contribution(drop, self.jackpot_carry)
        return contribution_of(jackpot, rake_minor=rake, drop_minor=drop, carry=self.jackpot_carry)

    def expected(self) -> "Expected | None":
        """Work out what the rules give, whatever was posted; None when nothing can be said."""
        settled = self.settlement
        if settled is None:
            return None
        return _expected(self, settled)


class ExpectedWin(msgspec.Struct, frozen=True):
    player: int
    amount_minor: int
    half: str | None = None


class ExpectedPot(msgspec.Struct, frozen=True):
    number: int
    amount_minor: int
    wins: list[ExpectedWin]


class ExpectedReturn(msgspec.Struct, frozen=True):
    player: int
    amount_minor: int


class Expected(msgspec.Struct, frozen=True):
    """What the rules give, in minor units; players by their ids in the hand."""

    pots: list[ExpectedPot]
    uncalled_returned: list[ExpectedReturn]
    rake_minor: int
    jackpot_minor: int
    jackpot_contribution_minor: int


def judge(
    hand: Hand,
    rulebook: Rulebook,
    table: TableState | None = None,
    player_ids: Sequence[str | None] = (),
) -> Judgement:
    """Judge a hand by one version of a rulebook.

    With a table on the books, its likeness and the seats and chips of ``player_ids`` (the hand's
    players in order) are checked as well; a hand judged alone takes them as given.
    """
    findings = Findings(rulebook, hand.money)
    counted = tally(hand)
    judgement = Judgement(hand, rulebook, counted, None, findings)
    if table is not None:
        judgement.jackpot_carry = table.jackpot_carry
        judgement.in_jackpot = table.jackpot is not None
    seating.check_players(hand, counted, findings)
    seating.check_game(hand, counted, rulebook, findings)
    seating.check_added(counted, rulebook, findings)
    if findings.refused:
        return judgement
    seating.check_stakes(hand, counted, findings)
    if table is not None:
        seating.check_likeness(hand, table, findings)
        seating.check_seats(hand, counted, table, player_ids, findings)
    settled = settlement.conserve(hand, counted, findings)
    if settled is None:
        return judgement
    judgement.settlement = settled
    settlement.check_returns(hand, counted, settled, rulebook, findings)
    settlement.check_pots(counted, settled, rulebook, findings)
    settlement.check_rake(hand, counted, settled, rulebook, findings)
    settlement.check_shares(hand, settled, rulebook, findings)
    return judgement


def _expected(judgement: Judgement, settled: Settlement) -> Expected:
    hand, rulebook, counted = judgement.hand, judgement.rulebook, judgement.tally
    returned, pots = settlement.expected_pots(hand, counted, settled, rulebook)
    amounts = [pot.amount for pot in pots]
    total = sum(amounts)
    rake = min(settlement.rake_due(hand, counted, total, settled.rake, rulebook), total)
    drop = settlement.drop_due(hand, total, rake, settled.jackpot, rulebook)
    drop = min(drop, total - rake)
    rakes = over_pots(rake, amounts) if amounts else []
    left = [amount - share for amount, share in zip(amounts, rakes, strict=True)]
    drops = over_pots(drop, left) if left else []
    expected = []
    for number, pot in enumerate(pots):
        posted = settled.pots[number].player_wins if number < len(settled.pots) else []
        wins = [win for win in posted if win.player_id in pot.entitled]
        shares = settlement.shares_of(hand, wins, left[number] - drops[number], rulebook)
        shared = [
            ExpectedWin(win.player_id, share, win.x_half)
            for win, share in zip(wins, shares, strict=True)
        ]
        expected.append(ExpectedPot(number, pot.amount, shared))
    return Expected(
        expected,
        [ExpectedReturn(player, amount) for player, amount in returned.items()],
        rake,
        drop,
        judgement._contribution(rake, drop).booked_minor,
    )


# -- showing a verdict -------------------------------------------------------------------------


class ShownFinding(msgspec.Struct, frozen=True):
    """A discrepancy: its code and level, where it is, what was expected and what was posted."""

    code: str
    level: str
    where: str
    expected: Any
    posted: Any
    message: str


class ShownWin(msgspec.Struct, frozen=True):
    player: str
    amount: str
    half: str | None


class ShownPot(msgspec.Struct, frozen=True):
    number: int
    amount: str
    wins: list[ShownWin]


class ShownReturn(msgspec.Struct, frozen=True):
    player: str
    amount: str


class ShownExpected(msgspec.Struct, frozen=True):
    """What the rules give; amounts are decimal strings in the hand's currency."""

    pots: list[ShownPot]
    uncalled_returned: list[ShownReturn]
    rake: str
    jackpot: str
    jackpot_contribution: str
    bad_beat: None = None


class Verdict(msgspec.Struct, frozen=True):
    """What is printed and answered: ok, unverified, flagged or refused, and why.

    ``expected`` is null when the hand cannot be worked out at all.
    """

    game_number: str | None
    verdict: str
    expected: ShownExpected | None
    findings: list[ShownFinding]


def show(judgement: Judgement) -> Verdict:
    """Write a judgement out: decimal amounts, players by the names they were posted with."""
    hand = judgement.hand
    return shown(hand, judgement.verdict, judgement.expected(), judgement.findings)


def shown(
    hand: Hand, verdict: str, expected: Expected | None, findings: Sequence[Finding]
) -> Verdict:
    """Write out a verdict that was given before."""
    names = {player.id: player.name for player in hand.players}
    return Verdict(
        hand.game_number,
        verdict,
        None if expected is None else _shown(expected, names, hand.money),
        [
            ShownFinding(
                one.code,
                one.level,
                one.where,
                _named(one.expected, names),
                _named(one.posted, names),
                one.message,
            )
            for one in findings
        ],
    )


def _shown(expected: Expected, names: dict[int, str], currency: str) -> ShownExpected:
    def text(amount_minor: int) -> str:
        return money.text(amount_minor, currency)

    return ShownExpected(
        [
            ShownPot(
                pot.number,
                text(pot.amount_minor),
                [ShownWin(names[win.player], text(win.amount_minor), win.half) for win in pot.wins],
            )
            for pot in expected.pots
        ],
        [
            ShownReturn(names[one.player], text(one.amount_minor))
            for one in expected.uncalled_returned
        ],
        text(expected.rake_minor),
        text(expected.jackpot_minor),
        text(expected.jackpot_contribution_minor),
    )


def _named(value: Any, names: dict[int, str]) -> Any:
    """Put names for the players' ids of a finding."""
    if isinstance(value, list):
        return [
            {**item, "player": names.get(item["player"])}
            if isinstance(item, dict)
            else names.get(item, item)
            if isinstance(item, int)
            else item
            for item in value
        ]
    return value
