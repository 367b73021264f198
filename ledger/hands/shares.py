"""Who gets what of each pot: its winners by the cards, their shares, and the odd units.

Shares are of what rake and jackpot leave of a pot, as posted: a wrong rake is one finding, not
two. What cards decide that are not known is unverified, not wrong.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ledger.hands.findings import Findings
from ledger.hands.ohh import Hand, Win
from ledger.hands.pots import Pot
from ledger.hands.settlement import Settlement
from ledger.hands.showdown import Half, Part, Showdown
from ledger.rulebooks import Rulebook
from ledger.rulebooks.values import CardCode

_HALVED: Final = frozenset(("OmahaHiLo", "StudHiLo"))

_CARDS: Final[frozenset[CardCode]] = frozenset(
    ("duplicate-card", "card-not-in-deck", "wrong-card-count")
)

Shares = dict[tuple[int, Half | None], int]
"""What each player gets out of which half of a pot, in minor units."""


def check_shares(
    hand: Hand,
    settlement: Settlement,
    *,
    pots: Sequence[Pot],
    showdown: Showdown,
    rulebook: Rulebook,
    findings: Findings,
) -> None:
    """Compare who won each pot, and how much, with the cards and the rules.

    ``pots`` are those that the rules give; they hold as much as the posted ones.
    """
    unknown: list[int] = []
    for number, (posted, pot) in enumerate(zip(settlement.pots, pots, strict=True)):
        wins = posted.player_wins
        net = posted.amount - settlement.rakes[number] - settlement.jackpots[number]
        sole = wins[0] if len(wins) == 1 and wins[0].win_amount == net else None
        if sole is not None and sole.x_half is not None:
            sole = None
        if sole is not None and pot.entitled == (sole.player_id,):
            continue
        parts = showdown.parts(pot.entitled, [win.player_id for win in wins if win.win_amount])
        if sole is not None and parts == [Part(0, None, (sole.player_id,))]:
            continue
        check = _Check(hand, number, wins, pot, showdown, rulebook, findings)
        if check.entitled(parts):
            unknown += check.shares(parts, net)
    if unknown and not any(finding.code in _CARDS for finding in findings):
        findings.add(
            "cards-unknown",
            "rounds",
            "Cards that decide are not known.",
            posted=[{"player": player} for player in sorted(set(unknown))],
        )


class _Check(NamedTuple):
    """One pot as it was posted, against the rules."""

    hand: Hand
    number: int
    wins: Sequence[Win]
    pot: Pot
    showdown: Showdown
    rulebook: Rulebook
    findings: Findings

    @property
    def where(self) -> str:
        return f"pots[{self.number}].player_wins"

    def entitled(self, parts: Sequence[Part]) -> bool:
        """Check that only those won who did not fold and put enough into the pot."""
        if all(win.player_id in self.pot.entitled for win in self.wins):
            return True
        message = "A player won a pot who folded or did not put enough into it."
        could = any(part.open for part in parts)
        self.wrong_winner(message, self.pot.entitled if could else (), () if could else parts)
        return False

    def shares(self, parts: Sequence[Part], net: int) -> list[int]:
        """Compare winners and shares; return the players whose unknown cards could decide."""
        could = [player for part in parts for player in part.open]
        if could:
            return could if self._open(parts, net) else []
        expected = divided(self.hand, parts, net, self.rulebook)
        posted = _posted(self.wins)
        if not self._says_halves(posted):
            expected, posted = _by_player(expected), _by_player(posted)
        elif all(half is None for _, half in expected):
            expected = {(player, "high"): share for (player, _), share in expected.items()}
        extra = any(share and key not in expected for key, share in posted.items())
        missing = any(share and key not in posted for key, share in expected.items())
        if extra or missing:
            self.wrong_winner("The pot belongs to the best hand.", (), parts)
        else:
            self._compare(expected, posted, len(parts))
        return []

    def _says_halves(self, posted: Shares) -> bool:
        """Tell whether the post names the halves, and cards can tell whether it is right.

        Who wins a whole pot may be posted as its high winner, and what he held is not always
        known.
        """
        players = {player for player, _ in posted}
        if len(players) == 1 and not any(half == "low" for _, half in posted):
            return False
        known = all(self.showdown.hand_of(player) is not None for player in players)
        return known and len(self.pot.entitled) > 1 and all(half for _, half in posted)

    def _open(self, parts: Sequence[Part], net: int) -> bool:
        """Check what is certain although some cards are not known; False when that is wrong."""
        may: set[int] = set()
        must: set[int] = set()
        for part in parts:
            may.update(part.winners, part.open)
            if not part.open and net // (2 * len(parts)) >= len(part.winners):
                must.update(part.winners)
        winners = {win.player_id for win in self.wins if win.win_amount}
        if len(parts) == 1 and not winners.isdisjoint(parts[0].winners):
            # The best of the known hands won: so did all that are as good.
            must.update(parts[0].winners)
        if winners - may or must - winners:
            self.wrong_winner("The pot belongs to the best hand.", sorted(may))
            return False
        shares = shares_of(self.hand, self.wins, net, self.rulebook)
        expected = {
            (win.player_id, win.x_half): share for win, share in zip(self.wins, shares, strict=True)
        }
        return self._compare(expected, _posted(self.wins), 1)

    def _compare(self, expected: Shares, posted: Shares, parts: int) -> bool:
        differences = [
            abs(expected.get(key, 0) - posted.get(key, 0)) for key in {*expected, *posted}
        ]
        if not any(differences):
            return True
        odd = sum(expected.values()) == sum(posted.values()) and max(differences) <= parts
        self.findings.add(
            "wrong-odd-chip" if odd else "wrong-share",
            self.where,
            "Odd units go one to each winner in turn, nearest left of the dealer first."
            if odd
            else "Winners share a pot, less rake and jackpot, equally.",
            expected=self._texts(expected),
            posted=self._texts(posted),
        )
        return False

    def wrong_winner(
        self, message: str, players: Iterable[int], parts: Sequence[Part] = ()
    ) -> None:
        expected: list[Any] = [{"player": player} for player in players]
        for part in parts:
            expected += [self._winner(player, part) for player in part.winners]
        self.findings.add(
            "wrong-pot-winner",
            self.where,
            message,
            expected=expected,
            posted=[{"player": win.player_id} for win in self.wins],
        )

    def _winner(self, player: int, part: Part) -> dict[str, Any]:
        found: dict[str, Any] = {"player": player}
        if part.half is not None:
            found["half"] = part.half
        name = self.showdown.name(player, part)
        if name is not None:
            found["hand"] = name
        return found

    def _texts(self, shares: Shares) -> list[dict[str, Any]]:
        text = self.findings.text
        return [
            {"player": player, "amount": text(share)} | ({} if half is None else {"half": half})
            for (player, half), share in shares.items()
        ]


def _posted(wins: Sequence[Win]) -> Shares:
    posted: Shares = {}
    for win in wins:
        key = win.player_id, win.x_half
        posted[key] = posted.get(key, 0) + win.win_amount
    return posted


def _by_player(shares: Shares) -> Shares:
    total: Shares = {}
    for (player, _), share in shares.items():
        total[player, None] = total.get((player, None), 0) + share
    return total


# -- dividing ----------------------------------------------------------------------------------


def divided(hand: Hand, parts: Sequence[Part], net: int, rulebook: Rulebook) -> Shares:
    """Divide a pot among the winners of its parts, none of which is open.

    Each board has its share of the pot, the first an odd unit *(reading)*; of it the odd unit
    between high and low goes to high. Source: K 10.1.1, K 10.8.6.
    """
    boards = sorted({part.board for part in parts})
    turns = odd_turns(hand, rulebook) if len(parts) > 1 or len(parts[0].winners) > 1 else {}
    shares: Shares = {}
    for board, amount in zip(boards, _evenly(net, len(boards)), strict=True):
        halves = [part for part in parts if part.board == board]
        for part, half in zip(halves, _evenly(amount, len(halves)), strict=True):
            winners = sorted(part.winners, key=lambda player: turns.get(player, 0))
            for player, share in zip(winners, _evenly(half, len(winners)), strict=True):
                key = player, part.half
                shares[key] = shares.get(key, 0) + share
    return shares


def _evenly(amount: int, count: int) -> list[int]:
    """Divide into equal shares, the first of them one unit greater where it does not go up."""
    share, odd = divmod(amount, count) if count else (0, 0)
    return [share + (place < odd) for place in range(count)]


def shares_of(hand: Hand, wins: Sequence[Win], net: int, rulebook: Rulebook) -> list[int]:
    """Divide a pot among the winners that were posted, in their order, where cards are not known.

    In a hi/lo game ``x_half`` says who won which half; the odd unit between them goes to high.
    Without it, and where a street was run twice, the shares of several winners depend on cards
    alone and stand as they were posted, as long as they are the whole pot.
    Source: K 10.1.1, K 10.8.6.
    """
    if not wins:
        return []
    halves = {win.x_half for win in wins}
    if halves == {"high", "low"}:
        high, low = _evenly(net, 2)
        return _by_half(hand, wins, {"high": high, "low": low}, rulebook)
    if len(wins) > 1 and _depends_on_cards(hand):
        posted = [win.win_amount for win in wins]
        if sum(posted) == net:
            return posted
    return _equally(hand, wins, net, rulebook)


def _depends_on_cards(hand: Hand) -> bool:
    streets = [round_.street for round_ in hand.rounds]
    return hand.game in _HALVED or len(streets) != len(set(streets))


def _by_half(
    hand: Hand, wins: Sequence[Win], amounts: Mapping[Half, int], rulebook: Rulebook
) -> list[int]:
    shares = [0] * len(wins)
    for half, amount in amounts.items():
        indices = [index for index, win in enumerate(wins) if win.x_half == half]
        parts = _equally(hand, [wins[index] for index in indices], amount, rulebook)
        for index, share in zip(indices, parts, strict=True):
            shares[index] = share
    return shares


def _equally(hand: Hand, wins: Sequence[Win], net: int, rulebook: Rulebook) -> list[int]:
    turns = odd_turns(hand, rulebook)
    first = sorted(range(len(wins)), key=lambda index: turns.get(wins[index].player_id, 0))
    shares = [0] * len(wins)
    for index, share in zip(first, _evenly(net, len(wins)), strict=True):
        shares[index] = share
    return shares


def odd_turns(hand: Hand, rulebook: Rulebook) -> dict[int, int]:
    """Say in which order players come for odd units: nearest left of the dealer, or dealt first.

    Source: K 10.1.1, K 10.6.8, D.
    """
    last = max(hand.table_size, hand.dealer_seat, *(one.seat for one in hand.players)) + 1
    turns = {player.id: (player.seat - hand.dealer_seat - 1) % last for player in hand.players}
    game = rulebook.games.get(hand.game)  # type: ignore[call-overload]
    if game is not None and game.odd_chip == "dealt-first":
        acts = [action for round_ in hand.rounds for action in round_.actions]
        dealt = dict.fromkeys([one.player_id for one in acts if one.action == "Dealt Cards"])
        if all(one.player_id in dealt for one in acts if one.player_id in turns):
            return {player: place for place, player in enumerate(dealt) if player is not None}
    return turns
