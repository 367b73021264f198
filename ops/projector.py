"""The process that keeps the projections up to date: ``python -m ops.projector``.

It may be killed at any moment: a batch and its checkpoint are one transaction.
"""

import signal
import threading

from ops import logging
from ops.settings import Settings
from projections import runner


def main() -> None:
    """Follow the journal until SIGTERM."""
    settings = Settings()
    logging.configure("projector", settings.log_level)
    assert settings.database_url is not None
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    runner.run(settings.database_url.get_secret_value(), stop)


if __name__ == "__main__":
    main()
