"""The one clock of the edge; nothing below it reads one."""

from datetime import UTC, datetime


def now() -> datetime:
    """Return the present moment (aware, UTC)."""
    return datetime.now(UTC)
