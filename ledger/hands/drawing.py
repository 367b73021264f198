"""The cards of draw games: who threw away what, who drew what, and what the deck still holds.

When a deck runs short, what was thrown away and folded is shuffled and dealt again; nobody gets
back what he threw away in the same draw. Only then may a card be seen twice.
Source: K 10.9.8, K 10.10.9.
"""

from collections.abc import Sequence
from typing import Any

from ledger.hands.contributions import Tally
from ledger.hands.dealing import Cards, Fault, join, newly_shown
from ledger.hands.deck import CARDS, UNKNOWN
from ledger.hands.games import MOST_DRAWN, NO_STREET, GamePlay, Street
from ledger.hands.ohh import Action, Hand
from ledger.rulebooks.play import GameRules
from ledger.rulebooks.values import CardCode


def read_draws(hand: Hand, play: GamePlay, rules: GameRules, tally: Tally) -> Cards:
    """Read the cards of a draw game."""
    return _Reader(hand, play, rules, tally).read()


class _Stub:
    """What is left of the deck, counted; ``left`` is None when a post does not say how much."""

    def __init__(self, cards: int) -> None:
        self.left: int | None = cards
        self.out: set[str] = set()
        """Cards known to have been dealt and not to have come back."""
        self.muck: list[str] = []
        """Cards thrown away or folded."""
        self.anything_back = False
        """Whether cards that are not known came back."""

    def deal(self, count: int, owed: int) -> None:
        """Take cards off; when fewer are left than are owed to all, the muck is shuffled first."""
        if self.left is None or self.left < owed:
            self.anything_back = self.anything_back or UNKNOWN in self.muck
            self.out.difference_update(self.muck)
            if self.left is not None:
                self.left += len(self.muck)
            self.muck = []
        if self.left is not None:
            self.left = max(0, self.left - count)


class _Reader:
    def __init__(self, hand: Hand, play: GamePlay, rules: GameRules, tally: Tally) -> None:
        self.hand = hand
        self.play = play
        self.tally = tally
        self.cards = Cards({}, [])
        self.held = self.cards.own
        self.stub = _Stub(rules.deck(tally.dealt).cards())
        self.told: dict[int, list[str]] = {}
        """What players showed, or mucked for others to see."""
        self.told_in: dict[int, int] = {}
        """The number of the round in which they did."""
        self.had: dict[int, set[str]] = {}
        """Cards that a player was dealt and is not known to have thrown away."""
        self.owed: dict[int, int] = {}
        """How many cards a player must get in this draw."""
        self.thrown: dict[int, list[str]] = {}
        """What a player threw away in this draw."""
        self.drawn: dict[int, int] = {}
        self.folded: set[int] = set()

    def read(self) -> Cards:
        streets = dict(self.play.by_name)
        for number, round_ in enumerate(self.hand.rounds):
            street = streets.pop(round_.street, NO_STREET)
            self.owed, self.thrown, self.drawn = {}, {}, {}
            if round_.cards:
                self._fault("wrong-card-count", number, None, 0, len(round_.cards))
            for action in round_.actions:
                if action.player_id is not None:
                    self._follow(number, street, action, action.player_id)
            self._end(number, street)
        self._show()
        return self.cards

    def _follow(self, number: int, street: Street, action: Action, player: int) -> None:
        kind = action.action
        cards = list(action.cards or ())
        if kind == "Dealt Cards":
            if cards:
                self._deal(number, street, player, cards)
        elif kind == "Discard":
            if self.drawn.get(player):
                # He has drawn already.
                self._fault("wrong-card-count", number, player, 0, len(cards))
            hidden = (action.x_count or 0) - len(cards)
            if cards or action.x_count is not None:
                self._throw(number, street, player, cards + [UNKNOWN] * hidden)
        elif kind == "Stand Pat":
            self.owed[player] = self.owed.get(player, 0)
        elif kind == "Fold":
            self._check_number(number, street, player)
            self.folded.add(player)
            self.stub.muck += self.held.pop(player, [])
        elif cards:
            self.told_in[player] = number
            told = self.told.get(player, [])
            self.told[player] = told + newly_shown(told, cards)

    # -- getting cards and throwing them away ----------------------------------------------------

    def _deal(self, number: int, street: Street, player: int, cards: list[str]) -> None:
        if player in self.folded:
            self._fault("wrong-card-count", number, player, 0, len(cards))
            return
        drawing = street.draw
        held = self.held.get(player, [])
        if drawing and player not in self.owed:
            # The post leaves out what he threw away: as many cards, whichever they were.
            held = held or [UNKNOWN] * self.play.own
            self.held[player] = held
            self._throw(number, street, player, [UNKNOWN] * min(len(cards), len(held)))
            held = self.held[player]
        room = self.owed.get(player, 0) if drawing else max(0, street.own - len(held))
        if len(cards) > room:
            self._fault("wrong-card-count", number, player, room, len(cards))
        owed = sum(self.owed.values()) if drawing else len(cards)
        self.stub.deal(len(cards), owed)
        for card in cards:
            self._take(number, player, card)
        self.held[player] = held + cards
        if drawing:
            self.owed[player] = max(0, room - len(cards))
            self.drawn[player] = self.drawn.get(player, 0) + len(cards)

    def _take(self, number: int, player: int, card: str) -> None:
        if card == UNKNOWN:
            return
        self.cards.seen.add(card)
        again = card in self.stub.out and not self._may_come_back(card)
        if again or card in self.thrown.get(player, ()):
            self._fault("duplicate-card", number, player, None, card)
        self.stub.out.add(card)
        self.had.setdefault(player, set()).add(card)

    def _may_come_back(self, card: str) -> bool:
        """Tell whether a card that was dealt before may have been shuffled again unseen."""
        held = self.held.values()
        return self.stub.anything_back and not any(card in cards for cards in held)

    def _throw(self, number: int, street: Street, player: int, cards: list[str]) -> None:
        if player in self.folded:
            return
        most = MOST_DRAWN if street.draw else 0
        count = len(cards) + self.owed.get(player, 0)
        if count > most:
            self._fault("wrong-card-count", number, player, most, count)
            cards = cards[: max(0, most - self.owed.get(player, 0))]
        self.cards.seen.update(card for card in cards if card != UNKNOWN)
        held = self.held.get(player) or [UNKNOWN] * self.play.own
        known = [card for card in cards if card in CARDS]
        for card in known:
            if card in held:
                held = _without(held, card)
            elif UNKNOWN in held:
                self._reveal(number, player, card)
                held = _without(held, UNKNOWN)
            else:
                self._fault("wrong-card-count", number, player, len(held), len(held) + 1)
            self.had.get(player, set()).discard(card)
        hidden = len(cards) - len(known)
        if hidden:
            # Which of his cards went is not known.
            held = [UNKNOWN] * max(0, len(held) - hidden)
        self.held[player] = held
        self.stub.muck += cards
        self.owed[player] = self.owed.get(player, 0) + len(cards)
        self.thrown[player] = self.thrown.get(player, []) + known

    # -- the end of a street, and of the hand ----------------------------------------------------

    def _end(self, number: int, street: Street) -> None:
        """Fill in the cards that a post leaves out; a part of them is a wrong number."""
        for who in self.tally.players.values():
            player = who.player_id
            if not who.dealt or player in self.folded:
                continue
            held = self.held.get(player, [])
            if street.draw and player not in self.owed:
                # Nothing is said of his draw: any of his cards may be gone.
                self.held[player] = [UNKNOWN] * self.play.own
                self.stub.left = None
                continue
            missing = self._check_number(number, street, player)
            if missing > 0:
                self.stub.deal(missing, missing)
                self.held[player] = held + [UNKNOWN] * missing

    def _check_number(self, number: int, street: Street, player: int) -> int:
        """Return how many cards of a street a player has not got; a part of them is wrong."""
        held = self.held.get(player, ())
        missing = self.owed.get(player, 0) if street.draw else street.own - len(held)
        got = self.drawn.get(player, 0) if street.draw else len(held)
        if missing > 0 and got:
            self._fault("wrong-card-count", number, player, got + missing, got)
        return missing

    def _show(self) -> None:
        """Add what players showed, and mark what is missing at a showdown."""
        names = {round_.street for round_ in self.hand.rounds}
        if len(self.tally.finished) > 1:
            whole = all(street.name in names for street in self.play.streets)
            for who in self.tally.finished:
                if not whole or who.player_id not in self.held:
                    self.held[who.player_id] = [UNKNOWN] * self.play.own
                    self.stub.left = None
        for player, shown in self.told.items():
            if player in self.cards.faulty:
                continue
            mine = self.held.get(player)
            for card in shown:
                if mine is None or (UNKNOWN in mine and card not in mine):
                    self._reveal(len(self.hand.rounds) - 1, player, card)
            if mine is not None:
                where = f"rounds[{self.told_in[player]}].actions"
                self.held[player], faults = join(player, mine, shown, self.play.own, where)
                for fault in faults:
                    self.cards.add_fault(fault, player)

    def _reveal(self, number: int, player: int, card: str) -> None:
        """Take note of a card that was shown and is not known to have been dealt to the player."""
        if card == UNKNOWN or card in self.had.get(player, ()):
            return
        self.cards.seen.add(card)
        elsewhere = any(card in held for who, held in self.held.items() if who != player)
        uncertain = self.stub.left is None or self.stub.anything_back
        # Cards that two players hold are found when all are compared.
        found_later = elsewhere and player in self.held
        if card in self.stub.out and not found_later and not uncertain:
            self._fault("duplicate-card", number, player, None, card)
        self.stub.out.add(card)
        self.had.setdefault(player, set()).add(card)

    def _fault(
        self, code: CardCode, number: int, player: int | None, expected: Any, posted: Any
    ) -> None:
        if code == "duplicate-card":
            message = "A card was dealt again that had not been shuffled again, or to who threw it."
            posted = [posted]
        else:
            message = "A player throws away none to five of his cards and gets as many."
            if player is not None:
                expected = [{"player": player, "cards": expected}]
                posted = [{"player": player, "cards": posted}]
        self.cards.add_fault(Fault(code, f"rounds[{number}]", message, expected, posted), player)


def _without(held: Sequence[str], card: str) -> list[str]:
    place = list(held).index(card)
    return [*held[:place], *held[place + 1 :]]
