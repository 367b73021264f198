"""Generations of the projections: made beside the live one, shown through views, dropped."""

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import psycopg
from psycopg import sql

from projections.functions import FUNCTIONS, Function
from projections.schema import TABLES, book_of, definition
from projections.views import PLACEHOLDERS, VIEWS, View

GENERATIONS_LOCK: Final = 7_215_501_114
"""Held while generations are made, shown or dropped."""

AUDITOR: Final = "cardroom_auditor"
"""The role that may read the views, if the server has it; an operator makes it."""

Cursor = psycopg.Cursor[Any]


class StaleGenerationError(RuntimeError):
    """The live generation was made by a version of the code with other tables or states."""


def ensure(dsn: str) -> int:
    """Make the first generation if there is none, and show the live one as this code shows it.

    Returns the live one's number. One that other code made is left as it is.
    """
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        seize(cursor)
        number = live(cursor)
        if number is None:
            number = 1
            create(cursor, number)
            show(cursor, number)
        elif is_ours(cursor, number):
            if not shows_ours(cursor, number):
                show(cursor, number)
            _let_auditors_read(cursor)  # the role may be younger than the views
        return number


def hold(cursor: Cursor) -> None:
    """Keep the generations as they are until the transaction ends; others may hold them too."""
    cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", (GENERATIONS_LOCK,))


def seize(cursor: Cursor) -> None:
    """Keep everybody else from the generations until the transaction ends."""
    cursor.execute("SELECT pg_advisory_xact_lock(%s)", (GENERATIONS_LOCK,))


def live(cursor: Cursor) -> int | None:
    """Return the number of the generation that the views show, or None."""
    row = cursor.execute("SELECT to_regclass('book.generation')").fetchone()
    if row is None or row[0] is None:
        return None
    row = cursor.execute("SELECT generation FROM book.generation").fetchone()
    assert row is not None
    return int(row[0])


def existing(cursor: Cursor) -> list[int]:
    """Return the numbers of all generations that have tables."""
    found = cursor.execute(
        "SELECT substring(nspname FROM 6)::int FROM pg_namespace WHERE nspname ~ '^book_[0-9]+$'"
        " ORDER BY 1"
    )
    return [number for (number,) in found]


def next_number(cursor: Cursor) -> int:
    """Return a number that no generation has had: their checkpoints are never forgotten."""
    row = cursor.execute(
        "SELECT max(substring(application_name FROM 6)::int) FROM journal.tracking"
        " WHERE application_name ~ '^book_[0-9]+$'"
    ).fetchone()
    return max([live(cursor) or 0, (row and row[0]) or 0, *existing(cursor)]) + 1


def create(cursor: Cursor, number: int) -> None:
    """Make the empty tables of a generation."""
    book = sql.Identifier(book_of(number))
    cursor.execute(sql.SQL("CREATE SCHEMA {}").format(book))
    for statements in TABLES:
        cursor.execute(sql.SQL(statements).format(book=book))
    _describe(cursor, number)


def _describe(cursor: Cursor, number: int, *more: str) -> None:
    parts = ("Projections", f"generation {number}", f"definition {definition()}", *more)
    cursor.execute(
        sql.SQL("COMMENT ON SCHEMA {} IS {}").format(
            sql.Identifier(book_of(number)), sql.Literal(", ".join(parts))
        )
    )


def _appearance() -> str:
    """Digest the views and functions: with other ones the same tables are shown anew."""
    return hashlib.sha256(repr((VIEWS, FUNCTIONS, PLACEHOLDERS)).encode()).hexdigest()[:16]


def drop(cursor: Cursor, number: int) -> None:
    """Drop the tables of a generation. Its number is not given again."""
    book = sql.Identifier(book_of(number))
    cursor.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(book))


def described(cursor: Cursor, number: int) -> str:
    """Return what the schema of a generation says of itself."""
    row = cursor.execute(
        "SELECT obj_description(to_regnamespace(%s), 'pg_namespace')", (book_of(number),)
    ).fetchone()
    return (row and row[0]) or ""


def is_ours(cursor: Cursor, number: int) -> bool:
    """Tell whether this code made the generation's tables."""
    return f"definition {definition()}" in described(cursor, number).split(", ")


def shows_ours(cursor: Cursor, number: int) -> bool:
    """Tell whether this code made the views and functions that show the generation."""
    return f"views {_appearance()}" in described(cursor, number).split(", ")


def verify_definition(cursor: Cursor, number: int) -> None:
    """Raise StaleGenerationError unless this code made the generation's tables."""
    if not is_ours(cursor, number):
        raise StaleGenerationError(
            f"Generation {number} of the projections was made by another version: "
            f"{described(cursor, number)!r}. Run 'cardroom projections rebuild'."
        )


def verify(dsn: str) -> None:
    """Raise StaleGenerationError when other code made the live generation; none yet is well."""
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        number = live(cursor)
        if number is not None:
            verify_definition(cursor, number)


def show(cursor: Cursor, number: int) -> None:
    """Point views and functions at a generation, with their comments and the grants they had."""
    rights = _rights(cursor)
    functions = [signature for (signature,) in cursor.execute(_FUNCTIONS)]
    statements = [sql.SQL("DROP FUNCTION {}").format(sql.SQL(name)) for name in functions]
    # First the one that every reader begins with: who is in is let finish, and nobody who has read
    # that one waits for another.
    views = sql.SQL(", ").join(map(_name, VIEWS))
    statements.append(sql.SQL("DROP VIEW IF EXISTS {}").format(views))
    for view in VIEWS:
        query = view.query.format(book=book_of(number), number=number, **PLACEHOLDERS)
        statements.append(sql.SQL("CREATE VIEW {} AS {}").format(_name(view), sql.SQL(query)))
        statements += _comments(view)
    for function in FUNCTIONS:
        statements += _created(function)
    # In one round trip: readers are waiting.
    cursor.execute(sql.SQL(";\n").join([*statements, *rights]))
    _let_auditors_read(cursor)
    _describe(cursor, number, f"views {_appearance()}")


def _comments(view: View) -> Iterator[sql.Composed]:
    """Comment on a view and its columns."""
    yield sql.SQL("COMMENT ON VIEW {} IS {}").format(_name(view), sql.Literal(view.comment))
    for column, comment in view.columns.items():
        yield sql.SQL("COMMENT ON COLUMN {}.{} IS {}").format(
            _name(view), sql.Identifier(column), sql.Literal(comment)
        )


def _let_auditors_read(cursor: Cursor) -> None:
    """Grant the views to the auditor's role, where there is one."""
    if cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", (AUDITOR,)).rowcount:
        cursor.execute(
            sql.SQL("GRANT SELECT ON {} TO {}").format(
                sql.SQL(", ").join(map(_name, VIEWS)), sql.Identifier(AUDITOR)
            )
        )


def _created(function: Function) -> Iterator[sql.Composed]:
    """Create a function, with its comment."""
    yield sql.SQL(
        "CREATE FUNCTION {}({}) RETURNS {} LANGUAGE {} STABLE PARALLEL SAFE {} AS {}"
    ).format(
        _name(function),
        *map(sql.SQL, function[1:4]),
        sql.SQL(function.settings),
        sql.Literal(function.body),
    )
    yield sql.SQL("COMMENT ON FUNCTION {} IS {}").format(
        _name(function), sql.Literal(function.comment)
    )


_FUNCTIONS: Final = """
SELECT p.oid::regprocedure::text FROM pg_proc p
 WHERE p.pronamespace = to_regnamespace('book') ORDER BY p.oid DESC
"""
_RIGHTS: Final = """
SELECT CASE kind WHEN 'v' THEN 'TABLE' ELSE 'FUNCTION' END, name, coalesce(r.rolname, 'public'),
       a.privilege_type, a.is_grantable
  FROM (SELECT 'v' AS kind, relname AS name, relowner AS owner, relacl AS rights FROM pg_class
         WHERE relnamespace = to_regnamespace('book') AND relkind = 'v'
        UNION ALL
        SELECT 'f', proname, proowner, proacl FROM pg_proc
         WHERE pronamespace = to_regnamespace('book')) AS made
 CROSS JOIN aclexplode(rights) a LEFT JOIN pg_roles r ON r.oid = a.grantee
 WHERE a.grantee <> owner ORDER BY 1, 2, 3, 4
"""
_REVOKED: Final = """
SELECT proname FROM pg_proc
 WHERE pronamespace = to_regnamespace('book') AND proacl IS NOT NULL ORDER BY 1
"""


def _rights(cursor: Cursor) -> list[sql.Composed]:
    """Return the statements that give the views' and functions' rights again, not the owner's."""
    kept = {view.name for view in VIEWS} | {function.name for function in FUNCTIONS}
    # Everybody may call a new function; one on which that was changed is given its own rights.
    statements = [
        sql.SQL("REVOKE ALL ON FUNCTION book.{} FROM PUBLIC").format(sql.Identifier(name))
        for (name,) in cursor.execute(_REVOKED).fetchall()
        if name in kept
    ]
    for kind, name, role, privilege, grantable in cursor.execute(_RIGHTS).fetchall():
        if name in kept:
            statements.append(
                sql.SQL("GRANT {} ON {} book.{} TO {}{}").format(
                    sql.SQL(privilege),
                    sql.SQL(kind),
                    sql.Identifier(name),
                    sql.SQL("PUBLIC") if role == "public" else sql.Identifier(role),
                    sql.SQL(" WITH GRANT OPTION" if grantable else ""),
                )
            )
    return statements


def _name(made: View | Function) -> sql.Identifier:
    return sql.Identifier("book", made.name)
