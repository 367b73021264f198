"""How often players were all-in because they could not act: a quota in 24 hours at all tables.

Each player's are counted in a stream of their own, which is read and appended to only with a hand
that has one, so that tables do not wait for each other. Source: K 10.1.6.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec

from ledger.core import Book, Event, stream
from ledger.hands.judge import Judgement

DAY: Final = timedelta(hours=24)

Measure = Literal["warning", "account-closed"]


def all_ins_stream(network: str, player: str) -> str:
    """Name the stream in which a player's artificial all-ins are counted."""
    return stream("all-ins", network, player)


class AllInCounted(Event, frozen=True, kw_only=True):
    """A player who could not act was all-in instead of folded; ``occurred_at`` is the hand's start.

    ``beyond_quota``: he should have been folded. ``measure`` is then what the rulebook has for
    misuse: a warning first, the next time his account is to be closed. It is for the room to decide
    whether that was misuse, and to do it.
    """

    NAME = "all_ins.counted.v1"

    game_number: str
    table: str
    beyond_quota: bool = False
    measure: Measure | None = None


EVENTS: Final[tuple[type[Event], ...]] = (AllInCounted,)


class AllInState(msgspec.Struct, frozen=True):
    """When a player was artificially all-in, of late, and how often beyond the quota in all."""

    recent: tuple[datetime, ...]
    beyond_quota: int


def evolve(state: AllInState | None, event: Event) -> AllInState | None:
    """Fold an event of such a stream; hands may be posted up to a day late."""
    assert isinstance(event, AllInCounted), event
    known = (*state.recent, event.occurred_at) if state is not None else (event.occurred_at,)
    before = state.beyond_quota if state is not None else 0
    latest = max(known)
    return AllInState(
        recent=tuple([at for at in known if at > latest - 2 * DAY]),
        beyond_quota=before + event.beyond_quota,
    )


class Count(msgspec.Struct, frozen=True):
    """One more artificial all-in of a player, by his id, and what follows from it."""

    player: str
    beyond_quota: bool
    measure: Measure | None


def count(
    book: Book, network: str, judgement: Judgement, player_ids: Sequence[str | None]
) -> list[Count]:
    """Count the artificial all-ins of a judged hand, and add a finding for each beyond the quota.

    ``player_ids`` are the hand's players in its order. Without a quota nothing is counted.
    """
    rules = judgement.rulebook.artificial_all_in
    if rules == "none" or rules.per_24_hours == "none":
        return []
    quota, measures, at = rules.per_24_hours, rules.misuse, judgement.hand.started_at
    ids = dict(zip([one.id for one in judgement.hand.players], player_ids, strict=True))
    counts: list[Count] = []
    for all_in in judgement.artificial_all_ins:
        player = ids.get(all_in.player_id)
        if player is None:
            continue
        state: AllInState | None = book.get(all_ins_stream(network, player))
        recent = state.recent if state is not None else ()
        before = sum(at - DAY < one <= at for one in recent)
        if before < quota:
            counts.append(Count(player, beyond_quota=False, measure=None))
            continue
        misused = state.beyond_quota if state is not None else 0
        measure = measures[min(misused, len(measures) - 1)] if measures else None
        counts.append(Count(player, beyond_quota=True, measure=measure))
        judgement.findings.add(
            "artificial-all-in-not-allowed",
            all_in.where,
            "The player has been all-in without acting as often as the rulebook allows in"
            f" 24 hours: he is folded. Measure for misuse: {measure or 'none'}.",
            expected=quota,
            posted=before + 1,
        )
    return counts
