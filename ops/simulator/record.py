"""A played hand as Open Hand History, the way a game server posts it."""

from datetime import datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

import msgspec

from ledger import money
from ops.simulator.games import Limits
from ops.simulator.play import Action, Settled

SPEC_VERSION: Final = "1.4.7"

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


class Seated(NamedTuple):
    """A player as the record names him; the stack is what he had before the hand."""

    seat: int
    name: str
    stack: int
    dealt: bool = True
    sitting_out: bool = False


class Heading(NamedTuple):
    """What a record says about a hand before it is played."""

    game_number: str
    started_at: datetime
    site: str
    table: str
    size: int
    dealer: int
    limits: Limits
    players: tuple[Seated, ...]


def record(heading: Heading, hand: Settled | None) -> dict[str, Any]:
    """Write a hand down; without a played hand it is one that has just begun."""
    currency = heading.limits.currency
    ohh = {**_table(heading), "players": [_player(player, currency) for player in heading.players]}
    if hand is None:
        return {"ohh": {**ohh, "x_status": "running", "rounds": []}}
    ohh["rounds"] = [
        {
            "id": number,
            "street": street.street,
            "cards": list(street.board),
            "actions": [_action(n, a, currency) for n, a in enumerate(street.actions, 1)],
        }
        for number, street in enumerate(hand.rounds)
    ]
    ohh["pots"] = _pots(hand, currency)
    ohh["x_uncalled_returned"] = [
        {"player_id": player, "amount": amount(value, currency)} for player, value in hand.returned
    ]
    return {"ohh": ohh}


def encode(content: Any) -> bytes:
    """Write a record, or a list of them, as JSON with exact amounts."""
    return _ENCODER.encode(content)


def amount(minor: int, currency: str) -> Decimal:
    """Write minor units as the decimal number that stands in a record: 1140 EUR -> 11.40."""
    return Decimal(money.text(minor, currency))


def _table(heading: Heading) -> dict[str, Any]:
    limits, currency = heading.limits, heading.limits.currency
    table: dict[str, Any] = {
        "spec_version": SPEC_VERSION,
        "internal_version": "cardroom-simulator",
        "site_name": heading.site,
        "network_name": heading.site,
        "game_number": heading.game_number,
        "start_date_utc": heading.started_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "table_name": heading.table,
        "table_size": heading.size,
        "game_type": limits.game,
        "bet_limit": {"bet_type": limits.bet_type, "bet_cap": amount(0, currency)},
        "currency": currency,
        "dealer_seat": heading.dealer,
        "small_blind_amount": amount(limits.small_blind, currency),
        "big_blind_amount": amount(limits.big_blind, currency),
        "ante_amount": amount(limits.ante, currency),
    }
    if limits.ante:
        table["x_small_bet"] = amount(limits.small_bet, currency)
        table["x_big_bet"] = amount(limits.big_bet, currency)
        table["x_bring_in"] = amount(limits.bring_in, currency)
    return table


def _player(player: Seated, currency: str) -> dict[str, Any]:
    written: dict[str, Any] = {
        "id": player.seat,
        "seat": player.seat,
        "name": player.name,
        "starting_stack": amount(player.stack, currency),
    }
    if not player.dealt:
        written["x_dealt"] = False
    if player.sitting_out:
        written["is_sitting_out"] = True
    return written


def _action(number: int, action: Action, currency: str) -> dict[str, Any]:
    written: dict[str, Any] = {
        "action_number": number,
        "player_id": action.player,
        "action": action.action,
    }
    if action.amount:
        written["amount"] = amount(action.amount, currency)
    if action.all_in:
        written["is_allin"] = True
    if action.cards:
        written["cards"] = list(action.cards)
    return written


def _pots(hand: Settled, currency: str) -> list[dict[str, Any]]:
    return [
        {
            "number": number,
            "amount": amount(pot.amount, currency),
            "rake": amount(rake, currency),
            "player_wins": [
                {
                    "player_id": win.player,
                    "win_amount": amount(win.amount, currency),
                    **({"x_half": win.half} if win.half else {}),
                }
                for win in wins
            ],
        }
        for number, (pot, rake, wins) in enumerate(
            zip(hand.pots, hand.rakes, hand.wins, strict=True)
        )
    ]
