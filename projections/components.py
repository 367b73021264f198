"""Components: what the accounts of one kind, partner and currency add up to, and when."""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise
from typing import Any, Final

import psycopg
from psycopg import sql

from ledger import accounts as chart
from projections.hours import HOURS_A_DAY, begin_of, date_of
from projections.running import Component, Stretch
from projections.writes import Write, columns, statement

Key = tuple[str, str, str | None, str]
"""Network, name, partner, currency."""

_ADD_HOURS: Final = """
INSERT INTO {}.hour_totals AS kept
SELECT hour, component, %s, debit, credit
  FROM unnest(%b::timestamptz[], %b::int[], %b::bigint[], %b::bigint[])
    AS more (hour, component, debit, credit)
    ON CONFLICT (occurred_hour, component, recorded_day) DO UPDATE
   SET debit_minor = kept.debit_minor + excluded.debit_minor,
       credit_minor = kept.credit_minor + excluded.credit_minor
"""
_ADD_DAYS: Final = """
INSERT INTO {}.totals AS kept
SELECT component, day, %s, debit, credit
  FROM unnest(%b::date[], %b::int[], %b::bigint[], %b::bigint[])
    AS more (day, component, debit, credit)
    ON CONFLICT (component, occurred_day, recorded_day) DO UPDATE
   SET debit_minor = kept.debit_minor + excluded.debit_minor,
       credit_minor = kept.credit_minor + excluded.credit_minor
"""
_SET_BLOCKS: Final = """
INSERT INTO {}.component_blocks
SELECT * FROM unnest(%b::int[], %b::int[], %b::bigint[], %b::bigint[])
    ON CONFLICT (component, block) DO UPDATE
   SET debit_minor = excluded.debit_minor, credit_minor = excluded.credit_minor
"""
_SET_SUMS: Final = """
UPDATE {}.components SET debit_minor = now.debit, credit_minor = now.credit
  FROM unnest(%b::int[], %b::bigint[], %b::bigint[]) AS now (number, debit, credit)
 WHERE component = now.number
"""


class Components:
    """Numbers components in the order in which they first appear, and writes their sums."""

    def __init__(self, cursor: psycopg.Cursor[Any], book: str) -> None:
        self._book = sql.Identifier(book)
        self._set_sums = statement(_SET_SUMS, book)
        self._set_blocks = statement(_SET_BLOCKS, book)
        self._add_hours = statement(_ADD_HOURS, book)
        self._add_days = statement(_ADD_DAYS, book)
        self._known: dict[Key, Component] = {}
        self._by_number: dict[int, Component] = {}
        self._read(cursor)

    def _read(self, cursor: psycopg.Cursor[Any]) -> None:
        for *key, number, debit, credit in cursor.execute(
            sql.SQL(
                "SELECT network, name, partner, currency, component, debit_minor, credit_minor"
                " FROM {}.components"
            ).format(self._book)
        ):
            if number not in self._by_number:
                self._remember((key[0], key[1], key[2], key[3]), Component(number, debit, credit))

    def _remember(self, key: Key, component: Component) -> None:
        self._known[key] = self._by_number[component.number] = component

    def get(self, cursor: psycopg.Cursor[Any], number: int) -> Component:
        """Return a component that has a row."""
        if number not in self._by_number:
            self._read(cursor)
        return self._by_number[number]

    def of(
        self,
        cursor: psycopg.Cursor[Any],
        account: chart.Account,
        partner: str | None,
        currency: str,
    ) -> Component:
        """Return an account's component; write its row when it is the first one there."""
        key = (account.network, account.component, partner, currency)
        component = self._known.get(key)
        if component is None:
            component = Component(len(self._known) + 1, 0, 0)
            self._remember(key, component)
            cursor.execute(
                sql.SQL("INSERT INTO {}.components VALUES (%s, %s, %s, %s, %s, %s, 0, 0)").format(
                    self._book
                ),
                (
                    component.number,
                    account.network,
                    account.component,
                    account.side,
                    partner,
                    currency,
                ),
            )
        return component

    def writes(
        self, moved: Sequence[Component], stretches: Sequence[Stretch], recorded_day: date
    ) -> Iterator[Write]:
        """Write the sums of a batch: in all, to the end of each block, by hour and by day."""
        hours: Totals = {}
        days: Totals = {}
        ends: dict[tuple[int, int], tuple[int, int]] = {}
        for component in moved:
            number = component.number
            for stretch, debit, credit, ending in _turns(component, stretches):
                ends[number, stretch.block] = ending
                _add(hours, (stretch.hour, number), debit, credit)
                _add(days, (stretch.hour // HOURS_A_DAY, number), debit, credit)
            component.turns = []
        sums = [(one.number, one.debit, one.credit) for one in moved]
        yield Write(self._set_sums, columns(sums))
        yield Write(self._set_blocks, columns((*key, *ends[key]) for key in sorted(ends)))
        by_hour = [(begin_of(hour), number, *total) for (hour, number), total in hours.items()]
        yield Write(self._add_hours, [recorded_day, *columns(by_hour)])
        by_day = [(date_of(day), number, *total) for (day, number), total in days.items()]
        yield Write(self._add_days, [recorded_day, *columns(by_day)])


Totals = dict[tuple[int, int], list[int]]
"""Hour or day, and component -> debits and credits."""


def _turns(
    component: Component, stretches: Sequence[Stretch]
) -> Iterator[tuple[Stretch, int, int, tuple[int, int]]]:
    """Give each stretch with the component's debits and credits in it, and its sums after it."""
    turns = [*component.turns, (0, component.debit, component.credit)]
    for (index, debit, credit), (_, *ending) in pairwise(turns):
        yield stretches[index], ending[0] - debit, ending[1] - credit, (ending[0], ending[1])


def _add(totals: Totals, key: tuple[int, int], debit: int, credit: int) -> None:
    total = totals.setdefault(key, [0, 0])
    total[0] += debit
    total[1] += credit
