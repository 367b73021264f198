"""Posted hands, written short: ``a_post(["Preflop", "alice sb 1, bob bb 2, alice fold"], …)``."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from ledger import rulebooks
from ledger.hands import reading
from ledger.hands.judge import Judgement, judge
from ledger.hands.ohh import Hand
from ledger.rulebooks import Rulebook

VERBS = {
    "ante": "Post Ante",
    "sb": "Post SB",
    "bb": "Post BB",
    "dead": "Post Dead",
    "blind": "Post Extra Blind",
    "straddle": "Straddle",
    "bring-in": "Bring In",
    "fold": "Fold",
    "check": "Check",
    "bet": "Bet",
    "raise": "Raise",
    "call": "Call",
    "show": "Shows Cards",
    "muck": "Mucks Cards",
    "deal": "Dealt Cards",
    "discard": "Discard",
    "stand-pat": "Stand Pat",
    "leave": "Stands Up",
}

_ENCODER = msgspec.json.Encoder(decimal_format="number")

Wins = Mapping[str, str]


def a_post(
    rounds: Sequence[tuple[str, str]],
    pots: Sequence[tuple[str, Wins]],
    stacks: Mapping[str, str],
    *,
    rake: str = "0",
    returned: Mapping[str, str] | None = None,
    **root: Any,
) -> dict[str, Any]:
    """Write a hand down as a game server does, with amounts as exact decimals.

    Players have ids and seats 1, 2, 3 … in the order of ``stacks``; the last one is the dealer.
    An amount that ends with ``!`` is all-in. ``alice fold left`` says why a player did not act,
    ``alice check timeout!`` is an artificial all-in. Cards are written together, ``alice show
    AhKd``, also those of the board, ``Flop: 2c7d9h``; ``alice discard #2`` says only how many. Wins
    of halves are written ``3.00 high + 1.50 low``. ``root`` sets further keys of the hand.
    """
    ids = {name: number for number, name in enumerate(stacks, 1)}
    hand: dict[str, Any] = {
        "spec_version": "1.4.7",
        "network_name": "Entraction",
        "game_number": "81",
        "start_date_utc": "2013-06-01T12:30:00Z",
        "table_name": "Etomo",
        "table_size": 6,
        "game_type": "Omaha",
        "bet_limit": {"bet_type": "PL"},
        "currency": "EUR",
        "dealer_seat": len(ids),
        "small_blind_amount": Decimal("1.00"),
        "big_blind_amount": Decimal("2.00"),
        "ante_amount": 0,
        "players": [
            {"id": ids[name], "seat": ids[name], "name": name, "starting_stack": Decimal(stack)}
            for name, stack in stacks.items()
        ],
        "rounds": [
            {
                "id": number,
                "street": street.partition(": ")[0],
                "cards": cards(street.partition(": ")[2]),
                "actions": _actions(play, ids),
            }
            for number, (street, play) in enumerate(rounds)
        ],
        "pots": [
            {
                "number": number,
                "amount": Decimal(amount),
                "rake": Decimal(rake if number == 0 else "0"),
                "player_wins": [
                    _win(ids[name], part) for name, won in wins.items() for part in won.split(" + ")
                ],
            }
            for number, (amount, wins) in enumerate(pots)
        ],
        "x_rake_is_for_hand": True,
    }
    if returned is not None:
        hand["x_uncalled_returned"] = [
            {"player_id": ids[name], "amount": Decimal(amount)} for name, amount in returned.items()
        ]
    return {"ohh": {**hand, **root}}


def _actions(play: str, ids: Mapping[str, int]) -> list[dict[str, Any]]:
    actions: list[dict[str, Any]] = []
    for number, said in enumerate(filter(None, (part.strip() for part in play.split(","))), 1):
        name, verb, *rest = said.split()
        told = rest[0] if rest else ""
        action = {"action_number": number, "player_id": ids[name], "action": VERBS[verb]}
        if told.startswith("#"):
            action["x_count"] = int(told[1:])
        elif told.rstrip("!") in ("timeout", "disconnect", "left"):
            action["x_reason"] = told.rstrip("!")
            action["is_allin"] = told.endswith("!")
        elif verb in ("show", "muck", "deal", "discard"):
            action["cards"] = cards(told)
        else:
            action["amount"] = Decimal(told.rstrip("!") or "0")
            action["is_allin"] = told.endswith("!")
        actions.append(action)
    return actions


def _win(player: int, won: str) -> dict[str, Any]:
    amount, _, half = won.partition(" ")
    win = {"player_id": player, "win_amount": Decimal(amount)}
    return {**win, "x_half": half} if half else win


def cards(together: str) -> list[str]:
    """Take cards apart that are written together: ``AhKd``."""
    return [together[place : place + 2] for place in range(0, len(together), 2)]


def encoded(post: Any) -> bytes:
    """Write a post as JSON."""
    return _ENCODER.encode(post)


def read(post: Any) -> Hand:
    """Read a post the way that the edge does."""
    return reading.read(encoded(post))


def a_flop(**root: Any) -> dict[str, Any]:
    """Three players see a flop: 6.00 in the pot, 0.30 rake, and bob wins 5.70 uncontested.

    His last bet of 4.00 is not called.
    """
    return a_post(
        [
            ("Preflop", "alice sb 1, bob bb 2, carol call 2, alice call 1, bob check"),
            ("Flop", "alice check, bob bet 4, carol fold, alice fold"),
        ],
        [("6.00", {"bob": "5.70"})],
        {"alice": "100", "bob": "100", "carol": "100"},
        rake="0.30",
        returned={"bob": "4.00"},
        **root,
    )


def rules(name: str = "entraction") -> Rulebook:
    """Return the last shipped version of a rulebook."""
    return [one for one in rulebooks.shipped() if one.name == name][-1]


def judged(post: Any, rulebook: str = "entraction") -> Judgement:
    """Judge a post alone."""
    return judge(read(post), rules(rulebook))


def codes(post: Any, rulebook: str = "entraction") -> list[str]:
    """Return the codes of what is wrong with a post; what cannot be verified is not wrong."""
    findings = judged(post, rulebook).findings
    return [finding.code for finding in findings if finding.level != "unverified"]
