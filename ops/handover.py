"""Connections on which a question comes first, handed to a process that answers questions alone.

All processes of the API take connections off one queue. There a question would wait, after each
look at the database, for the hands that are being decided, and hands for the question. So the
process that has taken the connection passes it on, with what has been read from it, over a pair of
sockets that both have been given. When those are full the question is answered where it is: any
process can answer anything.
"""

import asyncio
import socket
import sys
from typing import Any, Final

from uvicorn import Config, Server

from ops.one_write import OneWrite

QUESTION: Final = b"GET /v1/"
"""How a connection begins that is handed over."""

_OF_A_REQUEST: Final = b"GET /v1/requests/"
"""What becomes of a request is asked where it may be under way."""

_LONGEST: Final = 16 * 1024
"""Bytes that are passed on with a connection; what is longer is no usual question."""


def pair() -> tuple[socket.socket, socket.socket]:
    """Make the two ends: one to hand connections to, one to take them from."""
    kind = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM
    return socket.socketpair(socket.AF_UNIX, kind)


def is_question(begin: bytes) -> bool:
    """Tell whether a connection that begins like this is one for questions."""
    return (
        begin.startswith(QUESTION)
        and not begin.startswith(_OF_A_REQUEST)
        and len(begin) <= _LONGEST
    )


def handing_to(descriptor: int) -> type[OneWrite]:
    """Return the protocol of a server that hands questions over to an end of a pair."""
    channel = socket.socket(fileno=descriptor)
    channel.setblocking(False)

    class Handing(OneWrite):
        """Looks at what comes first, and at nothing of it again."""

        _seen = False

        def data_received(self, data: bytes) -> None:
            if self._seen or not is_question(data) or not _handed(channel, self.transport, data):
                self._seen = True
                super().data_received(data)

    return Handing


def _handed(channel: socket.socket, transport: asyncio.Transport, data: bytes) -> bool:
    """Pass a connection on; tell whether that was done."""
    connection = transport.get_extra_info("socket")
    try:
        socket.send_fds(channel, [data], [connection.fileno()])
    except OSError:
        return False
    # Ours is closed; the connection stays open, for the other process has it now.
    transport.abort()
    return True


class Taking(Server):
    """A server that listens nowhere: it serves the connections that it is handed."""

    def __init__(self, config: Config, descriptor: int) -> None:
        super().__init__(config)
        self._channel = socket.socket(fileno=descriptor)
        self._channel.setblocking(False)
        self._arriving: set[asyncio.Task[Any]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then take what is handed over."""
        await super().startup(sockets=[])
        asyncio.get_running_loop().add_reader(self._channel.fileno(), self._take)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take nothing more, finish what was taken, and end."""
        asyncio.get_running_loop().remove_reader(self._channel.fileno())
        await super().shutdown(sockets=[])

    def _take(self) -> None:
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(self._channel, _LONGEST, 1)
            except (BlockingIOError, InterruptedError):
                return
            if not data:
                # Nobody is left who could hand anything over.
                asyncio.get_running_loop().remove_reader(self._channel.fileno())
                return
            for descriptor in descriptors:
                task = asyncio.ensure_future(self._answer(socket.socket(fileno=descriptor), data))
                self._arriving.add(task)
                task.add_done_callback(self._arriving.discard)

    async def _answer(self, connection: socket.socket, data: bytes) -> None:
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(
            lambda: _Handed(
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
                first=data,
            ),
            connection,
        )


class _Handed(OneWrite):
    """The protocol of a connection from which something has been read already."""

    def __init__(self, *, first: bytes, **given: Any) -> None:
        super().__init__(**given)
        self._first = first

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.data_received(self._first)
