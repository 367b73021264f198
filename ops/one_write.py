"""The server's HTTP protocol, which sends the head of an answer together with its body."""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class OneWrite(HttpToolsProtocol):
    """uvicorn's own, but what is written in one turn of the event loop is one system call.

    uvicorn writes head and body apart, and uvloop sends each at once: two calls for every hand that
    is posted alone, and two packets for its client to read.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        joining = _Joining(cast("asyncio.Transport", transport), self.loop)
        super().connection_made(cast("asyncio.Transport", joining))


class _Joining:
    """A transport that keeps what is written until the event loop's next turn."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._kept: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._kept:
            self._loop.call_soon(self._flush)
        self._kept.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        kept, self._kept = self._kept, []
        if kept and not self._transport.is_closing():
            self._transport.write(b"".join(kept))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
