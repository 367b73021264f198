"""What was found wrong with hands, and what was done about it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec
import psycopg
from psycopg.types.json import Jsonb

from ledger import catalogue
from ledger.core import Event
from ledger.hands.events import STATUSES, HandPosted
from ledger.hands.filed import ABOUT, Filed, Step, at_stake, filed
from ledger.hands.findings import Finding
from projections.writes import Write, columns, statement

AT_ONCE: Final = 1_000
"""Hands that are read in one query."""

_SET_FINDINGS: Final = """
INSERT INTO {}.findings (
       position, network, table_id, game_number, number, game_server, occurred_at, code, level,
       currency, amount_minor, status, changed_position, explained_at, explained_by, explanation,
       resolved_at, resolved_by, resolution, reason, corrected_by, finding)
SELECT * FROM unnest(
       %b::bigint[], %b::text[], %b::text[], %b::text[], %b::int[], %b::text[], %b::timestamptz[],
       %b::text[], %b::text[], %b::text[], %b::bigint[], %b::text[], %b::bigint[],
       %b::timestamptz[], %b::text[], %b::text[], %b::timestamptz[], %b::text[], %b::text[],
       %b::text[], %b::text[], %b::jsonb[])
    ON CONFLICT (position) DO UPDATE
   SET status = excluded.status, changed_position = excluded.changed_position,
       explained_at = excluded.explained_at, explained_by = excluded.explained_by,
       explanation = excluded.explanation, resolved_at = excluded.resolved_at,
       resolved_by = excluded.resolved_by, resolution = excluded.resolution,
       reason = excluded.reason, corrected_by = excluded.corrected_by
"""
_ADD_STEPS: Final = """
INSERT INTO {}.finding_steps (
       position, finding, occurred_at, became, actor, text, resolution, corrected_by)
SELECT * FROM unnest(%b::bigint[], %b::bigint[], %b::timestamptz[], %b::text[], %b::text[],
                     %b::text[], %b::text[], %b::text[])
"""
_ADD_COUNTS: Final = """
INSERT INTO {}.finding_counts AS kept
SELECT * FROM unnest(%b::text[], %b::text[], %b::text[], %b::text[], %b::bigint[])
    ON CONFLICT (network, code, level, status) DO UPDATE
   SET findings = kept.findings + excluded.findings
"""
_EVENTS: Final = """
SELECT originator_id, notification_id, topic, state FROM journal.events
 WHERE originator_id = ANY (%s) AND (originator_version = 1 OR topic = ANY (%s))
   AND notification_id <= %s
 ORDER BY originator_id, originator_version
"""


class FindingRow(NamedTuple):
    """A finding as it is kept: which event told it, of which hand, and how it stands."""

    position: int
    network: str
    table_id: str
    game_number: str
    number: int
    game_server: str
    occurred_at: datetime
    code: str
    level: str
    currency: str
    amount_minor: int | None
    status: str
    changed_position: int | None
    explained_at: datetime | None
    explained_by: str | None
    explanation: str | None
    resolved_at: datetime | None
    resolved_by: str | None
    resolution: str | None
    reason: str | None
    corrected_by: str | None
    finding: dict[str, Any]

    @property
    def counted(self) -> tuple[str, str, str, str]:
        """As what it is counted."""
        return (self.network, self.code, self.level, self.status)

    def countable(self) -> list[tuple[str, str, str, str]]:
        """Return as what it is counted however it stands."""
        return [(self.network, self.code, self.level, status) for status in STATUSES]


class StepRow(NamedTuple):
    """What was done about a finding, as it is kept."""

    position: int
    finding: int
    occurred_at: datetime
    became: str
    actor: str
    text: str
    resolution: str | None
    corrected_by: str | None


class Findings:
    """What a batch says of findings."""

    def __init__(self, book: str) -> None:
        self._set_findings = statement(_SET_FINDINGS, book)
        self._add_steps = statement(_ADD_STEPS, book)
        self._add_counts = statement(_ADD_COUNTS, book)
        self._noted: dict[str, set[int]] = {}
        self._last = 0

    def note(self, stream: str, event: Event, position: int) -> None:
        """Take an event about a finding."""
        self._noted.setdefault(stream, set()).add(position)
        self._last = position

    def writes(self, cursor: psycopg.Cursor[Any]) -> Iterator[Write]:
        """Write how the findings of the batch stand after it; their hands' events say it."""
        rows: list[FindingRow] = []
        steps: list[StepRow] = []
        counts: Counter[tuple[str, str, str, str]] = Counter()
        for stream, hand in hands(cursor, self._noted, self._last):
            noted = self._noted[stream]
            before = {row.position: row for row in hand.without(noted).rows()}
            for row in hand.rows():
                old = before.get(row.position)
                if row != old:
                    rows.append(row)
                    # However it stands, all are counted: the rows are the same for any batches.
                    counts.update(dict.fromkeys(row.countable(), 0))
                    counts[row.counted] += 1
                    if old is not None:
                        counts[old.counted] -= 1
            steps += [step for step in hand.steps() if step.position in noted]
        self._noted = {}
        if rows:
            kept = [(*row[:-1], Jsonb(row.finding)) for row in rows]
            yield Write(self._set_findings, columns(kept))
            yield Write(self._add_counts, columns((*of, more) for of, more in counts.items()))
        if steps:
            yield Write(self._add_steps, columns(steps))


class Hand(NamedTuple):
    """How a hand was booked, and the events about its findings with their positions."""

    posted: HandPosted
    events: Sequence[tuple[int, Event]]

    def without(self, positions: Collection[int]) -> "Hand":
        """Return the hand as if some of its events had not been."""
        return self._replace(events=[one for one in self.events if one[0] not in positions])

    def rows(self) -> list[FindingRow]:
        """Return the rows of its findings."""
        return [_row(self.posted, one) for one in filed(self.events)]

    def steps(self) -> list[StepRow]:
        """Return the rows of what was done about them."""
        return [_step(one, step) for one in filed(self.events) for step in one.steps]


def hands(
    cursor: psycopg.Cursor[Any], streams: Collection[str], upto: int
) -> Iterator[tuple[str, Hand]]:
    """Read what is said of the findings of hands up to a position, some hands at a time."""
    left = sorted(streams)
    topics = [event.NAME for event in ABOUT]
    for begin in range(0, len(left), AT_ONCE):
        events: Mapping[str, list[tuple[int, Event]]] = defaultdict(list)
        asked = (left[begin : begin + AT_ONCE], topics, upto)
        for stream, position, topic, state in cursor.execute(_EVENTS, asked):
            events[stream].append((position, catalogue.decode(topic, bytes(state))))
        for stream, [(_, posted), *about] in events.items():
            assert isinstance(posted, HandPosted), stream
            yield stream, Hand(posted, about)


def _row(posted: HandPosted, one: Filed) -> FindingRow:
    explained, resolved = one.explained, one.resolved
    return FindingRow(
        position=one.position,
        network=posted.network,
        table_id=posted.table,
        game_number=posted.game_number,
        number=one.number,
        game_server=one.filed_by,
        occurred_at=one.occurred_at,
        code=one.finding.code,
        level=one.finding.level,
        currency=posted.currency,
        amount_minor=at_stake(one.finding, posted.currency),
        status=one.status,
        changed_position=one.steps[-1].position if one.steps else None,
        explained_at=explained.at if explained else None,
        explained_by=explained.by if explained else None,
        explanation=explained.text if explained else None,
        resolved_at=resolved.at if resolved else None,
        resolved_by=resolved.by if resolved else None,
        resolution=resolved.resolution if resolved else None,
        reason=resolved.text if resolved else None,
        corrected_by=resolved.corrected_by if resolved else None,
        finding=_storable(one.finding),
    )


def _storable(finding: Finding) -> dict[str, Any]:
    """Return a finding without NUL: PostgreSQL has it in no text, and a posted card may be it."""
    content = msgspec.json.encode(finding)
    storable: dict[str, Any] = msgspec.json.decode(content.replace(b"\\u0000", b"\\ufffd"))
    return storable


def _step(one: Filed, step: Step) -> StepRow:
    return StepRow(
        position=step.position,
        finding=one.position,
        occurred_at=step.at,
        became=step.became,
        actor=step.by,
        text=step.text,
        resolution=step.resolution,
        corrected_by=step.corrected_by,
    )
