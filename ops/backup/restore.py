"""Restoring: a backup and the log become a new installation, at one commit, and are checked.

To stop at a commit PostgreSQL must be told its transaction, and that is known only when it has been
recovered. So a first recovery, which may be read while it goes on, looks for the commit, and a
second one, of the same files, ends with it.
"""

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final, LiteralString, NamedTuple

import psycopg

from ops.backup import archive, manifest
from ops.backup.archive import Log, Segment
from ops.backup.manifest import KEYS, Manifest, NoBackup, Place
from ops.backup.recovery import LOOK_SECONDS, RecoveringPostgres
from ops.backup.take import ROOM_TO_SPARE, megabytes, place
from ops.check import prove
from ops.embedded import (
    APPLICATION,
    DATABASE,
    MAJOR,
    OWNER,
    RESTORING,
    Account,
    EmbeddedPostgres,
    account_for,
    home_in,
    launcher_command,
    programs,
)
from ops.migrate import migrate
from ops.settings import Settings
from projections.check.report import Report
from projections.generations import StaleGenerationError

Tell = Callable[[str], None]

# What a server of the operator's says of its own files and addresses does not hold here.
_ACCESS: Final = "".join(
    f"{kind} {database} all {address} scram-sha-256\n"
    for kind, address in (("local", ""), ("host", "127.0.0.1/32"))
    for database in ("all", "replication")
)


class RestoreRefused(Exception):
    """What was asked for cannot be restored; the message says what can. Nothing is left behind."""


class Target(NamedTuple):
    """The commit to restore to: the last one up to a position or a recorded time, else the last."""

    position: int | None = None
    recorded_at: datetime | None = None

    def __bool__(self) -> bool:
        return self != Target()

    def __str__(self) -> str:
        if self.recorded_at is not None:
            return f"What was recorded by {self.recorded_at.isoformat()}"
        return f"Position {self.position}"


class Restored(NamedTuple):
    """What was restored, and what the check says of it."""

    place: Place
    report: Report | None
    """None: the projections are those of another version, ``notes`` says what to do."""
    notes: tuple[str, ...]
    marker: Path

    @property
    def ready(self) -> bool:
        """Whether it may be served."""
        return self.report is not None and self.report.clean


class _Found(NamedTuple):
    """A commit, and the transaction that wrote it; None: it is the last one of the base backup."""

    place: Place
    transaction: str | None


def restore(
    backup: Path,
    into: Path,
    target: Target,
    *,
    wal: Sequence[Path] = (),
    keys: Path | None = None,
    settings: Settings,
    tell: Tell = lambda _: None,
) -> Restored:
    """Restore a backup, or of a folder of backups the newest that does, into a new data folder.

    ``wal`` are folders with the log, beside the archive that the backup names; ``keys`` has the
    keys that are not in the backup. Raises RestoreRefused, NoBackup, DatabaseProblem.
    """
    path, taken = choose(backup.resolve(), target)
    if taken.major != MAJOR:
        raise RestoreRefused(
            f"{path} is of PostgreSQL {taken.postgresql}; this version of cardroom brings "
            f"PostgreSQL {MAJOR}, which cannot read it. Restore it with cardroom {taken.cardroom}, "
            "which took it."
        )
    if (taken.database, taken.owner) != (DATABASE, OWNER):
        raise RestoreRefused(
            f"{path} is of a server whose database is {taken.database}, owned by {taken.owner}; "
            f"an installation's is {DATABASE}, owned by {OWNER}. Restore it with PostgreSQL itself."
        )
    _refuse_damaged(path, taken, tell)
    held = _keys(path, taken, keys, settings)
    with _new(into.resolve()) as home:
        return _Restoring(
            path, taken, target, into=into.resolve(), home=home, keys=held, wal=wal, tell=tell
        ).run()


def choose(backup: Path, target: Target) -> tuple[Path, Manifest]:
    """Return the backup, or the newest of a folder of them from which the target is reached."""
    if (backup / manifest.NAME).exists():
        taken = manifest.read(backup)
        if not _may_reach(taken, target):
            raise RestoreRefused(_too_old(backup, taken, target))
        return backup, taken
    there = [*manifest.backups_in(backup)]
    if not there:
        manifest.read(backup)
        raise NoBackup(f"{backup} holds no whole backup.")
    if len({(taken.system_identifier, taken.wal_archive) for _, taken in there}) > 1:
        raise RestoreRefused(f"{backup} has backups of several installations: name one of them.")
    reaching = [one for one in there if _reaches(one[1], target)]
    if not reaching:
        raise RestoreRefused(_too_old(*there[0], target))
    return reaching[-1]


def _reaches(taken: Manifest, target: Target) -> bool:
    """Tell whether a backup had ended by the target."""
    ended = taken.ended
    if target.position is not None:
        return ended.position <= target.position
    if target.recorded_at is not None:
        return ended.recorded_at is None or ended.recorded_at <= target.recorded_at
    return True


def _may_reach(taken: Manifest, target: Target) -> bool:
    """Tell whether a backup had begun by the target: only recovering it tells where it ends."""
    return _reaches(taken.ending_at(taken.begun), target)


def _too_old(path: Path, taken: Manifest, target: Target) -> str:
    older = [
        other.name
        for other, one in manifest.backups_in(path.parent)
        if one.system_identifier == taken.system_identifier and _reaches(one, target)
    ]
    instead = f"Restore {older[-1]} instead." if older else "There is no older one beside it."
    return (
        f"{target} is before the end of the backup {path.name}, at position "
        f"{taken.ended.position}: a backup restores its own end and what came later. {instead}"
    )


def _refuse_damaged(path: Path, taken: Manifest, tell: Tell) -> None:
    """Read the whole backup, and compare it with what it was when it was taken."""
    tell("reading the backup")
    data = path / "data"
    own = data / "backup_manifest"
    if not own.exists() or manifest.sha256(own) != taken.manifest_sha256:
        raise RestoreRefused(f"{path} is damaged: {own} is not what it was.")
    run = subprocess.run(
        [programs() / "pg_verifybackup", "--quiet", data],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        said = run.stderr.strip().splitlines()
        raise RestoreRefused(f"{path} is damaged: {'; '.join(said[:3])}")


def _keys(path: Path, taken: Manifest, apart: Path | None, settings: Settings) -> dict[str, str]:
    """Return the keys to put into the installation; each must be the one of the backup."""
    held = {}
    for name in taken.keys:
        for folder in (apart, path / "keys"):
            if folder is not None and (folder / name).exists():
                key = (folder / name).read_text().strip()
                if not _is_key(key, taken, name):
                    raise RestoreRefused(f"{folder / name} is another key than the backup's.")
                held[name] = key
                break
    identity = KEYS[0]
    given = settings.identity_key
    if identity not in held and not (
        given is not None and _is_key(given.get_secret_value(), taken, identity)
    ):
        raise RestoreRefused(
            f"{identity} is not in the backup, and without it no player is recognised: name the "
            "folder that it is in with --keys, or set CARDROOM_IDENTITY_KEY."
        )
    return held


def _is_key(key: str, taken: Manifest, name: str) -> bool:
    return hashlib.sha256(key.encode()).hexdigest() == taken.keys.get(name)


@contextmanager
def _new(into: Path) -> Iterator[Path]:
    """Give the home of a new installation; when the restore fails nothing is left of it.

    A marker keeps others from using it until it is taken away; one that was left by a restore that
    was killed is begun again.
    """
    made = not into.exists()
    if not made and any(into.iterdir()):
        if not (into / "postgres.elsewhere").exists() and not (into / "postgres").exists():
            raise RestoreRefused(f"{into} is not empty: name a new folder.")
        if not (home_in(into) / RESTORING).exists():
            raise RestoreRefused(f"{into} has an installation, which is never overwritten.")
    into.mkdir(parents=True, exist_ok=True)
    home = home_in(into)
    home.mkdir(mode=0o700, exist_ok=True)
    marker = os.open(home / RESTORING, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RestoreRefused(f"Another restore into {into} is running.") from None
        for left in home.iterdir():
            if left.name != RESTORING:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        try:
            yield home
        except BaseException:
            _remove(into, home, made)
            raise
    finally:
        os.close(marker)


def _remove(into: Path, home: Path, made: bool) -> None:
    for name in KEYS:
        (into / name).unlink(missing_ok=True)
    for left in home.iterdir():
        if left.name != RESTORING:  # it goes last: what is left must not look like something
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    shutil.rmtree(home)
    (into / "postgres.elsewhere").unlink(missing_ok=True)
    if made:
        into.rmdir()


class _Restoring:
    """One restore on its way."""

    def __init__(
        self,
        path: Path,
        taken: Manifest,
        target: Target,
        *,
        into: Path,
        home: Path,
        keys: dict[str, str],
        wal: Sequence[Path],
        tell: Tell,
    ) -> None:
        self._path = path
        self._taken = taken
        self._target = target
        self._into = into
        self._home = home
        self._held = keys
        self._tell = tell
        self._account = account_for(home)
        self._log = self._read_log(wal)
        self._notes: list[str] = []

    def run(self) -> Restored:
        self._refuse_small_disk()
        self._lay_out_log()
        found = self._look_for_target() if self._target else None
        restored = self._recover(found)
        shutil.rmtree(self._home / "log-to-recover")
        for name in ("recovery.hba", "recovery.ident"):
            (self._home / name).unlink()
        self._write_keys()
        report = self._check()
        marker = self._home / RESTORING
        done = Restored(restored, report, tuple(self._notes), marker)
        if done.ready:
            marker.unlink()
            manifest.sync(self._home)
        return done

    # -- the log ---------------------------------------------------------------------------

    def _read_log(self, wal: Sequence[Path]) -> Log:
        """Find the log in the folders that were named, in the archive, in the backup itself."""
        folders = [folder.resolve() for folder in wal]
        for folder in folders:
            if not folder.is_dir():
                raise RestoreRefused(f"{folder} is not there.")
        if self._taken.wal_archive is not None and Path(self._taken.wal_archive).is_dir():
            folders.append(Path(self._taken.wal_archive))
        if not folders and self._target:
            raise RestoreRefused(
                f"The archived log is not there ({self._taken.wal_archive or 'not ours'}): name "
                "its folder with --wal. Without it the end of the backup can be restored, without "
                "a target."
            )
        folders.append(self._path / "data" / "pg_wal")
        size = self._taken.segment_bytes
        return archive.read(folders, Segment.named(self._taken.first_segment, size), size)

    def _lay_out_log(self) -> None:
        """Make a folder with exactly the segments to recover, which PostgreSQL's user can read."""
        folder = self._home / "log-to-recover"
        folder.mkdir(mode=0o755)
        readable: dict[Path, bool] = {}
        for name, path in self._log.segments.items():
            if path.parent not in readable:
                readable[path.parent] = self._account is None or _reads(self._account, path)
            if readable[path.parent]:
                (folder / name).symlink_to(path)
            else:
                shutil.copyfile(path, folder / name)
                self._give(folder / name)

    def _give(self, path: Path) -> None:
        if self._account is not None:
            os.chown(path, *self._account, follow_symlinks=False)

    def _refuse_small_disk(self) -> None:
        needed = self._taken.size_bytes + ROOM_TO_SPARE
        if self._account is not None:
            needed += len(self._log.segments) * self._taken.segment_bytes
        free = shutil.disk_usage(self._home).free
        if free < needed:
            raise RestoreRefused(
                f"Not enough room in {self._home}: about {megabytes(needed)} are needed, "
                f"{megabytes(free)} are free."
            )

    def _refuse_broken(self, server: RecoveringPostgres) -> None:
        """Refuse what was recovered when the log goes on after its end."""
        last = max(self._log.segments)
        reached = Segment.at(
            self._taken.timeline, server.replayed(), self._taken.segment_bytes
        ).name(self._taken.segment_bytes)
        broken = self._log.broken if reached >= last else reached
        if broken is None:
            return
        end = _place_of(server)
        raise RestoreRefused(
            f"The log is broken: segment {broken} is missing or damaged, and there are later ones. "
            f"Before it is {end}: --to-position {end.position} restores the books "
            "up to there. Another copy of the segment is taken from the folder named with --wal."
        )

    # -- recovering ------------------------------------------------------------------------

    def _copy(self) -> None:
        """Put the base backup in the place of what is there."""
        data = self._home / "data"
        self._tell("copying")
        if data.exists():
            shutil.rmtree(data)
        shutil.copytree(self._path / "data", data, symlinks=True)
        data.chmod(0o700)
        if self._taken.wal_archive is None:
            (data / "postgresql.conf").write_text("# cardroom gives the settings at the start.\n")
            (data / "postgresql.auto.conf").write_text("")
            (data / "pg_hba.conf").write_text(_ACCESS)
        for path in (data, *data.rglob("*")):
            self._give(path)

    def _recovering(self, **target: str) -> RecoveringPostgres:
        return RecoveringPostgres(self._home, self._home / "log-to-recover", target)

    def _look_for_target(self) -> _Found:
        """Recover until the commit that is asked for is there."""
        self._copy()
        with self._recovering(
            recovery_target="immediate", recovery_target_action="pause", fsync="off"
        ) as server:
            while not _is_paused(server):
                time.sleep(LOOK_SECONDS)
            earliest = _place_of(server)
        with self._recovering(fsync="off") as server:
            found = self._found_in(server)
        if found.place.position < earliest.position:
            at_end = self._taken.ending_at(earliest)
            raise RestoreRefused(_too_old(self._path, at_end, self._target))
        if self._target.position not in (None, found.place.position):
            self._notes.append(
                f"{self._target} is inside a commit, which is whole or not at "
                f"all: these are the books at the end of the one before, {found.place.position}."
            )
        return found if found.place != earliest else _Found(earliest, None)

    def _found_in(self, server: RecoveringPostgres) -> _Found:
        """Wait until the recovery has passed the target, and return its commit."""
        while True:
            ended = server.recovered()
            with psycopg.connect(server.dsn()) as connection:
                passed, found = _commit_at(connection, self._target)
            if passed:
                return found
            if ended:
                return self._at_the_end(server, found)
            self._tell(f"looking for the commit: position {found.place.position:,}")
            time.sleep(LOOK_SECONDS)

    def _at_the_end(self, server: RecoveringPostgres, found: _Found) -> _Found:
        """Take the last commit for a later time; a position that is not there is refused."""
        self._refuse_broken(server)
        if self._target.position is not None:
            raise RestoreRefused(f"{self._target} is not in the log, which ends at {found.place}.")
        self._notes.append(
            f"The log ends before that time, at {found.place}: these are its newest books."
        )
        return found

    def _recover(self, found: _Found | None) -> Place:
        """Recover to a commit, or to the end of the log."""
        self._copy()
        with self._recovering(**_stop_at(found)) as server:
            server.wait_until_recovered(lambda at: self._tell(f"recovering: {at}"))
            if found is None:
                self._refuse_broken(server)
            restored = _place_of(server)
            server.set_passwords()
        if found is not None and restored != found.place:
            raise AssertionError(f"recovered to {restored} instead of {found.place}")
        if self._log.broken is not None:
            self._notes.append(f"Later on the log is broken: {self._log.broken} is missing.")
        return restored

    # -- the rest of an installation -------------------------------------------------------

    def _write_keys(self) -> None:
        for name, key in self._held.items():
            file = os.open(self._into / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(file, "w") as to:
                to.write(f"{key}\n")
        if KEYS[1] in self._taken.keys and KEYS[1] not in self._held:
            self._notes.append("A new jwt.key is made at the start: the tokens end that are about.")

    def _check(self) -> Report | None:
        """Do what ``cardroom check`` does."""
        with _HalfRestored(self._home) as server:
            migrate(server.dsn(OWNER))
            try:
                return prove(server.dsn(APPLICATION), lambda what, at: self._tell(f"{what} {at:,}"))
            except StaleGenerationError as error:
                self._notes.append(str(error))
                return None


class _HalfRestored(EmbeddedPostgres):
    """The server of an installation that is still being restored."""

    MAY_BE_HALF_RESTORED = True


def _stop_at(found: _Found | None) -> dict[str, str]:
    if found is None:
        return {}
    if found.transaction is None:
        return {"recovery_target": "immediate", "recovery_target_action": "promote"}
    return {"recovery_target_xid": found.transaction, "recovery_target_action": "promote"}


def _reads(account: Account, path: Path) -> bool:
    """Tell whether PostgreSQL's user can read a file."""
    command = launcher_command(
        Path("/bin/sh"), ["-c", 'test -r "$0"', str(path)], signal.SIGTERM, str(account)
    )
    return subprocess.run(command, check=False).returncode == 0


def _is_paused(server: RecoveringPostgres) -> bool:
    if server.recovered():
        return True
    with psycopg.connect(server.dsn(database="postgres")) as connection:
        row = connection.execute("SELECT pg_get_wal_replay_pause_state()").fetchone()
    return row == ("paused",)


def _place_of(server: RecoveringPostgres) -> Place:
    with psycopg.connect(server.dsn()) as connection:
        return place(connection)


_COMMIT: Final[LiteralString] = (
    "SELECT last_position, recorded_at, digest, xmin::text FROM journal.commits"
)
_NEWEST_FIRST: Final[LiteralString] = " ORDER BY last_position DESC LIMIT 1"


def _commit_at(connection: psycopg.Connection[Any], target: Target) -> tuple[bool, _Found]:
    """Return whether the target is passed, and the last commit up to it so far."""
    there = connection.execute("SELECT to_regclass('journal.commits')").fetchone()
    if there is None or there[0] is None:
        return False, _Found(Place(0), None)
    if target.position is not None:
        passed = connection.execute(
            "SELECT FROM journal.commits WHERE last_position >= %s LIMIT 1", [target.position]
        ).fetchone()
        row = connection.execute(
            _COMMIT + " WHERE last_position <= %s" + _NEWEST_FIRST, [target.position]
        ).fetchone()
    else:
        passed = connection.execute(
            "SELECT FROM journal.commits WHERE recorded_at > %s LIMIT 1", [target.recorded_at]
        ).fetchone()
        row = connection.execute(
            _COMMIT + " WHERE recorded_at <= %s" + _NEWEST_FIRST, [target.recorded_at]
        ).fetchone()
    if row is None:
        return passed is not None, _Found(Place(0), None)
    return passed is not None, _Found(Place(row[0], row[1], bytes(row[2]).hex()), row[3])
