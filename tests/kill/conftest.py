"""Running rooms to be killed: what is started here is stopped when its tests are over."""

import os
import secrets
import sys
from collections.abc import Callable, Iterator
from random import Random

import pytest

from ops.embedded import APPLICATION
from ops.serving import Serving, temporary_folder
from tests.conftest import TOLD
from tests.kill.room import Room

LOGGED_LINES = 40


@pytest.fixture(scope="session")
def rounds() -> int:
    """How often each kind of process is killed; ``CARDROOM_KILL_ROUNDS`` sets another number."""
    return int(os.environ.get("CARDROOM_KILL_ROUNDS", "20"))


@pytest.fixture(scope="session")
def seed() -> int:
    """Seed of all chances; ``CARDROOM_KILL_SEED`` repeats that of an earlier run."""
    return int(os.environ.get("CARDROOM_KILL_SEED", secrets.randbelow(10**9)))


@pytest.fixture
def tell(request: pytest.FixtureRequest, seed: int, rounds: int) -> Iterator[Callable[[str], None]]:
    """Say something at the end of the run, under the name of the test.

    What the installation logged last is shown with a test that fails.
    """
    told = request.node.user_properties
    told.append(
        (TOLD, f"{request.node.name} CARDROOM_KILL_SEED={seed} CARDROOM_KILL_ROUNDS={rounds}")
    )
    yield lambda line: told.append((TOLD, f"    {line}"))
    rooms = [request.getfixturevalue(n) for n in ("room", "far_room") if n in request.fixturenames]
    for room in rooms:
        logged = (room.serving.data_dir / "serve.log").read_text(errors="replace").splitlines()
        said = [line for line in logged if not line.startswith("token ")]
        sys.stdout.write("\n".join(line[:1000] for line in said[-LOGGED_LINES:]))


@pytest.fixture(scope="module")
def room(seed: int) -> Iterator[Room]:
    """A room on the embedded database, with two API processes."""
    with temporary_folder() as folder:
        # What a killed supervisor leaves in its temporary folder goes with the data folder.
        settings = {"TMPDIR": str(folder)}
        with Serving(folder, api_processes=2, settings=settings) as serving:
            yield Room(serving, lambda: serving.dsn(APPLICATION), Random(seed))
