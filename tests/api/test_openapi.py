"""The OpenAPI document: complete, true, and with examples that work."""

import itertools
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import pytest

from api.approvals import EXAMPLE as APPROVAL
from api.hand_schema import EXAMPLE as HAND
from api.jackpots import EXAMPLE as JACKPOT
from api.jackpots import EXAMPLE_HAND as HIT
from api.periods import EXAMPLE as MONTH
from api.players import EXAMPLE as PLAYER
from api.problems import catalogue
from ledger.approvals.commands import GrantApproval, RequestApproval
from ledger.cashier.commands import (
    AnnounceDeposit,
    ConfirmDeposit,
    PayWithdrawal,
    ReleaseWithdrawal,
    RequestWithdrawal,
    TakeInReview,
)
from ledger.core import Command
from ledger.hands.commands import PostHand
from ledger.hands.reading import read, split
from ledger.hands.resolving import ResolveFinding
from ledger.journal import Journal, Submission
from ledger.periods.commands import ClosePeriod
from ledger.players.commands import RegisterPlayer, SuspendPlayer
from ledger.rulebooks import shipped_texts
from ledger.rulebooks.commands import AdoptRulebook
from ledger.tables.commands import BuyIn, OpenTable, ResyncTable
from ledger.treasury.commands import RecordProviderSettlement, TransitFigures
from ledger.treasury.payouts import SettleWithPartner
from ops.importer.command import NotImported
from tests.api.conftest import NETWORK, WARRANTIES, Room, fresh_database, serving
from tests.api.test_access import OPEN, OPERATIONS, document
from tests.conftest import Server
from tests.ledger.hands.posts import a_post, encoded

DOCUMENT: Final = document()
OTHER = "7d3e7f6a-55b7-4b53-8b0e-5f6f1a2b3c4d"
DEPOSIT, WITHDRAWAL, TABLE = "dep-example", "wd-example", "Etomo"
FLAGGED = "8100299"
networks = itertools.count(1)


class World:
    """A network of its own in which every example of the document can be tried."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.network = f"example-{next(networks)}"

    def common(self, key: str) -> dict[str, Any]:
        at = datetime.now(UTC)
        return {"network": self.network, "at": at, "actor": "test", "request_id": key}

    def rulebooks(self) -> list[Command]:
        return [
            AdoptRulebook(**self.common(f"adopt {file}"), text=text, file=file)
            for file, text in shipped_texts()
        ]

    def player(self, player: str = PLAYER, nickname: str = "Riverboat") -> list[Command]:
        identity = self.room.identity
        return [
            RegisterPlayer(
                **self.common(f"register {nickname}"),
                player=player,
                partner="kerching",
                rulebook="entraction",
                nickname=nickname,
                nickname_claim=identity.nickname_claim(self.network, nickname),
                person_claim=identity.person_claim(self.network, nickname),
                warranties=WARRANTIES,
            )
        ]

    def deposit(
        self, deposit: str = DEPOSIT, player: str = PLAYER, *, confirmed: bool = True
    ) -> list[Command]:
        claim = self.room.identity.reference_claim(self.network, "deposit", "cardpay", deposit)
        return [
            AnnounceDeposit(
                **self.common(f"deposit {deposit}"),
                deposit=deposit,
                player=player,
                provider="cardpay",
                instrument="tok_4f9a12",
                reference_claim=claim,
                currency="EUR",
                amount_minor=10_000,
                confirmed=confirmed,
            )
        ]

    def withdrawal(self) -> list[Command]:
        return [
            RequestWithdrawal(
                **self.common("withdrawal"),
                withdrawal=WITHDRAWAL,
                player=PLAYER,
                instrument="tok_4f9a12",
                currency="EUR",
                amount_minor=2_000,
            )
        ]

    def funded(self) -> list[Command]:
        return [*self.player(), *self.deposit()]

    def review(self) -> list[Command]:
        step = TakeInReview(**self.common("review"), withdrawal=WITHDRAWAL)
        return [*self.funded(), *self.withdrawal(), step]

    def table(self) -> list[Command]:
        return [
            OpenTable(
                **self.common("open"),
                name=TABLE,
                rulebook="entraction",
                game="Holdem",
                bet_type="NL",
                currency="EUR",
                size=6,
                small_blind_minor=25,
                big_blind_minor=50,
                min_buy_in_minor=1000,
                max_buy_in_minor=5000,
                jackpot=JACKPOT,
            )
        ]

    def seated(self) -> list[Command]:
        seats = [
            BuyIn(
                **self.common(f"buy in {seat}"),
                table=TABLE,
                player=player,
                seat=seat,
                currency="EUR",
                amount_minor=2000,
            )
            for seat, player in ((1, PLAYER), (2, OTHER))
        ]
        return [
            *self.funded(),
            *self.player(OTHER, "Cardsharp"),
            *self.deposit("dep-other", OTHER),
            *self.table(),
            *seats,
        ]

    def asked(self) -> list[Command]:
        """Somebody asks for what a second person must agree to."""
        maker = {**self.common("resync"), "actor": "operator-1"}
        resync = ResyncTable(
            **maker,
            table=TABLE,
            chips_minor={1: 2100, 2: 1850},
            ground="technical-failure",
            reason="A hand was lost.",
        )
        return [RequestApproval(**maker, approval=APPROVAL, command=resync)]

    def hand(self) -> list[Command]:
        return [*self.seated(), self.posted(json.dumps(HAND).encode())]

    def posted(self, body: bytes) -> Command:
        hand = read(split(body)[0])
        claim = self.room.identity.nickname_claim
        return PostHand(
            **self.common(f"hand:{hand.game_number}"),
            hand=hand,
            posted_digest="0" * 64,
            claims={one.name: claim(self.network, one.name) for one in hand.players},
        )

    def flagged(self, *stacks: float) -> Command:
        """A hand is booked whose rake was too high."""
        hand = json.loads(json.dumps(HAND))
        win = {"player_id": 2, "win_amount": 0.90}
        hand["ohh"].update(game_number=FLAGGED)
        hand["ohh"]["pots"][0].update(rake=0.10, player_wins=[win])
        for player, stack in zip(hand["ohh"]["players"], stacks, strict=True):
            player["starting_stack"] = stack
        return self.posted(json.dumps(hand).encode())

    def resolved(self) -> Command:
        about = {"game_number": FLAGGED, "finding": 1, "reason": "A cent."}
        return ResolveFinding(**self.common("resolve"), **about, resolution="written-off")

    def finding(self) -> int:
        """Return the position of the network's first finding."""
        [[position]] = self.room.sql(
            "SELECT min(notification_id) FROM journal.events"
            " WHERE topic = 'hand.flagged.v1' AND originator_id LIKE %s",
            f"hand:{self.network}:%",
        )
        return int(position)

    def hit(self) -> list[Command]:
        """The jackpot is hit in a hand whose river was run twice: the hit waits."""
        post = a_post(
            [
                (
                    "Preflop",
                    "Riverboat deal QhQs, Cardsharp deal AhAs, Riverboat sb 0.25,"
                    " Cardsharp bb 0.50, Riverboat call 0.25, Cardsharp check",
                ),
                ("Flop: QcQdAc", "Riverboat check, Cardsharp check"),
                ("Turn: Ad", "Riverboat check, Cardsharp check"),
                ("River: 2c", ""),
                ("River: 2d", ""),
                ("Showdown", "Riverboat show QhQs, Cardsharp show AhAs"),
            ],
            [("1", {"Cardsharp": "0.95"})],
            {"Riverboat": "20", "Cardsharp": "20"},
            rake="0.05",
            game_number=HIT,
            network_name=self.network,
            table_name=TABLE,
            game_type="Holdem",
            bet_limit={"bet_type": "NL"},
            small_blind_amount=Decimal("0.25"),
            big_blind_amount=Decimal("0.50"),
        )
        return [*self.seated(), self.posted(encoded(post))]

    def settled(self, *deposits: str) -> Command:
        return RecordProviderSettlement(
            **self.common("settle"),
            settlement="settlement",
            provider="cardpay",
            reference="R-1",
            reference_claim=self.room.identity.reference_claim(self.network, "x", "cardpay", "1"),
            bank_reference="B-1",
            bank_claim=self.room.identity.reference_claim(self.network, "x", "bank", "1"),
            currency="EUR",
            paid_minor=10_000 * len(deposits),
            fee_minor=0,
            deposits=deposits,
            book=TransitFigures(
                position=0, settlements=0, movements=0, transit_minor=0, to_keep_back_minor=0
            ),
            rulebook="entraction",
        )

    def with_partner(self) -> Command:
        return SettleWithPartner(
            **self.common("settle with partner"),
            settlement="settlement",
            partner="kerching",
            currency="EUR",
            withdrawals=(WITHDRAWAL,),
            bank_reference="B-1",
            bank_claim=self.room.identity.reference_claim(self.network, "x", "bank", "1"),
            rulebook="entraction",
        )

    def paid(self) -> Command:
        return PayWithdrawal(
            **self.common("pay"),
            withdrawal=WITHDRAWAL,
            provider="sepa-bank",
            payment_claim=self.room.identity.reference_claim(self.network, "x", "sepa", "1"),
        )

    def closed(self) -> list[Command]:
        """Somebody closes the month of the examples, and another person agrees."""
        maker = {**self.common("close"), "actor": "treasurer-1"}
        close = ClosePeriod(**maker, month=MONTH, rulebook="entraction")
        checker = {**self.common("grant"), "actor": "approver-1"}
        return [
            RequestApproval(**maker, approval=APPROVAL, command=close),
            GrantApproval(**checker, approval=APPROVAL, command=close),
        ]

    def before(self, path: str) -> list[Command]:
        """Return what must have happened for the examples of a POST to work."""
        suspend = SuspendPlayer(
            **self.common("suspend"), player=PLAYER, ground="collusion", reason="Why."
        )
        confirm = ConfirmDeposit(**self.common("confirm"), deposit=DEPOSIT)
        release = ReleaseWithdrawal(**self.common("release"), withdrawal=WITHDRAWAL)
        announced = [*self.player(), *self.deposit(confirmed=False)]
        known: dict[str, list[Command]] = {
            "/v1/players": [],
            "/v1/tables": [],
            "/v1/players/{player}/reinstate": [*self.player(), suspend],
            "/v1/players/{player}/close": self.player(),
            "/v1/deposits": self.player(),
            "/v1/deposits/{deposit}/confirm": announced,
            "/v1/deposits/{deposit}/fail": announced,
            "/v1/deposits/{deposit}/charge-back": [*announced, confirm],
            "/v1/withdrawals": self.funded(),
            "/v1/withdrawals/{withdrawal}/release": self.review(),
            "/v1/withdrawals/{withdrawal}/pay": [*self.review(), release],
            "/v1/tables/{table}/buy-ins": [*self.funded(), *self.table()],
            "/v1/hands": self.seated(),
            "/v1/treasury/settlements": self.funded(),
            "/v1/treasury/top-ups": self.funded(),
            "/v1/treasury/sweeps": [*self.hand(), self.settled(DEPOSIT, "dep-other")],
            "/v1/treasury/partner-settlements": [*self.review(), release],
            "/v1/treasury/partner-discharges": [*self.review(), release, self.with_partner()],
            "/v1/treasury/bank-matches": [*self.review(), release, self.paid()],
            "/v1/periods/{month}/reopen": self.closed(),
            "/v1/findings/{finding}/explain": [*self.seated(), self.flagged(20, 20)],
            "/v1/findings/{finding}/resolve": [*self.seated(), self.flagged(20, 20)],
            "/v1/findings/{finding}/reopen": [
                *self.seated(),
                self.flagged(20, 20),
                self.resolved(),
            ],
            "/v1/jackpots/{jackpot}/hits/{game_number}/release": self.hit(),
            "/v1/jackpots/{jackpot}/hits/{game_number}/annul": self.hit(),
        }
        if path in known:
            return known[path]
        if path.startswith("/v1/approvals"):
            return [*self.seated(), *self.asked()]
        if path.startswith("/v1/tables"):
            return self.seated()
        return [*self.funded(), *self.withdrawal()]

    def carry_out(self, commands: list[Command], **last: str) -> None:
        journal = Journal(self.room.dsn, writer="test")
        try:
            submissions = [Submission(command, "test") for command in commands]
            submissions[-1] = submissions[-1]._replace(**last)
            for outcome in journal.execute(submissions):
                assert outcome.status == "done", outcome
        finally:
            journal.close()


@pytest.fixture(scope="module")
def reading(postgres: Server) -> Iterator[World]:
    """Give a world in which something happened of everything that can be read."""
    with fresh_database(postgres) as dsn, serving(dsn) as room:
        world = World(room)
        played = [*world.hand(), world.flagged(19.5, 20.45)]
        commands = [*world.rulebooks(), *played, *world.asked(), *world.withdrawal()]
        world.carry_out(commands, client="cashier", key="deposit-1001")
        room.project()
        yield world


def bodies_of(operation: dict[str, Any]) -> list[Any]:
    """Return the examples of an operation's body; one of None where it has no body."""
    if "requestBody" not in operation:
        return [None]
    content = operation["requestBody"]["content"]["application/json"]
    if "examples" in content:
        return [example["value"] for example in content["examples"].values()]
    schema = content["schema"]
    name = schema["$ref"].rpartition("/")[2]
    return list(DOCUMENT["components"]["schemas"][name]["examples"])


EXAMPLES = [
    pytest.param(method, path, operation, body, id=f"{method} {path} {number}")
    for method, path, operation in OPERATIONS
    if path not in OPEN and path != "/v1/rulebooks/{name}/{sha256}/text"
    for number, body in enumerate(bodies_of(operation))
]


@pytest.mark.parametrize(("method", "path", "operation", "body"), EXAMPLES)
def test_every_example_works(
    room: Room, reading: World, method: str, path: str, operation: dict[str, Any], body: Any
) -> None:
    role = operation["tags"][0]
    role = "cashier" if role == "everyone" else role
    world = reading
    if method == "post":
        world = World(room)
        world.carry_out([*world.rulebooks(), *world.before(path)])
        if path.startswith(("/v1/treasury", "/v1/jackpots")):
            world.room.project()
    query = {}
    url = path
    for parameter in operation.get("parameters", ()):
        example = (
            parameter.get("schema", {}).get("examples") or parameter.get("examples") or [None]
        )[0]
        if parameter["name"] == "finding":
            # Where in the journal it is depends on what other networks did.
            example = world.finding()
        if parameter["in"] == "path":
            assert example is not None, f"{path}: {parameter['name']} has no example"
            url = url.replace(f"{{{parameter['name']}}}", str(example))
        elif parameter["in"] == "query" and parameter.get("required"):
            assert example is not None, f"{path}: {parameter['name']} has no example"
            query[parameter["name"]] = example
    # Position 1 is the first event of the network that the room was opened for.
    network = NETWORK if path == "/v1/events/{position}" else world.network
    # An account's code holds its network.
    url = url.replace(f":{NETWORK}:", f":{network}:")
    token = world.room.token(role, network=network, client=role)
    headers = {
        "Authorization": f"Bearer {token}",
        "Idempotency-Key": f"example {path}".replace(" ", "-"),
    }
    answer = world.room.http.request(
        method, url, params=query or None, headers=headers, json=body if body is not None else None
    )
    documented = [status for status in operation["responses"] if status.startswith("2")]
    assert str(answer.status_code) in documented, answer.text


@pytest.mark.parametrize(
    ("method", "path", "operation"),
    [pytest.param(*found, id=f"{found[0]} {found[1]}") for found in OPERATIONS],
)
def test_every_operation_says_what_it_does_for_whom_and_how_it_fails(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    assert operation["summary"]
    assert operation["tags"]
    tags = {tag["name"] for tag in DOCUMENT["tags"]}
    assert tags.issuperset(operation["tags"])
    assert "422" not in operation["responses"]
    if path not in OPEN:
        assert operation["description"]
        assert "default" in operation["responses"]


def test_every_problem_code_is_documented_with_its_meaning() -> None:
    codes = DOCUMENT["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]
    assert set(codes) == set(catalogue())
    for code in codes:
        assert f"| `{code}` |" in DOCUMENT["info"]["description"]


def test_what_only_the_command_line_refuses_is_no_problem_of_the_api() -> None:
    assert NotImported.code not in catalogue()


def test_every_reference_leads_somewhere() -> None:
    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [ref for item in value.values() for ref in references(item)]
        if isinstance(value, list):
            return [ref for item in value for ref in references(item)]
        return []

    schemas = DOCUMENT["components"]["schemas"]
    found = references(DOCUMENT)
    assert found
    for reference in found:
        assert reference.removeprefix("#/components/schemas/") in schemas, reference


def test_the_document_is_served(room: Room) -> None:
    answer = room.http.get("/openapi.json")
    assert answer.json()["paths"].keys() == DOCUMENT["paths"].keys()
    assert room.http.get("/docs").status_code == 200
