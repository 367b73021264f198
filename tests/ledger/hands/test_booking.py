"""Posting hands: what is booked, answered again, refused for good or for now, and contested."""

import json
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.core import Decision
from ledger.hands import reading, record
from ledger.hands.commands import PostHand
from ledger.hands.contributions import tally
from ledger.hands.events import HandPosted, HandState, RefusedHand, hand_stream
from ledger.hands.pots import pots_of, uncalled
from ledger.rulebooks import UnknownRulebook
from ledger.tables.events import TableState, table_stream
from tests.ledger.given import (
    ALICE,
    BOB,
    CAROL,
    IDENTITY,
    NETWORK,
    MemoryBook,
    a_book,
    fund,
    names,
    open_table,
    register,
    sit,
)
from tests.ledger.hands.posts import a_flop, a_post, encoded

PLAYERS = {"alice": ALICE, "bob": BOB, "carol": CAROL}


def a_table(**fields: Any) -> MemoryBook:
    """Seat alice, bob and carol with 100.00 each at a table of 1/2."""
    book = a_book("entraction", "as-posted")
    table = open_table(book, **{"jackpot": "bad-beat", **fields})
    for seat, (name, player) in enumerate(PLAYERS.items(), 1):
        register(book, player, name)
        fund(book, 50_000, player)
        sit(book, table, seat, 10_000, player)
    return book


def command(post: Any, **fields: Any) -> PostHand:
    body = encoded(post)
    hand = reading.read(body)
    said: dict[str, Any] = {
        "network": NETWORK,
        "at": hand.started_at,
        "actor": "game-server-1",
        "request_id": f"hand:{hand.game_number}",
        "claims": {
            player.name: IDENTITY.nickname_claim(NETWORK, player.name) for player in hand.players
        },
    }
    return PostHand(**{**said, **fields}, hand=hand, posted_digest=reading.digest_of(body))


def posted(book: MemoryBook, post: Any, **fields: Any) -> Decision:
    return book.when(command(post, **fields))


def table_of(book: MemoryBook) -> TableState:
    state = book.get(table_stream(NETWORK, "Etomo"))
    assert isinstance(state, TableState)
    return state


def chips(book: MemoryBook) -> dict[str, int]:
    """Return the chips in front of each player, by the postings."""
    return {
        name: -book.balance(f"chips:{NETWORK}:Etomo:{player}") for name, player in PLAYERS.items()
    }


def mirrored(book: MemoryBook) -> dict[str, int]:
    """Return the chips in front of each player, by the table's own stream."""
    by_player = {seat.player: seat.chips_minor for seat in table_of(book).seats.values()}
    return {name: by_player[player] for name, player in PLAYERS.items()}


# -- booking -----------------------------------------------------------------------------------


def test_every_movement_of_a_hand_is_an_event_of_its_own() -> None:
    book = a_table()
    assert names(posted(book, a_flop()).changes) == [
        "hand.posted.v1",
        "hand.staked.v1",
        "hand.staked.v1",
        "hand.staked.v1",
        "hand.returned.v1",
        "hand.raked.v1",
        "hand.jackpot_contributed.v1",
        "hand.awarded.v1",
        "table.hand_settled.v1",
    ]
    assert chips(book) == mirrored(book) == {"alice": 9_800, "bob": 10_370, "carol": 9_800}
    assert book.balance(f"pot:{NETWORK}:Etomo") == 0
    assert book.balance(f"rake:{NETWORK}:kerching") == -27
    assert book.balance(f"jackpot:{NETWORK}:bad-beat") == -3


def test_a_hand_happened_when_it_started_and_is_judged_by_that_day() -> None:
    decision = posted(a_table(), a_flop(start_date_utc="2009-05-01"))
    for _, event in decision.changes:
        assert event.occurred_at.date() == date(2009, 5, 1)
        assert event.rulebook == "entraction@2008-01-01"


def test_the_answer_names_no_player() -> None:
    book = a_table()
    decision = posted(book, a_flop())
    assert decision.answer == {
        "game_number": "81",
        "hand": f"hand:{NETWORK}:00000000000000000081",
        "verdict": "ok",
        "rulebook": "entraction@2013-01-01",
        "jackpot_contribution_minor": 3,
        "expected": None,
        "findings": [],
    }


def test_no_name_is_stored_and_the_record_is_the_hand_as_posted() -> None:
    book = a_table()
    decision = posted(book, a_flop())
    event = decision.changes[0][1]
    assert isinstance(event, HandPosted)
    plain = record.unpack(event.record, event.dictionary)
    stored = json.dumps([repr(event) for _, event in decision.changes]) + repr(plain)
    assert not any(name in stored for name in PLAYERS)
    again = record.unpack(event.record, event.dictionary, list(PLAYERS))
    assert again == reading.read(encoded(a_flop()))
    assert [one.player for one in event.players] == [ALICE, BOB, CAROL]


def test_what_is_left_of_the_jackpot_s_share_is_carried_by_the_table() -> None:
    book = a_table()
    stacks = {"alice": "100", "bob": "100", "carol": "100"}
    play = [("Preflop", "alice sb 1, bob bb 2, alice call 1, bob check"), ("Flop", "alice check")]
    for number in range(10):
        post = a_post(
            play,
            [("4.00", {"alice": "3.80"})],
            stacks,
            rake="0.20",
            returned={},
            game_number=str(100 + number),
        )
        decision = posted(book, post)
        stacks["alice"] = f"{Decimal(stacks['alice']) + Decimal('1.80'):.2f}"
        stacks["bob"] = f"{Decimal(stacks['bob']) - 2:.2f}"
        assert decision.answer["jackpot_contribution_minor"] == 2
    assert table_of(book).jackpot_carry == 0
    odd = a_post(
        [("Preflop", "alice sb 1, bob bb 2, alice call 1.5, bob call 0.5"), ("Flop", "bob check")],
        [("5.00", {"alice": "4.75"})],
        stacks,
        rake="0.25",
        returned={},
        game_number="120",
    )
    assert posted(book, odd).answer["jackpot_contribution_minor"] == 2
    assert table_of(book).jackpot_carry == 5_000


def test_a_table_without_a_jackpot_feeds_none() -> None:
    book = a_table(jackpot=None)
    assert "hand.jackpot_contributed.v1" not in names(posted(book, a_flop()).changes)


def test_a_posted_drop_leaves_the_pot_and_is_owed_by_a_pool() -> None:
    book = a_table(rulebook="as-posted", jackpot=None)
    post = a_flop()
    post["ohh"]["pots"][0]["jackpot"] = Decimal("0.50")
    post["ohh"]["pots"][0]["player_wins"][0]["win_amount"] = Decimal("5.20")
    posted(book, post)
    assert book.balance(f"jackpot:{NETWORK}:bad-beat") == -50
    assert book.balance(f"rake:{NETWORK}:kerching") == -30
    assert book.balance(f"pot:{NETWORK}:Etomo") == 0
    assert chips(book) == mirrored(book)


def test_rake_is_divided_among_the_partners_of_those_who_paid_it() -> None:
    book = a_table()
    seats = table_of(book).seats
    stream = table_stream(NETWORK, "Etomo")
    other = type(seats[3])(CAROL, "other-brand", seats[3].chips_minor)
    state = book.states[stream]
    book.states[stream] = type(state)(
        **{name: getattr(state, name) for name in state.__struct_fields__ if name != "seats"},
        seats={**seats, 3: other},
    )
    posted(book, a_flop())
    # 30 cents by 2 : 4 stakes, of which 3 go on to the jackpot in the same proportion.
    assert book.balance(f"rake:{NETWORK}:kerching") == -18
    assert book.balance(f"rake:{NETWORK}:other-brand") == -9


def test_a_flagged_hand_is_booked_as_posted_with_what_was_found() -> None:
    book = a_table()
    post = a_flop()
    post["ohh"]["pots"][0]["rake"] = Decimal("0.50")
    post["ohh"]["pots"][0]["player_wins"][0]["win_amount"] = Decimal("5.50")
    decision = posted(book, post)
    assert names(decision.changes)[-2:] == ["hand.flagged.v1", "table.hand_settled.v1"]
    assert decision.answer["verdict"] == "flagged"
    [finding] = decision.answer["findings"]
    assert (finding["code"], finding["expected"], finding["posted"]) == (
        "wrong-rake",
        "0.30",
        "0.50",
    )
    assert decision.answer["expected"]["rake_minor"] == 30
    assert book.balance(f"rake:{NETWORK}:kerching") == -45
    again = posted(book, post).answer
    assert again == {**decision.answer, "repeated": True}


def test_a_hand_that_began_before_its_predecessor_is_flagged() -> None:
    book = a_table()
    posted(book, a_flop())
    stacks = {"alice": "98", "bob": "103.70", "carol": "98"}
    earlier = a_post(
        [("Preflop", "alice sb 1, bob bb 2, carol fold, alice fold")],
        [("2.00", {"bob": "2.00"})],
        stacks,
        returned={"bob": "1.00"},
        game_number="80",
        start_date_utc="2013-06-01",
    )
    decision = posted(book, earlier)
    assert [found["code"] for found in decision.answer["findings"]] == ["out-of-sequence"]
    assert chips(book) == mirrored(book)


# -- the same hand again -----------------------------------------------------------------------


def test_the_same_hand_again_answers_the_first_result_marked_as_a_repeat() -> None:
    book = a_table()
    first = posted(book, a_flop())
    spaced = json.dumps(json.loads(encoded(a_flop())), indent=2).replace("5.7,", "5.700,")
    again = book.when(command(json.loads(spaced, parse_float=Decimal)))
    assert again.answer == {**first.answer, "repeated": True}
    assert list(again.changes) == []


def test_another_hand_under_the_same_number_is_refused_and_told_once() -> None:
    book = a_table()
    posted(book, a_flop())
    post = a_flop()
    post["ohh"]["pots"][0]["player_wins"][0]["player_id"] = 1
    decision = posted(book, post)
    assert decision.refusal is not None
    assert (decision.refusal.code, decision.refusal.retry) == ("different-content", "never")
    assert decision.refusal.extra["differing"] == ["pots[0].player_wins[0].player_id"]
    assert names(decision.changes) == ["hand.contested.v1"]
    again = posted(book, post)
    assert again.refusal is not None
    assert list(again.changes) == []
    assert chips(book) == mirrored(book) == {"alice": 9_800, "bob": 10_370, "carol": 9_800}
    assert posted(book, a_flop()).answer["repeated"]


def test_the_same_hand_of_other_players_is_another_hand() -> None:
    book = a_table()
    posted(book, a_flop())
    post = a_flop()
    post["ohh"]["players"][0]["name"] = "mallory"
    decision = posted(book, post)
    assert decision.refusal is not None
    assert decision.refusal.extra["differing"] == ["players[0].name"]


# -- refusals ----------------------------------------------------------------------------------


def refused(book: MemoryBook, post: Any, **fields: Any) -> tuple[str, str, RefusedHand]:
    decision = posted(book, post, **fields)
    assert decision.refusal is not None
    assert list(decision.changes) == []
    [kept] = decision.keep
    assert isinstance(kept, RefusedHand)
    assert (kept.code, kept.retry) == (decision.refusal.code, decision.refusal.retry)
    return decision.refusal.code, decision.refusal.retry, kept


def with_stack(amount: str) -> dict[str, Any]:
    post = a_flop()
    post["ohh"]["players"][0]["starting_stack"] = Decimal(amount)
    return post


def without(key: str) -> Callable[[], dict[str, Any]]:
    def post() -> dict[str, Any]:
        written = a_flop()
        del written["ohh"][key]
        return written

    return post


def a_stranger() -> dict[str, Any]:
    post = a_flop()
    post["ohh"]["players"][2]["name"] = "dave"
    return post


def another_seat() -> dict[str, Any]:
    post = a_flop()
    post["ohh"]["players"][2]["seat"] = 5
    return post


@pytest.mark.parametrize(
    ("post", "code", "retry"),
    [
        (lambda: with_stack("99.99"), "wrong-starting-stack", "later"),
        (a_stranger, "unknown-player", "later"),
        (another_seat, "unknown-player", "later"),
        (lambda: a_flop(table_name="Ishiwaki"), "table-closed", "later"),
        (lambda: a_flop(currency="XPM"), "currency-mismatch", "after-fix"),
        (lambda: a_flop(game_type="Holdem"), "unlike-table", "after-fix"),
        (lambda: a_flop(bet_limit={"bet_type": "NL"}), "unlike-table", "after-fix"),
        (lambda: a_flop(big_blind_amount=4), "unlike-table", "after-fix"),
        (lambda: a_flop(ante_amount=1), "unlike-table", "after-fix"),
        (lambda: a_flop(table_size=9), "unlike-table", "after-fix"),
        (lambda: a_flop(x_spread=[1, 2]), "unlike-table", "after-fix"),
        (lambda: a_flop(network_name="CEREUS"), "unlike-table", "after-fix"),
        (without("pots"), "money-not-conserved", "after-fix"),
    ],
)
def test_a_refusal_says_whether_the_same_hand_may_be_right_later(
    post: Callable[[], dict[str, Any]], code: str, retry: str
) -> None:
    book = a_table()
    before = book.balances()
    assert refused(book, post())[:2] == (code, retry)
    assert book.balances() == before
    assert book.get(hand_stream(NETWORK, "81")) is None


def test_what_must_be_corrected_outweighs_what_may_be_right_later() -> None:
    post = with_stack("99")
    post["ohh"]["pots"] = []
    assert refused(a_table(), post)[:2] == ("money-not-conserved", "after-fix")


def test_a_refused_hand_is_kept_without_names_and_may_be_corrected() -> None:
    book = a_table()
    post = with_stack("99.99")
    _, _, kept = refused(book, post)
    hand = record.unpack(kept.record, kept.dictionary)
    claim = IDENTITY.nickname_claim(NETWORK, "alice").rpartition(":")[2]
    assert hand.players[0].name == claim
    assert kept.digest.hex() == record.digest_of(reading.read(encoded(post)))
    [(stream, event), *_] = posted(book, a_flop()).changes
    assert isinstance(event, HandPosted)
    assert (stream, event.content_digest) == (
        kept.hand,
        record.digest_of(reading.read(encoded(a_flop()))),
    )


def test_a_closed_table_takes_no_hand() -> None:
    book = a_table()
    book.states[table_stream(NETWORK, "Etomo")] = type(table_of(book))(
        **{
            name: getattr(table_of(book), name)
            for name in TableState.__struct_fields__
            if name != "status"
        },
        status="closed",
    )
    assert refused(book, a_flop())[:2] == ("table-closed", "later")


def with_carol_watching() -> dict[str, Any]:
    """Carol is listed at another seat than the table has her, and takes no part."""
    post = a_flop()
    post["ohh"]["players"][2].update(seat=6, starting_stack=7, x_dealt=False)
    for round_ in post["ohh"]["rounds"]:
        round_["actions"] = [one for one in round_["actions"] if one["player_id"] != 3]
    post["ohh"]["pots"][0].update(amount=4, rake=Decimal("0.20"))
    post["ohh"]["pots"][0]["player_wins"][0]["win_amount"] = Decimal("3.80")
    return post


def test_a_player_who_is_only_listed_needs_no_seat_and_no_chips() -> None:
    book = a_table()
    assert posted(book, with_carol_watching()).answer["verdict"] == "ok"
    assert chips(book) == mirrored(book)


def test_nobody_wins_chips_where_he_does_not_sit() -> None:
    post = with_carol_watching()
    post["ohh"]["pots"][0]["player_wins"][0]["player_id"] = 3
    assert refused(a_table(), post)[0] == "unknown-player"


def test_an_unknown_rulebook_is_refused() -> None:
    with pytest.raises(UnknownRulebook):
        posted(a_table(), a_flop(), rulebook="house")


# -- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "key"),
    [
        ("1", "00000000000000000001"),
        ("18446744073709551616", "18446744073709551616"),
        ("007", None),
        ("0", None),
        ("184467440737095516160", None),
        ("T-81", None),
        ("٨١", None),
        ("²", None),
    ],
)
def test_hands_are_found_by_number_or_by_its_hash(number: str, key: str | None) -> None:
    prefix, network, found = hand_stream(NETWORK, number).split(":")
    assert (prefix, network) == ("hand", NETWORK)
    assert found == key if key else (found[0] == "~" and len(found) == 33)


# -- hands that are being played, and dry runs -------------------------------------------------


def a_running_hand() -> dict[str, Any]:
    post = a_flop(x_status="running")
    del post["ohh"]["pots"], post["ohh"]["x_uncalled_returned"]
    return post


def test_a_running_hand_is_noted_and_booked_when_it_is_posted_whole() -> None:
    book = a_table()
    begun = posted(book, a_running_hand())
    assert names(begun.changes) == ["table.hand_begun.v1"]
    assert (table_of(book).running, table_of(book).running_seats) == ("81", (1, 2, 3))
    assert list(posted(book, a_running_hand()).changes) == []
    assert posted(book, a_flop()).answer["verdict"] == "ok"
    assert table_of(book).running is None
    assert posted(book, a_running_hand()).answer["repeated"]


def test_a_dry_run_answers_the_verdict_and_books_nothing() -> None:
    book = a_table()
    decision = posted(book, a_flop(), dry_run=True)
    assert (list(decision.changes), list(decision.keep)) == ([], [])
    assert decision.answer["expected"]["pots"][0]["wins"][0]["player"] == "bob"
    wrong = posted(book, with_stack("5"), dry_run=True)
    assert wrong.answer["verdict"] == "refused"
    assert [found["code"] for found in wrong.answer["findings"]] == ["wrong-starting-stack"]
    alone = posted(book, a_flop(table_name="Nowhere"), dry_run=True, on=date(2009, 1, 1))
    assert alone.answer["verdict"] == "ok"


def begins_late(minutes: float) -> dict[str, Any]:
    """Return when a hand is posted that begins so many minutes later."""
    return {"at": command(a_flop()).hand.started_at - timedelta(minutes=minutes)}


def test_a_hand_that_begins_in_the_future_waits_until_it_has_begun() -> None:
    book = a_table()
    decision = posted(book, a_flop(), **begins_late(6))
    refusal = decision.refusal
    assert refusal is not None
    assert (refusal.code, refusal.field, refusal.retry) == ("malformed", "start_date_utc", "later")
    [kept] = decision.keep
    assert isinstance(kept, RefusedHand)
    assert (kept.code, kept.retry) == ("malformed", "later")
    assert list(decision.changes) == []
    assert posted(book, a_flop(), **begins_late(5)).answer["verdict"] == "ok"


@pytest.mark.parametrize("date", ["2062-06-01T12:30:00Z", "9999-12-31T23:59:59Z", "2013-06-02"])
def test_a_date_in_the_future_is_a_finding_like_any_other_in_a_dry_run(date: str) -> None:
    decision = posted(a_table(), a_flop(start_date_utc=date), dry_run=True, **begins_late(0))
    assert decision.answer["verdict"] == "refused"
    [found] = decision.answer["findings"]
    assert (found["code"], found["where"]) == ("malformed", "start_date_utc")
    assert found["expected"] == "not after 2013-06-01T12:30:00+00:00"


def test_a_hand_of_the_future_with_a_fault_of_its_own_has_to_be_corrected() -> None:
    wrong = a_flop()
    wrong["ohh"]["pots"][0]["amount"] = 7
    refusal = posted(a_table(), wrong, **begins_late(60)).refusal
    assert refusal is not None
    assert (refusal.code, refusal.retry) == ("money-not-conserved", "after-fix")


def test_a_running_hand_of_the_future_is_not_noted() -> None:
    book = a_table()
    refusal = posted(book, a_running_hand(), **begins_late(60)).refusal
    assert refusal is not None
    assert refusal.code == "malformed"
    assert table_of(book).running is None


def test_a_booked_hand_answers_its_first_result_whatever_the_clock_says() -> None:
    book = a_table()
    posted(book, a_flop())
    assert posted(book, a_flop(), **begins_late(60)).answer["repeated"]


# -- whatever is played ------------------------------------------------------------------------


@st.composite
def played(draw: st.DrawFn) -> dict[str, Any]:
    """Stakes of any size up to the stacks, pots and shares as the rules have them."""
    stakes = [draw(st.integers(0, 10_000)) for _ in PLAYERS]
    verbs = ["bet", "call", "call"]
    play = [
        f"{name} {verb} {Decimal(stake) / 100}{'!' if stake == 10_000 else ''}"
        for name, verb, stake in zip(PLAYERS, verbs, stakes, strict=True)
        if stake
    ]
    folds = draw(st.sets(st.sampled_from(list(PLAYERS)), max_size=2))
    play += [f"{name} check" for name, stake in zip(PLAYERS, stakes, strict=True) if not stake]
    play += [f"{name} fold" for name in sorted(folds)]
    seen = draw(st.booleans())
    rounds = [("Preflop", ", ".join(play))] + ([("Flop", "alice check")] if seen else [])
    return a_post(rounds, [], {"alice": "100", "bob": "100", "carol": "100"})


@given(post=played(), winner=st.integers(0, 2))
def test_whatever_is_booked_the_postings_add_up_and_the_table_follows(
    post: dict[str, Any], winner: int
) -> None:
    book = a_table()
    dry = command({"ohh": {**post["ohh"], "game_number": "7"}})
    paid = pay_out(dry, winner)
    post["ohh"].update(paid)
    before = sum(chips(book).values())
    decision = posted(book, post)
    assert decision.refusal is None, decision.refusal.extra
    for _, event in decision.changes:
        assert sum(posting.amount_minor for posting in event.postings()) == 0
    assert book.balance(f"pot:{NETWORK}:Etomo") == 0
    assert chips(book) == mirrored(book)
    rake = -book.balance(f"rake:{NETWORK}:kerching") - book.balance(f"jackpot:{NETWORK}:bad-beat")
    assert sum(chips(book).values()) == before - rake
    state = book.get(hand_stream(NETWORK, "81"))
    assert isinstance(state, HandState)
    assert posted(book, post).answer == {**decision.answer, "repeated": True}


def pay_out(command: PostHand, winner: int) -> dict[str, Any]:
    """Write pots and returns as the rules have them; one entitled player wins each pot."""
    counted = tally(command.hand)
    back = uncalled(counted, {})
    returned = {back.player_id: back.amount} if back else {}
    pots = pots_of(counted, returned, "matched")

    def amount(minor: int) -> Decimal:
        return Decimal(minor) / 100

    return {
        "pots": [
            {
                "number": number,
                "amount": amount(pot.amount),
                "player_wins": [
                    {
                        "player_id": pot.entitled[winner % len(pot.entitled)],
                        "win_amount": amount(pot.amount),
                    }
                ],
            }
            for number, pot in enumerate(pots)
        ],
        "x_uncalled_returned": [
            {"player_id": player, "amount": amount(minor)} for player, minor in returned.items()
        ],
    }
