"""Hands by the thousand: played beforehand, filled in with what is true at the table.

A hand of six at no limit is played once and kept as bytes with gaps. Filling in game number, start,
table, names and stacks takes some microseconds, so that one core can keep a ledger busy. The
stacks are so deep that nobody is ever all-in: a hand's amounts stay legal whatever the stacks are.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random
from typing import Final, NamedTuple

from ops.simulator.games import blinds
from ops.simulator.play import Opening, Settled, play
from ops.simulator.rake import by_schedule
from ops.simulator.record import Heading, Seated, encode, record

SEATS: Final = 6
LIMITS: Final = blinds("Holdem", "NL", 100)
DEEPEST: Final = 60 * LIMITS.big_blind
"""Nobody puts more than this into a hand, in minor units."""

SHOWDOWN_SHARE: Final = 4
"""One hand in so many is shown down."""

SITE: Final = "Entraction"


class Script(NamedTuple):
    """A played hand with gaps; ``net`` is what it does to the chips of seats 1 to 6."""

    template: bytes
    net: tuple[int, ...]
    rake: int
    showdown: bool


class LoadTable:
    """A table of six whose stacks are known, and its next hand."""

    __slots__ = ("_names", "_next", "_stacks", "name")

    def __init__(self, name: str, players: Sequence[str], stacks: Sequence[int]) -> None:
        self.name = name.encode()
        self._names = [player.encode() for player in players]
        self._stacks = list(stacks)
        self._next = 0

    @property
    def stacks(self) -> list[int]:
        """The chips of seats 1 to 6 after the last hand, in minor units."""
        return list(self._stacks)

    def hand(self, scripts: Sequence[Sequence[Script]], game_number: int, started: bytes) -> bytes:
        """Write the next hand as JSON; the dealer moves one seat on.

        ``started`` is like ``2026-11-29T18:00:00Z``. Raises RuntimeError when a player has too
        few chips left to play any hand.
        """
        turn = self._next
        self._next = turn + 1
        of_dealer = scripts[turn % SEATS]
        # A step that shares no factor with the number of scripts: every table goes its own way.
        script = of_dealer[(turn * 7 + game_number) % len(of_dealer)]
        a, b, c, d, e, f = self._stacks
        if min(a, b, c, d, e, f) < DEEPEST:
            raise RuntimeError(f"a player at {self.name.decode()} has run short of chips")
        n = self._names
        written = script.template % (
            game_number, started, self.name,
            n[0], a // 100, a % 100, n[1], b // 100, b % 100, n[2], c // 100, c % 100,
            n[3], d // 100, d % 100, n[4], e // 100, e % 100, n[5], f // 100, f % 100,
        )  # fmt: skip
        net = script.net
        self._stacks = [
            a + net[0], b + net[1], c + net[2], d + net[3], e + net[4], f + net[5],
        ]  # fmt: skip
        return written


def scripts(rng: Random, each: int = 50) -> list[list[Script]]:
    """Play hands for every dealer, a realistic mix; the list's first is for the dealer in seat 1.

    Of every dealer's hands one in ``SHOWDOWN_SHARE`` is shown down.
    """
    return [_for_dealer(rng, dealer, each) for dealer in range(1, SEATS + 1)]


def _for_dealer(rng: Random, dealer: int, each: int) -> list[Script]:
    wanted = {True: each // SHOWDOWN_SHARE, False: each - each // SHOWDOWN_SHARE}
    found: list[Script] = []
    while any(wanted.values()):
        script = _script(rng, dealer)
        if script is not None and wanted[script.showdown]:
            wanted[script.showdown] -= 1
            found.append(script)
    rng.shuffle(found)
    return found


def _script(rng: Random, dealer: int) -> Script | None:
    players = tuple((dealer + step) % SEATS + 1 for step in range(SEATS))
    posts = [(players[0], "Post SB"), (players[1], "Post BB")]
    opening = Opening(players, dict.fromkeys(players, DEEPEST), players[2], posts)
    hand = play(rng, LIMITS, opening, by_schedule)
    if any(action.all_in for street in hand.rounds for action in street.actions):
        return None
    net = tuple(hand.stacks[seat] - DEEPEST for seat in range(1, SEATS + 1))
    showdown = hand.rounds[-1].street == "Showdown"
    return Script(_template(dealer, hand), net, sum(hand.rakes), showdown)


def _template(dealer: int, hand: Settled) -> bytes:
    """Write a hand with gaps for the number, the start, the table, and each name and stack."""
    gaps = [
        (b'"NUMBER"', b'"%d"'),
        (b"1999-12-31T23:59:59Z", b"%b"),
        (b'"TABLE"', b'"%b"'),
    ]
    seated = []
    for seat in range(1, SEATS + 1):
        stack = 10**9 + seat
        seated.append(Seated(seat, f"NAME{seat}", stack))
        gaps.append((b'"NAME%d"' % seat, b'"%b"'))
        gaps.append((b"%d.%02d" % divmod(stack, 100), b"%d.%02d"))
    started = datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC)
    heading = Heading(
        "NUMBER", started, SITE, "TABLE", SEATS, dealer, LIMITS, tuple(seated)
    )  # fmt: skip
    template = encode(record(heading, hand)).replace(b"%", b"%%")
    for sentinel, gap in gaps:
        before, after = template.split(sentinel)
        template = before + gap + after
    return template
