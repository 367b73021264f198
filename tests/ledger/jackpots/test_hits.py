"""Hits of the jackpot: shared out once each and in order, released or annulled by two persons."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ledger.cashier.commands import ChargeBackDeposit
from ledger.core import ApprovalNeeded, Refused
from ledger.hands.events import BadBeatHit
from ledger.jackpots.commands import AnnulHit, ReleaseHit, SettleHit
from ledger.jackpots.events import HitSettled, Share
from ledger.jackpots.policies import settlements
from ledger.jackpots.sharing import shares_of
from ledger.players.commands import ClosePlayer, SuspendPlayer
from tests.ledger.given import (
    ALICE,
    BOB,
    CAROL,
    NETWORK,
    START,
    MemoryBook,
    fund,
    granted,
    names,
    open_table,
    sit,
)
from tests.ledger.hands.posts import a_post
from tests.ledger.hands.test_booking import a_table, posted
from tests.ledger.jackpots.hits import (
    POOL,
    a_room,
    about,
    contribute,
    golden,
    hit,
    purses,
    state_of,
    undecided,
    work,
)

REASON = "The cards were looked at."


def a_hit(pool_minor: int = 100_000, **fields: Any) -> MemoryBook:
    """Fill the pool, and hit it in hand 81."""
    book = a_room()
    contribute(book, pool_minor, "80")
    hit(book, "81", **fields)
    return book


def refused(code: str) -> Any:
    return pytest.raises(Refused, check=lambda refusal: refusal.code == code)


# -- the hand ------------------------------------------------------------------------------------


def a_bad_beat(**root: Any) -> dict[str, Any]:
    """Alice's six to ten in hearts loses to bob's eight to queen; carol folds before the flop."""
    return a_post(
        [
            ("Preflop", "alice deal 6h7hAsAc, bob deal JhQhKsKc, carol deal 4c4d5c5d,"
             " alice sb 1, bob bb 2, carol fold, alice call 1, bob check"),
            ("Flop: 8h9hTh", "alice check, bob check"),
            ("Turn: 2c", "alice check, bob check"),
            ("River: 3d", "alice check, bob check"),
            ("Showdown", "alice show 6h7hAsAc, bob show JhQhKsKc"),
        ],
        [("4", {"bob": "3.80"})],
        {"alice": "100", "bob": "100", "carol": "100"},
        rake="0.20",
        **root,
    )  # fmt: skip


def test_a_hand_that_hits_the_jackpot_says_so_without_an_amount() -> None:
    decision = posted(a_table(), a_bad_beat())
    assert names(decision.changes)[-3:] == [
        "hand.awarded.v1",
        "hand.bad_beat_hit.v1",
        "table.hand_settled.v1",
    ]
    [found] = [event for _, event in decision.changes if isinstance(event, BadBeatHit)]
    assert (found.jackpot, found.losers, found.winners) == ("bad-beat", (ALICE,), (BOB,))
    assert found.dealt == (ALICE, BOB, CAROL)
    assert not found.waits
    assert not found.postings()


def test_a_table_without_a_jackpot_has_no_hits() -> None:
    decision = posted(a_table(jackpot=None), a_bad_beat())
    assert "hand.bad_beat_hit.v1" not in names(decision.changes)


def test_a_hit_posted_again_is_answered_and_hit_once() -> None:
    book = a_table()
    first = posted(book, a_bad_beat())
    again = posted(book, a_bad_beat())
    assert again.answer == {**first.answer, "repeated": True}
    assert not again.changes
    assert first.answer["expected"]["bad_beat"]["losers"] == [1]


def test_a_real_hit_is_settled_with_what_its_own_hand_paid_in() -> None:
    """The hand's rake is 0.20, a tenth of it is in the pool when it is hit."""
    book = a_table()
    posted(book, a_bad_beat())
    assert work(book) == ["81"]
    [settled] = [event for _, event in book.history if isinstance(event, HitSettled)]
    assert (settled.pool_minor, settled.shares) == (2, ())


# -- who gets what -------------------------------------------------------------------------------


def test_the_loser_gets_40_percent_the_winner_20_and_all_dealt_in_share_20() -> None:
    """D: 40, 20 and 20 of 1,000.00; the third of a cent that is left stays with the rest."""
    book = a_hit()
    assert work(book) == ["81"]
    assert purses(book) == {
        "alice": 40_000 + 6_666,
        "bob": 20_000 + 6_666,
        "carol": 6_666,
    }
    assert book.balance(POOL) == -20_002


def test_each_share_is_an_event_of_its_own_on_its_players_stream() -> None:
    book = a_hit()
    [command] = _asked(book)
    decision = book.when(command)
    assert names(decision.changes) == ["jackpot.hit_settled.v1"] + 5 * ["player.jackpot_won.v1"]
    for stream, event in decision.changes[1:]:
        assert stream == f"player:{NETWORK}:{event.player}"  # type: ignore[attr-defined]
        assert event.rulebook == "entraction@2013-01-01"


SHARES = [
    ("several winners share their part", {"winners": (BOB, CAROL)},
     [("loser", ALICE, 40), ("winner", BOB, 10), ("winner", CAROL, 10),
      ("dealt-in", ALICE, 6), ("dealt-in", BOB, 6), ("dealt-in", CAROL, 6)]),
    ("hands that lose alike share the loser's", {"losers": (ALICE, CAROL)},
     [("loser", ALICE, 20), ("loser", CAROL, 20), ("winner", BOB, 20),
      ("dealt-in", ALICE, 6), ("dealt-in", BOB, 6), ("dealt-in", CAROL, 6)]),
    ("a rulebook may leave loser and winner out of those dealt in",
     {"dealt_in_includes_winner_and_loser": False},
     [("loser", ALICE, 40), ("winner", BOB, 20), ("dealt-in", CAROL, 20)]),
    ("what nobody gets stays in the pool",
     {"dealt": (ALICE, BOB), "dealt_in_includes_winner_and_loser": False},
     [("loser", ALICE, 40), ("winner", BOB, 20)]),
    ("the shares are the rulebook's", {"loser_bps": 5_000, "winner_bps": 2_500, "dealt_in_bps": 0},
     [("loser", ALICE, 50), ("winner", BOB, 25)]),
]  # fmt: skip


@pytest.mark.parametrize(("says", "fields", "shares"), SHARES, ids=[one[0] for one in SHARES])
def test_the_pool_is_shared(says: str, fields: Any, shares: list[tuple[Any, str, int]]) -> None:
    event = hit(a_room(), "81", **fields)
    assert shares_of(event, 100) == tuple(Share(who, part, share) for part, who, share in shares)


@given(
    pool=st.integers(0, 10**9),
    losers=st.integers(1, 3),
    winners=st.integers(1, 3),
    others=st.integers(0, 4),
)
def test_shares_are_never_more_than_their_parts(
    pool: int, losers: int, winners: int, others: int
) -> None:
    people = [f"player-{number}" for number in range(losers + winners + others)]
    event = replace(
        golden(BadBeatHit),
        losers=tuple(people[:losers]),
        winners=tuple(people[losers : losers + winners]),
        dealt=tuple(people),
    )
    parts = {"loser": (4_000, losers), "winner": (2_000, winners), "dealt-in": (2_000, len(people))}
    shares = shares_of(event, pool)
    for part, (bps, count) in parts.items():
        mine = [share.amount_minor for share in shares if share.part == part]
        due = pool * bps // 10_000
        assert due - count < sum(mine) <= due
        assert len(set(mine)) <= 1


def test_an_empty_pool_settles_a_hit_with_nothing() -> None:
    book = a_room()
    hit(book, "81")
    assert work(book) == ["81"]
    assert purses(book) == {"alice": 0, "bob": 0, "carol": 0}


# -- whoever he is -------------------------------------------------------------------------------


def test_a_debt_is_collected_first() -> None:
    book = a_room()
    deposit = fund(book, 1_000, ALICE)
    table = open_table(
        book, big_blind_minor=20, small_blind_minor=10, min_buy_in_minor=400, max_buy_in_minor=2_000
    )
    sit(book, table, 1, 1_000, ALICE)
    book.when(ChargeBackDeposit(**book.ask(), deposit=deposit, reason="card stolen"))
    contribute(book, 100_000, "80")
    hit(book, "81")
    work(book)
    assert book.balance(f"debt:{NETWORK}:{ALICE}") == 0
    assert purses(book)["alice"] == 46_666 - 1_000


def test_who_closed_his_account_is_owed_his_share_all_the_same() -> None:
    book = a_room()
    book.when(ClosePlayer(**book.ask(), player=CAROL, reason="on his own wish"))
    contribute(book, 100_000, "80")
    hit(book, "81")
    work(book)
    assert purses(book)["carol"] == 6_666


def test_who_is_suspended_is_owed_his_share_all_the_same() -> None:
    book = a_hit()
    book.when(SuspendPlayer(**book.ask(), player=ALICE, ground="collusion", reason="Under review"))
    work(book)
    assert purses(book)["alice"] == 46_666


# -- in order ------------------------------------------------------------------------------------


def two_hits() -> MemoryBook:
    """The second hit comes before the first is settled, after 200.00 more were paid in."""
    book = a_hit()
    contribute(book, 20_000, "82")
    hit(book, "83", losers=(CAROL,))
    return book


def test_a_second_hit_shares_what_the_first_left_however_late_that_is_paid() -> None:
    book = two_hits()
    assert work(book) == ["81"]
    contribute(book, 50_000, "84")
    assert work(book) == ["83"]
    last = [event for _, event in book.history if isinstance(event, HitSettled)][-1]
    assert (last.got_minor, last.paid_before_minor, last.pool_minor) == (
        120_000, 79_998, 40_002,
    )  # fmt: skip


def test_a_hit_is_not_settled_before_the_one_before_it() -> None:
    book = two_hits()
    with refused("hit-out-of-order"):
        book.when(SettleHit(**about(book, "83")))


def test_a_hit_is_settled_once() -> None:
    book = a_hit()
    work(book)
    with refused("hit-decided"):
        book.when(SettleHit(**about(book, "81")))
    assert work(book) == []


def test_what_was_no_hit_is_not_settled() -> None:
    book = a_hit()
    said = about(book, "81")
    for wrong in ({"game_number": "82"}, {"jackpot": "other"}, {"currency": "USD"}):
        with refused("unknown-hit"):
            book.when(SettleHit(**{**said, **wrong}))


# -- released, annulled --------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{"review": True}, {"doubts": ("run-twice",)}], ids=str)
def test_a_hit_that_waits_is_paid_once_two_persons_released_it(fields: Any) -> None:
    book = a_hit(**fields)
    assert work(book) == []
    with refused("hit-waits"):
        book.when(SettleHit(**about(book, "81")))
    release = ReleaseHit(**about(book, "81"), reason=REASON)
    with pytest.raises(ApprovalNeeded):
        book.when(release)
    asked = release.approval(book)
    assert asked is not None
    assert (asked.amount_minor, asked.currency) == (79_998, "EUR")
    granted(book, release)
    assert state_of(book).released == "81"
    assert work(book) == ["81"]
    assert purses(book)["carol"] == 6_666


def test_hits_behind_one_that_waits_wait_too() -> None:
    book = a_hit(review=True)
    hit(book, "83")
    assert work(book) == []
    granted(book, ReleaseHit(**about(book, "81"), reason=REASON))
    assert work(book) == ["81"]
    assert work(book) == ["83"]


@pytest.mark.parametrize("review", [True, False])
def test_an_annulled_hit_leaves_the_pool_as_it_is(review: bool) -> None:
    book = a_hit(review=review)
    annul = AnnulHit(**about(book, "81"), ground="collusion", reason=REASON)
    with pytest.raises(ApprovalNeeded):
        book.when(annul)
    granted(book, annul)
    assert work(book) == []
    assert book.balance(POOL) == -100_000
    hit(book, "83")
    assert work(book) == ["83"]
    assert purses(book)["alice"] == 46_666


def test_a_hit_that_is_settled_is_not_annulled() -> None:
    book = a_hit()
    annul = AnnulHit(**about(book, "81"), ground="collusion", reason=REASON)
    work(book)
    with refused("hit-decided"):
        granted(book, annul)


def test_a_hit_that_waits_for_nothing_is_not_released() -> None:
    book = a_hit()
    with refused("hit-not-waiting"):
        granted(book, ReleaseHit(**about(book, "81"), reason=REASON))


def test_a_hit_is_released_once() -> None:
    book = a_hit(review=True)
    granted(book, ReleaseHit(**about(book, "81"), reason=REASON))
    with refused("hit-not-waiting"):
        granted(book, ReleaseHit(**about(book, "81"), reason=REASON))


def test_a_released_hit_may_still_be_annulled_before_it_is_paid() -> None:
    book = a_hit(review=True)
    granted(book, ReleaseHit(**about(book, "81"), reason=REASON))
    granted(book, AnnulHit(**about(book, "81"), ground="collusion", reason=REASON))
    assert work(book) == []


def test_an_annulment_names_a_ground_of_the_rulebook() -> None:
    book = a_hit()
    with refused("invalid-field"):
        granted(book, AnnulHit(**about(book, "81"), ground="bad-luck", reason=REASON))


def _asked(book: MemoryBook) -> list[SettleHit]:
    return list(settlements(book, undecided(book), START + timedelta(days=1)))
