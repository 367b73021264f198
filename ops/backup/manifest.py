"""What a backup says of itself: ``backup.json``, written last; without it there is no backup.

backup.json   this        data/   PostgreSQL's files, with its own backup_manifest
                          keys/   the installation's keys, unless they are kept apart
"""

import hashlib
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

NAME: Final = "backup.json"
FORMAT: Final = 1
KEYS: Final = ("identity.key", "jwt.key")


class NoBackup(Exception):
    """A folder holds no whole backup; the message says why, and what there is."""


class Place(msgspec.Struct, frozen=True):
    """A commit: its last position, when it was recorded, and the chain's digest there."""

    position: int
    recorded_at: datetime | None = None
    digest: str = ""

    def __str__(self) -> str:
        if self.recorded_at is None:
            return f"position {self.position}, before the first commit"
        return f"position {self.position}, recorded at {self.recorded_at.isoformat()}"


class Manifest(msgspec.Struct, frozen=True):
    """What was backed up, and what is needed to bring it back."""

    started_at: datetime
    cardroom: str
    """The version that took it."""
    postgresql: str
    system_identifier: str
    database: str
    owner: str
    """The role that owns the database."""
    networks: tuple[str, ...]
    begun: Place
    """The newest commit when the backup began: in it for certain."""
    ended: Place
    """The newest commit when it had ended: from here on every commit can be restored."""
    timeline: int
    first_segment: str
    """The log is needed from this file on."""
    segment_bytes: int
    size_bytes: int
    verified: bool
    """Whether pg_verifybackup has read it again."""
    manifest_sha256: str
    """Of PostgreSQL's own manifest, which has the digest of every file."""
    keys: dict[str, str]
    """SHA-256 of each key of the installation, whether it is in the backup or not."""
    keys_included: tuple[str, ...]
    wal_archive: str | None
    """Folder that the log goes to; None: the operator's own server sees to it."""
    format: int = FORMAT

    @property
    def major(self) -> str:
        """The major version of PostgreSQL."""
        return self.postgresql.partition(".")[0]

    def ending_at(self, ended: Place) -> "Manifest":
        """Return it with another end."""
        return msgspec.structs.replace(self, ended=ended)


def write(manifest: Manifest, folder: Path) -> None:
    """Write it and see it on the disk: from now on the backup is whole."""
    with (folder / NAME).open("xb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    sync(folder)


def sync(folder: Path) -> None:
    """See the names in a folder on the disk."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def read(folder: Path) -> Manifest:
    """Read a backup's manifest; raises NoBackup."""
    path = folder / NAME
    if folder.name.endswith(".partial") or not path.exists():
        raise NoBackup(f"{folder} is not a whole backup: it has no {NAME}, which is written last.")
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except msgspec.DecodeError as error:
        raise NoBackup(f"{path} is damaged: {error}") from None
    if manifest.format != FORMAT:
        raise NoBackup(f"{path} has format {manifest.format}; this version reads {FORMAT}.")
    return manifest


def backups_in(folder: Path) -> Iterator[tuple[Path, Manifest]]:
    """Give the whole backups in a folder, the oldest first."""
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.endswith(".partial") and (path / NAME).exists():
            yield path, read(path)


def sha256(path: Path) -> str:
    """Digest a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
