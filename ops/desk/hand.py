"""``cardroom hand``: one hand in words, with its money."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Annotated, Any, Final
from urllib.parse import quote

import msgspec
import typer

from ledger import money
from ledger.hands import ohh, reading
from ops.desk.connection import AsJson, AsWhom, Url, desk
from ops.desk.screen import Column, Screen, as_json, instant, right, text_of

WIDEST: Final = 62
"""Of what is said of an event, beside its money."""

LIMITS: Final = {
    "NL": "no limit",
    "PL": "pot limit",
    "HPL": "half-pot limit",
    "FL": "fixed limit",
    "SL": "spread limit",
}
VERBS: Final = {
    "Post SB": "posts the small blind",
    "Post BB": "posts the big blind",
    "Post Ante": "posts the ante",
    "Post Dead": "posts dead",
    "Post Extra Blind": "posts an extra blind",
    "Straddle": "straddles",
    "Bring In": "brings in",
    "Fold": "folds",
    "Check": "checks",
    "Bet": "bets",
    "Raise": "raises, adding",
    "Call": "calls",
    "Discard": "discards",
    "Stand Pat": "stands pat",
    "Shows Cards": "shows",
    "Mucks Cards": "mucks",
    "Dealt Cards": "is dealt",
    "Added Chips": "adds chips",
    "Sits Down": "sits down",
    "Stands Up": "stands up",
    "Add to Pot": "is added to the pot",
    "Player Adjustment": "is adjusted by",
}


def hand(
    number: Annotated[str, typer.Argument(help="The hand's game number.")],
    *,
    as_printed_json: AsJson = False,
    url: Url = None,
    as_whom: AsWhom = None,
) -> None:
    """Tell a hand street by street, and every movement of its money."""
    with desk("support", url, as_whom) as at:
        answer = at.read(f"/v1/hands/{quote(number, safe='')}")
    if as_printed_json:
        as_json(msgspec.Raw(answer))
    else:
        HandPage(answer).show(Screen())


class _Answer(msgspec.Struct):
    record: msgspec.Raw


class HandPage:
    """A hand as it is printed."""

    def __init__(self, answer: bytes) -> None:
        found = self._found = msgspec.json.decode(answer)
        # The posted amounts are JSON numbers: read as they are when they are posted, exactly.
        self._posted = reading.read(msgspec.json.decode(answer, type=_Answer).record)
        self._currency: str = found["currency"]
        self._names = {player.id: player.name for player in self._posted.players}
        self._by_seat = {player.seat: player.name for player in self._posted.players}
        self._ids = {
            player["player"]: self._by_seat[player["seat"]]
            for player in found["players"]
            if player["player"] is not None
        }

    def show(self, screen: Screen) -> None:
        """Print everything."""
        self._heading(screen)
        self._seats(screen)
        for street in self._posted.rounds:
            self._street(screen, street)
        self._pots(screen)
        self._findings(screen)
        self._money(screen)

    def _heading(self, screen: Screen) -> None:
        found, posted = self._found, self._posted
        blinds = [posted.small_blind_amount, posted.big_blind_amount]
        stakes = "/".join(self._amount(blind) for blind in blinds if blind)
        screen.title(
            f"Hand {found['game_number']}",
            f"{found['game']} {LIMITS[posted.bet_limit.bet_type]}"
            f" {stakes or self._amount(posted.ante_amount or 0)} {self._currency}",
            f"table {posted.table_name}",
            f"{instant(found['started_at'])} UTC",
        )
        screen.line(f"verdict {found['verdict']}, by {found['rulebook']}; {found['stream']}")
        for before in found["refused_before"]:
            screen.line(f"refused before, {instant(before['refused_at'])}: {before['code']}")

    def _seats(self, screen: Screen) -> None:
        net = self._net()
        rows = []
        for player in self._posted.players:
            changed = net.get(player.name, 0)
            rows.append(
                [
                    f"{player.seat}{' D' if player.seat == self._posted.dealer_seat else ''}",
                    player.name,
                    self._amount(player.starting_stack),
                    f"{'+' if changed > 0 else ''}{self._amount(changed)}",
                    self._amount(player.starting_stack + changed),
                ]
            )
        columns = [Column("seat"), Column("player", widest=40)]
        screen.table(
            [*columns, right("began with"), right("won or lost"), right("ended with")], rows
        )

    def _net(self) -> dict[str, int]:
        """Add up what each player's chips were changed by, by his name in the hand."""
        net: dict[str, int] = {}
        for event in self._found["events"]:
            for line in event["postings"]:
                component, *parts = line["account"].split(":")
                if component == "chips":
                    name = self._name_of(parts[-1])
                    net[name] = net.get(name, 0) - line["amount_minor"]
        return net

    def _name_of(self, player: str) -> str:
        """Return the name in the hand; a hidden player is known by his seat alone."""
        if player.startswith("masked-seat-"):
            return str(self._by_seat.get(int(player.removeprefix("masked-seat-")), player))
        return str(self._ids.get(player, player))

    def _street(self, screen: Screen, street: ohh.Round) -> None:
        screen.line()
        screen.line(f"{street.street} {cards(street.cards)}".rstrip(), style="bold")
        for action in street.actions:
            if action.action != "Dealt Cards" or action.cards:
                screen.line(f"  {self._action(action)}")

    def _action(self, action: ohh.Action) -> str:
        parts = [
            self._names.get(action.player_id, "") if action.player_id is not None else "",
            VERBS[action.action],
            self._amount(action.amount) if action.amount else "",
            cards(action.cards),
            "" if action.x_count is None else f"{action.x_count} cards",
        ]
        told = " ".join(part for part in parts if part)
        if action.is_allin:
            told += ", all in"
        return f"{told} ({action.x_reason})" if action.x_reason else told

    def _pots(self, screen: Screen) -> None:
        rows = []
        for pot in self._posted.pots:
            name = f"side pot {pot.number}" if pot.number else "main pot"
            heading = [name, self._amount(pot.amount), self._amount(pot.rake)]
            for win in pot.player_wins:
                half = f" ({win.x_half})" if win.x_half else ""
                winner = f"{self._names[win.player_id]}{half}"
                rows.append([*heading, winner, self._amount(win.win_amount)])
                heading = ["", "", ""]
        columns = [Column("pot"), right("amount"), right("rake"), Column("won by", widest=40)]
        screen.table([*columns, right("gets")], rows, title="Pots, as posted")

    def _findings(self, screen: Screen) -> None:
        found = self._found["findings"]
        if not found:
            return
        rows = [
            [str(one["position"]), one["code"], text_of(one["expected"]), text_of(one["posted"]),
             one.get("amount", ""), one["status"]]
            for one in found
        ]  # fmt: skip
        columns = [right("position"), Column("finding"), Column("expected", widest=20)]
        more = [Column("posted", widest=20), right("at stake"), Column("")]
        screen.table([*columns, *more], rows, title="Findings")
        for one in found:
            if one["steps"]:
                screen.line(f"  {one['text']}")

    def _money(self, screen: Screen) -> None:
        rows = [row for event in self._found["events"] for row in self._rows(event)]
        columns = [right("position"), Column("", widest=WIDEST), right("debit"), right("credit")]
        screen.table(columns, rows, title=f"Events and their money, {self._currency}")

    def _rows(self, event: Mapping[str, Any]) -> Iterator[Sequence[str]]:
        position = str(event["position"])
        for text in wrap(event["text"], WIDEST):
            yield [position, text, "", ""]
            position = ""
        for line in event["postings"]:
            amount = line["amount"].lstrip("-")
            debit, credit = (amount, "") if line["amount_minor"] > 0 else ("", amount)
            yield ["", f"  {self._account(line['account'])}", debit, credit]

    def _account(self, account: str) -> str:
        component, _, *parts = account.split(":")
        return " ".join([component, *(self._name_of(part) for part in parts)])

    def _amount(self, amount_minor: int) -> str:
        return money.text(amount_minor, self._currency)


def cards(given: Sequence[str] | str | None) -> str:
    """Write cards: ``[9s 4d Kh]``; nothing when there are none."""
    return f"[{' '.join(given)}]" if given else ""
