"""Compile the busiest modules with mypyc: ``python -m ops.compile``, which ``make`` does first.

It needs a C compiler and Python's headers; without them everything runs as plain Python. What may
be compiled defines no msgspec structs: those need their annotations as they are written.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Final

from ledger.compiled import FOLDER, LIBRARY, MANIFEST, ROOT, digest_of, fresh_modules

MODULES: Final = (
    "ledger.batch",
    "ledger.hands.bad_beat",
    "ledger.hands.betting.engine",
    "ledger.hands.betting.forced",
    "ledger.hands.betting.limits",
    "ledger.hands.betting.order",
    "ledger.hands.betting.shown",
    "ledger.hands.betting.state",
    "ledger.hands.betting.turns",
    "ledger.hands.booking",
    "ledger.hands.cards",
    "ledger.hands.contributions",
    "ledger.hands.dealing",
    "ledger.hands.deck",
    "ledger.hands.drawing",
    "ledger.hands.judge",
    "ledger.hands.pots",
    "ledger.hands.rake",
    "ledger.hands.ranking.by_game",
    "ledger.hands.ranking.french",
    "ledger.hands.ranking.lows",
    "ledger.hands.ranking.ordinary",
    "ledger.hands.ranking.soko",
    "ledger.hands.reading",
    "ledger.hands.record",
    "ledger.hands.seating",
    "ledger.hands.settlement",
    "ledger.hands.shares",
    "ledger.hands.showdown",
    "ledger.jackpots.contribution",
    "ledger.money",
    "ledger.rows",
    "projections.hand_days",
    "projections.routes",
    "projections.running",
)
"""Where a profile shows that the time goes, and what those call directly."""

_BUILD: Final = """
import sys
from mypyc.build import mypycify
from setuptools import setup

target, library, *sources = sys.argv[1:]
extensions = mypycify(sources, group_name=library, target_dir=f"{target}/c", debug_level="0")
where = ["--build-lib", f"{target}/lib", "--build-temp", f"{target}/temp"]
setup(ext_modules=extensions, packages=[], script_args=["--quiet", "build_ext", *where])
"""
"""A process of its own: mypyc and setuptools leave the interpreter in disorder when they fail."""


def main() -> None:
    """Compile what is not compiled yet, or say why that cannot be done."""
    if fresh_modules() == frozenset(MODULES):
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    if missing := _missing():
        print(f"{missing} is missing: everything runs as plain Python")
        return
    with tempfile.TemporaryDirectory() as made:
        built = _build(made)
        if built.returncode:
            sys.stderr.write(built.stdout + built.stderr)
            print("mypyc failed: everything runs as plain Python")
            return
        _install(Path(made, "lib"))
    print(f"{len(MODULES)} modules compiled")


def _missing() -> str | None:
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"the C compiler {compiler}"
    header = Path(sysconfig.get_path("include"), "Python.h")
    return None if header.exists() else str(header)


def _build(target: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _BUILD, target, LIBRARY, *map(_source_of, MODULES)],
        cwd=ROOT,
        env={**os.environ, "CARDROOM_PLAIN": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def _install(libraries: Path) -> None:
    """Copy what was built to where it is looked for; the manifest, last, makes it count."""
    FOLDER.mkdir(parents=True)
    for library in libraries.rglob("*"):
        if library.is_file():
            shutil.copy(library, FOLDER / ".".join(library.relative_to(libraries).parts))
    sources = {source: digest_of(source) for source in _sources()}
    MANIFEST.write_text(json.dumps({"modules": MODULES, "sources": sources}, indent=1))


def _source_of(module: str) -> str:
    return module.replace(".", "/") + ".py"


def _sources() -> list[str]:
    """Find the sources of all modules, and of what they import of the project."""
    finder = ModuleFinder([str(ROOT)])
    for module in MODULES:
        finder.import_hook(module)
    files = [getattr(module, "__file__", None) for module in finder.modules.values()]
    return sorted(Path(file).relative_to(ROOT).as_posix() for file in files if file)


if __name__ == "__main__":
    main()
