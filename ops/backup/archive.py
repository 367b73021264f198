"""The archive of PostgreSQL's log: how a segment gets there, what is there, what may go.

A base backup and every segment of the log since then restore the books to any commit. The archive
begins with the first backup: before it no segment would be of use. Which folder of the archive an
installation writes to is in the file ``archiving`` of its home. A restored installation has none,
and gets another folder with its first backup: two histories never meet in one.
"""

import os
import re
import secrets
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

import msgspec

MARKER: Final = "archiving"
"""In an installation's home: the name of its folder in the archive, and where the archive is."""

BACKUPS: Final = "backups.json"
"""In an installation's home: its backups, wherever they are, and the first segment of each."""

SETTING: Final = "cardroom.wal_archive"
"""What the running server says of where its archive is; PostgreSQL itself does not use it."""

SEGMENT: Final = re.compile(r"[0-9A-F]{24}")
_PAGE_HEADER: Final = Struct("<HHIQ")

TIMEOUT_SECONDS: Final = 60
"""A segment that is not full is archived after so long: what a lost disk costs at most."""

# Run by PostgreSQL's user for each segment, again and again until it succeeds; until then the
# segment is kept. A segment has its name only when it is whole and on the disk. One that is there
# already was archived just before a crash, or is another one's: then it is never replaced. Most of
# a segment that was not full is zeros, which take no room.
_COMMAND: Final = """\
test -e {marker} || exit 0
read -r name < {marker} && test -n "$name" || exit 1
to={archive}/"$name"
if test -e "$to/%f"; then cmp -s "%p" "$to/%f"; exit; fi
dd if="%p" of="$to/arriving" bs=64k conv=sparse,fsync status=none &&
mv "$to/arriving" "$to/%f" && sync "$to"
"""


def command(home: Path, archive: Path) -> str:
    """Return PostgreSQL's ``archive_command`` for an installation."""
    return _COMMAND.format(marker=_quoted(home / MARKER), archive=_quoted(archive))


def _quoted(path: Path) -> str:
    return shlex.quote(str(path)).replace("%", "%%")


def begin(home: Path, archive: Path, owner: tuple[int, int] | None) -> Path:
    """Let archiving begin, unless it has, and return the installation's folder in the archive.

    ``owner`` is PostgreSQL's user, when that is another one. A folder that was there before is not
    made again: the disk that it is on may be away.
    """
    marker = home / MARKER
    name, where = (
        marker.read_text().split("\n")[:2] if marker.exists() else (secrets.token_hex(6), "")
    )
    folder = archive / name
    if where == str(archive):
        return folder
    archive.mkdir(mode=0o711, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    if owner is not None:
        os.chown(folder, *owner, follow_symlinks=False)
    partial = home / f"{MARKER}.partial"
    partial.write_text(f"{name}\n{archive}\n")
    partial.chmod(0o644)
    partial.rename(marker)
    return folder


class Segment(NamedTuple):
    """One file of the log: its timeline, and its number in it."""

    timeline: int
    number: int

    @classmethod
    def named(cls, name: str, size: int) -> "Segment":
        """Read the name of a file; ``size`` is a segment's, in bytes."""
        high, low = int(name[8:16], 16), int(name[16:], 16)
        return cls(int(name[:8], 16), high * (2**32 // size) + low)

    @classmethod
    def at(cls, timeline: int, place: str, size: int) -> "Segment":
        """Return the segment that holds a place in the log, such as 1/4A000028."""
        high, low = (int(half, 16) for half in place.split("/"))
        return cls(timeline, ((high << 32) + low) // size)

    def name(self, size: int) -> str:
        """Return the name of its file."""
        per_file = 2**32 // size
        return f"{self.timeline:08X}{self.number // per_file:08X}{self.number % per_file:08X}"


class Log(NamedTuple):
    """The segments from a first one on, without a gap, and what is wrong with the next.

    ``broken``: the name of a segment that is missing or damaged while later ones are there.
    """

    segments: dict[str, Path]
    broken: str | None


def read(folders: Iterable[Path], first: Segment, size: int) -> Log:
    """Find the log from a segment on; of several files of one name the first sound one counts."""
    found: dict[int, Path] = {}
    seen: set[int] = set()
    for folder in folders:
        for path in sorted(folder.iterdir()):
            if not SEGMENT.fullmatch(path.name):
                continue
            segment = Segment.named(path.name, size)
            if segment.timeline != first.timeline or segment.number < first.number:
                continue
            state = _looks(path, segment, size)
            if state != "recycled":
                seen.add(segment.number)
            if state == "sound":
                found.setdefault(segment.number, path)
    segments: dict[str, Path] = {}
    number = first.number
    while number in found:
        segments[Segment(first.timeline, number).name(size)] = found[number]
        number += 1
    broken = any(other >= number for other in seen)
    return Log(segments, Segment(first.timeline, number).name(size) if broken else None)


def _looks(path: Path, segment: Segment, size: int) -> str:
    """Tell a sound segment from a damaged one and from one that is kept to be written later.

    PostgreSQL's own folder has such files: names of the future, with pages of the past.
    """
    with path.open("rb") as file:
        start = file.read(_PAGE_HEADER.size)
    if len(start) < _PAGE_HEADER.size or path.stat().st_size != size:
        return "damaged"
    _, _, _, address = _PAGE_HEADER.unpack(start)
    if address == segment.number * size:
        return "sound"
    return "recycled" if address < segment.number * size else "damaged"


class Known(NamedTuple):
    """The backups of an installation, and the first segment that each needs."""

    needs: dict[str, str]

    @classmethod
    def of(cls, home: Path) -> "Known":
        """Read them; an installation without backups has none."""
        path = home / BACKUPS
        if not path.exists():
            return cls({})
        return cls(msgspec.json.decode(path.read_bytes(), type=dict[str, str]))

    def write(self, home: Path) -> None:
        """Put them in the place of what is known so far."""
        partial = home / f"{BACKUPS}.partial"
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(self.needs)))
        partial.rename(home / BACKUPS)

    def without_deleted(self) -> "Known":
        """Forget the backups that somebody deleted; those on a disk that is away are kept."""
        return Known(
            {
                name: segment
                for name, segment in self.needs.items()
                if Path(name).exists() or not Path(name).parent.exists()
            }
        )

    def away(self) -> Iterator[str]:
        """Name the backups that cannot be seen at the moment."""
        return (name for name in self.needs if not Path(name).exists())


def prune(folder: Path, oldest_needed: str) -> int:
    """Remove the segments before one; return how many.

    Done inside the folder that was opened, since it belongs to PostgreSQL's user: a link that he
    puts in its place is not followed.
    """
    removed = 0
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        for name in os.listdir(opened):
            if SEGMENT.fullmatch(name[:24]) and name[8:24] < oldest_needed[8:24]:
                os.unlink(name, dir_fd=opened)
                removed += 1
    finally:
        os.close(opened)
    return removed
