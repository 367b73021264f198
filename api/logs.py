"""One structured line per request: who, what, how long, up to which position; no personal data."""

import sys
from typing import Any

import msgspec
import structlog


def configure() -> None:
    """Send the process's log lines to standard output as JSON, one object a line.

    Whoever has configured them already, as the supervised process has, is not overruled.
    """
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(serializer=_encode),
        ],
        wrapper_class=structlog.BoundLogger,
        logger_factory=structlog.BytesLoggerFactory(sys.stdout.buffer),
        cache_logger_on_first_use=True,
    )


def _encode(entry: Any, **_: Any) -> bytes:
    return msgspec.json.encode(entry, enc_hook=str)
