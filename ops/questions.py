"""One process that answers questions: ``python -m ops.questions HANDOVER``, a socket's descriptor.

It serves the whole API, to the connections that the API's other processes hand over.
"""

import sys

from ops.handover import Taking
from ops.one_write import OneWrite
from ops.server import configured


def main() -> None:
    """Serve until SIGTERM; requests that have begun are finished first."""
    server = Taking(configured(OneWrite), int(sys.argv[1]))
    server.run()
    if not server.started:
        sys.exit(1)


if __name__ == "__main__":
    main()
