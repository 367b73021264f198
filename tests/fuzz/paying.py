"""Whether a hand was paid as it should be: money in plain arithmetic, hands by PokerKit."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from typing import Any, Final

import pokerkit as pk

from ops.simulator.rake import by_schedule
from tests.fuzz.betting import HOLE, plan
from tests.fuzz.facts import ANTE_GAMES, Facts, Player, Pot, Street, Unsure, must

HIGH: Final[dict[str, Any]] = {
    "Holdem": pk.StandardHighHand,
    "Omaha": pk.OmahaHoldemHand,
    "Omaha5": pk.OmahaHoldemHand,
    "OmahaHiLo": pk.OmahaHoldemHand,
    "Stud": pk.StandardHighHand,
    "StudHiLo": pk.StandardHighHand,
    "FiveCardDraw": pk.StandardHighHand,
    "TripleDraw27": pk.StandardLowHand,
}
LOW: Final[dict[str, Any]] = {
    "OmahaHiLo": pk.OmahaEightOrBetterLowHand,
    "StudHiLo": pk.EightOrBetterLowHand,
}

Entitled = list[tuple[int, list[int]]]
"""Pots with the ids of those who may win them."""


def check_paying(facts: Facts, book: str) -> None:
    """Check money, pots, rake and who won. Raises Wrong and Unsure."""
    returned = _check_returned(facts, book)
    for player in facts.players.values():
        must(player.put_in <= player.stack, "more than there was")
    put_in = sum(player.put_in for player in facts.players.values())
    pots = _pots(facts, returned)
    posted = [pot for pot in facts.pots if pot.amount or pot.wins]
    must(put_in - sum(returned.values()) == sum(pot.amount for pot in posted), "money is lost")
    must([pot.amount for pot in posted] == [amount for amount, _ in pots], "other pots")
    must([pot.number for pot in posted] == list(range(len(posted))), "pots without a place")
    rakes, jackpots = _check_rake(facts, posted, book)
    hands = Hands(facts)
    for number, (pot, (amount, entitled)) in enumerate(zip(posted, pots, strict=True)):
        net = amount - rakes[number] - jackpots[number]
        must(sum(won for _, won, _ in pot.wins) == net, "a pot pays more or less than it has")
        _check_wins(facts, hands, pot, entitled, net)


# -- what went back, and the pots ----------------------------------------------------------------


def _check_returned(facts: Facts, book: str) -> dict[int, int]:
    """Return what went back to each player, once it is what the rules give back."""
    apart = {
        player: facts.players[player].put_in
        for player, _, reason in facts.returned or ()
        if reason and not facts.players[player].dealt
    }
    staked = sorted(
        (player for player in facts.players.values() if player.id not in apart),
        key=lambda player: -player.live,
    )
    over = staked[0].live - (staked[1].live if len(staked) > 1 else 0)
    expected = {**apart, **({staked[0].id: over} if over else {})}
    if facts.returned is None:
        put_in = sum(player.put_in for player in facts.players.values())
        left = put_in - sum(pot.amount for pot in facts.pots)
        posted = {staked[0].id: left} if left else {}
    else:
        posted = {}
        for player, amount, _ in facts.returned:
            posted[player] = posted.get(player, 0) + amount
        posted = {player: amount for player, amount in posted.items() if amount}
    if over and not staked[0].wagered and book == "as-posted" and posted == apart:
        return posted  # Some sites leave an unmatched blind in the pot.
    must(posted == {p: a for p, a in expected.items() if a}, "what goes back")
    return posted


def _pots(facts: Facts, returned: Mapping[int, int]) -> Entitled:
    """Form the pots: each wins from each at most what he put in. Source: K 10.1.5."""
    stakes = {one.id: one.live - returned.get(one.id, 0) for one in facts.players.values()}
    left = [one for one in facts.players.values() if one.dealt and not one.folded]
    must(bool(left), "nobody is left")
    total = sum(one.put_in for one in facts.players.values()) - sum(returned.values())
    levels = sorted({stakes[one.id] for one in left if stakes[one.id] > 0})
    pots: Entitled = []
    below = 0
    for level in levels:
        amount = sum(max(0, min(stake, level) - below) for stake in stakes.values())
        pots.append((amount, [one.id for one in left if stakes[one.id] >= level]))
        below = level
    rest = total - sum(amount for amount, _ in pots)
    if any(stake > below for stake in stakes.values()):
        raise Unsure("who folded put more in than who is left")
    if not pots:
        return [(total, [one.id for one in left])] if total else []
    return [(pots[0][0] + rest, pots[0][1]), *pots[1:]]


# -- rake ----------------------------------------------------------------------------------------

_RAKED_FROM: Final = {
    "Holdem": "Flop", "Omaha": "Flop", "Omaha5": "Flop", "OmahaHiLo": "Flop",
    "Stud": "Fourth Street", "StudHiLo": "Fourth Street", "Soko": "Third Street",
    "Telesina": "Third Street", "Americana": "Third Street",
    "FiveCardDraw": "First Draw", "TripleDraw27": "First Draw",
}  # fmt: skip


def _check_rake(facts: Facts, pots: Sequence[Pot], book: str) -> tuple[list[int], list[int]]:
    """Return what each pot pays, once it is what the schedule asks for. Source: K 10.1.9."""
    amounts = [pot.amount for pot in pots]
    total, posted = sum(amounts), sum(pot.rake for pot in pots)
    jackpot = sum(pot.jackpot for pot in pots)
    must(posted + jackpot <= total, "more than there is")
    rakes, jackpots = [pot.rake for pot in pots], [pot.jackpot for pot in pots]
    if facts.said.get("x_rake_is_for_hand"):
        rakes = _divided(posted, amounts)
        jackpots = _divided(jackpot, [a - rake for a, rake in zip(amounts, rakes, strict=True)])
    if book != "as-posted":
        must(not jackpot, "nothing but rake leaves a pot")
        must(posted == _due(facts, total), "another rake")
        must(rakes == _divided(posted, amounts), "rake divided otherwise")
    return rakes, jackpots


def _due(facts: Facts, total: int) -> int:
    played = {street.name for street in facts.streets if street.acts or street.board}
    if facts.currency != "EUR" or _RAKED_FROM[facts.game] not in played:
        return 0
    blind, small_bet = facts.header("big_blind_amount"), facts.header("x_small_bet")
    limit = small_bet or blind if facts.game in ANTE_GAMES else blind or small_bet
    dealt = len(facts.ring)
    if datetime.fromisoformat(facts.said["start_date_utc"]).year >= 2013:
        if facts.limit == "FL" and limit < 2:
            return 0
        return by_schedule(facts.limit, limit, total, dealt)
    if total < 40:
        return 2 if total >= 20 else 0
    low = facts.limit == "FL" and limit < 100
    middle = 200 if facts.limit != "FL" or not low else 100
    most = 300 if facts.limit != "FL" else middle
    return min(total // 20, 75 if dealt <= 3 else middle if dealt <= 5 else most)


def _divided(rake: int, amounts: Sequence[int]) -> list[int]:
    """Divide over the pots by their size, half a cent up; the difference is the main pot's."""
    total = sum(amounts)
    side = [(2 * rake * amount + total) // (2 * total) for amount in amounts[1:]]
    shares = [rake - sum(side), *side] if amounts else []
    if any(share < 0 or share > most for share, most in zip(shares, amounts, strict=True)):
        raise Unsure("rake that a pot has not got")
    return shares


# -- cards ---------------------------------------------------------------------------------------


_PLAYED: Final = ("Dealt Cards", "Discard", "Stand Pat")
_PACK: Final = {rank + suit for rank in "23456789TJQKA" for suit in "cdhs"}


class Hands:
    """Everybody's cards at the end, with ``??`` for those that are not known."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.game = facts.game
        self.plan = plan(facts.game)
        self.size = HOLE.get(self.game) or (7 if self.game in ("Stud", "StudHiLo") else 5)
        self.own: dict[int, list[str]] = {}
        self.board: list[str] = []
        self.thrown: list[str] = []
        self.told: dict[int, list[str]] = {}
        self.dealt: set[tuple[str, int]] = set()
        self.drawn: set[str] = set()
        self.passed: dict[str, int] = {}
        self.draws = any(one.draw for one in self.plan)
        self.folded: set[int] = set()
        order = [one.name for one in self.plan]
        played = [
            one.name
            for one in facts.streets
            if one.name in order and any(act.kind in _PLAYED for act in one.acts)
        ]
        in_order = played == sorted(played, key=order.index)
        must(in_order or not self.draws, "draws in another order")
        for street in facts.streets:
            self._follow(street)
        self._finish()

    def _follow(self, street: Street) -> None:
        known = [one for one in self.plan if one.name == street.name]
        if known and known[0].draw and street.acts:
            draws = any(act.kind in ("Discard", "Stand Pat", "Dealt Cards") for act in street.acts)
            must(not draws or street.name not in self.drawn, "a draw again")
            self.drawn.add(street.name)
        dealt, before = self.dealt, set(self.folded)
        if street.board:
            must(bool(known) and len(street.board) == known[0].board, "cards on the board")
            before = self._lies_before(street.name)
            if (street.name, 0) in dealt:
                raise Unsure("a street that is run twice")
            dealt.add((street.name, 0))
            must(len(self.board) <= before, "a board out of order")
            self.board += ["??"] * (before - len(self.board)) + street.board
        due = known[0].down + known[0].up if known else 0
        owed: dict[int, int] = {}
        threw: dict[int, set[str]] = {}
        for act in street.acts:
            if self.draws and act.cards:
                self._pass(act.player, act.cards)
            if act.kind == "Fold":
                self.folded.add(act.player)
            if act.kind in ("Discard", "Stand Pat"):
                must(bool(known) and known[0].draw, "no draw")
            if act.kind == "Dealt Cards" and act.cards:
                gone = self.folded if self.draws else before
                must(act.player not in gone, "who has folded gets cards")
                draws = known and known[0].draw
                if draws and act.player not in owed:
                    # What he threw away was left out: as many cards, whichever they were.
                    owed[act.player] = self._throw(act.player, [], len(act.cards))
                cards = act.cards
                if known and 0 < known[0].up == len(cards):
                    cards = ["??"] * known[0].down + cards
                must(len(cards) == (owed[act.player] if draws else due), "cards dealt")
                owed.pop(act.player, None)
                held = self.own.get(act.player, [])
                must(not {*cards} & threw.get(act.player, set()), "gets back what he threw away")
                must((street.name, act.player) not in dealt, "dealt twice")
                dealt.add((street.name, act.player))
                self.own[act.player] = held + cards
            elif act.kind == "Discard" and (act.cards or act.count):
                must((street.name, act.player) not in dealt, "drawn twice")
                threw.setdefault(act.player, set()).update(act.cards)
                threw[act.player].discard("??")
                already = owed.get(act.player, 0)
                owed[act.player] = already + self._throw(act.player, act.cards, act.count)
                must(owed[act.player] <= 5, "more than five")
            elif act.kind == "Stand Pat":
                owed.setdefault(act.player, 0)
            elif act.cards:
                if self.draws and known and known[0] is not self.plan[-1]:
                    raise Unsure("cards shown before the last draw")
                told = self.told.setdefault(act.player, [])
                must(len(act.cards) <= self.size, "shows too many")
                shown = [card for card in act.cards if card != "??" and card not in told]
                must(len(set(shown)) == len(shown), "a card shown twice")
                told += shown
        for player, missing in owed.items():
            self.own[player] = self.own.get(player, []) + ["??"] * missing
        drawn = {act.player for act in street.acts if act.kind in ("Discard", "Stand Pat")}
        drawn |= {player for name, player in dealt if name == street.name}
        if known and known[0].draw:
            for player in set(self.own) - drawn - self.folded:
                self.own[player] = ["??"] * 5  # Nothing is said of his draw.

    def _pass(self, player: int, cards: list[str]) -> None:
        """Note whose hands cards went through: a second player's only when they were shuffled."""
        known = [card for card in cards if card != "??"]
        must(len(set(known)) == len(known), "a card twice")
        for card in cards:
            must(card == "??" or card in _PACK, "a card that there is not")
            if card != "??" and self.passed.setdefault(card, player) != player:
                raise Unsure("a card twice where cards are shuffled again")

    def _lies_before(self, name: str) -> int:
        names = [one.name for one in self.plan]
        return sum(one.board for one in self.plan[: names.index(name)])

    def _throw(self, player: int, cards: list[str], count: int | None) -> int:
        held = list(self.own.get(player) or ["??"] * 5)
        number = max(len(cards), count or 0)
        for card in cards:
            known = card in held or "??" in held or card == "??"
            must(known and bool(held), "thrown what he had not")
            held.remove(card if card in held else "??" if "??" in held else held[0])
        if number > len(cards) or "??" in cards:
            # Which of his cards went is not known.
            held = ["??"] * max(0, len(held) - (number - len(cards)))
        self.thrown += [card for card in cards if card != "??"]
        self.own[player] = held
        return number

    def _finish(self) -> None:
        names = {street.name for street in self.facts.streets}
        if self.draws and any(one.name not in names for one in self.plan):
            for player in set(self.own) - self.folded:
                self.own[player] = ["??"] * 5
        size = self.size
        for player, told in self.told.items():
            if self.draws and player in self.folded:
                continue  # What he showed he may have thrown away before.
            held = self.own.get(player, [])
            known = [card for card in held if card != "??"]
            extra = [card for card in told if card not in known and card != "??"]
            must(len(known) + len(extra) <= max(size, len(held)), "shows what he was not dealt")
            if extra or not held:
                self.own[player] = known + extra + ["??"] * (size - len(known) - len(extra))
        every = [*self.board, *self.thrown, *(c for own in self.own.values() for c in own)]
        every = [card for card in every if card != "??"]
        deck = _PACK
        if self.game in ("Telesina", "Americana"):
            deck = {card for card in _PACK if card[0] in "789TJQKA"}
        must(set(every) <= deck, "a card that there is not")
        if len(set(every)) < len(every):
            if self.thrown:
                raise Unsure("a card twice where cards are shuffled again")
            must(False, "a card twice")
        self.every = set(every)
        self.left = sorted(deck - self.every)

    # -- the best hands --------------------------------------------------------------------------

    def known(self, player: int) -> list[str] | None:
        own = self.own.get(player, [])
        return own if len(own) == self.size and "??" not in own else None

    def best(self, players: Iterable[int], kind: Any) -> list[int]:
        """Return who of some players with known cards has the best hand of a kind."""
        ranked = {player: self._rank(self.known(player) or [], kind) for player in players}
        made = {player: hand for player, hand in ranked.items() if hand is not None}
        top = max(made.values(), default=None)
        return [player for player, hand in made.items() if hand == top]

    def _rank(self, own: Sequence[str], kind: Any) -> Any:
        return kind.from_game_or_none("".join(own), "".join(self.board))

    def could_win(self, player: int, best: int, kind: Any) -> bool:
        """Try every hand that a player's unknown cards may make against the best one known."""
        own = [card for card in self.own.get(player, []) if card != "??"]
        missing = self.size - len(own)
        if missing > 2:
            raise Unsure("too many cards that are not known")
        against = self._rank(self.known(best) or [], kind)
        for cards in combinations(self.left, missing):
            hand = self._rank([*own, *cards], kind)
            if hand is not None and (against is None or hand >= against):
                return True
        return False


def _check_wins(facts: Facts, hands: Hands, pot: Pot, entitled: Sequence[int], net: int) -> None:
    won: dict[tuple[int, str | None], int] = {}
    for player, amount, half in pot.wins:
        won[player, half] = won.get((player, half), 0) + amount
    winners = {player for (player, _), amount in won.items() if amount}
    must(all(player in entitled for player, _, _ in pot.wins), "won without a right")
    in_it = [
        player
        for player in entitled
        if hands.known(player) or player in winners or not facts.players[player].mucked
    ] or list(entitled)
    expected = _shares(facts, hands, in_it, net)
    posted = {key: amount for key, amount in won.items() if amount}
    if facts.game not in LOW and any(half for _, half in posted):
        raise Unsure("halves where there are none")
    if not all(half for _, half in posted):
        posted, expected = _by_player(posted), _by_player(expected)
    elif len(winners) == 1 and all(half == "high" for _, half in posted):
        # Who wins a whole pot may be posted as its high winner.
        posted, expected = _by_player(posted), _by_player(expected)
    elif len(in_it) == 1 and any(half == "low" for _, half in posted):
        raise Unsure("a low half that nobody asks for")
    elif all(half is None for _, half in expected) and len(in_it) == 1:
        # Of who is alone in a pot nobody asks which half he won.
        posted, expected = _by_player(posted), _by_player(expected)
    elif all(half is None for _, half in expected):
        expected = {(player, "high"): amount for (player, _), amount in expected.items()}
    must(posted == {key: amount for key, amount in expected.items() if amount}, "other winners")


def _by_player(shares: Mapping[tuple[int, str | None], int]) -> dict[tuple[int, str | None], int]:
    total: dict[tuple[int, str | None], int] = {}
    for (player, _), amount in shares.items():
        total[player, None] = total.get((player, None), 0) + amount
    return total


def _shares(
    facts: Facts, hands: Hands, in_it: Sequence[int], net: int
) -> dict[tuple[int, str | None], int]:
    """Divide a pot by the cards: odd units to the left of the dealer first, between halves high."""
    if len(in_it) == 1:
        return {(in_it[0], None): net}
    if facts.game not in HIGH:
        raise Unsure("a ranking that PokerKit does not know")
    whole = len(hands.board) == sum(one.board for one in hands.plan)
    must(whole and "??" not in hands.board, "the board is not known")
    high, low = HIGH[facts.game], LOW.get(facts.game)
    seen = [player for player in in_it if hands.known(player)]
    must(bool(seen), "nobody's cards are known")
    best = hands.best(seen, high)
    lows = hands.best(seen, low) if low else []
    for player in in_it:
        if player not in seen:
            must(not hands.could_win(player, best[0], high), "cards that decide are not known")
            if low:
                raise Unsure("lows that are not known")
    places = {player.id: place for place, player in enumerate(facts.ring)}
    if not lows:
        return _evenly(net, sorted(best, key=places.__getitem__), None)
    halves = _evenly(net - net // 2, sorted(best, key=places.__getitem__), "high")
    return halves | _evenly(net // 2, sorted(lows, key=places.__getitem__), "low")


def _evenly(
    amount: int, winners: Sequence[int], half: str | None
) -> dict[tuple[int, str | None], int]:
    share, odd = divmod(amount, len(winners))
    return {(player, half): share + (place < odd) for place, player in enumerate(winners)}


__all__ = ["Player", "check_paying"]
