"""``cardroom judge`` with PHH files: a hand is translated, judged, and pays what its file says."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.hands import ohh, reading
from ledger.hands.ohh import Hand
from ledger.hands.verdict import ShownExpected, Verdict
from ops.judge import judge_hands, phh_verdicts, verdicts
from ops.phh.files import Item, Phh, UnknownVariant, read, split
from ops.phh.translate import encode, translate

DATA = Path(__file__).parents[3] / "shared" / "data" / "phh"

real_hands = pytest.mark.skipif(
    not DATA.is_dir(), reason="the real hands (../shared/data/phh) are not here"
)

NT = """
variant = 'NT'
antes = [0, 0, 0]
blinds_or_straddles = [50, 100, 0]
min_bet = 100
starting_stacks = [1000, 2000, 3000]
players = ['ann', 'bob', 'cyd']
"""

DEAL = "'d dh p1 AsAh', 'd dh p2 KsKh', 'd dh p3 QsQh'"


def a_file(actions: str, more: str = "", head: str = NT) -> bytes:
    """Write a hand of three that is dealt aces, kings and queens, unless told otherwise."""
    return f"{head}actions = [{actions}]\n{more}\n".encode()


def translated(body: bytes) -> Hand:
    [item] = split(body)
    return reading.read(encode(translate(item, read(item))))


def said(hand: Hand) -> list[str]:
    """Say what was done in a hand, street by street: ``Flop 2c3c4c, 1 Check, 2 Bet 100``."""
    streets = []
    for street in hand.rounds:
        acts = [f"{street.street} {''.join(street.cards or ())}".strip()]
        for act in street.actions:
            told = [str(act.amount) if act.amount else "", "".join(act.cards or ())]
            words = [str(act.player_id), act.action, *filter(None, told)]
            acts.append(" ".join(words) + "!" * bool(act.is_allin))
        streets.append(", ".join(acts))
    return streets


def judged(body: bytes) -> Verdict:
    [verdict] = phh_verdicts(body, None, None)
    return verdict


def found(body: bytes) -> list[tuple[str, str, str]]:
    """Return the verdict and what was found, by code and place."""
    return [
        (verdict.verdict, one.code, one.where)
        for verdict in phh_verdicts(body, None, None)
        for one in verdict.findings
    ]


# -- real hands ----------------------------------------------------------------------------------


def real() -> Iterator[tuple[str, Item]]:
    for path in sorted(DATA.iterdir()):
        for item in split(path.read_bytes()):
            yield f"{path.name} {item.number}", item


def paid(hand: Hand, expected: ShownExpected) -> list[Decimal]:
    """Work out from a verdict what every player has in the end."""
    digits = 2 if hand.money == "XPM" else 0
    stacks = {one.name: Decimal(one.starting_stack).scaleb(-digits) for one in hand.players}
    names = {one.id: one.name for one in hand.players}
    for street in hand.rounds:
        for act in street.actions:
            if act.amount:
                assert act.player_id is not None
                stacks[names[act.player_id]] -= Decimal(act.amount).scaleb(-digits)
    for one in expected.uncalled_returned:
        assert one.player is not None
        stacks[one.player] += Decimal(one.amount)
    for win in (win for pot in expected.pots for win in pot.wins):
        assert win.player is not None
        stacks[win.player] += Decimal(win.amount)
    return list(stacks.values())


@real_hands
def test_real_hands_pay_exactly_their_finishing_stacks() -> None:
    count = 0
    for name, item in real():
        phh = read(item)
        document = encode(translate(item, phh))
        verdict = judged_alone(document)
        assert (verdict.verdict, verdict.findings) == ("ok", []), name
        assert verdict.expected is not None
        assert paid(reading.read(document), verdict.expected) == phh.finishing_stacks, name
        count += 1
    assert count == 236


def judged_alone(document: bytes) -> Verdict:
    [verdict] = verdicts(document, "as-posted", None)
    return verdict


@real_hands
def test_where_a_file_does_not_say_who_won_pokerkit_does() -> None:
    for name, item in real():
        whole = translate(item, read(item))
        without = {key: value for key, value in item.content.items() if "finishing" not in key}
        bare = Item(item.section, without)
        if whole["ohh"].get("currency") == "XPM":
            continue  # The file gives half a chip to each of two winners; PokerKit does not.
        assert encode(translate(bare, read(bare))) == encode(whole), name


@real_hands
def test_a_file_that_pays_another_player_is_flagged() -> None:
    body = (DATA / "FT-2023-43-5-35.phh").read_bytes()
    assert judged(body).verdict == "ok"
    other = body.replace(b"[13725000, 7550000, 3150000, 3800000, 1475000]",
                         b"[10325000, 7550000, 3150000, 3800000, 4875000]")  # fmt: skip
    assert other != body
    assert found(other) == [("flagged", "wrong-pot-winner", "pots[0].player_wins")]


# -- translating ---------------------------------------------------------------------------------


def test_a_raise_is_written_as_what_it_adds() -> None:
    hand = translated(
        a_file(
            f"{DEAL}, 'p3 cbr 300', 'p1 cbr 900', 'p2 f', 'p3 cc', 'd db 2c3c4d', 'p1 cc',"
            " 'p3 cbr 100 # a small one', 'p1 f'"
        )
    )
    assert said(hand) == [
        "Preflop, 1 Post SB 50, 2 Post BB 100, 1 Dealt Cards AsAh, 2 Dealt Cards KsKh,"
        " 3 Dealt Cards QsQh, 3 Raise 300, 1 Raise 850, 2 Fold, 3 Call 600",
        "Flop 2c3c4d, 1 Check, 3 Bet 100, 1 Fold",
    ]
    assert (hand.dealer_seat, hand.money, hand.tournament) == (3, "XTC", True)
    assert [(one.player_id, one.amount) for one in hand.x_uncalled_returned or ()] == [(3, 100)]
    assert [(pot.amount, pot.player_wins[0].player_id) for pot in hand.pots] == [(1900, 3)]


def test_side_pots_follow_from_what_was_staked() -> None:
    shown = "'p1 sm AsAh', 'p2 sm KsKh', 'p3 sm QsQh'"
    board = "'d db 2c3c4d', 'd db 9d', 'd db Jc'"
    body = a_file(f"{DEAL}, 'p3 cbr 3000', 'p1 cc', 'p2 cc', {shown}, {board}")
    hand = translated(body)
    assert "3 Raise 3000!, 1 Call 950!, 2 Call 1900!" in said(hand)[0]
    assert [(one.player_id, one.amount) for one in hand.x_uncalled_returned or ()] == [(3, 1000)]
    assert [(pot.amount, [win.player_id for win in pot.player_wins]) for pot in hand.pots] == [
        (3000, [1]),
        (2000, [2]),
    ]
    assert judged(body).verdict == "ok"


@pytest.mark.parametrize(
    ("forced", "posts"),
    [
        ("antes = [10, 10, 10]\nblinds_or_straddles = [50, 100, 0]",
         "1 Post Ante 10, 2 Post Ante 10, 3 Post Ante 10, 1 Post SB 50, 2 Post BB 100"),
        # The big blind antes for all: it matches nothing.
        ("antes = [0, 100, 0]\nblinds_or_straddles = [50, 100, 0]",
         "2 Post Dead 100, 1 Post SB 50, 2 Post BB 100"),
        ("ante_trimming_status = true\nantes = [0, 0, 0]\nblinds_or_straddles = [50, 100, 200]",
         "1 Post SB 50, 2 Post BB 100, 3 Straddle 200"),
        # A dead small blind.
        ("antes = []\nblinds_or_straddles = [100, 0, 0]", "1 Post BB 100"),
        # What PokerKit calls a post: live, and no blind.
        ("antes = []\nblinds_or_straddles = [50, 100, -100]",
         "1 Post SB 50, 2 Post BB 100, 3 Post Extra Blind 100"),
        ("antes = []\nblinds_or_straddles = [50, 2500, 0]", "1 Post SB 50, 2 Post BB 2000!"),
    ],
)  # fmt: skip
def test_forced_bets_are_named(forced: str, posts: str) -> None:
    head = NT.replace("antes = [0, 0, 0]\nblinds_or_straddles = [50, 100, 0]", forced)
    hand = translated(a_file(DEAL, "winnings = [0, 0, 0]", head))
    assert said(hand)[0] == f"Preflop, {posts}, 1 Dealt Cards AsAh, 2 Dealt Cards KsKh," + (
        " 3 Dealt Cards QsQh"
    )


@pytest.mark.parametrize("name", ["finishing_stacks", "winnings", "players", "seats"])
def test_an_empty_list_is_as_good_as_none(name: str) -> None:
    head = NT.replace("players = ['ann', 'bob', 'cyd']\n", "")
    folded = f"{DEAL}, 'p3 f', 'p1 f'"
    assert translated(a_file(folded, f"{name} = []", head)) == translated(a_file(folded, "", head))


def test_of_two_players_the_dealer_posts_the_small_blind() -> None:
    head = """
variant = 'FT'
antes = []
blinds_or_straddles = [50, 100]
small_bet = 100
big_bet = 200
starting_stacks = [1000, 1000]
"""
    body = a_file("'d dh p1 AsAh', 'd dh p2 KsKh', 'p2 cc', 'p1 cbr 200', 'p2 f'", head=head)
    hand = translated(body)
    assert said(hand) == [
        "Preflop, 2 Post SB 50, 1 Post BB 100, 1 Dealt Cards AsAh, 2 Dealt Cards KsKh,"
        " 2 Call 50, 1 Raise 100, 2 Fold"
    ]
    assert (hand.dealer_seat, hand.x_small_bet, hand.x_big_bet) == (2, 100, 200)
    assert [player.name for player in hand.players] == ["p1", "p2"]
    assert judged(body).verdict == "ok"


def test_a_street_of_stud_begins_with_its_first_card() -> None:
    head = """
variant = 'F7S'
antes = [5, 5]
bring_in = 10
small_bet = 20
big_bet = 40
starting_stacks = [1000, 1000]
"""
    actions = (
        "'d dh p1 ????2s', 'd dh p2 ????3s', 'p1 pb', 'p2 cbr 20', 'p1 cc', 'd dh p1 4s',"
        " 'd dh p2 5s', 'p2 cbr 20', 'p1 f'"
    )
    hand = translated(a_file(actions, head=head))
    assert said(hand) == [
        "Third Street, 1 Post Ante 5, 2 Post Ante 5, 1 Dealt Cards ????2s, 2 Dealt Cards ????3s,"
        " 1 Bring In 10, 2 Raise 20, 1 Call 10",
        "Fourth Street, 1 Dealt Cards 4s, 2 Dealt Cards 5s, 2 Bet 20, 1 Fold",
    ]
    assert (hand.ante_amount, hand.x_bring_in) == (5, 10)


def test_a_draw_begins_when_the_first_player_draws() -> None:
    head = """
variant = 'F2L3D'
antes = []
blinds_or_straddles = [50, 100]
small_bet = 100
big_bet = 200
starting_stacks = [1000, 1000]
"""
    actions = (
        "'d dh p1 2s3s4s5s7h', 'd dh p2 ??????????', 'p2 cc', 'p1 cc', 'p1 sd', 'p2 sd ????',"
        " 'd dh p2 ????', 'p1 cbr 100', 'p2 f'"
    )
    hand = translated(a_file(actions, head=head))
    assert said(hand)[1] == (
        "First Draw, 1 Stand Pat, 2 Discard ????, 2 Dealt Cards ????, 1 Bet 100, 2 Fold"
    )


def test_a_board_that_is_run_twice_repeats_its_streets() -> None:
    actions = (
        f"{DEAL}, 'p3 cbr 300', 'p1 cc', 'p2 cc', 'd db 2c3c4d', 'p1 cbr 700', 'p2 cc', 'p3 f',"
        " 'p1 sm AsAh', 'p2 sm KsKh', 'd db 9d', 'd db Jc', 'd db Kd', 'd db Tc'"
    )
    body = a_file(actions, "winnings = [1150, 1150, 0]")
    assert said(translated(body))[2:] == ["Turn 9d", "River Jc", "Turn Kd", "River Tc"]
    assert judged(body).verdict == "ok"
    other = body.replace(b"[1150, 1150, 0]", b"[2300, 0, 0]")
    assert found(other) == [("flagged", "wrong-pot-winner", "pots[0].player_wins")]


def test_cards_shown_as_dealt_need_not_be_named_again() -> None:
    actions = (
        f"{DEAL}, 'p3 f', 'p1 cc', 'p2 cc', 'd db 2c3c4d', 'p1 cc', 'p2 cc', 'd db 9d', 'p1 cc',"
        " 'p2 cc', 'd db Jc', 'p1 cc', 'p2 cc', 'p1 sm -', 'p2 sm'"
    )
    assert said(translated(a_file(actions)))[-1] == (
        "River Jc, 1 Check, 2 Check, 1 Shows Cards, 2 Mucks Cards"
    )


@pytest.mark.parametrize(
    ("more", "currency", "rake"),
    [
        ("currency = 'EUR'", "EUR", 0),
        ("currency_symbol = '$'", "USD", 0),
        ("currency = 'EUR'\nwinnings = [0, 0, 240]", "EUR", 1000),
        # Without a currency, amounts that are not whole are no tournament chips.
        ("winnings = [0, 0, 249.5]", "XPM", 50),
    ],
)
def test_money_is_what_the_file_says(more: str, currency: str, rake: int) -> None:
    hand = translated(a_file(f"{DEAL}, 'p3 cbr 200', 'p1 f', 'p2 f'", more))
    assert (hand.money, hand.tournament) == (currency, False)
    assert [pot.rake for pot in hand.pots] == [rake]


def test_seats_dates_and_numbers_are_those_of_the_file() -> None:
    more = """
seats = [6, 1, 3]
seat_count = 9
table = 'Etomo'
hand = 17
year = 2009
month = 7
day = 1
time = 01:30:00
time_zone = 'Europe/Malta'
"""
    hand = translated(a_file(f"{DEAL}, 'p3 f', 'p1 f'", more))
    assert [player.seat for player in hand.players] == [6, 1, 3]
    assert (hand.table_size, hand.dealer_seat, hand.table_name) == (9, 3, "Etomo")
    assert (hand.game_number, hand.start_date_utc) == ("17", "2009-06-30T23:30:00Z")


# -- files that are wrong ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "code", "where"),
    [
        (b"variant = 'NT", "malformed", ""),
        (b"\xff\xfe", "malformed", ""),
        (b"", "malformed", ""),
        (b"variant = 'NT'", "malformed", ""),
        (a_file(DEAL, head=NT.replace("'NT'", "'FB'")), "unknown-game", "variant"),
        (a_file(DEAL, head=NT.replace("'NT'", "7")), "malformed", "variant"),
        (a_file(DEAL, head=NT.replace("[50, 100, 0]", "[50, 'x', 0]")), "malformed",
         "blinds_or_straddles[1]"),
        (a_file(DEAL, head=NT.replace("[50, 100, 0]", "[50, 100]")), "malformed",
         "blinds_or_straddles"),
        (a_file(DEAL, head=NT.replace("3000]", "nan]")), "malformed", "starting_stacks"),
        (a_file(DEAL, head=NT.replace("3000]", "1e400]")), "malformed", "starting_stacks"),
        (a_file(DEAL, head=NT.replace("[1000, 2000, 3000]", "[]")), "malformed",
         "starting_stacks"),
        (a_file(f"{DEAL}, 'p3 jumps'"), "malformed", "actions[3]"),
        (a_file(f"{DEAL}, 'p4 f'"), "malformed", "actions[3]"),
        (a_file(f"{DEAL}, 'p f'"), "malformed", "actions[3]"),
        (a_file(f"{DEAL}, 'p3 cbr'"), "malformed", "actions[3]"),
        (a_file(f"{DEAL}, 'p3 cbr x'"), "malformed", "actions[3]"),
        (a_file(f"{DEAL}, 'p3 cbr inf'"), "malformed", "actions[3]"),
        (a_file(f"{DEAL}, 'p3 cbr 1e99999999999'"), "malformed", "actions[3]"),
        (a_file(f"{DEAL}, 'p3 cbr -5'"), "malformed", "actions[3]"),
        (a_file("'d dh p1 AsXx'"), "malformed", "actions[0]"),
        # PokerKit cannot play on when a player acts out of turn, and nobody says who won.
        (a_file(f"{DEAL}, 'p1 cbr 5000'"), "malformed", "finishing_stacks"),
        (a_file(f"{DEAL}, 'p3 f', 'p1 f'", "finishing_stacks = [1000, 50, 3000]"), "malformed",
         "finishing_stacks[1]"),
        (a_file(f"{DEAL}, 'p3 f', 'p1 f'", "year = 2009\nmonth = 13"), "malformed", "year"),
        (a_file(f"{DEAL}, 'p3 f', 'p1 f'", "currency = 'ZZZ'"), "malformed", "currency"),
        # What is translated is judged like any other hand.
        (a_file(f"{DEAL}, 'p3 cbr 9000', 'p1 f', 'p2 f'", "winnings = [0, 0, 250]"),
         "stake-exceeds-chips", "players[2].starting_stack"),
        (a_file(f"{DEAL}, 'p3 f', 'p1 f'", "winnings = [0, 500, 0]"), "money-not-conserved",
         "pots"),
    ],
)  # fmt: skip
def test_a_hand_that_is_wrong_is_refused_with_a_code_and_a_place(
    body: bytes, code: str, where: str
) -> None:
    assert found(body) == [("refused", code, where)]


def test_each_hand_of_a_file_is_judged_alone(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    good = a_file(f"{DEAL}, 'p3 f', 'p1 f'").decode()
    file = tmp_path / "hands.phhs"
    file.write_text(f"[1]\n{good}\n[2]\nvariant = 'NT'\nhand = 9\n[3]\n{good}hand = 'last'\n")
    judge_hands(file)
    lines = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert [(one["game_number"], one["verdict"]) for one in lines] == [
        ("1", "ok"),
        ("9", "refused"),
        ("last", "ok"),
    ]
    [finding] = lines[1]["findings"]
    assert (finding["code"], finding["where"]) == ("malformed", "[2]")
    assert "starting_stacks" in finding["message"]


def test_a_rulebook_may_be_named() -> None:
    body = a_file(f"{DEAL}, 'p3 f', 'p1 f'")
    [verdict] = phh_verdicts(body, "house", None)
    assert [one.code for one in verdict.findings] == ["unknown-rulebook"]
    [verdict] = phh_verdicts(body, "live-tournament", None)
    assert verdict.verdict == "ok"


_WORDS = st.sampled_from(
    ["p1", "p2", "p3", "p9", "d", "dh", "db", "cbr", "cc", "f", "sm", "sd", "pb", "AsKd", "????",
     "-", "100", "2.5", "1e9", "#", "nan", "AsAs"]
)  # fmt: skip
_VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(
    actions=st.lists(st.lists(_WORDS, max_size=4).map(" ".join), max_size=12),
    variant=st.sampled_from(["NT", "FT", "PO", "FO/8", "F7S", "F7S/8", "F2L3D"]),
    odd=st.dictionaries(
        st.sampled_from(sorted(Phh.__struct_encode_fields__)), _VALUES,
        max_size=2,
    ),
)  # fmt: skip
def test_nothing_that_a_file_says_breaks_the_judge(
    actions: list[str], variant: str, odd: dict[str, Any]
) -> None:
    content = {
        "variant": variant,
        "antes": [5, 5, 5],
        "blinds_or_straddles": [50, 100, 0],
        "bring_in": 10,
        "small_bet": 100,
        "big_bet": 200,
        "min_bet": 100,
        "starting_stacks": [1000, 700, 2000],
        "actions": actions,
        **odd,
    }
    item = Item("1", content)
    try:
        document = encode(translate(item, read(item)))
    except (ohh.Malformed, UnknownVariant):
        return
    assert judged_alone(document).verdict in ("ok", "unverified", "flagged", "refused")
