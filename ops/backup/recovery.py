"""PostgreSQL recovering from a backup and the archived log, up to a place that it is told.

It is reached through its socket alone, and only by who runs it: the passwords in the backup are
those of another installation.
"""

import os
import pwd
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier, Literal

from ops.embedded import (
    ADMIN,
    DATABASE,
    STOP_SECONDS,
    DatabaseProblem,
    EmbeddedPostgres,
    programs,
)

LOOK_SECONDS: Final = 0.05

# A standby that may be read needs at least what the server had whose log it follows.
_AT_LEAST: Final = {
    "max_connections setting": "max_connections",
    "max_worker_processes setting": "max_worker_processes",
    "max_wal_senders setting": "max_wal_senders",
    "max_prepared_xacts setting": "max_prepared_transactions",
    "max_locks_per_xact setting": "max_locks_per_transaction",
}


class RecoveryFailed(DatabaseProblem):
    """PostgreSQL does not recover; the message is its own."""


class RecoveringPostgres(EmbeddedPostgres):
    """A server that recovers the data in a home, with the log from one folder, and may be read.

    ``target`` has PostgreSQL's ``recovery_target…`` settings; without one it recovers to the end
    of the log. It archives nothing.
    """

    MAY_BE_HALF_RESTORED = True

    def __init__(self, home: Path, log: Path, target: Mapping[str, str]) -> None:
        super().__init__(home)
        access, people = self.home / "recovery.hba", self.home / "recovery.ident"
        self.options |= {
            **_demanded(self.data),
            **target,
            "archive_mode": "off",
            "hot_standby": "on",
            "max_standby_archive_delay": "-1",
            "recovery_target_timeline": "current",
            "restore_command": f'cp {shlex.quote(str(log)).replace("%", "%%")}/%f "%p"',
            "hba_file": str(access),
            "ident_file": str(people),
        }
        access.write_text("local all all peer map=restore\n")
        people.write_text(f"restore {pwd.getpwuid(os.geteuid()).pw_name} {ADMIN}\n")
        for path in (access, people):
            path.chmod(0o644)
        self._sockets: Path | None = None

    def start(self) -> None:
        """Start it and wait until it may be read: from the end of the base backup on."""
        self._take_home()
        try:
            self._program = self._reachable_program()
            self._refuse_other_version()
            (self.data / "recovery.signal").touch()
            self._give(self.data / "recovery.signal")
            self._launch_when_free()
        except DatabaseProblem as problem:
            self.stop()
            raise RecoveryFailed(str(problem)) from None
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop it where it is."""
        super().stop()
        if self._sockets is not None:
            shutil.rmtree(self._sockets, ignore_errors=True)
            self._sockets = None

    def dsn(self, role: str = ADMIN, database: str = DATABASE) -> str:
        """Return the way to it, which needs no password."""
        return make_conninfo(
            host=str(self._socket_folder()), port=self.port, user=role, dbname=database
        )

    def _socket_folder(self) -> Path:
        """Return the home's own folder, or a short-lived one where its path is too long."""
        own = super()._socket_folder()
        if own is not None:
            return own
        if self._sockets is None:
            self._sockets = Path(tempfile.mkdtemp(prefix="cardroom-"))
            self._give(self._sockets)
        return self._sockets

    def recovered(self) -> bool:
        """Tell whether it has reached its target, or the end, and now writes by itself."""
        try:
            with psycopg.connect(self.dsn(database="postgres")) as connection:
                row = connection.execute("SELECT pg_is_in_recovery()").fetchone()
        except psycopg.OperationalError:
            if self.process is None:
                raise
            self.process.wait(STOP_SECONDS)
            raise RecoveryFailed(
                f"PostgreSQL ended while it recovered: {self._last_words()}"
            ) from None
        return row == (False,)

    def wait_until_recovered(self, look: Callable[[str], None]) -> None:
        """Wait for the end of the recovery, and tell at which place of the log it is."""
        while not self.recovered():
            look(self.replayed())
            time.sleep(LOOK_SECONDS)

    def replayed(self) -> str:
        """Return the place in the log up to which it has recovered."""
        with psycopg.connect(self.dsn(database="postgres")) as connection:
            row = connection.execute("SELECT pg_last_wal_replay_lsn()::text").fetchone()
        assert row is not None
        return str(row[0])

    def set_passwords(self) -> None:
        """Give the roles new passwords, and write them to the home."""
        self._make_passwords()
        with psycopg.connect(self.dsn(database="postgres")) as connection:
            for role, password in self._passwords.items():
                if connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).rowcount:
                    connection.execute(
                        SQL("ALTER ROLE {} PASSWORD {}").format(Identifier(role), Literal(password))
                    )


def _demanded(data: Path) -> dict[str, str]:
    """Read from the data what a server that follows their log must be set to."""
    said: Any = subprocess.run(
        [programs() / "pg_controldata", str(data)], capture_output=True, text=True, check=False
    )
    if said.returncode != 0:
        raise RecoveryFailed(f"{data} cannot be read: {said.stderr.strip()}")
    found = dict(line.split(":", 1) for line in said.stdout.splitlines() if ":" in line)
    return {name: found[label].strip() for label, name in _AT_LEAST.items()}
