"""Pages are kept in a quarter of the memory that there is."""

from pathlib import Path

import pytest

from ops.memory import setting, shared_buffers


@pytest.mark.parametrize(
    ("memory_bytes", "size"),
    [(256 << 20, "128MB"), (2 << 30, "512MB"), (8 << 30, "2048MB"), (256 << 30, "2048MB")],
)
def test_a_quarter_is_taken_within_bounds(memory_bytes: int, size: str) -> None:
    assert setting(memory_bytes) == size


def test_a_container_counts_as_much_as_it_may_use(tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    limit.write_text("1073741824\n")
    assert shared_buffers(limit) == "256MB"


@pytest.mark.parametrize("said", ["max\n", None])
def test_where_no_limit_is_said_the_machine_counts(tmp_path: Path, said: str | None) -> None:
    limit = tmp_path / "memory.max"
    if said is not None:
        limit.write_text(said)
    assert shared_buffers(limit) == shared_buffers(tmp_path / "none") != "0MB"
