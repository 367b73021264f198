"""The embedded database: it keeps what was committed, and refuses what would harm it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

import ops
from ops import embedded
from ops.embedded import (
    AlreadyRunning,
    DatabaseProblem,
    EmbeddedPostgres,
    account_for,
    home_in,
)

PROJECT = Path(ops.__file__).parent.parent

RUN = """
import sys, time
from pathlib import Path
from ops.embedded import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
server.start()
print(server.process.pid, server.dsn("cardroom_owner"), sep="\\n", flush=True)
time.sleep(60)
"""


def note(dsn: str, text: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS notes (text text)")
        connection.execute("INSERT INTO notes VALUES (%s)", [text])


def notes(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as connection:
        return [row[0] for row in connection.execute("SELECT text FROM notes ORDER BY text")]


def runs(pid: int) -> bool:
    """Tell whether a process runs; one that has ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone_within(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while runs(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not runs(pid)


def test_what_was_committed_survives_a_killed_server(home: Path) -> None:
    with EmbeddedPostgres(home) as server:
        note(server.dsn("cardroom_owner"), "before")
        assert server.process is not None
        server.process.kill()
        server.process.wait()
        assert server.poll() == -signal.SIGKILL
        server.stop()
        server.start()
        assert notes(server.dsn("cardroom_owner")) == ["before"]
    with EmbeddedPostgres(home) as server:
        assert notes(server.dsn("cardroom_owner")) == ["before"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_the_server_ends_when_the_process_that_runs_it_is_killed(home: Path) -> None:
    runner = subprocess.Popen(
        [sys.executable, "-c", RUN, str(home)], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )
    assert runner.stdout is not None
    pid, dsn = int(runner.stdout.readline()), runner.stdout.readline().strip()
    note(dsn, "before")
    runner.kill()
    runner.wait()
    runner.stdout.close()
    with EmbeddedPostgres(home) as server:
        assert gone_within(pid, 5)
        assert notes(server.dsn("cardroom_owner")) == ["before"]


def test_a_second_start_on_the_same_folder_is_refused(home: Path) -> None:
    with EmbeddedPostgres(home) as server:
        with pytest.raises(AlreadyRunning, match=f"already run by process {os.getpid()}"):
            EmbeddedPostgres(home).start()
        assert server.poll() is None
        attached = EmbeddedPostgres(home)
        attached.attach()
        note(attached.dsn("cardroom_owner"), "from beside")
        attached.stop()
        assert notes(server.dsn("cardroom_owner")) == ["from beside"]


def test_a_folder_of_another_major_version_is_refused_and_left_alone(home: Path) -> None:
    with EmbeddedPostgres(home):
        pass
    marker = home / "data" / "PG_VERSION"
    marker.write_text("17\n")
    before = sorted(path.name for path in (home / "data").iterdir())
    with pytest.raises(DatabaseProblem, match=r"(?s)PostgreSQL 17.*pg_dump"):
        EmbeddedPostgres(home).start()
    assert sorted(path.name for path in (home / "data").iterdir()) == before


def test_a_reused_process_number_does_not_keep_the_server_from_starting(home: Path) -> None:
    with EmbeddedPostgres(home) as server:
        note(server.dsn("cardroom_owner"), "before")
        assert server.process is not None
        server.process.kill()
        server.process.wait()
        record = home / "data" / "postmaster.pid"
        rest = record.read_text().split("\n", 1)[1]
        bystander = subprocess.Popen(["sleep", "60"], user=(home / "data").stat().st_uid)
        record.write_text(f"{bystander.pid}\n{rest}")
        server.stop()
        server.start()
        assert notes(server.dsn("cardroom_owner")) == ["before"]
        assert bystander.poll() is None
        bystander.kill()
        bystander.wait()


def test_an_interrupted_first_start_begins_again(home: Path) -> None:
    (home / "data.partial" / "base").mkdir(parents=True)
    with EmbeddedPostgres(home) as server:
        note(server.dsn("cardroom_owner"), "here")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root writes into another user's folder")
def test_root_takes_over_a_users_folder_and_gives_it_back(home: Path) -> None:
    with EmbeddedPostgres(home) as server:
        note(server.dsn("cardroom_owner"), "before")
    everything = (home, *home.rglob("*"))
    for path in everything:
        os.chown(path, 65533, 65533, follow_symlinks=False)
    with EmbeddedPostgres(home) as server:
        assert notes(server.dsn("cardroom_owner")) == ["before"]
    assert {path.stat().st_uid for path in everything if path.exists()} == {65533}


def test_a_link_in_the_place_of_a_file_is_not_followed(home: Path) -> None:
    with EmbeddedPostgres(home):
        pass
    victim = home.parent / "victim"
    victim.write_text("precious")
    (home / "start.log").unlink()
    (home / "start.log").symlink_to(victim)
    with pytest.raises(OSError, match=r"start\.log"):
        EmbeddedPostgres(home).start()
    assert victim.read_text() == "precious"


def test_lost_passwords_are_not_replaced(home: Path) -> None:
    with EmbeddedPostgres(home):
        pass
    (home / "passwords.json").unlink()
    with pytest.raises(DatabaseProblem, match=r"passwords\.json is missing"):
        EmbeddedPostgres(home).start()


def test_why_the_server_does_not_start_is_told(home: Path) -> None:
    with pytest.raises(DatabaseProblem, match="no_such_setting"):
        EmbeddedPostgres(home, options={"no_such_setting": "1"}).start()


def test_nobody_else_can_read_the_folder_or_the_passwords(home: Path) -> None:
    with EmbeddedPostgres(home) as server:
        assert home.stat().st_mode & 0o066 == 0
        for name in ("data", "log", "run", "passwords.json", "lock", "start.log"):
            assert (home / name).stat().st_mode & 0o077 == 0, name
        with psycopg.connect(server.dsn("postgres")) as connection:
            row = connection.execute("SHOW fsync").fetchone()
            assert row == ("on",)
        wrong = psycopg.conninfo.make_conninfo(server.dsn(), password="wrong")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(wrong)


def test_a_long_path_does_without_a_socket(home: Path) -> None:
    deep = home.parent / ("d" * 60) / ("e" * 60)
    with EmbeddedPostgres(deep) as server:
        assert "host=127.0.0.1" in server.dsn()
        note(server.dsn("cardroom_owner"), "here")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes to another user")
def test_root_runs_it_as_another_user_and_touches_nothing_else(home: Path) -> None:
    before = (home.parent.stat(), home.parent.parent.stat())
    with EmbeddedPostgres(home) as server:
        assert server.process is not None
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        uids = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]
        assert set(uids) == {str((home / "data").stat().st_uid)}
        assert "0" not in uids
        owners = {path.name: path.stat().st_uid for path in home.iterdir()}
        assert {name for name, uid in owners.items() if uid != 0} == {"data", "log", "run"}
    after = (home.parent.stat(), home.parent.parent.stat())
    assert [(s.st_mode, s.st_uid) for s in after] == [(s.st_mode, s.st_uid) for s in before]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes to another user")
def test_the_database_goes_elsewhere_when_its_user_may_not_enter_the_data_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "ELSEWHERE", home.parent / "lib")
    (home.parent / "lib").mkdir(mode=0o755)
    closed = home.parent / "closed"
    closed.mkdir(mode=0o700)
    found = home_in(closed / "var")
    assert found.parent == home.parent / "lib"
    assert home_in(closed / "var") == found
    assert closed.stat().st_mode & 0o777 == 0o700
    assert home_in(home.parent / "open") == home.parent / "open" / "postgres"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_runs_it_as_himself(home: Path) -> None:
    python = interpreter_for_everyone()
    account = account_for(home)
    assert account is not None
    own = home.parent / "own"
    own.mkdir()
    os.chown(own, *account)
    for package in ("ops", "migrations", "api", "ledger"):
        shutil.copytree(PROJECT / package, own / package)
    packages = Path(psycopg.__file__).parent.parent
    runner = subprocess.Popen(
        [python, "-c", RUN, str(own / "postgres")],
        cwd=own,
        env={"PYTHONPATH": f"{own}:{packages}", "PYTHONDONTWRITEBYTECODE": "1"},
        user=account.uid,
        group=account.gid,
        extra_groups=[],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert runner.stdout is not None
    pid, dsn = int(runner.stdout.readline()), runner.stdout.readline().strip()
    note(dsn, "here")
    assert notes(dsn) == ["here"]
    assert not (own / "postgres" / "program").exists()
    runner.terminate()
    runner.wait()
    runner.stdout.close()
    assert gone_within(pid, 10)


def interpreter_for_everyone() -> str:
    """Return a Python of this version that any user can run, with the packages in reach."""
    account = account_for(Path("/nonexistent"))
    assert account is not None
    packages = Path(psycopg.__file__).parent.parent
    name = f"python3.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        try:
            subprocess.run(
                [candidate, "-c", "import psycopg, psycopg_binary, pydantic"],
                env={"PYTHONPATH": str(packages)},
                user=account.uid,
                group=account.gid,
                cwd="/",
                check=True,
                capture_output=True,
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        return candidate
    pytest.skip("no Python of this version, or not the packages, in reach of an ordinary user")
