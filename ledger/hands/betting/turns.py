"""What a player does in his turn: fold, check, call, bet, raise; or not at all."""

from ledger.hands.betting.state import REST, Actor, ArtificialAllIn, Betting, Range
from ledger.hands.contributions import ADDED, OUTSIDE
from ledger.hands.ohh import Action

# Every action costs a judged hand some hundreds of nanoseconds: the usual one is settled in its
# first lines, and only what is odd is looked at again.


def fold(betting: Betting, actor: Actor, action: Action) -> None:
    """Give a hand up; who has left, or lost his connection, may do so out of turn."""
    waiting = betting.waiting
    if waiting and waiting[-1] is actor:
        waiting.pop()
    elif not _may_fold(betting, actor, action):
        return
    if action.amount or action.is_allin:
        _fold_oddly(betting, actor, action)
    actor.folded = True
    if not actor.all_in:
        betting.able.remove(actor)
    betting.left -= 1
    if betting.left == 1:
        betting.waiting = []


def check(betting: Betting, actor: Actor, action: Action) -> None:
    """Bet nothing where there is nothing to match."""
    waiting = betting.waiting
    if waiting and waiting[-1] is actor:
        waiting.pop()
    elif not _out_of_turn(betting, actor, action):
        return
    actor.answered = betting.full_bets
    if actor.bet < betting.to_match or action.amount or action.is_allin:
        _check_oddly(betting, actor, action)


def call(betting: Betting, actor: Actor, action: Action) -> None:
    """Match the bet, or put in all that is left."""
    waiting = betting.waiting
    if waiting and waiting[-1] is actor:
        waiting.pop()
    elif not _out_of_turn(betting, actor, action):
        return
    actor.answered = betting.full_bets
    amount = action.amount
    if 0 < amount < actor.chips and actor.bet + amount == betting.to_match and not action.is_allin:
        actor.chips -= amount
        actor.bet += amount
    else:
        _call_oddly(betting, actor, action)


def wager(betting: Betting, actor: Actor, action: Action) -> None:
    """Bet, or raise a bet."""
    waiting = betting.waiting
    if waiting and waiting[-1] is actor:
        waiting.pop()
    elif not _out_of_turn(betting, actor, action):
        return
    total = actor.bet + action.amount
    if (
        action.amount >= actor.chips
        or action.is_allin
        or (action.action == "Raise") is not (betting.to_match > 0)
        or actor.answered == betting.full_bets
        or actor.pat_in == betting.number
        or betting.limit is None
        or not betting.limit.allows(betting, actor, total)
        or not _can_be_called(betting, actor)
    ):
        _check_wager_closely(betting, actor, action)
    put_in(betting, actor, action.amount)
    if action.is_allin:
        check_all_in(betting, actor, action)


def draw(betting: Betting, actor: Actor, action: Action) -> None:
    """Draw or stand pat; who did not draw in time may not bet or raise. Source: K 10.9.5."""
    if actor.folded:
        betting.tell("illegal-action", action, "A player draws who has folded.", quiets=REST)
    elif betting.why_closed or not betting.play.streets[betting.street].draw:
        betting.tell("illegal-action", action, "Nothing is drawn on this street.")
    elif any([one.answered >= betting.opened for one in betting.ring]):
        betting.tell("illegal-action", action, "A player draws after the betting has begun.")
    elif action.amount:
        pay_oddly(betting, actor, action)
    elif action.action == "Stand Pat" and action.x_reason is not None:
        actor.pat_in = betting.number


def pay_oddly(betting: Betting, actor: Actor, action: Action) -> None:
    """Nothing is paid with what is neither a bet nor a forced one."""
    if action.action not in OUTSIDE and action.action != ADDED:
        nothing, message = [Range(0, 0)], "This action adds nothing to the pot."
        betting.tell_amount(action, nothing, 0, actor.chips, message)
        betting.pay(actor, action.amount)


def post_late(betting: Betting, actor: Actor, action: Action) -> None:
    """A forced bet is posted before anyone acts, or not at all."""
    message = "A forced bet is posted by who has acted, or after others have."
    betting.tell("illegal-action", action, message)
    betting.pay(actor, action.amount)


# -- turns -------------------------------------------------------------------------------------


def _may_fold(betting: Betting, actor: Actor, action: Action) -> bool:
    gone = action.x_reason is not None and not actor.folded and not actor.all_in
    if gone:
        betting.waiting = [one for one in betting.waiting if one is not actor]
    return gone or _out_of_turn(betting, actor, action, quiets=REST)


def _out_of_turn(betting: Betting, actor: Actor, action: Action, quiets: int = 0) -> bool:
    """Tell why a player could not act; True where what he did counts all the same."""
    if actor.folded or actor.all_in:
        state = "has folded" if actor.folded else "is all-in"
        betting.tell("illegal-action", action, f"A player acts who {state}.", quiets=REST)
        actor.chips -= action.amount
        return False
    if betting.why_closed:
        betting.tell("illegal-action", action, betting.why_closed)
    else:
        waiting = betting.waiting
        betting.tell(
            "out-of-turn",
            action,
            "It was another player's turn." if waiting else "Nobody was to act any more.",
            expected=[{"player": waiting[-1].player_id}] if waiting else None,
            posted=[{"player": actor.player_id}],
        )
    betting.quiet = max(betting.quiet, quiets)
    betting.waiting = [one for one in betting.waiting if one is not actor]
    return True


def _fold_oddly(betting: Betting, actor: Actor, action: Action) -> None:
    if action.amount:
        pay_oddly(betting, actor, action)
    else:
        betting.tell("illegal-action", action, "A player folds and is said to be all-in.")


# -- checks and calls --------------------------------------------------------------------------


def _check_oddly(betting: Betting, actor: Actor, action: Action) -> None:
    owed = betting.to_match - actor.bet
    if _is_artificial(action):
        _be_all_in(betting, actor, action)
    elif action.amount:
        nothing, message = [Range(0, 0)], "This action adds nothing to the pot."
        betting.tell_amount(action, nothing, 0, actor.chips, message)
        put_in(betting, actor, action.amount)
    elif owed > 0:
        owes = betting.findings.text(min(owed, actor.chips))
        message = "A player checks who faces a bet."
        betting.tell("illegal-action", action, message, expected=f"call {owes}, raise or fold")
    else:
        check_all_in(betting, actor, action)


def _call_oddly(betting: Betting, actor: Actor, action: Action) -> None:
    """Look at a call that is not the bet: an all-in, or one against a blind that is short.

    Who follows a blind that is all-in for less calls the whole blind, or what was posted of it.
    """
    if _is_artificial(action):
        _be_all_in(betting, actor, action)
        return
    totals = [total for total in (betting.to_match, betting.due) if total > actor.bet]
    amount, chips = action.amount, actor.chips
    if not totals:
        betting.tell("illegal-action", action, "There is no bet to call.")
    elif amount not in [min(total - actor.bet, chips) for total in totals]:
        exact = [Range(total, total) for total in totals]
        message = "A call matches the bet, or is all that the player has."
        betting.tell_amount(action, exact, actor.bet, chips, message)
    if totals and actor.bet + amount == betting.due:
        betting.pay(actor, amount)
        actor.bet += amount
        betting.to_match = max(betting.to_match, actor.bet)
    else:
        put_in(betting, actor, amount)
    check_all_in(betting, actor, action)


def check_all_in(betting: Betting, actor: Actor, action: Action) -> None:
    """Nobody is all-in who has chips left, unless he could not act."""
    if action.is_allin and not actor.all_in:
        everything = [Range(action.amount + actor.chips, action.amount + actor.chips)]
        message = "A player is said to be all-in who has chips left."
        betting.tell_amount(action, everything, 0, everything[0].most, message)


# -- bets and raises ---------------------------------------------------------------------------


def _check_wager_closely(betting: Betting, actor: Actor, action: Action) -> None:
    why_not = _why_no_wager(betting, actor, action)
    if why_not:
        who = [{"player": actor.player_id}]
        betting.tell("illegal-action", action, why_not, posted=who)
    else:
        check_wager(betting, actor, action)


def _why_no_wager(betting: Betting, actor: Actor, action: Action) -> str | None:
    """Say why a player may neither bet nor raise now; None when he may."""
    to_match = betting.to_match
    if action.action == "Raise" and not to_match:
        return "There is no bet to raise."
    if action.action == "Bet" and to_match and not betting.brought_in:
        return "There is a bet already: a player may raise it."
    if actor.answered == betting.full_bets:
        return "The betting is not open to a player who has answered the last full bet."
    if actor.pat_in == betting.number and betting.rulebook.timing.late_draw != "none":
        return "A player bets who did not draw in time."
    if betting.limit is not None and betting.limit.capped(betting):
        return "There have been as many bets as this round may have."
    if not _can_be_called(betting, actor):
        return "Nobody is left who could call."
    return None


def _can_be_called(betting: Betting, actor: Actor) -> bool:
    """Tell whether anyone else has chips to answer more than is bet now."""
    to_match, waiting = betting.to_match, betting.waiting
    if waiting and waiting[-1].bet + waiting[-1].chips > to_match:
        return True
    return any([one.bet + one.chips > to_match for one in betting.able if one is not actor])


def check_wager(betting: Betting, actor: Actor, action: Action) -> None:
    """Check the amount of a bet or raise; whoever has less than the least may go all-in."""
    total = actor.bet + action.amount
    limit = betting.limit
    if limit is None:
        ranges = [Range(betting.to_match + 1, betting.to_match + actor.chips)]
    else:
        ranges = limit.ranges(betting, actor)
    # More than a player has is a matter of his stake; more than the table's cap is one of ours.
    within = action.amount <= actor.chips or not betting.hand.bet_limit.bet_cap
    if within and any(least <= total <= most for least, most in ranges):
        return
    if action.amount == actor.chips and betting.to_match < total <= ranges[-1].most:
        return
    betting.tell_amount(
        action,
        ranges,
        actor.bet,
        actor.chips,
        "The amount is none of those that the limit allows here.",
    )


def put_in(betting: Betting, actor: Actor, amount: int) -> None:
    """Put chips in; when that is more than others have bet, they must answer it.

    Only a full bet or raise opens the betting again: a single one, or what short all-ins make
    together.
    """
    chips, before = actor.chips, betting.to_match
    if amount < chips:
        actor.chips = chips - amount
    else:
        betting.pay(actor, amount)
    total = actor.bet = actor.bet + amount
    if total > before:
        betting.to_match = total
        betting.brought_in = False
        if amount < chips or total - betting.full >= betting.size or _opens_anyway(betting):
            betting.size = max(betting.size, total - max(before, betting.full))
            betting.full = total
            betting.bets += 1
            betting.full_bets += 1
            betting.due = 0
        betting.let_answer(actor)
    actor.answered = betting.full_bets


def _opens_anyway(betting: Betting) -> bool:
    """Tell whether an all-in raise opens the betting however small it is."""
    limits = betting.rulebook.limits
    any_raise = limits.raise_at_least == "none" and betting.full > 0
    return limits.short_all_in_reopens or any_raise


# -- artificial all-ins ------------------------------------------------------------------------


def _is_artificial(action: Action) -> bool:
    return action.is_allin is True and action.x_reason is not None and not action.amount


def _be_all_in(betting: Betting, actor: Actor, action: Action) -> None:
    """Treat a player who cannot act as all-in. Source: K 10.1.6, K 11.17, E."""
    rules, hand = betting.rulebook.artificial_all_in, betting.hand
    why_not = None
    if rules == "none" or (hand.tournament and not rules.in_tournaments):
        why_not = "Nobody is all-in here who could not act: he is folded."
    elif hand.bet_limit.bet_type not in rules.limits:
        why_not = "At this limit nobody is all-in who could not act: he is folded."
    elif rules.needs_money_in_pot and actor.chips == actor.stack:
        why_not = "A player without money in the pot who cannot act is folded."
    if why_not:
        betting.tell("artificial-all-in-not-allowed", action, why_not, quiets=0)
    else:
        betting.artificial.append(ArtificialAllIn(actor.player_id, betting.where(action)))
    actor.all_in = True
    betting.able.remove(actor)
