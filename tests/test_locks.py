"""Advisory locks: one number, one meaning."""

import re
from collections import Counter
from pathlib import Path

PROJECT = Path(__file__).parent.parent
FAMILY = re.compile(r"^\w+_LOCK(?:: Final)? = (7_215_501_\d{3})$", re.MULTILINE)


def test_no_two_locks_have_the_same_number() -> None:
    numbers = Counter(
        number
        for folder in ("ledger", "projections", "api", "ops")
        for path in (PROJECT / folder).rglob("*.py")
        for number in FAMILY.findall(path.read_text())
    )
    assert len(numbers) >= 4
    assert [number for number, count in numbers.items() if count > 1] == []
