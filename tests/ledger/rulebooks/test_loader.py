"""A rulebook that is unknown, incomplete or contradictory is an error with file and key."""

from datetime import date

import pytest

from ledger.rulebooks import RulebookError, parse, text_of
from ledger.rulebooks.loader import read

ENTRACTION = text_of("entraction", date(2013, 1, 1))
GAMEVELVET = text_of("gamevelvet", date(2000, 1, 1))
EMPIRE = text_of("empire", date(2000, 1, 1))
AS_POSTED = text_of("as-posted", date(2000, 1, 1))


def edited(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text, f"{old!r} is not in the rulebook any more"
        text = text.replace(old, new, 1)
    return text


def key_at_fault(text: str) -> str:
    with pytest.raises(RulebookError) as caught:
        parse(text, "edited.toml")
    assert caught.value.file == "edited.toml"
    assert str(caught.value).startswith("edited.toml: ")
    assert caught.value.key in str(caught.value)
    return caught.value.key


def test_the_same_text_is_read_once() -> None:
    assert parse(ENTRACTION, "one.toml") is parse(ENTRACTION, "one.toml")


def test_text_that_is_no_toml_names_the_file() -> None:
    assert key_at_fault("name = ") == ""
    assert key_at_fault("name = " + "[" * 100_000) == ""


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('title = "Entraction network"\n', "title"),
        ('credits = "none"                     # no virtual', "credits"),
        ("times_ante = 2\n", "bring_in.times_ante"),
        ('Telesina = "Third Street"', "rake.raked_after.Telesina"),
        ('wrong-rake = "flag"\n', "findings.wrong-rake"),
        ('malformed = "refuse"\n', "findings.malformed"),
        ('lower_limit = "0.25"\n', "tables.buy_ins[0].lower_limit"),
    ],
)
def test_a_missing_key_is_named(line: str, key: str) -> None:
    assert key_at_fault(edited(ENTRACTION, (line, "#"))) == key


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("revision = 1\n", "revision = 1\nbonus = 3\n", "bonus"),
        ("times_ante = 2\n", "times_ante = 2\ntimes = 2\n", "bring_in.times"),
        (", share_bps = 1000 }", " }", "jackpot.contribution.share_bps"),
        ("[games.Omaha]", "[games.Badugi]", "games.Badugi"),
        ('wrong-rake = "flag"', 'wrong-rake = "ignore"', "findings.wrong-rake"),
        ('wrong-rake = "flag"', 'wrong-rakes = "flag"', "findings.wrong-rakes"),
        ('Soko = "Third Street"', 'Soko = "Third"', "rake.raked_after.Soko"),
        ('ranks = "KKK22"', "ranks = 3", "jackpot.qualifying.Soko.ranks"),
        ('rule = "matched"', 'rule = "table-stakes"', "all_in.rule"),
    ],
)
def test_what_nobody_knows_is_named(old: str, new: str, key: str) -> None:
    assert key_at_fault(edited(ENTRACTION, (old, new))) == key


@pytest.mark.parametrize(
    "amount", ["0.75", '"0.755"', '"-0.75"', '"NaN"', '"1e2"', '"99999999999999.99"', "3", "true"]
)
def test_an_amount_is_a_decimal_string_of_the_currency(amount: str) -> None:
    text = edited(ENTRACTION, ('cap = "0.75"', f"cap = {amount}"))
    assert key_at_fault(text) == "rake.bands[0].caps[0].cap"


@pytest.mark.parametrize("currency", ['"none"', '"EURO"', "7"])
def test_amounts_need_a_currency(currency: str) -> None:
    text = edited(ENTRACTION, ('amounts_in = "EUR"', f"amounts_in = {currency}"))
    assert key_at_fault(text) == "amounts_in"


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('name = "entraction"', 'name = "Entraction"', "name"),
        ("revision = 1", "revision = 0", "revision"),
        ('["EUR", "XPM"]', '["EUR", "XYZ"]', "currencies"),
        ('["EUR", "XPM"]', '["XPM"]', "amounts_in"),
        ('["EUR", "XPM"]', '["EUR", "USD"]', "currencies"),
        ('["EUR", "XPM"]', '"any"', "currencies"),
        ('add_to_pot_paid_by = "none"', 'add_to_pot_paid_by = "house"', "add_to_pot_paid_by"),
        ('wrong-starting-stack = "refuse"', 'wrong-starting-stack = "flag"',
         "findings.wrong-starting-stack"),
        ('unknown-game = "refuse"', 'unknown-game = "off"', "findings.unknown-game"),
        ('name = "entraction"', 'name = "entraction-é"', "name"),
        ("revision = 1", "revision = 10001", "revision"),
        ("players_from = 6, players_to = 10, cap", "players_from = 6, players_to = 27, cap",
         "rake.bands[0].caps"),
        ("max_players = 10", "max_players = 27", "games.Holdem.max_players"),
        ("max_players = 10", "max_players = 1", "games.Holdem.max_players"),
        ("max_players = 10", "max_players = 11", "games.Holdem.decks"),
        ('suits = ["h", "d", "c", "s"]', 'suits = ["h", "d", "c", "c"]',
         "games.Telesina.bring_in_by.suits"),
        ('acts_first = "bring-in"', 'acts_first = "left-of-dealer"', "games.Soko.acts_first"),
        ("percent_of_pot = 100", "percent_of_pot = 0", "limits.PL.percent_of_pot"),
        ("bets_per_round = 4", "bets_per_round = 0", "limits.FL.bets_per_round"),
        ("cap_times_limit = 3", "cap_times_limit = 0", "limits.SL.cap_times_limit"),
        ("per_24_hours = 2", "per_24_hours = 0", "artificial_all_in.per_24_hours"),
        ('maximum = "none"', 'maximum = "2.99"', "tables.buy_ins[0].minimum"),
        ('lower_limit = "1.00"', 'lower_limit = "0.25"', "tables.buy_ins[1].lower_limit"),
        ('["NL", "PL"]', '["FL"]', "tables.buy_ins[0].maximum"),
        ('currency = "EUR"', 'currency = "USD"', "rake.currency"),
        ("players_to = 3, cap", "players_to = 4, cap", "rake.bands[0].caps"),
        ("players_to = 3, cap", "players_to = 2, cap", "rake.bands[0].caps"),
        ("players_from = 6, players_to = 10, cap", "players_from = 6, players_to = 9, cap",
         "rake.bands[0].caps"),
        ('lower_limit_from = "1.00"', 'lower_limit_from = "0.00"',
         "rake.bands[2].lower_limit_from"),
        ('lower_limit_from = "2.00"', 'lower_limit_from = "0.50"',
         "rake.bands[3].lower_limit_from"),
        ('limits = ["NL", "PL", "HPL"]\nlower', 'limits = ["NL", "PL"]\nlower', "rake.bands"),
        ('pots_from = "2.00"', 'pots_from = "0.00"', "rake.bands[0].charges"),
        ('pots_from = "0.00"', 'pots_from = "0.20"', "rake.bands[0].charges"),
        ('per_full = "0.20"', 'per_full = "0.00"', "rake.bands[0].charges"),
        ('charge = "0.01"', 'charge = "0.21"', "rake.bands[0].charges"),
        ("loser_bps = 4000", "loser_bps = 6001", "jackpot.loser_bps"),
        ("loser_bps = 4000", "loser_bps = -1", "jackpot.loser_bps"),
        ("share_bps = 1000", "share_bps = 10001", "jackpot.contribution.share_bps"),
        ('excluded_games = ["TripleDraw27"]', 'excluded_games = ["Soko"]',
         "jackpot.qualifying.Soko"),
        ('ranks = "QQQQ"', 'ranks = "QQQ1"', "jackpot.qualifying.Holdem.ranks"),
        ('ranks = "QQQQ"', 'ranks = "QQQ"', "jackpot.qualifying.Holdem.ranks"),
        ('ranks = "QQQQ"', 'ranks = "QQQQA"', "jackpot.qualifying.Holdem.ranks"),
        ('ranks = "KKK22"', 'ranks = "22KKK"', "jackpot.qualifying.Soko.ranks"),
        ('ranks = "KKK22"', 'ranks = "KKKKK"', "jackpot.qualifying.Soko.ranks"),
        ('Stud = { hand = "straight-flush", ranks = "5432A"',
         'Stud = { hand = "straight-flush", ranks = "A2345"', "jackpot.qualifying.Stud.ranks"),
        ('Stud = { hand = "straight-flush", ranks = "5432A"',
         'Stud = { hand = "straight-flush", ranks = "T987A"', "jackpot.qualifying.Stud.ranks"),
        ('ranks = "KKK22", hole_cards = "any"', 'ranks = "KKK22", hole_cards = "both"',
         "jackpot.qualifying.Soko.hole_cards"),
        ("restart_minutes = 20", 'restart_minutes = "none"', "tournaments.clean_up"),
        ("draw = 24", "draw = 0", "timing.draw"),
        ("days = 30", "days = 0", "protests.window.days"),
        ("Europe/Malta", "Europe/Valletta", "protests.window.zone"),
        ("buy_in_bps = 900", "buy_in_bps = 10900", "tournaments.without_entry_fee.buy_in_bps"),
        ('action = "reopen-period"', 'action = "close-period"', "approvals.thresholds"),
    ],
)  # fmt: skip
def test_a_contradiction_is_named(old: str, new: str, key: str) -> None:
    assert key_at_fault(edited(ENTRACTION, (old, new))) == key


@pytest.mark.parametrize(
    ("text", "changes", "key"),
    [
        (EMPIRE, [("bets_per_round", "bets")], "limits.FL.bets"),
        (EMPIRE, [('limits = ["FL"]', 'limits = ["NL"]')], "artificial_all_in.limits"),
        (EMPIRE, [("buy_ins = []", 'buy_ins = [{ games = ["Soko"], limits = ["FL"], '
                   'lower_limit = "1.00", minimum = "5.00", maximum = "none" }]')],
         "tables.buy_ins[0].games"),
        (EMPIRE, [("buy_ins = []", 'buy_ins = [{ games = ["Holdem"], limits = ["NL"], '
                   'lower_limit = "1.00", minimum = "5.00", maximum = "9.00" }]')],
         "tables.buy_ins[0].limits"),
        (GAMEVELVET, [("Europe/Malta", "Malta/Europe")], "credits.reload.zone"),
        (GAMEVELVET, [('["XCR"]', '["EUR"]'), ('amounts_in = "XCR"', 'amounts_in = "EUR"')],
         "credits"),
        (GAMEVELVET, [('forced_bets = "ante"', 'forced_bets = "blinds"')],
         "games.FiveCardDraw.forced_bets"),
        (GAMEVELVET, [("players_from = 7, players_to = 7", "players_from = 8, players_to = 7")],
         "games.FiveCardDraw.decks"),
        (AS_POSTED, [("[games.Holdem]", "[games.Holdem]\nacts = 1")], "games.Holdem.acts"),
        (AS_POSTED, [('bring_in = "as-posted"', 'bring_in = "none"')], "games.Soko.bring_in_by"),
        (AS_POSTED, [('acts_first = "left-of-big-blind"', 'acts_first = "bring-in"')],
         "games.Holdem.acts_first"),
    ],
)  # fmt: skip
def test_a_contradiction_between_parts_is_named(
    text: str, changes: list[tuple[str, str]], key: str
) -> None:
    assert key_at_fault(edited(text, *changes)) == key


SHARE = 'contribution = { kind = "share-of-rake", share_bps = 1000 }'
DROP = 'contribution = {{ kind = "fixed-drop", pots_from = "{}", drop = "0.50" }}'


def test_a_fixed_drop_is_part_of_the_pots_that_pay_it() -> None:
    assert parse(edited(ENTRACTION, (SHARE, DROP.format("0.50"))), "drop.toml").jackpot != "none"
    smaller = edited(ENTRACTION, (SHARE, DROP.format("0.49")))
    assert key_at_fault(smaller) == "jackpot.contribution.drop"


@pytest.mark.parametrize("contribution", [SHARE, DROP.format("0.50")])
def test_a_jackpot_lives_on_raked_pots(contribution: str) -> None:
    before, rake_and_after = ENTRACTION.split("[rake] ")
    after = rake_and_after[rake_and_after.index("[jackpot]") :]
    text = edited(before + after, ("revision = 1\n", 'revision = 1\nrake = "none"\n'))
    assert key_at_fault(edited(text, (SHARE, contribution))) == "jackpot.contribution"


def test_a_game_without_bands_at_low_stakes_is_named() -> None:
    text = edited(ENTRACTION, ('lower_limit_from = "0.00"', 'lower_limit_from = "0.02"'))
    assert key_at_fault(text) == "rake.bands[0].lower_limit_from"


@pytest.mark.parametrize("file", ["entraction-2013-01-02.toml", "kerching-2013-01-01.toml"])
def test_a_file_is_named_after_the_version_in_it(file: str) -> None:
    with pytest.raises(RulebookError) as caught:
        read([(file, ENTRACTION)])
    assert (caught.value.file, caught.value.key) == (file, "name")


def test_a_game_in_which_the_lowest_hand_wins_has_no_bad_beat() -> None:
    text = edited(
        ENTRACTION,
        ('excluded_games = ["TripleDraw27"]', "excluded_games = []"),
        ('Soko = { hand = "full-house"', 'TripleDraw27 = { hand = "full-house"'),
    )
    assert key_at_fault(text) == "jackpot.qualifying.TripleDraw27"
