"""Who gets what of the pool when it is hit. Source: D."""

from collections.abc import Iterable, Sequence

from ledger.hands.events import BadBeatHit
from ledger.jackpots.contribution import WHOLE
from ledger.jackpots.events import Part, Share


def shares_of(hit: BadBeatHit, pool_minor: int) -> tuple[Share, ...]:
    """Divide the parts of a pool among those who hit it, by the rules of the hand's day.

    Each part is shared equally; odd units stay in the pool, and so does what nobody gets. Who is
    the loser, or a winner, also has his share as one of those dealt in, unless the rules say no.
    Source: D.
    """
    hitters = {*hit.losers, *hit.winners}
    alike = hit.dealt_in_includes_winner_and_loser
    dealt = [player for player in hit.dealt if alike or player not in hitters]
    return (
        *_equally("loser", hit.losers, pool_minor * hit.loser_bps // WHOLE),
        *_equally("winner", hit.winners, pool_minor * hit.winner_bps // WHOLE),
        *_equally("dealt-in", dealt, pool_minor * hit.dealt_in_bps // WHOLE),
    )


def _equally(part: Part, players: Sequence[str], amount_minor: int) -> Iterable[Share]:
    each = amount_minor // len(players) if players else 0
    return [Share(player, part, each) for player in players if each]
