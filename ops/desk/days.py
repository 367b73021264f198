"""Days and instants as they are written at the desk."""

from datetime import UTC, date, datetime, time, timedelta

import typer


def begin(text: str | None) -> str | None:
    """Return the instant at which a day begins, or that was written. Raises BadParameter."""
    return None if text is None else _instant(text, timedelta()).isoformat()


def end(text: str | None) -> str | None:
    """Return the instant before which it is: of a day its end. Raises BadParameter."""
    return None if text is None else _instant(text, timedelta(days=1)).isoformat()


def _instant(text: str, after_day: timedelta) -> datetime:
    try:
        if len(text) == len("2013-05-01"):
            return datetime.combine(date.fromisoformat(text), time(), UTC) + after_day
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{text!r} is no day (2013-05-01) and no instant") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
