"""Log lines of every process: JSON, one object a line, on standard output; no personal data.

The edge writes a line per request with its id, actor, position and duration (``api.middleware``).
Here the lines of libraries, which use Python's own logging, are brought into the same shape.
"""

import logging
import sys
import traceback

import structlog
from structlog.typing import EventDict

from api import logs

TALKATIVE = ("alembic", "uvicorn.error")
"""Libraries that tell every step at level info; what goes wrong is heard all the same."""

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def configure(process: str, level: str) -> None:
    """Set up the log lines of this process; each says which process wrote it."""
    logs.configure()

    def name(_logger: object, _method: str, values: EventDict) -> EventDict:
        return {"process": process, **values}

    structlog.configure(
        processors=[name, *structlog.get_config()["processors"]],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
    )
    root = logging.getLogger()
    root.handlers = [LibraryLines()]
    root.setLevel(LEVELS[level])
    for library in TALKATIVE:
        logging.getLogger(library).setLevel(max(LEVELS[level], logging.WARNING))


class LibraryLines(logging.Handler):
    """Writes what libraries log; of an exception its type and places, as its text may hold data."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        try:
            values: dict[str, object] = {"logger": record.name, "message": record.getMessage()}
            if record.exc_info and record.exc_info[0] is not None:
                frames = traceback.extract_tb(record.exc_info[2])[-8:]
                values["type"] = record.exc_info[0].__qualname__
                values["at"] = [f"{frame.filename}:{frame.lineno}" for frame in frames]
            level = min(max(record.levelno, logging.DEBUG), logging.CRITICAL)
            structlog.get_logger().log(level, "library", **values)
        except Exception:
            self.handleError(record)
        finally:
            sys.stdout.flush()
