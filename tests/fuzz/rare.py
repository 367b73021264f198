"""Random hands of Soko, Telesina and Americana, which PokerKit does not know.

It plays the betting of five-card stud for them. Who wins is the judge's own word: their rankings
are proved elsewhere, and it is betting and money that mutants of these hands are about.
"""

import random
import warnings
from decimal import Decimal
from random import Random
from typing import Any, Final

import msgspec
import pokerkit as pk

from ledger import rulebooks
from ledger.hands import reading
from ledger.hands.judge import judge
from tests.fuzz.betting import plan

ANTE, BRING_IN, SMALL_BET, BIG_BET = 2, 4, 10, 20

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


def rare_hand(game: str, seed: int) -> bytes:
    """Play a hand of two to six and write it down with the pots that the judge expects."""
    document = _Player(game, Random(seed), seed).play()
    draft = reading.read(_ENCODER.encode(document))
    book = next(one for one in rulebooks.shipped() if one.name == "as-posted")
    expected = judge(draft, book).expected()
    assert expected is not None
    document["ohh"]["x_uncalled_returned"] = [
        {"player_id": one.player, "amount": _cents(one.amount_minor)}
        for one in expected.uncalled_returned
    ]
    document["ohh"]["pots"] = [
        {
            "number": pot.number,
            "amount": _cents(pot.amount_minor),
            "player_wins": [
                {"player_id": win.player, "win_amount": _cents(win.amount_minor)}
                for win in pot.wins
            ],
        }
        for pot in expected.pots
    ]
    return _ENCODER.encode(document)


def _cents(minor: int) -> Decimal:
    return Decimal(minor).scaleb(-2)


class _Player:
    def __init__(self, game: str, rng: Random, seed: int) -> None:
        self.game = game
        self.rng = rng
        self.plan = plan(game)
        ranks = "23456789TJQKA" if game == "Soko" else "789TJQKA"
        self.pack = [rank + suit for rank in ranks for suit in "cdhs"]
        rng.shuffle(self.pack)
        self.count = rng.randint(2, 6 if game != "Telesina" else 5)
        self.stacks = [rng.randint(12, rng.choice((60, 400))) for _ in range(self.count)]
        self.rounds: list[dict[str, Any]] = []
        random.seed(seed)

    def play(self) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state = self._state()
            for place in range(self.count):
                self._note(place, "Post Ante", ANTE)
            for at in range(len(self.plan)):
                if sum(state.statuses) > 1:
                    self._street(state, at)
        if sum(state.statuses) > 1:
            shows = [
                {"player_id": place + 1, "action": "Shows Cards",
                 "cards": [repr(card) for card in state.hole_cards[place]]}
                for place in range(self.count)
                if state.statuses[place]
            ]  # fmt: skip
            self.rounds.append({"street": "Showdown", "cards": [], "actions": shows})
        return {"ohh": self._heading(state)}

    def _state(self) -> Any:
        streets = [
            pk.Street(
                False,
                (False,) * one.down + (True,) * one.up,
                one.board,
                False,
                pk.Opening.HIGH_HAND if at else pk.Opening.HIGH_CARD,
                BIG_BET if at > 1 else SMALL_BET,
                4,
            )
            for at, one in enumerate(self.plan)
        ]
        self.rounds.append({"street": self.plan[0].name, "cards": [], "actions": []})
        return pk.State(
            (
                pk.Automation.ANTE_POSTING,
                pk.Automation.BET_COLLECTION,
                pk.Automation.BLIND_OR_STRADDLE_POSTING,
                pk.Automation.HOLE_CARDS_SHOWING_OR_MUCKING,
            ),
            pk.Deck.STANDARD,
            (pk.StandardHighHand,),
            streets,
            pk.BettingStructure.FIXED_LIMIT,
            True,
            ANTE,
            0,
            BRING_IN,
            self.stacks,
            self.count,
            mode=pk.Mode.CASH_GAME,
        )

    def _street(self, state: Any, at: int) -> None:
        one = self.plan[at]
        if at:
            self.rounds.append({"street": one.name, "cards": [], "actions": []})
        if one.board:
            cards = [self.pack.pop()]
            if state.can_deal_board():
                state.deal_board("".join(cards))
            self.rounds[-1]["cards"] = cards
        while state.can_deal_hole():
            place = state.hole_dealee_index
            cards = [self.pack.pop() for _ in range(one.down + one.up)]
            state.deal_hole("".join(cards))
            self._note(place, "Dealt Cards", cards=cards)
        while state.actor_index is not None:
            self._act(state)

    def _act(self, state: Any) -> None:
        place = state.actor_index
        before = state.bets[place]
        facing = max(state.bets) > 0
        chance = self.rng.random()
        if state.can_post_bring_in():
            self._note(place, "Bring In", state.post_bring_in().amount, state)
        elif chance < 0.25 and state.can_complete_bet_or_raise_to():
            to = state.complete_bet_or_raise_to().amount
            self._note(place, "Raise" if facing else "Bet", to - before, state)
        elif chance > 0.75 and state.checking_or_calling_amount:
            state.fold()
            self._note(place, "Fold")
        else:
            amount = state.check_or_call().amount
            self._note(place, "Call" if amount else "Check", amount, state)

    def _note(
        self, place: int, action: str, amount: int = 0, state: Any = None, **more: Any
    ) -> None:
        said = {"player_id": place + 1, "action": action, **more}
        if amount:
            said["amount"] = _cents(amount)
        if state is not None and amount and not state.stacks[place]:
            said["is_allin"] = True
        self.rounds[-1]["actions"].append(said)

    def _heading(self, state: Any) -> dict[str, Any]:
        return {
            "game_number": "1",
            "start_date_utc": "2013-06-01T12:30:00Z",
            "table_name": "Rare",
            "table_size": 6,
            "game_type": self.game,
            "bet_limit": {"bet_type": "FL"},
            "currency": "EUR",
            "dealer_seat": self.count,
            "ante_amount": _cents(ANTE),
            "x_small_bet": _cents(SMALL_BET),
            "x_big_bet": _cents(BIG_BET),
            "x_bring_in": _cents(BRING_IN),
            "players": [
                {"id": n, "seat": n, "name": f"p{n}", "starting_stack": _cents(stack)}
                for n, stack in enumerate(self.stacks, 1)
            ],
            "rounds": self.rounds,
            "pots": [
                {
                    "number": 0,
                    "amount": _cents(sum(self.stacks) - sum(state.stacks)),
                    "player_wins": [
                        {
                            "player_id": state.statuses.index(True) + 1,
                            "win_amount": _cents(sum(self.stacks) - sum(state.stacks)),
                        }
                    ],
                }
            ],
        }
