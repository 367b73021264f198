"""Rulebooks: which are adopted, what they say, and adopting a new version."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from api.auth import Caller, needs
from api.clock import now
from api.edge import (
    Answer,
    Body,
    Done,
    Edge,
    Key,
    LedgerRoute,
    Slug,
    carry_out,
    common,
    edge_of,
    respond,
)
from api.tokens import Scope
from ledger.journal import Submission
from ledger.rulebooks import UnknownRulebook, parse, shipped_texts
from ledger.rulebooks.commands import AdoptRulebook
from ledger.rulebooks.events import RulebookState, rulebook_stream

router = APIRouter(prefix="/v1/rulebooks", tags=["rulebooks"], route_class=LedgerRoute)

Reading = Annotated[Caller, needs(Scope.RULEBOOKS_READ)]
Adopting = Annotated[Caller, needs(Scope.RULEBOOKS_ADOPT)]
Name = Annotated[Slug, Path(examples=["entraction"])]


def _shipped_example() -> dict[str, JsonValue]:
    """Return the shortest rulebook that comes with the software: a whole one, as it must be."""
    file, text = min(shipped_texts(), key=lambda shipped: len(shipped[1]))
    return {"file": file, "text": text}


class RulebookText(Body):
    """A version of a rulebook as TOML; it names itself, its date and its revision."""

    model_config = ConfigDict(json_schema_extra={"examples": [_shipped_example()]})

    text: str = Field(min_length=1, max_length=60_000)
    file: str = Field(pattern="^[A-Za-z0-9._/-]{1,200}$", description="Where the text came from.")


class Adopted(Done):
    """An adopted version."""

    rulebook: str
    sha256: str
    already_adopted: bool


class Version(BaseModel):
    """One adopted version."""

    model_config = ConfigDict(extra="forbid")

    rulebook: str
    valid_from: str
    revision: int
    file: str
    sha256: str


class RulebookAnswer(Answer):
    """The adopted versions of one rulebook, the earliest first."""

    name: str
    versions: list[Version]


class RulebooksAnswer(Answer):
    """The rulebooks that are adopted on the network."""

    rulebooks: list[str]


class StartupError(RuntimeError):
    """The process cannot serve this database."""


@router.post("", status_code=201, response_model=Adopted, summary="Adopt a version")
async def adopt_rulebook(
    request: Request, body: RulebookText, caller: Adopting, key: Key
) -> Response:
    """Let a version apply from its date on; events that are written never look it up again."""
    command = AdoptRulebook(**common(caller, key), text=body.text, file=body.file)
    return await carry_out(request, caller, command)


@router.get("", response_model=RulebooksAnswer, summary="The adopted rulebooks")
def list_rulebooks(request: Request, caller: Reading) -> Response:
    """Name the rulebooks that hands and tables of the network may be judged by."""
    prefix = rulebook_stream(caller.network, "")
    with edge_of(request).reads.snapshot() as connection:
        rows = connection.execute(
            "SELECT originator_id, (SELECT max(last_position) FROM journal.commits)"
            " FROM journal.events WHERE originator_id >= %s AND originator_id < %s"
            " AND originator_version = 1 ORDER BY originator_id",
            [prefix, prefix[:-1] + ";"],
        ).fetchall()
    names = [stream.removeprefix(prefix) for stream, _ in rows]
    return respond({"rulebooks": names, "position": rows[0][1] if rows else 0})


@router.get("/{name}", response_model=RulebookAnswer, summary="The versions of a rulebook")
def get_rulebook(request: Request, name: Name, caller: Reading) -> Response:
    """List the adopted versions with their dates and hashes."""
    state, position = _rulebook(request, caller, name)
    versions = [
        {
            "rulebook": parse(version.text, version.file).ref,
            "valid_from": version.valid_from,
            "revision": version.revision,
            "file": version.file,
            "sha256": version.sha256,
        }
        for version in state.versions
    ]
    return respond({"name": name, "versions": versions, "position": position})


@router.get(
    "/{name}/{sha256}/text",
    response_class=Response,
    responses={200: {"content": {"application/toml": {"schema": {"type": "string"}}}}},
    summary="The text of a version",
)
def get_rulebook_text(
    request: Request,
    name: Name,
    sha256: Annotated[str, Path(pattern="^[0-9a-f]{64}$")],
    caller: Reading,
) -> Response:
    """Give the text as it was adopted, byte for byte."""
    state, _ = _rulebook(request, caller, name)
    for version in state.versions:
        if version.sha256 == sha256:
            return Response(version.text, media_type="application/toml")
    raise UnknownRulebook("No version has this hash.", field="sha256")


def _rulebook(request: Request, caller: Caller, name: str) -> tuple[RulebookState, int]:
    state: RulebookState | None
    state, position = edge_of(request).reads.state(rulebook_stream(caller.network, name))
    if state is None:
        raise UnknownRulebook(f"no rulebook {name!r} has been adopted", field="name")
    return state, position


async def adopt_shipped(edge: Edge, network: str) -> None:
    """Adopt the rulebooks that come with the software, where they are not adopted yet.

    Raises RulebookError for a text that is unusable and StartupError for one that was changed
    after it was adopted; both name the file.
    """
    commands = [
        AdoptRulebook(
            network=network,
            at=now(),
            actor="cardroom",
            request_id=f"shipped:{file}",
            text=text,
            file=file,
        )
        for file, text in shipped_texts()
    ]
    outcomes = await edge.writer.submit([Submission(command, "cardroom") for command in commands])
    for command, outcome in zip(commands, outcomes, strict=True):
        if outcome.refusal is not None:
            raise StartupError(f"{command.file}: {outcome.refusal.message}")
