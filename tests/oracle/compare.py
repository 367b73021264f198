"""Whether the judge settles a hand as PokerKit did.

Pots, and who wins each half of them, must be the same; so must everybody's chips afterwards, odd
units apart. What is known to differ:

- PokerKit leaves a bet that nobody covered in a pot; here it goes back (G, K 10.1.5).
- PokerKit gives all odd units of a half to the winner nearest left of the dealer, and divides
  pots of the same players as one; here each winner of each pot in turn gets one unit (RULES 4, D).
- When a low qualifies in one pot, PokerKit divides the other pots in two as well, and pays the
  low half to players who have no low; here high takes all of a pot without a low (K 10.5.6).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ledger import rulebooks
from ledger.hands import reading, settlement
from ledger.hands.judge import Judgement, judge
from ledger.rulebooks import Rulebook
from tests.oracle.games import Game
from tests.oracle.play import Half, Pot, play
from tests.oracle.record import encoded

RULES: Final[Rulebook] = next(one for one in rulebooks.shipped() if one.name == "as-posted")

MONEY_AND_CARDS: Final = frozenset(
    (
        "money-not-conserved", "stake-exceeds-chips", "wrong-uncalled-return", "wrong-pot",
        "wrong-pot-winner", "wrong-share", "wrong-odd-chip", "duplicate-card",
        "card-not-in-deck", "wrong-card-count", "cards-unknown",
    )
)  # fmt: skip

Paid = dict[tuple[int, Half], int]
"""What a pot pays to each player for each half."""


class Settled(NamedTuple):
    """Pots with who may win them, and what they pay."""

    pots: list[tuple[int, tuple[int, ...]]]
    paid: list[Paid]


class Comparison(NamedTuple):
    """What PokerKit did and what the judge gives; ``stacks`` are everyone's chips afterwards."""

    expected: Settled
    given: Settled | None
    stacks: list[int]
    given_stacks: list[int]
    apart: int
    """How much the stacks may differ by: the odd units, and what PokerKit paid for no low."""
    findings: list[str]
    showdown: bool

    @property
    def agrees(self) -> bool:
        apart = [
            abs(one - other) for one, other in zip(self.stacks, self.given_stacks, strict=True)
        ]
        return self.given == self.expected and max(apart) <= self.apart and not self.findings


def compare(game: Game, seed: int) -> Comparison:
    """Play a hand with PokerKit, post it, and let it be judged."""
    played = play(game, seed)
    paid = [_paid(pot) for pot in played.pots]
    judgement = judge(reading.read(encoded(played, paid, seed)), RULES)
    expected = Settled([(pot.amount, pot.entitled) for pot in played.pots], paid)
    return Comparison(
        expected,
        _settled(judgement),
        list(played.final_stacks),
        _stacks(judgement),
        sum(_odd_units(pot) for pot in played.pots) + played.astray,
        [one.code for one in judgement.findings if one.code in MONEY_AND_CARDS],
        len(judgement.tally.finished) > 1,
    )


def _halves(pot: Pot) -> Mapping[Half, int]:
    """Divide a pot in two, the odd unit to high, where a low has won."""
    if "low" not in pot.winners:
        return {None: pot.amount}
    return {"high": pot.amount - pot.amount // 2, "low": pot.amount // 2}


def _paid(pot: Pot) -> Paid:
    """Divide a pot among its winners, who come in the order from the left of the dealer."""
    paid: Paid = {}
    for half, amount in _halves(pot).items():
        winners = pot.winners[half]
        share, odd = divmod(amount, len(winners))
        for place, player in enumerate(winners):
            paid[player, half] = share + (place < odd)
    return {key: chips for key, chips in paid.items() if chips}


def _odd_units(pot: Pot) -> int:
    halves = _halves(pot)
    inside = sum(amount % len(pot.winners[half]) for half, amount in halves.items())
    # A pot that PokerKit divides together with others has its odd units elsewhere.
    return inside + len(halves) + max(len(winners) for winners in pot.winners.values()) - 2


def _settled(judgement: Judgement) -> Settled | None:
    """Read the judge's own settlement; players count from 0 as in PokerKit."""
    expected, settled = judgement.expected(), judgement.settlement
    if expected is None or settled is None:
        return None
    _, pots = settlement.expected_pots(judgement.hand, judgement.tally, settled, RULES)
    return Settled(
        [(pot.amount, tuple(player - 1 for player in pot.entitled)) for pot in pots],
        [
            {(win.player - 1, win.half): win.amount_minor for win in pot.wins if win.amount_minor}
            for pot in expected.pots
        ],
    )


def _stacks(judgement: Judgement) -> list[int]:
    stacks = [who.stack - who.put_in for who in judgement.tally.players.values()]
    expected = judgement.expected()
    if expected is not None:
        for one in expected.uncalled_returned:
            stacks[one.player - 1] += one.amount_minor
        for pot in expected.pots:
            for win in pot.wins:
                stacks[win.player - 1] += win.amount_minor
    return stacks
