"""The busiest modules as machine code, where they were compiled from just these sources.

``python -m ops.compile`` makes it with mypyc out of the modules that it names. Without it, after
any change to one of them, or with ``CARDROOM_PLAIN`` set, all of them run as the Python they are.
"""

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from sysconfig import get_path
from types import ModuleType
from typing import Final

FOLDER: Final = Path(get_path("platlib"), "cardroom_compiled")
MANIFEST: Final = FOLDER / "manifest.json"
"""Names the compiled ``modules``, and the SHA-256 of all ``sources`` that they were made from.

These are their own and those of what they import: the constants of others are compiled in.
"""

LIBRARY: Final = "cardroom"
LIBRARY_MODULE: Final = f"{LIBRARY}__mypyc"
"""All of the code; a compiled module only points into it."""

SUFFIX: Final = EXTENSION_SUFFIXES[0]
ROOT: Final = Path(__file__).parent.parent


class _Finder:
    """Finds compiled modules before Python finds their sources."""

    def __init__(self, modules: frozenset[str]) -> None:
        self.modules = modules

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.modules:
            return None
        return spec_from_file_location(name, FOLDER / f"{name}{SUFFIX}")


def digest_of(source: str) -> str:
    """Return the SHA-256, in hex, of a source by its path in the project."""
    return hashlib.sha256((ROOT / source).read_bytes()).hexdigest()


def fresh_modules() -> frozenset[str]:
    """Name the modules that were compiled, if from sources that are all as they were."""
    try:
        manifest = json.loads(MANIFEST.read_bytes())
        sources: dict[str, str] = manifest["sources"]
        if all(digest_of(source) == digest for source, digest in sources.items()):
            return frozenset(manifest["modules"])
    except (OSError, ValueError, KeyError):
        pass
    return frozenset()


def use() -> None:
    """Import compiled modules from now on, all of them or none: they call each other directly."""
    if os.environ.get("CARDROOM_PLAIN"):
        return
    modules = fresh_modules()
    if modules:
        sys.meta_path.insert(0, _Finder(modules | {LIBRARY_MODULE}))


def in_use() -> bool:
    """Tell whether compiled modules are imported in this process."""
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)
