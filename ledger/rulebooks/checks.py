"""Contradictions inside a rulebook: each check yields the key at fault and what is wrong."""

import re
from collections.abc import Iterator
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ledger.accounts import COMPONENTS
from ledger.money import DIGITS, is_real
from ledger.rulebooks.conduct import DaysWindow
from ledger.rulebooks.fees import Band, Jackpot, Qualifying, Rake, ShareOfRake
from ledger.rulebooks.play import ArtificialAllIn, GameRules, Tables
from ledger.rulebooks.schema import Rulebook
from ledger.rulebooks.values import ALWAYS_REFUSED, BET_TYPES, FINDING_CODES, RANKS, hole_in

Contradiction = tuple[str, str]

MOST_PLAYERS: Final = 26
"""Two cards each out of a deck of 52."""


def contradictions(rulebook: Rulebook) -> Iterator[Contradiction]:
    """Go through everything that types cannot say; the first contradiction is enough to refuse."""
    yield from _heading(rulebook)
    yield from _findings(rulebook)
    yield from _games(rulebook)
    yield from _tables(rulebook)
    yield from _artificial_all_in(rulebook)
    yield from _rake(rulebook)
    yield from _jackpot(rulebook)
    yield from _people(rulebook)


def _heading(rulebook: Rulebook) -> Iterator[Contradiction]:
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rulebook.name):
        yield "name", f"{rulebook.name!r} is no name of small letters, digits and hyphens"
    if rulebook.currencies != "any":
        for currency in rulebook.currencies:
            if currency not in DIGITS:
                yield "currencies", f"{currency!r} is no known currency"
    if rulebook.amounts_in != "none":
        if rulebook.amounts_in not in DIGITS:
            yield "amounts_in", f"{rulebook.amounts_in!r} is no known currency"
        elif not rulebook.allows_currency(rulebook.amounts_in):
            yield "amounts_in", f"{rulebook.amounts_in} is not among the currencies"
    payer = rulebook.add_to_pot_paid_by
    if payer != "none" and payer not in COMPONENTS:
        yield "add_to_pot_paid_by", f"{payer!r} is no account of the chart"


def _findings(rulebook: Rulebook) -> Iterator[Contradiction]:
    for code in FINDING_CODES:
        level = rulebook.findings.get(code)  # type: ignore[call-overload]
        if level is None:
            yield f"findings.{code}", "has no level"
        elif code in ALWAYS_REFUSED and level != "refuse":
            yield f"findings.{code}", f"is always refused, not {level!r}"


def _games(rulebook: Rulebook) -> Iterator[Contradiction]:
    if not rulebook.games:
        yield "games", "no game is offered"
    for name, game in rulebook.games.items():
        yield from _game(f"games.{name}", game, rulebook)
    limits = rulebook.limits
    if not any(limits.offers(bet_type) for bet_type in BET_TYPES):
        yield "limits", "no limit is offered"


def _game(key: str, game: GameRules, rulebook: Rulebook) -> Iterator[Contradiction]:
    if not 2 <= game.max_players <= MOST_PLAYERS:
        yield f"{key}.max_players", f"a game has 2 to {MOST_PLAYERS} players"
    hole = hole_in(game.decks, game.max_players)
    if hole:
        yield f"{key}.decks", hole
    if game.forced_bets == "blinds":
        if rulebook.blinds == "none":
            yield f"{key}.forced_bets", "blinds, but the rulebook has no blinds"
        if game.bring_in_by != "none":
            yield f"{key}.bring_in_by", "a game with blinds has no bring-in"
        if game.acts_first == "bring-in":
            yield f"{key}.acts_first", "a game with blinds has no bring-in"
        return
    if game.acts_first == "left-of-big-blind" or (
        (game.acts_first == "bring-in") != (game.bring_in_by != "none")
    ):
        yield f"{key}.acts_first", "must fit the bring-in"
    if game.bring_in_by != "none":
        if rulebook.bring_in == "none":
            yield f"{key}.bring_in_by", "the rulebook has no bring-in"
        if sorted(game.bring_in_by.suits) != ["c", "d", "h", "s"]:
            yield f"{key}.bring_in_by.suits", "name each suit once"


def _tables(rulebook: Rulebook) -> Iterator[Contradiction]:
    tables = rulebook.tables
    if not isinstance(tables, Tables):
        return
    seen = set()
    for number, one in enumerate(tables.buy_ins):
        key = f"tables.buy_ins[{number}]"
        if one.maximum_minor != "none" and one.minimum_minor > one.maximum_minor:
            yield f"{key}.minimum", "is more than the maximum"
        for game in one.games:
            if game not in rulebook.games:
                yield f"{key}.games", f"{game} is not offered"
            for bet_type in one.limits:
                if not rulebook.limits.offers(bet_type):
                    yield f"{key}.limits", f"{bet_type} is not offered"
                if one.maximum_minor == "none" and bet_type in tables.maximum_required_at:
                    yield f"{key}.maximum", f"{bet_type} tables must have one"
                stakes = (game, bet_type, one.lower_limit_minor)
                if stakes in seen:
                    yield f"{key}.lower_limit", f"{game} {bet_type} of these stakes is there twice"
                seen.add(stakes)


def _artificial_all_in(rulebook: Rulebook) -> Iterator[Contradiction]:
    rule = rulebook.artificial_all_in
    if not isinstance(rule, ArtificialAllIn):
        return
    for bet_type in rule.limits:
        if not rulebook.limits.offers(bet_type):
            yield "artificial_all_in.limits", f"{bet_type} is not offered"


def _rake(rulebook: Rulebook) -> Iterator[Contradiction]:
    rake = rulebook.rake
    if not isinstance(rake, Rake):
        return
    if rake.currency != rulebook.amounts_in:
        yield "rake.currency", f"the amounts are in {rulebook.amounts_in}"
    if not is_real(rake.currency):
        yield "rake.currency", f"{rake.currency} is no real money"
    if rulebook.currencies == "any":
        yield "currencies", "any, but the rake is known for one only"
    else:
        for currency in rulebook.currencies:
            if is_real(currency) and currency != rake.currency:
                yield "currencies", f"there is no rake for {currency}"
    for game in rulebook.games:
        if game not in rake.raked_after:
            yield f"rake.raked_after.{game}", "is missing"
    most = max(game.max_players for game in rulebook.games.values())
    for bet_type in BET_TYPES:
        if rulebook.limits.offers(bet_type):
            yield from _bands(rake, bet_type)
    for number, band in enumerate(rake.bands):
        yield from _band(f"rake.bands[{number}]", band, most)


def _bands(rake: Rake, bet_type: str) -> Iterator[Contradiction]:
    """Bands of a limit begin at nothing and rise: so they neither overlap nor leave holes."""
    previous = -1
    for number, band in enumerate(rake.bands):
        if bet_type not in band.limits:
            continue
        key = f"rake.bands[{number}].lower_limit_from"
        if previous < 0 < band.lower_limit_from_minor:
            yield key, f"no band covers lower stakes of {bet_type}"
        if band.lower_limit_from_minor <= previous:
            yield key, f"the bands of {bet_type} must rise: this one overlaps"
        previous = band.lower_limit_from_minor
    if previous < 0:
        yield "rake.bands", f"no band covers {bet_type}"


def _band(key: str, band: Band, most_players: int) -> Iterator[Contradiction]:
    hole = hole_in(band.caps, most_players)
    if hole:
        yield f"{key}.caps", hole
    elif band.caps[-1].players_to > MOST_PLAYERS:
        yield f"{key}.caps", f"no table has more than {MOST_PLAYERS} players"
    if not band.charges or band.charges[0].pots_from_minor != 0:
        yield f"{key}.charges", 'the first begins at pots_from = "0.00"'
    previous = -1
    for charge in band.charges:
        if charge.pots_from_minor <= previous:
            yield f"{key}.charges", "must rise: these overlap"
        if charge.per_full_minor == 0 or charge.charge_minor > charge.per_full_minor:
            yield f"{key}.charges", "a charge must be a part of what it is charged on"
        previous = charge.pots_from_minor


def _jackpot(rulebook: Rulebook) -> Iterator[Contradiction]:
    jackpot = rulebook.jackpot
    if not isinstance(jackpot, Jackpot):
        return
    shares = (jackpot.loser_bps, jackpot.winner_bps, jackpot.dealt_in_bps)
    if sum(shares) > 10_000:
        yield "jackpot.loser_bps", "the shares of a hit are more than the pool"
    if isinstance(jackpot.contribution, ShareOfRake):
        if not isinstance(rulebook.rake, Rake):
            yield "jackpot.contribution", "a share of the rake, but the rulebook has no rake"
    elif not isinstance(rulebook.rake, Rake):
        yield "jackpot.contribution", "a drop from raked pots, but the rulebook has no rake"
    elif jackpot.contribution.drop_minor > jackpot.contribution.pots_from_minor:
        yield "jackpot.contribution.drop", "is more than the smallest pot that it is taken from"
    for game in jackpot.excluded_games:
        if game in jackpot.qualifying:
            yield f"jackpot.qualifying.{game}", "is excluded as well"
    for game, hand in jackpot.qualifying.items():
        yield from _qualifying(f"jackpot.qualifying.{game}", game, hand, rulebook)


_BOTH: Final = ("Holdem", "Omaha", "OmahaHiLo")
"""Games in which hands are made of a player's hole cards and a board."""

_LOWEST_STRAIGHT: Final = {"Telesina": "T987A", "Americana": "T987A"}
"""Of decks from seven to ace; everywhere else it is ``5432A``."""


def _qualifying(
    key: str, game: str, least: Qualifying, rulebook: Rulebook
) -> Iterator[Contradiction]:
    if game not in rulebook.games:
        yield key, "is not offered"
    if game == "TripleDraw27":
        yield key, "the lowest hand wins: nobody loses with a high one"
    if not _is_hand(least, _LOWEST_STRAIGHT.get(game, "5432A")):
        yield f"{key}.ranks", f"{least.ranks!r} are not the ranks of a {least.hand}"
    if least.hole_cards == "both" and game not in _BOTH:
        yield f"{key}.hole_cards", "both, but the game has no board"


def _is_hand(least: Qualifying, lowest_straight: str) -> bool:
    """Tell whether ranks, from the highest down, make the hand that they are said to make."""
    ranks = least.ranks
    if any(rank not in RANKS for rank in ranks):
        return False
    if least.hand == "straight-flush":
        return ranks == lowest_straight or (len(ranks) == 5 and ranks in RANKS[::-1])
    groups = [ranks.count(rank) for rank in dict.fromkeys(ranks)]
    if least.hand == "four-of-a-kind":
        return groups == [4]
    return groups == [3, 2] and ranks[0] == ranks[2]


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return False
    return True


def _people(rulebook: Rulebook) -> Iterator[Contradiction]:
    if rulebook.protests != "none" and isinstance(rulebook.protests.window, DaysWindow):
        zone = rulebook.protests.window.zone
        if not _is_zone(zone):
            yield "protests.window.zone", f"{zone!r} is no time zone"
    if rulebook.credits != "none":
        if is_real(rulebook.amounts_in):
            yield "credits", f"credits have no value, amounts are in {rulebook.amounts_in}"
        if not _is_zone(rulebook.credits.reload.zone):
            yield "credits.reload.zone", f"{rulebook.credits.reload.zone!r} is no time zone"
    if rulebook.approvals != "none":
        actions = [one.action for one in rulebook.approvals.thresholds]
        for action in actions:
            if actions.count(action) > 1:
                yield "approvals.thresholds", f"{action} is there twice"
    tournaments = rulebook.tournaments
    if tournaments != "none" and (tournaments.restart_minutes == "none") != (
        tournaments.clean_up == "none"
    ):
        yield "tournaments.clean_up", "a clean-up follows a restart that failed: both or neither"
