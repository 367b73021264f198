"""One process of the API: ``python -m ops.server DESCRIPTOR`` serves a socket that it is given.

The supervisor has bound the socket and passes it to every process: they share its queue of
connections, and a connection that comes while one of them is restarted waits for the others.
"""

import socket
import sys

import uvicorn

from api.settings import EdgeSettings
from ops import logging
from ops.one_write import OneWrite
from ops.settings import Settings


def main() -> None:
    """Serve until SIGTERM; requests that have begun are finished first."""
    settings = Settings()
    logging.configure(EdgeSettings().writer_name, settings.log_level)
    config = uvicorn.Config(
        "api.app:create_app",
        factory=True,
        loop="uvloop",
        http=OneWrite,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    server = uvicorn.Server(config)
    server.run(sockets=[socket.socket(fileno=int(sys.argv[1]))])
    if not server.started:
        sys.exit(1)


if __name__ == "__main__":
    main()
