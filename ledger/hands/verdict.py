"""How a verdict is shown: what the rules give, whatever was posted, and what was found."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from ledger import money
from ledger.hands.findings import Finding
from ledger.hands.ohh import Hand


class ExpectedWin(msgspec.Struct, frozen=True):
    player: int
    amount_minor: int
    half: str | None = None


class ExpectedPot(msgspec.Struct, frozen=True):
    number: int
    amount_minor: int
    wins: list[ExpectedWin]


class ExpectedReturn(msgspec.Struct, frozen=True):
    player: int
    amount_minor: int


Doubt = Literal["run-twice", "cards-unknown", "flagged"]
"""Why it is not certain that a hand hit the jackpot."""


class BadBeat(msgspec.Struct, frozen=True):
    """Who hit the jackpot; players by their ids in the hand.

    ``losers`` are one player, or several whose hands are equal; ``winners`` won the main pot with
    the highest hand; ``dealt`` is everybody who was dealt in.
    """

    losers: list[int]
    winners: list[int]
    dealt: list[int]
    doubts: list[Doubt]


class Expected(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the rules give, in minor units; players by their ids in the hand."""

    pots: list[ExpectedPot]
    uncalled_returned: list[ExpectedReturn]
    rake_minor: int
    jackpot_minor: int
    jackpot_contribution_minor: int
    bad_beat: BadBeat | None = None


class ShownFinding(msgspec.Struct, frozen=True):
    """A discrepancy: its code and level, where it is, what was expected and what was posted."""

    code: str
    level: str
    where: str
    expected: Any
    posted: Any
    message: str


class ShownWin(msgspec.Struct, frozen=True):
    player: str | None
    amount: str
    half: str | None


class ShownPot(msgspec.Struct, frozen=True):
    number: int
    amount: str
    wins: list[ShownWin]


class ShownReturn(msgspec.Struct, frozen=True):
    player: str | None
    amount: str


Name = str | None


class ShownBadBeat(msgspec.Struct, frozen=True):
    """Who hit the bad-beat jackpot: one player's name, or a list of several who share that part."""

    loser: Name | list[Name]
    winner: Name | list[Name]
    dealt: list[Name]


class ShownExpected(msgspec.Struct, frozen=True):
    """What the rules give; amounts are decimal strings in the hand's currency."""

    pots: list[ShownPot]
    uncalled_returned: list[ShownReturn]
    rake: str
    jackpot: str
    jackpot_contribution: str
    bad_beat: ShownBadBeat | None = None


class Verdict(msgspec.Struct, frozen=True):
    """What is printed and answered: ok, unverified, flagged or refused, and why.

    ``expected`` is null when the hand cannot be worked out at all.
    """

    game_number: str | None
    verdict: str
    expected: ShownExpected | None
    findings: list[ShownFinding]


def show(
    hand: Hand, verdict: str, expected: Expected | None, findings: Iterable[Finding]
) -> Verdict:
    """Write a verdict out: decimal amounts, players by the names that they were posted with."""
    names = {player.id: player.name for player in hand.players}
    shown = None if expected is None else _shown(expected, names, hand.money)
    return Verdict(hand.game_number, verdict, shown, [_found(one, names) for one in findings])


def show_findings(hand: Hand, findings: Iterable[Finding]) -> list[ShownFinding]:
    """Write findings out for whoever posted the hand."""
    names = {player.id: player.name for player in hand.players}
    return [_found(one, names) for one in findings]


def _found(finding: Finding, names: Mapping[int, str]) -> ShownFinding:
    return ShownFinding(
        finding.code,
        finding.level,
        finding.where,
        _named(finding.expected, names),
        _named(finding.posted, names),
        finding.message,
    )


def _shown(expected: Expected, names: Mapping[int, str], currency: str) -> ShownExpected:
    text, name = money.text, names.get
    pots = [
        ShownPot(
            pot.number,
            text(pot.amount_minor, currency),
            [
                ShownWin(name(win.player), text(win.amount_minor, currency), win.half)
                for win in pot.wins
            ],
        )
        for pot in expected.pots
    ]
    returned = [
        ShownReturn(name(one.player), text(one.amount_minor, currency))
        for one in expected.uncalled_returned
    ]
    return ShownExpected(
        pots,
        returned,
        text(expected.rake_minor, currency),
        text(expected.jackpot_minor, currency),
        text(expected.jackpot_contribution_minor, currency),
        None if expected.bad_beat is None else _bad_beat(expected.bad_beat, names),
    )


def _bad_beat(found: BadBeat, names: Mapping[int, str]) -> ShownBadBeat:
    losers, winners, dealt = (
        [names.get(player) for player in players]
        for players in (found.losers, found.winners, found.dealt)
    )
    return ShownBadBeat(_one_or_all(losers), _one_or_all(winners), dealt)


def _one_or_all(players: list[Name]) -> Name | list[Name]:
    return players[0] if len(players) == 1 else players


def _named(value: Any, names: Mapping[int, str]) -> Any:
    """Put names for the players' ids inside a finding."""
    if not isinstance(value, list):
        return value
    return [
        {**item, "player": names.get(item["player"])} if isinstance(item, dict) else item
        for item in value
    ]
