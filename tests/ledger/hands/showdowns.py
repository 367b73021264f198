"""Hands that were played to the end, written short, and what is found in their cards.

Everybody antes 4.00, checks, and shows; nothing is raked. Only findings on cards, winners and
shares are looked at.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tests.ledger.hands.posts import Wins, a_post, cards, judged

MINE: Final = (
    "duplicate-card",
    "card-not-in-deck",
    "wrong-card-count",
    "cards-unknown",
    "wrong-pot-winner",
    "wrong-share",
    "wrong-odd-chip",
)

_SEVEN: Final = ("Third Street", "Fourth Street", "Fifth Street", "Sixth Street", "Seventh Street")
_FIVE: Final = ("Second Street", "Third Street", "Fourth Street", "Fifth Street")
_FLOP: Final = ("Preflop", "Flop", "Turn", "River")


class _Dealt(NamedTuple):
    """A game's streets, and how many cards each player and the board get on each."""

    streets: Sequence[str]
    own: Sequence[int]
    board: Sequence[int] = ()


_GAMES: Final = {
    "Holdem": _Dealt(_FLOP, (2, 0, 0, 0), (0, 3, 1, 1)),
    "Omaha": _Dealt(_FLOP, (4, 0, 0, 0), (0, 3, 1, 1)),
    "Omaha5": _Dealt(_FLOP, (5, 0, 0, 0), (0, 3, 1, 1)),
    "OmahaHiLo": _Dealt(_FLOP, (4, 0, 0, 0), (0, 3, 1, 1)),
    "Stud": _Dealt(_SEVEN, (3, 1, 1, 1, 1)),
    "StudHiLo": _Dealt(_SEVEN, (3, 1, 1, 1, 1)),
    "Soko": _Dealt(_FIVE, (2, 1, 1, 1)),
    "Americana": _Dealt(_FIVE, (2, 1, 1, 1)),
    "Telesina": _Dealt((*_FIVE, "Vela"), (2, 1, 1, 1, 0), (0, 0, 0, 0, 1)),
    "FiveCardDraw": _Dealt(("Deal", "First Draw"), (5, 0)),
    "TripleDraw27": _Dealt(("Deal", "First Draw", "Second Draw", "Third Draw"), (5, 0, 0, 0)),
}


def a_showdown(
    game: str,
    hands: Mapping[str, str],
    pots: Sequence[tuple[str, Wins]],
    board: str = "",
    antes: Mapping[str, str] | None = None,
    dead: str = "",
    again: Sequence[tuple[str, str]] = (),
    **root: Any,
) -> dict[str, Any]:
    """Write a hand down in which everyone's cards are dealt and shown.

    ``hands`` are the players' own cards in dealing order; the last player is the dealer. Cards
    that end with ``muck`` are mucked; a player with ``""`` says nothing of his cards. ``antes``
    differ where there are side pots, and are then all-in. ``dead`` is what the first player posts
    besides, ``again`` are further rounds: streets that are run twice.
    """
    dealt = _GAMES[game]
    rounds = [
        (_laid(dealt, number, board), _said(dealt, number, hands))
        for number in range(len(dealt.streets))
    ]
    paid = antes or dict.fromkeys(hands, "4.00")
    posts = [f"{name} ante {paid[name]}{'!' if antes else ''}" for name in hands]
    if dead:
        posts.append(f"{next(iter(hands))} dead {dead}")
    first, said = rounds[0]
    rounds[0] = (first, ", ".join([*posts, said]))
    told = [
        f"{name} {'muck' if own.endswith('muck') else 'show'} {own.removesuffix('muck')}".strip()
        for name, own in hands.items()
        if own
    ]
    if game == "Omaha5":
        root["x_hole_cards"] = 5
    return a_post(
        [*rounds, *again, ("Showdown", ", ".join(told))],
        pots,
        {name: paid[name] if antes else "50" for name in hands},
        game_type=game.removesuffix("5"),
        returned={},
        **root,
    )


def _laid(dealt: _Dealt, number: int, board: str) -> str:
    """Name a street and what is laid on the board."""
    if not board or not dealt.board or not dealt.board[number]:
        return dealt.streets[number]
    before = sum(dealt.board[:number])
    laid = cards(board)[before : before + dealt.board[number]]
    return f"{dealt.streets[number]}: {''.join(laid)}"


def _said(dealt: _Dealt, number: int, hands: Mapping[str, str]) -> str:
    """Deal a street's cards, and let everybody check."""
    before = sum(dealt.own[:number])
    said = []
    for name, own in hands.items():
        mine = cards(own.removesuffix("muck"))[before : before + dealt.own[number]]
        if mine:
            said.append(f"{name} deal {''.join(mine)}")
        if dealt.streets[number].endswith("Draw"):
            said.append(f"{name} stand-pat")
    return ", ".join([*said, *(f"{name} check" for name in hands)])


def found(post: Any, rulebook: str = "as-posted") -> list[str]:
    """Return the codes of what is found in a hand's cards, winners and shares."""
    return [one.code for one in judged(post, rulebook).findings if one.code in MINE]


def winners(post: Any, rulebook: str = "as-posted") -> list[str]:
    """Say who wins each pot by the rules: ``alice 4.00, bob 4.00 low``."""
    judgement = judged(post, rulebook)
    expected = judgement.expected()
    assert expected is not None
    names = {player.id: player.name for player in judgement.hand.players}
    return [
        ", ".join(
            f"{names[win.player]} {win.amount_minor / 100:.2f} {win.half or ''}".strip()
            for win in pot.wins
        )
        for pot in expected.pots
    ]
