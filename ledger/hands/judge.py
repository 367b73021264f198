"""The verdict on a posted hand: everything that is checked, in the order in which it rests on
what came before.

The same judgement answers a dry run and decides a booking; a dry run has no table.
"""

from collections.abc import Sequence

import msgspec

from ledger.hands import seating, settlement
from ledger.hands.contributions import Tally, tally
from ledger.hands.findings import Findings
from ledger.hands.ohh import Hand
from ledger.hands.rake import over_pots
from ledger.hands.settlement import Settlement
from ledger.hands.verdict import Expected, ExpectedPot, ExpectedReturn, ExpectedWin
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

    contribution: Contribution = Contribution(0, 0)
    """What the jackpot's pool gets out of the posted rake and drop, and what the table carries."""

    def contribution_of(self, rake: int, drop: int) -> Contribution:
        """Return what the jackpot's pool gets out of a rake and a drop."""
        jackpot = self.rulebook.jackpot
        if (
            not self.in_jackpot
            or jackpot == "as-posted"
            or not settlement.takes_part(self.hand, self.rulebook)
        ):
            return Contribution(drop, self.jackpot_carry)
        return contribution_of(jackpot, rake_minor=rake, drop_minor=drop, carry=self.jackpot_carry)

    def expected(self) -> Expected | None:
        """Work out what the rules give, whatever was posted; None when nothing can be said."""
        settled = self.settlement
        if settled is None:
            return None
        return _expected(self, settled)


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
    findings = Findings(rulebook.findings, hand.money)
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
        seating.check_order(hand, table, findings)
    settled = settlement.conserve(hand, counted, findings)
    if settled is None:
        return judgement
    judgement.settlement = settled
    judgement.contribution = judgement.contribution_of(settled.rake, settled.jackpot)
    settlement.check_returns(hand, counted, settled, rulebook, findings)
    settlement.check_pots(counted, settled, rulebook, findings)
    settlement.check_rake(hand, counted, settled, rulebook, findings)
    settlement.check_shares(hand, settled, rulebook, findings)
    return judgement


def as_posted(hand: Hand, contribution_minor: int) -> Expected:
    """Return what the rules give for a booked hand in which nothing was found: what was posted."""
    returns = hand.x_uncalled_returned
    if returns is None:
        settled = settlement.conserve(hand, tally(hand), Findings({}, hand.money))
        returns = settled.returns if settled is not None else []
    pots = hand.pots
    return Expected(
        [
            ExpectedPot(
                pot.number,
                pot.amount,
                [ExpectedWin(win.player_id, win.win_amount, win.x_half) for win in pot.player_wins],
            )
            for pot in pots
        ],
        [ExpectedReturn(one.player_id, one.amount) for one in returns],
        sum([pot.rake for pot in pots]),
        sum([pot.jackpot for pot in pots]),
        contribution_minor,
    )


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
        judgement.contribution_of(rake, drop).booked_minor,
    )
