"""Hands as game servers post them: Open Hand History 1.4.7 and this project's ``x_`` keys.

``ledger.hands.reading`` reads them into their canonical form.
"""

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from ledger.core import Kind, Refused
from ledger.money import CHIPS

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


# Amounts arrive as JSON numbers, of which ``reading.read`` makes integers in minor units. Declaring
# them as Any lets the decoder hand over a number's own text, which is read exactly and only once.
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
        return instant(self.start_date_utc)

    @property
    def game(self) -> str:
        """The game, with the standard's ambiguous ``Draw`` resolved by ``x_variant``."""
        return self.x_variant or "Draw" if self.game_type == "Draw" else self.game_type


class HandDocument(Part, frozen=True):
    """One posted hand: an object with the single key ``ohh``."""

    ohh: Hand


def json_schema(ref_template: str = "#/components/schemas/{name}") -> tuple[Any, dict[str, Any]]:
    """Return the JSON Schema of a posted hand and of the parts that it refers to."""
    (schema,), components = msgspec.json.schema_components(
        [HandDocument], ref_template=ref_template
    )
    return schema, components


@lru_cache(maxsize=4096)
def instant(text: str) -> datetime:
    """Read a date and time as it is posted; without a zone it is UTC. Raises ValueError."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        return found.replace(tzinfo=UTC)
    return found if found.tzinfo is UTC else found.astimezone(UTC)
