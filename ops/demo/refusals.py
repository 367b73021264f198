"""What must be refused, each kind once, and the code that it must be refused with."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from decimal import Decimal
from typing import Any, Final, NamedTuple
from uuid import UUID

from ops.client import Answer
from ops.demo.cashier import REAL, Cashier, Patron
from ops.demo.desks import WARRANTIES, Desks
from ops.demo.floor import IDLE_HAS, Floor, path_of
from ops.simulator.record import encode

TOO_MANY_HANDS: Final = 1_001
NOBODY: Final = str(UUID(int=4 << 76 | 2 << 62))
"""A player id of the right form that nobody has."""


class Case(NamedTuple):
    """A request that must be refused: what it was, the code that is due, and the answer."""

    what: str
    due: str
    answer: Answer

    @property
    def right(self) -> bool:
        """Tell whether it was refused as it must be."""
        return self.answer.code == self.due


Ohh = dict[str, Any]


def refused(desks: Desks, cashier: Cashier, floor: Floor) -> list[Case]:
    """Try everything that must be refused."""
    patrons = list(cashier.patrons.values())
    return [
        *at_the_door(desks, patrons),
        *at_the_cashier(desks, cashier, patrons),
        *at_the_tables(desks, floor, floor.idle()),
        *of_hands(desks, floor),
    ]


def at_the_door(desks: Desks, patrons: list[Patron]) -> Iterator[Case]:
    """Callers without a right to what they ask for, and requests that cannot be read."""
    mine, other = patrons[0], patrons[1]
    path = f"/v1/players/{mine.player}/terms"
    yield Case("no token", "token-missing", desks.as_stranger(None, path))
    yield Case("a forged token", "token-invalid", desks.as_stranger("e30.e30.x", path))
    yield Case(
        "the cashier opens a table",
        "missing-scope",
        desks.cashier.try_post("/v1/tables", {"name": "Mine"}),
    )
    yield Case(
        "another partner's player",
        "not-your-player",
        desks.partners[mine.partner].try_post(
            f"/v1/players/{other.player}/nickname", {"nickname": "Stolen"}
        ),
    )
    deposits = "/v1/deposits"
    yield Case("no key", "idempotency-key-missing", desks.cashier.try_post(deposits, {}, key=""))
    yield Case(
        "an amount of NaN",
        "malformed-json",
        desks.cashier.try_post(deposits, b'{"amount_minor": NaN}'),
    )
    yield Case(
        "a body beyond the limit",
        "body-too-large",
        desks.cashier.try_post(deposits, b'{"player": "%b"}' % (b"x" * 70_000)),
    )


def at_the_cashier(desks: Desks, cashier: Cashier, patrons: list[Patron]) -> Iterator[Case]:
    """Players and money."""
    patron = patrons[0]
    yield Case(
        "a player under 18",
        "warranty-missing",
        desks.support.try_post(
            "/v1/players",
            desks.register(
                patron.partner, "Youngster", "kyc-young", warranties=WARRANTIES | {"over_18": False}
            ),
        ),
    )
    yield Case(
        "a name that is borne",
        "nickname-taken",
        desks.support.try_post(
            "/v1/players", desks.register(patron.partner, patron.name.upper(), "kyc-new")
        ),
    )
    yield Case(
        "a person with an account elsewhere",
        "person-already-registered",
        desks.support.try_post(
            "/v1/players", desks.register("harbour", "Doublet", f"kyc-{patron.name}")
        ),
    )
    deposit = {
        "player": patron.player,
        "provider": "cardpay",
        "reference": "cp-refused",
        "instrument": "tok-1",
        "currency": REAL,
        "amount_minor": 5_000,
    }

    def paying(**changed: Any) -> Answer:
        return desks.cashier.try_post("/v1/deposits", deposit | changed)

    yield Case("an amount in quotes", "invalid-value", paying(amount_minor="5000"))
    yield Case("a field that nobody knows", "unknown-field", paying(bonus=5_000))
    yield Case("nobody's deposit", "unknown-player", paying(player=NOBODY))
    yield Case("dollars", "currency-mismatch", paying(currency="USD"))
    yield Case("a used reference", "reference-already-used", paying(reference="cp-1"))
    first = desks.cashier.try_post("/v1/deposits", deposit, key="cashier-twice")
    assert first.done, first
    yield Case(
        "a key with another content",
        "idempotency-key-reused",
        desks.cashier.try_post("/v1/deposits", deposit | {"amount_minor": 1}, key="cashier-twice"),
    )
    path = f"/v1/deposits/{first.content['deposit']}"
    desks.cashier.post(f"{path}/fail", reason="It was announced by mistake.")
    yield Case(
        "a failed deposit", "deposit-not-open", desks.cashier.try_post(f"{path}/confirm", {})
    )
    withdrawal = {
        "player": patron.player,
        "instrument": "tok-1",
        "currency": REAL,
        "amount_minor": patron.account[REAL] + 1,
    }
    yield Case(
        "more than the bankroll",
        "insufficient-funds",
        desks.cashier.try_post("/v1/withdrawals", withdrawal),
    )
    open_one = cashier.withdraw(patron, 100, until="requested")
    yield Case(
        "paid before it is released",
        "withdrawal-not-released",
        desks.cashier.try_post(
            f"/v1/withdrawals/{open_one['withdrawal']}/pay",
            {"provider": "sepa-bank", "payment_reference": "out-early"},
        ),
    )


def at_the_tables(desks: Desks, floor: Floor, idle: Patron) -> Iterator[Case]:
    """Seats and chips. ``idle`` sits nowhere and is suspended on the way."""
    table = floor.with_a_free_seat("Vallmo")
    taken, sitting = next(iter(table.seats.items()))
    patron = floor.cashier.patrons[sitting.player]
    free = table.free_seat()

    def buying(name: str = table.name, **changed: Any) -> Answer:
        fields = {
            "player": idle.player,
            "seat": free,
            "currency": table.limits.currency,
            "amount_minor": table.buy_in,
        }
        return desks.floor.try_post(path_of(name, "buy-ins"), fields | changed)

    yield Case("a taken seat", "seat-taken", buying(seat=taken))
    yield Case("a second seat", "player-already-seated", buying(player=patron.player))
    yield Case("less than the minimum", "buy-in-too-small", buying(amount_minor=1))
    yield Case("more than the maximum", "buy-in-too-large", buying(amount_minor=IDLE_HAS))
    yield Case("a table that is not there", "unknown-table", buying("Nowhere"))
    closing = {"name": "Closing", "game": "Holdem", "bet_type": "NL", "currency": REAL, "size": 6}
    stakes = {"small_blind_minor": 50, "big_blind_minor": 100, "max_buy_in_minor": 9_000}
    desks.floor.post("/v1/tables", **closing, **stakes, min_buy_in_minor=1_000)
    yield Case(
        "a table twice",
        "table-exists",
        desks.floor.try_post("/v1/tables", {**closing, **stakes, "min_buy_in_minor": 1_000}),
    )
    desks.floor.post(path_of("Closing", "close"))
    yield Case("a closed table", "table-closed", buying("Closing"))
    yield Case(
        "no maximum at no limit",
        "buy-in-limits-not-allowed",
        desks.floor.try_post(
            "/v1/tables",
            {**closing, **stakes, "min_buy_in_minor": 1_000, "max_buy_in_minor": None},
        ),
    )
    desks.compliance.post(
        f"/v1/players/{idle.player}/suspend", ground="collusion", reason="Reported twice."
    )
    yield Case("a suspended player", "player-suspended", buying())
    yield Case("who asked agrees to it himself", "same-person", floor.alone)
    yield Case("what was agreed to, again", "approval-decided", floor.twice)
    desks.compliance.post(f"/v1/players/{idle.player}/reinstate", reason="Nothing was found.")


def of_hands(desks: Desks, floor: Floor) -> Iterator[Case]:
    """The same right hand with one thing wrong each time; at the end it is booked as it was."""
    dealt = floor.next_hand("Vallmo")

    def wrong(change: Callable[[Ohh], None]) -> Answer:
        document = deepcopy(dealt.record)
        change(document["ohh"])
        return desks.floor.post_hand(encode(document))

    def in_text(before: bytes, after: bytes) -> Answer:
        return desks.floor.post_hand(encode(dealt.record).replace(before, after, 1))

    yield Case("a cent too much", "money-not-conserved", wrong(_a_cent_too_much))
    yield Case("half a cent", "malformed", wrong(_half_a_cent))
    yield Case(
        "a stack of NaN", "malformed", in_text(b'"starting_stack":', b'"starting_stack":NaN,"":')
    )
    yield Case(
        "a stack of 1e999999",
        "malformed",
        in_text(b'"starting_stack":', b'"starting_stack":1e999999,"":'),
    )
    yield Case("a negative bet", "negative-amount", wrong(_negative))
    yield Case("more than his chips", "stake-exceeds-chips", wrong(_short))
    yield Case("a stranger at the table", "unknown-player", wrong(_stranger))
    yield Case("a player twice", "duplicate-player", wrong(_twice))
    yield Case("another currency", "currency-mismatch", wrong(_dollars))
    yield Case("other blinds", "unlike-table", wrong(_other_blinds))
    yield Case("an unknown game", "unknown-game", wrong(_whist))
    floor.post_each([dealt])
    yield Case("booked with another content", "different-content", wrong(_another_dealer))
    yield Case(
        "a batch beyond the limit",
        "batch-too-large",
        desks.floor.post_hand(b"[%b]" % b",".join([b"{}"] * TOO_MANY_HANDS)),
    )
    yield Case("no hand at all", "empty-batch", desks.floor.post_hand(b"[]"))
    yield Case("a hand while another runs", "hand-running", floor.begun("Vallmo"))
    yield Case("a hand before its predecessor", "wrong-starting-stack", floor.waiting("Ljung"))


def _a_cent_too_much(hand: Ohh) -> None:
    hand["pots"][0]["player_wins"][0]["win_amount"] += Decimal("0.01")


def _half_a_cent(hand: Ohh) -> None:
    hand["players"][0]["starting_stack"] += Decimal("0.005")


def _first_stake(hand: Ohh) -> Ohh:
    return next(one for one in hand["rounds"][0]["actions"] if one.get("amount"))


def _negative(hand: Ohh) -> None:
    _first_stake(hand)["amount"] = Decimal("-1.00")


def _short(hand: Ohh) -> None:
    staking = _first_stake(hand)["player_id"]
    for player in hand["players"]:
        if player["id"] == staking:
            player["starting_stack"] = Decimal("0.01")


def _stranger(hand: Ohh) -> None:
    hand["players"][0]["name"] = "Nobody"


def _twice(hand: Ohh) -> None:
    hand["players"][1]["name"] = hand["players"][0]["name"]


def _dollars(hand: Ohh) -> None:
    hand["currency"] = "USD"


def _other_blinds(hand: Ohh) -> None:
    hand["big_blind_amount"] = Decimal("2.00")


def _whist(hand: Ohh) -> None:
    hand["game_type"] = "Whist"


def _another_dealer(hand: Ohh) -> None:
    hand["dealer_seat"] = 1 + hand["dealer_seat"] % hand["table_size"]
