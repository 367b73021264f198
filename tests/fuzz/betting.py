"""Whether a hand was bet as it should be: PokerKit plays it, one action after the other.

Cards do not matter to betting, those apart that lie open in stud: PokerKit is dealt unknown ones.
"""

import warnings
from collections.abc import Sequence
from typing import Any, Final

import pokerkit as pk

from tests.fuzz.facts import ANTE_GAMES, FORCED, TURNS, Act, Facts, Player, Street, Unsure, must

_FLOP: Final = (("Preflop", 0), ("Flop", 3), ("Turn", 1), ("River", 1))
_SEVEN: Final = ("Third Street", "Fourth Street", "Fifth Street", "Sixth Street", "Seventh Street")
_FIVE: Final = ("Second Street", "Third Street", "Fourth Street", "Fifth Street")
_DRAWS: Final = ("First Draw", "Second Draw", "Third Draw")

HOLE: Final = {"Holdem": 2, "Omaha": 4, "Omaha5": 5, "OmahaHiLo": 4}
STUD: Final = ("Stud", "StudHiLo", "Soko", "Telesina", "Americana")

STRUCTURES: Final = {
    "NL": pk.BettingStructure.NO_LIMIT,
    "PL": pk.BettingStructure.POT_LIMIT,
    "FL": pk.BettingStructure.FIXED_LIMIT,
}


class _Plan:
    """A street as it is dealt: its name, cards down and up for each, and on the board."""

    def __init__(self, name: str, down: int = 0, up: int = 0, board: int = 0) -> None:
        self.name = name
        self.down = down
        self.up = up
        self.board = board
        self.draw = name in _DRAWS


def plan(game: str) -> list[_Plan]:
    """Return the streets of a game. Raises Wrong for a game that there is not."""
    if game in HOLE:
        return [_Plan(name, HOLE[game] if not board else 0, 0, board) for name, board in _FLOP]
    if game in ("Stud", "StudHiLo"):
        ups = [(2, 1), (0, 1), (0, 1), (0, 1), (1, 0)]
        return [_Plan(name, *cards) for name, cards in zip(_SEVEN, ups, strict=True)]
    if game in STUD:
        ups = [(1, 1), (0, 1), (0, 1), (0, 1)]
        vela = [_Plan("Vela", board=1)] if game == "Telesina" else []
        return [_Plan(name, *cards) for name, cards in zip(_FIVE, ups, strict=True)] + vela
    must(game in ("FiveCardDraw", "TripleDraw27"), "no such game")
    draws = _DRAWS[: 1 if game == "FiveCardDraw" else 3]
    return [_Plan("Deal", 5), *map(_Plan, draws)]


def check_betting(facts: Facts, book: str) -> None:
    """Play a hand again. Raises Wrong where PokerKit would not go on, and Unsure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _Table(facts, book).play()


class _Table:
    def __init__(self, facts: Facts, book: str) -> None:
        self.facts = facts
        self.book = book
        self.ring = facts.ring
        self.places = {player.id: place for place, player in enumerate(self.ring)}
        self.plan = plan(facts.game)
        self.stud = facts.game in STUD
        self.short = False
        """Whether someone went all-in for less than a bet in fixed limit: rules differ then."""
        must(len(self.ring) > 1, "nobody to play with")

    def play(self) -> None:
        streets = [one for one in self.facts.streets if one.acts or one.board]
        must(bool(streets), "nothing was played")
        first = self.facts.streets[0].name
        must(first == self.plan[0].name, "the first street is another")
        posts, rest = self._posts(streets[0])
        self._check_late(rest, streets[1:])
        state = self._start(posts)
        at = 0
        for street in streets:
            turns = [act for act in street.acts if act.kind in TURNS]
            known = [place for place, one in enumerate(self.plan) if one.name == street.name]
            dealt = any(act.kind == "Dealt Cards" and act.cards for act in street.acts)
            played = turns or street.board or dealt
            if not played and (not known or known[0] != at):
                continue  # Only a name: cards are shown after the last street.
            must(bool(known), "a street that there is not")
            if at and self._closed(state):
                must(not turns, "somebody acts who cannot")
                continue
            must(known[0] == at, "a street is left out or repeated")
            self._check_draws(street)
            self._deal(state, at, street)
            for act in turns:
                self._act(state, act)
            self._pass_over(state)
            must(state.actor_index is None, "the round ended early")
            at += 1
        must(self._closed(state) or at == len(self.plan), "the hand ended early")

    def _pass_over(self, state: Any) -> None:
        """Let PokerKit pass over who is alone with chips and owes nothing: he need not act."""
        place = state.actor_index
        if place is not None and not state.checking_or_calling_amount:
            others = [n for n, chips in enumerate(state.stacks) if chips and state.statuses[n]]
            if others == [place]:
                state.check_or_call()

    # -- forced bets -----------------------------------------------------------------------------

    def _posts(self, street: Street) -> tuple[list[Act], list[Act]]:
        """Take the forced bets of those who are dealt in; they come before any other bet."""
        posts: list[Act] = []
        for index, act in enumerate(street.acts):
            if act.kind in TURNS:
                return posts, street.acts[index:]
            if act.kind not in FORCED:
                self._check_idle(act)
            if act.kind in FORCED and self.facts.players[act.player].dealt:
                if not act.amount:
                    raise Unsure("a forced bet of nothing")
                posts.append(act)
        return posts, []

    def _check_late(self, rest: Sequence[Act], later: Sequence[Street]) -> None:
        acts = [*rest, *(act for street in later for act in street.acts)]
        dealt = {player.id for player in self.ring}
        late = [act for act in acts if act.kind in FORCED and act.player in dealt]
        must(not late, "a forced bet comes late")
        for act in acts:
            if act.reason is not None:
                raise Unsure("a player who could not act")
            if act.kind not in (*TURNS, *FORCED):
                self._check_idle(act)

    def _check_draws(self, street: Street) -> None:
        """Check that nobody draws once somebody has bet or checked."""
        begun = False
        for act in street.acts:
            begun = begun or act.kind in TURNS
            must(not begun or act.kind not in ("Discard", "Stand Pat"), "a draw after a bet")

    def _check_idle(self, act: Act) -> None:
        must(not act.amount, "money without a bet")
        draws = any(one.draw for one in self.plan)
        must(draws or act.kind not in ("Discard", "Stand Pat"), "a draw where there is none")

    def _start(self, posts: Sequence[Act]) -> Any:
        facts, ring = self.facts, self.ring
        antes, dead, live = ([0] * len(ring) for _ in range(3))
        order: list[int] = []
        bring_in = 0
        for act in posts:
            place = self.places[act.player]
            if act.kind == "Post Ante":
                antes[place] += act.amount
            elif act.kind == "Post Dead":
                dead[place] += act.amount
            elif act.kind == "Bring In":
                if bring_in:
                    self._wrong_post("two bring-ins")
                bring_in = act.amount
                self.brought_in_by = place
            elif act.kind == "Straddle":
                raise Unsure("straddles")
            else:
                if live[place]:
                    self._wrong_post("two blinds of a player")
                live[place] = -act.amount if act.kind == "Post Extra Blind" else act.amount
                order.append(place)
        self._check_posts(posts)
        paid: dict[int, int] = {}
        for act in posts:
            paid[act.player] = paid.get(act.player, 0) + act.amount
            has = facts.players[act.player].stack
            must(not act.all_in or paid[act.player] >= has, "all-in with chips left")
        if self.stud and any(live):
            self._wrong_post("blinds in a game without")
        if any(antes) and any(dead):
            raise Unsure("antes and dead blinds")
        if self.stud and not bring_in:
            raise Unsure("no bring-in")
        if self.stud and bring_in == ring[self.brought_in_by].stack - antes[self.brought_in_by]:
            raise Unsure("a bring-in that is all-in")
        for player in ring:
            must(player.put_in <= player.stack, "more than there was")
        bigs = [act.amount for act in posts if act.kind == "Post BB"]
        smalls = [act.amount for act in posts if act.kind == "Post SB"]
        usual = len(bigs) == 1 and max(smalls, default=0) < bigs[0] and len({*antes}) == 1
        if self.book == "as-posted" and not self.stud and not usual:
            raise Unsure("forced bets as posted")
        if bring_in and not self.stud:
            self._wrong_post("a bring-in where there is none")
        try:
            return self._state(antes, dead, live, bring_in)
        except ValueError as error:
            raise Unsure(f"PokerKit: {error}") from None

    def _state(
        self, antes: Sequence[int], dead: Sequence[int], live: Sequence[int], bring_in: int
    ) -> Any:
        facts, ring = self.facts, self.ring
        # PokerKit turns two players round: the one left of the dealer has the big blind.
        turned = slice(None, None, -1) if len(ring) == 2 else slice(None)
        cap = facts.amount(facts.said["bet_limit"].get("bet_cap")) or 2**60
        return pk.State(
            (
                pk.Automation.ANTE_POSTING,
                pk.Automation.BET_COLLECTION,
                pk.Automation.BLIND_OR_STRADDLE_POSTING,
            ),
            pk.Deck.STANDARD,
            (pk.StandardHighHand,),
            self._streets(),
            STRUCTURES[facts.limit],
            not any(dead) and len({*antes}) == 1,
            [ante + more for ante, more in zip(antes, dead, strict=True)][turned],
            live[turned],
            bring_in,
            [min(player.stack, cap) for player in ring],
            len(ring),
            mode=pk.Mode.CASH_GAME,
        )

    def _wrong_post(self, why: str) -> None:
        """Call a forced bet wrong, unless the rulebook takes them as they are posted."""
        if self.book == "as-posted":
            raise Unsure("forced bets as posted")
        must(False, why)

    def _streets(self) -> tuple[pk.Street, ...]:
        facts = self.facts
        fixed = facts.limit == "FL"
        unit = facts.header("x_small_bet" if fixed else "x_bring_in")
        blind = facts.header("big_blind_amount")
        unit = unit or blind if facts.game in ANTE_GAMES else blind or unit
        upper = facts.header("x_big_bet") or 2 * unit
        if not unit:
            raise Unsure("no stakes")
        lower_streets = 1 if facts.game == "FiveCardDraw" else 2
        streets = []
        for place, one in enumerate(self.plan):
            opening = pk.Opening.POSITION
            if self.stud:
                low = facts.game in ("Stud", "StudHiLo")
                first = pk.Opening.LOW_CARD if low else pk.Opening.HIGH_CARD
                opening = pk.Opening.HIGH_HAND if place else first
            bet = upper if fixed and place >= lower_streets else unit
            statuses = (False,) * one.down + (True,) * one.up
            streets.append(
                pk.Street(False, statuses, one.board, one.draw, opening, bet, 4 if fixed else None)
            )
        return tuple(streets)

    def _check_posts(self, posts: Sequence[Act]) -> None:
        """Check who posts what by the rulebook; ``as-posted`` takes them as they are."""
        if self.book == "as-posted":
            return
        facts, ring = self.facts, self.ring
        kinds: dict[str, dict[int, int]] = {}
        for act in posts:
            of_kind = kinds.setdefault(act.kind, {})
            must(act.player not in of_kind, "posted twice")
            of_kind[act.player] = act.amount
        ante = facts.header("ante_amount")
        paid = kinds.get("Post Ante", {})
        must(set(paid) == ({player.id for player in ring} if ante else set()), "who antes")
        for player in ring:
            if ante:
                must(paid[player.id] in (ante, player.stack), "how much is anted")
                must(paid[player.id] <= ante, "how much is anted")
        if self.stud:
            must(set(kinds) <= {"Post Ante", "Bring In"}, "blinds in a game without")
            must(len(kinds.get("Bring In", {})) == 1, "who brings it in")
            due = facts.header("x_bring_in") or 2 * ante
            must(list(kinds["Bring In"].values()) == [due], "how much it is brought in with")
            return
        extra, dead = kinds.get("Post Extra Blind", {}), kinds.get("Post Dead", {})
        must("Bring In" not in kinds, "nobody brings it in")
        must(set(dead) <= set(extra), "a dead blind alone")
        regular = [one for one in ring if one.id not in extra]
        small, big = self._blinds(regular if len(regular) > 1 else ring)
        for kind, due_by, key in (
            ("Post SB", small, "small_blind_amount"),
            ("Post BB", big, "big_blind_amount"),
        ):
            self._check_blind(kinds.get(kind, {}), due_by, facts.header(key))
        for several, key in ((extra, "big_blind_amount"), (dead, "small_blind_amount")):
            for amount in several.values():
                must(amount == facts.header(key), "how much a newcomer posts")

    def _blinds(self, regular: Sequence[Player]) -> tuple[Player, Player]:
        small, big = regular[0], regular[1]
        two_seats = self.facts.said["table_size"] == 2 and not self.facts.tournament
        if two_seats and len(regular) == 2 and big.seat == self.facts.said["dealer_seat"]:
            return big, small
        return small, big

    def _check_blind(self, paid: dict[int, int], due_by: Player, due: int) -> None:
        must(set(paid) == ({due_by.id} if due else set()), "who posts a blind")
        if due:
            must(paid[due_by.id] <= due, "how much a blind is")
            must(paid[due_by.id] in (due, due_by.stack), "how much a blind is")

    # -- streets ---------------------------------------------------------------------------------

    def _deal(self, state: Any, at: int, street: Street) -> None:
        one = self.plan[at]
        while state.can_stand_pat_or_discard():
            state.stand_pat_or_discard()
        if state.can_deal_board():
            state.deal_board("??" * one.board)
        dealt = {act.player: act.cards for act in street.acts if act.kind == "Dealt Cards"}
        while state.can_deal_hole():
            place = state.hole_dealee_index
            cards = dealt.get(self.ring[place].id, [])
            if not self.stud:
                cards = []
            elif len(cards) == one.up:
                cards = ["??"] * one.down + cards
            elif len(cards) != one.up + one.down:
                cards = []
            if self.stud and one.up and (not cards or "??" in cards[one.down :]):
                raise Unsure("cards face up that are not known")
            state.deal_hole("".join(cards) or "??" * (one.up + one.down))
        if at == 0 and self.stud:
            if state.actor_index != self.brought_in_by and self.book == "as-posted":
                raise Unsure("brought in as posted")
            must(state.actor_index == self.brought_in_by, "another player brings it in")
            state.post_bring_in()

    def _closed(self, state: Any) -> bool:
        """Tell whether nobody can bet any more."""
        alone = sum(state.statuses) < 2
        able = [n for n, chips in enumerate(state.stacks) if chips and state.statuses[n]]
        done = state.actor_index is None and state.street_index is not None and len(able) < 2
        return bool(not state.status or state.all_in_status or alone or done)

    # -- turns -----------------------------------------------------------------------------------

    def _act(self, state: Any, act: Act) -> None:
        place = self.places.get(act.player)
        if self.stud and state.actor_index != place and not state.stacks[state.opener_index]:
            raise Unsure("the first to act is all-in")
        must(place is not None and state.actor_index == place, "out of turn")
        assert place is not None
        owed = state.checking_or_calling_amount
        match act.kind:
            case "Fold":
                must(not act.amount and not act.all_in, "a fold that pays")
                state.fold()
            case "Check":
                must(owed == 0 and not act.amount and not act.all_in, "a check that is none")
                state.check_or_call()
            case "Call":
                self._check_call(state, act, owed)
                state.check_or_call()
            case _:
                self._raise(state, place, act)
        if act.kind in ("Call", "Bet", "Raise"):
            must(not act.all_in or not state.stacks[place], "all-in with chips left")

    def _check_call(self, state: Any, act: Act, owed: int) -> None:
        blind = self.facts.header("big_blind_amount")
        if act.amount != owed and max(state.bets) < blind and not any(state.stacks) < blind:
            raise Unsure("a blind that is all-in for less")
        must(0 < owed == act.amount, "a call that is none")

    def _raise(self, state: Any, place: int, act: Act) -> None:
        to = state.bets[place] + act.amount
        highest = max(state.bets)
        completes = self.stud and highest and state.completion_status
        must(completes or (act.kind == "Raise") == (highest > 0), "a bet is not a raise")
        must(act.amount > 0, "a bet of nothing")
        everything = act.amount == state.stacks[place]
        least = state.min_completion_betting_or_raising_to_amount
        if self.short or self._blind_is_short(state):
            raise Unsure("after an all-in for less")
        if self.facts.game == "Stud" and state.street_index == 1 and _open_pair(state):
            raise Unsure("double bets on an open pair")
        if (
            self.facts.limit == "FL"
            and everything
            and least is not None
            and to < highest + (least - highest)
        ):
            self.short = True
        must(state.can_complete_bet_or_raise_to(to), "an amount that is not allowed")
        if everything and self.facts.limit == "FL":
            self.short = True
        state.complete_bet_or_raise_to(to)

    def _blind_is_short(self, state: Any) -> bool:
        first = state.street_index == 0 and not self.stud
        return bool(first and 0 < max(state.bets) < self.facts.header("big_blind_amount"))


def _open_pair(state: Any) -> bool:
    shown = [list(state.get_up_cards(place)) for place in state.player_indices]
    return any(len({card.rank for card in cards}) < len(cards) for cards in shown)
