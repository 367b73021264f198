"""May a table of this game, these stakes and these buy-in limits be opened?"""

from typing import ClassVar, Final

from ledger.bounds import InvalidField, amount, currency, slug, text
from ledger.core import Kind, Refused
from ledger.money import is_real
from ledger.players.standing import CurrencyMismatch
from ledger.rulebooks import Rulebook
from ledger.rulebooks.play import BuyIn, GameRules
from ledger.tables.events import TableOpened

LONGEST_SPREAD: Final = 8


class UnknownGame(Refused):
    """The rulebook has no such game."""

    code = "unknown-game"


class LimitNotOffered(Refused):
    """The rulebook has no tables of this bet type."""

    code = "limit-not-offered"


class StakesNotAllowed(Refused):
    """Blinds, antes or bets that no table of this game and limit can have."""

    code = "stakes-not-allowed"


class BuyInLimitsNotAllowed(Refused):
    """Buy-in limits outside the rulebook's for these stakes. Source: K 10.1.2."""

    code = "buy-in-limits-not-allowed"


class JackpotNotAllowed(Refused):
    """Such tables play for no jackpot. Source: D."""

    code = "jackpot-not-allowed"
    kind: ClassVar[Kind] = "rule"


def check(table: TableOpened, rulebook: Rulebook) -> None:
    """Refuse a table that the rulebook does not have; an inferred one may have any buy-ins.

    Raises InvalidField, InvalidAmount, UnknownGame, LimitNotOffered, StakesNotAllowed,
    BuyInLimitsNotAllowed, JackpotNotAllowed, CurrencyMismatch. Source: K 10.1-10.12, D.
    """
    text(table.name, "name", longest=64)
    currency(table.currency)
    if not rulebook.allows_currency(table.currency):
        raise CurrencyMismatch(
            f"{rulebook.title} has no tables in this currency.", field="currency"
        )
    games = {str(game): rules for game, rules in rulebook.games.items()}
    game = games.get(table.game)
    if game is None:
        raise UnknownGame("The rulebook has no such game.", field="game")
    if not rulebook.limits.offers(table.bet_type):
        raise LimitNotOffered("The rulebook has no tables of this limit.", field="bet_type")
    if not 2 <= table.size <= game.max_players:
        raise InvalidField(f"From 2 to {game.max_players} seats.", field="size")
    _stakes(table, game)
    _spread(table)
    _buy_ins(table, rulebook)
    if table.jackpot is not None:
        _jackpot(table, table.jackpot, rulebook)


def rule_for(table: TableOpened, rulebook: Rulebook) -> BuyIn | None:
    """Return what the rulebook sets for tables of these stakes; None leaves it to the table."""
    if rulebook.tables == "none" or table.currency != rulebook.amounts_in:
        return None
    lower_limit = table.big_blind_minor or table.small_bet_minor or 0
    return rulebook.tables.buy_in(table.game, table.bet_type, lower_limit)


def _stakes(table: TableOpened, game: GameRules) -> None:
    by_blinds = game.forced_bets == "blinds"
    amount(table.big_blind_minor, "big_blind_minor", least=1 if by_blinds else 0)
    amount(table.small_blind_minor, "small_blind_minor", least=0)
    amount(table.ante_minor, "ante_minor", least=0 if by_blinds else 1)
    if table.small_blind_minor > table.big_blind_minor:
        raise StakesNotAllowed("The small blind is above the big blind.", field="small_blind_minor")
    if not by_blinds and table.big_blind_minor:
        raise StakesNotAllowed("This game has antes, no blinds.", field="big_blind_minor")
    small, big = table.small_bet_minor, table.big_bet_minor
    if table.bet_type == "FL" and not by_blinds and (small is None or big is None):
        raise StakesNotAllowed(
            "A fixed limit in an ante game names its bets.", field="small_bet_minor"
        )
    if small is not None:
        amount(small, "small_bet_minor")
    if big is not None:
        amount(big, "big_bet_minor", least=small or 1)
    if table.bring_in_minor is not None:
        amount(table.bring_in_minor, "bring_in_minor")
    if table.hole_cards is not None and (table.game != "Omaha" or table.hole_cards not in (4, 5)):
        raise StakesNotAllowed("Only Omaha has 4 or 5 hole cards to choose.", field="hole_cards")


def _spread(table: TableOpened) -> None:
    if (table.bet_type == "SL") != bool(table.spread_minor):
        raise StakesNotAllowed(
            "Spread limit names its limits, other limits have none.", field="spread_minor"
        )
    if len(table.spread_minor) > LONGEST_SPREAD:
        raise StakesNotAllowed(f"At most {LONGEST_SPREAD} limits.", field="spread_minor")
    for limit in table.spread_minor:
        amount(limit, "spread_minor")


def _buy_ins(table: TableOpened, rulebook: Rulebook) -> None:
    least, most = table.min_buy_in_minor, table.max_buy_in_minor
    amount(least, "min_buy_in_minor", least=0 if table.inferred else 1)
    if most is not None:
        amount(most, "max_buy_in_minor", least=max(least, 1))
    if table.inferred or rulebook.tables == "none":
        return
    rule = rule_for(table, rulebook)
    if rule is not None:
        _within(rule, least, most)
    elif most is None and table.bet_type in rulebook.tables.maximum_required_at:
        raise BuyInLimitsNotAllowed(
            "Tables of this limit have a maximum buy-in.", field="max_buy_in_minor"
        )


def _within(rule: BuyIn, least: int, most: int | None) -> None:
    if least < rule.minimum_minor:
        raise BuyInLimitsNotAllowed(
            "Below the minimum for these stakes.",
            field="min_buy_in_minor",
            minimum_minor=rule.minimum_minor,
        )
    if rule.maximum_minor == "none":
        if most is not None:
            raise BuyInLimitsNotAllowed(
                "These stakes have no maximum but the bankroll.", field="max_buy_in_minor"
            )
    elif most is None or most > rule.maximum_minor:
        raise BuyInLimitsNotAllowed(
            "Above the maximum for these stakes.",
            field="max_buy_in_minor",
            maximum_minor=rule.maximum_minor,
        )


def _jackpot(table: TableOpened, jackpot: str, rulebook: Rulebook) -> None:
    slug(jackpot, "jackpot")
    rules = rulebook.jackpot
    if rules == "as-posted":
        return
    if rules == "none":
        reason = "The rulebook has no jackpot."
    elif not is_real(table.currency):
        reason = "Play money plays for no jackpot."
    elif table.size == 2 and not rules.two_seat_tables:
        reason = "Two-seat tables play for no jackpot."
    elif table.game in rules.excluded_games or table.game not in rules.qualifying:
        reason = "This game plays for no jackpot."
    else:
        return
    raise JackpotNotAllowed(reason, field="jackpot")
