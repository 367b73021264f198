"""Draw games: what is thrown away and drawn, reshuffled decks, and stud's shared seventh card."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.ledger.hands.posts import a_post
from tests.ledger.hands.showdowns import a_showdown, found, winners

ALICE, BOB = "AhAd2c3c9d", "KhKdQcJc8c"
DRAWS = ("First Draw", "Second Draw", "Third Draw")


def a_draw(
    *draws: str,
    hands: Mapping[str, str] | None = None,
    shown: str = "",
    winner: str = "alice",
    game: str = "FiveCardDraw",
) -> dict[str, Any]:
    """Play a draw game: each of ``draws`` is what happens on that street before everyone checks."""
    own = hands or {"alice": ALICE, "bob": BOB}
    checks = ", ".join(f"{name} check" for name in own)
    deal = ", ".join([f"{name} ante 4" for name in own])
    deal += "".join(f", {name} deal {cards}" for name, cards in own.items() if cards)
    rounds = [("Deal", f"{deal}, {checks}")]
    rounds += [(street, f"{said}, {checks}") for street, said in zip(DRAWS, draws, strict=False)]
    if shown:
        rounds.append(("Showdown", shown))
    pot = f"{4 * len(own)}.00"
    return a_post(
        rounds, [(pot, {winner: pot})], dict.fromkeys(own, "50"),
        game_type=game, returned={},
    )  # fmt: skip


STAND = "bob stand-pat"


@pytest.mark.parametrize(
    ("says", "draw", "shown", "expected"),
    [
        ("K 10.9.5 draws none", f"alice stand-pat, {STAND}", "", []),
        ("draws two", f"alice discard 2c3c, alice deal 4c5c, {STAND}", "", []),
        ("draws five", f"alice discard {ALICE}, alice deal AcAsTd9h9s, {STAND}", "", []),
        ("both throw before they get cards",
         "alice discard 2c3c, bob discard 8c, alice deal 4c5c, bob deal 7c", "", []),
        ("shows what is in the hand", f"alice discard 2c3c, alice deal 4c5c, {STAND}",
         "alice show AhAd9d4c5c, bob show KhKdQcJc8c", []),
        ("shows what was thrown away", f"alice discard 2c3c, alice deal 4c5c, {STAND}",
         "alice show AhAd9d4c2c", ["wrong-card-count"]),
        ("gets fewer than thrown away", f"alice discard 2c3c, alice deal 4c, {STAND}", "",
         ["wrong-card-count"]),
        ("gets more than thrown away", f"alice discard 2c3c, alice deal 4c5c6c, {STAND}", "",
         ["wrong-card-count"]),
        ("throws away six", f"alice discard {ALICE}7h, {STAND}", "", ["wrong-card-count"]),
        ("throws away what was not in the hand", f"alice discard 7h, alice deal 4c, {STAND}", "",
         ["wrong-card-count"]),
        ("says that six were thrown away", f"alice discard #6, {STAND}", "", ["wrong-card-count"]),
        ("gets a card of bob's", f"alice discard 2c, alice deal Kh, {STAND}", "",
         ["duplicate-card"]),
        ("gets the card back", f"alice discard 2c, alice deal 2c, {STAND}", "",
         ["duplicate-card"]),
        ("gets what the other threw away",
         "alice discard 2c, alice deal 7h, bob discard 8c, bob deal 2c", "", ["duplicate-card"]),
        ("throws away a card of no deck", f"alice discard 2x, alice deal 4c, {STAND}", "",
         ["card-not-in-deck"]),
    ],
)  # fmt: skip
def test_a_player_throws_away_none_to_five_cards_and_gets_as_many(
    says: str, draw: str, shown: str, expected: list[str]
) -> None:
    assert found(a_draw(draw, shown=shown)) == expected, says


@pytest.mark.parametrize(
    ("says", "draw", "shown", "expected"),
    [
        ("only how many, and then shown", "alice discard #2, bob stand-pat",
         "alice show AhAd9d4c5c, bob show KhKdQcJc8c", []),
        ("only how many, never shown", f"alice discard #2, {STAND}", "", ["cards-unknown"]),
        ("which cards came", f"alice discard #2, alice deal 4c5c, {STAND}",
         "alice show AhAd9d4c5c", []),
        ("nothing of the draw", "", "alice show AhAd9d4c5c, bob show KhKdQcJc8c", []),
        ("nothing of the draw, and no showdown", "", "", ["cards-unknown"]),
        ("only what came", f"alice deal 4c5c, {STAND}", "alice show AhAd9d4c5c", []),
        ("a stand is a known hand", f"alice stand-pat, {STAND}", "", []),
        ("a shown card was thrown away by bob",
         "alice discard #2, bob discard 8c, bob deal 7c", "alice show AhAd9d4c8c",
         ["duplicate-card"]),
        ("a shown card is bob's", f"alice discard #2, {STAND}", "alice show AhAd9d4cKh",
         ["duplicate-card"]),
    ],
)  # fmt: skip
def test_what_a_post_does_not_say_of_a_draw_is_not_known(
    says: str, draw: str, shown: str, expected: list[str]
) -> None:
    assert found(a_draw(draw, shown=shown)) == expected, says


def test_a_discard_without_cards_and_count_says_nothing() -> None:
    post = a_draw(f"alice discard #2, {STAND}", shown="alice show AhAd9d4c5c, bob show KhKdQcJc8c")
    del post["ohh"]["rounds"][1]["actions"][0]["x_count"]
    assert found(post) == []


def test_the_hand_after_the_draw_wins() -> None:
    draw = "alice discard AhAd, alice deal 7h6h, bob stand-pat"
    assert found(a_draw(draw)) == ["wrong-pot-winner"]
    assert winners(a_draw(draw)) == ["bob 8.00"]


def test_who_has_folded_draws_no_cards() -> None:
    post = a_draw("bob stand-pat")
    post["ohh"]["rounds"][0]["actions"].append({"player_id": 1, "action": "Fold"})
    post["ohh"]["pots"][0]["player_wins"][0]["player_id"] = 2
    assert found(post) == []
    drawn = a_draw(f"alice discard 2c, alice deal 4c, {STAND}")["ohh"]["rounds"][1]["actions"]
    post["ohh"]["rounds"][1]["actions"] = drawn[:3]
    assert found(post) == ["wrong-card-count"]


def test_a_second_draw_in_a_game_of_one_is_too_much() -> None:
    post = a_draw(f"alice stand-pat, {STAND}")
    again = a_draw(f"alice discard 2c, alice deal 4c, {STAND}")["ohh"]["rounds"][1]
    post["ohh"]["rounds"].append(again)
    assert "wrong-card-count" in found(post)


# -- when the deck runs short (K 10.9.8, K 10.10.9) ----------------------------------------------

PACK = [rank + suit for rank in "AKQJT98765432" for suit in "shdc"]
SIX = ("alice", "bob", "carol", "dave", "erin", "frank")


def six_hands() -> dict[str, str]:
    """Deal thirty cards to six players: the ace of spades to the ten of hearts … and so on."""
    return {name: "".join(PACK[5 * n : 5 * n + 5]) for n, name in enumerate(SIX)}


def six_draw(thrown: Sequence[int], last: str) -> str:
    """Let the six throw away so many cards and draw in turn; the last one draws ``last``."""
    hands, pack = six_hands(), PACK[30:]
    said = []
    for name, count in zip(SIX, thrown, strict=True):
        cards = hands[name][: 2 * count]
        if name == "frank":
            drawn = last
        else:
            drawn = "".join(pack[:count])
            pack = pack[count:]
        said += (
            [f"{name} discard {cards}", f"{name} deal {drawn}"] if count else [f"{name} stand-pat"]
        )
    return ", ".join(said)


LEFT = "".join(PACK[50:])
"""The two cards that five players leave who throw away four each: 52 - 30 - 20."""


@pytest.mark.parametrize(
    ("says", "thrown", "last", "expected"),
    [
        ("two are left and enough", (4, 4, 4, 4, 4, 2), LEFT, []),
        ("three are needed: one of alice's", (4, 4, 4, 4, 4, 3), LEFT + "As", []),
        ("all from what others threw away", (4, 4, 4, 4, 4, 3), "AsKhQs", []),
        ("his own never", (4, 4, 4, 4, 4, 3), LEFT + PACK[25], ["duplicate-card"]),
        ("nobody's who holds it", (4, 4, 4, 4, 4, 3), LEFT + PACK[4], ["duplicate-card"]),
        ("while the deck lasts no card comes back", (4, 4, 4, 4, 4, 2), PACK[50] + "As",
         ["duplicate-card"]),
        ("not one of those drawn since", (4, 4, 4, 4, 4, 3), LEFT + PACK[30], ["duplicate-card"]),
    ],
)  # fmt: skip
def test_what_was_thrown_away_comes_back_when_the_deck_runs_short(
    says: str, thrown: Sequence[int], last: str, expected: list[str]
) -> None:
    post = a_draw(six_draw(thrown, last), hands=six_hands())
    assert [code for code in found(post) if code != "wrong-pot-winner"] == expected, says


def test_folded_hands_are_shuffled_again_too() -> None:
    draw = six_draw((0, 4, 4, 4, 4, 5), "".join(PACK[46:50]) + "As")
    post = a_draw(draw, hands=six_hands(), winner="bob")
    codes = [code for code in found(post) if code != "wrong-pot-winner"]
    assert codes == ["duplicate-card"]
    # alice has folded, and frank needs more than the six cards that are left
    first = post["ohh"]["rounds"][0]["actions"]
    first.append({"player_id": 1, "action": "Fold"})
    draw = six_draw((0, 5, 5, 4, 4, 5), "".join(PACK[48:52]) + "As")
    post["ohh"]["rounds"][1]["actions"] = [
        one
        for one in a_draw(draw, hands=six_hands())["ohh"]["rounds"][1]["actions"]
        if one["player_id"] != 1
    ]
    codes = [code for code in found(post) if code != "wrong-pot-winner"]
    assert codes == []


def test_in_a_later_draw_a_player_may_get_back_what_he_threw_away_before() -> None:
    """K 10.10.9: only the discards of that draw stay away from him."""
    hands = six_hands()
    first = six_draw((4, 4, 4, 4, 4, 2), LEFT)
    second = ", ".join([
        f"alice discard {PACK[30]}, alice deal {{}}",
        *[f"{name} stand-pat" for name in SIX[1:]],
    ])  # fmt: skip
    third = ", ".join(f"{name} stand-pat" for name in SIX)
    for back, expected in ((PACK[0], []), (PACK[30], ["duplicate-card"])):
        post = a_draw(first, second.format(back), third, hands=hands, game="TripleDraw27")
        codes = [code for code in found(post) if code != "wrong-pot-winner"]
        assert codes == expected


# -- stud's shared seventh card (K 10.7.7, K 10.8.7) ---------------------------------------------


def stud(players: int, seventh: str, game: str = "Stud") -> dict[str, Any]:
    """Deal six cards each; the seventh is ``seventh`` on the board, or everyone's own."""
    names = (*SIX, "gina", "hal")[:players]
    hands = {name: "".join(PACK[6 * n : 6 * n + 6]) for n, name in enumerate(names)}
    pot = f"{4 * players}.00"
    post = a_showdown(game, hands, [(pot, {"alice": pot})], table_size=8)
    post["ohh"]["rounds"][4]["cards"] = [seventh]
    return post


def test_eight_players_share_the_seventh_card_when_the_deck_runs_out() -> None:
    """Forty-eight cards are dealt and four left; alice has A-A-A-A-K-K."""
    assert found(stud(8, PACK[48])) == []
    assert found(stud(8, PACK[0])) == ["duplicate-card"]


def test_seven_players_have_a_seventh_card_each() -> None:
    assert found(stud(7, PACK[48])) == ["wrong-card-count"]


def test_a_shared_card_counts_for_all_in_both_halves() -> None:
    post = stud(8, PACK[48], "StudHiLo")
    assert winners(post) == ["alice 32.00"]


def test_who_has_a_shared_seventh_card_gets_none_of_his_own() -> None:
    post = stud(8, PACK[48])
    more = {"action": "Dealt Cards", "player_id": 1, "cards": [PACK[49]]}
    post["ohh"]["rounds"][4]["actions"].insert(0, more)
    assert found(post) == ["wrong-card-count"]
