"""Stretches of a batch: where in the journal its events are, and when they happened."""


class Stretch:
    """Events of a batch that follow each other within one block and one hour of occurring."""

    __slots__ = ("block", "earliest", "first", "hour", "kinds", "last", "latest")

    def __init__(self, block: int, hour: int, position: int, occurred: int) -> None:
        self.block = block
        self.hour = hour
        self.first = self.last = position
        """Positions of its first and last event."""
        self.earliest = self.latest = occurred
        """Between which instants they happened, in microseconds since 2000-01-01 UTC."""
        self.kinds: set[int] = set()
        """Numbers of their stored names."""
