"""The games as RULES 4 lists them, and that every rulebook's games can be played."""

import pytest

from ledger import rulebooks
from ledger.hands.games import GAMES, GamePlay, play_of
from tests.ledger.hands.posts import a_flop, read

BOARD = "Flop 3 board, Turn 1 board, River 1 board"
SEVEN = (
    "Third Street 2 down 1 up, Fourth Street 1 up, Fifth Street 1 up, Sixth Street 1 up, "
    "Seventh Street 1 down"
)
FIVE = "Second Street 1 down 1 up, Third Street 1 up, Fourth Street 1 up, Fifth Street 1 up"
DRAWS = "First Draw draw, Second Draw draw, Third Draw draw"

# game, source, what is dealt, high, low, which cards make a hand
RULES = [
    ("Holdem", "K 10.3.4", f"Preflop 2 down, {BOARD}", "ordinary", None, "any-five"),
    ("Omaha", "K 10.4.4", f"Preflop 4 down, {BOARD}", "ordinary", None, "two-and-three"),
    ("OmahaHiLo", "K 10.5.6", f"Preflop 4 down, {BOARD}", "ordinary", "eight-or-better",
     "two-and-three"),
    ("Soko", "K 10.6.7", FIVE, "soko", None, "any-five"),
    ("Stud", "K 10.7.3", SEVEN, "ordinary", None, "any-five"),
    ("StudHiLo", "K 10.8.6", SEVEN, "ordinary", "eight-or-better", "any-five"),
    ("FiveCardDraw", "K 10.9", "Deal 5 down, First Draw draw", "ordinary", None, "any-five"),
    ("TripleDraw27", "K 10.10", f"Deal 5 down, {DRAWS}", "deuce-to-seven", None, "any-five"),
    ("Telesina", "K 10.11.5", f"{FIVE}, Vela 1 board", "telesina", None, "any-five"),
    ("Americana", "K 10.12.7", FIVE, "americana", None, "any-five"),
]  # fmt: skip


def dealt(play: GamePlay) -> str:
    """Write down what a game deals, street by street."""
    return ", ".join(
        " ".join(
            [
                street.name,
                *[
                    f"{count} {how}"
                    for how, count in (
                        ("down", street.down), ("up", street.up), ("board", street.board),
                    )
                    if count
                ],
                *(["draw"] if street.draw else []),
            ]
        )
        for street in play.streets
    )  # fmt: skip


@pytest.mark.parametrize(
    ("game", "streets", "high", "low", "uses"),
    [(game, *rest) for game, _, *rest in RULES],
    ids=[f"{case[0]} {case[1]}" for case in RULES],
)
def test_a_game_is_dealt_and_won_by_its_rules(
    game: str, streets: str, high: str, low: str | None, uses: str
) -> None:
    play = GAMES[game]
    assert (dealt(play), play.high, play.low, play.uses) == (streets, high, low, uses)


def test_the_table_of_games_is_complete() -> None:
    assert set(GAMES) == {case[0] for case in RULES}
    assert {game for rulebook in rulebooks.shipped() for game in rulebook.games} <= set(GAMES)


@pytest.mark.parametrize(("said", "own"), [(None, 4), (4, 4), (5, 5), (6, 4)])
def test_omaha_may_have_five_hole_cards(said: int | None, own: int) -> None:
    play = play_of(read(a_flop(x_hole_cards=said)))
    assert play is not None
    assert (play.own, play.board) == (own, 5)


def test_no_other_game_has_five_hole_cards() -> None:
    play = play_of(read(a_flop(game_type="Holdem", x_hole_cards=5)))
    assert play is GAMES["Holdem"]
