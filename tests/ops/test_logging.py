"""Log lines: one JSON object each, named by process, without what an exception's text may hold."""

import json
import logging as library
import subprocess
import sys
from pathlib import Path

import ops

PROJECT = Path(ops.__file__).parent.parent

SCRIPT = """
import logging as library
import structlog
from ops import logging
logging.configure("api-1", "info")
structlog.get_logger("ours").info("request", position=7)
structlog.get_logger("ours").debug("unheard")
library.getLogger("alembic.runtime").info("unheard")
try:
    raise ValueError("alice@example.org")
except ValueError:
    library.getLogger("somewhere").exception("it failed")
from api import logs
logs.configure()
structlog.get_logger("ours").warning("still named")
"""


def test_lines_of_ours_and_of_libraries_have_one_shape() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=PROJECT, check=True, capture_output=True, text=True
    )
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    assert [line["event"] for line in lines] == ["request", "library", "still named"]
    assert {line["process"] for line in lines} == {"api-1"}
    assert lines[0]["position"] == 7
    assert lines[1]["message"] == "it failed"
    assert lines[1]["type"] == "ValueError"
    assert lines[1]["level"] == library.getLevelName(library.ERROR).lower()
    assert "alice" not in run.stdout + run.stderr
