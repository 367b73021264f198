"""One pass over a hand: forced bets, then round after round, action by action."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from ledger.hands.betting import turns
from ledger.hands.betting.forced import LIVE, Posts, check_posts
from ledger.hands.betting.limits import bring_in_of, limit_of
from ledger.hands.betting.order import brings_in, highest_showing, shows_pair
from ledger.hands.betting.state import REST, ROUND, Actor, ArtificialAllIn, Betting
from ledger.hands.contributions import FORCED, Tally
from ledger.hands.findings import Findings
from ledger.hands.games import GamePlay, play_of
from ledger.hands.ohh import Action, Hand, Round
from ledger.rulebooks import Rulebook
from ledger.rulebooks.play import FixedLimit
from ledger.tables.events import TableState

_TURNS: Final[dict[str, Callable[[Betting, Actor, Action], None]]] = {
    "Fold": turns.fold,
    "Check": turns.check,
    "Call": turns.call,
    "Bet": turns.wager,
    "Raise": turns.wager,
}
_HANDLED: Final = {
    **_TURNS,
    "Discard": turns.draw,
    "Stand Pat": turns.draw,
    **dict.fromkeys(FORCED, turns.post_late),
}


def check_betting(
    hand: Hand, tally: Tally, rulebook: Rulebook, table: TableState | None, findings: Findings
) -> list[ArtificialAllIn]:
    """Check forced bets, whose turn it was, what each player did, and for how much.

    A round's first fault is told: what comes after it in the round may follow from it. Returns the
    artificial all-ins that the rulebook allows as long as a player has not had too many.
    """
    game, play = rulebook.games.get(hand.game), play_of(hand)  # type: ignore[call-overload]
    if game is None or play is None or not tally.dealt or tally.undealt_actors:
        return []
    limit = limit_of(hand, rulebook, table, game)
    betting = Betting(
        hand, tally, rulebook=rulebook, game=game, play=play, limit=limit, findings=findings
    )
    actors, places, handled = betting.actors, _places(play), _HANDLED
    for number, round_ in enumerate(hand.rounds):
        betting.number = number
        if betting.quiet == ROUND:
            betting.quiet = 0
        actions: Sequence[Action] = round_.actions
        place = places.get(round_.street, -1)
        if number == 0:
            actions = _open_hand(betting, actions, place, bring_in_of(hand, rulebook, table))
        else:
            _open_round(betting, round_, place)
        for action in actions:
            handle = handled.get(action.action)
            if handle is not None:
                actor = actors.get(action.player_id)
                if actor is not None:
                    handle(betting, actor, action)
            elif action.amount:
                _pay_oddly(betting, action)
        if betting.waiting:
            _close_round(betting)
    _check_finished(betting)
    return betting.artificial


@lru_cache(maxsize=32)
def _places(play: GamePlay) -> dict[str, int]:
    return {street.name: place for place, street in enumerate(play.streets)}


# -- the first round ---------------------------------------------------------------------------


def _open_hand(
    betting: Betting, actions: Sequence[Action], place: int, bring_in: int
) -> Sequence[Action]:
    """Take the forced bets, check them, and return what comes after them."""
    if place:
        _tell_wrong_street(betting, place)
    betting.street = max(place, 0)
    posts, straddles, rest = _take_posts(betting, actions)
    betting.full_bets = 1
    if betting.limit is not None:
        betting.size = betting.limit.least(betting.street)
    check_posts(betting, posts, bring_in)
    betting.to_match = betting.posted
    if betting.game.bring_in_by != "none":
        _bring_in(betting, posts.get("Bring In"), rest, bring_in)
    elif betting.game.acts_first == "left-of-dealer":
        betting.full = betting.to_match
        betting.let_act(0)
    else:
        _blinds(betting, posts, straddles, rest)
    if betting.left < 2:
        betting.waiting = []
    return rest


def _take_posts(
    betting: Betting, actions: Sequence[Action]
) -> tuple[Posts, list[Action], Sequence[Action]]:
    """Take what is posted before anyone acts; who leaves meanwhile folds."""
    posts: Posts = {}
    straddles: list[Action] = []
    actors = betting.actors
    for index, action in enumerate(actions):
        kind = action.action
        if kind == "Dealt Cards" and not action.amount:
            continue
        if kind in FORCED:
            actor = actors.get(action.player_id)
            if actor is None:
                # Posted by who is not dealt in.
                continue
            if actor.folded:
                turns.post_late(betting, actor, action)
                continue
            if kind == "Straddle":
                straddles.append(action)
                continue
            if kind in posts:
                posts[kind].append(action)
            else:
                posts[kind] = [action]
            betting.pay(actor, action.amount)
            if kind in LIVE:
                actor.bet += action.amount
                betting.posted = max(betting.posted, actor.bet)
            if action.is_allin:
                turns.check_all_in(betting, actor, action)
        elif kind in _TURNS:
            leaver = actors.get(action.player_id)
            if kind != "Fold" or action.x_reason is None or leaver is None:
                return posts, straddles, actions[index:]
            turns.fold(betting, leaver, action)
        elif kind in _HANDLED:
            actor = actors.get(action.player_id)
            if actor is not None:
                turns.draw(betting, actor, action)
        elif action.amount:
            _pay_oddly(betting, action)
    return posts, straddles, ()


def _pay_oddly(betting: Betting, action: Action) -> None:
    actor = betting.actors.get(action.player_id)
    if actor is not None:
        turns.pay_oddly(betting, actor, action)


def _blinds(
    betting: Betting, posts: Posts, straddles: Sequence[Action], rest: Sequence[Action]
) -> None:
    """Let act who is left of the big blind, or of the last straddle. Source: K 10.3.5, L."""
    hand, limits = betting.hand, betting.rulebook.limits
    bigs = posts.get("Post BB")
    last = betting.actors[bigs[-1].player_id] if bigs else None
    big_blind = hand.big_blind_amount or 0
    if last is not None and last.all_in and betting.to_match < big_blind:
        betting.due = big_blind
    betting.full = max(betting.to_match, betting.due)
    if bigs and isinstance(limits.fixed, FixedLimit) and limits.fixed.big_blind_is_first_bet:
        betting.bets = 1
    ring = betting.ring
    for action in straddles:
        actor = betting.actors[action.player_id]
        following = None if last is None else ring[(last.place + 1) % len(ring)]
        if betting.rulebook.blinds != "as-posted":
            if actor is not following:
                betting.tell("out-of-turn", action, "A straddle is posted left of the last blind.")
            turns.check_wager(betting, actor, action)
        turns.put_in(betting, actor, action.amount)
        # A straddle is a blind: its player may still raise.
        actor.answered = 0
        if action.is_allin:
            turns.check_all_in(betting, actor, action)
        last = actor
    if last is None:
        betting.let_act(_place_of(_first_of(betting, rest)[0]))
    else:
        betting.let_act(last.place + 1)


def _bring_in(
    betting: Betting, posts: Sequence[Action] | None, rest: Sequence[Action], due: int
) -> None:
    """Let act who is left of the bring-in. Source: K 10.6.6, K 10.7.4.

    Instead of it a bet may be made, where the rulebook allows more.
    """
    rules = betting.rulebook.bring_in
    if not posts:
        first, action = _first_of(betting, rest)
        betting.let_act(_place_of(first))
        if isinstance(rules, str) or not betting.able:
            return
        due_by = brings_in(betting)
        more = rules.more_if_limit_allows and action is not None and action.action == "Bet"
        if not more or (due_by is not None and first is not due_by):
            betting.tell(
                "missing-forced-bet",
                action,
                "The bring-in is missing.",
                expected=None if due_by is None else [{"player": due_by.player_id}],
                posted=None if first is None else [{"player": first.player_id}],
            )
        return
    actor, amount = betting.actors[posts[0].player_id], betting.to_match
    fixed = betting.rulebook.limits.fixed
    to_complete = betting.hand.bet_limit.bet_type == "FL" and amount < betting.size
    betting.brought_in = to_complete or amount <= due
    if not to_complete:
        betting.full = amount
        betting.size = max(betting.size, amount)
        betting.bets = 1
    elif isinstance(fixed, FixedLimit) and fixed.bring_in_is_first_bet:
        betting.bets = 1
    if actor.all_in and amount < due:
        betting.due = due
    actor.answered = betting.full_bets
    betting.let_answer(actor)


def _first_of(betting: Betting, actions: Sequence[Action]) -> tuple[Actor | None, Action | None]:
    """Find who acted first, as it was posted."""
    for action in actions:
        actor = betting.actors.get(action.player_id)
        if actor is not None and action.action in _TURNS and actor in betting.able:
            return actor, action
    return None, None


def _place_of(actor: Actor | None) -> int:
    return 0 if actor is None else actor.place


# -- later rounds ------------------------------------------------------------------------------


def _open_round(betting: Betting, round_: Round, place: int) -> None:
    """Begin a round: nothing is bet, and the first of those who can bet is to act."""
    betting.waiting = []
    betting.to_match = betting.due = betting.full = betting.bets = 0
    betting.brought_in = betting.open_pair = False
    betting.opened = betting.full_bets + 1
    betting.why_closed = ""
    for one in betting.ring:
        one.bet = 0
    if place <= betting.street:
        again = "There is no betting when a street is run again."
        betting.why_closed = again if place >= 0 else "There is no betting on this street."
        return
    able = betting.able
    playing = betting.left > 1 and len(able) > 1
    if place > betting.street + 1 and playing:
        _tell_left_out(betting)
    betting.street = place
    if round_.cards and _all_share_last_card(betting, place):
        betting.why_closed = "There is no betting after a seventh card that all share."
        return
    if not playing:
        return
    betting.full_bets = betting.opened
    if betting.limit is not None:
        betting.size = betting.limit.least(place)
    if betting.game.acts_first_later == "left-of-dealer":
        betting.waiting = able[::-1]
        return
    if place == 1 and betting.game.double_bet_on_open_pair:
        betting.open_pair = shows_pair(betting)
    openers = highest_showing(betting)
    first, _ = _first_of(betting, round_.actions)
    betting.let_act(_place_of(first if not openers or first in openers else openers[0]))


def _all_share_last_card(betting: Betting, place: int) -> bool:
    """Tell whether a card on the board is everyone's last. Source: K 10.7.7, K 10.8.7."""
    streets = betting.play.streets
    if betting.game.deck_runs_short != "shared-card" or place < len(streets) - 1:
        return False
    return not streets[place].board


def _close_round(betting: Betting) -> None:
    """Check that nobody was still to act; a hand that is not finished may end anywhere."""
    hand = betting.hand
    missing = betting.must_act()
    if not missing or (hand.x_status == "running" and betting.number == len(hand.rounds) - 1):
        return
    betting.tell(
        "out-of-turn",
        None,
        "The round ended before a player had acted.",
        expected=[{"player": missing[0].player_id}],
        quiets=REST,
    )


def _check_finished(betting: Betting) -> None:
    """Check that those who could still bet did so on every street."""
    if betting.hand.x_status == "running" or betting.left < 2 or len(betting.able) < 2:
        return
    if betting.street < len(betting.play.streets) - 1:
        _tell_left_out(betting)


def _tell_wrong_street(betting: Betting, place: int) -> None:
    """The first round of a post is the first street of its game."""
    if place > 0:
        _tell_left_out(betting)
    else:
        betting.tell("illegal-action", None, "The game has no such street.", quiets=REST)


def _tell_left_out(betting: Betting) -> None:
    streets = betting.play.streets
    betting.tell(
        "out-of-turn",
        None,
        "A round of betting was left out.",
        expected=streets[betting.street + 1].name,
        quiets=REST,
    )
