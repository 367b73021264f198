"""One process of the API: ``python -m ops.server LISTENER [HANDOVER]``, descriptors of sockets.

The supervisor has bound the listener and passes it to every process: they share its queue of
connections, and a connection that comes while one of them is restarted waits for the others. On the
other socket questions are handed over to the processes that answer them (ops/handover.py).
"""

import socket
import sys

import uvicorn

from api.settings import EdgeSettings
from ops import logging
from ops.handover import handing_to
from ops.one_write import OneWrite
from ops.settings import Settings


def main() -> None:
    """Serve until SIGTERM; requests that have begun are finished first."""
    listener, *handover = map(int, sys.argv[1:])
    server = uvicorn.Server(configured(handing_to(*handover) if handover else OneWrite))
    server.run(sockets=[socket.socket(fileno=listener)])
    if not server.started:
        sys.exit(1)


def configured(protocol: type[OneWrite]) -> uvicorn.Config:
    """Return how a process of the API serves a connection; logging is set up."""
    settings = Settings()
    logging.configure(EdgeSettings().writer_name, settings.log_level)
    return uvicorn.Config(
        "api.app:create_app",
        factory=True,
        loop="uvloop",
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )


if __name__ == "__main__":
    main()
