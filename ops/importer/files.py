"""Takes files of hands apart, with the line on which each hand begins."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from ledger.hands import ohh, reading

_BEGINNING: Final = re.compile(rb'\s*\{\s*"ohh"\s*:')
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class Item(NamedTuple):
    """What stands for one hand in a file; ``end`` is how many bytes of the file were read."""

    line: int
    content: ohh.Raw
    end: int


def items(path: Path) -> Iterator[Item]:
    """Give the hands of a file in the order in which they stand, none of them decoded yet.

    A file is one JSON object, an array of them, objects one per line, or objects printed over
    several lines. It is read as it is needed, except for an array, which is read whole. What is
    broken ends where the next hand begins, so that it costs no other. Raises Malformed for an
    array that does not close, and OSError.
    """
    with path.open("rb") as file:
        start = file.read(4096).removeprefix(_BYTE_ORDER_MARK).lstrip()
        file.seek(0)
        if start.startswith(b"["):
            yield from _of_array(file.read())
        else:
            yield from _of_lines(file)


def _of_array(body: bytes) -> Iterator[Item]:
    position, line = 0, 1
    for content in reading.split(body.removeprefix(_BYTE_ORDER_MARK)):
        text = bytes(content)
        begin = body.index(text, position)
        line += body.count(b"\n", position, begin)
        yield Item(line, text, begin + len(text))
        position, line = begin + len(text), line + text.count(b"\n")


def _of_lines(file: BinaryIO) -> Iterator[Item]:
    pending: list[bytes] = []
    begin = end = 0
    for number, line in enumerate(file, 1):
        text = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
        blank = not text.strip()
        if pending and (blank or _BEGINNING.match(text)):
            yield Item(begin, b"".join(pending), end)
            pending = []
        end += len(line)
        if blank:
            continue
        if not pending:
            begin = number
        pending.append(text)
        if _is_whole(pending, text):
            yield Item(begin, b"".join(pending), end)
            pending = []
    if pending:
        yield Item(begin, b"".join(pending), end)


def _is_whole(pending: list[bytes], last: bytes) -> bool:
    """Tell whether a hand ends with this line; of a printed one, the last line is not indented."""
    if len(pending) == 1:
        return not last.lstrip().startswith(b"{") or last.rstrip().endswith(b"}")
    return last.startswith(b"}")
