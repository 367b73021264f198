"""``cardroom judge``: what the rules say about the hands of a file, without booking any."""

import sys
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from api.clock import now
from ledger.core import Refused
from ledger.hands import ohh, reading
from ledger.hands.commands import DEFAULT_RULEBOOK
from ledger.hands.judge import judge
from ledger.hands.seating import check_clock
from ledger.hands.verdict import ShownFinding, Verdict, show
from ledger.rulebooks import Rulebook, shipped
from ops.phh import files as phh

PHH_RULEBOOK: Final = "as-posted"


def judge_hands(
    file: Annotated[
        Path, typer.Argument(help="Hands in Open Hand History (JSON, JSON lines) or .phh, .phhs.")
    ],
    rulebook: Annotated[
        str | None,
        typer.Option(help="Instead of what the hands name, else entraction; of PHH as-posted."),
    ] = None,
    on: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Judge by the version of this day."),
    ] = None,
) -> None:
    """Print the verdict on each hand of a file, one JSON object a line."""
    write = sys.stdout.buffer.write
    judged = phh_verdicts if file.suffix.lower() in phh.SUFFIXES else verdicts
    for verdict in judged(file.read_bytes(), rulebook, on.date() if on else None):
        write(msgspec.json.encode(verdict) + b"\n")


def verdicts(body: bytes, rulebook: str | None, on: date | None) -> Iterator[Verdict]:
    """Judge each hand alone: its starting stacks and seats are taken as given."""
    try:
        items = reading.split(body)
    except Refused as refused:
        yield _unread(None, refused.code, refused.field, refused.message)
        return
    for item in items:
        yield _verdict(item, rulebook, on)


def phh_verdicts(body: bytes, rulebook: str | None, on: date | None) -> Iterator[Verdict]:
    """Judge each hand of a PHH file alone, by ``as-posted`` unless a rulebook is named.

    PHH says nothing of a house's rake and whose forced bets are due, and its hands are of games
    all over the world. What is found is named by its place in Open Hand History.
    """
    # PokerKit takes a third of a second to import: only who has such a file waits for it.
    from ops.phh.translate import encode, translate

    try:
        for item in phh.split(body):
            try:
                document = encode(translate(item, phh.read(item)))
            except Refused as refused:
                yield _unread(item.number, refused.code, item.where(refused.field), refused.message)
            else:
                yield _verdict(document, rulebook or PHH_RULEBOOK, on)
    except ohh.Malformed as refused:
        yield _unread(None, refused.code, refused.field, refused.message)


def _verdict(item: ohh.Raw, rulebook: str | None, on: date | None) -> Verdict:
    try:
        hand = reading.read(item)
    except Refused as refused:
        return _unread(_number_of(item), refused.code, refused.field, refused.message)
    name = rulebook or hand.x_rulebook or DEFAULT_RULEBOOK
    rules = _in_force(name, on or hand.started_at.date())
    if rules is None:
        message = f"No rulebook {name!r} comes with this version."
        return _unread(hand.game_number, "unknown-rulebook", "x_rulebook", message)
    judgement = judge(hand, rules)
    findings = judgement.findings
    check_clock(hand, now(), findings)
    return show(hand, findings.verdict, judgement.expected(), findings)


def _in_force(name: str, day: date) -> Rulebook | None:
    """Return the version of a day: the last one valid by then, else the first."""
    versions = [one for one in shipped() if one.name == name]
    valid = [one for one in versions if one.valid_from <= day]
    return valid[-1] if valid else next(iter(versions), None)


class _Number(msgspec.Struct):
    game_number: str | None = None


class _Numbered(msgspec.Struct):
    ohh: _Number


def _number_of(item: ohh.Raw) -> str | None:
    """Find the number of a hand that could not be read, so that it can be told apart."""
    try:
        return msgspec.json.decode(item, type=_Numbered).ohh.game_number
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def _unread(number: str | None, code: str, where: str | None, message: str) -> Verdict:
    finding = ShownFinding(code, "refuse", where or "", None, None, message)
    return Verdict(number, "refused", None, [finding])
