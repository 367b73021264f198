"""What a post says, read without the ledger's help: plain dictionaries into plain facts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

FORCED: Final = (
    "Post Ante",
    "Post SB",
    "Post BB",
    "Straddle",
    "Post Dead",
    "Post Extra Blind",
    "Bring In",
)
TURNS: Final = ("Fold", "Check", "Call", "Bet", "Raise")
CARDS: Final = ("Dealt Cards", "Mucks Cards", "Shows Cards", "Discard", "Stand Pat")
OUTSIDE: Final = ("Added Chips", "Sits Down", "Stands Up", "Player Adjustment")

ANTE_GAMES: Final = ("Stud", "StudHiLo", "Soko", "Telesina", "Americana")
"""Games that are opened with antes: their stakes are a small and a big bet, not blinds."""

WHOLE: Final = ("XTC", "XCR", "JPY", "KRW")
"""Currencies without digits, as far as the corpus and its mutants use them."""


class Wrong(Exception):
    """The post breaks a rule, or is none."""


class Unsure(Exception):
    """The second opinion has none: PokerKit does not know the game or the rule."""


def must(right: bool, why: str) -> None:
    """Call the post wrong unless something holds."""
    if not right:
        raise Wrong(why)


@dataclass
class Player:
    """A player; ``live`` is what he put in against others' bets, ``dead`` what matches nothing."""

    id: int
    seat: int
    stack: int
    live: int = 0
    dead: int = 0
    wagered: int = 0
    acted: bool = False
    dealt: bool = False
    folded: bool = False
    mucked: bool = False

    @property
    def put_in(self) -> int:
        return self.live + self.dead


@dataclass
class Act:
    """An action: who did what, for how much."""

    kind: str
    player: int
    amount: int
    all_in: bool
    cards: list[str]
    count: int | None
    reason: str | None


@dataclass
class Street:
    """A round of a post."""

    name: str
    board: list[str]
    acts: list[Act]


@dataclass
class Pot:
    """A pot as it was posted; wins by player and half."""

    number: int
    amount: int
    rake: int
    jackpot: int
    wins: list[tuple[int, int, str | None]]


@dataclass
class Facts:
    """A post. Amounts are whole minor units."""

    said: Mapping[str, Any]
    game: str
    limit: str
    currency: str
    tournament: bool
    players: dict[int, Player] = field(default_factory=dict)
    streets: list[Street] = field(default_factory=list)
    pots: list[Pot] = field(default_factory=list)
    returned: list[tuple[int, int, str | None]] | None = None

    def amount(self, value: Any) -> int:
        """Read an amount; absent it is nothing."""
        if value is None:
            return 0
        must(type(value) in (int, Decimal), "an amount is no number")
        minor = Decimal(value) * (1 if self.currency in WHOLE else 100)
        must(minor.is_finite() and minor == int(minor), "an amount has too many digits")
        must(0 <= minor <= 2**53, "an amount is negative or beyond reason")
        return int(minor)

    def header(self, key: str) -> int:
        return self.amount(self.said.get(key))

    @property
    def ring(self) -> list[Player]:
        """Who was dealt in, clockwise from the left of the dealer."""
        dealer = self.said["dealer_seat"]
        dealt = sorted((one for one in self.players.values() if one.dealt), key=lambda p: p.seat)
        return [p for p in dealt if p.seat > dealer] + [p for p in dealt if p.seat <= dealer]


def read(document: Any) -> Facts:
    """Read a post. Raises Wrong, or whatever Python raises for what cannot be read."""
    said = document["ohh"]
    tournament = said.get("tournament") or False
    game = said["game_type"]
    if game == "Draw":
        game = said.get("x_variant") or game
    if game == "Omaha" and said.get("x_hole_cards") == 5:
        game = "Omaha5"
    currency = "XTC" if tournament else said["currency"].replace("PPC", "XPM")
    facts = Facts(said, game, said["bet_limit"]["bet_type"], currency, tournament)
    for one in said["players"]:
        player = Player(one["id"], one["seat"], facts.amount(one["starting_stack"]))
        must(player.id not in facts.players, "two players have an id")
        facts.players[player.id] = player
    must(len({p.seat for p in facts.players.values()}) == len(facts.players), "a seat is double")
    names = {one["name"] for one in said["players"]}
    must(len(names) == len(facts.players), "a name is double")
    facts.returned = _returned(facts)
    _read_streets(facts)
    _read_pots(facts)
    _deal_in(facts)
    return facts


def _returned(facts: Facts) -> list[tuple[int, int, str | None]] | None:
    posted = facts.said.get("x_uncalled_returned")
    if posted is None:
        return None
    return [(one["player_id"], facts.amount(one["amount"]), one.get("reason")) for one in posted]


def _read_streets(facts: Facts) -> None:
    for one in facts.said["rounds"]:
        street = Street(one["street"], list(one.get("cards") or ()), [])
        facts.streets.append(street)
        for act in one.get("actions", []):
            kind, amount = act["action"], act.get("amount")
            must(kind in (*FORCED, *TURNS, *CARDS, *OUTSIDE, "Add to Pot"), "no such action")
            if kind == "Add to Pot":
                must(not amount, "money comes from outside")
            if act.get("player_id") is None and not amount:
                continue
            outside = kind in (*OUTSIDE, "Add to Pot")
            if outside:
                # They move no money in the hand, but whose cards they show is known.
                if act.get("player_id") not in facts.players or not act.get("cards"):
                    continue
                kind, amount = "Shows Cards", 0
            must(act.get("player_id") in facts.players, "nobody acts")
            said = Act(
                kind,
                act["player_id"],
                facts.amount(amount),
                bool(act.get("is_allin")),
                list(act.get("cards") or ()),
                act.get("x_count"),
                act.get("x_reason"),
            )
            street.acts.append(said)
            _count(facts.players[said.player], said, outside)


def _count(player: Player, act: Act, outside: bool) -> None:
    if act.kind == "Post Dead":
        player.dead += act.amount
    else:
        player.live += act.amount
    if act.kind not in FORCED and not outside:
        player.acted = True
        player.wagered += act.amount
    if act.kind in ("Discard", "Stand Pat"):
        must(not player.folded, "who has folded draws")
    player.folded = player.folded or act.kind == "Fold"
    player.mucked = player.mucked or act.kind == "Mucks Cards"


def _read_pots(facts: Facts) -> None:
    for pot in facts.said.get("pots", []):
        wins = [
            (win["player_id"], facts.amount(win["win_amount"]), win.get("x_half"))
            for win in pot.get("player_wins", [])
        ]
        facts.pots.append(
            Pot(
                pot["number"],
                facts.amount(pot["amount"]),
                facts.amount(pot.get("rake")),
                facts.amount(pot.get("jackpot")),
                wins,
            )
        )
    facts.pots.sort(key=lambda pot: pot.number)


def _deal_in(facts: Facts) -> None:
    """Decide who was dealt in: who acts or has cards, and whoever posts what is not returned."""
    undealt = {one["id"] for one in facts.said["players"] if one.get("x_dealt") is False}
    back = {player: amount for player, amount, reason in facts.returned or () if reason}
    for player in facts.players.values():
        must(not (player.id in undealt and player.acted), "who is not dealt in acts")
        stays = player.put_in > back.get(player.id, 0)
        player.dealt = player.acted or (player.put_in > 0 and stays and player.id not in undealt)
