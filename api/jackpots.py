"""Jackpots: pools, rules, what was paid in, every hit with its shares; release and annulment."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field

from api import approvals, csv, links, listing
from api.as_of import Asked, AsOfAsked, NotAsOf, Reading, Told, reading
from api.auth import Caller, needs
from api.clock import now
from api.edge import (
    Answer,
    Body,
    Done,
    Key,
    LedgerRoute,
    Slug,
    Text,
    common,
    edge_of,
    recording,
    respond,
)
from api.links import LINKS, Known, Links
from api.positions import Paged, Reached
from api.problems import Problem
from api.rows import row_model, shown
from api.tokens import Scope
from ledger import accounts
from ledger.jackpots.commands import AnnulHit, HitFigures, ReleaseHit, UnknownHit, UnknownJackpot
from ledger.jackpots.contribution import WHOLE
from ledger.jackpots.events import jackpot_stream
from ledger.rulebooks import Rulebook, parse
from ledger.rulebooks.events import RulebookState, rulebook_stream
from ledger.rulebooks.fees import Jackpot
from projections import views
from projections.as_of import AsOf
from projections.queries import jackpots
from projections.reading import Page, Row, Snapshot

router = APIRouter(prefix="/v1/jackpots", tags=["books"], route_class=LedgerRoute)

EXAMPLE: Final = "bad-beat"
EXAMPLE_HAND: Final = "8100301"
LONGEST_DAYS: Final = 366

Reads = Annotated[Caller, needs(Scope.BALANCES_READ)]
Deciding = Annotated[Caller, needs(Scope.JACKPOTS_DECIDE)]
Name = Annotated[Slug, Path(examples=[EXAMPLE], description="The jackpot's name.")]
HandNumber = Annotated[str, Path(min_length=1, max_length=128, examples=[EXAMPLE_HAND])]
Status = Literal["open", "waiting", "released", "settled", "annulled"]
Part = Literal["loser", "winner", "dealt-in"]

_RENAMED: Final = {"table_id": "table"}
_OF_SHARE: Final = ("network", "jackpot", "currency", "game_number")
_WHO: Final = ("losers", "winners", "dealt")

JackpotRow: Any = row_model("JackpotRow", views.JACKPOTS)
ContributionRow: Any = row_model(
    "JackpotContributionRow", views.JACKPOT_DAYS, renamed=_RENAMED, hands=int
)
_ShareRow: Any = row_model(
    "JackpotShare",
    views.JACKPOT_SHARES,
    without=_OF_SHARE,
    player=str | None,
    part=Part,
    position=int,
)
_HitRow: Any = row_model(
    "JackpotHit",
    views.JACKPOT_HITS,
    renamed=_RENAMED,
    number=int,
    position=int,
    waits=bool,
    status=Status,
    losers=list[str | None],
    winners=list[str | None],
    dealt=list[str | None],
    doubts=list[str],
    released_position=int | None,
    released_at=str | None,
    decided_position=int | None,
    decided_at=str | None,
    pool_minor=int | None,
    paid_minor=int | None,
    left_minor=int | None,
    ground=str | None,
    reason=str | None,
)


class HitRow(_HitRow):  # type: ignore[misc]
    """A hit, and who got what of it. Another partner's players are null."""

    shares: list[_ShareRow]


class Requirement(BaseModel):
    """The least hand that must lose in a game; ranks from the highest down."""

    model_config = ConfigDict(extra="forbid")

    game: str
    hand: str
    ranks: str
    hole_cards: Literal["both", "any"] = Field(
        description="both: it must be made of both hole cards."
    )


class NextShares(BaseModel):
    """What a hit would pay now, in whole parts; several who share one divide it equally."""

    model_config = ConfigDict(extra="forbid")

    currency: str
    loser_minor: int
    loser: str
    winner_minor: int
    winner: str
    dealt_in_minor: int
    dealt_in: str
    left_minor: int = Field(description="What stays in the pool, odd units apart.")
    left: str


class RulesOfJackpot(BaseModel):
    """What a rulebook of tables that play for the jackpot says of it on a day."""

    model_config = ConfigDict(extra="forbid")

    rulebook: str = Field(description="The version in force.")
    loser_bps: int
    winner_bps: int
    dealt_in_bps: int
    dealt_in_includes_winner_and_loser: bool
    contribution: dict[str, Any] = Field(description="How the pool is fed; amounts in minor units.")
    requirements: list[Requirement]
    excluded_games: list[str]
    two_seat_tables: bool
    review: bool = Field(description="Whether a second person releases every hit.")
    next_shares: NextShares


class JackpotsAnswer(Told):
    """What each jackpot's pool holds."""

    jackpots: list[JackpotRow]


class JackpotAnswer(Told):
    """A jackpot: its pools by currency, the rules of the day, and what waits."""

    jackpot: str
    pools: list[JackpotRow]
    rules: list[RulesOfJackpot]
    undecided: int = Field(description="Hits that are neither settled nor annulled.")
    links: dict[str, str] = Field(default={}, description=LINKS)


class ContributionsAnswer(Answer):
    """A page of what tables paid in, in the order of the days."""

    contributions: list[ContributionRow]
    cursor: str | None


class HitsAnswer(Told):
    """A page of hits, the newest first."""

    hits: list[HitRow]
    cursor: str | None


class ReleaseBody(Body):
    """Why a hit that waits may be paid."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"reason": "Both boards were looked at: it is one."}]}
    )

    reason: Text


class AnnulBody(Body):
    """Why a hit is not paid."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "ground": "collusion",
                    "reason": "Three of one household played all night without a raise.",
                }
            ]
        }
    )

    ground: Slug = Field(description="A ground, breach or fraud that the rulebook lists.")
    reason: Text


class HitDone(Done):
    """What became of a hit."""

    jackpot: str
    currency: str
    game_number: str
    number: int
    status: Literal["released", "annulled"]


# -- pools and rules -----------------------------------------------------------------------------


@router.get(
    "",
    response_model=JackpotsAnswer,
    responses=csv.DOCUMENTED,
    dependencies=[Reached],
    summary="The jackpots",
)
def list_jackpots(request: Request, caller: Reads, asked: AsOfAsked) -> Response:
    """Tell what each pool owes to players. Source: D."""
    with reading(request, asked) as read:
        found = jackpots.pools(read.at, network=caller.network, known=read.past)
    rows = [_pool(caller, read.known, row) for row in found]
    return listing.answer_all(request, "jackpots", JackpotRow, {"jackpots": rows}, read)


@router.get("/{jackpot}", response_model=JackpotAnswer, dependencies=[Reached], summary="A jackpot")
def get_jackpot(
    request: Request,
    jackpot: Name,
    caller: Reads,
    asked: AsOfAsked,
    *,
    on: Annotated[date | None, Query(description="The rules of this day; today's (UTC).")] = None,
) -> Response:
    """Tell what a jackpot's pools hold, which hands must lose, and what a hit would pay.

    Hits that are not decided yet are still in the pools. Source: D.
    """
    with reading(request, asked) as read:
        pools = jackpots.pools(read.at, network=caller.network, jackpot=jackpot, known=read.past)
        of_tables = jackpots.rulebooks(read.at, network=caller.network, jackpot=jackpot)
        waiting = jackpots.count_undecided(
            read.at, network=caller.network, jackpot=jackpot, known=read.past
        )
    if not pools and not of_tables:
        raise UnknownJackpot("No such jackpot.", field="jackpot")
    held = {row["currency"]: row["pool_minor"] for row in pools}
    day = on or now().date()
    content = {
        "jackpot": jackpot,
        "pools": [_pool(caller, read.known, row) for row in pools],
        "rules": [
            rules
            for row in of_tables
            for rules in _rules(
                _adopted(request, caller, row["rulebook"], day), row["currency"], held
            )
        ],
        "undecided": waiting,
        "links": links.allowed(caller, hits=links.jackpot_hits(jackpot)),
    }
    return respond({**content, **read.told()})


def _pool(caller: Caller, known: Known, row: Row) -> dict[str, Any]:
    account = accounts.jackpot(row["network"], row["jackpot"])
    found = links.allowed(
        caller,
        entries=known.entries(account=account, currency=row["currency"]),
        statement=known.statement("accounts", account),
        jackpot=links.jackpot(row["jackpot"]),
    )
    return shown(row, links=found)


def _adopted(request: Request, caller: Caller, name: str, day: date) -> Rulebook:
    """Return the version of a rulebook that is in force on a day; tables are opened by it."""
    state: RulebookState
    state, _ = edge_of(request).reads.state(rulebook_stream(caller.network, name))
    version = state.in_force(day)
    return parse(version.text, version.file)


def _rules(rulebook: Rulebook, currency: str, held: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Say what a version of a rulebook has for the jackpot, if it has one."""
    rules = rulebook.jackpot
    if not isinstance(rules, Jackpot):
        return
    pool = held.get(currency, 0)
    parts = {
        "loser_minor": pool * rules.loser_bps // WHOLE,
        "winner_minor": pool * rules.winner_bps // WHOLE,
        "dealt_in_minor": pool * rules.dealt_in_bps // WHOLE,
    }
    following = {"currency": currency, **parts, "left_minor": pool - sum(parts.values())}
    kept = (
        *("loser_bps", "winner_bps", "dealt_in_bps", "dealt_in_includes_winner_and_loser"),
        *("two_seat_tables", "review"),
    )
    yield {
        "rulebook": rulebook.ref,
        **{name: getattr(rules, name) for name in kept},
        "contribution": msgspec.structs.asdict(rules.contribution),
        "requirements": [
            {"game": game, **msgspec.structs.asdict(least)}
            for game, least in rules.qualifying.items()
        ],
        "excluded_games": list(rules.excluded_games),
        "next_shares": shown(following),
    }


# -- contributions -------------------------------------------------------------------------------


@router.get(
    "/{jackpot}/contributions",
    response_model=ContributionsAnswer,
    responses=csv.DOCUMENTED,
    dependencies=[Reached, NotAsOf],
    summary="What was paid in",
)
def list_contributions(
    request: Request,
    jackpot: Name,
    caller: Reads,
    paging: Paged,
    *,
    first: Annotated[date, Query(examples=["2013-05-01"])],
    last: Annotated[date, Query(examples=["2013-05-31"])],
) -> Response:
    """Tell what each table paid into a jackpot by day (UTC).

    The days are those when the hands were played; what was recorded of them by an earlier instant
    is not kept. To a partner nothing is told: tables are played at by players of several.
    """
    _require_house(caller)
    if not 0 <= (last - first).days < LONGEST_DAYS:
        raise Problem(
            "invalid-value",
            f"the last day follows the first by at most {LONGEST_DAYS}",
            field="last",
        )

    def find(at: Snapshot, *, known: AsOf | None, **page: Any) -> Page:
        return jackpots.days(
            at, network=caller.network, jackpot=jackpot, first=first, last=last, **page
        )

    def row(_: Known, found: Row) -> dict[str, Any]:
        table = links.allowed(caller, table=links.table(found["table_id"]))
        return shown(found, renamed=_RENAMED, links=table)

    show = listing.each(row)
    return listing.answer(
        request, paging, Asked(), name="contributions", model=ContributionRow, find=find, show=show
    )


# -- hits ----------------------------------------------------------------------------------------


@router.get(
    "/{jackpot}/hits",
    response_model=HitsAnswer,
    responses=csv.DOCUMENTED,
    dependencies=[Reached],
    summary="The hits of a jackpot",
)
def list_hits(
    request: Request,
    jackpot: Name,
    caller: Reads,
    paging: Paged,
    asked: AsOfAsked,
    *,
    status: Status | None = None,
) -> Response:
    """List the hands that hit a jackpot, what became of each, and every share with its event.

    `open` is settled at the next look of the worker, `waiting` when a second person released it,
    and all of them in the order of their numbers. The read is recorded.
    """
    stream = jackpot_stream(caller.network, jackpot, "all")

    find = partial(jackpots.hits, network=caller.network, jackpot=jackpot, status=status)

    def show(read: Reading, found: Sequence[Row]) -> list[dict[str, Any]]:
        return _Hits(caller, read, found).shown()

    with recording(request, caller, "jackpot", stream):
        return listing.answer(
            request, paging, asked, name="hits", model=HitRow, find=find, show=show
        )


class _Hits:
    """Hits as this caller may see them, with the shares that were paid for them."""

    def __init__(self, caller: Caller, read: Reading, found: Sequence[Row]) -> None:
        self._caller = caller
        self._known = read.known
        self._found = found
        self._shares = self._paid(read.at)
        self._hidden = self._of_others(read.at)

    def shown(self) -> list[dict[str, Any]]:
        """Show them."""
        return [self._hit(row) for row in self._found]

    def _paid(self, at: Snapshot) -> dict[tuple[str, str], list[Row]]:
        settled = [row["game_number"] for row in self._found if row["status"] == "settled"]
        paid = defaultdict(list)
        if settled:
            for share in jackpots.shares(at, network=self._caller.network, game_numbers=settled):
                paid[share["jackpot"], share["game_number"]].append(share)
        return paid

    def _of_others(self, at: Snapshot) -> set[str]:
        """Return the players that belong to other partners than the caller's."""
        if self._caller.partner is None:
            return set()
        everyone = {player for row in self._found for player in row["dealt"]}
        partners = jackpots.partners(at, network=self._caller.network, players=everyone)
        return {one for one in everyone if not self._caller.sees_partner(partners.get(one, ""))}

    def _hit(self, row: Row) -> dict[str, Any]:
        found = links.allowed(
            self._caller,
            event=links.event(row["position"]),
            hand=links.hand(row["game_number"]),
            table=links.table(row["table_id"]),
            released=_event(row["released_position"]),
            decided=_event(row["decided_position"]),
        )
        who = {name: [self._player(player) for player in row[name]] for name in _WHO}
        hit = shown({**row, **who}, renamed=_RENAMED, links=found)
        shares = self._shares[row["jackpot"], row["game_number"]] if self._shares else []
        return {**hit, "shares": [self._share(share) for share in shares]}

    def _share(self, share: Row) -> dict[str, Any]:
        player = self._player(str(share["player"]))
        # The currency says how the amount is written; it stands beside the hit.
        row = shown({**share, "player": player})
        mine = self._of(player, share)
        return {name: value for name, value in row.items() if name not in _OF_SHARE} | {
            "links": mine
        }

    def _of(self, player: str | None, share: Row) -> Links:
        if player is None:
            return {}
        return links.allowed(
            self._caller,
            event=links.event(share["position"]),
            entries=Known(share["position"]).entries(position_from=share["position"]),
            player=links.player(player),
            statement=self._known.statement_of_player(player),
        )

    def _player(self, player: str) -> str | None:
        return None if player in self._hidden else player


def _event(position: int | None) -> links.Link | None:
    return None if position is None else links.event(position)


# -- release and annulment -----------------------------------------------------------------------


@router.post(
    "/{jackpot}/hits/{game_number}/release",
    response_model=HitDone,
    responses=approvals.AWAITED,
    summary="Release a hit",
)
async def release_hit(
    request: Request,
    jackpot: Name,
    game_number: HandNumber,
    *,
    body: ReleaseBody,
    caller: Deciding,
    key: Key,
) -> Response:
    """Let a hit be paid that waits for it, once those before it are decided.

    From the rulebook's threshold on a second person must agree first.
    """
    about = await _about(request, caller, jackpot, game_number)
    command = ReleaseHit(**common(caller, key), **about, reason=body.reason)
    return await approvals.submit_or_ask(request, caller, command, status=200)


@router.post(
    "/{jackpot}/hits/{game_number}/annul",
    response_model=HitDone,
    responses=approvals.AWAITED,
    summary="Annul a hit",
)
async def annul_hit(
    request: Request,
    jackpot: Name,
    game_number: HandNumber,
    *,
    body: AnnulBody,
    caller: Deciding,
    key: Key,
) -> Response:
    """Do not pay a hit that is not settled; the pool stays as it is. Source: D (3).

    From the rulebook's threshold on a second person must agree first.
    """
    about = await _about(request, caller, jackpot, game_number)
    command = AnnulHit(**common(caller, key), **about, ground=body.ground, reason=body.reason)
    return await approvals.submit_or_ask(request, caller, command, status=200)


async def _about(
    request: Request, caller: Caller, jackpot: str, game_number: str
) -> dict[str, Any]:
    """Say which hit it is, and what the book has of it. Raises UnknownHit."""
    _require_house(caller)

    def read() -> Row | None:
        with edge_of(request).reads.book() as at:
            return jackpots.hit(
                at, network=caller.network, jackpot=jackpot, game_number=game_number
            )

    row = await run_in_threadpool(read)
    if row is None:
        raise UnknownHit("The book has no such hit of this jackpot.", field="game_number")
    return {
        "jackpot": jackpot,
        "currency": row["currency"],
        "game_number": game_number,
        "book": HitFigures(
            number=row["number"], position=row["position"], got_minor=row["got_minor"]
        ),
    }


def _require_house(caller: Caller) -> None:
    """Raise not-your-partner for a partner's token, whatever its scopes."""
    if caller.partner is not None:
        raise Problem("not-your-partner", "tables and jackpots are the house's own")
