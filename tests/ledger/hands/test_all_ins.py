"""Artificial all-ins are counted by player, over all tables, in 24 hours. Source: K 10.1.6."""

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from ledger.core import Decision
from ledger.hands import reading
from ledger.hands.all_ins import AllInCounted, AllInState, all_ins_stream, count
from ledger.hands.commands import PostHand
from ledger.hands.judge import judge
from ledger.tables.events import table_stream
from tests.ledger.given import (
    ALICE,
    BOB,
    IDENTITY,
    NETWORK,
    MemoryBook,
    a_book,
    fund,
    open_table,
    register,
    sit,
)
from tests.ledger.hands.posts import a_post, encoded, rules

NOON = datetime(2013, 6, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
NOT_ALLOWED = "artificial-all-in-not-allowed"


def two_tables() -> MemoryBook:
    """Seat alice and bob at two fixed-limit tables of 1/2."""
    book = a_book("entraction")
    for player, name in ((ALICE, "alice"), (BOB, "bob")):
        register(book, player, name)
        fund(book, 500_000, player)
    for name in ("Etomo", "Osuna"):
        limits = {"min_buy_in_minor": 2_000, "max_buy_in_minor": None}
        table = open_table(book, name=name, bet_type="FL", game="Holdem", **limits)
        for seat, player in enumerate((ALICE, BOB), 1):
            sit(book, table, seat, 10_000, player)
    return book


def a_hand(
    book: MemoryBook, number: int, at: datetime, table: str = "Etomo", **fields: Any
) -> PostHand:
    """Let alice not answer bob's raise: she is all-in with her 2.00."""
    stream = table_stream(NETWORK, table)
    seats = book.get(stream).seats
    stacks = {
        name: f"{seats[seat].chips_minor / 100:.2f}" for seat, name in ((1, "alice"), (2, "bob"))
    }
    hand = a_post(
        [
            ("Preflop", "alice sb 1, bob bb 2, alice call 1, bob raise 2, alice call timeout!"),
            ("Flop: 2c7d9h", ""),
            ("Turn: Jd", ""),
            ("River: 3s", ""),
            ("Showdown", "bob show KhKd, alice muck QhQd"),
        ],
        [("4.00", {"bob": "4.00"})],
        stacks,
        returned={"bob": "2"},
        game_type="Holdem",
        bet_limit={"bet_type": "FL"},
        table_name=table,
        game_number=str(number),
        start_date_utc=at.isoformat(),
    )
    body = encoded(hand)
    return PostHand(
        network=NETWORK,
        at=at,
        actor="game-server-1",
        request_id=f"hand:{number}",
        hand=reading.read(body),
        posted_digest=reading.digest_of(body),
        claims={name: IDENTITY.nickname_claim(NETWORK, name) for name in ("alice", "bob")},
        **fields,
    )


def post(
    book: MemoryBook, number: int, at: datetime, table: str = "Etomo", **fields: Any
) -> Decision:
    return book.when(a_hand(book, number, at, table, **fields))


def found(decision: Decision) -> list[str]:
    return [finding["code"] for finding in decision.answer["findings"]]


def counted(book: MemoryBook) -> list[AllInCounted]:
    return [event for _, event in book.history if isinstance(event, AllInCounted)]


def test_within_the_quota_they_are_counted_and_no_finding() -> None:
    book = two_tables()
    assert found(post(book, 81, NOON)) == []
    assert found(post(book, 82, NOON + HOUR)) == []
    state = book.get(all_ins_stream(NETWORK, ALICE))
    assert state == AllInState(recent=(NOON, NOON + HOUR), beyond_quota=0)
    assert book.get(all_ins_stream(NETWORK, BOB)) is None


def test_beyond_the_quota_the_hand_is_flagged_whichever_table_it_was_at() -> None:
    book = two_tables()
    post(book, 81, NOON, "Etomo")
    post(book, 82, NOON + HOUR, "Osuna")
    third = post(book, 83, NOON + 2 * HOUR, "Etomo")
    [finding] = third.answer["findings"]
    assert (finding["code"], finding["where"]) == (NOT_ALLOWED, "rounds[0].actions[4]")
    assert (finding["expected"], finding["posted"]) == (2, 3)
    assert third.answer["verdict"] == "flagged"


def test_misuse_is_warned_of_first_then_the_account_is_to_be_closed() -> None:
    book = two_tables()
    for number in range(5):
        post(book, 81 + number, NOON + number * HOUR)
    assert [(one.beyond_quota, one.measure) for one in counted(book)] == [
        (False, None),
        (False, None),
        (True, "warning"),
        (True, "account-closed"),
        (True, "account-closed"),
    ]


def test_after_24_hours_they_count_no_more() -> None:
    book = two_tables()
    assert found(post(book, 81, NOON)) == []
    assert found(post(book, 82, NOON + HOUR)) == []
    assert found(post(book, 83, NOON + 24 * HOUR - timedelta(seconds=1))) == [NOT_ALLOWED]
    # The one at noon is 24 hours old, the one an hour later and the last one count.
    assert found(post(book, 84, NOON + 24 * HOUR)) == [NOT_ALLOWED]
    assert found(post(book, 85, NOON + 60 * HOUR)) == []
    assert book.get(all_ins_stream(NETWORK, ALICE)).recent == (
        NOON + 24 * HOUR - timedelta(seconds=1),
        NOON + 24 * HOUR,
        NOON + 60 * HOUR,
    )


def test_a_hand_posted_late_counts_what_came_before_it() -> None:
    book = two_tables()
    post(book, 81, NOON, "Etomo")
    post(book, 83, NOON + 2 * HOUR, "Etomo")
    assert found(post(book, 82, NOON + HOUR, "Osuna")) == []
    assert found(post(book, 84, NOON + 3 * HOUR, "Osuna")) == [NOT_ALLOWED]


def test_a_hand_posted_again_is_counted_once() -> None:
    book = two_tables()
    hand = a_hand(book, 81, NOON)
    book.when(hand)
    assert book.when(hand).answer["repeated"]
    assert len(counted(book)) == 1


def test_a_dry_run_tells_of_the_quota_and_counts_nothing() -> None:
    book = two_tables()
    post(book, 81, NOON)
    post(book, 82, NOON + HOUR)
    told = post(book, 83, NOON + 2 * HOUR, dry_run=True)
    assert found(told) == [NOT_ALLOWED]
    assert len(counted(book)) == 2


def test_a_rulebook_without_a_quota_counts_nothing() -> None:
    """E: the player goes all-in however often it happens."""
    book = two_tables()
    for number in range(3):
        post(book, 81 + number, NOON + number * HOUR)
    entraction = rules("entraction")
    assert entraction.artificial_all_in != "none"
    endless = replace(entraction.artificial_all_in, per_24_hours="none")
    hand = a_hand(book, 84, NOON + 3 * HOUR).hand
    for rulebook, counts in ((entraction, 1), (replace(entraction, artificial_all_in=endless), 0)):
        judgement = judge(hand, rulebook)
        assert len(judgement.artificial_all_ins) == 1
        assert len(count(book, NETWORK, judgement, [ALICE, BOB])) == counts
        assert len(judgement.findings) == counts
