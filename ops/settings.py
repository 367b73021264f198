"""What an installation is told by its environment: ``CARDROOM_`` and the name in capitals.

``load`` reads these settings and, for the embedded default, makes up the keys that are missing.
The limits of the API are in ``api.settings``; ``cardroom settings`` prints all of them.
"""

import os
import secrets
from pathlib import Path
from typing import Annotated, Literal, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict
from pydantic import AfterValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from api.settings import Algorithm, HexKey

KEY_BYTES = 32


def _is_connection_string(url: SecretStr) -> SecretStr:
    try:
        conninfo_to_dict(url.get_secret_value())
    except psycopg.Error:
        # PostgreSQL's own words hold what was given, and so the password.
        raise ValueError("is no connection string: postgresql://user:password@host/name") from None
    return url


DatabaseUrl = Annotated[SecretStr, AfterValidator(_is_connection_string)]


class UnusableSettings(Exception):
    """A setting is missing or wrong; the message names it as it stands in the environment."""


class Settings(BaseSettings):
    """The settings of one installation; each is documented by its docstring."""

    model_config = SettingsConfigDict(
        env_prefix="CARDROOM_", extra="ignore", frozen=True, use_attribute_docstrings=True
    )

    database_url: DatabaseUrl | None = None
    """Connection string of the application's role on PostgreSQL 15 or newer; not set: the
    embedded database in the data folder."""

    owner_database_url: DatabaseUrl | None = None
    """Connection string of the role that owns the tables, for migrations; not set: the
    application's role owns them, and triggers alone keep the journal append-only."""

    auditor_database_url: DatabaseUrl | None = None
    """Connection string of the role that only reads, for 'cardroom sql'; not set: that of the
    embedded database."""

    data_dir: Path = Path("var")
    """Folder of the embedded database and of the keys that were made up for it."""

    embedded_port: int = Field(default=0, ge=0, le=65535)
    """Port of the embedded database on 127.0.0.1; 0: a free one."""

    wal_archive: Path | None = None
    """Folder that the log of the embedded database is kept in from the first backup on, best on
    another disk; not set: in the data folder. With a backup it restores the books to any commit."""

    host: str = "127.0.0.1"
    """Address that the API listens on."""

    port: int = Field(default=8000, ge=0, le=65535)
    """Port that the API listens on; 0: a free one."""

    api_processes: int = Field(default=1, ge=1, le=64)
    """Processes that serve the API on that port."""

    question_processes: int = Field(default=1, ge=0, le=64)
    """Processes that answer what is read of the books, on the same port: a long file takes less
    from the hands that are posted meanwhile. 0: the API's own processes answer it."""

    network: str = Field(default="entraction", pattern="^[a-z0-9-]{1,64}$")
    """Network whose rulebooks are adopted at start-up, and that printed tokens are for."""

    identity_key: HexKey | None = None
    """Key (64 hex digits) of the hashes that stand for persons, nicknames and references. It never
    changes: with another one nobody is recognised. Needed with a database URL, the same in every
    process and on every machine; otherwise made up and kept in ``identity.key`` of the data
    folder."""

    jwt_algorithm: Algorithm = "HS256"
    """HS256: tokens of the local issuer; RS256 or ES256: tokens of an issuer of your own."""

    jwt_key: HexKey | None = None
    """Secret (64 hex digits) of the local issuer. Another one ends all its tokens. Needed with a
    database URL and HS256; otherwise made up and kept in ``jwt.key`` of the data folder."""

    anchor_seconds: float = Field(default=60, gt=0)
    """How often the digests of the book are logged while they change; 'cardroom check --against'
    compares them with the book."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe log lines that are written."""

    shutdown_seconds: int = Field(default=20, ge=1)
    """How long a process may take to finish what it has begun."""

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.database_url is None and self.owner_database_url is not None:
            raise ValueError("database_url is missing, owner_database_url is set")
        return self


def load() -> Settings:
    """Read the settings from the environment, with the keys; an embedded installation gets them.

    Raises UnusableSettings: a value is missing or wrong, or the data folder cannot be written.
    """
    settings = stated()
    if settings.database_url is not None:
        _require_keys(settings)
        return settings
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        keys = {
            name: SecretStr(key_in(settings.data_dir / file))
            for name, file in (("identity_key", "identity.key"), ("jwt_key", "jwt.key"))
            if getattr(settings, name) is None
        }
    except OSError as error:
        raise UnusableSettings(f"CARDROOM_DATA_DIR: {error}") from None
    return settings.model_copy(update=keys)


def stated() -> Settings:
    """Read the settings from the environment and write nothing; raises UnusableSettings."""
    try:
        return Settings()
    except ValidationError as error:
        raise UnusableSettings(_explain(error)) from None


def _require_keys(settings: Settings) -> None:
    if settings.identity_key is None:
        raise UnusableSettings("CARDROOM_IDENTITY_KEY: is needed with a database URL")
    if settings.jwt_key is None and settings.jwt_algorithm == "HS256":
        raise UnusableSettings("CARDROOM_JWT_KEY: is needed with a database URL and HS256")


def environment(settings: Settings, database_url: str, writer: str) -> dict[str, str]:
    """Return the environment of a child process, which works on this database."""
    told = {
        "DATABASE_URL": database_url,
        "WRITER_NAME": writer,
        "NETWORK": settings.network,
        "JWT_ALGORITHM": settings.jwt_algorithm,
        "LOG_LEVEL": settings.log_level,
        "SHUTDOWN_SECONDS": str(settings.shutdown_seconds),
    }
    for name, key in (("IDENTITY_KEY", settings.identity_key), ("JWT_KEY", settings.jwt_key)):
        if key is not None:
            told[name] = key.get_secret_value()
    others = ("CARDROOM_OWNER_DATABASE_URL", "CARDROOM_AUDITOR_DATABASE_URL")
    values = {name: value for name, value in os.environ.items() if name not in others}
    return values | {f"CARDROOM_{name}": value for name, value in told.items()}


def key_in(path: Path) -> str:
    """Return the key in a file; a new one is written, readable by its owner only."""
    if not path.exists():
        partial = path.with_suffix(f".{os.getpid()}")
        partial.touch(mode=0o600)
        partial.write_text(secrets.token_hex(KEY_BYTES) + "\n")
        try:
            os.link(partial, path)  # of two processes that start at once, one key counts
        except FileExistsError:
            pass
        finally:
            partial.unlink()
    key = path.read_text().strip()
    if len(key) != 2 * KEY_BYTES:
        raise UnusableSettings(
            f"{path} is damaged: a key has {2 * KEY_BYTES} hex digits. Restore it from a backup; "
            "with another key, what the old one was used for is not recognised."
        )
    return key


def _explain(error: ValidationError) -> str:
    """Say what is wrong with each setting, without its value: it may be a secret."""
    lines = []
    for problem in error.errors(include_url=False, include_input=False):
        message = problem["msg"].removeprefix("Value error, ")
        if problem["loc"]:
            name = str(problem["loc"][0])
        else:
            name, _, message = message.partition(" ")
        lines.append(f"CARDROOM_{name.upper()}: {message}")
    return "\n".join(lines)
