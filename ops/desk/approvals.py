"""``cardroom approvals``: what waits for a second person, and his answer."""

from collections.abc import Mapping
from typing import Annotated, Any, Final
from uuid import uuid4

import msgspec
import typer

from ledger.approvals.commands import REASONS
from ops.desk.connection import AsJson, AsWhom, Desk, DeskProblem, Url, desk, told
from ops.desk.screen import Column, Screen, as_json, instant, right

ROLE: Final = "approver"

app = typer.Typer(help="What waits for a second person.", invoke_without_command=True)

Id = Annotated[str, typer.Argument(help="The approval's id, or how it begins.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")]

_COLUMNS: Final = (
    *(Column("approval"), Column("what", widest=44), right("amount"), Column("")),
    *(Column("asked by", widest=12), Column("expires")),
)


@app.callback()
def approvals(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Also those that are decided.")] = False,
    as_printed_json: AsJson = False,
    url: Url = None,
    as_whom: AsWhom = None,
) -> None:
    """List what waits for a second person; 'grant' and 'reject' answer it."""
    if context.invoked_subcommand is not None:
        return
    with desk(ROLE, url, as_whom) as at:
        show = "all" if every else "to-decide"
        found = at.pages("/v1/approvals", "approvals", most=500, show=show)
    if as_printed_json:
        as_json(found)
        return
    screen = Screen()
    if not found:
        screen.line("Nothing waits for you.")
        return
    rows = [
        [row["approval"][:8], row["words"], row.get("amount") or "", row["currency"] or "",
         row["maker"], instant(row["expires_at"])[:16] if row["status"] == "pending" else
         row["status"]]
        for row in found
    ]  # fmt: skip
    screen.table(_COLUMNS, rows)


@app.command()
def grant(approval: Id, yes: Yes = False, url: Url = None, as_whom: AsWhom = None) -> None:
    """Agree to what was asked for: it is carried out at once."""
    with desk(ROLE, url, as_whom) as at:
        asked = _shown(at, approval)
        _meant(f"Carry out {asked['action']}?", yes=yes)
        path = f"/v1/approvals/{asked['approval']}/grant"
        _post(at, path)
    print("Granted, and carried out.")


@app.command()
def reject(
    approval: Id,
    *,
    code: Annotated[str, typer.Option(help=f"One of {', '.join(REASONS)}.")],
    reason: Annotated[str, typer.Option(help="Why, in words.")],
    yes: Yes = False,
    url: Url = None,
    as_whom: AsWhom = None,
) -> None:
    """Do not agree to what was asked for."""
    with desk(ROLE, url, as_whom) as at:
        asked = _shown(at, approval)
        _meant(f"Reject {asked['action']}?", yes=yes)
        path = f"/v1/approvals/{asked['approval']}/reject"
        _post(at, path, code=code, reason=reason)
    print("Rejected.")


def _shown(at: Desk, begins: str) -> Mapping[str, Any]:
    """Find an approval by how its id begins, and print all that it asks for."""
    found = [
        row["approval"]
        for row in at.pages("/v1/approvals", "approvals", most=500, status="pending")
        if row["approval"].startswith(begins)
    ]
    if len(found) != 1:
        which = "No" if not found else "More than one"
        raise DeskProblem(f"{which} pending approval begins with {begins!r}")
    asked: Mapping[str, Any] = at.get(f"/v1/approvals/{found[0]}")
    screen = Screen()
    screen.title(asked["action"], asked["approval"])
    screen.line(asked["words"])
    amount = f", {asked['amount']} {asked['currency']}" if asked.get("amount") else ""
    screen.line(f"asked for by {asked['maker']}, {instant(asked['requested_at'])} UTC{amount}")
    screen.line(f"by {asked['rulebook']}; expires {instant(asked['expires_at'])} UTC")
    rows = [[name, _text(value)] for name, value in asked["command"].items()]
    screen.table([Column("the exact command"), Column("", widest=70)], rows)
    screen.line()
    return asked


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _meant(question: str, *, yes: bool) -> None:
    if not yes and not typer.confirm(question):
        raise DeskProblem("Nothing was decided")


def _post(at: Desk, path: str, **fields: Any) -> None:
    # A key for each try: another person may have tried before, and was refused.
    answer = at.post(path, f"desk-{uuid4()}", **fields)
    if not answer.done:
        raise DeskProblem(told(answer))
