"""Whether a hand hit the bad-beat jackpot: a very high hand that lost the main pot. Source: D.

Where the rules leave open whether it did, the hit has doubts, and nobody is paid before a second
person has released it *(reading)*.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Final, NamedTuple

from ledger.hands.contributions import Tally
from ledger.hands.deck import CARDS, SUITS, numbers
from ledger.hands.findings import Findings
from ledger.hands.games import High
from ledger.hands.ohh import Hand, Win
from ledger.hands.ranking import french, ordinary, soko
from ledger.hands.settlement import Settlement, expected_pots, takes_part
from ledger.hands.showdown import Part, Showdown
from ledger.hands.verdict import BadBeat, Doubt
from ledger.rulebooks import Rulebook
from ledger.rulebooks.fees import Jackpot, Qualifying

_UNKNOWN: Final = "cards-unknown"

_DOUBTFUL: Final = frozenset(
    ("duplicate-card", "card-not-in-deck", "wrong-card-count", "wrong-pot", "wrong-pot-winner")
)
"""Findings after which it is not certain who won and who lost, or with which cards."""


def bad_beat_of(
    hand: Hand,
    tally: Tally,
    *,
    settlement: Settlement,
    showdown: Showdown,
    rulebook: Rulebook,
    findings: Findings,
) -> BadBeat | None:
    """Find out whether a showdown hit the jackpot, after all else was checked. Source: D.

    Cards that are not known and decide it become a finding, if nothing was found in the cards yet.
    """
    rules = rulebook.jackpot
    if not isinstance(rules, Jackpot):
        return None
    least = rules.qualifying.get(hand.game)  # type: ignore[call-overload]
    if least is None or not takes_part(hand, rulebook):
        return None
    enough = least_strength(showdown.play.high, least)
    strength = showdown.strength
    known = [
        strength(who.player_id, board) or 0
        for board in range(len(showdown.boards))
        for who in tally.finished
    ]
    if max(known) < enough:
        return None
    _, pots = expected_pots(hand, tally, settlement, rulebook)
    posted = settlement.pots[0].player_wins if settlement.pots else []
    lost = _MainPot(showdown, pots[0].entitled, posted, least, enough).lost() if pots else None
    if lost is None:
        return None
    if lost.unknown and not any(one.code in {*_DOUBTFUL, _UNKNOWN} for one in findings):
        findings.add(
            _UNKNOWN,
            "rounds",
            "Whether the bad-beat jackpot was hit depends on cards that are not known.",
            posted=[{"player": player} for player in lost.unknown],
        )
    doubts: dict[Doubt, bool] = {
        "run-twice": len(showdown.boards) > 1,
        "cards-unknown": bool(lost.unknown),
        "flagged": any(one.code in _DOUBTFUL and one.level == "flag" for one in findings),
    }
    return BadBeat(
        losers=lost.losers,
        winners=lost.winners,
        dealt=[who.player_id for who in tally.players.values() if who.dealt],
        doubts=[doubt for doubt, given in doubts.items() if given],
    )


# -- the main pot ------------------------------------------------------------------------------


class _Lost(NamedTuple):
    """A main pot that was lost with a hand that qualifies.

    ``unknown`` are players whose cards are not known and who did not throw them away: with them it
    might be otherwise.
    """

    strength: int
    losers: list[int]
    winners: list[int]
    unknown: list[int]


class _MainPot(NamedTuple):
    """The main pot of a hand: who may win it, who won it as posted, and the least hand."""

    showdown: Showdown
    entitled: Sequence[int]
    posted: Sequence[Win]
    least: Qualifying
    enough: int

    def lost(self) -> _Lost | None:
        """Find the highest hand that lost it; None when no such hand qualifies.

        Nobody who won a part of it has lost it, the low half and another board included. The
        winner is who won it with the highest hand: a low half alone wins no jackpot *(reading)*.
        Where unknown cards decide, the winners are those that were posted.
        """
        parts = self.showdown.parts(self.entitled, [one.player_id for one in self._posted()])
        won = {player for part in parts for player in self._winners(part)}
        found = [
            lost
            for part in parts
            if part.half != "low" and (lost := self._on(part, won)) is not None
        ]
        return max(found, key=lambda lost: lost.strength, default=None)

    def _posted(self) -> list[Win]:
        return [one for one in self.posted if one.win_amount]

    def _winners(self, part: Part) -> list[int]:
        if not part.open:
            return list(part.winners)
        other = "high" if part.half == "low" else "low"
        return list(dict.fromkeys(one.player_id for one in self._posted() if one.x_half != other))

    def _on(self, part: Part, won: set[int]) -> _Lost | None:
        """Find who lost on one board; of three or more that qualify the two highest count."""
        showdown, board = self.showdown, part.board
        strengths = {player: showdown.strength(player, board) for player in self.entitled}
        known = {
            player: strength
            for player, strength in strengths.items()
            if strength is not None and player not in won
        }
        highest = max(known.values(), default=0)
        losers = [player for player, strength in known.items() if strength == highest]
        if self.least.hole_cards == "both":
            losers = [player for player in losers if self._uses_both(player, board, highest)]
        winners = self._winners(part)
        if highest < self.enough or not losers or not winners:
            return None
        unknown = [
            player
            for player, strength in strengths.items()
            if strength is None and (player in won or player not in showdown.mucked)
        ]
        return _Lost(highest, losers, winners, unknown)

    def _uses_both(self, player: int, board: int, strength: int) -> bool:
        """Tell whether a hand as good as the player's best can be made of both his hole cards."""
        own, on_board = self.showdown.hand_of(player), self.showdown.boards[board]
        assert own is not None
        assert on_board is not None
        return any(
            ordinary.strength((*two, *three)) == strength
            for two in combinations(own, 2)
            for three in combinations(on_board, 3)
        )


# -- the least hand ----------------------------------------------------------------------------

_RANKED: Final[dict[High, Callable[[Sequence[int]], int]]] = {
    "ordinary": ordinary.strength,
    "soko": soko.strength,
    "telesina": lambda five: french.telesina(five, ()),
    "americana": french.americana,
}
"""Games in which the lowest hand wins have no bad beat."""


@cache
def least_strength(high: High, least: Qualifying) -> int:
    """Return the strength that a hand must have at least, whatever its suits and its kicker."""
    return min(_RANKED[high](numbers(five)) for five in _hands(least))


def _hands(least: Qualifying) -> Iterator[list[str]]:
    """Write out the hands that a rulebook means by ``QQQQ`` or ``5432A``."""
    if least.hand == "straight-flush":
        yield from ([rank + suit for rank in least.ranks] for suit in SUITS)
        return
    cards = [
        rank + SUITS[least.ranks[:place].count(rank)] for place, rank in enumerate(least.ranks)
    ]
    kickers = [[card] for card in CARDS if card[0] != least.ranks[0]] if len(cards) < 5 else [[]]
    yield from (cards + kicker for kicker in kickers)
