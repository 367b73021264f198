"""What one API process is told by its environment, each as ``CARDROOM_…``.

The names are those of the installation's settings, whose supervisor passes them on.
"""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

Algorithm = Literal["HS256", "RS256", "ES256"]

_KEY_DIGITS: Final = 64


def _is_key(key: SecretStr) -> SecretStr:
    text = key.get_secret_value()
    if len(text) != _KEY_DIGITS or not set(text) <= set("0123456789abcdefABCDEF"):
        raise ValueError(f"must be {_KEY_DIGITS} hex digits")
    return key


HexKey = Annotated[SecretStr, AfterValidator(_is_key)]


class EdgeSettings(BaseSettings):
    """Settings of one API process; the environment is read when one is made."""

    model_config = SettingsConfigDict(
        env_prefix="CARDROOM_", extra="ignore", frozen=True, use_attribute_docstrings=True
    )

    database_url: SecretStr
    """PostgreSQL connection string of the application's role."""

    network: str = Field(default="entraction", pattern="^[a-z0-9-]{1,64}$")
    """The network whose rulebooks are adopted at start-up."""

    identity_key: HexKey
    """Key of claims and of request digests; with another one nobody is recognised."""

    jwt_key: HexKey | None = None
    """Secret that the local issuer signs tokens with (HS256)."""

    jwt_algorithm: Algorithm = "HS256"
    jwt_public_key: str | None = None
    """PEM of an issuer of your own (RS256, ES256)."""

    reserved_words: tuple[str, ...] = ()
    """Trademarks, company names and offensive words that no nickname may resemble: a JSON list."""

    writer_name: str = "api"
    """Written into every commit: which process it came from."""

    queue_limit: int = Field(default=20_000, ge=1)
    """Commands that may wait to be decided; more are answered 503."""

    body_limit: int = Field(default=16 * 1024 * 1024, ge=1024)
    """Largest body of posted hands, in bytes."""

    command_body_limit: int = Field(default=64 * 1024, ge=1024)
    """Largest body of any other request, in bytes; rulebooks are the longest."""

    hands_limit: int = Field(default=1_000, ge=1)
    """Most hands in one batch."""

    read_connections: int = Field(default=4, ge=1, le=64)
    """Connections that answer reads."""

    log_every_hands: int = Field(default=100, ge=1)
    """One request in so many that post hands is logged; every defect is."""

    ready_lag_seconds: float = Field(default=60.0, gt=0)
    """Projections that are further behind make the process not ready."""

    @model_validator(mode="after")
    def _has_its_token_key(self) -> "EdgeSettings":
        if not self.verification_key:
            name = "JWT_KEY" if self.jwt_algorithm == "HS256" else "JWT_PUBLIC_KEY"
            raise ValueError(f"CARDROOM_{name} is needed with {self.jwt_algorithm}")
        return self

    @property
    def identity_key_bytes(self) -> bytes:
        """The key for ``ledger.identity.Identity``."""
        return bytes.fromhex(self.identity_key.get_secret_value())

    @property
    def verification_key(self) -> bytes:
        """The key that tokens are verified with, by the algorithm."""
        if self.jwt_algorithm != "HS256":
            return (self.jwt_public_key or "").encode()
        return bytes.fromhex(self.jwt_key.get_secret_value()) if self.jwt_key else b""
