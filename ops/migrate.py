"""Bring a database to the tables of this version."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.errors import InsufficientPrivilege
from psycopg.sql import SQL
from sqlalchemy.exc import ProgrammingError

import migrations

SCRIPTS = Path(migrations.__file__).parent
OLDEST_SERVER = 150000


class UnusableDatabase(Exception):
    """The database cannot hold the books: out of reach, too old, too new, or another's."""


def migrate(dsn: str) -> str:
    """Apply what is missing to the database, and grant the application's role its rights.

    The connection must be the owner's. Returns the revision that the database is at; a database
    that is up to date is left as it is. Raises UnusableDatabase.
    """
    # Here, because it takes a third of a second, and most commands migrate nothing.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    try:
        with psycopg.connect(dsn) as connection:
            version = connection.info.server_version
    except psycopg.OperationalError as error:
        raise UnusableDatabase(f"The database cannot be reached: {error}") from None
    if version < OLDEST_SERVER:
        raise UnusableDatabase(f"PostgreSQL {version // 10000} is too old: 15 or newer is needed.")
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["dsn"] = dsn
    head = ScriptDirectory.from_config(config).get_current_head()
    assert head is not None
    with _as_its_owner():
        found = revision(dsn)
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise UnusableDatabase(
            f"The database is at revision {found}, which this version does not know: "
            "it was migrated by a later one."
        )
    with _as_its_owner():
        command.upgrade(config, "head")
        with psycopg.connect(dsn) as connection:
            connection.execute(SQL((SCRIPTS / "grants.sql").read_text()))
    return head


@contextmanager
def _as_its_owner() -> Iterator[None]:
    """Raise UnusableDatabase when the role may not do what migrations do."""
    try:
        yield
    except (InsufficientPrivilege, ProgrammingError) as error:
        cause = error.orig if isinstance(error, ProgrammingError) else error
        if not isinstance(cause, InsufficientPrivilege):
            raise
        said = cause.diag.message_primary
        raise UnusableDatabase(
            f"The role may not migrate the database: {said}. It must own the database: "
            "ops/runbooks/postgresql.md says how both are made."
        ) from None


def revision(dsn: str) -> str | None:
    """Return the revision that a database is at, or None when it has no tables yet."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT to_regclass('journal.schema_version')").fetchone()
        if row is None or row[0] is None:
            return None
        row = connection.execute("SELECT version_num FROM journal.schema_version").fetchone()
    return None if row is None else str(row[0])
