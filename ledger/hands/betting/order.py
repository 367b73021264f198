"""Who acts first: by his place at the table, by his card, or by the cards that he shows."""

from collections.abc import Sequence

from ledger.hands.betting.shown import RANKS
from ledger.hands.betting.state import Actor, Betting


def brings_in(betting: Betting) -> Actor | None:
    """Find who must bring it in: by rank, then by suit. Source: K 10.6.6, K 10.7.4, K 10.11.6.

    None when the cards do not tell, or when that player has no chips left.
    """
    rule, shown = betting.game.bring_in_by, betting.shown
    if rule == "none" or shown is None:
        return None
    fixed = betting.hand.bet_limit.bet_type in ("FL", "SL")
    by = rule.fixed_and_spread if fixed else rule.other_limits
    suits = "".join(reversed(rule.suits))
    ranked: list[tuple[int, int, int]] = []
    for one in betting.ring:
        up = shown.by(one.player_id, 0)
        if up is None:
            return None
        card = up[-1]
        ranked.append((RANKS.index(card[0]), suits.find(card[1:]), one.place))
    *_, place = max(ranked) if by == "highest-card" else min(ranked)
    actor = betting.ring[place]
    return None if actor.all_in else actor


def highest_showing(betting: Betting) -> Sequence[Actor]:
    """Find who shows the highest hand; of equal ones, the nearest left of the dealer box.

    Where he is all-in, the next of those who can bet may act, or the highest of them: either is
    right. Empty when a card that may decide is not known. Source: K 10.7.5.
    """
    assert betting.shown is not None
    hands: list[tuple[list[int], list[int], int]] = []
    for one in betting.ring:
        if not one.folded:
            up = betting.shown.by(one.player_id, betting.street)
            if up is None:
                return ()
            hands.append((*_strength(up), -one.place))
    hands.sort(reverse=True)
    by_hand = [betting.ring[-place] for *_, place in hands]
    if not by_hand[0].all_in:
        return by_hand[:1]
    able = betting.able
    following = [one for one in able if one.place > by_hand[0].place] or able
    return following[0], next(one for one in by_hand if not one.all_in)


def shows_pair(betting: Betting) -> bool:
    """Tell whether anyone who is still in shows a pair, or may show one. Source: K 10.7.7."""
    assert betting.shown is not None
    for one in betting.ring:
        if not one.folded:
            up = betting.shown.by(one.player_id, betting.street)
            if up is None or len({card[0] for card in up}) < len(up):
                return True
    return False


def _strength(up: Sequence[str]) -> tuple[list[int], list[int]]:
    """Rank fewer than five cards: four of a kind, three, two pair, a pair, then the ranks."""
    ranks = [RANKS.index(card[0]) for card in up]
    groups = sorted(((ranks.count(rank), rank) for rank in set(ranks)), reverse=True)
    return [count for count, _ in groups], [rank for _, rank in groups]
