"""A hand that PokerKit played, as a game server posts it: one chip is one cent."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import Any, Final

import msgspec
from pokerkit import (
    AntePosting,
    BlindOrStraddlePosting,
    BoardDealing,
    BringInPosting,
    Card,
    CheckingOrCalling,
    CompletionBettingOrRaisingTo,
    Folding,
    HoleCardsShowingOrMucking,
    HoleDealing,
    StandingPatOrDiscarding,
)

from tests.oracle.games import ANTE, BIG, BRING_IN, SMALL
from tests.oracle.play import Half, Played

_STREETS: Final = {
    "Holdem": ("Preflop", "Flop", "Turn", "River"),
    "Omaha": ("Preflop", "Flop", "Turn", "River"),
    "OmahaHiLo": ("Preflop", "Flop", "Turn", "River"),
    "Stud": ("Third Street", "Fourth Street", "Fifth Street", "Sixth Street", "Seventh Street"),
    "StudHiLo": (
        "Third Street", "Fourth Street", "Fifth Street", "Sixth Street", "Seventh Street",
    ),
    "TripleDraw27": ("Deal", "First Draw", "Second Draw", "Third Draw"),
    "FiveCardDraw": ("Deal", "First Draw"),
}  # fmt: skip

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


def encoded(played: Played, paid: Sequence[Mapping[tuple[int, Half], int]], seed: int) -> bytes:
    """Write a hand as JSON; ``paid`` is what each pot pays to whom for which half.

    Players sit from the left of the dealer, who is the last of them. Who won nothing mucks in one
    hand of three, and his cards are then left out altogether.
    """
    return _ENCODER.encode({"ohh": _Writer(played, Random(seed)).write(paid)})


def amount(chips: int) -> Decimal:
    return Decimal(chips).scaleb(-2)


class _Writer:
    def __init__(self, played: Played, rng: Random) -> None:
        self.played = played
        self.rounds: list[dict[str, Any]] = []
        self.stacks = list(played.stacks)
        self.players = len(played.stacks)
        self.bets = [0] * self.players
        self.cards = [0] * self.players
        self.draws = [0] * self.players
        self.shown: list[dict[str, Any]] = []
        winners = {one for pot in played.pots for won in pot.winners.values() for one in won}
        shy = rng.random() < 1 / 3
        self.hidden = {n for n in range(self.players) if shy and n not in winners}

    def write(self, paid: Sequence[Mapping[tuple[int, Half], int]]) -> dict[str, Any]:
        self._street(0)
        for operation in self.played.operations:
            self._write(operation)
        if self.shown:
            self.rounds.append({"id": 9, "street": "Showdown", "actions": self.shown})
        game = self.played.game
        antes = game.name in ("Stud", "StudHiLo")
        return {
            "game_number": "1",
            "start_date_utc": "2013-06-01T12:30:00Z",
            "table_name": "Oracle",
            "table_size": 2 if self.players == 2 else 9,
            "game_type": game.name,
            "bet_limit": {"bet_type": game.limit},
            "currency": "EUR",
            "dealer_seat": self.players,
            "small_blind_amount": amount(0 if antes else SMALL),
            "big_blind_amount": amount(0 if antes else BIG),
            "ante_amount": amount(ANTE if antes else 0),
            **(
                {
                    "x_small_bet": amount(BIG),
                    "x_big_bet": amount(2 * BIG),
                    "x_bring_in": amount(BRING_IN),
                }
                if antes
                else {}
            ),
            "players": [
                {"id": n + 1, "seat": n + 1, "name": f"p{n}", "starting_stack": amount(stack)}
                for n, stack in enumerate(self.played.stacks)
            ],
            "rounds": self.rounds,
            "pots": [
                {
                    "number": number,
                    "amount": amount(sum(of_pot.values())),
                    "player_wins": [
                        {
                            "player_id": player + 1,
                            "win_amount": amount(chips),
                            **({"x_half": half} if half else {}),
                        }
                        for (player, half), chips in of_pot.items()
                    ],
                }
                for number, of_pot in enumerate(paid)
            ],
        }

    def _street(self, number: int) -> None:
        """Go on to a street, should the hand not have come to it yet."""
        streets = _STREETS[self.played.game.name]
        while len(self.rounds) <= number:
            name = streets[len(self.rounds)]
            self.rounds.append({"id": number, "street": name, "cards": [], "actions": []})
            self.bets = [0] * self.players

    def _write(self, operation: Any) -> None:
        match operation:
            case AntePosting():
                self._put(operation.player_index, "Post Ante", operation.amount)
                self.bets[operation.player_index] = 0
            case BlindOrStraddlePosting():
                # With two players the dealer, who is the last, has the small blind.
                big = operation.player_index == (0 if self.players == 2 else 1)
                name = "Post BB" if big else "Post SB"
                self._put(operation.player_index, name, operation.amount)
            case BringInPosting():
                self._put(operation.player_index, "Bring In", operation.amount)
            case HoleDealing():
                self._deal(operation.player_index, operation.cards)
            case BoardDealing():
                stud = self.played.game.name.startswith("Stud")
                self._street(4 if stud else len(self.rounds))
                self.rounds[-1]["cards"] = _texts(operation.cards)
            case StandingPatOrDiscarding():
                self._discard(operation.player_index, operation.cards)
            case Folding():
                self._note(operation.player_index, "Fold")
            case CheckingOrCalling():
                name = "Call" if operation.amount else "Check"
                self._put(operation.player_index, name, operation.amount)
            case CompletionBettingOrRaisingTo():
                name = "Raise" if any(self.bets) else "Bet"
                added = operation.amount - self.bets[operation.player_index]
                self._put(operation.player_index, name, added)
            case HoleCardsShowingOrMucking():
                self._show(operation.player_index, operation.hole_cards)

    def _deal(self, player: int, cards: Sequence[Card]) -> None:
        if self.played.game.name.startswith("Stud"):
            self.cards[player] += len(cards)
            self._street(max(0, self.cards[player] - 3))
        if player not in self.hidden:
            self._note(player, "Dealt Cards", cards=_texts(cards))

    def _discard(self, player: int, cards: Sequence[Card]) -> None:
        self.draws[player] += 1
        self._street(self.draws[player])
        if not cards:
            self._note(player, "Stand Pat")
        elif player in self.hidden:
            self._note(player, "Discard", x_count=len(cards))
        else:
            self._note(player, "Discard", cards=_texts(cards))

    def _show(self, player: int, cards: Sequence[Card]) -> None:
        """Keep what is shown for the end: all-in hands are turned up before the board is dealt."""
        shown: dict[str, Any] = {"player_id": player + 1, "action": "Mucks Cards"}
        if player not in self.hidden:
            shown = {**shown, "action": "Shows Cards", "cards": _texts(cards)}
        self.shown.append(shown)

    def _put(self, player: int, action: str, chips: int) -> None:
        self.stacks[player] -= chips
        self.bets[player] += chips
        more: Mapping[str, Any] = {"amount": amount(chips)} if chips else {}
        if chips and not self.stacks[player]:
            more = {**more, "is_allin": True}
        self._note(player, action, **more)

    def _note(self, player: int, action: str, **more: Any) -> None:
        self.rounds[-1]["actions"].append({"player_id": player + 1, "action": action, **more})


def _texts(cards: Sequence[Card]) -> list[str]:
    return [repr(card) for card in cards]
