"""Which cards each player has and what lies on the board, as a hand was posted.

What a post leaves out is not known and no fault: a player's cards that were never shown, the
cards face down of a stud hand, whole streets. ``??`` stands for such a card.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ledger.hands.contributions import Contribution, Tally
from ledger.hands.deck import UNKNOWN
from ledger.hands.games import NO_STREET, GamePlay, Street
from ledger.hands.ohh import Hand, Round
from ledger.rulebooks.play import GameRules
from ledger.rulebooks.values import CardCode


class Fault(NamedTuple):
    """What cannot be in the cards that were posted."""

    code: CardCode
    where: str
    message: str
    expected: Any
    posted: Any


class Cards:
    """The cards of a hand; players by their ids in the hand.

    ``own`` are each player's cards, of draw games those that he held in the end and did not fold.
    ``up`` are his cards that lie face up, in dealing order. There are two ``boards`` when a street
    was run twice; ``on_board`` are the cards of all of them. ``faulty`` are players whose cards
    cannot be what was posted, ``seen`` cards that went through somebody's hands. ``shared``: the
    board's card is everybody's seventh.
    """

    __slots__ = (
        "board_faulty",
        "boards",
        "faults",
        "faulty",
        "on_board",
        "own",
        "seen",
        "shared",
        "up",
    )

    def __init__(self, own: dict[int, list[str]], board: list[str]) -> None:
        self.own = own
        self.up: dict[int, list[str]] = {}
        self.boards = [board]
        self.on_board = board
        self.shared = False
        self.seen: set[str] = set()
        self.faulty: set[int] = set()
        self.board_faulty = False
        self.faults: list[Fault] = []

    def add_fault(self, fault: Fault, player: int | None = None) -> None:
        """Note what is wrong, and with whose cards; None for the board's."""
        self.faults.append(fault)
        if player is None:
            self.board_faulty = True
        else:
            self.faulty.add(player)


def read_dealt(hand: Hand, play: GamePlay, rules: GameRules, tally: Tally) -> Cards:
    """Read the cards of a game without draws."""
    cards = _read_plain(hand, play) if play.dealt_at_once else None
    return cards or _Reader(hand, play, rules, tally).read()


def _read_plain(hand: Hand, play: GamePlay) -> Cards | None:
    """Read a hand of hold'em or Omaha in which nothing is left out or odd; None for any other.

    Nine hands of ten are such hands, and this takes half the time.
    """
    own: dict[int, list[str]] = {}
    board: list[str] = []
    first = hand.rounds[0] if hand.rounds else None
    for round_ in hand.rounds:
        laid: Any = round_.cards
        if laid is not None:
            street = play.by_name.get(round_.street, NO_STREET)
            if len(laid) != street.board or play.board_before[street.name] != len(board):
                return None
            board = board + laid
        for action in round_.actions:
            cards: Any = action.cards
            if cards is None:
                continue
            player = action.player_id
            if player in own:
                if own[player] != cards or action.action == "Dealt Cards":
                    return None
            elif action.action != "Dealt Cards" or len(cards) != play.own or round_ is not first:
                return None
            elif player is not None:
                own[player] = cards
    return Cards(own, board)


class _Reader:
    def __init__(self, hand: Hand, play: GamePlay, rules: GameRules, tally: Tally) -> None:
        self.hand = hand
        self.play = play
        self.rules = rules
        self.tally = tally
        self.cards = Cards({}, [])
        self.folded: dict[int | None, int] = {}
        """The number of the round in which a player folded."""
        self.told: dict[int, list[str]] = {}
        """What players showed, or mucked for others to see."""
        self.told_in: dict[int, int] = {}
        """The number of the round in which they did."""
        self.streets_dealt: set[str] = set()
        self.boards: dict[str, list[list[str]]] = {}

    def read(self) -> Cards:
        told, at_once = self.told, self.play.dealt_at_once
        for number, round_ in enumerate(self.hand.rounds):
            dealt: dict[int, list[str]] = {}
            for action in round_.actions:
                cards: Any = action.cards
                if cards is None:
                    if not at_once and action.action == "Fold":
                        self.folded[action.player_id] = number
                    continue
                kind, player = action.action, action.player_id
                if player is not None:
                    into = dealt if kind == "Dealt Cards" else told
                    self.told_in[player] = number
                    before = into.get(player)
                    into[player] = cards if before is None else before + _new(kind, before, cards)
            if round_.cards is not None:
                self._board(number, round_)
            if dealt or not at_once:
                self._deal(number, round_.street, dealt)
        if told or len(self.tally.finished) > 1:
            self._show()
        self._lay_out()
        return self.cards

    # -- each street -----------------------------------------------------------------------------

    def _deal(self, number: int, name: str, dealt: dict[int, list[str]]) -> None:
        """Give everyone his cards of a street."""
        own, up, folded = self.cards.own, self.cards.up, self.folded
        street = self.play.by_name.get(name, NO_STREET)
        if name in self.streets_dealt or self._is_shared(street):
            street = NO_STREET
        self.streets_dealt.add(name)
        for player, posted in dealt.items():
            due = street if folded.get(player, number) >= number else NO_STREET
            given = posted
            if len(posted) != due.own:
                given = self._odd_number(number, player, posted, due)
            before = own.get(player)
            own[player] = given if before is None else before + given
            if due.up:
                up[player] = up.get(player, []) + given[due.down :]
        if self.play.dealt_at_once or not street.own:
            return
        for who in self.tally.players.values():
            player = who.player_id
            if who.dealt and player not in dealt and self._in(who, number):
                own[player] = own.get(player, []) + [UNKNOWN] * street.own
                up[player] = up.get(player, []) + [UNKNOWN] * street.up

    def _odd_number(self, number: int, player: int, posted: list[str], street: Street) -> list[str]:
        """Fill in the cards face down that a post left out; any other number of cards is wrong."""
        if 0 < street.up == len(posted):
            return [UNKNOWN] * street.down + posted
        fault = Fault(
            "wrong-card-count",
            f"rounds[{number}].actions",
            "A player was dealt another number of cards than the game deals on this street.",
            [{"player": player, "cards": street.own}],
            [{"player": player, "cards": len(posted)}],
        )
        self.cards.add_fault(fault, player)
        return posted

    def _board(self, number: int, round_: Round) -> None:
        cards: Any = round_.cards
        name = round_.street
        street = self.play.by_name.get(name, NO_STREET)
        expected = street.board
        if self._may_be_shared(street) and self._deck_ran_out(number):
            self.cards.shared = True
            expected = 1
        if len(cards) != expected:
            fault = Fault(
                "wrong-card-count",
                f"rounds[{number}].cards",
                "Another number of cards lies on the board than the game deals on this street.",
                expected,
                len(cards),
            )
            self.cards.add_fault(fault)
        elif not round_.actions and name not in self.boards:
            self._check_order(number, street)
        self.boards.setdefault(name, []).append(cards)

    def _check_order(self, number: int, street: Street) -> None:
        """Check that no later street was dealt before; where it is bet on, the betting tells."""
        names = [one.name for one in self.play.streets]
        later = names[names.index(street.name) + 1 :]
        if not any(name in self.boards for name in later):
            return
        fault = Fault(
            "wrong-card-count",
            f"rounds[{number}].street",
            "Another number of cards lay on the board before this street.",
            self.play.board_before[street.name],
            sum(len(one) for found in self.boards.values() for one in found),
        )
        self.cards.add_fault(fault)

    def _may_be_shared(self, street: Street) -> bool:
        return self.rules.deck_runs_short == "shared-card" and street is self.play.streets[-1]

    def _is_shared(self, street: Street) -> bool:
        return self.cards.shared and street is self.play.streets[-1]

    def _deck_ran_out(self, number: int) -> bool:
        """Tell whether too few cards are left for everyone's last card. Source: K 10.7.7."""
        gone = sum(len(mine) for mine in self.cards.own.values())
        left = self.rules.deck(self.tally.dealt).cards() - gone
        still_in = [
            who for who in self.tally.players.values() if who.dealt and self._in(who, number)
        ]
        return left < len(still_in)

    def _in(self, who: Contribution, number: int) -> bool:
        """Tell whether a player had not folded before a round."""
        return self.folded.get(who.player_id, number) >= number

    # -- when all is dealt -----------------------------------------------------------------------

    def _show(self) -> None:
        """Add what players showed, and mark what is missing at a showdown."""
        own, play = self.cards.own, self.play
        full = play.own - 1 if self.cards.shared else play.own
        in_showdown = set()
        if len(self.tally.finished) > 1:
            in_showdown = {who.player_id for who in self.tally.finished}
        for player, shown in self.told.items():
            mine = own.get(player, [])
            if mine == shown or player in self.cards.faulty or _twice(mine):
                continue
            due = full if play.dealt_at_once or player in in_showdown else len(mine)
            where = f"rounds[{self.told_in[player]}].actions"
            own[player], faults = join(player, mine, shown, due, where)
            for fault in faults:
                self.cards.add_fault(fault, player)
        for player in in_showdown:
            missing = full - len(own.get(player, ()))
            if missing > 0:
                own[player] = own.get(player, []) + [UNKNOWN] * missing

    def _lay_out(self) -> None:
        """Put the boards together; a street that was not run again lies on both."""
        laid = self.boards.values()
        self.cards.on_board = [card for found in laid for one in found for card in one]
        runs = max([len(found) for found in laid], default=1)
        if runs == 1:
            self.cards.boards = [self.cards.on_board]
            return
        boards: list[list[str]] = [[] for _ in range(runs)]
        again = False
        for street in self.play.streets:
            found = self.boards.get(street.name, [])
            again = again or len(found) > 1
            for run in range(runs):
                if run < len(found) or (found and not again):
                    boards[run] += found[min(run, len(found) - 1)]
                else:
                    boards[run] += [UNKNOWN] * street.board
        self.cards.boards = boards


def _new(kind: str, before: Sequence[str], cards: Sequence[str]) -> list[str]:
    """Return what a further action adds to the cards that a player was dealt, or has shown."""
    return list(cards) if kind == "Dealt Cards" else newly_shown(before, cards)


def newly_shown(before: Sequence[str], cards: Sequence[str]) -> list[str]:
    """Return what a further showing adds: shown again is shown once, shown twice at once is not."""
    new = [card for card in cards if card not in before]
    known = set(cards) - {UNKNOWN}
    return new + [card for card in before if card in known and cards.count(card) > 1]


def join(
    player: int, mine: Sequence[str], shown: Sequence[str], due: int, where: str
) -> tuple[list[str], list[Fault]]:
    """Join what a player was dealt with what he showed, into so many cards."""
    faults = []
    known = [card for card in mine if card != UNKNOWN]
    seen = [card for card in shown if card != UNKNOWN]
    if _twice(seen):
        message = "A player showed a card twice."
        faults.append(Fault("duplicate-card", where, message, None, list(shown)))
    known += [card for card in seen if card not in known]
    count = max(len(known), len(shown))
    if count > due:
        fault = Fault(
            "wrong-card-count",
            where,
            "A player showed other cards than he was dealt, or too many.",
            [{"player": player, "cards": due}],
            [{"player": player, "cards": count}],
        )
        faults.append(fault)
    return known + [UNKNOWN] * (due - len(known)), faults


def _twice(cards: Sequence[str]) -> bool:
    known = [card for card in cards if card != UNKNOWN]
    return len(set(known)) < len(known)
