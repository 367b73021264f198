"""A TCP proxy in front of PostgreSQL that loses acknowledgements when it is told to."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Self


class Proxy:
    """Passes bytes on; after ``arm()`` the next COMMIT reaches the server and its answer is lost.

    ``arm`` may be told words that stand beside the COMMIT, to pick whose it is. The connection is
    closed towards the client only when the server has answered: the transaction is committed, and
    the client cannot know.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._armed = threading.Event()
        self._words = b"COMMIT"
        self._away = threading.Event()
        self.lost = 0
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, words: bytes = b"COMMIT") -> None:
        """Lose the answer to the next COMMIT, or to the next statement with these words."""
        self._words = words
        self._armed.set()

    def drop(self) -> None:
        """Close every connection now."""
        ends, self._open = self._open, []
        for end in ends:
            _close(end)

    def leave(self) -> None:
        """Close every connection, and all that come, until ``come_back``."""
        self._away.set()
        self.drop()

    def come_back(self) -> None:
        """Pass on what connects from now on."""
        self._away.clear()

    def close(self) -> None:
        _close(self._listener)
        self.drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                if self._away.is_set():
                    _close(client)
                    continue
                server = self._connect()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open += (client, server)
            losing = threading.Event()
            for source, target, to_server in ((client, server, True), (server, client, False)):
                threading.Thread(
                    target=self._pass_on, args=(source, target, to_server, losing), daemon=True
                ).start()

    def _connect(self) -> socket.socket:
        host, port = self._target
        if not host.startswith("/"):
            return socket.create_connection(self._target)
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server

    def _pass_on(
        self, source: socket.socket, target: socket.socket, to_server: bool, losing: threading.Event
    ) -> None:
        for data in _chunks(source):
            if to_server and self._words in data and self._armed.is_set():
                self._armed.clear()
                losing.set()
            if not to_server and losing.is_set():
                self.lost += 1
                break
            try:
                target.sendall(data)
            except OSError:
                break
        for end in (source, target):
            _close(end)


def _chunks(source: socket.socket) -> Iterator[bytes]:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            yield data


def _close(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
