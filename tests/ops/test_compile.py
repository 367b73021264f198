"""Compiled modules judge as the Python that they were compiled from."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ledger import compiled
from ops.compile import MODULES


def judged(**environment: str) -> list[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.fuzz.verdicts"],
        cwd=compiled.ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()


@pytest.mark.skipif(not compiled.fresh_modules(), reason="nothing is compiled: make setup does it")
def test_machine_code_and_plain_python_give_the_same_verdicts() -> None:
    flag, *fast = judged(CARDROOM_PLAIN="")
    plain_flag, *plain = judged(CARDROOM_PLAIN="1")
    assert (flag, plain_flag) == ("True", "False")
    assert len(fast) > 3_000
    assert fast == plain


@pytest.mark.parametrize("module", MODULES)
def test_a_compiled_module_defines_no_struct(module: str) -> None:
    source = Path(compiled.ROOT, module.replace(".", "/") + ".py").read_text()
    bases = [
        ast.unparse(base)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    ]
    assert not {"msgspec.Struct", "Struct", "Event", "Command", "Part", "Keep"} & set(bases)


class TestWhatCounts:
    def manifest(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
        path = tmp_path / "manifest.json"
        path.write_text(content)
        monkeypatch.setattr(compiled, "MANIFEST", path)

    def test_what_was_compiled_from_these_sources(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sources = {"ledger/money.py": compiled.digest_of("ledger/money.py")}
        manifest = json.dumps({"modules": ["ledger.money"], "sources": sources})
        self.manifest(tmp_path, monkeypatch, manifest)
        assert compiled.fresh_modules() == {"ledger.money"}

    @pytest.mark.parametrize(
        "manifest",
        [
            json.dumps({"modules": ["ledger.money"], "sources": {"ledger/money.py": "0" * 64}}),
            json.dumps({"modules": ["ledger.money"], "sources": {"ledger/gone.py": "0" * 64}}),
            json.dumps({"sources": {}}),
            "",
        ],
        ids=["a source has changed", "a source is gone", "no module is named", "cut short"],
    )
    def test_and_nothing_else(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: str
    ) -> None:
        self.manifest(tmp_path, monkeypatch, manifest)
        assert compiled.fresh_modules() == frozenset()
