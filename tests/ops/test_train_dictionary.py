"""The hands that dictionaries are trained on; they are also a second opinion on the judge."""

from itertools import groupby

from ledger.hands import record
from ledger.hands.judge import judge
from ops import train_dictionary
from tests.ledger.hands.posts import rules


def test_hands_of_every_kind_of_table_are_trained_on_and_judged_right() -> None:
    rulebook = rules()
    games = set()
    for game, hands in groupby(train_dictionary.hands(7, per_table=40), lambda hand: hand.game):
        games.add(game)
        for hand in hands:
            assert list(judge(hand, rulebook).findings) == [], hand.game_number
    assert games == {limits.game for limits in train_dictionary.STAKES}


def test_a_trained_record_is_small() -> None:
    sizes = [
        len(record.pack(record.encode(hand))) for hand in train_dictionary.hands(8, per_table=10)
    ]
    assert sum(sizes) / len(sizes) < 400
