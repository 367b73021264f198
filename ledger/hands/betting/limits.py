"""How much may be bet: no, pot, half-pot, fixed and spread limit.

Every range holds totals of a round: what a player has bet in it once he has bet or raised.
"""

from collections.abc import Sequence
from typing import Final

from ledger.hands.betting.state import Actor, Betting, Limit, Range
from ledger.hands.ohh import Hand
from ledger.rulebooks import Rulebook
from ledger.rulebooks.play import FixedLimit, GameRules, NoLimit, PotLimit, SpreadLimit
from ledger.tables.events import TableState

ENDLESS: Final = 1 << 62


class _NoLimit(Limit):
    """Source: K 10.2.4, G, L. ``most`` is the table's own limit for a round, 0 without one."""

    __slots__ = ("minimum", "most", "raise_any")

    def __init__(self, minimum: int, most: int, raise_any: bool) -> None:
        self.minimum = minimum
        self.most = most
        self.raise_any = raise_any

    def least(self, street: int) -> int:
        return self.minimum

    def ranges(self, betting: Betting, actor: Actor) -> list[Range]:
        return [Range(_least_total(betting, self.raise_any), self.most or ENDLESS)]

    def allows(self, betting: Betting, actor: Actor, total: int) -> bool:
        least = betting.to_match + (1 if self.raise_any and betting.to_match else betting.size)
        return least <= total <= (self.most or total)

    def capped(self, betting: Betting) -> bool:
        return 0 < self.most <= betting.to_match


class _PotLimit(Limit):
    """At most so many percent of the pot after calling. Source: K 10.2.5-6."""

    __slots__ = ("minimum", "percent", "raise_any")

    def __init__(self, minimum: int, percent: int, raise_any: bool) -> None:
        self.minimum = minimum
        self.percent = percent
        self.raise_any = raise_any

    def least(self, street: int) -> int:
        return self.minimum

    def ranges(self, betting: Betting, actor: Actor) -> list[Range]:
        to_match = max(betting.to_match, betting.due)
        pot = betting.pot + to_match - actor.bet
        least = _least_total(betting, self.raise_any)
        return [Range(least, max(least, to_match + pot * self.percent // 100))]

    def allows(self, betting: Betting, actor: Actor, total: int) -> bool:
        return _in(self.ranges(betting, actor), total)

    def capped(self, betting: Betting) -> bool:
        return False


class _FixedLimit(Limit):
    """One size for each street, and so many bets in a round. Source: K 10.2.2, E.

    With an open pair on stud's fourth street double the limit may be bet (K 10.7.7). After a short
    all-in the next raise either completes it or adds a bet to it.
    """

    __slots__ = ("bets_per_round", "lower", "rounds_at_lower", "upper")

    def __init__(self, lower: int, upper: int, rounds_at_lower: int, bets_per_round: int) -> None:
        self.lower = lower
        self.upper = upper
        self.rounds_at_lower = rounds_at_lower
        self.bets_per_round = bets_per_round

    def least(self, street: int) -> int:
        return self.lower if street < self.rounds_at_lower else self.upper

    def ranges(self, betting: Betting, actor: Actor) -> list[Range]:
        sizes = [betting.size]
        double = 2 * self.least(betting.street)
        if betting.open_pair and betting.size < double:
            sizes.append(double)
        bases = {betting.full}
        if not betting.brought_in:
            bases.add(betting.to_match)
        totals = {base + size for base in bases for size in sizes}
        return [Range(total, total) for total in sorted(totals) if total > betting.to_match]

    def allows(self, betting: Betting, actor: Actor, total: int) -> bool:
        return not self.capped(betting) and _in(self.ranges(betting, actor), total)

    def capped(self, betting: Betting) -> bool:
        return betting.bets >= self.bets_per_round


class _SpreadLimit(Limit):
    """At least the big blind, at most the limit of the street. Source: K 10.2.3, D.

    What one player bets in a round is capped at a multiple of the limit; a raise that reaches it
    may be lower than the one before.
    """

    __slots__ = ("cap_times", "lower_when_capping", "minimum", "rounds_at_lower", "spread")

    def __init__(
        self,
        minimum: int,
        spread: list[int],
        rounds_at_lower: int,
        cap_times: int,
        lower_when_capping: bool,
    ) -> None:
        self.minimum = minimum
        self.spread = spread
        self.rounds_at_lower = rounds_at_lower
        self.cap_times = cap_times
        self.lower_when_capping = lower_when_capping

    def _limit(self, street: int) -> int:
        place = max(0, street - self.rounds_at_lower + 1)
        return self.spread[min(place, len(self.spread) - 1)]

    def least(self, street: int) -> int:
        return min(self.minimum, self._limit(street))

    def ranges(self, betting: Betting, actor: Actor) -> list[Range]:
        limit = self._limit(betting.street)
        cap = self.cap_times * limit
        most = 2 * limit if betting.open_pair else limit
        least, high = betting.to_match + betting.size, betting.to_match + most
        if self.lower_when_capping and high >= cap:
            ranges = [Range(least, cap)] if least < cap else []
            return [*ranges, Range(cap, cap)]
        return [Range(least, max(least, min(high, cap)))]

    def allows(self, betting: Betting, actor: Actor, total: int) -> bool:
        return _in(self.ranges(betting, actor), total)

    def capped(self, betting: Betting) -> bool:
        return betting.to_match >= self.cap_times * self._limit(betting.street)


def _in(ranges: Sequence[Range], total: int) -> bool:
    return any(least <= total <= most for least, most in ranges)


def _least_total(betting: Betting, raise_any: bool) -> int:
    """Return the least total: the bet or raise before once more, unless any raise will do."""
    if raise_any and betting.to_match:
        return betting.to_match + 1
    return betting.to_match + betting.size


# -- the limit of a table ----------------------------------------------------------------------


def bring_in_of(hand: Hand, rulebook: Rulebook, table: TableState | None) -> int:
    """Return how much the bring-in is: the post's or the table's own, else the rulebook's."""
    own = hand.x_bring_in
    if own is None and table is not None:
        own = table.bring_in_minor
    if own is not None:
        return own
    rules = rulebook.bring_in
    return 0 if isinstance(rules, str) else rules.times_ante * (hand.ante_amount or 0)


def limit_of(
    hand: Hand, rulebook: Rulebook, table: TableState | None, game: GameRules
) -> Limit | None:
    """Return the limit and the stakes that a hand was played for.

    None where the rulebook does not offer the limit, or where nothing says what the stakes of an
    ante game are: then amounts cannot be checked.
    """
    limits = rulebook.limits
    raise_any = limits.raise_at_least == "none"
    kind = hand.bet_limit.bet_type
    if kind == "NL" and isinstance(limits.no, NoLimit):
        return _no_limit(hand, rulebook, table, limits.no, game)
    if kind in ("PL", "HPL"):
        rules = limits.pot if kind == "PL" else limits.half_pot
        if isinstance(rules, PotLimit):
            least = _least(hand, rulebook, table, game)
            return _PotLimit(least, rules.percent_of_pot, raise_any)
    if kind == "FL" and isinstance(limits.fixed, FixedLimit):
        return _fixed_limit(hand, table, limits.fixed, game)
    if kind == "SL" and isinstance(limits.spread, SpreadLimit):
        spread = hand.x_spread or (list(table.spread_minor) if table is not None else [])
        if spread:
            least, rounds = _least(hand, rulebook, table, game), game.rounds_at_lower_limit
            cap, lower = limits.spread.cap_times_limit, limits.spread.lower_raise_when_capping
            return _SpreadLimit(least, spread, rounds, cap, lower)
    return None


def _no_limit(
    hand: Hand, rulebook: Rulebook, table: TableState | None, rules: NoLimit, game: GameRules
) -> Limit:
    least = hand.ante_amount if rules.minimum_bet == "ante" else 0
    most = 0
    if rules.maximum_bet == "table-limit":
        most = _stakes(hand, table)[1] or 0
    raise_any = rulebook.limits.raise_at_least == "none"
    return _NoLimit(least or _least(hand, rulebook, table, game), most, raise_any)


def _least(hand: Hand, rulebook: Rulebook, table: TableState | None, game: GameRules) -> int:
    """Return the smallest bet where no bet is fixed: the big blind, of ante games the bring-in."""
    blind, bring_in = hand.big_blind_amount or 0, bring_in_of(hand, rulebook, table)
    return bring_in or blind if game.forced_bets == "ante" else blind or bring_in


def _fixed_limit(
    hand: Hand, table: TableState | None, rules: FixedLimit, game: GameRules
) -> Limit | None:
    small_bet, big_bet = _stakes(hand, table)
    blind = hand.big_blind_amount
    lower = small_bet or blind if game.forced_bets == "ante" else blind or small_bet
    if not lower:
        return None
    upper, rounds = big_bet or 2 * lower, game.rounds_at_lower_limit
    return _FixedLimit(lower, upper, rounds, rules.bets_per_round)


def _stakes(hand: Hand, table: TableState | None) -> tuple[int | None, int | None]:
    """Return the small and the big bet of a post, or else of its table."""
    small, big = hand.x_small_bet, hand.x_big_bet
    if table is not None:
        small = table.small_bet_minor if small is None else small
        big = table.big_bet_minor if big is None else big
    return small, big
