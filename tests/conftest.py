"""A PostgreSQL for the whole run, and a database of its own for each test that asks for one.

Run in several processes (``-n``), each has a PostgreSQL of its own.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from ops.embedded import ADMIN, APPLICATION, OWNER, EmbeddedPostgres
from ops.migrate import migrate

KILLS = "tests/kill/"
LONG = (KILLS, "tests/test_readme.py", "tests/ops/")
"""Where the tests are that take long, the longest first."""

TOLD = "told"
"""Name of a test's property that is a line to print at the end of the run."""


class Server(NamedTuple):
    """Connection strings of a server, without a database; on an operator's all three are one."""

    admin: str
    owner: str
    application: str
    template: str


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """Give a server with a migrated template: the embedded one, in a temporary folder.

    ``CARDROOM_TEST_DATABASE_URL`` names another server to use, with a role that may create
    databases.
    """
    template = f"cardroom_template_{secrets.token_hex(4)}"
    given = os.environ.get("CARDROOM_TEST_DATABASE_URL")
    if given:
        server = Server(given, given, given, template)
        create_template(server)
        yield server
        with psycopg.connect(given, autocommit=True) as connection:
            connection.execute(SQL("DROP DATABASE {}").format(Identifier(template)))
        return
    # Not pytest's own temporary folder: PostgreSQL's user may not enter it when run as root.
    home = Path(tempfile.mkdtemp(prefix="cardroom-"))
    try:
        with EmbeddedPostgres(home) as running:
            server = Server(
                running.dsn(ADMIN, "postgres"),
                running.dsn(OWNER, "postgres"),
                running.dsn(APPLICATION, "postgres"),
                template,
            )
            create_template(server)
            yield server
    finally:
        shutil.rmtree(home)


def create_template(server: Server) -> None:
    """Create and migrate the database that the others are copied from."""
    create_database(server, server.template, "template1")
    migrate(make_conninfo(server.owner, dbname=server.template))


def create_database(server: Server, name: str, template: str) -> None:
    """Copy a database; its own rights are not copied with it, so they are given again."""
    with psycopg.connect(server.admin, autocommit=True) as connection:
        owner = psycopg.conninfo.conninfo_to_dict(server.owner).get("user")
        statement = SQL("CREATE DATABASE {} TEMPLATE {}").format(
            Identifier(name), Identifier(template)
        )
        if owner is not None:
            statement += SQL(" OWNER {}").format(Identifier(str(owner)))
        connection.execute(statement)
        if server.application != server.admin:
            connection.execute(
                SQL("GRANT CREATE ON DATABASE {} TO {}").format(
                    Identifier(name), Identifier(APPLICATION)
                )
            )


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """Give the name of a fresh migrated database, which is dropped when the test is over."""
    name = f"cardroom_test_{secrets.token_hex(6)}"
    create_database(postgres, name, postgres.template)
    yield name
    with psycopg.connect(postgres.admin, autocommit=True) as connection:
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture
def dsn(postgres: Server, database: str) -> str:
    """Connect to a fresh migrated database as the application does."""
    return make_conninfo(postgres.application, dbname=database)


@pytest.fixture
def owner_dsn(postgres: Server, database: str) -> str:
    """Connect to the same fresh database as the owner of its tables."""
    return make_conninfo(postgres.owner, dbname=database)


class ByFile(LoadFileScheduling):
    """Gives the tests of a file to one process, since they share what the file sets up.

    All those that kill go to one: of two crowds at once, each would be in the other's way.
    """

    def _split_scope(self, nodeid: str) -> str:
        return KILLS if nodeid.startswith(KILLS) else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long: for what is begun last, the other processes wait."""
    items.sort(key=lambda item: [not item.nodeid.startswith(place) for place in LONG])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the tests had to say, in whichever process they ran."""
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
    ]
    lines = [text for report in reports for name, text in report.user_properties if name == TOLD]
    if lines:
        terminalreporter.section("kills")
    for line in lines:
        terminalreporter.line(line)
