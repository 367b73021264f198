"""Forced bets: antes, blinds, what newcomers post, and the bring-in."""

from collections.abc import Sequence
from typing import Final

from ledger.hands.betting.order import brings_in
from ledger.hands.betting.state import REST, ROUND, Actor, Betting, Range
from ledger.hands.ohh import Action
from ledger.rulebooks.play import Blinds

LIVE: Final = frozenset(("Post SB", "Post BB", "Post Extra Blind", "Bring In"))
"""Forced bets that count as bets of the first round; antes and dead blinds do not."""


Posts = dict[str, list[Action]]
"""The forced bets of a hand by their kind, all by players who are dealt in."""

_NONE: Final[list[Action]] = []


def check_posts(betting: Betting, posts: Posts, bring_in: int) -> None:
    """Check who was forced to bet, and how much, before anyone acts.

    Who missed blinds in earlier hands a post does not say: whoever posts more than his own blind
    is taken to owe it. ``bring_in`` is how much it is at this table.
    """
    blinds = betting.rulebook.blinds
    if blinds != "as-posted":
        if betting.hand.ante_amount or "Post Ante" in posts:
            _check_antes(betting, posts.get("Post Ante", _NONE))
        if betting.game.forced_bets == "blinds" and blinds != "none":
            _check_blinds(betting, posts, blinds)
        else:
            _check_no_blinds(betting, posts)
    if betting.rulebook.bring_in != "as-posted" and betting.game.bring_in_by != "none":
        _check_bring_in(betting, posts.get("Bring In", _NONE), bring_in)


def _missing(
    betting: Betting,
    action: Action | None,
    message: str,
    due_by: Actor,
    quiets: int = ROUND,
) -> None:
    betting.tell(
        "missing-forced-bet",
        action,
        message,
        expected=[{"player": due_by.player_id}],
        posted=None if action is None else [{"player": action.player_id}],
        quiets=quiets,
    )


def _check_amount(betting: Betting, post: Action, due: int, what: str) -> None:
    """Check a forced bet: it is all that is due, or all that the player has."""
    amount, actor = post.amount, betting.actors[post.player_id]
    if amount != due and not (amount < due and actor.all_in):
        chips = amount + actor.chips
        betting.tell_amount(post, [Range(due, due)], 0, chips, f"{what} is another amount.")


# -- antes -------------------------------------------------------------------------------------


def _check_antes(betting: Betting, antes: Sequence[Action]) -> None:
    """Everyone who is dealt in posts the ante once. Source: K 10.6.4, K 10.7.2, G."""
    ante = betting.hand.ante_amount or 0
    paid: set[int | None] = set()
    for post in antes:
        if post.player_id in paid:
            betting.tell("illegal-action", post, "A player posts the ante twice.")
        paid.add(post.player_id)
        if post.amount != ante:
            _check_amount(betting, post, ante, "The ante")
    if ante and len(paid) < len(betting.ring):
        actor = next(one for one in betting.ring if one.player_id not in paid)
        _missing(betting, None, "A player who is dealt in has not posted the ante.", actor)


# -- blinds ------------------------------------------------------------------------------------


def _check_blinds(betting: Betting, posts: Posts, rules: Blinds) -> None:
    """Check the two blinds and what newcomers post. Source: K 10.1.3-4, K 10.3.3, K 11.7, L."""
    hand = betting.hand
    smalls, bigs = posts.get("Post SB", _NONE), posts.get("Post BB", _NONE)
    extra = posts.get("Post Extra Blind", _NONE)
    small_blind = hand.small_blind_amount or 0
    owing: list[int | None] = []
    if extra:
        regular = [post.player_id for post in (*smalls, *bigs)]
        owing = [post.player_id for post in extra if post.player_id not in regular]
    small, big = _who_posts(betting, rules, owing)
    if smalls or (small_blind and not (rules.hands_without_small_blind and hand.tournament)):
        _check_blind(betting, smalls, small, small_blind, "The small blind")
    elif len(betting.ring) > 2:
        # Whose turn it was to post the small blind is out: the next one has the big blind.
        big = small
    elif bigs:
        big = betting.actors[bigs[0].player_id]
    _check_blind(betting, bigs, big, hand.big_blind_amount or 0, "The big blind")
    if len(posts) > 2:
        _check_newcomers(betting, posts, rules)


def _check_blind(
    betting: Betting, posts: Sequence[Action], due_by: Actor, due: int, what: str
) -> None:
    if not posts:
        if due:
            _missing(betting, None, f"{what} is missing.", due_by)
        return
    if posts[0].player_id != due_by.player_id:
        # Every round is then in another order than the dealer's seat gives.
        _missing(betting, posts[0], f"{what} is another player's to post.", due_by, REST)
    if posts[0].amount != due:
        _check_amount(betting, posts[0], due, what)
    for post in posts[1:]:
        betting.tell("illegal-action", post, f"{what} is posted twice.")


def _who_posts(betting: Betting, rules: Blinds, owing: Sequence[int | None]) -> tuple[Actor, Actor]:
    """Name who posts the small and the big blind; whoever comes in with an extra one does not.

    Two players at a two-seat table have a rule of their own. Source: K 10.3.3, K 11.15, L.
    """
    ring = betting.ring
    if owing:
        regular = [one for one in ring if one.player_id not in owing]
        ring = regular if len(regular) > 1 else ring
    small, big = ring[0], ring[1 % len(ring)]
    if len(ring) == 2:
        hand = betting.hand
        two_seats = hand.table_size == 2 and not hand.tournament
        by = rules.small_blind_at_two_seats if two_seats else rules.small_blind_heads_up
        if by == "dealer" and big.seat == hand.dealer_seat:
            small, big = big, small
    return small, big


def _check_newcomers(betting: Betting, posts: Posts, rules: Blinds) -> None:
    """Check the live and the dead blinds of who comes in, or comes back. Source: K 10.1.3-4."""
    hand, tell = betting.hand, betting.tell
    blinds = [*posts.get("Post SB", _NONE), *posts.get("Post BB", _NONE)]
    extra, dead = posts.get("Post Extra Blind", _NONE), posts.get("Post Dead", _NONE)
    nothing = rules.new_player == rules.missed_big_blind == "posts-nothing"
    for post in extra:
        if nothing or any(post.player_id == one.player_id for one in blinds):
            tell("illegal-action", post, "This player owes no extra blind.")
        _check_amount(betting, post, hand.big_blind_amount or 0, "An extra blind")
    for post in dead:
        if rules.missed_both_blinds == "posts-nothing":
            tell("illegal-action", post, "Nobody owes a dead blind.")
        elif not any(post.player_id == one.player_id for one in extra):
            # Only who has missed both blinds owes the small one, beside the big one.
            _missing(
                betting, post, "A dead blind comes with a live one.", betting.actors[post.player_id]
            )
        _check_amount(betting, post, hand.small_blind_amount or 0, "A dead blind")
    for several in (extra, dead):
        if len({post.player_id for post in several}) < len(several):
            tell("illegal-action", several[-1], "A player comes in twice.")
    for post in posts.get("Bring In", _NONE):
        tell("illegal-action", post, "This game has no bring-in.")


def _check_no_blinds(betting: Betting, posts: Posts) -> None:
    """A game with antes has no blinds, and not every one a bring-in."""
    allowed = ["Post Ante"] if betting.game.bring_in_by == "none" else ["Post Ante", "Bring In"]
    for kind, several in posts.items():
        if kind not in allowed:
            betting.tell("illegal-action", several[0], "This game has no such forced bet.")


# -- the bring-in ------------------------------------------------------------------------------


def _check_bring_in(betting: Betting, posts: Sequence[Action], due: int) -> None:
    """The highest or the lowest card brings it in, with more where the limit allows it.

    A bet instead of a bring-in is checked where it is made.
    Source: K 10.6.6, K 10.7.4, K 10.11.6, K 10.12.6.
    """
    rules = betting.rulebook.bring_in
    for post in posts[1:]:
        betting.tell("illegal-action", post, "There is one bring-in.")
    if not posts or isinstance(rules, str):
        return
    post = posts[0]
    due_by = brings_in(betting)
    actor = betting.actors[post.player_id]
    if due_by is not None and actor is not due_by:
        _missing(betting, post, "The bring-in is another player's.", due_by)
    amount = post.amount
    if not due or amount == due or (amount < due and actor.all_in):
        return
    ranges = [Range(due, due)]
    if rules.more_if_limit_allows and betting.limit is not None:
        ranges += betting.limit.ranges(betting, actor)
    if not any(least <= amount <= most for least, most in ranges):
        chips = amount + actor.chips
        betting.tell_amount(post, ranges, 0, chips, "The bring-in is another amount.")
