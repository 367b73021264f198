"""HTTP/1.1 over a kept connection, as cheap as it gets: clients and server share two cores."""

import asyncio
import re
from typing import Final, cast

HOST: Final = "127.0.0.1"

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Disconnected(Exception):
    """The server closed a connection that an answer was awaited on."""


class Connection(asyncio.Protocol):
    """One connection; one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._received = bytearray()
        self._whole = 0
        self._head = 0
        self.local_port = 0

    @classmethod
    async def open(cls, port: int) -> "Connection":
        """Connect to a port of this machine."""
        _, connection = await asyncio.get_running_loop().create_connection(cls, HOST, port)
        return connection

    async def send(self, request: bytes) -> tuple[int, bytes]:
        """Send a whole request; return status and body of its answer."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    @property
    def closed(self) -> bool:
        """Tell whether it is closed, by whichever side."""
        return self._transport is None or self._transport.is_closing()

    def close(self) -> None:
        """Close it."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop."""
        self._transport = cast("asyncio.Transport", transport)
        self.local_port = transport.get_extra_info("sockname")[1]

    def data_received(self, data: bytes) -> None:
        """Called by the event loop."""
        received = self._received
        received += data
        if not self._whole:
            self._head = received.find(b"\r\n\r\n") + 4
            if self._head < 4:
                return
            length = _LENGTH.search(received, 0, self._head)
            self._whole = self._head + (int(length[1]) if length else 0)
        if len(received) < self._whole:
            return
        answer = int(received[9:12]), bytes(received[self._head : self._whole])
        del received[: self._whole]
        self._whole = 0
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(Disconnected("the server closed the connection"))


class Requests:
    """Writes requests with one bearer token."""

    def __init__(self, port: int, token: str) -> None:
        self._common = f"Host: {HOST}:{port}\r\nAuthorization: Bearer {token}\r\n".encode()
        self._hands = (
            b"POST /v1/hands HTTP/1.1\r\n%bContent-Type: application/json\r\nContent-Length: "
            % self._common
        )

    def hands(self, body: bytes) -> bytes:
        """Write a request that posts a hand, or an array of them."""
        return b"%b%d\r\n\r\n%b" % (self._hands, len(body), body)

    def command(self, path: str, body: bytes, key: str) -> bytes:
        """Write a request that posts a command under a key."""
        return (
            b"POST %b HTTP/1.1\r\n%bContent-Type: application/json\r\nIdempotency-Key: %b\r\n"
            b"Content-Length: %d\r\n\r\n%b"
        ) % (path.encode(), self._common, key.encode(), len(body), body)

    def read(self, path: str) -> bytes:
        """Write a request that reads."""
        return b"GET %b HTTP/1.1\r\n%b\r\n" % (path.encode(), self._common)
