"""What the check says of jackpots: of wrong events, and of rows that the events do not give."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from ledger.jackpots.events import HitAnnulled, HitReleased, HitSettled
from ledger.players.events import JackpotWon
from projections.check.books import check
from tests.projections.conftest import project
from tests.projections.hits import ANNULLED, a_day, replaced
from tests.projections.story import write


def found(dsn: str) -> dict[str, list[str]]:
    codes: dict[str, list[str]] = {}
    for problem in check(dsn).problems:
        codes.setdefault(problem.code, []).append(problem.where)
    return codes


@pytest.mark.parametrize("batch", [3, 10_000])
def test_a_sound_day_passes_however_it_was_projected(dsn: str, batch: int) -> None:
    write(dsn, a_day().commits)
    project(dsn, batch=batch)
    assert found(dsn) == {}


@pytest.mark.parametrize(
    ("change", "code", "where"),
    [
        ("UPDATE book_1.jackpot_hits SET number = 9 WHERE number = 3",
         "jackpot-row-differs", "jackpot_hits of position"),
        ("UPDATE book_1.jackpot_hits SET decided_position = NULL WHERE number = 1",
         "jackpot-row-differs", "jackpot_hits of position"),
        ("DELETE FROM book_1.jackpot_hits WHERE number = 2",
         "jackpot-row-differs", "jackpot_hits of position"),
        ("UPDATE book_1.jackpot_shares SET amount_minor = amount_minor + 1 WHERE part = 'loser'",
         "jackpot-row-differs", "jackpot_shares of position"),
        ("UPDATE book_1.jackpot_days SET contribution_minor = contribution_minor + 1",
         "table-day-differs", "jackpot_days entraction bad-beat EUR 2013-06-01 Etomo"),
        ("UPDATE book_1.jackpots SET state = jsonb_set(state, '{paid_minor}', '0')",
         "state-differs", "jackpot:entraction:bad-beat:EUR"),
        ("UPDATE book_1.accounts SET balance_minor = balance_minor - 1 WHERE code LIKE 'jackpot:%'",
         "jackpot-pool-differs", "jackpot entraction bad-beat EUR"),
    ],
)  # fmt: skip
def test_a_changed_row_is_found(dsn: str, change: str, code: str, where: str) -> None:
    write(dsn, a_day().commits)
    project(dsn)
    with psycopg.connect(dsn) as connection:
        assert connection.execute(change.encode()).rowcount > 0
    assert found(dsn)[code][0].startswith(where)


@pytest.mark.parametrize(
    ("kind", "change", "code"),
    [
        (HitSettled, lambda event: replace(event, got_minor=event.got_minor + 1),
         "jackpot-share-differs"),
        (HitSettled, lambda event: replace(event, shares=event.shares[1:]),
         "jackpot-share-differs"),
        (HitSettled, lambda event: replace(event, number=2), "jackpot-out-of-order"),
        (HitSettled, lambda event: replace(event, game_number=ANNULLED), "jackpot-out-of-order"),
        (HitReleased, lambda event: replace(event, game_number=ANNULLED), "jackpot-not-released"),
        (HitAnnulled, lambda event: replace(event, number=1), "jackpot-out-of-order"),
        (HitAnnulled, lambda event: replace(event, number=7), "jackpot-out-of-order"),
        (JackpotWon, lambda event: replace(event, amount_minor=event.amount_minor + 1),
         "jackpot-share-differs"),
        (JackpotWon, lambda event: replace(event, game_number="1"), "jackpot-share-differs"),
    ],
)  # fmt: skip
def test_a_wrong_event_is_found(
    dsn: str, kind: type[Any], change: Callable[[Any], Any], code: str
) -> None:
    write(dsn, replaced(a_day(), kind, change))
    assert code in found(dsn)
