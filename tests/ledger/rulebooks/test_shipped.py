"""The rulebooks that come with the software say what their sources say."""

import msgspec
import pytest

from ledger.rulebooks import Rulebook, parse, shipped, shipped_texts, text_of
from ledger.rulebooks.conduct import DaysWindow, NextHandWindow
from ledger.rulebooks.fees import ShareOfRake

RULEBOOKS = {rulebook.ref: rulebook for rulebook in shipped()}
ENTRACTION = RULEBOOKS["entraction@2013-01-01"]
GAMEVELVET = RULEBOOKS["gamevelvet@2000-01-01"]
LIVE = RULEBOOKS["live-tournament@2000-01-01"]
EMPIRE = RULEBOOKS["empire@2000-01-01"]
AS_POSTED = RULEBOOKS["as-posted@2000-01-01"]


def test_every_operator_has_its_rulebook() -> None:
    assert list(RULEBOOKS) == [
        "as-posted@2000-01-01",
        "empire@2000-01-01",
        "entraction@2008-01-01",
        "entraction@2013-01-01",
        "gamevelvet@2000-01-01",
        "live-tournament@2000-01-01",
    ]


@pytest.mark.parametrize(("file", "text"), shipped_texts())
def test_a_shipped_text_is_the_one_its_version_was_read_from(file: str, text: str) -> None:
    rulebook = parse(text, file)
    assert rulebook in shipped()
    assert text_of(rulebook.name, rulebook.valid_from) == text


def test_the_versions_of_entraction_differ_in_their_rake_alone() -> None:
    earlier = msgspec.structs.asdict(RULEBOOKS["entraction@2008-01-01"])
    later = msgspec.structs.asdict(ENTRACTION)
    assert [key for key in later if earlier[key] != later[key]] == ["valid_from", "rake"]


@pytest.mark.parametrize(
    ("lower_limit", "minimum"),
    [(25, 300), (100, 1000), (200, 2000), (300, 3000), (500, 5000)],
)
def test_fixed_limit_minimum_buy_ins_are_those_of_k_10_1_2(lower_limit: int, minimum: int) -> None:
    assert ENTRACTION.tables != "none"
    for game in ("Holdem", "Omaha"):
        buy_in = ENTRACTION.tables.buy_in(game, "FL", lower_limit)
        assert buy_in is not None
        assert (buy_in.minimum_minor, buy_in.maximum_minor) == (minimum, "none")


def test_other_tables_choose_their_own_buy_ins() -> None:
    assert ENTRACTION.tables != "none"
    assert ENTRACTION.tables.buy_in("Holdem", "FL", 50) is None
    assert ENTRACTION.tables.buy_in("Holdem", "NL", 100) is None
    assert ENTRACTION.tables.buy_in("Stud", "FL", 100) is None
    assert ENTRACTION.tables.maximum_required_at == ("NL", "PL")


@pytest.mark.parametrize(
    ("game", "players", "cards"),
    [  # K 10.3-10.12
        ("Holdem", 10, 52),
        ("Omaha", 8, 52),
        ("OmahaHiLo", 8, 52),
        ("Soko", 8, 52),
        ("Stud", 8, 52),
        ("StudHiLo", 8, 52),
        ("FiveCardDraw", 6, 52),
        ("TripleDraw27", 6, 52),
        ("Telesina", 6, 32),
        ("Americana", 6, 32),
    ],
)
def test_entraction_seats_and_deals_as_k_10_says(game: str, players: int, cards: int) -> None:
    rules = {str(name): rules for name, rules in ENTRACTION.games.items()}[game]
    assert rules.max_players == players
    assert {rules.deck(count).cards() for count in range(2, players + 1)} == {cards}


@pytest.mark.parametrize(
    ("players", "lowest", "cards"),
    [  # G
        (2, "7", 32),
        (4, "7", 32),
        (5, "6", 36),
        (6, "6", 36),
        (7, "5", 40),
        (8, "4", 44),
        (9, "4", 44),
    ],
)
def test_gamevelvet_adds_cards_with_players(players: int, lowest: str, cards: int) -> None:
    deck = GAMEVELVET.games["FiveCardDraw"].deck(players)
    assert (deck.lowest, deck.cards()) == (lowest, cards)


def test_what_an_all_in_player_wins_differs_between_operators() -> None:
    rules = {name: rulebook.all_in.rule for name, rulebook in RULEBOOKS.items()}
    assert rules.pop("gamevelvet@2000-01-01") == "finished"
    assert set(rules.values()) == {"matched"}


def test_artificial_all_ins_are_limited_as_each_source_says() -> None:
    kerching, empire = ENTRACTION.artificial_all_in, EMPIRE.artificial_all_in
    assert kerching != "none"
    assert empire != "none"
    assert (kerching.limits, kerching.in_tournaments) == (("FL", "SL"), False)  # K 10.1.6
    assert kerching.per_24_hours == 2
    assert empire.per_24_hours == "none"  # E
    assert (EMPIRE.timing.act, EMPIRE.timing.countdown) == (10, 20)
    assert EMPIRE.timing.after_reconnecting == 20
    assert ENTRACTION.timing.draw == 24  # K 10.9.5
    assert LIVE.artificial_all_in == "none"


def test_a_round_has_a_bet_and_three_raises_at_fixed_limit() -> None:
    for rulebook in (ENTRACTION, EMPIRE):
        assert rulebook.limits.fixed != "none"
        assert rulebook.limits.fixed.bets_per_round == 4  # K 10.2.2, E
        assert rulebook.limits.fixed.big_blind_is_first_bet


@pytest.mark.parametrize(
    ("rulebook", "offered"),
    [
        (ENTRACTION, ["NL", "PL", "HPL", "FL", "SL"]),  # K 10.2
        (GAMEVELVET, ["NL"]),
        (LIVE, ["NL"]),
        (EMPIRE, ["FL"]),
        (AS_POSTED, ["NL", "PL", "HPL", "FL", "SL"]),
    ],
    ids=lambda value: value.name if isinstance(value, Rulebook) else "",
)
def test_each_operator_offers_the_limits_of_its_source(
    rulebook: Rulebook, offered: list[str]
) -> None:
    every = ("NL", "PL", "HPL", "FL", "SL", "XL")
    assert [bet_type for bet_type in every if rulebook.limits.offers(bet_type)] == offered


def test_the_jackpot_pays_as_d_says_and_lives_on_the_rake() -> None:
    jackpot = ENTRACTION.jackpot
    assert not isinstance(jackpot, str)
    assert jackpot.contribution == ShareOfRake(share_bps=1000)
    assert (jackpot.loser_bps, jackpot.winner_bps, jackpot.dealt_in_bps) == (4000, 2000, 2000)
    least = {game: (hand.ranks, hand.hole_cards) for game, hand in jackpot.qualifying.items()}
    assert least == {
        "Holdem": ("QQQQ", "both"),
        "Omaha": ("T9876", "any"),
        "OmahaHiLo": ("T9876", "any"),
        "Soko": ("KKK22", "any"),
        "Stud": ("5432A", "any"),
        "StudHiLo": ("5432A", "any"),
    }


def test_protests_end_as_each_source_says() -> None:
    assert ENTRACTION.protests != "none"
    assert ENTRACTION.protests.window == DaysWindow(days=30, zone="Europe/Malta")  # K 6.1
    assert GAMEVELVET.protests != "none"
    assert GAMEVELVET.protests.window == NextHandWindow()  # G
    assert GAMEVELVET.protests.channels == ("auditing-tool",)
    assert LIVE.protests == "none"  # L


def test_credits_are_given_and_reloaded_as_g_says() -> None:
    given = GAMEVELVET.credits
    assert given != "none"
    assert (given.full_member_minor, given.day_pass_minor) == (1000, 500)
    reload = given.reload
    assert (reload.below_minor, reload.adds_minor) == (50, 150)
    assert (reload.after_hours, reload.per_day) == (2, 2)


@pytest.mark.parametrize(
    ("rulebook", "currencies"),
    [
        (ENTRACTION, ["EUR", "XPM"]),  # K 4.1, K 10.1.8
        (GAMEVELVET, ["XCR"]),
        (AS_POSTED, ["EUR", "USD", "XPM", "XCR"]),
    ],
    ids=lambda value: value.name if isinstance(value, Rulebook) else "",
)
def test_each_operator_keeps_its_own_currencies(rulebook: Rulebook, currencies: list[str]) -> None:
    every = ("EUR", "USD", "XPM", "XCR")
    assert [currency for currency in every if rulebook.allows_currency(currency)] == currencies


def test_imported_hands_are_taken_as_posted_where_the_site_decides() -> None:
    taken = (AS_POSTED.rake, AS_POSTED.jackpot, AS_POSTED.bring_in, AS_POSTED.blinds)
    assert set(taken) == {"as-posted"}
    assert AS_POSTED.all_in.unmatched_blind == "as-posted"


@pytest.mark.parametrize(
    ("action", "amount_minor", "needed"),
    [
        ("resync-table", 0, False),
        ("resync-table", -1, True),
        ("close-period", 0, True),
        ("release-withdrawal", 199_999, False),
        ("release-withdrawal", 200_000, True),
        ("open-table", 10**9, False),
    ],
)
def test_a_second_person_is_needed_from_the_threshold_on(
    action: str, amount_minor: int, needed: bool
) -> None:
    assert ENTRACTION.approvals != "none"
    assert ENTRACTION.approvals.needed(action, amount_minor) is needed
