"""Reads: after the database was restarted, and who is shown what, which is written down."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier, Event

import psycopg
import pytest
from msgspec import structs
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from api.auth import Caller
from api.reads import Reads, head_of
from tests.proxy import Proxy

CONNECTIONS = 4


def test_a_read_after_all_connections_were_lost_finds_a_new_one_at_once(dsn: str) -> None:
    where = conninfo_to_dict(dsn)
    with Proxy(str(where["host"]), int(str(where["port"]))) as proxy:
        reads = Reads(make_conninfo(dsn, host="127.0.0.1", port=proxy.port), CONNECTIONS)
        reads.open()
        together = Barrier(CONNECTIONS)

        def read(number: int) -> int:
            with reads.snapshot() as connection:
                together.wait(30)
                return head_of(connection)

        with ThreadPoolExecutor(CONNECTIONS) as pool:
            before = list(pool.map(read, range(CONNECTIONS)))
        proxy.drop()
        with reads.snapshot() as connection:
            assert [head_of(connection)] * CONNECTIONS == before
        reads.close()


AUDITOR = Caller("anna", "desk", "entraction", frozenset(), 0.0)
AT = datetime(2013, 5, 1, 12, 30, tzinfo=UTC)


@pytest.fixture
def reads(dsn: str) -> Iterator[Reads]:
    reads = Reads(dsn, CONNECTIONS)
    reads.open()
    yield reads
    reads.close()


def test_a_read_is_written_down_while_it_goes_on_and_before_it_is_shown(
    reads: Reads, owner_dsn: str
) -> None:
    found = Event()

    def read() -> None:
        with reads.recording(AUDITOR, "statement", "player:entraction:one", "request-1", AT):
            found.set()

    with psycopg.connect(owner_dsn) as other, ThreadPoolExecutor(1) as pool:
        other.execute("LOCK TABLE audit.reads IN EXCLUSIVE MODE")
        shown = pool.submit(read)
        assert found.wait(30)
        with pytest.raises(TimeoutError):
            shown.result(0.3)
        other.commit()
        shown.result(30)
        assert other.execute(
            "SELECT read_at, actor, network, what, subject, request_id FROM audit.reads"
        ).fetchall() == [
            (AT, "anna", "entraction", "statement", "player:entraction:one", "request-1")
        ]


def test_what_cannot_be_written_down_is_not_shown(reads: Reads, owner_dsn: str) -> None:
    with psycopg.connect(owner_dsn) as owner:
        owner.execute("ALTER TABLE audit.reads ADD CHECK (what <> 'statement')")
    asked = ("player:entraction:one", "request-1", AT)
    with pytest.raises(psycopg.IntegrityError), reads.recording(AUDITOR, "statement", *asked):
        pass
    with reads.recording(AUDITOR, "player", *asked):
        pass


def test_a_partner_is_shown_its_own_without_a_record(reads: Reads, dsn: str) -> None:
    partner = structs.replace(AUDITOR, partner="kerching")
    with reads.recording(partner, "statement", "player:entraction:one", "request-1", AT):
        pass
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT count(*) FROM audit.reads").fetchone() == (0,)
