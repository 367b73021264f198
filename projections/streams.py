"""Streams whose state is kept, as the ledger folds them: players, tables, deposits and others."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
import psycopg
from psycopg import sql

from ledger import catalogue
from ledger.core import Event
from projections.schema import FOLLOWED
from projections.writes import Write, columns, statement

CACHED: Final = 100_000
"""States of one category kept in memory; beyond them all are forgotten and read again."""

_SET: Final = """
INSERT INTO {}.{} (stream, position, first_position, state)
SELECT stream, position, first_position, state::jsonb
  FROM unnest(%b::text[], %b::bigint[], %b::bigint[], %b::text[])
    AS now (stream, position, first_position, state)
    ON CONFLICT (stream) DO UPDATE SET position = excluded.position, state = excluded.state
"""


class Streams:
    """The folded states of the streams of one category."""

    def __init__(self, category: str, book: str) -> None:
        self._table = sql.Identifier(book, FOLLOWED[category])
        self._set = statement(_SET, book, FOLLOWED[category])
        self._evolve = catalogue.STREAMS[category].evolve
        self._decode = msgspec.json.Decoder(catalogue.STREAMS[category].state).decode
        self._states: dict[str, Any] = {}
        self._events: dict[str, list[Event]] = {}
        self._positions: dict[str, int] = {}
        self._firsts: dict[str, int] = {}

    def note(self, stream: str, event: Event, position: int) -> None:
        """Take an event of the batch that is being read."""
        self._positions[stream] = position
        events = self._events.get(stream)
        if events is None:
            self._events[stream] = [event]
            self._firsts.setdefault(stream, position)
        else:
            events.append(event)

    def fold(self, cursor: psycopg.Cursor[Any]) -> None:
        """Fold the events that were noted into the states."""
        if not self._events:
            return
        self.load(cursor, self._events)
        states, evolve = self._states, self._evolve
        for stream, events in self._events.items():
            state = states.get(stream)
            for event in events:
                state = evolve(state, event)
            states[stream] = state
        self._events = {}

    def load(self, cursor: psycopg.Cursor[Any], streams: Iterable[str]) -> None:
        """Read the states that are not in memory."""
        missing = [stream for stream in streams if stream not in self._states]
        if not missing:
            return
        found = cursor.execute(
            sql.SQL("SELECT stream, state::text FROM {} WHERE stream = ANY(%b)").format(
                self._table
            ),
            (missing,),
        )
        for stream, state in found:
            self._states[stream] = self._decode(state)

    def get(self, stream: str) -> Any:
        """Return a state that is in memory, or None."""
        return self._states.get(stream)

    def writes(self) -> Iterator[Write]:
        """Write the states that the batch changed, its events all folded."""
        changed = sorted(self._positions)
        if changed:
            encode = msgspec.json.encode
            rows = (
                # Of a stream that is kept already the first position is left as it is.
                (
                    stream,
                    self._positions[stream],
                    self._firsts[stream],
                    encode(self._states[stream]).decode(),
                )
                for stream in changed
            )
            yield Write(self._set, columns(rows))
        self._positions, self._firsts = {}, {}
        if len(self._states) > CACHED:
            self._states = {}
