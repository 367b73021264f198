"""An answer leaves in one system call, whole and in order, and is never sent after the end."""

import asyncio
from typing import Any, cast

from ops.one_write import _Joining


class Wire:
    """A transport that notes what it is given."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.sent.append(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, name: str) -> str:
        return f"the {name}"


def written(*turns: list[bytes], close: bool = False, cut: bool = False) -> list[bytes]:
    """Write in some turns of an event loop; return what was sent."""

    async def run() -> list[bytes]:
        wire = Wire()
        joining: Any = _Joining(cast("Any", wire), asyncio.get_running_loop())
        for parts in turns:
            for part in parts:
                joining.write(part)
            if cut:
                wire.closed = True
            if close:
                joining.close()
            await asyncio.sleep(0)
        assert joining.get_extra_info("socket") == "the socket"
        assert wire.closed == (close or cut)
        return wire.sent

    return asyncio.run(run())


def test_what_is_written_in_one_turn_is_sent_together() -> None:
    assert written([b"head ", b"body"], [b"next"]) == [b"head body", b"next"]


def test_closing_sends_what_was_written_before() -> None:
    assert written([b"last ", b"words"], close=True) == [b"last words"]


def test_nothing_is_sent_on_a_connection_that_was_cut() -> None:
    assert written([b"too ", b"late"], cut=True) == []
