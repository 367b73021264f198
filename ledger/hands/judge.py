"""The verdict on a posted hand: everything that is checked, in the order in which it rests on
what came before.

The same judgement answers a dry run and decides a booking; a dry run has no table.
"""

from collections.abc import Sequence
from typing import Final

from ledger.hands import deck, seating, settlement, shares
from ledger.hands.bad_beat import bad_beat_of
from ledger.hands.betting import ArtificialAllIn, check_betting
from ledger.hands.cards import check_cards, read_cards
from ledger.hands.contributions import Tally, tally
from ledger.hands.findings import Findings
from ledger.hands.games import play_of
from ledger.hands.ohh import Hand
from ledger.hands.rake import over_pots
from ledger.hands.settlement import Settlement
from ledger.hands.showdown import Showdown
from ledger.hands.verdict import BadBeat, Expected, ExpectedPot, ExpectedReturn, ExpectedWin
from ledger.jackpots.contribution import Contribution, contribution_of
from ledger.rulebooks import Rulebook
from ledger.tables.events import TableState

_NOTHING: Final = Contribution(0, 0)


class Judgement:
    """A hand worked out: who put in what, how it was settled, and what is wrong with it.

    ``settlement`` and ``showdown`` are None when the money does not add up or the players cannot
    be told apart.
    """

    __slots__ = (
        "artificial_all_ins",
        "bad_beat",
        "contribution",
        "findings",
        "hand",
        "in_jackpot",
        "jackpot_carry",
        "rulebook",
        "settlement",
        "showdown",
        "tally",
    )

    def __init__(self, hand: Hand, rulebook: Rulebook, tally: Tally, findings: Findings) -> None:
        self.hand = hand
        self.rulebook = rulebook
        self.tally = tally
        self.findings = findings
        self.settlement: Settlement | None = None
        self.showdown: Showdown | None = None
        self.jackpot_carry = 0
        self.in_jackpot = True
        """Whether the table plays for a jackpot; a hand judged alone is taken to."""
        self.contribution = _NOTHING
        """What the jackpot's pool gets of the posted rake and drop, and what the table carries."""
        self.bad_beat: BadBeat | None = None
        """Who hit the jackpot that the table plays for."""
        self.artificial_all_ins: Sequence[ArtificialAllIn] = ()
        """Who was all-in because he could not act, where that is allowed."""

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
    judgement = Judgement(hand, rulebook, counted, findings)
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
    judgement.artificial_all_ins = check_betting(hand, counted, rulebook, table, findings)
    settlement.check_returns(hand, counted, settled, rulebook, findings)
    pots = settlement.check_pots(counted, settled, rulebook, findings)
    settlement.check_rake(hand, counted, settled, rulebook, findings)
    showdown = judgement.showdown = _showdown(hand, counted, rulebook, findings)
    if pots is not None:
        shares.check_shares(
            hand, settled, pots=pots, showdown=showdown, rulebook=rulebook, findings=findings
        )
    if judgement.in_jackpot and len(counted.finished) > 1:
        judgement.bad_beat = bad_beat_of(
            hand,
            counted,
            settlement=settled,
            showdown=showdown,
            rulebook=rulebook,
            findings=findings,
        )
    return judgement


def _showdown(hand: Hand, counted: Tally, rulebook: Rulebook, findings: Findings) -> Showdown:
    """Read and check the cards, ready to say who wins by them."""
    play = play_of(hand)
    rules = rulebook.games[hand.game]  # type: ignore[index]
    assert play is not None, hand.game
    cards = read_cards(hand, play, rules, counted)
    check_cards(hand, cards, rules, counted, findings)
    return Showdown(hand, play, cards, deck.deck(rules.deck(counted.dealt).lowest))


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
    expected = [
        ExpectedPot(
            number,
            pot.amount,
            _wins(judgement, settled, number, pot.entitled, left[number] - drops[number]),
        )
        for number, pot in enumerate(pots)
    ]
    return Expected(
        expected,
        [ExpectedReturn(player, amount) for player, amount in returned.items()],
        rake,
        drop,
        judgement.contribution_of(rake, drop).booked_minor,
        judgement.bad_beat,
    )


def _wins(
    judgement: Judgement, settled: Settlement, number: int, entitled: Sequence[int], net: int
) -> list[ExpectedWin]:
    """Name a pot's winners by the rules; where cards that decide are not known, as posted."""
    hand, rulebook, showdown = judgement.hand, judgement.rulebook, judgement.showdown
    posted = settled.pots[number].player_wins if number < len(settled.pots) else []
    winners = [win.player_id for win in posted if win.win_amount]
    parts = showdown.parts(entitled, winners) if showdown is not None else []
    if parts and not any(part.open for part in parts):
        divided = shares.divided(hand, parts, net, rulebook)
        return [ExpectedWin(player, share, half) for (player, half), share in divided.items()]
    may = {player for part in parts for player in (*part.winners, *part.open)}
    wins = [win for win in posted if win.player_id in may]
    amounts = shares.shares_of(hand, wins, net, rulebook)
    return [
        ExpectedWin(win.player_id, share, win.x_half)
        for win, share in zip(wins, amounts, strict=True)
    ]
