"""What is written beside the events: each row is as it was sealed, and none has gone."""

import hashlib
from typing import Any, Final, LiteralString, NamedTuple

import psycopg
from psycopg import sql

from projections.anchors import Anchor, Noted
from projections.check.report import Report
from projections.check.streams import read_on

FIRST_DIGEST: Final = bytes(32)
SIZE: Final = 32


class Sealed(NamedTuple):
    """A table whose rows are sealed: its key, and the values that are hashed."""

    key: LiteralString
    values: LiteralString


SEALED: Final[dict[LiteralString, Sealed]] = {
    "requests": Sealed(
        "concat_ws(' ', r.network, r.client, r.key)",
        "r.network, r.client, r.key, r.fields, r.outcome, r.position,"
        " (extract(epoch FROM r.recorded_at) * 1000000)::bigint",
    ),
    "refused_hands": Sealed(
        "concat_ws(' ', r.hand, encode(r.digest, 'hex'))",
        "r.network, r.hand, r.game_number, r.table_id, r.code, r.retry,"
        " encode(r.digest, 'hex'), encode(r.record, 'hex'), r.dictionary,"
        " (extract(epoch FROM r.refused_at) * 1000000)::bigint",
    ),
    "executions": Sealed(
        "concat_ws(' ', r.network, r.approval)",
        "r.network, r.approval, r.maker, r.checker, encode(r.digest, 'hex'),"
        " (extract(epoch FROM r.recorded_at) * 1000000)::bigint",
    ),
}
"""As migration 0003 says it: what a superuser made of the database's own functions is not asked."""

_SEALS: Final = "SELECT number, sealed, rows, digest FROM journal.seals ORDER BY number"
_ROWS: Final = """
  SELECT {key} AS key, sha256(convert_to(jsonb_build_array({values})::text, 'UTF8')) AS digest
    FROM journal.{table} r
"""
_DIGESTS: Final = """
  SELECT s.number, substring(s.rows FROM 32 * place + 1 FOR 32) AS digest
    FROM journal.seals s, generate_series(0, octet_length(s.rows) / 32 - 1) AS place
   WHERE s.sealed = {name}
"""
_UNSEALED: Final = """
SELECT key FROM ({rows}) AS kept WHERE NOT EXISTS (
  SELECT FROM ({digests}) AS sealed WHERE sealed.digest = kept.digest) ORDER BY key
"""
_GONE: Final = """
SELECT number, count(*) FROM ({digests}) AS sealed WHERE NOT EXISTS (
  SELECT FROM ({rows}) AS kept WHERE kept.digest = sealed.digest) GROUP BY number ORDER BY number
"""


def check_seals(connection: psycopg.Connection[Any], report: Report, noted: Noted) -> None:
    """Follow the chain of seals, then look for rows without a seal and seals without a row."""
    _check_chain(connection, report, noted)
    for table, sealed in SEALED.items():
        name = f"journal.{table}"
        for (key,) in read_on(connection, "unsealed", _statement(_UNSEALED, table, sealed)):
            report.add(
                "row-not-as-sealed", key, "its values are not those it was sealed with", name
            )
        for number, count in read_on(connection, "gone", _statement(_GONE, table, sealed)):
            report.add(
                "sealed-row-missing",
                f"seal {number}",
                f"{count} of its rows are not there as they were sealed",
                name,
            )


def _check_chain(connection: psycopg.Connection[Any], report: Report, noted: Noted) -> None:
    last, digest = 0, FIRST_DIGEST
    for number, sealed, rows, kept in read_on(connection, "seals", _SEALS):
        if number != last + 1:
            report.add(
                "seal-gap",
                f"seal {number}",
                f"the seal before it is number {last}",
                "journal.seals",
            )
        if seal(digest, number, sealed, rows) != kept:
            report.add(
                "seal-differs",
                f"seal {number}",
                "its rows and the seal before do not give its digest",
                "journal.seals",
            )
        last, digest = number, kept
        noted.meet(Anchor(kept.hex(), number, of_seals=True), report)
    report.seals, report.seals_digest = last, digest.hex() if last else ""


def seal(previous: bytes, number: int, sealed: str, rows: bytes) -> bytes:
    """Digest a seal: SHA-256 over the digest before, the number, the table and the rows."""
    name = sealed.encode()
    digest = hashlib.sha256(previous)
    digest.update(number.to_bytes(8, "big"))
    digest.update(len(name).to_bytes(4, "big"))
    digest.update(name)
    digest.update(rows)
    return digest.digest()


def _statement(statement: LiteralString, table: LiteralString, sealed: Sealed) -> sql.Composed:
    rows = sql.SQL(_ROWS).format(
        key=sql.SQL(sealed.key), values=sql.SQL(sealed.values), table=sql.Identifier(table)
    )
    digests = sql.SQL(_DIGESTS).format(name=sql.Literal(table))
    return sql.SQL(statement).format(rows=rows, digests=digests)
