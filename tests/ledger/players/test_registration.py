"""Opening, naming, suspending and closing a player's account."""

from typing import Any

import pytest

from ledger.bounds import InvalidField
from ledger.identity import holder
from ledger.players.commands import (
    AcceptTerms,
    AccountNotEmpty,
    ChangeNickname,
    ClosePlayer,
    NicknameTaken,
    PersonAlreadyRegistered,
    PlayerExists,
    PlayerIsSeated,
    PlayerNotSuspended,
    RegisterPlayer,
    ReinstatePlayer,
    SuspendPlayer,
    TermsAlreadyAccepted,
    WarrantyMissing,
    required_warranties,
)
from ledger.players.events import PlayerRegistered, VaultName, player_stream
from ledger.players.standing import PlayerIsClosed, PlayerIsSuspended, UnknownPlayer
from ledger.rulebooks import UnknownRulebook, adopted
from tests.ledger.given import (
    ALICE,
    BOB,
    IDENTITY,
    NETWORK,
    START,
    WARRANTIES,
    MemoryBook,
    a_book,
    fund,
    names,
    open_table,
    register,
    sit,
)


def registration(book: MemoryBook, **fields: Any) -> RegisterPlayer:
    asked: dict[str, Any] = {
        "player": ALICE,
        "partner": "kerching",
        "rulebook": "entraction",
        "nickname": "Alice",
        "nickname_claim": IDENTITY.nickname_claim(NETWORK, "Alice"),
        "person_claim": IDENTITY.person_claim(NETWORK, "passport 1"),
        "warranties": WARRANTIES,
    }
    return RegisterPlayer(**book.ask(), **{**asked, **fields})


def test_registering_keeps_what_was_warranted_and_when() -> None:
    book = a_book()
    command = registration(book)
    decision = book.when(command)
    assert names(decision.changes) == ["player.registered.v1", "claim.taken.v1", "claim.taken.v1"]
    event = decision.changes[0][1]
    assert isinstance(event, PlayerRegistered)
    assert event.warranted == (
        "over_18",
        "full_legal_capacity",
        "not_citizen_of_mt",
        "lawful_jurisdiction",
        "not_employed_by_room",
    )
    assert event.occurred_at == command.at
    assert event.rulebook == "entraction@2013-01-01"
    assert holder(book, command.nickname_claim) == ALICE


def test_registering_puts_the_nickname_in_the_vault_and_nowhere_else() -> None:
    book = a_book()
    decision = book.when(registration(book, nickname="Alice Liddell"))
    assert decision.keep == [VaultName(network=NETWORK, player_id=ALICE, nickname="Alice Liddell")]
    assert "Liddell" not in repr(decision.changes)
    assert "Liddell" not in repr(decision.answer)


@pytest.mark.parametrize("warranty", sorted(WARRANTIES))
@pytest.mark.parametrize("instead", [{"warranted": False}, {"warranted": 1}, {}])
def test_registering_without_a_warranty_is_refused_with_the_one_that_fails(
    warranty: str, instead: dict[str, Any]
) -> None:
    book = a_book()
    warranties = {name: True for name in WARRANTIES if name != warranty}
    if instead:
        warranties[warranty] = instead["warranted"]
    with pytest.raises(WarrantyMissing) as refused:
        book.when(registration(book, warranties=warranties))
    assert refused.value.code == "warranty-missing"
    assert refused.value.field == f"warranties.{warranty}"


def test_the_warranties_are_those_of_the_rulebook() -> None:
    book = a_book("entraction", "as-posted")
    entraction = adopted(book, NETWORK, "entraction", START.date())
    assert set(required_warranties(entraction)) == set(WARRANTIES)
    assert required_warranties(adopted(book, NETWORK, "as-posted", START.date())) == ()
    book.when(registration(book, rulebook="as-posted", warranties={}))


def test_an_inferred_player_has_warranted_nothing_and_may_be_unknown_as_a_person() -> None:
    book = a_book()
    nickname = "x! player of 2008"
    decision = book.when(
        registration(book, inferred=True, person_claim=None, warranties={}, nickname=nickname)
    )
    event = decision.changes[0][1]
    assert isinstance(event, PlayerRegistered)
    assert (event.inferred, event.warranted) == (True, ())


def test_registering_without_an_identity_reference_is_refused() -> None:
    book = a_book()
    with pytest.raises(InvalidField) as refused:
        book.when(registration(book, person_claim=None))
    assert refused.value.field == "identity_reference"


def test_a_person_has_one_account_in_the_network_whatever_the_partner() -> None:
    book = a_book()
    book.when(registration(book))
    second = registration(
        book,
        player=BOB,
        partner="other-brand",
        nickname="Bobby",
        nickname_claim=IDENTITY.nickname_claim(NETWORK, "Bobby"),
    )
    with pytest.raises(PersonAlreadyRegistered) as refused:
        book.when(second)
    assert (refused.value.code, refused.value.retry) == ("person-already-registered", "never")


def test_a_nickname_is_borne_once_in_the_network() -> None:
    book = a_book()
    book.when(registration(book))
    with pytest.raises(NicknameTaken) as refused:
        book.when(
            registration(
                book,
                player=BOB,
                nickname="ALICE",
                nickname_claim=IDENTITY.nickname_claim(NETWORK, "ALICE"),
                person_claim=IDENTITY.person_claim(NETWORK, "passport 2"),
            )
        )
    assert (refused.value.code, refused.value.field) == ("nickname-taken", "nickname")


def test_a_player_id_is_used_once() -> None:
    book = a_book()
    book.when(registration(book))
    with pytest.raises(PlayerExists):
        book.when(registration(book))


def test_registering_under_a_rulebook_that_is_not_adopted_is_refused() -> None:
    book = a_book()
    with pytest.raises(UnknownRulebook):
        book.when(registration(book, rulebook="empire"))


@pytest.mark.parametrize(
    ("field", "value"), [("player", "alice"), ("partner", "Kerching Poker"), ("partner", "a:b")]
)
def test_ids_that_cannot_name_anything_are_refused(field: str, value: str) -> None:
    book = a_book()
    with pytest.raises(InvalidField) as refused:
        book.when(registration(book, **{field: value}))
    assert refused.value.field == field


def change(book: MemoryBook, nickname: str, player: str = ALICE) -> ChangeNickname:
    claim = IDENTITY.nickname_claim(NETWORK, nickname)
    return ChangeNickname(**book.ask(), player=player, nickname=nickname, nickname_claim=claim)


def test_changing_a_nickname_frees_the_old_one() -> None:
    book = a_book()
    register(book, ALICE, "alice")
    decision = book.when(change(book, "rabbit"))
    assert names(decision.changes) == [
        "player.nickname_changed.v1",
        "claim.released.v1",
        "claim.taken.v1",
    ]
    assert decision.keep == [VaultName(network=NETWORK, player_id=ALICE, nickname="rabbit")]
    assert holder(book, IDENTITY.nickname_claim(NETWORK, "rabbit")) == ALICE
    register(book, BOB, "alice")
    assert holder(book, IDENTITY.nickname_claim(NETWORK, "alice")) == BOB


def test_changing_only_the_case_of_a_nickname_keeps_its_claim() -> None:
    book = a_book()
    register(book, ALICE, "alice")
    decision = book.when(change(book, "ALICE"))
    assert names(decision.changes) == ["player.nickname_changed.v1"]
    assert holder(book, IDENTITY.nickname_claim(NETWORK, "alice")) == ALICE


def test_changing_to_the_nickname_of_another_player_is_refused() -> None:
    book = a_book()
    register(book, ALICE, "alice")
    register(book, BOB, "bobby")
    with pytest.raises(NicknameTaken):
        book.when(change(book, "Bobby"))


def test_changing_a_nickname_waits_until_the_player_has_left_his_tables() -> None:
    book = a_book()
    register(book)
    fund(book, 10_000)
    sit(book, open_table(book), 1)
    with pytest.raises(PlayerIsSeated) as refused:
        book.when(change(book, "rabbit"))
    assert (refused.value.code, refused.value.retry) == ("player-seated", "later")
    assert refused.value.extra == {"tables": ["Etomo"]}


def accept(book: MemoryBook, **fields: Any) -> AcceptTerms:
    asked: dict[str, Any] = {"player": ALICE, "document": "terms", "version": "2013-02"}
    return AcceptTerms(**book.ask(), **{**asked, "language": "DE", **fields})


def test_terms_are_accepted_once_per_version_and_document() -> None:
    book = a_book()
    register(book)
    book.when(accept(book))
    book.when(accept(book, version="2014-01"))
    book.when(accept(book, document="licence"))
    with pytest.raises(TermsAlreadyAccepted) as refused:
        book.when(accept(book, language="en"))
    assert refused.value.code == "terms-already-accepted"
    assert list(book.get(player_stream(NETWORK, ALICE)).terms) == [
        "terms 2013-02",
        "terms 2014-01",
        "licence 2013-02",
    ]


def test_only_terms_and_licence_are_accepted() -> None:
    book = a_book()
    register(book)
    with pytest.raises(InvalidField) as refused:
        book.when(accept(book, document="newsletter"))
    assert refused.value.field == "document"


def suspend(book: MemoryBook, ground: str = "collusion") -> SuspendPlayer:
    return SuspendPlayer(**book.ask(), player=ALICE, ground=ground, reason="Case 12.")


def reinstate(book: MemoryBook) -> ReinstatePlayer:
    return ReinstatePlayer(**book.ask(), player=ALICE, reason="Case 12 is closed.")


def close(book: MemoryBook) -> ClosePlayer:
    return ClosePlayer(**book.ask(), player=ALICE, reason="As he asked.")


def test_a_player_is_suspended_and_reinstated() -> None:
    book = a_book()
    register(book)
    stream = player_stream(NETWORK, ALICE)
    assert book.when(suspend(book)).answer == {"player": ALICE, "status": "suspended"}
    assert book.get(stream).status == "suspended"
    with pytest.raises(PlayerIsSuspended):
        book.when(suspend(book))
    book.when(reinstate(book))
    assert book.get(stream).status == "active"
    with pytest.raises(PlayerNotSuspended):
        book.when(reinstate(book))


def test_suspending_needs_a_ground_of_the_rulebook() -> None:
    book = a_book()
    register(book)
    with pytest.raises(InvalidField) as refused:
        book.when(suspend(book, "bad-mood"))
    assert refused.value.field == "ground"
    book.when(suspend(book, "shared-account"))


def test_a_closed_account_frees_the_person_and_keeps_the_nickname() -> None:
    book = a_book()
    register(book, ALICE, "alice")
    assert names(book.when(close(book)).changes) == ["player.closed.v1", "claim.released.v1"]
    again = registration(
        book,
        player=BOB,
        nickname="alice2",
        nickname_claim=IDENTITY.nickname_claim(NETWORK, "alice2"),
        person_claim=IDENTITY.person_claim(NETWORK, f"passport of {ALICE}"),
    )
    book.when(again)
    assert holder(book, IDENTITY.nickname_claim(NETWORK, "alice")) == ALICE


def test_a_closed_account_stays_closed() -> None:
    book = a_book()
    register(book)
    book.when(close(book))
    for command in (
        close(book),
        suspend(book),
        reinstate(book),
        accept(book),
        change(book, "hare"),
    ):
        with pytest.raises(PlayerIsClosed) as refused:
            book.when(command)
        assert (refused.value.code, refused.value.retry) == ("player-closed", "never")


def test_an_inferred_account_without_a_known_person_can_be_closed() -> None:
    book = a_book()
    book.when(registration(book, inferred=True, person_claim=None))
    assert names(book.when(close(book)).changes) == ["player.closed.v1"]


def test_closing_an_account_with_money_is_refused() -> None:
    book = a_book()
    register(book)
    fund(book, 1)
    with pytest.raises(AccountNotEmpty) as refused:
        book.when(close(book))
    assert refused.value.code == "account-not-empty"
    assert refused.value.extra == {"currencies": ["EUR"]}


def test_closing_the_account_of_a_seated_player_is_refused() -> None:
    book = a_book()
    register(book)
    fund(book, 10_000)
    sit(book, open_table(book), 1)
    with pytest.raises(PlayerIsSeated):
        book.when(close(book))


def test_whoever_is_not_registered_is_unknown() -> None:
    book = a_book()
    for command in (
        close(book),
        suspend(book),
        reinstate(book),
        accept(book),
        change(book, "hare"),
    ):
        with pytest.raises(UnknownPlayer) as refused:
            book.when(command)
        assert (refused.value.code, refused.value.kind) == ("unknown-player", "missing")
