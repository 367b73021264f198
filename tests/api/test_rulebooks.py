"""Rulebooks over HTTP, and what the process does with the shipped ones when it starts."""

import asyncio
import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest

from api.app import create_app
from api.rulebooks import Adopted, RulebookAnswer, RulebooksAnswer, StartupError
from api.settings import EdgeSettings
from ledger.journal import Journal, Submission
from ledger.rulebooks import parse, shipped, shipped_texts
from ledger.rulebooks.commands import AdoptRulebook
from tests.api.conftest import IDENTITY_KEY, JWT_KEY, Room, refused


def test_the_shipped_rulebooks_are_adopted_at_the_start(room: Room) -> None:
    answer = room.get("/v1/rulebooks", role="partner", partner="kerching")
    found = RulebooksAnswer.model_validate(answer.json())
    assert found.rulebooks == sorted({rulebook.name for rulebook in shipped()})


def test_a_version_is_read_back_byte_for_byte(room: Room) -> None:
    answer = RulebookAnswer.model_validate(
        room.get("/v1/rulebooks/entraction", role="game-server").json()
    )
    texts = dict(shipped_texts())
    for version in answer.versions:
        text = room.get(
            f"/v1/rulebooks/entraction/{version.sha256}/text", role="game-server"
        ).content
        assert hashlib.sha256(text).hexdigest() == version.sha256
        assert text.decode() == texts[version.file]
    unknown = room.get(f"/v1/rulebooks/entraction/{'0' * 64}/text", role="game-server")
    refused(unknown, 404, "unknown-rulebook")
    refused(room.get("/v1/rulebooks/unheard-of", role="auditor"), 404, "unknown-rulebook")


def test_a_new_version_is_adopted_and_an_adopted_one_changes_nothing(room: Room) -> None:
    file, text = shipped_texts()[0]
    rulebook = parse(text, file)
    same = room.post("/v1/rulebooks", {"text": text, "file": file}, role="operator")
    assert Adopted.model_validate(same.json()).already_adopted
    later = text.replace(str(rulebook.valid_from), "2030-01-01")
    answer = room.post("/v1/rulebooks", {"text": later, "file": "2030.toml"}, role="operator")
    assert answer.status_code == 201
    assert answer.json()["rulebook"] == f"{rulebook.name}@2030-01-01"
    other = later.replace("title", "# another text\ntitle", 1)
    answer = room.post("/v1/rulebooks", {"text": other, "file": "2030.toml"}, role="operator")
    refused(answer, 409, "different-rulebook", field="text")


@pytest.mark.parametrize("text", ["", "not toml at all [", 'name = "half"'])
def test_a_text_that_is_no_rulebook_is_refused_with_file_and_key(room: Room, text: str) -> None:
    body = {"text": text, "file": "broken.toml"}
    problem = refused(
        room.post("/v1/rulebooks", body, role="operator"),
        422,
        "invalid-rulebook" if text else "invalid-value",
        field="text",
    )
    if text:
        assert problem["file"] == "broken.toml"


def start(dsn: str) -> None:
    """Start the application as a server would, and stop it again."""
    settings = EdgeSettings(database_url=dsn, identity_key=IDENTITY_KEY, jwt_key=JWT_KEY)
    app = create_app(settings)

    async def begin_and_end() -> None:
        async with app.router.lifespan_context(app):
            pass

    asyncio.run(begin_and_end())


def test_starting_again_adopts_nothing_again(dsn: str) -> None:
    def adopted() -> Any:
        journal = Journal(dsn, writer="test")
        try:
            state, version = journal.ledger.load("rulebook:entraction:entraction")
        finally:
            journal.close()
        return state, version

    start(dsn)
    first = adopted()
    start(dsn)
    assert adopted() == first


def test_a_shipped_text_that_changed_after_it_was_adopted_keeps_the_process_from_starting(
    dsn: str,
) -> None:
    file, text = shipped_texts()[0]
    changed = AdoptRulebook(
        network="entraction",
        at=datetime.now(UTC),
        actor="somebody",
        request_id="by-hand",
        text=text + "\n# changed\n",
        file=file,
    )
    journal = Journal(dsn, writer="test")
    journal.execute([Submission(changed, "test")])
    journal.close()
    with pytest.raises(StartupError, match=file):
        start(dsn)
