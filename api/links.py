"""Where an auditor looks next: the links of every row, from a figure down to the posted hand.

A figure leads to its entries, an entry to its event, an event to its hand, a hand to its table, a
player to his statement. They are relative URLs. Only those are given that the caller's token may
follow; entries are linked as of the position of the answer, so that they add up to the figure.
"""

from collections.abc import Container
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from api.auth import Caller
from api.tokens import Scope

HAND_REQUEST: Final = "hand:"
"""What the request id of a posted hand begins with; its game number follows."""

LINKS: Final = "Where to look next: relative URLs that the token may follow, by name."
"""What the document says of an answer's links."""

Links = dict[str, str]


class Link(NamedTuple):
    """A relative URL, the scope that its answer asks for, and whether a partner is refused."""

    scope: Scope
    url: str
    for_staff: bool = False


def allowed(caller: Caller, **links: Link | None) -> Links:
    """Return the links that the caller may follow, by name."""
    return {
        name: link.url
        for name, link in links.items()
        if link is not None
        and link.scope in caller.scopes
        and not (link.for_staff and caller.partner is not None)
    }


# -- figures and entries -------------------------------------------------------------------------


class Known(NamedTuple):
    """What an answer rests on: its position and, when asked, the instant by which it happened."""

    position: int
    occurred_at: datetime | None = None

    def entries(self, **filters: Any) -> Link:
        """Lead to entries: the filters are those of ``GET /v1/entries``, None left out."""
        return Link(Scope.BOOKS_READ, f"/v1/entries?{_query(self, **filters)}")

    def findings(self, **filters: Any) -> Link:
        """Lead to findings: the filters are those of ``GET /v1/findings``, None left out."""
        return Link(Scope.FINDINGS_READ, f"/v1/findings?{_query(self, **filters)}", for_staff=True)

    def statement(self, of: str, key: str, scope: Scope = Scope.BOOKS_READ) -> Link:
        """Lead to the statement of a player, partner, table, provider or account up to then."""
        url = f"/v1/statements/{of}/{_part(key)}?position_before={self.position + 1}"
        # Tables and accounts of the house are of players of several partners.
        return Link(scope, url, for_staff=scope is Scope.BOOKS_READ)

    def statement_of_player(self, player: str) -> Link:
        """Lead to a player's statement."""
        return self.statement("players", player, Scope.BALANCES_READ)

    def statement_of_partner(self, partner: str) -> Link:
        """Lead to a partner's statement."""
        return self.statement("partners", partner, Scope.BALANCES_READ)


# Of the rows of a page most lead to the same few accounts, tables and hands.
@lru_cache(maxsize=4096)
def _query(known: Known, **filters: Any) -> str:
    given = {name: value for name, value in filters.items() if value is not None}
    given["position"] = known.position
    if known.occurred_at is not None:
        given["occurred_at"] = known.occurred_at
    return urlencode(
        {
            name: written(value) if isinstance(value, datetime) else value
            for name, value in given.items()
        }
    )


def written(instant: datetime) -> str:
    """Write an instant for a URL, in UTC."""
    return instant.isoformat().replace("+00:00", "Z")


# -- what entries and events belong to -----------------------------------------------------------


def event(position: int) -> Link:
    """Lead to the event at a position."""
    return Link(Scope.BOOKS_READ, f"/v1/events/{position}")


def finding(position: int) -> Link:
    """Lead to a finding, and what was done about it."""
    return Link(Scope.FINDINGS_READ, f"/v1/findings/{position}", for_staff=True)


def hand(game_number: str | None) -> Link | None:
    """Lead to a hand, in words and as it was posted."""
    if game_number is None:
        return None
    return Link(Scope.HANDS_READ, f"/v1/hands/{_part(game_number)}")


def last_hand(game_number: str | None, booked: Container[str]) -> Link | None:
    """Lead to the hand that a table played last, unless that one was lost."""
    found = hand(game_number) if game_number in booked else None
    # It need not have been one of a partner's own players.
    return None if found is None else found._replace(for_staff=True)


def hands_of(table: str) -> Link:
    """Lead to the hands of a table."""
    return Link(Scope.HANDS_READ, f"/v1/hands?{urlencode({'table': table})}", for_staff=True)


def table(table_id: str | None) -> Link | None:
    """Lead to a table."""
    if table_id is None:
        return None
    return Link(Scope.TABLES_READ, f"/v1/tables/{_part(table_id)}")


def jackpot(name: str) -> Link:
    """Lead to a jackpot: its pool, its rules, what a hit would pay."""
    return Link(Scope.BALANCES_READ, f"/v1/jackpots/{_part(name)}")


def jackpot_hits(name: str) -> Link:
    """Lead to the hits of a jackpot."""
    return Link(Scope.BALANCES_READ, f"/v1/jackpots/{_part(name)}/hits")


def player(player_id: Any) -> Link | None:
    """Lead to a player's account."""
    if player_id is None:
        return None
    return Link(Scope.PLAYERS_READ, f"/v1/players/{player_id}")


def bankroll(player_id: Any) -> Link:
    """Lead to a player's money."""
    return Link(Scope.BALANCES_READ, f"/v1/players/{player_id}/bankroll")


def payment(what: str, key: str) -> Link:
    """Lead to a deposit or a withdrawal; ``what`` is the plural."""
    return Link(Scope.PLAYERS_READ, f"/v1/{what}/{_part(key)}")


def game_number_of(stream: str, request_id: str) -> str | None:
    """Return the game number of a hand's event; None for any other event.

    Streams of numbers hold them; those of other names hold a digest, and the request the name.
    """
    category, _, rest = stream.partition(":")
    if category != "hand":
        return None
    key = rest.partition(":")[2]
    if not key.startswith("~"):
        return key.lstrip("0")
    if request_id.startswith(HAND_REQUEST):
        return request_id.removeprefix(HAND_REQUEST)
    return None


@lru_cache(maxsize=4096)
def _part(name: str) -> str:
    """Write a name as one part of a path, whatever it holds."""
    return quote(name, safe="")
