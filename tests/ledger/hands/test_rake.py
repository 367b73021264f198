"""Rake by the schedules of K 10.1.9 and D, over pots and among partners."""

import csv
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.hands.rake import by_partner, over_pots, rake_of
from ledger.money import minor
from ledger.rulebooks import shipped
from ledger.rulebooks.fees import Rake

RULEBOOKS = {rulebook.ref: rulebook for rulebook in shipped()}
REAL_HANDS = Path(__file__).parents[3] / ".." / "shared" / "data" / "hands" / "entraction_rake.csv"


def schedule(ref: str) -> Rake:
    rake = RULEBOOKS[ref].rake
    assert not isinstance(rake, str)
    return rake


EARLIER = schedule("entraction@2008-01-01")
LATER = schedule("entraction@2013-01-01")


def rake(pot: str, players: int, *, of: Rake = LATER, limit: str = "NL", **other: Any) -> int:
    hand: dict[str, Any] = {
        "game": "Holdem",
        "bet_type": limit,
        "currency": "EUR",
        "lower_limit_minor": 4,
        "pot_minor": minor(pot, "EUR"),
        "players_dealt": players,
        "streets_seen": ("Preflop", "Flop"),
    }
    return rake_of(of, **{**hand, **other})


@pytest.mark.parametrize("limit", ["NL", "PL", "HPL"])
@pytest.mark.parametrize(
    ("pot", "players", "expected"),
    [
        ("0.00", 6, 0),
        ("0.19", 6, 0),
        ("0.20", 6, 1),  # the table fee
        ("0.39", 6, 1),
        ("1.99", 6, 9),
        ("2.00", 6, 10),
        ("2.99", 6, 10),
        ("3.00", 2, 15),
        ("15.00", 2, 75),
        ("16.00", 3, 75),
        ("16.00", 4, 80),
        ("40.00", 5, 200),
        ("1000.00", 5, 200),
        ("60.00", 6, 300),
        ("1000.00", 10, 300),
    ],
)
def test_rake_at_no_and_pot_limit_is_five_cents_per_euro_up_to_the_cap(
    limit: str, pot: str, players: int, expected: int
) -> None:
    assert rake(pot, players, limit=limit) == expected
    assert rake(pot, players, limit=limit, lower_limit_minor=20_000) == expected


@pytest.mark.parametrize("limit", ["FL", "SL"])
@pytest.mark.parametrize(
    ("lower_limit", "pot", "players", "expected"),
    [
        (2, "1.99", 4, 9),  # 0.02/0.04
        (50, "2.00", 4, 10),  # 0.50/1
        (50, "19.99", 3, 75),
        (50, "19.99", 4, 95),
        (50, "100.00", 10, 100),
        (75, "100.00", 10, 100),  # between two bands: the lower
        (100, "1.99", 4, 0),  # 1/2
        (100, "4.99", 4, 0),
        (100, "5.00", 4, 25),
        (100, "9.99", 4, 25),
        (100, "100.00", 3, 75),
        (100, "100.00", 4, 200),
        (150, "5.00", 4, 25),
        (200, "9.99", 4, 0),  # 2/4
        (200, "10.00", 4, 50),
        (200, "19.99", 2, 50),
        (200, "20.00", 2, 75),
        (10_000, "2000.00", 10, 200),
        (1, "2.00", 4, 10),  # below every band: the lowest
    ],
)
def test_rake_at_fixed_and_spread_limit_rises_with_the_stakes(
    limit: str, lower_limit: int, pot: str, players: int, expected: int
) -> None:
    assert rake(pot, players, limit=limit, lower_limit_minor=lower_limit) == expected


@pytest.mark.parametrize(
    ("pot", "players", "expected"),
    [("0.19", 6, 0), ("0.20", 6, 2), ("0.39", 6, 2), ("0.40", 6, 2), ("0.60", 6, 3),
     ("2.58", 6, 12), ("100.00", 3, 75), ("100.00", 5, 200), ("100.00", 6, 300)],
)  # fmt: skip
def test_until_2012_a_cent_was_taken_of_each_twenty(pot: str, players: int, expected: int) -> None:
    assert rake(pot, players, of=EARLIER) == expected
    assert rake(pot, players, of=EARLIER, limit="PL") == expected


@pytest.mark.parametrize(
    ("game", "before", "after"),
    [  # K 10.1.9
        ("Holdem", "Preflop", "Flop"),
        ("Omaha", "Preflop", "Flop"),
        ("OmahaHiLo", "Preflop", "Flop"),
        ("Soko", "Second Street", "Third Street"),
        ("Telesina", "Second Street", "Third Street"),
        ("Americana", "Second Street", "Third Street"),
        ("Stud", "Third Street", "Fourth Street"),
        ("StudHiLo", "Third Street", "Fourth Street"),
        ("FiveCardDraw", "Deal", "First Draw"),
        ("TripleDraw27", "Deal", "First Draw"),
    ],
)
def test_a_hand_is_raked_once_its_street_was_dealt(game: str, before: str, after: str) -> None:
    assert rake("10.00", 6, game=game, streets_seen=(before,)) == 0
    assert rake("10.00", 6, game=game, streets_seen=(before, after)) == 50
    assert rake("10.00", 6, game=game, streets_seen=frozenset({before, after, "Showdown"})) == 50


@pytest.mark.parametrize("currency", ["XPM", "XCR", "XTC", "USD"])
def test_only_the_currency_of_the_schedule_is_raked(currency: str) -> None:
    assert rake("10.00", 6, currency=currency) == 0


def test_what_the_rulebook_does_not_offer_is_not_raked() -> None:
    assert rake("10.00", 6, limit="XL") == 0
    assert rake("10.00", 6, game="Badugi") == 0
    gamevelvet = RULEBOOKS["gamevelvet@2000-01-01"].rake
    assert gamevelvet == "none"
    assert (
        rake_of(
            gamevelvet,
            game="FiveCardDraw",
            bet_type="NL",
            currency="XCR",
            lower_limit_minor=10,
            pot_minor=1000,
            players_dealt=6,
            streets_seen=("First Draw",),
        )
        == 0
    )


GAMES = {"Omaha High": "Omaha", "5-Card Omaha High": "Omaha", "Omaha Hi/Lo": "OmahaHiLo",
         "Texas Hold'em": "Holdem"}  # fmt: skip
LIMITS = {"No Limit": "NL", "Pot Limit": "PL", "Fixed Limit": "FL"}


@pytest.mark.skipif(not REAL_HANDS.exists(), reason="the real hands are not beside the project")
@pytest.mark.parametrize(
    ("of", "column"), [(LATER, "rake_by_schedule"), (EARLIER, "rake_by_fitted_rule")]
)
def test_the_schedules_give_the_rake_of_every_real_hand(of: Rake, column: str) -> None:
    with REAL_HANDS.open(encoding="utf-8", newline="") as file:
        hands = list(csv.DictReader(file))
    assert len(hands) == 183
    for hand in hands:
        lower, upper = (minor(part, "EUR") for part in hand["stakes"].split("/"))
        limit = LIMITS[hand["limit"]]
        worked_out = rake(
            hand["pot_total"],
            int(hand["players_dealt"]),
            of=of,
            game=GAMES[hand["game"]],
            limit=limit,
            lower_limit_minor=lower if limit == "FL" else upper,
            streets_seen=("Preflop", "Flop") if hand["saw_flop"] == "yes" else ("Preflop",),
        )
        assert worked_out == minor(hand[column], "EUR"), hand["game_number"]


SCHEDULES = st.sampled_from([EARLIER, LATER])
STAKES = st.sampled_from([1, 2, 50, 99, 100, 199, 200, 10_000])
PLAYERS = st.integers(2, 10)
POTS = st.integers(0, 200_000)
BET_TYPES = st.sampled_from(["NL", "PL", "HPL", "FL", "SL"])


@given(SCHEDULES, BET_TYPES, STAKES, PLAYERS, POTS, st.integers(0, 10_000))
def test_rake_is_part_of_the_pot_under_the_cap_and_never_falls_as_pots_grow(
    of: Rake, limit: str, stakes: int, players: int, pot: int, more: int
) -> None:
    def of_pot(pot_minor: int) -> int:
        return rake("0", players, of=of, limit=limit, lower_limit_minor=stakes, pot_minor=pot_minor)

    caps = [cap.cap_minor for band in of.bands if limit in band.limits for cap in band.caps]
    assert 0 <= of_pot(pot) <= min(pot, max(caps))
    assert of_pot(pot) <= of_pot(pot + more)


@given(SCHEDULES, BET_TYPES, STAKES, st.integers(2, 9), POTS)
def test_rake_never_falls_with_more_players(
    of: Rake, limit: str, stakes: int, players: int, pot: int
) -> None:
    fewer, more = (
        rake("0", count, of=of, limit=limit, lower_limit_minor=stakes, pot_minor=pot)
        for count in (players, players + 1)
    )
    assert fewer <= more


@pytest.mark.parametrize(
    ("rake_minor", "pots", "shares"),
    [
        (60, [1200], [60]),
        (0, [1200, 300], [0, 0]),
        (10, [100, 100], [5, 5]),
        (5, [100, 100], [2, 3]),  # half a cent up on the side pot, the rest on the main pot
        (75, [900, 600], [45, 30]),
        (100, [1000, 500, 500], [50, 25, 25]),
        (7, [100, 100, 100], [3, 2, 2]),
        (0, [], []),
        (0, [0, 0], [0, 0]),
        (0, [0], [0]),
        (5, [10] * 10, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]),  # the main pot cannot pay less than nothing
        (2, [1, 6, 6, 6, 6, 6], [1, 1, 0, 0, 0, 0]),  # nor more than is in it
    ],
)
def test_rake_is_divided_over_the_pots_by_size(
    rake_minor: int, pots: list[int], shares: list[int]
) -> None:
    assert over_pots(rake_minor, pots) == shares


@pytest.mark.parametrize(("rake_minor", "pots"), [(11, [10]), (1, []), (-1, [5, 5]), (-1, [5])])
def test_rake_that_the_pots_cannot_pay_is_a_mistake(rake_minor: int, pots: list[int]) -> None:
    with pytest.raises(ValueError, match="cannot come out of"):
        over_pots(rake_minor, pots)


@given(st.lists(st.integers(0, 100_000), min_size=1, max_size=9), st.data())
def test_the_shares_of_the_pots_add_up_and_no_pot_pays_what_it_has_not_got(
    pots: list[int], data: st.DataObject
) -> None:
    rake_minor = data.draw(st.integers(0, sum(pots)))
    shares = over_pots(rake_minor, pots)
    assert sum(shares) == rake_minor
    assert all(0 <= share <= pot for share, pot in zip(shares, pots, strict=True))


@given(st.lists(st.integers(1, 100_000), min_size=2, max_size=9), st.integers(0, 300))
def test_a_side_pot_pays_its_part_to_half_a_cent_when_the_main_pot_is_large(
    sides: list[int], rake_minor: int
) -> None:
    pots = [10 * sum(sides) + 300, *sides]
    for share, pot in zip(over_pots(rake_minor, pots)[1:], sides, strict=True):
        assert abs(2 * share * sum(pots) - 2 * rake_minor * pot) <= sum(pots)


@pytest.mark.parametrize(
    ("rake_minor", "staked", "shares"),
    [
        (60, {"north": 600, "south": 600}, {"north": 30, "south": 30}),
        (61, {"south": 600, "north": 600}, {"north": 31, "south": 30}),  # not by who came first
        (100, {"a": 1, "b": 1, "c": 1}, {"a": 34, "b": 33, "c": 33}),
        (1, {"a": 100, "b": 900}, {"b": 1}),
        (75, {"a": 0, "b": 900}, {"b": 75}),
        (0, {"a": 100, "b": 900}, {}),
        (0, {}, {}),
    ],
)
def test_rake_is_divided_among_partners_by_what_their_players_put_in(
    rake_minor: int, staked: dict[str, int], shares: dict[str, int]
) -> None:
    assert by_partner(rake_minor, staked) == shares


PARTNERS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 10**7), min_size=1)


@given(st.integers(0, 10**6), PARTNERS, st.randoms())
def test_the_shares_of_partners_add_up_in_whatever_order_they_come(
    rake_minor: int, staked: dict[str, int], random: Any
) -> None:
    shares = by_partner(rake_minor, staked)
    shuffled = list(staked.items())
    random.shuffle(shuffled)
    assert sum(shares.values()) == rake_minor
    assert by_partner(rake_minor, dict(shuffled)) == shares
    assert all(
        abs(share * sum(staked.values()) - rake_minor * staked[partner]) < sum(staked.values())
        for partner, share in shares.items()
    )
