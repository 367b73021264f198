"""Alembic's entry: migrate the database of the settings, or the one that the caller names.

``ops.migrate`` passes the connection string in ``config.attributes["dsn"]``; the ``alembic``
command, which developers use to write a new revision, has none and takes it from the settings.
"""

import psycopg
from alembic import context
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

MIGRATION_LOCK = 0x6361726472
"""Two supervisors that start at once migrate one after the other (advisory lock of the session)."""


def database_url() -> str:
    """Return the connection string of the role that owns the tables."""
    given = context.config.attributes.get("dsn")
    if given is not None:
        return str(given)
    from ops.settings import load

    settings = load()
    url = settings.owner_database_url or settings.database_url
    if url is None:
        raise SystemExit("Set CARDROOM_DATABASE_URL, or use 'cardroom migrate'.")
    return url.get_secret_value()


def run() -> None:
    """Apply the revisions that are missing, each in a transaction of its own."""
    dsn = database_url()
    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(dsn, application_name="cardroom migrate"),
        poolclass=NullPool,
    )
    with engine.connect() as connection:
        connection.exec_driver_sql(f"SELECT pg_advisory_lock({MIGRATION_LOCK})")
        connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS journal")
        connection.commit()
        context.configure(
            connection=connection,
            version_table="schema_version",
            version_table_schema="journal",
            transaction_per_migration=True,
        )
        with context.begin_transaction():
            context.run_migrations()
    engine.dispose()


if context.is_offline_mode():
    raise SystemExit("Migrations run against a database; there is no offline mode.")
run()
