"""Who wins each part of a pot by the cards, and where cards that are not known could decide.

The last player left in a pot needs no cards. Who mucked and was not seen does not win, unless he
was posted as a winner; cards that are known speak for themselves.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from typing import Final, Literal, NamedTuple

from ledger.hands.dealing import Cards
from ledger.hands.deck import CARDS, UNKNOWN, numbers
from ledger.hands.games import GamePlay
from ledger.hands.ohh import Hand
from ledger.hands.ranking import by_game, ordinary

Half = Literal["high", "low"]

_MOST_UNKNOWN: Final = 3
"""With more cards unknown nothing is ruled out: trying them all would take too long."""


class Part(NamedTuple):
    """The part of a pot that one board decides, or its high or low half.

    ``winners`` have the best of the known hands; ``open`` are players whose unknown cards could
    win this part or a share of it.
    """

    board: int
    half: Half | None
    winners: tuple[int, ...]
    open: tuple[int, ...] = ()


class Showdown:
    """The cards of a hand at its end, ready to be compared; ``pack`` is the deck it is played with.

    Players stand by their ids in the hand.
    """

    def __init__(self, hand: Hand, play: GamePlay, cards: Cards, pack: Collection[str]) -> None:
        self.hand = hand
        self.play = play
        self.cards = cards
        self._pack = pack
        self._hands: dict[int, list[int] | None] = {}
        self._strengths: dict[tuple[int, int], int] = {}
        self._boards: list[list[int] | None] = []
        self._mucked: set[int | None] | None = None

    @property
    def boards(self) -> list[list[int] | None]:
        """The boards; None for one that is not known."""
        if not self._boards:
            cards = self.cards
            size = 1 if cards.shared else self.play.board
            self._boards = [
                None
                if cards.board_faulty or len(board) != size or UNKNOWN in board
                else numbers(board)
                for board in cards.boards
            ]
        return self._boards

    @property
    def mucked(self) -> set[int | None]:
        """The players who mucked their cards."""
        if self._mucked is None:
            actions = [action for round_ in self.hand.rounds for action in round_.actions]
            self._mucked = {one.player_id for one in actions if one.action == "Mucks Cards"}
        return self._mucked

    def hand_of(self, player: int) -> list[int] | None:
        """Return a player's own cards; None unless all of them are known."""
        if player in self._hands:
            return self._hands[player]
        cards = self.cards
        own = cards.own.get(player, ())
        whole = len(own) == self._size and UNKNOWN not in own
        found = numbers(own) if whole and player not in cards.faulty else None
        self._hands[player] = found
        return found

    def strength(self, player: int, board: int) -> int | None:
        """Rank a player's hand on a board; None unless all cards of both are known."""
        key = player, board
        found = self._strengths.get(key)
        if found is None:
            own, on_board = self.hand_of(player), self.boards[board]
            if own is None or on_board is None:
                return None
            found = self._strengths[key] = by_game.strength(self.play, own, on_board)
        return found

    def low_strength(self, player: int, board: int) -> int | None:
        """Rank a player's low on a board; None when it does not qualify or is not known."""
        own, on_board = self.hand_of(player), self.boards[board]
        if self.play.low is None or own is None or on_board is None:
            return None
        return by_game.low_strength(self.play, own, on_board)

    def parts(self, entitled: Sequence[int], posted: Collection[int]) -> list[Part]:
        """Decide a pot among those who may win it; ``posted`` are its winners as posted.

        With high and low halves both are there, unless no low can qualify: then high takes all.
        Source: K 10.3-10.12 (Showdown).
        """
        contenders = [
            player
            for player in entitled
            if self.hand_of(player) is not None or player in posted or player not in self.mucked
        ] or entitled
        boards = range(len(self.boards))
        if len(contenders) < 2:
            alone = tuple(contenders)
            shown = len(entitled) > 1 and len(alone) == 1
            if shown and any(self.low_strength(alone[0], board) is not None for board in boards):
                return [Part(0, "high", alone), Part(0, "low", alone)]
            return [Part(0, None, alone)]
        high = [self._high(board, contenders, len(entitled)) for board in boards]
        if self.play.low is None:
            return high
        low = [part for board in boards if (part := self._low(board, contenders)) is not None]
        return [*[part._replace(half="high") for part in high], *low] if low else high

    def name(self, player: int, part: Part) -> str | None:
        """Say in words what a player holds for a part; None when his cards are not known."""
        if part.half == "low":
            low = self.low_strength(player, part.board)
            return None if low is None else by_game.low_name(low)
        high = self.strength(player, part.board)
        return None if high is None else by_game.name(self.play, high)

    # -- high and low ----------------------------------------------------------------------------

    def _high(self, board: int, contenders: Sequence[int], players_left: int) -> Part:
        strengths: dict[int, int] = {}
        for player in contenders:
            strength = self.strength(player, board)
            if strength is not None:
                strengths[player] = strength
        if not strengths:
            return Part(board, None, (), tuple(contenders))
        best = max(strengths.values())
        if players_left == 2 and len(strengths) == 2:
            one, other = strengths.values()
            best = one if by_game.beats(self.play, one, other, 2) else other
        winners = tuple([player for player, strength in strengths.items() if strength == best])
        if len(strengths) == len(contenders):
            return Part(board, None, winners)
        could = [
            player
            for player in contenders
            if player not in strengths and self._may_win(player, board, best, players_left)
        ]
        return Part(board, None, winners, tuple(could))

    def _low(self, board: int, contenders: Sequence[int]) -> Part | None:
        lows = {player: self.low_strength(player, board) for player in contenders}
        best = max((low for low in lows.values() if low is not None), default=0)
        winners = tuple([player for player, low in lows.items() if low == best])
        could = [
            player
            for player, low in lows.items()
            if low is None and self._may_be_low(player, board, best)
        ]
        return Part(board, "low", winners, tuple(could)) if winners or could else None

    # -- cards that are not known ----------------------------------------------------------------

    def _may_win(self, player: int, board: int, best: int, players_left: int) -> bool:
        """Tell whether a player's unknown cards could make a hand that ``best`` does not beat."""
        play, on_board = self.play, self.boards[board]
        if on_board is None or player in self.cards.faulty:
            return True
        own, missing = self._own(player)
        if play.uses == "two-and-three":
            return any(_of_pair(two, on_board, best) for two in self._pairs(own, missing, on_board))
        if missing > _MOST_UNKNOWN:
            return True
        hands = ((*own, *held) for held in combinations(self._unseen(on_board), missing))
        return any(
            not by_game.beats(play, best, by_game.strength(play, hand, on_board), players_left)
            for hand in hands
        )

    def _may_be_low(self, player: int, board: int, best: int) -> bool:
        """Tell whether a player's unknown cards could make a low at least as good as the best.

        One card of each rank is enough to try, and a further rank never spoils a low.
        """
        on_board = self.boards[board]
        if on_board is None or player in self.cards.faulty:
            return True
        own, missing = self._own(player)
        if not missing:
            return False
        ranks = list({card >> 2: card for card in self._unseen(on_board)}.values())
        hands = ((*own, *held) for held in combinations(ranks, min(missing, 5)))
        return any(
            (by_game.low_strength(self.play, hand, on_board) or -1) >= best for hand in hands
        )

    @property
    def _size(self) -> int:
        """How many cards of his own a player has in the end."""
        return self.play.own - 1 if self.cards.shared else self.play.own

    def _own(self, player: int) -> tuple[list[int], int]:
        """Return the cards of a player that are known, and how many are not."""
        own = [CARDS[card] for card in self.cards.own.get(player, ()) if card in CARDS]
        return own, self._size - len(own)

    def _unseen(self, board: Sequence[int]) -> list[int]:
        """List the cards that an unknown card can be, those first that go well with the board."""
        seen = {card for own in self.cards.own.values() for card in own}
        seen.update(self.cards.on_board)
        on_board = {card >> 2 for card in board}
        unseen = numbers(card for card in self._pack if card not in seen)
        return sorted(unseen, key=lambda card: (card >> 2 in on_board, card), reverse=True)

    def _pairs(
        self, own: Sequence[int], missing: int, board: Sequence[int]
    ) -> Iterator[tuple[int, ...]]:
        """Try every two cards that a player of Omaha may hold."""
        unseen = self._unseen(board)
        yield from combinations(own, 2)
        if missing:
            yield from ((mine, card) for mine in own for card in unseen)
        if missing > 1:
            yield from combinations(unseen, 2)


def _of_pair(two: Sequence[int], board: Sequence[int], best: int) -> bool:
    """Tell whether two own cards and three of the board are as good as the best hand."""
    if ordinary.strength((*two, *board)) < best:
        return False
    return any(ordinary.strength((*two, *three)) >= best for three in combinations(board, 3))
