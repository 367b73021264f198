"""Folders for databases of their own."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def home() -> Iterator[Path]:
    """Give a folder that PostgreSQL's user may enter, which pytest's own is not under root."""
    folder = Path(tempfile.mkdtemp(prefix="cardroom-"))
    yield folder / "postgres"
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def _enterable(request: pytest.FixtureRequest) -> None:
    """Open the temporary folder of a test that has one, as ``/var/lib`` is open."""
    if "home" in request.fixturenames:
        request.getfixturevalue("home").parent.chmod(0o755)
