"""A card room of one's own for a while: ``cardroom serve`` on a temporary data folder.

Demonstrations and measurements run against what an operator runs, started the way he starts it.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import httpx
from pydantic import SecretStr

from ops.embedded import OWNER, EmbeddedPostgres, home_in, launcher_command
from ops.settings import Settings, key_in
from ops.tokens import token

START_SECONDS = 120
STOP_SECONDS = 60
HOST = "127.0.0.1"
LAST_LINES = 10
LONGEST_LINE = 300


class NotServing(Exception):
    """The card room did not start, or ended; the message holds the last of what it wrote."""


class Serving:
    """``cardroom serve`` with a data folder, running from ``start`` to ``stop``.

    ``settings`` are further ones, by their names in the environment.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        api_processes: int = 1,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.data_dir = data_dir
        self.api_processes = api_processes
        self._settings = settings
        self.port = 0
        self._log = data_dir / "serve.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def base_url(self) -> str:
        """Where the API answers."""
        return f"http://{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The supervisor's process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it on a free port and wait until it is ready; raises NotServing.

        It ends with the thread that starts it, however that ends.
        """
        self.port = _free_port()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                launcher_command(Path(sys.executable), ["-m", "ops", "serve"], signal.SIGTERM),
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise NotServing(f"cardroom serve did not start:\n{self._last_lines()}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Let it finish what it has begun, and wait until everything has ended."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None

    def token(self, role: str, *, partner: str | None = None, subject: str | None = None) -> str:
        """Sign a token of a role with the installation's own key."""
        key = SecretStr(key_in(self.data_dir / "jwt.key"))
        settings = Settings(database_url=None, owner_database_url=None, data_dir=self.data_dir)
        told = settings.model_copy(update={"jwt_key": key})
        return token(told, role, partner=partner, subject=subject)

    def dsn(self, role: str = OWNER) -> str:
        """Return the connection string of a role of the running database."""
        server = EmbeddedPostgres(home_in(self.data_dir))
        server.attach()
        return server.dsn(role)

    def command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run another command of ``cardroom`` on the same installation."""
        return subprocess.run(
            [sys.executable, "-m", "ops", *arguments],
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def _environment(self) -> Mapping[str, str]:
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("CARDROOM_")
        }
        return inherited | {
            "CARDROOM_DATA_DIR": str(self.data_dir),
            "CARDROOM_HOST": HOST,
            "CARDROOM_PORT": str(self.port),
            "CARDROOM_API_PROCESSES": str(self.api_processes),
            "CARDROOM_LOG_LEVEL": "warning",
            **self._settings,
        }

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.base_url}/readyz", timeout=2).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def _last_lines(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        return "\n".join(
            line if len(line) < LONGEST_LINE else f"... {line[-LONGEST_LINE:]}" for line in lines
        )


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a data folder that PostgreSQL's user may enter, and remove all of it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="cardroom-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        home = home_in(folder)
        shutil.rmtree(folder)
        if home.exists():  # root's temporary folder may be closed to others
            shutil.rmtree(home)


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
