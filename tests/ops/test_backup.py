"""Backups are whole or not there, and what is restored are the books of that commit, proven."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psycopg
import pytest
from typer.testing import CliRunner

import ops
from ops import cli
from ops.backup import archive, take
from ops.backup.archive import Segment
from ops.embedded import ADMIN, APPLICATION, OWNER, DatabaseProblem, EmbeddedPostgres, home_in
from ops.serving import Serving
from projections import checkpoints, generations
from projections.runner import Projector, connect
from tests.projections.story import Room, write

PROJECT = Path(ops.__file__).parent.parent


class Commit(NamedTuple):
    """A commit of the live book."""

    position: int
    recorded_at: datetime
    digest: str


class Installation(NamedTuple):
    """A card room that runs, with a backup of it and what its journal was afterwards."""

    folder: Path
    data_dir: Path
    server: EmbeddedPostgres
    backup: Path
    commits: list[Commit]
    segments: list[str]
    """Of the log after the backup."""

    @property
    def manifest(self) -> dict[str, Any]:
        return json.loads((self.backup / "backup.json").read_text())

    @property
    def archived(self) -> Path:
        return Path(self.manifest["wal_archive"])

    def later(self, number: int) -> Commit:
        """Return a commit after the backup's end, by its place."""
        ended = self.manifest["ended"]["position"]
        return [commit for commit in self.commits if commit.position > ended][number]


def cardroom(data_dir: Path, *arguments: object, **settings: str) -> tuple[int, str]:
    """Run a command in this process; return its status and what it said."""
    told = {f"CARDROOM_{name}": text for name, text in settings.items()}
    environment = {"CARDROOM_DATA_DIR": str(data_dir), "CARDROOM_IDENTITY_KEY": None, **told}
    result = CliRunner().invoke(cli.app, [str(one) for one in arguments], env=environment)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        assert isinstance(result.exception, cli.EXPECTED), result.exc_info
        return 1, result.output + str(result.exception)
    return result.exit_code, result.output


def process(data_dir: Path, *arguments: object) -> "subprocess.Popen[str]":
    """Run a command as a process that can be killed."""
    return subprocess.Popen(
        [sys.executable, "-m", "ops", *(str(one) for one in arguments)],
        cwd=PROJECT,
        env={**os.environ, "CARDROOM_DATA_DIR": str(data_dir)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def project(dsn: str) -> None:
    number = generations.ensure(dsn)
    with connect(dsn) as connection, checkpoints.recorder() as recorder:
        Projector(connection, recorder, number).catch_up()


def journal(dsn: str) -> list[Commit]:
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "SELECT last_position, recorded_at, encode(digest, 'hex') FROM journal.commits"
            " ORDER BY last_position"
        ).fetchall()
    return [Commit(*row) for row in rows]


def switch_segment(server: EmbeddedPostgres, archived: Path) -> str:
    """End a segment of the log and wait until it is in the archive; return its name."""
    with psycopg.connect(server.dsn(ADMIN), autocommit=True) as connection:
        row = connection.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone()
    assert row is not None
    end = time.monotonic() + 20
    while not (archived / row[0]).exists():
        assert time.monotonic() < end, f"{row[0]} is not archived"
        time.sleep(0.05)
    return str(row[0])


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Give a folder that PostgreSQL's user may enter, which pytest's own is not under root."""
    made = Path(tempfile.mkdtemp(prefix="cardroom-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def played(folder: Path) -> Path:
    """Give a data folder with a day of play, to be copied."""
    data_dir = folder / "played"
    assert cardroom(data_dir, "migrate")[0] == 0
    with EmbeddedPostgres(home_in(data_dir)) as server:
        write(server.dsn(), Room(network="first").day())
        project(server.dsn())
    return data_dir


def copy_of(played: Path, folder: Path) -> tuple[Path, EmbeddedPostgres]:
    """Copy an installation into a folder; its server is not started."""
    folder.mkdir()
    data_dir = folder / "room"
    subprocess.run(["cp", "-a", str(played), str(data_dir)], check=True)
    return data_dir, EmbeddedPostgres(home_in(data_dir))


@pytest.fixture(scope="module")
def room(played: Path, folder: Path) -> Iterator[Installation]:
    """Give an installation of which a backup was taken while four clients posted."""
    data_dir, server = copy_of(played, folder / "live")
    with server:
        stop = threading.Event()

        def post(number: int) -> None:
            play = Room(number, network=f"client-{number}")
            write(server.dsn(), [list(play.open("Table"))])
            while not stop.is_set():
                write(server.dsn(), [list(play.hand("Table"))])

        clients = [threading.Thread(target=post, args=(number,)) for number in range(2, 6)]
        for client in clients:
            client.start()
        status, said = cardroom(data_dir, "backup", folder / "backups")
        stop.set()
        for client in clients:
            client.join()
        assert status == 0, said
        backup = next(path for path in (folder / "backups").iterdir() if path.is_dir())
        archived = Path(json.loads((backup / "backup.json").read_text())["wal_archive"])
        later = Room(9, network="later")
        segments = []
        for commits in (
            later.day(tables=1, hands=6),
            [list(later.hand("Table 1"))],
            [list(later.hand("Table 1")) for _ in range(3)],
        ):
            write(server.dsn(), commits)
            project(server.dsn())
            segments.append(switch_segment(server, archived))
        yield Installation(folder, data_dir, server, backup, journal(server.dsn()), segments)


@pytest.fixture
def into(folder: Path) -> Iterator[Path]:
    """Give the name of a new data folder."""
    new = folder / "restored"
    yield new
    shutil.rmtree(new, ignore_errors=True)


@pytest.fixture
def other_backup(room: Installation) -> Iterator[Path]:
    """Give a copy of the backup, to be damaged."""
    copy = room.folder / "copy" / room.backup.name
    shutil.copytree(room.backup, copy)
    yield copy
    shutil.rmtree(copy.parent)


def said_of(commit: Commit) -> str:
    return f"Restored to position {commit.position}, recorded at {commit.recorded_at.isoformat()}"


# -- restoring ---------------------------------------------------------------------------------


def test_a_restore_to_a_position_ends_with_the_books_that_the_live_one_had_there(
    room: Installation, into: Path
) -> None:
    wanted = room.later(2)
    status, said = cardroom(
        room.data_dir, "restore", room.backup, "--into", into, "--to-position", wanted.position
    )
    assert status == 0, said
    assert said_of(wanted) in said
    assert "OK: everything holds" in said
    assert f"Ready: CARDROOM_DATA_DIR={into} cardroom serve" in said
    for name in ("identity.key", "jwt.key"):
        assert (into / name).read_text() == (room.data_dir / name).read_text()
        assert (into / name).stat().st_mode & 0o077 == 0
    with EmbeddedPostgres(home_in(into)) as server:
        known = [commit for commit in room.commits if commit.position <= wanted.position]
        assert journal(server.dsn()) == known
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(
                psycopg.conninfo.make_conninfo(
                    server.dsn(),
                    password=psycopg.conninfo.conninfo_to_dict(room.server.dsn())["password"],
                )
            )
        project(server.dsn())
    status, said = cardroom(into, "check")
    assert (status, said.splitlines()[-1]) == (0, "OK: everything holds")


def test_inside_a_commit_the_one_before_is_the_last(room: Installation, into: Path) -> None:
    before, wanted = room.later(3), room.later(4)
    inside = wanted.position - 1
    assert before.position < inside
    status, said = cardroom(
        room.data_dir, "restore", room.backup, "--into", into, "--to-position", inside
    )
    assert status == 0, said
    assert f"Position {inside} is inside a commit" in said
    assert said_of(before) in said


def test_a_time_is_that_of_recording(room: Installation, into: Path) -> None:
    wanted, after = room.later(5), room.later(6)
    assert wanted.recorded_at < after.recorded_at
    instant = after.recorded_at - timedelta(microseconds=1)
    status, said = cardroom(
        room.data_dir, "restore", room.folder / "backups", "--into", into, "--to-time", instant
    )
    assert status == 0, said
    assert said_of(wanted) in said


def test_without_a_target_everything_that_is_archived_is_restored(
    room: Installation, into: Path
) -> None:
    status, said = cardroom(room.data_dir, "restore", room.backup, "--into", into)
    assert status == 0, said
    assert said_of(room.commits[-1]) in said
    assert f"digest {room.commits[-1].digest}" in said


def test_a_restored_installation_serves_posts_and_is_backed_up_apart(
    room: Installation, into: Path
) -> None:
    arguments = ("restore", room.backup, "--into", into, "--to-position", room.later(1).position)
    assert cardroom(room.data_dir, *arguments)[0] == 0
    with Serving(into) as serving:
        registered = httpx.post(
            f"{serving.base_url}/v1/players",
            headers={
                "Authorization": f"Bearer {serving.token('cashier')}",
                "Idempotency-Key": "register-1",
            },
            json={
                "partner": "kerching",
                "nickname": "Riverboat",
                "identity_reference": "kyc-1",
                "warranties": dict.fromkeys(
                    (
                        "over_18",
                        "full_legal_capacity",
                        "not_citizen_of_mt",
                        "lawful_jurisdiction",
                        "not_employed_by_room",
                    ),
                    True,
                ),
            },
        )
        assert registered.status_code == 201, registered.text
        backups = room.folder / "backups-of-restored"
        taken = serving.command("backup", str(backups))
        assert taken.returncode == 0, taken.stdout + taken.stderr
        metrics = httpx.get(f"{serving.base_url}/metrics").text
        assert "cardroom_wal_archive_failing 0.0" in metrics
        age = re.search(r"^cardroom_backup_age_seconds (\S+)", metrics, re.MULTILINE)
        assert age is not None
        assert 0 <= float(age[1]) < 60
    made = json.loads(next(backups.glob("*/backup.json")).read_text())
    assert made["ended"]["position"] > room.later(1).position
    assert (made["timeline"], room.manifest["timeline"]) == (2, 1)
    assert made["networks"] == ["entraction"]
    assert Path(made["wal_archive"]) != room.archived
    # The first room runs on and archives on its own timeline, 1.
    assert list(room.archived.glob("00000001*"))
    assert not list(room.archived.glob("00000002*"))
    again = room.folder / "restored-again"
    status, said = cardroom(room.data_dir, "restore", backups, "--into", again)
    assert status == 0, said
    shutil.rmtree(again)


def test_books_that_do_not_pass_the_check_are_not_ready(
    played: Path, folder: Path, into: Path
) -> None:
    data_dir, server = copy_of(played, folder / "damaged")
    with server, psycopg.connect(server.dsn(ADMIN)) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("ALTER TABLE journal.events DISABLE TRIGGER ALL")
        connection.execute(
            "UPDATE journal.events SET state = state || ' ' WHERE notification_id = 5"
        )
    assert cardroom(data_dir, "backup", folder / "damaged" / "backups")[0] == 0
    status, said = cardroom(data_dir, "restore", folder / "damaged/backups", "--into", into)
    assert status == 1
    assert "FAILED" in said
    assert "Not ready." in said
    assert "Ready:" not in said
    with pytest.raises(DatabaseProblem, match="did not pass the check"):
        EmbeddedPostgres(home_in(into)).start()


# -- what is refused ---------------------------------------------------------------------------


def test_what_no_backup_or_log_has_is_refused_with_what_there_is(
    room: Installation, into: Path
) -> None:
    early = room.manifest["begun"]["position"] - 1
    status, said = cardroom(
        room.data_dir, "restore", room.backup, "--into", into, "--to-position", early
    )
    assert status == 1
    assert f"Position {early} is before the end of the backup {room.backup.name}" in said
    late = room.commits[-1].position + 1
    status, said = cardroom(
        room.data_dir, "restore", room.backup, "--into", into, "--to-position", late
    )
    assert status == 1
    assert f"not in the log, which ends at position {room.commits[-1].position}" in said
    assert not into.exists()


def test_an_existing_installation_is_never_overwritten(room: Installation, into: Path) -> None:
    status, said = cardroom(room.data_dir, "restore", room.backup, "--into", room.data_dir)
    assert (status, "which is never overwritten" in said) == (1, True)
    into.mkdir()
    (into / "letter.txt").write_text("mine")
    status, said = cardroom(room.data_dir, "restore", room.backup, "--into", into)
    assert (status, "is not empty" in said) == (1, True)
    assert [path.name for path in into.iterdir()] == ["letter.txt"]


def test_a_time_without_its_offset_is_refused(room: Installation, into: Path) -> None:
    status, said = cardroom(
        room.data_dir, "restore", room.backup, "--into", into, "--to-time", "2026-05-01T20:15:00"
    )
    assert (status, "needs Z or an offset" in said) == (2, True)


def test_another_major_version_is_refused_before_anything_is_written(
    room: Installation, into: Path
) -> None:
    old = room.folder / "of-17"
    old.mkdir()
    manifest = {**room.manifest, "postgresql": "17.5", "cardroom": "0.0.9"}
    (old / "backup.json").write_text(json.dumps(manifest))
    status, said = cardroom(room.data_dir, "restore", old, "--into", into)
    assert status == 1
    assert "is of PostgreSQL 17.5" in said
    assert "Restore it with cardroom 0.0.9" in said
    assert not into.exists()


def test_a_truncated_backup_is_refused(room: Installation, into: Path, other_backup: Path) -> None:
    victim = max((other_backup / "data" / "base").rglob("*"), key=lambda path: path.stat().st_size)
    os.truncate(victim, victim.stat().st_size - 8192)
    status, said = cardroom(room.data_dir, "restore", other_backup, "--into", into)
    assert status == 1
    assert "is damaged" in said
    assert victim.name in said
    assert not into.exists()


def test_a_changed_file_list_is_refused(room: Installation, into: Path, other_backup: Path) -> None:
    with (other_backup / "data" / "backup_manifest").open("a") as file:
        file.write("\n")
    status, said = cardroom(room.data_dir, "restore", other_backup, "--into", into)
    assert (status, "is not what it was" in said) == (1, True)


def test_too_little_room_is_told_before_anything_is_copied(
    room: Installation, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=40 * 2**20))
    status, said = cardroom(room.data_dir, "backup", room.folder / "no-room")
    assert (status, "Not enough room" in said) == (1, True)
    assert [path.name for path in (room.folder / "no-room").iterdir()] == ["lock"]
    status, said = cardroom(room.data_dir, "restore", room.backup, "--into", into)
    assert (status, "Not enough room" in said) == (1, True)
    assert not into.exists()


def test_nothing_is_backed_up_where_there_is_no_installation(folder: Path) -> None:
    status, said = cardroom(folder / "nowhere", "backup", folder / "of-nothing")
    assert (status, "There is no installation in" in said) == (1, True)
    assert not (folder / "nowhere").exists()


# -- keys --------------------------------------------------------------------------------------


def test_keys_that_are_kept_apart_must_be_those_of_the_backup(
    room: Installation, into: Path, other_backup: Path
) -> None:
    shutil.rmtree(other_backup / "keys")
    status, said = cardroom(room.data_dir, "restore", other_backup, "--into", into)
    assert (status, "identity.key is not in the backup" in said) == (1, True)
    apart = room.folder / "apart"
    apart.mkdir()
    (apart / "identity.key").write_text("0" * 64)
    arguments = ("restore", other_backup, "--into", into, "--keys", apart)
    status, said = cardroom(room.data_dir, *arguments)
    assert (status, "another key than the backup's" in said) == (1, True)
    shutil.copy(room.data_dir / "identity.key", apart)
    status, said = cardroom(room.data_dir, *arguments)
    assert status == 0, said
    assert "A new jwt.key is made" in said
    assert (into / "identity.key").read_text() == (room.data_dir / "identity.key").read_text()


def test_a_backup_is_its_owners_alone_and_may_be_without_keys(room: Installation) -> None:
    assert room.backup.stat().st_mode & 0o077 == 0
    keys = [*(room.backup / "keys").iterdir()]
    assert {path.name for path in keys} == {"identity.key", "jwt.key"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in keys)
    without = room.folder / "without"
    status, said = cardroom(room.data_dir, "backup", without, "--without-keys")
    assert status == 0, said
    assert "keys in it: none" in said
    made = json.loads(next(without.glob("*/backup.json")).read_text())
    assert made["keys"] == room.manifest["keys"]
    assert made["keys_included"] == []
    assert not [*without.glob("*/keys")]


# -- the log -----------------------------------------------------------------------------------


@pytest.fixture
def broken(room: Installation, other_backup: Path) -> Iterator[tuple[Path, Path]]:
    """Give a backup whose archive is a copy, to be broken, and the segment to break."""
    copy = room.folder / "broken-archive"
    copy.mkdir()
    for path in room.archived.iterdir():
        if path.name <= room.segments[-1]:
            shutil.copy(path, copy)
    manifest = {**room.manifest, "wal_archive": str(copy)}
    (other_backup / "backup.json").write_text(json.dumps(manifest))
    yield other_backup, copy / room.segments[1]
    shutil.rmtree(copy)


def garbage(segment: Path) -> None:
    with segment.open("r+b") as file:
        file.seek(64)
        file.write(b"\xa5" * 4096)


@pytest.mark.parametrize(
    "damage",
    [Path.unlink, lambda segment: os.truncate(segment, 4096), garbage],
    ids=["missing", "truncated", "garbage"],
)
def test_a_broken_log_is_told_with_how_far_it_goes(
    room: Installation, into: Path, broken: tuple[Path, Path], damage: Any
) -> None:
    backup, segment = broken
    damage(segment)
    status, said = cardroom(room.data_dir, "restore", backup, "--into", into)
    assert status == 1, said
    assert f"The log is broken: segment {segment.name} is missing or damaged" in said
    assert not into.exists()
    found = re.search(r"--to-position (\d+)", said)
    assert found is not None
    last = next(commit for commit in room.commits if commit.position == int(found[1]))
    assert last < room.commits[-1]


def test_before_the_break_and_with_another_copy_of_it_a_restore_works(
    room: Installation, into: Path, broken: tuple[Path, Path]
) -> None:
    backup, segment = broken
    spare = room.folder / "spare"
    spare.mkdir()
    segment.rename(spare / segment.name)
    status, said = cardroom(
        room.data_dir, "restore", backup, "--into", into, "--to-position", room.later(0).position
    )
    assert status == 0, said
    assert f"{segment.name} is missing" in said
    shutil.rmtree(into)
    arguments = ("restore", backup, "--into", into, "--wal", spare)
    status, said = cardroom(room.data_dir, *arguments, "--to-time", "2999-01-01T00:00Z")
    assert status == 0, said
    assert f"The log ends before that time, at position {room.commits[-1].position}" in said
    assert said_of(room.commits[-1]) in said


def archived(tmp_path: Path, content: bytes, *, begun: bool = True) -> tuple[int, Path]:
    """Run the archive command as PostgreSQL would, for a segment with this content."""
    home, to = tmp_path / "a 'home'", tmp_path / "100% archive"
    home.mkdir(exist_ok=True)
    folder = archive.begin(home, to, None) if begun else to
    (tmp_path / "segment").write_bytes(content)
    command = archive.command(home, to)
    for mark, text in (("%p", "segment"), ("%f", "0" * 24), ("%%", "%")):
        command = command.replace(mark, text)
    run = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, check=False)
    return run.returncode, folder


def test_nothing_is_archived_before_the_first_backup(tmp_path: Path) -> None:
    status, folder = archived(tmp_path, b"x" * 100, begun=False)
    assert (status, folder.exists()) == (0, False)


def test_a_segment_is_archived_whole_once_and_never_replaced(tmp_path: Path) -> None:
    content = b"log" * 50_000 + bytes(10**6)
    _, folder = archived(tmp_path, b"")
    (folder / ("0" * 24)).unlink()
    (folder / "arriving").write_bytes(b"of a copy that was interrupted" * 10**5)
    assert archived(tmp_path, content) == (0, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"0" * 24: content}
    assert archived(tmp_path, content)[0] == 0
    assert archived(tmp_path, b"another history")[0] != 0
    assert (folder / ("0" * 24)).read_bytes() == content


def test_an_archive_that_is_away_fails_rather_than_being_made(tmp_path: Path) -> None:
    _, folder = archived(tmp_path, b"x")
    shutil.rmtree(folder.parent)
    status, _ = archived(tmp_path, b"x", begun=False)
    assert status != 0
    assert not folder.parent.exists()


def test_the_log_ends_at_a_gap_and_files_for_later_use_are_no_part_of_it(tmp_path: Path) -> None:
    size = 2**20
    for number, address in ((7, 7), (8, 8), (10, 10), (11, 3)):
        name = Segment(1, number).name(size)
        header = archive._PAGE_HEADER.pack(0xD118, 2, 1, address * size)
        with (tmp_path / name).open("wb") as file:
            file.write(header)
            file.truncate(size)
    whole = archive.read([tmp_path], Segment(1, 10), size)
    assert (list(whole.segments), whole.broken) == ([Segment(1, 10).name(size)], None)
    gap = archive.read([tmp_path], Segment(1, 7), size)
    assert list(gap.segments) == [Segment(1, number).name(size) for number in (7, 8)]
    assert gap.broken == Segment(1, 9).name(size)


@pytest.mark.parametrize(
    ("size", "segment", "name", "place"),
    [
        (2**24, Segment(1, 255), "0000000100000000000000FF", "0/FF000028"),
        (2**24, Segment(2, 256), "000000020000000100000000", "1/28"),
        (2**20, Segment(1, 4096), "000000010000000100000000", "1/0"),
        (2**30, Segment(3, 7), "000000030000000100000003", "1/C0000000"),
    ],
)
def test_segments_are_named_as_postgresql_names_them(
    size: int, segment: Segment, name: str, place: str
) -> None:
    assert segment.name(size) == name
    assert Segment.named(name, size) == segment
    assert Segment.at(segment.timeline, place, size) == segment


def test_a_log_that_is_not_archived_fails_the_backup_and_shows(
    room: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(take, "ARCHIVED_SECONDS", 3)
    aside = room.archived.rename(room.archived.with_name("away"))
    room.archived.write_text("in the way")
    try:
        status, said = cardroom(room.data_dir, "backup", room.folder / "unarchived")
    finally:
        room.archived.unlink()
        aside.rename(room.archived)
    assert status == 1
    assert "The log is not archived in" in said
    assert len([*(room.folder / "unarchived").glob("*/backup.json")]) == 1
    with psycopg.connect(room.server.dsn()) as connection:
        row = connection.execute("SELECT failed_count > 0 FROM pg_stat_archiver").fetchone()
    assert row == (True,)


# -- what is kept ------------------------------------------------------------------------------


def test_only_the_newest_backups_are_kept_and_the_log_that_one_of_them_needs(
    played: Path, folder: Path
) -> None:
    data_dir, server = copy_of(played, folder / "kept")
    here, elsewhere = folder / "kept" / "here", folder / "kept" / "elsewhere"
    with server:
        for number in range(2):
            assert cardroom(data_dir, "backup", here)[0] == 0
            write(server.dsn(), [list(Room(number, network=f"n{number}").open("Table"))])
        assert cardroom(data_dir, "backup", elsewhere)[0] == 0
        status, said = cardroom(data_dir, "backup", here, "--keep", "1")
        assert status == 0, said
        assert said.count("removed: ") == 3
        (left,) = (path for path in here.iterdir() if path.is_dir())
        needs = json.loads(next(elsewhere.glob("*/backup.json")).read_text())
        log = Path(needs["wal_archive"])
        assert min(path.name for path in log.iterdir()) == needs["first_segment"]
        away = elsewhere.rename(folder / "kept" / "unmounted")
        status, said = cardroom(data_dir, "backup", here, "--keep", "2")
        assert "is not there now; the log that it needs is kept" in said
        assert min(path.name for path in log.iterdir()) == needs["first_segment"]
        shutil.rmtree(away)
        elsewhere.mkdir()
        assert cardroom(data_dir, "backup", here, "--keep", "1")[0] == 0
        (newest,) = (path for path in here.iterdir() if path.is_dir())
        assert left != newest
        needed = json.loads((newest / "backup.json").read_text())["first_segment"]
        assert min(path.name for path in log.iterdir()) == needed


# -- interruptions -----------------------------------------------------------------------------


def wait_for(found: Any, run: "subprocess.Popen[str]") -> None:
    while not found():
        assert run.poll() is None, run.communicate()[0]
        time.sleep(0.001)


def test_a_killed_backup_leaves_nothing_that_looks_whole(room: Installation, into: Path) -> None:
    backups = room.folder / "interrupted"
    run = process(room.data_dir, "backup", backups)
    wait_for(lambda: [*backups.glob("*.partial/data/global")], run)
    run.kill()
    run.communicate()
    (left,) = (path for path in backups.iterdir() if path.is_dir())
    assert left.name.endswith(".partial")
    for named in (left, backups):
        status, said = cardroom(room.data_dir, "restore", named, "--into", into)
        assert (status, "is not a whole backup" in said) == (1, True)
    status, said = cardroom(room.data_dir, "backup", backups)
    assert status == 0, said
    assert not left.exists()


def test_a_second_backup_at_the_same_time_is_refused(room: Installation) -> None:
    backups = room.folder / "twice"
    run = process(room.data_dir, "backup", backups)
    wait_for(lambda: [*backups.glob("*.partial")], run)
    status, said = cardroom(room.data_dir, "backup", backups)
    assert (status, "Another backup is being taken" in said) == (1, True)
    assert run.wait() == 0
    run.communicate()


def test_a_server_killed_meanwhile_ends_the_backup_and_leaves_nothing(
    played: Path, folder: Path
) -> None:
    data_dir, server = copy_of(played, folder / "killed")
    backups = folder / "killed" / "backups"
    with server:
        run = process(data_dir, "backup", backups)
        wait_for(lambda: [*backups.glob("*.partial/data/global")], run)
        assert server.process is not None
        os.kill(server.process.pid, signal.SIGKILL)
        said, _ = run.communicate()
        assert run.returncode == 1, said
        assert "Traceback" not in said
        assert said.startswith("cardroom: ")
        assert [path.name for path in backups.iterdir()] == ["lock"]
        server.stop()
        server.start()
        status, said = cardroom(data_dir, "backup", backups)
        assert status == 0, said


def test_a_killed_restore_is_not_served_and_may_be_begun_again(
    room: Installation, into: Path
) -> None:
    arguments = ("restore", room.backup, "--into", into, "--to-position", room.later(2).position)
    run = process(room.data_dir, *arguments)
    wait_for((into / "postgres" / "data" / "recovery.signal").exists, run)
    run.kill()
    run.communicate()
    with pytest.raises(DatabaseProblem, match="has not finished"):
        EmbeddedPostgres(home_in(into)).start()
    status, said = cardroom(room.data_dir, *arguments)
    assert status == 0, said
    assert said_of(room.later(2)) in said


# -- the operator's own server -----------------------------------------------------------------


def test_an_operators_own_server_is_backed_up_when_a_role_may_replicate(
    room: Installation, into: Path
) -> None:
    settings = {
        "DATABASE_URL": room.server.dsn(APPLICATION),
        "OWNER_DATABASE_URL": room.server.dsn(OWNER),
        "IDENTITY_KEY": "0f" * 32,
        "JWT_KEY": "a5" * 32,
    }
    backups = room.folder / "of-operator"
    status, said = cardroom(room.data_dir, "backup", backups, **settings)
    assert (status, "ALTER ROLE cardroom_owner REPLICATION" in said) == (1, True)
    with psycopg.connect(room.server.dsn(ADMIN), autocommit=True) as connection:
        connection.execute("ALTER ROLE cardroom_owner REPLICATION")
    try:
        status, said = cardroom(room.data_dir, "backup", backups, **settings)
    finally:
        with psycopg.connect(room.server.dsn(ADMIN), autocommit=True) as connection:
            connection.execute("ALTER ROLE cardroom_owner NOREPLICATION")
    assert status == 0, said
    assert "The log of your own server is archived by you" in said
    arguments = ("restore", backups, "--into", into)
    status, said = cardroom(room.data_dir, *arguments)
    assert (status, "identity.key is not in the backup" in said) == (1, True)
    status, said = cardroom(room.data_dir, *arguments, IDENTITY_KEY="0f" * 32)
    assert status == 0, said
    assert f"Restored to position {journal(room.server.dsn())[-1].position}," in said


def test_programs_of_another_version_are_not_used() -> None:
    with pytest.raises(take.BackupFailed, match="put pg_basebackup of PostgreSQL 99 on the PATH"):
        take._programs_for(99)
