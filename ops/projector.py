"""The process that keeps the projections up to date: ``python -m ops.projector``.

It may be killed at any moment: a batch and its checkpoint are one transaction.
"""

import gc
import signal
import threading
from typing import Final

from ops import logging
from ops.settings import Settings
from projections import runner

THRESHOLDS: Final = (100_000, 50, 50)
"""Looks for reference cycles are made this rarely: a batch makes a million objects, none of them in
a cycle, and looking at them over and over took a third of the projector's time."""


def main() -> None:
    """Follow the journal until SIGTERM."""
    settings = Settings()
    logging.configure("projector", settings.log_level)
    assert settings.database_url is not None
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    runner.run(settings.database_url.get_secret_value(), stop)


if __name__ == "__main__":
    main()
