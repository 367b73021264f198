"""Everything that can be set, read from the environment: ``CARDROOM_`` and the name in capitals.

``load`` reads the settings and, for the embedded default, makes up the keys that are missing.
"""

import os
import secrets
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

KEY_BYTES = 32


class UnusableSettings(Exception):
    """A setting is missing or wrong; the message names it as it stands in the environment."""


class Settings(BaseSettings):
    """The settings of one installation."""

    model_config = SettingsConfigDict(env_prefix="CARDROOM_", frozen=True)

    database_url: SecretStr | None = Field(
        default=None,
        description="Connection string of the application's role on PostgreSQL 15 or newer. "
        "Not set: the embedded database in data_dir.",
    )
    owner_database_url: SecretStr | None = Field(
        default=None,
        description="Connection string of the role that owns the tables, for migrations. "
        "Not set: database_url is used for both, and triggers alone keep the journal append-only.",
    )
    data_dir: Path = Field(
        default=Path("var"),
        description="Folder of the embedded database and of the keys made up for it.",
    )
    embedded_port: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="Port of the embedded database on 127.0.0.1; 0: a free one.",
    )
    host: str = Field(default="127.0.0.1", description="Address that the API listens on.")
    port: int = Field(
        default=8000, ge=0, le=65535, description="Port that the API listens on; 0: a free one."
    )
    network: str = Field(
        default="entraction",
        pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$",
        description="Network that requests are for when their token names none.",
    )
    api_processes: int = Field(
        default=1, ge=1, le=64, description="How many processes serve the API on the same port."
    )
    identity_key: SecretStr | None = Field(
        default=None,
        description="Key of the hashes that stand for persons, nicknames and references: 64 hex "
        "digits. It must never change: with another one nobody is recognised. Needed with "
        "database_url; made up and kept in data_dir/identity.key otherwise.",
    )
    jwt_key: SecretStr | None = Field(
        default=None,
        description="Key that tokens are signed with: 64 hex digits. Needed with database_url; "
        "made up and kept in data_dir/jwt.key otherwise. Another one ends all tokens.",
    )
    queue_limit: int = Field(
        default=20_000,
        ge=1,
        description="How many commands may wait for the writer of a process; beyond: 503.",
    )
    batch_limit: int = Field(
        default=1_000, ge=1, description="How many commands the writer appends in one commit."
    )
    body_limit: int = Field(
        default=16 * 1024 * 1024, ge=1024, description="Largest body of a request, in bytes."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severe log lines that are written."
    )
    shutdown_seconds: int = Field(
        default=20, ge=1, description="How long a process may take to finish its requests."
    )

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        for name in ("identity_key", "jwt_key"):
            key: SecretStr | None = getattr(self, name)
            if key is None:
                if self.database_url is not None:
                    raise ValueError(
                        f"{name} is needed when database_url is set: "
                        f"all processes, on all machines, must use the same one"
                    )
            elif not _is_key(key.get_secret_value()):
                raise ValueError(f"{name} must be 64 hex digits")
        if self.owner_database_url is not None and self.database_url is None:
            raise ValueError("owner_database_url is set without database_url")
        return self

    @property
    def identity_key_bytes(self) -> bytes:
        """The key for ``ledger.identity.Identity``."""
        return _key_bytes(self.identity_key)

    @property
    def jwt_key_bytes(self) -> bytes:
        """The key that tokens are signed with."""
        return _key_bytes(self.jwt_key)


def load() -> Settings:
    """Read the settings from the environment; an embedded installation gets its keys.

    Raises UnusableSettings: a value is missing or wrong, or data_dir cannot be written.
    """
    try:
        settings = Settings()
        if settings.database_url is not None:
            return settings
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        keys = {
            name: SecretStr(key_in(settings.data_dir / file))
            for name, file in (("identity_key", "identity.key"), ("jwt_key", "jwt.key"))
            if getattr(settings, name) is None
        }
    except ValidationError as error:
        raise UnusableSettings(_explain(error)) from None
    except OSError as error:
        raise UnusableSettings(f"CARDROOM_DATA_DIR: {error}") from None
    return settings.model_copy(update=keys)


def environment(settings: Settings) -> dict[str, str]:
    """Return the environment in which a child process reads these same settings."""
    values = os.environ.copy()
    for name in Settings.model_fields:
        value = getattr(settings, name)
        if value is not None:
            plain = value.get_secret_value() if isinstance(value, SecretStr) else value
            values[f"CARDROOM_{name.upper()}"] = str(plain)
    return values


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
    if not _is_key(key):
        raise UnusableSettings(f"{path} is damaged: it must hold 64 hex digits.")
    return key


def _is_key(text: str) -> bool:
    return len(text) == 2 * KEY_BYTES and all(digit in "0123456789abcdefABCDEF" for digit in text)


def _key_bytes(key: SecretStr | None) -> bytes:
    if key is None:
        raise UnusableSettings("The settings have no keys: read them with ops.settings.load().")
    return bytes.fromhex(key.get_secret_value())


def _explain(error: ValidationError) -> str:
    lines = []
    for problem in error.errors(include_url=False, include_input=False):
        names = [f"CARDROOM_{str(part).upper()}" for part in problem["loc"][:1]]
        message = problem["msg"].removeprefix("Value error, ")
        if not names:
            first, _, rest = message.partition(" ")
            names, message = [f"CARDROOM_{first.upper()}"], rest
        lines.append(f"{names[0]}: {message}")
    return "\n".join(lines)
