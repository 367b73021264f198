"""The database that a command works on: the operator's, or the embedded one, running or not."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ops import settings as configuration
from ops.embedded import (
    APPLICATION,
    OWNER,
    AlreadyRunning,
    DatabaseProblem,
    EmbeddedPostgres,
    home_in,
)
from ops.migrate import migrate
from ops.settings import Settings


class Database(NamedTuple):
    """Connection strings: of the application's role, and of the role that owns the tables."""

    application: str
    owner: str


class NotInstalled(DatabaseProblem):
    """The data folder holds no database; one that is made now would only hide the mistake."""


def require_installed(settings: Settings) -> None:
    """Refuse a data folder without a database; raises NotInstalled.

    In another folder than the operator's a check would find nothing wrong, and a backup be empty.
    """
    if settings.database_url is not None:
        return
    if not settings.data_dir.exists() or not (home_in(settings.data_dir) / "data").exists():
        raise NotInstalled(
            f"There is no installation in {settings.data_dir.resolve()}: run 'cardroom serve', or"
            " name its folder in CARDROOM_DATA_DIR."
        )


@contextmanager
def installed() -> Iterator[Database]:
    """Give the database of the installation that is there, as ``database`` does; needs no keys.

    Raises NotInstalled and UnusableSettings as well.
    """
    settings = configuration.stated()
    require_installed(settings)
    with database(settings) as found:
        yield found


@contextmanager
def database(settings: Settings) -> Iterator[Database]:
    """Give the database of the settings, migrated.

    The embedded one is started for as long as it is needed, unless ``cardroom serve`` runs it.
    Raises DatabaseProblem and UnusableDatabase.
    """
    configured = operators(settings)
    if configured is not None:
        migrate(configured.owner)
        yield configured
        return
    with running(settings) as server:
        found = embedded(server)
        migrate(found.owner)
        yield found


def server_of(settings: Settings) -> EmbeddedPostgres:
    """Return the embedded server of the settings, not yet started."""
    return EmbeddedPostgres(
        home_in(settings.data_dir), port=settings.embedded_port, archive_in=settings.wal_archive
    )


@contextmanager
def running(settings: Settings) -> Iterator[EmbeddedPostgres]:
    """Give the embedded server, started for as long as it is needed unless another runs it."""
    server = server_of(settings)
    try:
        server.start()
    except AlreadyRunning:
        server.attach()
    try:
        yield server
    finally:
        server.stop()


def operators(settings: Settings) -> Database | None:
    """Return the database that the settings name, or None for the embedded default."""
    if settings.database_url is None:
        return None
    application = settings.database_url.get_secret_value()
    owner = settings.owner_database_url
    return Database(application, application if owner is None else owner.get_secret_value())


def embedded(server: EmbeddedPostgres) -> Database:
    """Return the connection strings of an embedded server that runs."""
    return Database(server.dsn(APPLICATION), server.dsn(OWNER))
