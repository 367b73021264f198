"""``cardroom findings`` and ``cardroom finding``: what was found wrong, and what to do about it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal
from urllib.parse import unquote
from uuid import uuid4

import typer

from ledger.hands.resolving import RESOLUTIONS
from ops.desk.connection import AsJson, AsWhom, DeskProblem, Url, desk, told
from ops.desk.days import begin, end
from ops.desk.screen import Column, Screen, as_json, instant, right, text_of

ROLE: Final = "support"

GROUPS: Final = {"code": "code", "table": "table", "server": "game_server"}
"""What findings are counted by, as the API names it."""

_COLUMNS: Final = (
    *(right("position"), Column("hand", widest=14), Column("table", widest=14), Column("finding")),
    *(Column("expected", widest=12), Column("posted", widest=12), right("at stake"), Column("")),
    Column("", widest=10),
)
_COUNTS: Final = (
    *(right("findings"), right("open"), right("explained"), right("resolved")),
    *(right("at stake"), right("not resolved"), Column("")),
)


def findings(
    *,
    status: Annotated[
        Literal["unresolved", "open", "explained", "resolved", "all"],
        typer.Option(help="Those that stand like this."),
    ] = "unresolved",
    code: Annotated[
        str | None, typer.Option(help="Of one kind: wrong-rake, wrong-share ...")
    ] = None,
    table: Annotated[str | None, typer.Option(help="Of a table's hands.")] = None,
    server: Annotated[str | None, typer.Option(help="Of the hands that it posted.")] = None,
    hand: Annotated[str | None, typer.Option(help="Of one hand, by its game number.")] = None,
    since: Annotated[
        str | None, typer.Option("--from", help="A day or an instant (UTC) on or after which.")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="The last day, or an instant before which.")
    ] = None,
    largest: Annotated[
        str | None, typer.Option(metavar="CURRENCY", help="What is most at stake first, in EUR ...")
    ] = None,
    by: Annotated[
        Literal["code", "table", "server"] | None, typer.Option(help="Count them by this.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="How many are shown.")] = 50,
    as_printed_json: AsJson = False,
    url: Url = None,
    as_whom: AsWhom = None,
) -> None:
    """List what was found wrong with booked hands, the oldest first; 'finding' looks into one."""
    query: dict[str, Any] = {
        "status": None if status == "all" else status,
        "code": code,
        "table": table,
        "game_server": server,
        "hand": hand,
        "occurred_from": begin(since),
        "occurred_before": end(to),
        "currency": largest,
    }
    with desk(ROLE, url, as_whom) as at:
        if by is not None:
            found = at.get("/v1/findings/summary", by=GROUPS[by], **query)["summary"]
        else:
            order = "oldest-first" if largest is None else "largest-first"
            found = at.pages("/v1/findings", "findings", most=most + 1, order=order, **query)
    if as_printed_json:
        as_json(found[:most])
        return
    screen = Screen()
    if not found:
        screen.line("None.")
    elif by is not None:
        _counts(found, by, screen)
    else:
        screen.table(_COLUMNS, [_row(one) for one in found[:most]])
        if len(found) > most:
            screen.line()
            screen.line("There are more: --most shows them.")


def _row(one: Mapping[str, Any]) -> Sequence[str]:
    return [
        *(str(one["position"]), one["game_number"], unquote(one["table"]), one["code"]),
        *(text_of(one["expected"]), text_of(one["posted"]), one.get("amount", "")),
        *(one["currency"] if "amount" in one else "", one["status"]),
    ]


def _counts(found: Sequence[Mapping[str, Any]], by: str, screen: Screen) -> None:
    rows = [
        [
            unquote(one["name"]) if by == "table" else one["name"],
            *(str(one[name]) for name in ("findings", "open", "explained", "resolved")),
            *(one["amount"], one["unresolved"], one["currency"]),
        ]
        for one in found
    ]
    screen.table([Column(by, widest=30), *_COUNTS], rows)


# -- one finding ---------------------------------------------------------------------------------


SAID: Final = {
    "explain": ("text",),
    "resolve": ("resolution", "reason"),
    "reopen": ("reason",),
}
"""What has to be said with each action, in this order."""


def finding(
    position: Annotated[int, typer.Argument(min=1, help="Where it is, as 'findings' lists it.")],
    action: Annotated[
        Literal["explain", "resolve", "reopen"] | None,
        typer.Argument(help="What to do about it. Not given: it is shown."),
    ] = None,
    said: Annotated[
        list[str] | None,
        typer.Argument(
            help="explain: what was found out. resolve: one of"
            f" {', '.join(RESOLUTIONS)}; then why. reopen: why. In words without names."
        ),
    ] = None,
    *,
    corrected_by: Annotated[
        str | None, typer.Option(metavar="KEY", help="The request that moved the money.")
    ] = None,
    as_printed_json: AsJson = False,
    url: Url = None,
    as_whom: AsWhom = None,
) -> None:
    """Tell what was found, how it stands and who did what about it; or do something about it."""
    fields = _fields(action, said or [], corrected_by)
    with desk(ROLE, url, as_whom) as at:
        if action is not None:
            # A key for each try: what was refused before may be possible now.
            answer = at.post(f"/v1/findings/{position}/{action}", f"desk-{uuid4()}", **fields)
            if not answer.done:
                raise DeskProblem(told(answer))
            found = answer.content
        else:
            found = at.get(f"/v1/findings/{position}")
    if as_printed_json:
        as_json(found)
    elif action is None:
        _show(found, Screen())
    else:
        print(f"Finding {found['number']} of hand {found['game_number']} is {found['status']}.")


def _fields(action: str | None, said: Sequence[str], corrected_by: str | None) -> dict[str, str]:
    """Name what was said. Raises BadParameter when it is too much or too little."""
    asked = SAID.get(action or "", ())
    if len(said) != len(asked):
        wanted = " ".join(name.upper() for name in asked)
        raise typer.BadParameter(f"say {action} {wanted}, each in quotes")
    given = {} if corrected_by is None else {"corrected_by": corrected_by}
    if given and action != "resolve":
        raise typer.BadParameter("--corrected-by goes with resolve")
    return {**dict(zip(asked, said, strict=True)), **given}


def _show(found: Mapping[str, Any], screen: Screen) -> None:
    one = found["finding"]
    screen.title(
        f"Finding {one['position']}",
        one["code"],
        one["status"],
        f"hand {one['game_number']}",
        f"table {unquote(one['table'])}",
    )
    screen.line(one["message"])
    screen.line(
        f"{one['where']}, posted by {one['game_server']}; the hand began"
        f" {instant(one['occurred_at'])} UTC"
    )
    rows = [["expected", text_of(one["expected"])], ["posted", text_of(one["posted"])]]
    if "amount" in one:
        rows.append(["at stake", f"{one['amount']} {one['currency']}"])
    rows = [row for row in rows if row[1]]
    if rows:
        screen.table([Column(""), Column("", widest=80)], rows)
    for step in found["steps"]:
        why = "" if step["resolution"] is None else f", {step['resolution']}"
        by = "" if step["corrected_by"] is None else f" (by request {step['corrected_by']})"
        screen.line()
        became = "opened again" if step["became"] == "open" else step["became"]
        when = f"{instant(step['occurred_at'])} UTC"
        screen.line(f"{became} by {step['actor']}, {when}{why}{by}: {step['text']}")
