"""Taking a backup: beside the running server, read again, and nothing that only looks whole."""

import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier, Literal

from api.clock import now
from ops import database
from ops.backup import archive, manifest
from ops.backup.manifest import KEYS, Manifest, Place
from ops.embedded import (
    ADMIN,
    DATABASE,
    MAJOR,
    EmbeddedPostgres,
    account_for,
    launcher_command,
    programs,
)
from ops.settings import Settings

ROOM_TO_SPARE: Final = 128 * 2**20
"""Bytes beyond the size of the databases: the log that is written meanwhile."""

ARCHIVED_SECONDS: Final = 30
"""How long the end of a backup waits for the log to reach the archive."""

PARTIAL: Final = ".partial"
_SEGMENT_BYTES: Final = "SELECT setting::bigint FROM pg_settings WHERE name = 'wal_segment_size'"

Tell = Callable[[str], None]


class BackupFailed(Exception):
    """No backup was taken; the message says why, and what to do."""


class Source(NamedTuple):
    """A server to back up: a role's way to it that may replicate, and the programs for it.

    ``server`` is the embedded one; None: the operator's own.
    """

    dsn: str
    programs: Path
    server: EmbeddedPostgres | None


class Taken(NamedTuple):
    """A whole backup, what was removed after it, and what its taker should know."""

    path: Path
    manifest: Manifest
    removed_backups: tuple[str, ...]
    removed_segments: int
    unarchived: str | None
    """Why the log does not reach the archive; None: it does, or the operator sees to it."""
    notes: tuple[str, ...]


def take(
    settings: Settings,
    folder: Path,
    *,
    keep: int | None = None,
    with_keys: bool = True,
    tell: Tell = lambda _: None,
) -> Taken:
    """Take a backup into a folder of backups, and remove those that are not to be kept.

    ``settings`` are those with the keys. Hands may be posted meanwhile. Raises BackupFailed; then
    nothing is left of it, and nothing was removed.
    """
    folder = folder.resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(folder / "lock"), source(settings) as found:
        for left in folder.glob(f"*{PARTIAL}"):
            shutil.rmtree(left)
        try:
            if found.server is None:
                return _Taking(settings, folder, found, with_keys, tell).run(keep)
            with _alone(found.server.home / "backups.lock"):
                return _Taking(settings, folder, found, with_keys, tell).run(keep)
        except psycopg.OperationalError as error:
            raise BackupFailed(f"The server went away: {error}") from None


@contextmanager
def source(settings: Settings) -> Iterator[Source]:
    """Give the server of the settings, as it is: nothing is migrated; raises BackupFailed."""
    configured = database.operators(settings)
    if configured is None:
        with database.running(settings) as server:
            yield Source(server.dsn(ADMIN), programs(), server)
        return
    for dsn in (configured.owner, configured.application):
        try:
            connection = psycopg.connect(dsn)
        except psycopg.OperationalError as error:
            raise BackupFailed(f"The database cannot be reached: {error}") from None
        with connection:
            row = connection.execute(
                "SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
            if row and row[0]:
                yield Source(dsn, _programs_for(connection.info.server_version // 10000), None)
                return
    raise BackupFailed(
        "Neither role of CARDROOM_DATABASE_URL and CARDROOM_OWNER_DATABASE_URL may take a base "
        "backup. As a superuser: ALTER ROLE cardroom_owner REPLICATION, and a line 'host "
        "replication cardroom_owner …' in pg_hba.conf; or back the server up with its own tools."
    )


def _programs_for(major: int) -> Path:
    """Find pg_basebackup of a server's version: on the path, else those that we bring."""
    found = shutil.which("pg_basebackup")
    if found is not None:
        said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
        if re.search(rf"\) {major}\b", said.stdout):
            return Path(found).resolve().parent
    if str(major) == MAJOR:
        return programs()
    raise BackupFailed(
        f"The server is PostgreSQL {major}: put pg_basebackup of PostgreSQL {major} on the PATH "
        f"(cardroom brings the one of {MAJOR})."
    )


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock, which ends with the process, however it ends."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupFailed(f"Another backup is being taken: {path} is locked.") from None
        yield
    finally:
        os.close(lock)


class _Taking:
    """One backup on its way."""

    def __init__(
        self, settings: Settings, folder: Path, source: Source, with_keys: bool, tell: Tell
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._source = source
        self._with_keys = with_keys and source.server is not None
        self._tell = tell
        self._connection = psycopg.connect(source.dsn, autocommit=True)

    def run(self, keep: int | None) -> Taken:
        with self._connection:
            self._refuse_small_disk()
            archived_in = self._begin_archiving()
            started, begun = now(), place(self._connection)
            path = self._folder / f"{_stamp(started)}-{begun.position}"
            partial = path.with_name(path.name + PARTIAL)
            try:
                partial.mkdir(mode=0o700)
                taken = self._copied(partial, started, begun, archived_in)
                manifest.write(taken, partial)
                self._note(path, taken)
                partial.rename(path)
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise
            manifest.sync(self._folder)
            self._tell_time(started)
            self._tell("waiting for the log to be archived")
            unarchived = None if archived_in is None else self._unarchived(archived_in)
        removed = [] if keep is None else self._thin_out(taken, keep)
        segments = self._prune(archived_in) if archived_in and not unarchived else 0
        notes = tuple(self._notes(archived_in))
        return Taken(path, taken, tuple(removed), segments, unarchived, notes)

    def _value(self, query: Any) -> Any:
        row = self._connection.execute(query).fetchone()
        assert row is not None
        return row[0]

    def _refuse_small_disk(self) -> None:
        size = int(self._value("SELECT sum(pg_database_size(oid)) FROM pg_database"))
        free = shutil.disk_usage(self._folder).free
        if free < size + ROOM_TO_SPARE:
            raise BackupFailed(
                f"Not enough room in {self._folder}: about {megabytes(size + ROOM_TO_SPARE)} are "
                f"needed, {megabytes(free)} are free."
            )

    def _begin_archiving(self) -> Path | None:
        """Let the log be archived from here on; None when the operator's own server does."""
        server = self._source.server
        if server is None:
            return None
        folder = self._value(f"SELECT current_setting('{archive.SETTING}', true)")
        if not folder:
            raise BackupFailed(
                "The running server was started by an older version, which archives no log: "
                "restart 'cardroom serve' first."
            )
        return archive.begin(server.home, Path(folder), account_for(server.home))

    def _copied(
        self, partial: Path, started: datetime, begun: Place, archived_in: Path | None
    ) -> Manifest:
        """Copy the server's files and the keys, and say what they are."""
        data = partial / "data"
        self._tell("copying")
        self._program(
            "pg_basebackup",
            *("--pgdata", str(data), "--wal-method", "stream", "--checkpoint", "fast"),
            *("--manifest-checksums", "SHA256", "--no-password", "--label", partial.stem),
            *("--dbname", make_conninfo(**self._way() | {"password": None})),
        )
        self._tell("reading it again")
        verifies = (self._source.programs / "pg_verifybackup").exists()
        if verifies:
            self._program("pg_verifybackup", "--quiet", str(data))
        log = msgspec.json.decode((data / "backup_manifest").read_bytes())["WAL-Ranges"][-1]
        segment_bytes = int(self._value(_SEGMENT_BYTES))
        first = archive.Segment.at(log["Timeline"], log["Start-LSN"], segment_bytes)
        keys = self._keys()
        return Manifest(
            started_at=started,
            cardroom=version("cardroom-ledger"),
            postgresql=str(self._value("SHOW server_version")).split()[0],
            system_identifier=str(self._value("SELECT system_identifier FROM pg_control_system()")),
            database=self._connection.info.dbname,
            owner=self._value(
                "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()"
            ),
            networks=self._networks(),
            begun=begun,
            ended=place(self._connection),
            timeline=log["Timeline"],
            first_segment=first.name(segment_bytes),
            segment_bytes=segment_bytes,
            size_bytes=sum(file.stat().st_size for file in data.rglob("*") if file.is_file()),
            verified=verifies,
            manifest_sha256=manifest.sha256(data / "backup_manifest"),
            keys={name: hashlib.sha256(key.encode()).hexdigest() for name, key in keys.items()},
            keys_included=self._copy_keys(partial / "keys"),
            wal_archive=None if archived_in is None else str(archived_in),
        )

    def _way(self) -> dict[str, Any]:
        return conninfo_to_dict(self._source.dsn)

    def _program(self, name: str, *arguments: str) -> None:
        """Run a program of PostgreSQL, which ends with this process; the password is not shown."""
        run = subprocess.run(
            launcher_command(self._source.programs / name, arguments, signal.SIGTERM),
            env={**os.environ, "PGPASSWORD": str(self._way().get("password") or "")},
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0:
            said = run.stderr.strip() or run.stdout.strip() or f"it ended with {run.returncode}"
            raise BackupFailed(f"No backup was taken. {said}")

    def _networks(self) -> tuple[str, ...]:
        if self._value("SELECT to_regclass('vault.names')") is None:
            return ()
        rows = self._connection.execute("SELECT DISTINCT network FROM vault.names ORDER BY 1")
        return tuple(row[0] for row in rows)

    def _keys(self) -> dict[str, str]:
        """Return the installation's keys by their file names; those of an issuer are not ours."""
        held = (self._settings.identity_key, self._settings.jwt_key)
        return {
            name: key.get_secret_value()
            for name, key in zip(KEYS, held, strict=True)
            if key is not None
        }

    def _copy_keys(self, folder: Path) -> tuple[str, ...]:
        """Copy the keys that are files; those of the environment the operator keeps himself."""
        if not self._with_keys:
            return ()
        folder.mkdir(mode=0o700)
        copied = []
        for name, key in self._keys().items():
            file = self._settings.data_dir / name
            if file.exists() and file.read_text().strip() == key:
                with os.fdopen(os.open(folder / name, os.O_WRONLY | os.O_CREAT, 0o600), "w") as to:
                    to.write(f"{key}\n")
                    to.flush()
                    os.fsync(to.fileno())
                copied.append(name)
        manifest.sync(folder)
        return tuple(copied)

    def _note(self, path: Path, taken: Manifest) -> None:
        """Remember that the log from here on is needed."""
        if self._source.server is not None:
            home = self._source.server.home
            known = archive.Known.of(home)
            archive.Known({**known.needs, str(path): taken.first_segment}).write(home)

    def _tell_time(self, started: datetime) -> None:
        """Leave the time where ``/metrics`` finds it: backups that end are to raise an alarm."""
        if self._source.server is not None:
            self._connection.execute(
                SQL("ALTER DATABASE {} SET {} = {}").format(
                    Identifier(DATABASE),
                    Identifier("cardroom", "backed_up_at"),
                    Literal(started.isoformat()),
                )
            )

    def _unarchived(self, folder: Path) -> str | None:
        """Wait until the log up to here is archived; say why when it is not."""
        last = self._value("SELECT pg_walfile_name(pg_switch_wal())")
        end = time.monotonic() + ARCHIVED_SECONDS
        while not (folder / last).exists():
            if time.monotonic() > end:
                failed = self._value("SELECT last_failed_wal FROM pg_stat_archiver")
                assert self._source.server is not None
                return (
                    f"The log is not archived in {folder}: {failed or last} does not get there. "
                    "PostgreSQL keeps it and tries again; why, is in "
                    f"{self._source.server.home}/log."
                )
            time.sleep(0.1)
        return None

    def _thin_out(self, newest: Manifest, keep: int) -> list[str]:
        """Remove the older backups of this installation from the folder."""
        of_this = [
            path
            for path, other in manifest.backups_in(self._folder)
            if (other.system_identifier, other.wal_archive)
            == (newest.system_identifier, newest.wal_archive)
        ]
        removed = of_this[:-keep]
        for path in removed:
            leaving = path.rename(path.with_name(path.name + PARTIAL))
            shutil.rmtree(leaving)
        return [path.name for path in removed]

    def _prune(self, folder: Path) -> int:
        """Remove the log that no backup needs which is still there, or may be on a disk away."""
        assert self._source.server is not None
        home = self._source.server.home
        known = archive.Known.of(home).without_deleted()
        known.write(home)
        return archive.prune(folder, min(known.needs.values()))

    def _notes(self, archived_in: Path | None) -> Iterator[str]:
        server = self._source.server
        if server is None or archived_in is None:
            yield "The log of your own server is archived by you; 'restore' takes it with --wal."
            return
        disk = server.data.stat().st_dev
        for what, place in (("backup", self._folder), ("archive", archived_in)):
            if place.exists() and place.stat().st_dev == disk:
                yield f"The {what} is on the disk of the data: it does not outlive that disk."
        for name in archive.Known.of(server.home).away():
            yield f"{name} is not there now; the log that it needs is kept."


def place(connection: psycopg.Connection[Any]) -> Place:
    """Return the newest commit; position 0 in a journal without one."""
    found = connection.execute("SELECT to_regclass('journal.commits')").fetchone()
    if found is None or found[0] is None:
        return Place(0)
    row = connection.execute(
        "SELECT last_position, recorded_at, digest FROM journal.commits"
        " ORDER BY last_position DESC LIMIT 1"
    ).fetchone()
    return Place(0) if row is None else Place(row[0], row[1], bytes(row[2]).hex())


def _stamp(instant: datetime) -> str:
    return f"{instant:%Y%m%dT%H%M%S}.{instant.microsecond // 1000:03}Z"


def megabytes(size: int) -> str:
    """Write a number of bytes for people."""
    return f"{size / 2**20:,.0f} MB"
