"""README.md tells the truth: what it says that commands print is what they print.

The pages that go on where it ends are run after it, in the same shell.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from ops.serving import Serving, temporary_folder

PROJECT: Final = Path(__file__).parent.parent
PAGES: Final = {
    path: (PROJECT / path).read_text()
    for path in (
        "README.md",
        "ops/runbooks/auditor.md",
        "ops/runbooks/treasurer.md",
        "ops/runbooks/judging.md",
    )
}
README: Final = PAGES["README.md"]
SERVED_AT: Final = "http://127.0.0.1:8000"
END_OF_COMMAND: Final = "\x1e"

CHANGING: Final = (
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)", "INSTANT"),
    (r"\b20\d\d-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?\b", "DATE"),
    (r"\b([0-9a-f]{64}|[0-9a-f]{32})\b", "DIGEST"),
    (r"\beyJ[\w.-]+", "TOKEN"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"api-1@[\w.-]+", "WRITER"),
    (r"\b\d+\.\d\d s\b", "SECONDS"),
)
"""What is another one each time, and what stands for it."""


class Block(NamedTuple):
    """The commands of one block, and all that it shows: commands and what they print."""

    place: str
    commands: list[str]
    shown: str


def blocks(path: str, text: str) -> list[Block]:
    """Find the console blocks: a command begins with ``$``, its further lines are indented."""
    found = []
    for match in re.finditer(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        commands = re.findall(r"^\$ (.*(?:\n    .*)*)", match[1], re.MULTILINE)
        line = text.count("\n", 0, match.start()) + 2
        found.append(Block(f"{Path(path).stem}-line-{line}", commands, match[1]))
    return found


def files(text: str) -> dict[str, str]:
    """Find the JSON blocks that the reader is told to save, by the file that the text names."""
    return {
        name: content
        for name, content in re.findall(
            r"Save\s[^`]*?`([\w.-]+)`:\n\n```json\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
        )
    }


def masked(text: str) -> str:
    """Put a word for whatever changes by itself, and leave out where lines end in spaces."""
    for pattern, word in CHANGING:
        text = re.sub(pattern, word, text)
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def run(found: list[Block], folder: Path, served: Serving) -> list[str]:
    """Run all commands in one shell; return for each block what it shows now."""
    lines = []
    for block in found:
        for command in block.commands:
            lines += [command.replace(SERVED_AT, served.base_url), f"printf '{END_OF_COMMAND}'"]
    inherited = {name: value for name, value in os.environ.items() if "CARDROOM" not in name}
    ran = subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        cwd=folder,
        env={
            **inherited,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "CARDROOM_DATA_DIR": str(served.data_dir),
            "CARDROOM_PORT": str(served.port),
            "COLUMNS": "100",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    printed = iter(ran.stdout.split(END_OF_COMMAND))
    return [
        "".join(f"$ {command}\n{_with_end(next(printed))}" for command in block.commands)
        for block in found
    ]


def _with_end(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


BLOCKS: Final = [block for path, text in PAGES.items() for block in blocks(path, text)]


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    if shutil.which("curl") is None or shutil.which("bash") is None:
        pytest.skip("README.md shows requests with curl, in bash: one of them is not here")
    with temporary_folder() as folder, Serving(folder) as served:
        for text in PAGES.values():
            for name, content in files(text).items():
                (folder / name).write_text(content)
        shown = run(BLOCKS, folder, served)
    return {block.place: text for block, text in zip(BLOCKS, shown, strict=True)}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_commands_print_what_the_readme_says(block: Block, printed: dict[str, str]) -> None:
    assert masked(printed[block.place]) == masked(block.shown)


def test_the_readme_has_files_and_commands_to_try() -> None:
    assert list(files(README)) == ["hand.json"]
    assert sum(len(block.commands) for block in BLOCKS) > 40


def test_make_targets_and_files_that_the_readme_names_exist() -> None:
    makefile = (PROJECT / "Makefile").read_text()
    targets = re.findall(r"^([\w-]+):", makefile, re.MULTILINE)
    named = set(re.findall(r"(?:`|^    )make ([\w-]+)", README, re.MULTILINE))
    assert {"demo", "test", "serve", "bench", "check"} <= named <= set(targets)
    for path in re.findall(r"`((?:ops|ledger)/[\w./-]+)`|\]\(((?!http)[\w./-]+)\)", README):
        assert (PROJECT / (path[0] or path[1])).exists(), path


def test_sections_that_the_readme_links_exist() -> None:
    headings = re.findall(r"^#+ (.*)$", README, re.MULTILINE)
    known = {heading.lower().replace(" ", "-") for heading in headings}
    linked = re.findall(r"\]\(#([\w-]+)\)", README)
    assert len(linked) > 5
    assert set(linked) <= known
