"""Ways to change a post: one value anywhere, or what a cheat or a broken server would change.

Every mutation takes a decoded post and changes it in place; it says in a word what it did, or None
where the post has nothing of the kind.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from random import Random
from typing import Any, Final

import msgspec

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")

DECK: Final = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]

ACTIONS: Final = (
    "Dealt Cards", "Mucks Cards", "Shows Cards", "Post Ante", "Post SB", "Post BB", "Straddle",
    "Post Dead", "Post Extra Blind", "Bring In", "Fold", "Check", "Bet", "Raise", "Call",
    "Discard", "Stand Pat", "Added Chips", "Sits Down", "Stands Up", "Add to Pot",
    "Player Adjustment",
)  # fmt: skip
GAMES: Final = (
    "Holdem", "Omaha", "OmahaHiLo", "Stud", "StudHiLo", "Draw", "Soko", "FiveCardDraw",
    "TripleDraw27", "Telesina", "Americana", "Razz",
)  # fmt: skip
STREETS: Final = (
    "Preflop", "Flop", "Turn", "River", "Second Street", "Third Street", "Fourth Street",
    "Fifth Street", "Sixth Street", "Seventh Street", "Vela", "Deal", "First Draw", "Second Draw",
    "Third Draw", "Showdown",
)  # fmt: skip

ODD: Final[Sequence[Any]] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**400, Decimal("0.001"), Decimal("-0.01"),
    Decimal("1e400"), Decimal("1e-400"), "", "1.00", "As", "\u202e\U0001f0a1\u0000", "x" * 5000,
    [], {}, [[]], [None], {"a": 1}, ["As", "As"],
)  # fmt: skip
"""What may stand where nobody expects it."""

Post = dict[str, Any]


def mutant(rng: Random, document: Any) -> tuple[str, bytes] | None:
    """Change a post once, seldom twice; return what was done and the post's new bytes."""
    done = [rng.choice(_CHOICES)(rng, document)]
    if rng.random() < 0.1:
        # What was changed first may have left nothing for the second change to find.
        with suppress(ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            done.append(rng.choice(_CHOICES)(rng, document))
    if not any(done):
        return None
    written = _ENCODER.encode(document)
    if rng.random() < 0.02:
        name, written = _spoil(rng, written)
        done.append(name)
    return " + ".join(filter(None, done)), written


def _spoil(rng: Random, written: bytes) -> tuple[str, bytes]:
    """Change bytes, so that what is left may not be JSON."""
    at = rng.randrange(len(written))
    kind = rng.randrange(3)
    if kind == 0:
        return "bytes cut", written[:at]
    if kind == 1:
        return "a byte changed", written[:at] + bytes([rng.randrange(256)]) + written[at + 1 :]
    return "bytes repeated", written[:at] + written[max(0, at - 20) :]


# -- small helpers -------------------------------------------------------------------------------


def _unit(post: Post) -> Decimal:
    whole = post.get("tournament") or post.get("currency") in ("XTC", "XCR")
    return Decimal(1) if whole else Decimal("0.01")


def _acts(post: Post) -> list[Post]:
    return [act for street in post["rounds"] for act in street["actions"]]


def _paying(post: Post) -> list[Post]:
    return [act for act in _acts(post) if act.get("amount")]


def _wins(post: Post) -> list[Post]:
    return [win for pot in post["pots"] for win in pot["player_wins"]]


def _hands(post: Post) -> list[list[str]]:
    """Return every list of cards that is not empty."""
    lists = [street.get("cards") for street in post["rounds"]]
    lists += [act.get("cards") for act in _acts(post)]
    return [cards for cards in lists if cards]


def _pick(rng: Random, items: Sequence[Any], count: int) -> list[Any] | None:
    return rng.sample(list(items), count) if len(items) >= count else None


def _swap(one: Post, other: Post, key: str) -> None:
    one[key], other[key] = other[key], one[key]


def _add(holder: Post, key: str, amount: Decimal) -> None:
    holder[key] = Decimal(holder.get(key) or 0) + amount


# -- one value, anywhere -------------------------------------------------------------------------


def _places(value: Any, path: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Give every value inside another with its holder, its key and its path without numbers."""
    items: Any = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        name = f"{path}.{key}" if isinstance(value, dict) else f"{path}[]"
        yield value, key, name.removeprefix(".")
        if isinstance(inner, (dict, list)):
            yield from _places(inner, name)


def odd_value(rng: Random, document: Any) -> str | None:
    holder, key, path = rng.choice(list(_places(document)))
    holder[key] = rng.choice(ODD)
    return f"odd value: {path}"


def missing_key(rng: Random, document: Any) -> str | None:
    places = [place for place in _places(document) if isinstance(place[0], dict)]
    holder, key, path = rng.choice(places)
    del holder[key]
    return f"missing: {path}"


def other_number(rng: Random, document: Any) -> str | None:
    numbers = [
        place
        for place in _places(document)
        if isinstance(place[0][place[1]], (int, Decimal))
        and place[0][place[1]] not in (True, False)
    ]
    holder, key, path = rng.choice(numbers)
    whole = isinstance(holder[key], int)
    unit = Decimal(1) if whole else _unit(document["ohh"])
    step = rng.choice((1, 1, 1, -1, -1, -1, 2, 100, -100))
    holder[key] += int(step) if whole else step * unit
    return f"other number: {path}"


def list_item(rng: Random, document: Any) -> str | None:
    lists = [
        (holder[key], path)
        for holder, key, path in _places(document)
        if isinstance(holder[key], list) and holder[key]
    ]
    items, path = rng.choice(lists)
    at = rng.randrange(len(items))
    kind = rng.choice(("dropped", "doubled", "swapped", "reversed"))
    if kind == "dropped":
        del items[at]
    elif kind == "doubled":
        items.insert(rng.randrange(len(items) + 1), json.loads(_ENCODER.encode(items[at]),
                                                              parse_float=Decimal))  # fmt: skip
    elif kind == "swapped":
        items[at], items[at - 1] = items[at - 1], items[at]
    else:
        items.reverse()
    return f"{kind}: {path}"


def flag(rng: Random, document: Any) -> str | None:
    post = document["ohh"]
    key, value = rng.choice(
        [
            ("tournament", not post.get("tournament")),
            ("x_rake_is_for_hand", not post.get("x_rake_is_for_hand")),
            ("x_status", "running"),
            ("x_status", "finished"),
            ("x_hole_cards", rng.choice((4, 5, 6))),
            ("x_spread", [1, 2, 3]),
            ("x_small_bet", rng.randrange(1, 9)),
            ("x_big_bet", rng.randrange(1, 9)),
            ("x_bring_in", rng.randrange(1, 9)),
            ("x_round", 2),
            ("hero_player_id", 99),
            ("x_rulebook", "house"),
            ("x_uncalled_returned", []),
        ]
    )
    post[key] = value
    return f"flag: {key}"


# -- who ------------------------------------------------------------------------------------------


def actors_swapped(rng: Random, document: Any) -> str | None:
    two = _pick(rng, [act for act in _acts(document["ohh"]) if "player_id" in act], 2)
    if two is None:
        return None
    _swap(two[0], two[1], "player_id")
    return "actors swapped"


def another_actor(rng: Random, document: Any) -> str | None:
    post = document["ohh"]
    [act] = _pick(rng, _acts(post), 1) or [None]
    if act is None:
        return None
    act["player_id"] = rng.choice([one["id"] for one in post["players"]])
    return "another actor"


def seats(rng: Random, document: Any) -> str | None:
    post = document["ohh"]
    two = _pick(rng, post["players"], 2)
    key = rng.choice(("seat", "starting_stack", "id", "name"))
    if two is None:
        return None
    _swap(two[0], two[1], key)
    return f"players swapped: {key}"


def dealer(rng: Random, document: Any) -> str | None:
    post = document["ohh"]
    post["dealer_seat"] = rng.choice([one["seat"] for one in post["players"]])
    return "dealer"


def dealt_in(rng: Random, document: Any) -> str | None:
    one = rng.choice(document["ohh"]["players"])
    key = rng.choice(("x_dealt", "is_sitting_out"))
    one[key] = not one.get(key, key == "x_dealt")
    return f"player: {key}"


def winner(rng: Random, document: Any) -> str | None:
    post = document["ohh"]
    wins = _wins(post)
    if not wins:
        return None
    rng.choice(wins)["player_id"] = rng.choice([one["id"] for one in post["players"]])
    return "another winner"


# -- money that still adds up ----------------------------------------------------------------------


def won_by_another(rng: Random, document: Any) -> str | None:
    """Move money from one winner to another, who may be new."""
    post = document["ohh"]
    pots = [pot for pot in post["pots"] if pot["player_wins"]]
    if not pots:
        return None
    pot = rng.choice(pots)
    wins = pot["player_wins"]
    one, other = rng.choice(wins), rng.choice(wins)
    if one is other:
        other = {"player_id": rng.choice([p["id"] for p in post["players"]]), "win_amount": 0}
        wins.append(other)
    unit = _unit(post)
    moved = rng.choice((unit, 2 * unit, Decimal(one["win_amount"]) // (2 * unit) * unit))
    _add(one, "win_amount", -moved)
    _add(other, "win_amount", moved)
    return "won by another"


def rake_and_win(rng: Random, document: Any) -> str | None:
    """Move money between what leaves a pot and what is won of it."""
    post = document["ohh"]
    pots = [pot for pot in post["pots"] if pot["player_wins"]]
    if not pots:
        return None
    pot = rng.choice(pots)
    key = rng.choice(("rake", "rake", "jackpot"))
    moved = rng.choice((1, -1, 5)) * _unit(post)
    _add(pot, key, moved)
    _add(rng.choice(pot["player_wins"]), "win_amount", -moved)
    return f"{key} against win"


def between_pots(rng: Random, document: Any) -> str | None:
    """Move money from one pot to another, which may be new, and what is won of it."""
    post = document["ohh"]
    pots = post["pots"]
    if not pots or not all(pot["player_wins"] for pot in pots):
        return None
    if len(pots) < 2 or rng.random() < 0.2:
        win = {"player_id": rng.choice(_wins(post))["player_id"], "win_amount": 0}
        pots.append({"number": len(pots), "amount": 0, "player_wins": [win]})
    one, other = rng.sample(pots, 2)
    moved = rng.choice((1, 7)) * _unit(post)
    for pot, amount in ((one, -moved), (other, moved)):
        _add(pot, "amount", amount)
        _add(pot["player_wins"][0], "win_amount", amount)
    return "between pots"


def pots_merged(rng: Random, document: Any) -> str | None:
    pots = document["ohh"]["pots"]
    if len(pots) < 2:
        return None
    last = pots.pop()
    for key in ("amount", "rake", "jackpot"):
        _add(pots[0], key, Decimal(last.get(key) or 0))
    pots[0]["player_wins"] += last["player_wins"]
    return "pots merged"


def bet_and_pot(rng: Random, document: Any) -> str | None:
    """Change what a player puts in, and the pot and a win with it."""
    post = document["ohh"]
    paying = _paying(post)
    pots = [pot for pot in post["pots"] if pot["player_wins"]]
    if not paying or not pots:
        return None
    act, pot = rng.choice(paying), rng.choice(pots)
    moved = rng.choice((1, -1, 10, Decimal(act["amount"]) / _unit(post))) * _unit(post)
    _add(act, "amount", moved)
    _add(pot, "amount", moved)
    _add(rng.choice(pot["player_wins"]), "win_amount", moved)
    return "a bet and its pot"


def a_level_of_bets(rng: Random, document: Any) -> str | None:
    """Raise or lower a bet and its calls in one round by the same, pot and win with them."""
    post = document["ohh"]
    street = rng.choice(post["rounds"])
    paying = [act for act in street["actions"] if act.get("amount")]
    pots = [pot for pot in post["pots"] if pot["player_wins"]]
    if len(paying) < 2 or not pots:
        return None
    moved = rng.choice((1, -1, 5, -5, 50)) * _unit(post)
    chosen = paying[rng.randrange(len(paying)) :]
    for act in chosen:
        _add(act, "amount", moved)
    _add(pots[-1], "amount", moved * len(chosen))
    _add(pots[-1]["player_wins"][0], "win_amount", moved * len(chosen))
    return "bets and calls"


def returned_to_pot(rng: Random, document: Any) -> str | None:
    """Leave an uncalled bet in the pot, or return what was called."""
    post = document["ohh"]
    back = post.get("x_uncalled_returned")
    pots = [pot for pot in post["pots"] if pot["player_wins"]]
    if back is None or not pots:
        return None
    if not back:
        back.append({"player_id": rng.choice(post["players"])["id"], "amount": 0})
    one = rng.choice(back)
    moved = rng.choice((Decimal(one["amount"]), _unit(post), -_unit(post)))
    _add(one, "amount", -moved)
    _add(pots[0], "amount", moved)
    _add(pots[0]["player_wins"][0], "win_amount", moved)
    return "returned or in the pot"


def bets_shifted(rng: Random, document: Any) -> str | None:
    """Move money from one action to another: what is put in stays the same."""
    two = _pick(rng, _paying(document["ohh"]), 2)
    if two is None:
        return None
    moved = rng.choice((1, 1, 20)) * _unit(document["ohh"])
    _add(two[0], "amount", -moved)
    _add(two[1], "amount", moved)
    return "money between bets"


# -- actions ---------------------------------------------------------------------------------------


def renamed(rng: Random, document: Any) -> str | None:
    acts = _acts(document["ohh"])
    if not acts:
        return None
    act = rng.choice(acts)
    act["action"] = rng.choice(ACTIONS)
    return "another action"


def moved_in_time(rng: Random, document: Any) -> str | None:
    rounds = [street for street in document["ohh"]["rounds"] if street["actions"]]
    if not rounds:
        return None
    one, other = rng.choice(rounds), rng.choice(document["ohh"]["rounds"])
    act = one["actions"].pop(rng.randrange(len(one["actions"])))
    other["actions"].insert(rng.randrange(len(other["actions"]) + 1), act)
    return "moved in time"


def inserted(rng: Random, document: Any) -> str | None:
    """Let somebody do something more."""
    post = document["ohh"]
    street = rng.choice(post["rounds"])
    act: Post = {
        "action": rng.choice(("Fold", "Check", "Call", "Stand Pat", "Mucks Cards", "Raise")),
        "player_id": rng.choice(post["players"])["id"],
    }
    if act["action"] in ("Call", "Raise"):
        act["amount"] = rng.choice((1, 5)) * _unit(post)
    street["actions"].insert(rng.randrange(len(street["actions"]) + 1), act)
    return "an action more"


def all_in(rng: Random, document: Any) -> str | None:
    acts = _acts(document["ohh"])
    if not acts:
        return None
    act = rng.choice(acts)
    act["is_allin"] = not act.get("is_allin")
    if rng.random() < 0.3:
        act["x_reason"] = rng.choice(("timeout", "disconnect", "left"))
    return "all-in or not"


def street(rng: Random, document: Any) -> str | None:
    one = rng.choice(document["ohh"]["rounds"])
    one["street"] = rng.choice(STREETS)
    return "another street"


def without_draws(rng: Random, document: Any) -> str | None:
    """Leave out that somebody drew, or how many."""
    draws = [
        (street["actions"], act)
        for street in document["ohh"]["rounds"]
        for act in street["actions"]
        if act.get("action") in ("Discard", "Stand Pat")
    ]
    if not draws:
        return None
    acts, act = rng.choice(draws)
    acts.remove(act)
    return "a draw less"


# -- cards -----------------------------------------------------------------------------------------


def another_card(rng: Random, document: Any) -> str | None:
    hands = _hands(document["ohh"])
    if not hands:
        return None
    cards = rng.choice(hands)
    old, new = rng.choice(cards), rng.choice(DECK)
    if rng.random() < 0.5:
        for hand in hands:
            hand[:] = [new if card == old else card for card in hand]
        return "another card everywhere"
    cards[cards.index(old)] = new
    return "another card"


def cards_swapped(rng: Random, document: Any) -> str | None:
    """Swap two cards wherever they stand."""
    hands = _hands(document["ohh"])
    known = sorted({card for hand in hands for card in hand} - {"??"})
    two = _pick(rng, known, 2)
    if two is None:
        return None
    names = {two[0]: two[1], two[1]: two[0]}
    for hand in hands:
        hand[:] = [names.get(card, card) for card in hand]
    return "cards swapped"


def card_unknown(rng: Random, document: Any) -> str | None:
    hands = _hands(document["ohh"])
    if not hands:
        return None
    old = rng.choice(rng.choice(hands))
    for hand in hands:
        hand[:] = ["??" if card == old else card for card in hand]
    return "a card unknown"


def card_odd(rng: Random, document: Any) -> str | None:
    hands = _hands(document["ohh"])
    if not hands:
        return None
    cards = rng.choice(hands)
    cards[rng.randrange(len(cards))] = rng.choice(("", "as", "1h", "10h", "Ax", "A", "?", "AsAs"))
    return "no card"


def card_more_or_less(rng: Random, document: Any) -> str | None:
    hands = _hands(document["ohh"])
    if not hands:
        return None
    cards = rng.choice(hands)
    if rng.random() < 0.5:
        cards.pop()
    else:
        cards.append(rng.choice(DECK))
    return "a card more or less"


# -- the table -------------------------------------------------------------------------------------


def stakes(rng: Random, document: Any) -> str | None:
    """Change a blind or the ante in the heading, and sometimes what was posted."""
    post = document["ohh"]
    key, kind = rng.choice(
        [
            ("small_blind_amount", "Post SB"),
            ("big_blind_amount", "Post BB"),
            ("ante_amount", "Post Ante"),
        ]
    )
    moved = rng.choice((1, -1, 2, 10)) * _unit(post)
    _add(post, key, moved)
    if rng.random() < 0.5:
        for act in _acts(post):
            if act.get("action") == kind:
                _add(act, "amount", moved)
    return f"stakes: {key}"


def game(rng: Random, document: Any) -> str | None:
    document["ohh"]["game_type"] = rng.choice(GAMES)
    return "game"


def limit(rng: Random, document: Any) -> str | None:
    document["ohh"]["bet_limit"]["bet_type"] = rng.choice(("NL", "PL", "FL", "SL", "HPL"))
    return "limit"


def cap(rng: Random, document: Any) -> str | None:
    document["ohh"]["bet_limit"]["bet_cap"] = rng.choice((1, 50, 10**6)) * _unit(document["ohh"])
    return "cap"


def currency(rng: Random, document: Any) -> str | None:
    document["ohh"]["currency"] = rng.choice(("EUR", "USD", "XPM", "PPC", "JPY", "XTC", "ZZZ", ""))
    return "currency"


def start(rng: Random, document: Any) -> str | None:
    document["ohh"]["start_date_utc"] = rng.choice(
        (
            "2009-01-01",
            "2014-01-01T00:00:00",
            "0001-01-01",
            "9999-12-31T23:59:59-23:59",
            "12:00",
            "",
        )
    )
    return "start"


def table_size(rng: Random, document: Any) -> str | None:
    document["ohh"]["table_size"] = rng.choice((0, 2, 6, 10, 1000, 1001))
    return "table size"


def half(rng: Random, document: Any) -> str | None:
    wins = _wins(document["ohh"])
    if not wins:
        return None
    rng.choice(wins)["x_half"] = rng.choice(("high", "low"))
    return "half"


Mutation = Callable[[Random, Any], str | None]

_WEIGHTS: Final[dict[Mutation, int]] = {
    odd_value: 5, missing_key: 3, other_number: 6, list_item: 6, flag: 3,
    actors_swapped: 4, another_actor: 3, seats: 3, dealer: 2, dealt_in: 2, winner: 3,
    won_by_another: 4, rake_and_win: 3, between_pots: 3, pots_merged: 2, bet_and_pot: 4,
    a_level_of_bets: 5, returned_to_pot: 3, bets_shifted: 4,
    renamed: 4, moved_in_time: 4, inserted: 3, all_in: 2, street: 2, without_draws: 1,
    another_card: 4, cards_swapped: 5, card_unknown: 2, card_odd: 1, card_more_or_less: 2,
    stakes: 4, game: 1, limit: 2, cap: 1, currency: 1, start: 1, table_size: 1, half: 1,
}  # fmt: skip

_CHOICES: Final = [one for one, weight in _WEIGHTS.items() for _ in range(weight)]
