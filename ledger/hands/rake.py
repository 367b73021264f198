"""Rake: what the room takes out of a hand, which pots pay it, and whose income it is."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from ledger.money import divide
from ledger.rulebooks.fees import Band, Rake


class _Tariff(NamedTuple):
    """A band made ready for look-ups: the last charge first, a cap for each number of players."""

    charges: tuple[tuple[int, int, int], ...]
    caps: tuple[int, ...]


def rake_of(
    rake: Rake | Literal["none"],
    *,
    game: str,
    bet_type: str,
    currency: str,
    lower_limit_minor: int,
    pot_minor: int,
    players_dealt: int,
    streets_seen: Collection[str],
) -> int:
    """Work out the rake of a whole hand, once for all its pots.

    ``pot_minor`` is every pot together, dead blinds included, returned bets not. The lower limit
    is the big blind, in ante games the small bet. Nothing is due for play money, credits and
    tournament chips, for a currency or a limit that the schedule does not name, and before the
    street was dealt from which on the game is raked. Source: K 10.1.9, D.
    """
    if (
        rake == "none"
        or currency != rake.currency
        or rake.raked_after.get(game) not in streets_seen  # type: ignore[call-overload]
    ):
        return 0
    tariff = _tariff(rake, bet_type, lower_limit_minor)
    if tariff is None:
        return 0
    caps = tariff.caps
    cap = caps[players_dealt] if players_dealt < len(caps) else caps[-1]
    for pots_from, charge, per_full in tariff.charges:
        if pot_minor >= pots_from:
            return min(pot_minor // per_full * charge, cap)
    return 0


@lru_cache(maxsize=4096)
def _tariff(rake: Rake, bet_type: str, lower_limit_minor: int) -> _Tariff | None:
    """Find the band of a table. Stakes between two bands belong to the lower one."""
    found: Band | None = None
    for band in rake.bands:
        if bet_type in band.limits and band.lower_limit_from_minor <= lower_limit_minor:
            found = band
    if found is None:
        return None
    charges = [
        (one.pots_from_minor, one.charge_minor, one.per_full_minor)
        for one in reversed(found.charges)
    ]
    caps = [found.caps[0].cap_minor] * found.caps[0].players_from
    for one in found.caps:
        caps += [one.cap_minor] * (one.players_to - one.players_from + 1)
    return _Tariff(tuple(charges), tuple(caps))


def over_pots(rake_minor: int, pots_minor: Sequence[int]) -> list[int]:
    """Divide a hand's rake over its pots, the main pot first.

    By size, half a cent up; the difference is the main pot's. Should rounding ask more of a pot
    than is in it, or less than nothing, the next pots make up for it: no pot pays what it has not
    got. Source: K 10.1.9, as in the network's real hands.
    """
    if len(pots_minor) == 1 and 0 <= rake_minor <= pots_minor[0]:
        return [rake_minor]
    total = sum(pots_minor)
    if not 0 <= rake_minor <= total:
        raise ValueError(f"a rake of {rake_minor} cannot come out of {total}")
    if total == 0:
        return [0] * len(pots_minor)
    shares = [(2 * rake_minor * pot + total) // (2 * total) for pot in pots_minor]
    difference = rake_minor - sum(shares)
    for number, pot in enumerate(pots_minor):
        share = max(0, min(pot, shares[number] + difference))
        difference -= share - shares[number]
        shares[number] = share
    return shares


def by_partner(rake_minor: int, staked_minor: Mapping[str, int]) -> dict[str, int]:
    """Divide a hand's rake among partners by what the players of each put into the pot.

    Largest remainder, the earlier partner id first among equals; a partner without a share is
    left out. Returned bets are no part of what was put in. The sources only say that rake is
    the room's fee (K 1.9): the rulebook settles the division as ``among_partners``.
    """
    if rake_minor == 0:
        return {}
    partners = sorted(staked_minor)
    shares = divide(rake_minor, [staked_minor[partner] for partner in partners])
    return {partner: share for partner, share in zip(partners, shares, strict=True) if share}
