"""Reads survive a database that was restarted."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from psycopg.conninfo import conninfo_to_dict, make_conninfo

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
