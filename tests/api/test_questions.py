"""What the bench asks an auditor's way: each question is answered, about what is on the books."""

from random import Random

import psycopg
import pytest

from ops.bench.questions import KINDS, Kind, Subjects, subjects
from tests.api.conftest import Room
from tests.api.test_books import game_of, played

__all__ = ["played"]


@pytest.fixture
def about(played: Room) -> Subjects:
    """Draw what is asked about from the room's book."""
    with psycopg.connect(played.dsn, autocommit=True) as connection:
        return subjects(connection, Random(1))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_question_of_the_bench_is_answered(played: Room, about: Subjects, kind: Kind) -> None:
    rng = Random(2)
    headers = {"Authorization": f"Bearer {played.token('auditor')}"}
    asked = {kind.ask(rng, about) for _ in range(300)}
    assert {variant for variant, _ in asked} == set(kind.variants)
    for _, path in asked:
        answer = played.http.get(path, headers=headers)
        assert answer.status_code == 200, (path, answer.text)


def test_questions_are_about_the_whole_of_the_book(played: Room, about: Subjects) -> None:
    # The hands were played long before the deposits of this test were made.
    started = game_of(played).hand()["ohh"]["start_date_utc"]
    assert about.first_at.isoformat()[:4] == started[:4]
    assert about.first_at < about.last_at
    assert set(game_of(played).players) <= set(about.players)
