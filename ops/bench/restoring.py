"""Whether a restore to the middle of a load brings back the books that the live ones were there.

It is done as an operator does it: a backup while hands are posted, a restore into a new folder to a
position of that load, and ``cardroom check``.
"""

import time
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ops import settings
from ops.backup import manifest
from ops.backup.manifest import Place
from ops.backup.restore import Target, restore
from ops.backup.take import BackupFailed, place
from ops.bench.gauges import Room
from ops.bench.report import Report
from ops.serving import Serving, temporary_folder
from projections.check.report import Report as Checked

POSTED_EVENTS: Final = 20_000
"""What is booked at least before the backup, from it to the commit that is noted, and after it."""


class Middle(NamedTuple):
    """A commit in the middle of a load, and the last position at which it is still the last one."""

    noted: Place
    until: int


def back_up(serving: Serving, room: Room, folder: Path, report: Report) -> Middle:
    """Take a backup into a folder while hands are posted; return their middle."""
    room.wait_for_events(POSTED_EVENTS)
    began = time.monotonic()
    run = serving.command("backup", str(folder))
    took = time.monotonic() - began
    if run.returncode != 0:
        raise BackupFailed(run.stdout + run.stderr)
    [(_, taken)] = manifest.backups_in(folder)
    room.wait_for_events(POSTED_EVENTS)
    noted = place(room.connection)
    room.wait_for_events(POSTED_EVENTS)
    report.add("backup while hands are posted", took, "s")
    report.add("backup, size", taken.size_bytes / 2**20, "MB")
    report.add("events from the backup to the middle", noted.position - taken.ended.position, "")
    report.add("events after the middle", room.position() - noted.position, "")
    return Middle(noted, _following(room, noted) - 1)


def _following(room: Room, noted: Place) -> int:
    """Return the last position of the commit after one."""
    [(position,)] = room.connection.execute(
        "SELECT min(last_position) FROM journal.commits WHERE last_position > %s", [noted.position]
    ).fetchall()
    return int(position)


def restore_and_check(backups: Path, middle: Middle, report: Report) -> None:
    """Restore to the middle, named by a position inside the commit after it, and check it."""
    with temporary_folder() as into:
        began = time.monotonic()
        done = restore(backups, into, Target(middle.until), settings=settings.stated())
        restored = time.monotonic()
        done.marker.unlink(missing_ok=True)  # what does not hold is counted, and nobody serves it
        found = Serving(into).command("check", "--json")
        checked = msgspec.json.decode(found.stdout, type=Checked)
        ended = time.monotonic()
    report.add("restore to the middle", restored - began, "s", "with a check of its own")
    report.add("check of what was restored", ended - restored, "s")
    compare(middle.noted, checked, report)


def compare(noted: Place, checked: Checked, report: Report) -> None:
    """Hold what was restored against what the live books were."""
    differs = (checked.position, checked.digest) != (noted.position, noted.digest)
    report.ask("restored to the middle of a load: problems found", checked.total, below=1)
    report.ask("restored to the middle of a load: digest differs", int(differs), below=1)
