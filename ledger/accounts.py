"""The chart of accounts: every account is ``component:network[:part…]``.

Debits are positive. Assets have debit balances; what is owed, and income, have credit balances.
"""

from typing import Final, Literal, NamedTuple

Side = Literal[
    "asset",
    "player-funds",
    "owed-to-others",
    "income",
    "expense",
    "equity",
    "capital",
    "suspense",
]

COMPONENTS: Final[dict[str, Side]] = {
    "bank": "asset",
    "transit": "asset",
    "debt": "asset",
    "at-partner": "asset",
    "bankroll": "player-funds",
    "frozen": "player-funds",
    "withdrawal": "player-funds",
    "chips": "player-funds",
    "pot": "player-funds",
    "jackpot": "player-funds",
    "partner": "owed-to-others",
    "rake": "income",
    "fee": "expense",
    "shortfall": "expense",
    "swept": "equity",
    "own-funds": "capital",
    "play-issue": "equity",
    "suspense": "suspense",
}
"""Component -> side of the book. Source: K 1.8 (player funds), K 5.1, DESIGN accounts."""

OF_PLAYERS: Final = ("bankroll", "frozen", "withdrawal", "chips", "debt")
"""Components of accounts that belong to one player each."""


class Account(NamedTuple):
    """An account code, taken apart."""

    component: str
    network: str
    parts: tuple[str, ...]

    @property
    def side(self) -> Side:
        return COMPONENTS[self.component]

    @property
    def player(self) -> str | None:
        """The player that the account belongs to, if it is one player's."""
        if self.component not in OF_PLAYERS:
            return None
        return self.parts[1] if self.component == "chips" else self.parts[0]

    @property
    def table(self) -> str | None:
        return self.parts[0] if self.component in ("chips", "pot") else None

    @property
    def partner(self) -> str | None:
        """The partner whose account it is; a player's partner is known by the player alone."""
        return self.parts[0] if self.component in ("rake", "partner", "at-partner") else None


def parse(code: str) -> Account:
    """Take an account code apart."""
    component, network, *parts = code.split(":")
    return Account(component, network, tuple(parts))


def bank(network: str) -> str:
    """Asset: the client-funds bank account. Source: K 5.1."""
    return f"bank:{network}"


def transit(network: str, provider: str) -> str:
    """Asset: deposits confirmed by a payment provider and not yet at the bank."""
    return f"transit:{network}:{provider}"


def debt(network: str, player: str) -> str:
    """Asset: what a player owes; never netted against what others are owed."""
    return f"debt:{network}:{player}"


def bankroll(network: str, player: str) -> str:
    """Owed to a player: cash on the player account. Source: K 1.10."""
    return f"bankroll:{network}:{player}"


def frozen(network: str, player: str) -> str:
    """Owed to a player, held during an investigation. Source: K 3.12."""
    return f"frozen:{network}:{player}"


def withdrawal(network: str, player: str) -> str:
    """Owed to a player: requested and not yet paid."""
    return f"withdrawal:{network}:{player}"


def chips(network: str, table: str, player: str) -> str:
    """Owed to a player: the chips in front of him at a table. Source: K 1.11."""
    return f"chips:{network}:{table}:{player}"


def pot(network: str, table: str) -> str:
    """Staked in the running hand of a table; zero between hands. Source: K 1.13."""
    return f"pot:{network}:{table}"


def jackpot(network: str, name: str) -> str:
    """Owed to players together: a progressive jackpot pool. Source: D."""
    return f"jackpot:{network}:{name}"


def rake(network: str, partner: str) -> str:
    """Income: rake of a partner's players. Source: K 1.9."""
    return f"rake:{network}:{partner}"


def at_partner(network: str, partner: str) -> str:
    """Asset, apart: players' money that a partner got in a settlement; it covers no player funds.

    Its counterpart is what the partner owes: the two are always alike. Source: K 3.9.
    """
    return f"at-partner:{network}:{partner}"


def partner(network: str, name: str) -> str:
    """Owed to players by a partner, no longer by the room: money settled with the partner.

    Source: K 3.11, K 5.1.
    """
    return f"partner:{network}:{name}"


def fee(network: str, provider: str) -> str:
    """Expense: what a payment provider kept of players' deposits; the operator bears it."""
    return f"fee:{network}:{provider}"


def swept(network: str) -> str:
    """Earned rake that the operator took out of the client-funds account."""
    return f"swept:{network}"


def own_funds(network: str) -> str:
    """The operator's own money that it put into the client-funds account."""
    return f"own-funds:{network}"


def shortfall(network: str) -> str:
    """Expense: what nobody can be made to pay."""
    return f"shortfall:{network}"


def play_issue(network: str) -> str:
    """Counterpart of play money and credits given out."""
    return f"play-issue:{network}"


def suspense(network: str) -> str:
    """What an operator must clear."""
    return f"suspense:{network}"
