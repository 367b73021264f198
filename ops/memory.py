"""How much of the machine's memory the embedded database keeps pages in."""

import os
from pathlib import Path
from typing import Final

SHARE: Final = 4
"""A quarter: the usual share, as the system's own cache keeps the rest of the files."""

LEAST_BYTES: Final = 128 << 20
MOST_BYTES: Final = 2 << 30
"""Beyond it nothing is gained: it holds what is read of ten million entries and their events."""

LIMIT: Final = Path("/sys/fs/cgroup/memory.max")
"""Where a container says how much it may use; "max", or no such file: all there is."""


def shared_buffers(limit: Path = LIMIT) -> str:
    """Return the setting of that name for this machine."""
    return setting(min(_machine_bytes(), _limit_bytes(limit)))


def setting(memory_bytes: int) -> str:
    """Return the setting for so much memory, in whole megabytes."""
    size = max(LEAST_BYTES, min(MOST_BYTES, memory_bytes // SHARE))
    return f"{size >> 20}MB"


def _machine_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _limit_bytes(limit: Path) -> int:
    try:
        return int(limit.read_text())
    except (OSError, ValueError):
        return _machine_bytes()
