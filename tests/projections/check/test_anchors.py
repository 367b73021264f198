"""What a superuser can hide from the database, and what a digest that was noted outside shows."""

import psycopg
import pytest

from ledger import recorder
from ledger.rows import COPY_HEADER, COPY_TRAILER
from projections import anchors, rebuild
from projections.anchors import Anchor
from projections.check.books import check
from projections.check.report import Report
from projections.rebuild import EVERYTHING
from tests.projections.check.test_books import AMOUNT, found, plant, unguarded
from tests.projections.story import NETWORK


def noted(dsn: str) -> list[Anchor]:
    with psycopg.connect(dsn) as connection:
        return anchors.newest(connection)


def take_the_newest_away(owner_dsn: str) -> None:
    """Remove the last commit, and lower everything that knows of it."""
    plant(
        owner_dsn,
        "DELETE FROM journal.events WHERE notification_id >= (SELECT max(first_position)"
        " FROM journal.commits)",
        "DELETE FROM journal.commits WHERE first_position = (SELECT max(first_position)"
        " FROM journal.commits)",
        "UPDATE journal.tracking SET notification_id = (SELECT max(last_position)"
        " FROM journal.commits)",
    )


def chain_anew(owner_dsn: str) -> None:
    """Compute every digest again over the rows as they are now."""
    with psycopg.connect(owner_dsn) as connection, unguarded(connection):
        digest = recorder.FIRST_DIGEST
        for first, last, at, writer in connection.execute(
            "SELECT first_position, last_position, recorded_at, writer FROM journal.commits"
            " ORDER BY 1"
        ).fetchall():
            with connection.cursor().copy(
                "COPY (SELECT * FROM journal.events WHERE notification_id BETWEEN %s AND %s"
                " ORDER BY notification_id) TO STDOUT (FORMAT binary)",
                (first, last),
            ) as copy:
                rows = b"".join(copy)[len(COPY_HEADER) : -len(COPY_TRAILER)]
            header = recorder.commit_header(first, last, at, writer)
            digest = recorder.chain(digest, header, rows)
            connection.execute(
                "UPDATE journal.commits SET digest = %s WHERE first_position = %s", (digest, first)
            )


def test_an_anchor_is_read_back_out_of_any_text(books: str) -> None:
    before = noted(books)
    text = (
        f'{{"event": "anchor", "anchor": "{" ".join(map(str, before))}", "process": "projector"}}'
    )
    assert list(anchors.parse(f"a log line\n{text}\n")) == before
    assert list(anchors.parse("ab@7 " + "0" * 64 + "@0 " + "0" * 63 + "@8")) == []


def test_what_was_noted_is_compared(books: str) -> None:
    report = check(books, against=noted(books))
    assert report.clean
    assert report.anchors == len(noted(books)) == 1


def test_the_newest_events_gone_with_all_that_knows_of_them_show_by_an_anchor_alone(
    books: str, books_owner: str
) -> None:
    before = noted(books)
    take_the_newest_away(books_owner)
    rebuild.rebuild(books, accept=EVERYTHING)
    assert check(books).clean
    report = check(books, against=before)
    assert found(report) == {"anchor-missing": [f"position {before[0].number}"]}
    assert "the chain ends at" in report.problems[0].message


def test_a_chain_that_was_computed_anew_shows_by_an_anchor_alone(
    books: str, books_owner: str
) -> None:
    before = noted(books)
    plant(books_owner, "UPDATE journal.commits SET writer = 'nobody' WHERE first_position = 1")
    assert "digest-differs" in found(check(books))
    chain_anew(books_owner)
    assert check(books).clean
    assert found(check(books, against=before)) == {
        "anchor-differs": [f"position {before[0].number}"]
    }


def test_a_changed_amount_shows_by_its_hand_however_the_chain_was_computed(
    books: str, books_owner: str
) -> None:
    plant(books_owner, AMOUNT)
    chain_anew(books_owner)
    rebuild.rebuild(books, accept=EVERYTHING)
    places = found(check(books))
    assert "digest-differs" not in places
    assert "hand-does-not-add-up" in places


def test_an_anchor_between_the_ends_of_commits_is_not_of_this_book(books: str) -> None:
    report = check(books, against=[Anchor("0" * 64, 2)])
    assert found(report) == {"anchor-missing": ["position 2"]}


@pytest.fixture
def answered(books: str) -> str:
    """Give books in which three requests were answered and a hand was refused."""
    with psycopg.connect(books) as connection:
        for key in ("k1", "k2", "k3"):
            connection.execute(
                "INSERT INTO journal.requests VALUES (%s, 'cashier', %s, '{}',"
                ' \'{"status": "done", "answer": {"amount_minor": 5000}}\', 5, now())',
                (NETWORK, key),
            )
        connection.execute(
            "INSERT INTO journal.refused_hands VALUES (%s, 'hand:harbour:77', '77', NULL,"
            " 'wrong-starting-stack', 'later', '\\xaa', '\\xbb', 1, now())",
            (NETWORK,),
        )
    return books


def beside(owner_dsn: str, statement: str) -> None:
    with psycopg.connect(owner_dsn) as connection, unguarded(connection):
        assert connection.execute(statement).rowcount > 0


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE journal.requests SET outcome = jsonb_set(outcome, '{answer,amount_minor}', '1')"
         " WHERE key = 'k2'",
         {"row-not-as-sealed": [f"{NETWORK} cashier k2"], "sealed-row-missing": ["seal 2"]}),
        ("DELETE FROM journal.requests WHERE key = 'k3'", {"sealed-row-missing": ["seal 3"]}),
        ("INSERT INTO journal.requests SELECT network, client, 'k9', fields, outcome, position,"
         " recorded_at FROM journal.requests WHERE key = 'k1'",
         {"row-not-as-sealed": [f"{NETWORK} cashier k9"]}),
        ("UPDATE journal.refused_hands SET retry = 'never'",
         {"row-not-as-sealed": ["hand:harbour:77 aa"], "sealed-row-missing": ["seal 4"]}),
        ("DELETE FROM journal.seals WHERE number = 2",
         {"seal-gap": ["seal 3"], "seal-differs": ["seal 3"],
          "row-not-as-sealed": [f"{NETWORK} cashier k2"]}),
    ],
)  # fmt: skip
def test_what_is_changed_beside_the_events_is_named(
    answered: str, books_owner: str, statement: str, expected: dict[str, list[str]]
) -> None:
    beside(books_owner, statement)
    assert found(check(answered)) == expected


def test_the_newest_answer_gone_with_its_seal_shows_by_an_anchor_alone(
    answered: str, books_owner: str
) -> None:
    before = noted(answered)
    assert [str(anchor).partition("@")[2] for anchor in before][1:] == ["seal-4"]
    beside(books_owner, "DELETE FROM journal.refused_hands")
    beside(books_owner, "DELETE FROM journal.seals WHERE number = 4")
    assert check(answered).clean
    assert found(check(answered, against=before)) == {"anchor-missing": ["seal 4"]}


def test_the_application_adds_a_seal_only_by_adding_rows(answered: str) -> None:
    with psycopg.connect(answered) as connection:
        row = connection.execute(
            "SELECT pg_has_role(current_user, relowner, 'USAGE') FROM pg_class"
            " WHERE oid = 'journal.seals'::regclass"
        ).fetchone()
    if row == (True,):
        pytest.skip("one role owns the tables and writes to them")
    for statement in (
        "INSERT INTO journal.seals VALUES (99, 'requests', sha256(''), sha256(''))",
        "SELECT journal.seal('requests', sha256(''))",
    ):
        with (
            psycopg.connect(answered) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(statement)


def test_a_name_in_the_vault_is_proven_by_nothing(books: str) -> None:
    """It may be changed and erased, as a person may ask: the books do not depend on it."""
    with psycopg.connect(books) as connection:
        connection.execute(
            "INSERT INTO vault.names VALUES (%s, gen_random_uuid(), 'Nobody', now())", (NETWORK,)
        )
    report: Report = check(books)
    assert report.clean
