"""Partitions of the entries, created ahead of the positions that they are for."""

from typing import Any

import psycopg
from psycopg import sql

from projections.schema import PARTITION


class Partitions:
    """Which partitions exist; each holds a range of positions.

    They are attached, not created in place: that waits for no reader, and no reader for it.
    """

    def __init__(self, cursor: psycopg.Cursor[Any], book: str) -> None:
        self._book = sql.Identifier(book)
        row = cursor.execute(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = %s::regclass", (f"{book}.entries",)
        ).fetchone()
        assert row is not None
        self._count: int = row[0]

    def ensure(self, cursor: psycopg.Cursor[Any], position: int) -> None:
        """Create what is missing up to the partition after the one of a position."""
        while self._count <= position // PARTITION + 1:
            first = self._count * PARTITION
            cursor.execute(
                sql.SQL(
                    "CREATE TABLE {book}.{name} (LIKE {book}.entries INCLUDING ALL);"
                    "ALTER TABLE {book}.entries ATTACH PARTITION {book}.{name}"
                    " FOR VALUES FROM ({first}) TO ({end})"
                ).format(
                    book=self._book,
                    name=sql.Identifier(f"entries_{self._count}"),
                    first=sql.Literal(first),
                    end=sql.Literal(first + PARTITION),
                )
            )
            self._count += 1
