"""The process that keeps the projections up to date: ``python -m ops.projector``.

It may be killed at any moment: a batch and its checkpoint are one transaction. It also writes the
digests of the book to its log, where no administrator of the database changes them.
"""

import gc
import signal
import threading
from typing import Final

import psycopg
import structlog

from ops import logging
from ops.settings import Settings
from projections import anchors, runner
from projections.anchors import Anchor

log = structlog.get_logger("anchors")

THRESHOLDS: Final = (100_000, 50, 50)
"""Looks for reference cycles are made this rarely: a batch makes a million objects, none of them in
a cycle, and looking at them over and over took a third of the projector's time."""


def main() -> None:
    """Follow the journal until SIGTERM."""
    settings = Settings()
    logging.configure("projector", settings.log_level)
    assert settings.database_url is not None
    dsn = settings.database_url.get_secret_value()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    noting = threading.Thread(target=note, args=(dsn, stop, settings.anchor_seconds), daemon=True)
    noting.start()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    runner.run(dsn, stop)
    noting.join(settings.shutdown_seconds)


def note(dsn: str, stop: threading.Event, seconds: float) -> None:
    """Log the digests of now, at once and from time to time while they change, and at the end."""
    noted: list[Anchor] = []
    while True:
        ended = stop.is_set()
        try:
            with psycopg.connect(dsn, application_name="cardroom anchors") as connection:
                found = anchors.newest(connection)
        except psycopg.Error as error:
            log.warning("anchor-not-read", error=str(error))
        else:
            if found != noted:
                noted = found
                log.info("anchor", anchor=" ".join(map(str, found)))
        if ended:
            return
        stop.wait(seconds)


if __name__ == "__main__":
    main()
