"""From PHH to Open Hand History: rounds, what each action adds, what went back.

PHH says what players do one after the other. Rounds follow from the cards that are dealt and
drawn, and a ``cbr`` says to how much the player's bet of the round is raised.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import msgspec
import pokerkit

from ledger.hands.ohh import Malformed
from ledger.money import PLAY_MONEY
from ops.phh.files import GAMES, Amount, Item, Phh, started
from ops.phh.pots import Part, settle

_FLOP_STREETS: Final = ("Preflop", "Flop", "Turn", "River")
_STUD_STREETS: Final = (
    "Third Street",
    "Fourth Street",
    "Fifth Street",
    "Sixth Street",
    "Seventh Street",
)
_DRAW_STREETS: Final = ("Deal", "First Draw", "Second Draw", "Third Draw")
_STREETS: Final = {"F7S": _STUD_STREETS, "F7S/8": _STUD_STREETS, "F2L3D": _DRAW_STREETS}

_BOARD: Final = (3, 4, 5)
"""How many cards lie on the board after each street of a flop game."""

_CURRENCIES: Final = {"$": "USD", "€": "EUR", "£": "GBP"}


def translate(item: Item, phh: Phh) -> dict[str, Any]:
    """Write a hand as Open Hand History, with exact amounts. Raises Malformed.

    Without a currency its amounts are tournament chips, or play money where they are not whole.
    """
    play = _Play(phh)
    play.run()
    parts = [
        Part(one.put_in - one.dead, one.dead, one.folded, one.starting) for one in play.players
    ]
    settled = settle(phh, parts)
    names = phh.players or [f"p{number}" for number in range(1, len(parts) + 1)]
    seats = phh.seats or list(range(1, len(parts) + 1))
    game, bet_type = GAMES[phh.variant]
    return {
        "ohh": {
            "spec_version": "1.4.7",
            "site_name": (phh.venue or phh.event or "")[:256],
            "game_number": item.number or "1",
            "start_date_utc": started(phh).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "table_name": str(phh.table or phh.event or "PHH")[:128],
            "table_size": max(phh.seat_count or 0, *seats),
            "game_type": game,
            "bet_limit": {"bet_type": bet_type},
            "dealer_seat": seats[-1],
            **_money(phh, play),
            **play.stakes(),
            "players": [
                {"id": number, "seat": seat, "name": name, "starting_stack": stack}
                for number, (seat, name, stack) in enumerate(
                    zip(seats, names, phh.starting_stacks, strict=True), 1
                )
            ],
            "rounds": play.rounds,
            "pots": [
                {
                    "number": number,
                    "amount": pot.amount,
                    "rake": settled.rake if number == 0 else 0,
                    "player_wins": [
                        {"player_id": player, "win_amount": won} for player, won in pot.wins.items()
                    ],
                }
                for number, pot in enumerate(settled.pots)
            ],
            "x_rake_is_for_hand": True,
            "x_uncalled_returned": [
                {"player_id": player, "amount": amount} for player, amount in settled.returned
            ],
        }
    }


def encode(document: dict[str, Any]) -> bytes:
    """Write a translated hand as JSON, with exact amounts."""
    return _ENCODER.encode(document)


_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


def _money(phh: Phh, play: "_Play") -> dict[str, Any]:
    """Say what the amounts are of."""
    currency = phh.currency or _CURRENCIES.get(phh.currency_symbol or "")
    if currency is not None:
        return {"currency": currency}
    amounts = [*phh.starting_stacks, *(player.put_in for player in play.players)]
    amounts += [*(phh.finishing_stacks or ()), *(phh.winnings or ())]
    if any(amount % 1 for amount in amounts):
        return {"currency": PLAY_MONEY}
    return {"tournament": True, "tournament_info": {"name": phh.event}}


@dataclass
class _Player:
    """A player while the hand is played; ``bet`` is what he has bet in this round."""

    number: int
    starting: Amount
    put_in: Amount = 0
    dead: Amount = 0
    bet: Amount = 0
    cards: int = 0
    draws: int = 0
    folded: int = 0

    @property
    def left(self) -> Amount:
        return self.starting - self.put_in


class _Play:
    """Follows a hand's actions, and writes them into ``rounds``."""

    def __init__(self, phh: Phh) -> None:
        self.phh = phh
        self.players = [
            _Player(number, stack) for number, stack in enumerate(phh.starting_stacks, 1)
        ]
        self.streets = _STREETS.get(phh.variant, _FLOP_STREETS)
        self.stud = self.streets is _STUD_STREETS
        self.rounds: list[dict[str, Any]] = []
        self.board = 0
        self.board_when_bet = 0
        self.folds = 0

    def run(self) -> None:
        """Follow the hand from its forced bets to the last card. Raises Malformed."""
        self._start(self.streets[0])
        self._force_bets()
        for number, action in enumerate(self.phh.actions):
            words = action.partition("#")[0].split()
            if not words:
                continue
            try:
                self._follow(words)
            except ArithmeticError:
                raise Malformed("This is no amount.", field=f"actions[{number}]") from None
            except ValueError as error:
                raise Malformed(f"{error}.", field=f"actions[{number}]") from None

    # -- forced bets -----------------------------------------------------------------------------

    def stakes(self) -> dict[str, Any]:
        """Return what the table plays for."""
        phh, posts = self.phh, self._posts()
        antes = set(phh.antes)
        stakes: dict[str, Any] = {
            "small_blind_amount": next((a for _, kind, a in posts if kind == "Post SB"), 0),
            "big_blind_amount": next((a for _, kind, a in posts if kind == "Post BB"), 0),
            "ante_amount": antes.pop() if len(antes) == 1 else 0,
        }
        if phh.bring_in is not None:
            stakes["x_bring_in"] = phh.bring_in
        if phh.small_bet is not None:
            stakes["x_small_bet"] = phh.small_bet
            stakes["x_big_bet"] = 2 * phh.small_bet if phh.big_bet is None else phh.big_bet
        return stakes

    def _force_bets(self) -> None:
        antes = self._in_turn(self.phh.antes)
        paid = {min(ante, one.left) for one, ante in zip(self.players, antes, strict=False)}
        # Antes that differ, such as a big blind's, match nothing where they are not trimmed.
        dead = not self.phh.ante_trimming_status and len(paid) > 1
        for player, ante in zip(self.players, antes, strict=False):
            if ante:
                self._put(player, "Post Dead" if dead else "Post Ante", ante)
                player.bet = 0
        for player, kind, amount in self._posts():
            self._put(player, kind, amount)

    def _posts(self) -> list[tuple[_Player, str, Amount]]:
        """Name the blinds: a small and a big one, straddles, and what newcomers post.

        A blind that stands alone is the big one: the small blind is dead.
        """
        posts = list(zip(self.players, self._in_turn(self.phh.blinds_or_straddles), strict=False))
        if len(posts) == 2:
            posts.reverse()
        blinds = [player for player, amount in posts if amount > 0][:2]
        named: list[tuple[_Player, str, Amount]] = []
        for player, amount in posts:
            if amount < 0:
                named.append((player, "Post Extra Blind", -amount))
            elif amount and player not in blinds:
                named.append((player, "Straddle", amount))
            elif amount:
                small = len(blinds) == 2 and player is blinds[0]
                named.append((player, "Post SB" if small else "Post BB", amount))
        return named

    def _in_turn(self, amounts: Sequence[Amount]) -> Sequence[Amount]:
        """Give each player his forced bet: of two, p1 is the big blind, though named second."""
        return amounts[::-1] if len(self.players) == 2 else amounts

    # -- actions ---------------------------------------------------------------------------------

    def _follow(self, words: Sequence[str]) -> None:
        match words:
            case "d", "db", cards:
                self._lay(_cards(cards))
            case "d", "dh", player, cards:
                self._deal(self._player(player), _cards(cards))
            case player, "sd", *cards if len(cards) < 2:
                self._draw(self._player(player), _cards("".join(cards)))
            case player, "pb":
                self._put(self._player(player), "Bring In", self.phh.bring_in or 0)
            case player, "f":
                self._fold(self._player(player))
            case player, "cc":
                self._call(self._player(player))
            case player, "cbr", amount:
                self._raise(self._player(player), Decimal(amount.replace(",", "")))
            case player, "sm":
                self._note(self._player(player), "Mucks Cards")
            case player, "sm", cards:
                shown = [] if cards == "-" else _cards(cards)
                self._note(self._player(player), "Shows Cards", cards=shown)
            case _:
                raise ValueError("This is no action of PHH")

    def _player(self, label: str) -> _Player:
        number = label.removeprefix("p")
        if not (label.startswith("p") and number.isascii() and number.isdigit()):
            raise ValueError(f"{label} is no player")
        if not 1 <= int(number[:9]) <= len(self.players):
            raise ValueError(f"There is no player {label}")
        return self.players[int(number) - 1]

    def _fold(self, player: _Player) -> None:
        self.folds += 1
        player.folded = player.folded or self.folds
        self._note(player, "Fold")

    def _call(self, player: _Player) -> None:
        owed = min(self._to_match() - player.bet, player.left)
        if owed > 0:
            self._put(player, "Call", owed)
        else:
            self._note(player, "Check")
        self.board_when_bet = self.board

    def _raise(self, player: _Player, to: Decimal) -> None:
        if not to.is_finite() or to < player.bet:
            raise ValueError("A bet cannot be raised to less than it is")
        self._put(player, "Raise" if self._to_match() else "Bet", to - player.bet)
        self.board_when_bet = self.board

    def _to_match(self) -> Amount:
        return max(player.bet for player in self.players)

    def _put(self, player: _Player, kind: str, amount: Amount) -> None:
        """Note what a player puts in; a forced bet is at most what he has."""
        forced = kind not in ("Bet", "Raise", "Call")
        paid = min(amount, player.left) if forced else amount
        if not paid and forced:
            return
        player.put_in += paid
        if kind == "Post Dead":
            player.dead += paid
        else:
            player.bet += paid
        self._note(player, kind, amount=paid, is_allin=player.left <= 0)

    # -- cards -----------------------------------------------------------------------------------

    def _deal(self, player: _Player, cards: Sequence[str]) -> None:
        if self.stud and player.cards >= 3:
            self._start(self.streets[min(player.cards - 2, len(self.streets) - 1)])
        player.cards += len(cards)
        self._note(player, "Dealt Cards", cards=cards)

    def _draw(self, player: _Player, cards: Sequence[str]) -> None:
        player.draws += 1
        self._start(self.streets[min(player.draws, len(self.streets) - 1)])
        self._note(player, "Discard" if cards else "Stand Pat", cards=cards)

    def _lay(self, cards: Sequence[str]) -> None:
        """Lay cards on the board; when it is full they are those of a second run."""
        if self.stud:
            self._start(self.streets[-1])
        else:
            if self.board >= _BOARD[-1]:
                self.board = self.board_when_bet
            street = next((n for n, full in enumerate(_BOARD, 1) if self.board < full), 3)
            self._start(self.streets[street], again=self.board in (0, *_BOARD))
        self.board += len(cards)
        self.rounds[-1]["cards"] += cards

    # -- writing ---------------------------------------------------------------------------------

    def _start(self, street: str, *, again: bool = False) -> None:
        """Begin a round, unless it is the one that is played already."""
        if self.rounds and self.rounds[-1]["street"] == street and not again:
            return
        for player in self.players:
            player.bet = 0
        self.rounds.append({"id": len(self.rounds), "street": street, "cards": [], "actions": []})

    def _note(self, player: _Player, action: str, **more: Any) -> None:
        actions = self.rounds[-1]["actions"]
        said = {"action_number": len(actions) + 1, "player_id": player.number, "action": action}
        actions.append({**said, **more})


def _cards(text: str) -> list[str]:
    """Write cards the way that this project does; of which only part is known is not known."""
    cards = [repr(card) for card in pokerkit.Card.parse(text)]
    return ["??" if "?" in card else card for card in cards]
