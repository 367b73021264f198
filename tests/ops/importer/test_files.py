"""Files of hands: every shape gives the same hands, each with the line on which it begins."""

from pathlib import Path

import pytest

from ledger.hands.ohh import Malformed
from ops.importer.files import items

FIRST, SECOND, THIRD = b'{"ohh":{"a":1}}', b'{"ohh":{"a":2}}', b'{"ohh":{"a":3}}'
PRINTED = b'{\n  "ohh": {\n    "a": 1\n  }\n}'


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (FIRST, [1]),
        (b"\n".join((FIRST, SECOND, THIRD)), [1, 2, 3]),
        (b"\r\n\r\n".join((FIRST, SECOND)) + b"\r\n", [1, 3]),
        (b"[" + FIRST + b",\n\n" + FIRST + b",\n" + SECOND + b"]", [1, 3, 4]),
        (b"\xef\xbb\xbf[" + FIRST + b"]", [1]),
        (b"\xef\xbb\xbf" + PRINTED + b"\n" + PRINTED, [1, 6]),
        (PRINTED + b"\n\n" + SECOND, [1, 7]),
        (b"", []),
        (b"\n\n", []),
        (b"[]", []),
    ],
)
def test_a_hand_is_given_with_the_line_on_which_it_begins(
    tmp_path: Path, body: bytes, lines: list[int]
) -> None:
    path = tmp_path / "hands"
    path.write_bytes(body)
    found = list(items(path))
    assert [item.line for item in found] == lines
    assert all(b'"ohh"' in bytes(item.content) for item in found)
    assert [item.end for item in found] == sorted(item.end for item in found)
    assert all(item.end <= len(body) for item in found)


def test_what_is_broken_costs_no_other_hand(tmp_path: Path) -> None:
    path = tmp_path / "hands"
    path.write_bytes(b"\n".join((FIRST, FIRST[:9], SECOND, b"no JSON", THIRD, b"{", b"")))
    found = [(item.line, bytes(item.content).strip()) for item in items(path)]
    assert found == [
        (1, FIRST), (2, FIRST[:9]), (3, SECOND), (4, b"no JSON"), (5, THIRD), (6, b"{"),
    ]  # fmt: skip


def test_an_array_that_does_not_close_is_malformed(tmp_path: Path) -> None:
    path = tmp_path / "hands"
    path.write_bytes(b"[" + FIRST + b", ")
    with pytest.raises(Malformed):
        list(items(path))
