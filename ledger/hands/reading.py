"""From posted bytes to hands in their canonical form.

Amounts are in minor units, defaults are filled in, keys that are not known are dropped. Two posts
are the same when their canonical forms are equal.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec.structs import force_setattr

from ledger.core import Refused
from ledger.hands.amounts import Exact, Numbers
from ledger.hands.ohh import (
    Hand,
    HandDocument,
    Malformed,
    NegativeAmount,
    Part,
    Raw,
    instant,
)
from ledger.money import CHIPS, DIGITS, MAX_MINOR, PLAY_MONEY

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_DECODER: Final = msgspec.json.Decoder(HandDocument, float_hook=Numbers().__getitem__)
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])


def split(body: bytes) -> list[Raw]:
    """Take a body apart into hands, none of them decoded yet.

    A body is one hand, a JSON array of hands, or hands one per line or separated by a blank line
    (the standard's file format). Raises Malformed only when an array does not close.
    """
    body = body.removeprefix(_BYTE_ORDER_MARK).strip()
    if body[:1] == b"[":
        try:
            return list(_ITEMS.decode(body))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise Malformed(f"The array cannot be read: {error}.") from None
    return [item for block in _blocks(body) for item in _lines(block)]


def _blocks(body: bytes) -> Iterator[bytes]:
    for block in body.replace(b"\r", b"").split(b"\n\n"):
        if stripped := block.strip():
            yield stripped


def _lines(block: bytes) -> list[Raw]:
    first, newline, rest = block.partition(b"\n")
    if not newline:
        return [block]
    # A hand that is printed over several lines is one hand; its first line does not close.
    if not first.rstrip().endswith(b"}") and not rest.lstrip().startswith(b'{"ohh"'):
        return [block]
    return [line.strip() for line in block.split(b"\n") if line.strip()]


def read(item: Raw) -> Hand:
    """Decode one posted hand into its canonical form.

    Raises Malformed or NegativeAmount, with the path of what is wrong as its field.
    """
    try:
        hand = _DECODER.decode(item).ohh
    except msgspec.ValidationError as error:
        raise _malformed(error) from None
    except msgspec.DecodeError as error:
        raise Malformed(f"This is not JSON: {error}.") from None
    except (RecursionError, UnicodeDecodeError):
        raise Malformed("This is nested too deeply or not in UTF-8.") from None
    return _normalised(hand)


def digest_of(item: Raw) -> str:
    """Return the SHA-256 of the posted bytes, in hex."""
    return sha256(item)


def sha256(content: Raw) -> str:
    """Return a SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


def differing_fields(one: Hand, other: Hand, limit: int = 20) -> list[str]:
    """Name the paths at which two canonical hands differ, the first ``limit`` of them."""
    paths: list[str] = []
    for path in _differences(msgspec.to_builtins(one), msgspec.to_builtins(other), ""):
        paths.append(path)
        if len(paths) == limit:
            break
    return paths


# -- amounts -----------------------------------------------------------------------------------


class _UnreadableError(Exception):
    """An amount that is none, with the part and field where it stands."""

    def __init__(self, part: Part, field: str, value: Any) -> None:
        super().__init__(field)
        self.part = part
        self.field = field
        self.value = value


def _minor(part: Part, field: str, value: Any, digits: int) -> int:
    """Return minor units of an amount that must not be negative."""
    if value.__class__ is Exact:
        minor = value[digits]
        if minor is not None and minor >= 0:
            return int(minor)
    elif value.__class__ is int:
        minor = value * 10**digits
        if 0 <= minor <= MAX_MINOR:
            return int(minor)
    raise _UnreadableError(part, field, value)


def _set(part: Part, field: str, digits: int) -> None:
    value = getattr(part, field)
    if value.__class__ is Exact:
        # Most amounts have a point; they are the busiest lines of reading a hand.
        minor = value[digits]
        if minor is not None and minor >= 0:
            force_setattr(part, field, minor)
            return
    elif value.__class__ is int and value == 0:
        return
    force_setattr(part, field, _minor(part, field, value, digits))


def _set_or_zero(part: Part, field: str, digits: int) -> None:
    if getattr(part, field) is None:
        force_setattr(part, field, 0)
    else:
        _set(part, field, digits)


def _set_optional(part: Part, field: str, digits: int) -> None:
    if getattr(part, field) is not None:
        _set(part, field, digits)


# -- the canonical form ------------------------------------------------------------------------


def _normalised(hand: Hand) -> Hand:
    """Bring a hand that was just decoded into its canonical form, in place: nobody has it yet."""
    digits = DIGITS[_normalise_currency(hand)]
    _normalise_start(hand)
    if not hand.game_number.isprintable():
        raise Malformed("A number is printable.", field="game_number")
    try:
        _normalise_root(hand, digits)
        _normalise_rounds(hand.rounds, digits)
        _normalise_pots(hand, digits)
    except _UnreadableError as error:
        raise _refusal(error, hand) from None
    return hand


def _normalise_currency(hand: Hand) -> str:
    currency = hand.currency
    if hand.tournament:
        currency = CHIPS
    elif currency == "PPC":
        # The standard's older name of play money.
        currency = PLAY_MONEY
    if currency not in DIGITS or (currency == CHIPS and not hand.tournament):
        raise Malformed("No such currency.", field="currency")
    if currency is not hand.currency:
        force_setattr(hand, "currency", currency)
    return currency


_SECONDS: Final = len("2013-01-01T12:00:00Z")


def _normalise_start(hand: Hand) -> None:
    text = hand.start_date_utc
    try:
        began = instant(text)
    except (ValueError, OverflowError):
        raise Malformed("This is neither a date nor a time.", field="start_date_utc") from None
    if len(text) != _SECONDS or (text[7], text[10], text[-1]) != ("-", "T", "Z"):
        force_setattr(hand, "start_date_utc", began.isoformat()[:-6] + "Z")


# An amount is no integer yet, whatever its type says: until then, what holds it has no type.


def _normalise_root(hand: Any, digits: int) -> None:
    for field in ("small_blind_amount", "big_blind_amount", "ante_amount"):
        _set_or_zero(hand, field, digits)
    for field in ("x_small_bet", "x_big_bet", "x_bring_in"):
        _set_optional(hand, field, digits)
    if hand.x_spread:
        spread = [_minor(hand, "x_spread", value, digits) for value in hand.x_spread]
        force_setattr(hand, "x_spread", spread)
    if hand.flags is None:
        force_setattr(hand, "flags", [])
    if hand.tournament is None:
        force_setattr(hand, "tournament", False)
    if hand.x_status == "finished":
        force_setattr(hand, "x_status", None)
    limit = hand.bet_limit
    _set_or_zero(limit, "bet_cap", digits)
    for player in hand.players:
        _set(player, "starting_stack", digits)
        if player.is_sitting_out is None:
            force_setattr(player, "is_sitting_out", False)


def _normalise_rounds(rounds: list[Any], digits: int) -> None:
    factor = 10**digits
    exact, limit = Exact, MAX_MINOR // factor
    for round_ in rounds:
        if round_.cards is not None and not round_.cards:
            force_setattr(round_, "cards", None)
        for action in round_.actions:
            amount = action.amount
            if amount.__class__ is exact:
                minor = amount[digits]
                if minor is None or (minor < 0 and action.action != "Player Adjustment"):
                    raise _UnreadableError(action, "amount", amount)
                force_setattr(action, "amount", minor)
            elif amount.__class__ is not int:
                if amount is not None:
                    raise _UnreadableError(action, "amount", amount)
                force_setattr(action, "amount", 0)
            elif amount:
                if abs(amount) > limit or (amount < 0 and action.action != "Player Adjustment"):
                    raise _UnreadableError(action, "amount", amount)
                force_setattr(action, "amount", amount * factor)
            if action.cards is not None and not action.cards:
                force_setattr(action, "cards", None)
            if action.is_allin is None:
                force_setattr(action, "is_allin", False)


def _normalise_pots(hand: Any, digits: int) -> None:
    for pot in hand.pots:
        _set(pot, "amount", digits)
        for field in ("rake", "jackpot"):
            _set_or_zero(pot, field, digits)
        for win in pot.player_wins:
            _set(win, "win_amount", digits)
    for returned in hand.x_uncalled_returned or ():
        _set(returned, "amount", digits)


# -- naming what is wrong ----------------------------------------------------------------------


def _malformed(error: msgspec.ValidationError) -> Malformed:
    message, _, path = str(error).partition(" - at `$.")
    where = path.rstrip("`").removeprefix("ohh.")
    return Malformed(f"{message}.", field=where or None)


def _refusal(error: _UnreadableError, hand: Hand) -> Refused:
    where = _path_to(hand, error.part, "")
    field = f"{where}.{error.field}" if where else error.field
    value, currency = error.value, hand.money
    if value.__class__ is Exact:
        negative = value.text.startswith("-")
        number = f"{value.text[:40]} "
    elif value.__class__ is int:
        negative, number = value < 0, ""
    else:
        return Malformed("An amount must be a JSON number.", field=field)
    if negative:
        return NegativeAmount("An amount cannot be negative.", field=field)
    message = f"{number}has more digits than {currency} has, or is beyond reason."
    return Malformed(message if number else "This amount is beyond reason.", field=field)


def _path_to(inside: Any, part: Part, path: str) -> str | None:
    """Find a part inside another by identity; None when it is not there."""
    if inside is part:
        return path
    if isinstance(inside, list):
        children = ((f"{path}[{index}]", item) for index, item in enumerate(inside))
    elif isinstance(inside, Part):
        dot = "." if path else ""
        children = (
            (f"{path}{dot}{name}", getattr(inside, name)) for name in inside.__struct_fields__
        )
    else:
        return None
    for child_path, child in children:
        found = _path_to(child, part, child_path)
        if found is not None:
            return found
    return None


def _differences(one: Any, other: Any, path: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        dot = "." if path else ""
        for key in (*one, *(key for key in other if key not in one)):
            yield from _differences(one.get(key), other.get(key), f"{path}{dot}{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _differences(left, right, f"{path}[{index}]")
    elif one != other:
        yield path
