"""The rules of play that differ between operators: tables, forced bets, limits, games."""

from typing import Literal

import msgspec

from ledger.rulebooks.values import BetType, Count, Game, NoRule, Range, Rank, Rules


class BuyIn(Rules, frozen=True):
    """What a table of these games and stakes asks for. Source: K 10.1.2.

    ``lower_limit`` is the big blind (in ante games the small bet). A ``maximum`` of "none" is the
    whole bankroll.
    """

    games: tuple[Game, ...]
    limits: tuple[BetType, ...]
    lower_limit_minor: int
    minimum_minor: int
    maximum_minor: int | NoRule


class Tables(Rules, frozen=True):
    """Table stakes and buy-ins. Source: K 10.1.2, D, E, G.

    Every table has a minimum buy-in of its own where ``buy_ins`` does not set it;
    ``maximum_required_at`` names the limits whose tables must have a maximum as well.
    """

    chips_added: Literal["between-hands"]
    maximum_required_at: tuple[BetType, ...]
    buy_ins: tuple[BuyIn, ...]

    def buy_in(self, game: str, bet_type: str, lower_limit_minor: int) -> BuyIn | None:
        """Return what the rulebook sets for these stakes; None leaves it to the table."""
        for one in self.buy_ins:
            if (
                one.lower_limit_minor == lower_limit_minor
                and game in one.games
                and bet_type in one.limits
            ):
                return one
        return None


SmallBlindPost = Literal["dealer", "left-of-dealer"]


class Blinds(Rules, frozen=True):
    """Who posts blinds and what joining costs. Source: K 10.1.3-4, K 11.7-8, K 11.15.

    ``small_blind_at_two_seats`` is for two-seat cash tables, ``small_blind_heads_up`` for two
    players left at a bigger table and for tournaments.
    """

    small_blind_at_two_seats: SmallBlindPost
    small_blind_heads_up: SmallBlindPost
    new_player: Literal["waits-or-posts-big-blind", "posts-nothing"]
    missed_big_blind: Literal["waits-or-posts-big-blind", "posts-nothing"]
    missed_both_blinds: Literal["also-posts-dead-small-blind", "posts-nothing"]
    hands_without_small_blind: bool


class BringIn(Rules, frozen=True):
    """The forced bet of ante games. Source: K 10.6.6, K 10.7.4, K 10.11.6."""

    times_ante: Count
    more_if_limit_allows: bool


class AllIn(Rules, frozen=True):
    """What an all-in player may win, and what becomes of chips that nobody covers.

    ``matched``: from each opponent, folded or not, what he himself put in (K 10.1.5).
    ``finished``: his stake times the players who finished (G).
    """

    rule: Literal["matched", "finished"]
    uncalled_bet: Literal["returned"]
    unmatched_blind: Literal["returned", "stays-in-pot", "as-posted"]


class ArtificialAllIn(Rules, frozen=True):
    """A player who cannot act counts as all-in instead of folding. Source: K 10.1.6, E.

    ``per_24_hours`` "none" means no quota; beyond it he is folded.
    """

    limits: tuple[BetType, ...]
    in_tournaments: bool
    needs_money_in_pot: bool
    per_24_hours: Count | NoRule
    misuse: tuple[Literal["warning", "account-closed"], ...]


class Interruptions(Rules, frozen=True):
    """What becomes of a hand that does not end as it should. Source: K 10.1.7, G, L."""

    server_crash: Literal["hand-cancelled-money-to-accounts"] | NoRule
    misdeal: Literal["hand-void-stakes-returned"] | NoRule
    quitter_before_betting: Literal["forfeits-ante"] | NoRule


class Timing(Rules, frozen=True):
    """Seconds that a player has. Source: K 10.9.5, K 10.10.6, E, D."""

    act: Count | NoRule
    countdown: Count | NoRule
    after_reconnecting: Count | NoRule
    draw: Count | NoRule
    late_draw: Literal["stands-pat-without-raising"] | NoRule


class FixedLimit(Rules, frozen=True):
    """Source: K 10.2.2, E. ``bets_per_round`` counts the first bet and the raises."""

    big_blind: Literal["lower-limit"]
    bets_per_round: Count
    big_blind_is_first_bet: bool
    bring_in_is_first_bet: bool


class SpreadLimit(Rules, frozen=True):
    """Source: K 10.2.3, D. A round is capped at ``cap_times_limit`` times its limit."""

    minimum_bet: Literal["big-blind"]
    cap_times_limit: Count
    lower_raise_when_capping: bool


class NoLimit(Rules, frozen=True):
    """Source: K 10.2.4, G, L. A table limit, where there is one, is the table's own."""

    minimum_bet: Literal["big-blind", "ante"]
    maximum_bet: Literal["table-limit"] | NoRule


class PotLimit(Rules, frozen=True):
    """Source: K 10.2.5-6. The most is ``percent_of_pot`` of the pot after calling."""

    minimum_bet: Literal["big-blind-or-bring-in"]
    percent_of_pot: Count


class Limits(Rules, frozen=True):
    """The betting structures on offer; the key is the bet type of a posted hand."""

    raise_at_least: Literal["previous-bet-or-raise"] | NoRule
    short_all_in_reopens: bool
    no: NoLimit | NoRule = msgspec.field(name="NL")
    pot: PotLimit | NoRule = msgspec.field(name="PL")
    half_pot: PotLimit | NoRule = msgspec.field(name="HPL")
    fixed: FixedLimit | NoRule = msgspec.field(name="FL")
    spread: SpreadLimit | NoRule = msgspec.field(name="SL")

    def offers(self, bet_type: str) -> bool:
        """Tell whether tables of this bet type exist."""
        rules = {
            "NL": self.no,
            "PL": self.pot,
            "HPL": self.half_pot,
            "FL": self.fixed,
            "SL": self.spread,
        }
        return rules.get(bet_type, "none") != "none"


class Deck(Range, frozen=True):
    """The deck for so many players at the table: four suits from ``lowest`` to the ace."""

    lowest: Rank

    def cards(self) -> int:
        """Count the cards of this deck."""
        return 4 * (13 - "23456789TJQKA".index(self.lowest))


Suit = Literal["s", "h", "d", "c"]
ForcedBy = Literal["highest-card", "lowest-card"]


class BringInBy(Rules, frozen=True):
    """Who brings it in, by limit, and how suits break ties (the highest first)."""

    fixed_and_spread: ForcedBy
    other_limits: ForcedBy
    suits: tuple[Suit, ...]


class GameRules(Rules, frozen=True):
    """One game as this operator deals it. Source: K 10.3-10.12, G.

    ``rounds_at_lower_limit`` is for fixed limit; ``double_bet_on_open_pair`` for stud's fourth
    street. Whoever is as high as another on the table acts, and gets an odd chip, in the order
    from the left of the dealer or his box.
    """

    max_players: Count
    forced_bets: Literal["blinds", "ante"]
    bring_in_by: BringInBy | NoRule
    acts_first: Literal["left-of-big-blind", "bring-in", "left-of-dealer"]
    acts_first_later: Literal["left-of-dealer", "highest-showing"]
    decks: tuple[Deck, ...]
    deck_runs_short: Literal["shared-card", "reshuffle-without-own-discards"] | NoRule
    rounds_at_lower_limit: Count
    double_bet_on_open_pair: bool
    odd_chip: Literal["left-of-dealer", "dealt-first"]

    def deck(self, players: int) -> Deck:
        """Return the deck for so many players; more than the game seats get the largest."""
        for one in self.decks:
            if players <= one.players_to:
                return one
        return self.decks[-1]


class OddChip(Rules, frozen=True):
    """What cannot be split evenly. Source: K 10.1.1, K 10.8.6, D."""

    unit: Literal["smallest-of-currency"]
    each_in_turn: bool
    between_halves: Literal["high"]
    dealt_out: Literal["after-rake"]
