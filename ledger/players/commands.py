"""What may be asked about a player's account, and when it is refused."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from ledger.bounds import InvalidField, player_id, slug, text
from ledger.core import Book, Command, Decision, Event, Kind, Refused, Retry
from ledger.identity import Claimed, Released, holder
from ledger.players import nicknames
from ledger.players.events import (
    NicknameChanged,
    PlayerClosed,
    PlayerRegistered,
    PlayerReinstated,
    PlayerState,
    PlayerSuspended,
    TermsAccepted,
    VaultName,
    player_stream,
)
from ledger.players.standing import active, not_closed
from ledger.rulebooks import adopted
from ledger.rulebooks.grounds import known_ground
from ledger.rulebooks.schema import Rulebook


class WarrantyMissing(Refused):
    """Something that the rulebook asks for is not warranted. Source: K 2."""

    code = "warranty-missing"
    kind: ClassVar[Kind] = "forbidden"


class NicknameTaken(Refused):
    """Another player of the network bears the nickname. Source: K 9.1."""

    code = "nickname-taken"
    kind: ClassVar[Kind] = "conflict"


class PersonAlreadyRegistered(Refused):
    """The person has an active account in the network. Source: K 9.1."""

    code = "person-already-registered"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class PlayerExists(Refused):
    """The player's id belongs to an account already."""

    code = "player-exists"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class TermsAlreadyAccepted(Refused):
    """That version of the document was accepted before."""

    code = "terms-already-accepted"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "never"


class PlayerNotSuspended(Refused):
    """Only a suspended player is reinstated."""

    code = "player-not-suspended"
    kind: ClassVar[Kind] = "conflict"


class PlayerIsSeated(Refused):
    """The player sits at a table and must leave it first."""

    code = "player-seated"
    kind: ClassVar[Kind] = "conflict"
    retry: ClassVar[Retry] = "later"


class AccountNotEmpty(Refused):
    """The account has money, owes money, or money is on its way."""

    code = "account-not-empty"
    kind: ClassVar[Kind] = "conflict"


def required_warranties(rulebook: Rulebook) -> tuple[str, ...]:
    """Name what a player warrants to register: ``over_18``, ``not_citizen_of_mt`` and so on.

    Source: K 2.
    """
    rules = rulebook.registration
    if rules == "none":
        return ()
    return (
        f"over_{rules.minimum_age}",
        *(("full_legal_capacity",) if rules.full_legal_capacity else ()),
        *(f"not_citizen_of_{country.lower()}" for country in rules.barred_citizenships),
        *(("lawful_jurisdiction",) if rules.illegal_jurisdictions_barred else ()),
        *(("not_employed_by_room",) if rules.staff_barred else ()),
    )


class RegisterPlayer(Command, frozen=True, kw_only=True):
    """Open a player account under a partner, with what the person warrants.

    ``nickname_claim`` and ``person_claim`` are stream ids made by ``Identity``. An ``inferred``
    player comes from imported history: he has warranted nothing and may be unknown as a person.

    Raises InvalidField, NicknameNotAllowed, WarrantyMissing, PlayerExists, NicknameTaken,
    PersonAlreadyRegistered, UnknownRulebook. Source: K 2, 9.1.
    """

    player: str
    partner: str
    rulebook: str
    nickname: str
    nickname_claim: str
    person_claim: str | None = None
    warranties: Mapping[str, bool] = {}
    reserved_words: tuple[str, ...] = ()
    inferred: bool = False

    def touches(self) -> tuple[str, ...]:
        claims = () if self.person_claim is None else (self.person_claim,)
        return (player_stream(self.network, self.player), self.nickname_claim, *claims)

    def decide(self, book: Book) -> Decision:
        player_id(self.player)
        slug(self.partner, "partner")
        rulebook = adopted(book, self.network, self.rulebook, self.at.date())
        warranted = self._warranted(rulebook)
        if self.inferred:
            text(self.nickname, "nickname", longest=64)
        else:
            nicknames.check(self.nickname, self.reserved_words)
        own = player_stream(self.network, self.player)
        if book.get(own) is not None:
            raise PlayerExists("The player's id is in use.", field="player")
        _free_nickname(book, self.nickname_claim)
        self._free_person(book)
        context = self.context(rulebook.ref)
        registered = PlayerRegistered(
            **context,
            network=self.network,
            player=self.player,
            partner=self.partner,
            rulebook_name=rulebook.name,
            nickname_claim=self.nickname_claim,
            person_claim=self.person_claim,
            warranted=warranted,
            inferred=self.inferred,
        )
        claimed = Claimed(**context, holder=self.player)
        claims = [c for c in (self.nickname_claim, self.person_claim) if c is not None]
        return Decision(
            changes=[(own, registered), *((claim, claimed) for claim in claims)],
            answer={
                "player": self.player,
                "partner": self.partner,
                "status": "active",
                "rulebook": rulebook.ref,
                "warranted": list(warranted),
            },
            keep=[_vault(self, self.player, self.nickname)],
        )

    def _warranted(self, rulebook: Rulebook) -> tuple[str, ...]:
        required = required_warranties(rulebook)
        for warranty in () if self.inferred else required:
            if self.warranties.get(warranty) is not True:
                raise WarrantyMissing(
                    f"The player does not warrant: {warranty.replace('_', ' ')}.",
                    field=f"warranties.{warranty}",
                    warranty=warranty,
                )
        return tuple(w for w in required if self.warranties.get(w) is True)

    def _free_person(self, book: Book) -> None:
        if self.person_claim is None:
            if self.inferred:
                return
            raise InvalidField("An identity reference is needed.", field="identity_reference")
        if holder(book, self.person_claim) is not None:
            raise PersonAlreadyRegistered(
                "The person has an active account in this network.", field="identity_reference"
            )


class ChangeNickname(Command, frozen=True, kw_only=True):
    """Give a player another nickname; the old one becomes free.

    Refused while he is seated, because posted hands name players by nickname.
    Raises NicknameNotAllowed, NicknameTaken, PlayerIsSeated, UnknownPlayer, PlayerIsClosed.
    Source: K 9.1.
    """

    player: str
    nickname: str
    nickname_claim: str
    reserved_words: tuple[str, ...] = ()

    def touches(self) -> tuple[str, ...]:
        return (player_stream(self.network, self.player), self.nickname_claim)

    def decide(self, book: Book) -> Decision:
        player = not_closed(book, self.network, self.player)
        nicknames.check(self.nickname, self.reserved_words)
        _not_seated(player)
        context = self.context()
        changes: list[tuple[str, Event]] = [
            (
                player_stream(self.network, self.player),
                NicknameChanged(**context, nickname_claim=self.nickname_claim),
            )
        ]
        if self.nickname_claim != player.nickname_claim:
            _free_nickname(book, self.nickname_claim)
            changes += [
                (player.nickname_claim, Released(**context, holder=self.player)),
                (self.nickname_claim, Claimed(**context, holder=self.player)),
            ]
        return Decision(
            changes=changes,
            answer={"player": self.player, "status": player.status},
            keep=[_vault(self, self.player, self.nickname)],
        )


class AcceptTerms(Command, frozen=True, kw_only=True):
    """Record that a player accepted a version of the terms or the licence.

    ``language`` is the one that he read it in, an ISO 639 code; the English version decides.
    Raises TermsAlreadyAccepted, InvalidField, UnknownPlayer, PlayerIsClosed.
    Source: K 3.2, 8.5.
    """

    player: str
    document: Literal["terms", "licence"]
    version: str
    language: str

    def touches(self) -> tuple[str, ...]:
        return (player_stream(self.network, self.player),)

    def decide(self, book: Book) -> Decision:
        player = not_closed(book, self.network, self.player)
        if self.document not in ("terms", "licence"):
            raise InvalidField("Terms or licence.", field="document")
        text(self.version, "version", longest=64)
        slug(self.language.lower(), "language")
        if f"{self.document} {self.version}" in player.terms:
            raise TermsAlreadyAccepted("This version was accepted before.", field="version")
        accepted = TermsAccepted(
            **self.context(),
            document=self.document,
            version=self.version,
            language=self.language.lower(),
        )
        return Decision(
            changes=[(player_stream(self.network, self.player), accepted)],
            answer={
                "player": self.player,
                "document": self.document,
                "version": self.version,
                "language": accepted.language,
            },
        )


class SuspendPlayer(Command, frozen=True, kw_only=True):
    """Keep a player from playing, depositing and withdrawing; he may still leave his tables.

    ``ground`` is a ground, breach or fraud that the player's rulebook lists, if it lists any.
    Raises InvalidField, UnknownPlayer, PlayerIsClosed, PlayerIsSuspended. Source: K 9.1-2.
    """

    player: str
    ground: str
    reason: str

    def touches(self) -> tuple[str, ...]:
        return (player_stream(self.network, self.player),)

    def decide(self, book: Book) -> Decision:
        player = active(book, self.network, self.player)
        rulebook = adopted(book, self.network, player.rulebook, self.at.date())
        known_ground(rulebook, self.ground)
        text(self.reason, "reason")
        suspended = PlayerSuspended(
            **self.context(rulebook.ref), ground=self.ground, reason=self.reason
        )
        return _standing(player, suspended, "suspended")


class ReinstatePlayer(Command, frozen=True, kw_only=True):
    """End a player's suspension.

    Raises InvalidField, UnknownPlayer, PlayerIsClosed, PlayerNotSuspended.
    """

    player: str
    reason: str

    def touches(self) -> tuple[str, ...]:
        return (player_stream(self.network, self.player),)

    def decide(self, book: Book) -> Decision:
        player = not_closed(book, self.network, self.player)
        text(self.reason, "reason")
        if player.status != "suspended":
            raise PlayerNotSuspended("The player is not suspended.", field="player")
        return _standing(player, PlayerReinstated(**self.context(), reason=self.reason), "active")


class ClosePlayer(Command, frozen=True, kw_only=True):
    """Close an empty account for good; the person may open another one.

    The nickname stays with the closed account, so that nobody can pass for its player.
    Raises InvalidField, UnknownPlayer, PlayerIsClosed, PlayerIsSeated, AccountNotEmpty.
    """

    player: str
    reason: str

    def touches(self) -> tuple[str, ...]:
        return (player_stream(self.network, self.player),)

    def decide(self, book: Book) -> Decision:
        player = not_closed(book, self.network, self.player)
        text(self.reason, "reason")
        _not_seated(player)
        _empty(player)
        context = self.context()
        decision = _standing(player, PlayerClosed(**context, reason=self.reason), "closed")
        if player.person_claim is None:
            return decision
        released = Released(**context, holder=self.player)
        return decision._replace(changes=[*decision.changes, (player.person_claim, released)])


def _vault(command: Command, player: str, nickname: str) -> VaultName:
    return VaultName(network=command.network, player_id=player, nickname=nickname)


def _free_nickname(book: Book, claim: str) -> None:
    if holder(book, claim) is not None:
        raise NicknameTaken("Another player bears this nickname.", field="nickname")


def _not_seated(player: PlayerState) -> None:
    if player.seats:
        raise PlayerIsSeated(
            "The player sits at a table.", field="player", tables=sorted(player.seats)
        )


def _empty(player: PlayerState) -> None:
    on_the_way: dict[str, Any] = {}
    if player.deposits:
        on_the_way["deposits"] = list(player.deposits)
    if player.withdrawals:
        on_the_way["withdrawals"] = list(player.withdrawals)
    currencies = sorted(
        currency
        for currency, purse in player.purses.items()
        if purse.bankroll_minor or purse.frozen_minor or purse.withdrawal_minor or purse.debt_minor
    )
    if on_the_way or currencies:
        raise AccountNotEmpty(
            "The account has money, owes money, or money is on its way.",
            field="player",
            currencies=currencies,
            **on_the_way,
        )


def _standing(player: PlayerState, event: Event, status: str) -> Decision:
    return Decision(
        changes=[(player_stream(player.network, player.player), event)],
        answer={"player": player.player, "status": status},
    )
