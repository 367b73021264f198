"""The book that one batch of commands is decided over, and the rows that it becomes."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ledger.catalogue import encode, evolve_of
from ledger.core import Decision, Keep
from ledger.rows import row_start, stream_start

Entry = tuple[Any, int]
"""A stream's state and version; (None, 0) when it has no events."""


class NotLoaded(BaseException):
    """A decision needs the state of a stream that is not in memory.

    No error: the state is loaded, and the command is decided once more. Nothing below may catch it.
    """

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.stream = stream


class Batch:
    """The book of one batch: what is remembered, with what the batch itself changes on top.

    ``below`` is what the batch before it changes, while that is being appended. ``loaded`` are
    streams that were looked up for this one, those that do not exist among them. ``reads`` are the
    streams that were read from below, with the version that each had.
    """

    def __init__(
        self,
        remembered: Mapping[str, Entry],
        loaded: dict[str, Entry],
        below: Mapping[str, Entry] = MappingProxyType({}),
    ) -> None:
        self._remembered = remembered
        self._below = below
        self.loaded = loaded
        self.reads: dict[str, int] = {}
        self.changed: dict[str, Entry] = {}
        self.rows: list[bytes] = []
        self.keep: list[Keep] = []

    def get(self, stream: str) -> Any:
        """Return a stream's state; raises NotLoaded."""
        return self.entry(stream)[0]

    def entry(self, stream: str) -> Entry:
        """Return a stream's state and version; raises NotLoaded."""
        entry = self.changed.get(stream)
        if entry is not None:
            return entry
        entry = self._below.get(stream) or self._remembered.get(stream) or self.loaded.get(stream)
        if entry is None:
            raise NotLoaded(stream)
        # What is read twice may have moved on in between: it counts as it was first.
        self.reads.setdefault(stream, entry[1])
        return entry

    def accept(self, decision: Decision) -> None:
        """Fold a decision in, whole or not at all."""
        changed: dict[str, Entry] = {}
        rows: list[bytes] = []
        at: str | None = None
        state: Any = None
        version = 0
        for stream, event in decision.changes:
            # A hand's events follow each other: what their stream needs is looked up once.
            if stream != at:
                if at is not None:
                    changed[at] = (state, version)
                at = stream
                state, version = changed.get(stream) or self.entry(stream)
                evolve, start = evolve_of(stream), stream_start(stream)
            version += 1
            state = evolve(state, event)
            rows.append(row_start(start, version, event.NAME, encode(event)))
        if at is not None:
            changed[at] = (state, version)
        self.changed.update(changed)
        self.rows += rows
        self.keep += decision.keep
