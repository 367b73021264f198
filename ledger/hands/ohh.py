"""Hands as game servers post them: Open Hand History 1.4.7 and this project's ``x_`` keys.

Reading a hand gives its canonical form: amounts in minor units, defaults filled in, keys that
are not known dropped. Two posts are the same when their canonical forms are equal.
"""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import force_setattr

from ledger.core import Kind, Refused
from ledger.money import CHIPS, DIGITS, MAX_MINOR, PLAY_MONEY

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

Raw = bytes | msgspec.Raw
"""One posted hand, not yet decoded."""


class Malformed(Refused):
    """What was posted is not a hand of the standard; ``field`` is the path of what is wrong."""

    code = "malformed"
    kind: ClassVar[Kind] = "invalid"


class NegativeAmount(Refused):
    """Only a Player Adjustment may be negative."""

    code = "negative-amount"
    kind: ClassVar[Kind] = "invalid"


# Amounts arrive as JSON numbers and leave ``read`` as integers in minor units. Declaring them
# as Any lets the decoder hand over a number's own text, which is read exactly and only once.
if TYPE_CHECKING:
    Amount = int
else:
    Amount = Annotated[
        Any, Meta(extra_json_schema={"type": "number"}, description="An exact decimal.")
    ]

Small = Annotated[int, Meta(ge=0, le=1000)]
Id = Annotated[int, Meta(ge=-(2**53), le=2**53)]
Name = Annotated[str, Meta(min_length=1, max_length=128)]
Text = Annotated[str, Meta(max_length=256)]
Cards = list[Annotated[str, Meta(max_length=8)]] | Annotated[str, Meta(max_length=0)] | None
"""``["As", "Td"]``; ``??`` is a card that is not known; ``""`` is no card."""

Reason = Literal["timeout", "disconnect", "left"]

GAME_TYPES: Final = (
    "Holdem",
    "Omaha",
    "OmahaHiLo",
    "Stud",
    "StudHiLo",
    "Draw",
    "Soko",
    "FiveCardDraw",
    "TripleDraw27",
    "Telesina",
    "Americana",
)
"""What ``game_type`` may say; any other game is judged to be unknown, not malformed."""


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A part of a posted hand."""


class BetLimit(Part, frozen=True):
    bet_type: Annotated[
        Literal["NL", "PL", "FL", "SL", "HPL"],
        Meta(description="Besides the standard's: SL spread limit, HPL half-pot limit."),
    ]
    bet_cap: Amount | None = 0


class Player(Part, frozen=True):
    """``id`` is only valid inside the hand; ``name`` is the player's nickname."""

    id: Id
    seat: Small
    name: Annotated[str, Meta(max_length=128)]
    starting_stack: Amount
    is_sitting_out: bool | None = False
    x_dealt: Annotated[bool, Meta(description="False: seated but not dealt in.")] | None = None


class Action(Part, frozen=True):
    """``amount`` is what the action adds to the pot, for a Raise too."""

    action: Annotated[
        Literal[
            "Dealt Cards",
            "Mucks Cards",
            "Shows Cards",
            "Post Ante",
            "Post SB",
            "Post BB",
            "Straddle",
            "Post Dead",
            "Post Extra Blind",
            "Bring In",
            "Fold",
            "Check",
            "Bet",
            "Raise",
            "Call",
            "Discard",
            "Stand Pat",
            "Added Chips",
            "Sits Down",
            "Stands Up",
            "Add to Pot",
            "Player Adjustment",
        ],
        Meta(description="Besides the standard's: Bring In, Discard, Stand Pat."),
    ]
    action_number: Id = 0
    player_id: Id | None = None
    amount: Amount = 0
    is_allin: bool | None = False
    cards: Cards = None
    x_reason: (
        Annotated[
            Reason,
            Meta(description="Why a player did not act: an artificial all-in, or a fold."),
        ]
        | None
    ) = None
    x_count: Annotated[Small, Meta(description="How many cards, when not known.")] | None = None


class Round(Part, frozen=True):
    """``cards`` are the community cards; a street that occurs twice is run twice."""

    street: Literal[
        "Preflop",
        "Flop",
        "Turn",
        "River",
        "Second Street",
        "Third Street",
        "Fourth Street",
        "Fifth Street",
        "Sixth Street",
        "Seventh Street",
        "Vela",
        "Deal",
        "First Draw",
        "Second Draw",
        "Third Draw",
        "Showdown",
    ]
    id: Id = 0
    cards: Cards = None
    actions: list[Action] = []


class Win(Part, frozen=True):
    """``win_amount`` is what the player receives."""

    player_id: Id
    win_amount: Amount
    x_half: (
        Annotated[Literal["high", "low"], Meta(description="Which half, in hi/lo games.")] | None
    ) = None


class Pot(Part, frozen=True):
    """``amount`` is the whole pot with rake and jackpot, without uncalled bets; 0 is the main."""

    number: Small
    amount: Amount
    rake: Amount = 0
    jackpot: Amount = 0
    player_wins: list[Win] = []


class UncalledReturn(Part, frozen=True):
    player_id: Id
    amount: Amount
    reason: Text | None = None


class TournamentInfo(Part, frozen=True):
    tournament_number: Text = ""
    name: Text | None = None
    type: Text | None = None


class Hand(Part, frozen=True):
    """One hand. After ``read`` every amount is an integer in minor units of ``currency``."""

    game_number: Name
    start_date_utc: Text
    table_name: Name
    table_size: Small
    game_type: Annotated[
        str,
        Meta(
            max_length=64,
            description="Besides the standard's: Soko, FiveCardDraw, TripleDraw27, Telesina,"
            " Americana. Draw alone is ambiguous and needs x_variant.",
            extra_json_schema={"enum": list(GAME_TYPES)},
        ),
    ]
    bet_limit: BetLimit
    dealer_seat: Small
    players: Annotated[list[Player], Meta(min_length=1, max_length=64)]
    rounds: Annotated[list[Round], Meta(max_length=64)]
    pots: Annotated[list[Pot], Meta(max_length=64)] = []
    currency: Text | None = None
    small_blind_amount: Amount | None = 0
    big_blind_amount: Amount | None = 0
    ante_amount: Amount | None = 0
    spec_version: Text = ""
    site_name: Text = ""
    network_name: Text = ""
    internal_version: Text = ""
    tournament: bool | None = False
    tournament_info: TournamentInfo | None = None
    hero_player_id: Id | None = None
    flags: list[Text] | None = []
    x_variant: (
        Annotated[
            Literal["FiveCardDraw", "TripleDraw27"],
            Meta(description="Which draw game a game_type of Draw is."),
        ]
        | None
    ) = None
    x_spread: Annotated[
        list[Amount], Meta(description="The limits of spread limit, e.g. [1, 2, 3].")
    ] = []
    x_small_bet: Annotated[Amount, Meta(description="Lower limit of an ante game.")] | None = None
    x_big_bet: Annotated[Amount, Meta(description="Upper limit of an ante game.")] | None = None
    x_bring_in: (
        Annotated[Amount, Meta(description="The bring-in; default: the rulebook's.")] | None
    ) = None
    x_uncalled_returned: (
        Annotated[
            list[UncalledReturn],
            Meta(
                description="What went back to players uncalled. Absent: what was put in minus"
                " the pots goes to the one player whose bet was not covered. A return that is"
                " no uncalled bet needs a reason."
            ),
        ]
        | None
    ) = None
    x_rake_is_for_hand: Annotated[
        bool, Meta(description="The rake and jackpot on pot 0 are the whole hand's.")
    ] = False
    x_hole_cards: Annotated[Small, Meta(description="5: Omaha with five hole cards.")] | None = None
    x_rulebook: (
        Annotated[Text, Meta(description="Rulebook of a hand whose table is not on the books.")]
        | None
    ) = None
    x_partner: (
        Annotated[Text, Meta(description="Partner of players who are not on the books.")] | None
    ) = None
    x_status: (
        Annotated[
            Literal["running", "finished"],
            Meta(description="running: what has happened so far, no pots yet."),
        ]
        | None
    ) = None
    x_round: Annotated[Small, Meta(description="Hand-for-hand round of a tournament.")] | None = (
        None
    )

    @property
    def money(self) -> str:
        """The currency that the amounts are in: ISO 4217, play money, credits or chips."""
        return self.currency or CHIPS

    @property
    def started_at(self) -> datetime:
        """When the hand started (aware UTC); a date alone is its midnight."""
        return _instant(self.start_date_utc)

    @property
    def game(self) -> str:
        """The game, with the standard's ambiguous ``Draw`` resolved by ``x_variant``."""
        return self.x_variant or "Draw" if self.game_type == "Draw" else self.game_type


class HandDocument(Part, frozen=True):
    """One posted hand: an object with the single key ``ohh``."""

    ohh: Hand


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


def json_schema(ref_template: str = "#/components/schemas/{name}") -> tuple[Any, dict[str, Any]]:
    """Return the JSON Schema of a posted hand and of the parts that it refers to."""
    (schema,), components = msgspec.json.schema_components(
        [HandDocument], ref_template=ref_template
    )
    return schema, components


# -- amounts -----------------------------------------------------------------------------------


class _Exact(dict[int, int | None]):
    """A JSON number with a point or an exponent: digits of a currency -> minor units.

    None stands where a currency of so many digits cannot express it.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __missing__(self, digits: int) -> int | None:
        scaled = self[digits] = _scaled(self.text, digits)
        return scaled


def _scaled(text: str, digits: int) -> int | None:
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, part = mantissa.partition(".")
    if len(exponent) > 4 or len(mantissa) > 60:
        return None
    figures = int(whole + part)
    power = int(exponent or 0) - len(part) + digits
    if figures == 0:
        return 0
    if power >= 0:
        scaled, rest = figures * 10 ** min(power, 60), 0
    else:
        scaled, rest = divmod(abs(figures), 10 ** min(-power, 60))
        scaled = scaled if figures > 0 else -scaled
    return None if rest or abs(scaled) > MAX_MINOR else scaled


class _Numbers(dict[str, _Exact]):
    """Remembers the numbers seen: the same few amounts occur over and over."""

    def __missing__(self, text: str) -> _Exact:
        if len(self) >= 50_000:
            self.clear()
        exact = self[text] = _Exact(text)
        return exact


_DECODER: Final = msgspec.json.Decoder(HandDocument, float_hook=_Numbers().__getitem__)
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])


class _UnreadableError(Exception):
    """An amount that is none, with the part and field where it stands."""

    def __init__(self, part: Part, field: str, value: Any) -> None:
        super().__init__(field)
        self.part = part
        self.field = field
        self.value = value


def _minor(part: Part, field: str, value: Any, digits: int) -> int:
    """Return minor units of an amount that must not be negative."""
    if value.__class__ is _Exact:
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
    if value.__class__ is _Exact:
        # Most amounts have a point; they are the busiest lines of reading a hand.
        minor = value[digits]
        if minor is not None and minor >= 0:
            force_setattr(part, field, minor)
            return
    elif value.__class__ is int and value == 0:
        return
    force_setattr(part, field, _minor(part, field, value, digits))


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
        instant = _instant(text)
    except (ValueError, OverflowError):
        raise Malformed("This is neither a date nor a time.", field="start_date_utc") from None
    if len(text) != _SECONDS or (text[7], text[10], text[-1]) != ("-", "T", "Z"):
        force_setattr(hand, "start_date_utc", instant.isoformat()[:-6] + "Z")


@lru_cache(maxsize=4096)
def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        return instant.replace(tzinfo=UTC)
    return instant if instant.tzinfo is UTC else instant.astimezone(UTC)


def _normalise_root(hand: Hand, digits: int) -> None:
    for field in ("small_blind_amount", "big_blind_amount", "ante_amount"):
        if getattr(hand, field) is None:
            force_setattr(hand, field, 0)
        else:
            _set(hand, field, digits)
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
    if limit.bet_cap is None:
        force_setattr(limit, "bet_cap", 0)
    else:
        _set(limit, "bet_cap", digits)
    for player in hand.players:
        _set(player, "starting_stack", digits)
        if player.is_sitting_out is None:
            force_setattr(player, "is_sitting_out", False)


def _normalise_rounds(rounds: list[Round], digits: int) -> None:
    factor = 10**digits
    exact, limit = _Exact, MAX_MINOR // factor
    for round_ in rounds:
        if round_.cards is not None and not round_.cards:
            force_setattr(round_, "cards", None)
        for action in round_.actions:
            amount: Any = action.amount
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


def _normalise_pots(hand: Hand, digits: int) -> None:
    for pot in hand.pots:
        _set(pot, "amount", digits)
        for field in ("rake", "jackpot"):
            if getattr(pot, field) is None:
                force_setattr(pot, field, 0)
            else:
                _set(pot, field, digits)
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
    if value.__class__ is _Exact:
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
