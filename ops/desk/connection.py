"""How the desk speaks to a card room that runs: where it is, who asks, what went wrong."""

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

import httpx
import typer

from ops import settings as configuration
from ops import tokens
from ops.client import Answer, Client, Refusal

ANYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104

Url = Annotated[
    str | None,
    typer.Option(envvar="CARDROOM_URL", help="Another server; CARDROOM_TOKEN is needed for it."),
]
AsWhom = Annotated[
    str | None, typer.Option("--as", help="Who asks: it is written down. [default: your login]")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answers as JSON.")]


class DeskProblem(Exception):
    """What the desk cannot do; the message is one line."""


class Desk:
    """A connection with one token."""

    def __init__(self, client: Client, url: str) -> None:
        self._client = client
        self._url = url

    def get(self, path: str, **query: Any) -> Any:
        """Read; parameters that are None are left out. Raises Refusal and DeskProblem."""
        given = {name: value for name, value in query.items() if value is not None}
        with self._told():
            return self._client.get(path, **given)

    def read(self, path: str) -> bytes:
        """Read an answer as it came. Raises Refusal and DeskProblem."""
        with self._told():
            return self._client.read(path)

    def pages(self, path: str, name: str, *, most: int, **query: Any) -> list[Any]:
        """Read a list to its end, but not more rows than these, from page to page."""
        rows: list[Any] = []
        cursor: str | None = None
        while True:
            page = self.get(path, cursor=cursor, limit=min(most, 500), **query)
            rows += page[name]
            cursor = page["cursor"]
            if cursor is None or len(rows) >= most:
                return rows[:most]

    def post(self, path: str, key: str, **fields: Any) -> Answer:
        """Command under a key; refusals are answers too. Raises DeskProblem."""
        with self._told():
            return self._client.try_post(path, fields, key=key)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except httpx.ConnectError:
            raise DeskProblem(
                f"nobody answers at {self._url}: is 'cardroom serve' running there?"
            ) from None
        except httpx.HTTPError as error:
            raise DeskProblem(f"{self._url} did not answer: {type(error).__name__}") from None
        except ValueError:
            raise DeskProblem(f"what answers at {self._url} is no card room") from None


@contextmanager
def desk(role: str, url: str | None, as_whom: str | None) -> Iterator[Desk]:
    """Connect as a role, with a token of the local issuer or the one of CARDROOM_TOKEN.

    Raises DeskProblem, also for what the server refuses: a refusal in one line.
    """
    token = os.environ.get("CARDROOM_TOKEN")
    if url is not None and not token:
        raise DeskProblem("CARDROOM_TOKEN is needed for another server")
    settings = configuration.stated() if token else _installed()
    client = Client(url or _local(settings), token or _token(settings, role, as_whom), name="desk")
    try:
        yield Desk(client, url or _local(settings))
    except Refusal as refusal:
        raise DeskProblem(told(refusal.answer)) from None
    finally:
        client.close()


def told(answer: Answer) -> str:
    """Say in a line why something was refused."""
    problem = answer.content
    if problem["code"] == "missing-scope":
        return f"no right: the token does not allow {problem['scope']}"
    return f"{problem['detail'].rstrip('.')} ({problem['code']})"


def _installed() -> configuration.Settings:
    """Read the settings of the installation here, and make none where there is none."""
    settings = configuration.stated()
    kept = settings.data_dir / "jwt.key"
    if settings.jwt_key is None and settings.database_url is None and not kept.exists():
        raise DeskProblem(
            f"no card room is installed in {settings.data_dir}: run 'cardroom serve', or name"
            " a server with --url and CARDROOM_TOKEN"
        )
    return configuration.load()


def _local(settings: configuration.Settings) -> str:
    host = "127.0.0.1" if settings.host in ANYWHERE else settings.host
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"


def _token(settings: configuration.Settings, role: str, as_whom: str | None) -> str:
    return tokens.token(settings, role, subject=as_whom or _login() or role)


def _login() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None
