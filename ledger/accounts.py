"""The chart of accounts: every account is ``component:network[:part…]``.

Debits are positive. Assets have debit balances; what is owed, and income, have credit balances.
"""

from typing import Final, Literal, NamedTuple

Side = Literal["asset", "player-funds", "owed-to-others", "income", "expense", "equity", "suspense"]

COMPONENTS: Final[dict[str, Side]] = {
    "bank": "asset",
    "transit": "asset",
    "debt": "asset",
    "bankroll": "player-funds",
    "frozen": "player-funds",
    "withdrawal": "player-funds",
    "chips": "player-funds",
    "pot": "player-funds",
    "jackpot": "player-funds",
    "rake": "income",
    "shortfall": "expense",
    "play-issue": "equity",
    "suspense": "suspense",
}
"""Component -> side of the book. Source: K 1.8 (player funds), K 5.1, DESIGN accounts."""


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
        if self.component in ("bankroll", "frozen", "withdrawal", "debt"):
            return self.parts[0]
        return self.parts[1] if self.component == "chips" else None

    @property
    def table(self) -> str | None:
        return self.parts[0] if self.component in ("chips", "pot") else None

    @property
    def partner(self) -> str | None:
        """The partner whose income it is; a player's partner is known by the player alone."""
        return self.parts[0] if self.component == "rake" else None


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


def shortfall(network: str) -> str:
    """Expense: what nobody can be made to pay."""
    return f"shortfall:{network}"


def play_issue(network: str) -> str:
    """Counterpart of play money and credits given out."""
    return f"play-issue:{network}"


def suspense(network: str) -> str:
    """What an operator must clear."""
    return f"suspense:{network}"
