"""May this player's money move: what the cashier and the tables ask of an account first."""

from typing import ClassVar

from ledger.core import Book, Context, Kind, Refused, Retry
from ledger.players.events import DebtCollected, PlayerState, player_stream
from ledger.rulebooks.schema import Rulebook


class UnknownPlayer(Refused):
    """No player of this network has that id."""

    code = "unknown-player"
    kind: ClassVar[Kind] = "missing"


class PlayerIsSuspended(Refused):
    """A suspended player does not play, deposit or withdraw. Source: K 9.1."""

    code = "player-suspended"
    kind: ClassVar[Kind] = "forbidden"
    retry: ClassVar[Retry] = "later"


class PlayerIsClosed(Refused):
    """The account was closed for good."""

    code = "player-closed"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class InsufficientFunds(Refused):
    """The bankroll is smaller than the amount; frozen and reserved money does not count."""

    code = "insufficient-funds"


class CurrencyMismatch(Refused):
    """The rulebook or the table does not allow this currency."""

    code = "currency-mismatch"


def known(book: Book, network: str, player: str) -> PlayerState:
    """Return a player whatever his standing. Raises UnknownPlayer."""
    state: PlayerState | None = book.get(player_stream(network, player))
    if state is None:
        raise UnknownPlayer("No such player.", field="player")
    return state


def not_closed(book: Book, network: str, player: str) -> PlayerState:
    """Return a player whose account exists still. Raises UnknownPlayer, PlayerIsClosed."""
    state = known(book, network, player)
    if state.status == "closed":
        raise PlayerIsClosed("The account was closed.", field="player")
    return state


def active(book: Book, network: str, player: str) -> PlayerState:
    """Return a player who may play, deposit and withdraw.

    Raises UnknownPlayer, PlayerIsClosed, PlayerIsSuspended.
    """
    state = not_closed(book, network, player)
    if state.status == "suspended":
        raise PlayerIsSuspended("The player is suspended.", field="player")
    return state


def affordable(player: PlayerState, currency: str, amount_minor: int) -> None:
    """Refuse more than is free on the bankroll. Raises InsufficientFunds."""
    available = player.purse(currency).bankroll_minor
    if amount_minor > available:
        raise InsufficientFunds(
            "The bankroll is smaller than the amount.",
            field="amount_minor",
            available_minor=available,
            currency=currency,
        )


def debt_collected(
    player: PlayerState, currency: str, credited_minor: int, rulebook: Rulebook, context: Context
) -> list[DebtCollected]:
    """Take what the player owes from what is credited to him, where the rulebook says so."""
    if rulebook.funds.debts_collected == "none":
        return []
    taken = min(credited_minor, player.purse(currency).debt_minor)
    if not taken:
        return []
    return [
        DebtCollected(
            **context,
            network=player.network,
            player=player.player,
            currency=currency,
            amount_minor=taken,
        )
    ]
