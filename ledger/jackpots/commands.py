"""Settling, releasing and annulling hits of a jackpot, one after the other.

A jackpot's pool is the sum of what very many hands paid in, so no stream knows it. The commands
carry what the book said of the hit, as the treasury's do, and the event keeps it as evidence. That
no hit is left out, none is settled twice, and what was paid before is all taken off, is decided
over the jackpot's own stream.
"""

from typing import Any, ClassVar

import msgspec

from ledger.bounds import text
from ledger.core import Approvable, Asked, Book, Command, Decision, Event, Kind, Refused, Retry
from ledger.hands.events import BadBeatHit, HandState, hand_stream
from ledger.jackpots.events import (
    HitAnnulled,
    HitReleased,
    HitSettled,
    JackpotState,
    Share,
    jackpot_stream,
)
from ledger.jackpots.sharing import shares_of
from ledger.money import text as in_words
from ledger.players.events import JackpotWon, PlayerState, player_stream
from ledger.players.standing import debt_collected
from ledger.rulebooks import Rulebook, adopted, asked
from ledger.rulebooks.grounds import known_ground


class UnknownJackpot(Refused):
    """No table plays for a jackpot of this name, and it has no pool."""

    code = "unknown-jackpot"
    kind: ClassVar[Kind] = "missing"


class UnknownHit(Refused):
    """The hand is not on the books, or did not hit this jackpot."""

    code = "unknown-hit"
    kind: ClassVar[Kind] = "missing"


class HitDecided(Refused):
    """The hit was settled or annulled before."""

    code = "hit-decided"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class HitOutOfOrder(Refused):
    """A hit before this one is neither settled nor annulled: how much this one is depends on it."""

    code = "hit-out-of-order"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "later"


class HitWaits(Refused):
    """The hit is not paid before a second person has released it."""

    code = "hit-waits"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "later"


class HitNotWaiting(Refused):
    """The hit is settled without being released, or was released before."""

    code = "hit-not-waiting"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class HitFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What the book says of a hit; it is the same at whichever later position it is read.

    ``number`` counts the hits of this jackpot by their positions, from 1. ``got_minor`` is all that
    the pool had got up to the hit's position, whatever was paid out of it.
    """

    number: int
    position: int
    got_minor: int


class _OfHit(Command, frozen=True, kw_only=True):
    """A command about one hit of a jackpot."""

    jackpot: str
    currency: str
    game_number: str
    book: HitFigures

    def touches(self) -> tuple[str, ...]:
        return (self._stream, hand_stream(self.network, self.game_number))

    @property
    def _stream(self) -> str:
        return jackpot_stream(self.network, self.jackpot, self.currency)

    def _next(self, book: Book) -> tuple[BadBeatHit, JackpotState]:
        """Return the hit, when it is the next one to be decided, and the jackpot before it.

        Raises UnknownHit, HitDecided, HitOutOfOrder.
        """
        hand: HandState | None = book.get(hand_stream(self.network, self.game_number))
        hit = hand.hit if hand is not None else None
        if hit is None or (hit.jackpot, hit.currency) != (self.jackpot, self.currency):
            raise UnknownHit("No such hit of this jackpot.", field="game_number")
        state: JackpotState | None = book.get(self._stream)
        if state is None:
            state = JackpotState(network=self.network, jackpot=self.jackpot, currency=self.currency)
        if self.book.number <= state.hits:
            raise HitDecided("The hit was settled or annulled before.", field="game_number")
        if self.book.number > state.hits + 1:
            raise HitOutOfOrder(
                "A hit before this one is not decided.",
                field="game_number",
                undecided=self.book.number - 1 - state.hits,
            )
        return hit, state

    def _pool(self, state: JackpotState) -> int:
        return max(self.book.got_minor - state.paid_minor, 0)

    def _said(self) -> dict[str, Any]:
        """Return what the jackpot's events say alike."""
        return {
            "network": self.network,
            "jackpot": self.jackpot,
            "currency": self.currency,
            "game_number": self.game_number,
            "number": self.book.number,
        }

    def _answer(self, status: str) -> dict[str, Any]:
        said = self._said()
        del said["network"]
        return {**said, "status": status}


class SettleHit(_OfHit, frozen=True, kw_only=True):
    """Share a hit out: to the hand that lost, to the winner, to all who were dealt in.

    Who gets a share gets it however his account stands; what he owes is collected first.
    Raises UnknownHit, HitDecided, HitOutOfOrder, HitWaits. Source: D.
    """

    def decide(self, book: Book) -> Decision:
        hit, state = self._next(book)
        if hit.waits and state.released != self.game_number:
            raise HitWaits("The hit is not released.", field="game_number")
        pool = self._pool(state)
        shares = shares_of(hit, pool)
        paid = sum(share.amount_minor for share in shares)
        settled = HitSettled(
            **self.context(hit.rulebook),
            **self._said(),
            hit_position=self.book.position,
            got_minor=self.book.got_minor,
            paid_before_minor=state.paid_minor,
            pool_minor=pool,
            shares=shares,
            left_minor=pool - paid,
        )
        changes: list[tuple[str, Event]] = [(self._stream, settled)]
        for player in dict.fromkeys(share.player for share in shares):
            mine = [share for share in shares if share.player == player]
            stream = player_stream(self.network, player)
            changes += [(stream, event) for event in self._paid(book, player, mine, hit)]
        return Decision(
            changes,
            {
                **self._answer("settled"),
                "pool_minor": pool,
                "paid_minor": paid,
                "left_minor": settled.left_minor,
                "shares": [msgspec.to_builtins(share) for share in shares],
            },
        )

    def _paid(
        self, book: Book, player: str, shares: list[Share], hit: BadBeatHit
    ) -> list[JackpotWon | Event]:
        """Credit a player's shares, and take what he owes from them."""
        state: PlayerState | None = book.get(player_stream(self.network, player))
        assert state is not None, player
        context = self.context(hit.rulebook)
        won: list[JackpotWon | Event] = [
            JackpotWon(
                **context,
                network=self.network,
                player=player,
                jackpot=self.jackpot,
                currency=self.currency,
                game_number=self.game_number,
                part=share.part,
                amount_minor=share.amount_minor,
            )
            for share in shares
        ]
        credited = sum(share.amount_minor for share in shares)
        rulebook = adopted(book, self.network, state.rulebook, self.at.date())
        own = self.context(rulebook.ref)
        return [*won, *debt_collected(state, self.currency, credited, rulebook, own)]


class _Approved(_OfHit, Approvable, frozen=True, kw_only=True):
    """What two persons decide about a hit: the amount is what it would pay."""

    VERB: ClassVar[str]

    reason: str

    def approval(self, book: Book) -> Asked | None:
        hit, state = self._next(book)
        paid = sum(share.amount_minor for share in shares_of(hit, self._pool(state)))
        words = (
            f"{self.VERB} the hit of jackpot {self.jackpot} in hand {self.game_number}, "
            f"{in_words(paid, self.currency)} {self.currency} to {len(hit.dealt)} players: "
            f"{self.reason}"
        )
        return asked(
            *(self._rulebook(book, hit), self.ACTION, paid, self.currency, words),
            jackpot=self.jackpot,
            game_number=self.game_number,
            table=hit.table,
            doubts=list(hit.doubts),
        )

    def _rulebook(self, book: Book, hit: BadBeatHit) -> Rulebook:
        """Return the version in force of the rulebook that judged the hand."""
        name = hit.rulebook.partition("@")[0]
        return adopted(book, self.network, name, self.at.date())


class ReleaseHit(_Approved, frozen=True, kw_only=True):
    """Let a hit be settled that waits for it.

    Raises InvalidField, UnknownHit, HitDecided, HitOutOfOrder, HitNotWaiting.
    """

    ACTION: ClassVar[str] = "release-jackpot"
    VERB: ClassVar[str] = "Release"

    def decide_approved(self, book: Book) -> Decision:
        text(self.reason, "reason")
        hit, state = self._next(book)
        if not hit.waits or state.released == self.game_number:
            raise HitNotWaiting("The hit waits for no release.", field="game_number")
        released = HitReleased(
            **self.context(self._rulebook(book, hit).ref), **self._said(), reason=self.reason
        )
        return Decision([(self._stream, released)], self._answer("released"))


class AnnulHit(_Approved, frozen=True, kw_only=True):
    """Do not pay a hit, on a ground of the rulebook; the pool stays as it is.

    D: when a team plainly played for the jackpot alone, without adding to the rake. A hit that is
    settled is not annulled any more: what was paid is taken back by other ways.
    Raises InvalidField, UnknownHit, HitDecided, HitOutOfOrder. Source: D (3).
    """

    ACTION: ClassVar[str] = "annul-jackpot"
    VERB: ClassVar[str] = "Annul"

    ground: str

    def decide_approved(self, book: Book) -> Decision:
        text(self.reason, "reason")
        hit, _ = self._next(book)
        rulebook = self._rulebook(book, hit)
        known_ground(rulebook, self.ground)
        annulled = HitAnnulled(
            **self.context(rulebook.ref), **self._said(), ground=self.ground, reason=self.reason
        )
        return Decision([(self._stream, annulled)], self._answer("annulled"))
