"""Rows of the book's views as answers: their amounts in decimals too, their columns explained."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, create_model

from api.edge import worded_value
from api.links import LINKS, Links
from ledger import money
from projections.reading import Row
from projections.views import View

_MINOR: Final = "_minor"


def row_model(
    name: str,
    view: View,
    *,
    without: Iterable[str] = (),
    renamed: dict[str, str] | None = None,
    **types: Any,
) -> type[BaseModel]:
    """Make the model of a view's rows; ``types`` are those of columns that are not text.

    Amounts are whole minor units with the decimal string beside them; the currency of each row
    is its own.
    """
    renamed = renamed or {}
    fields: dict[str, Any] = {}
    for column, meaning in view.columns.items():
        if column in without:
            continue
        shown = renamed.get(column, column)
        kind = types.get(column, int if column.endswith(_MINOR) else str)
        fields[shown] = (kind, Field(description=meaning))
        if column.endswith(_MINOR):
            decimals = str if kind is int else str | None
            fields[shown.removesuffix(_MINOR)] = (
                decimals,
                Field(default=..., description="The same in decimals.")
                if kind is int
                else Field(default=None, description="The same in decimals."),
            )
    fields["links"] = (dict[str, str], Field(default={}, description=LINKS))
    config = ConfigDict(extra="forbid")
    model: type[BaseModel] = create_model(name, __config__=config, __doc__=view.comment, **fields)
    return model


def shown(
    row: Row,
    *,
    without: Iterable[str] = (),
    renamed: dict[str, str] | None = None,
    links: Links | None = None,
) -> dict[str, Any]:
    """Show a row: other names for some columns, decimal strings beside its amounts, its links."""
    currency = row.get("currency")
    answer: dict[str, Any] = {}
    for name, as_shown, decimals in _columns(tuple(row), tuple(without), *(renamed or {}).items()):
        value = answer[as_shown] = worded_value(row[name], currency)
        if decimals is not None and value is not None and currency in money.DIGITS:
            answer.setdefault(decimals, money.text(value, currency))
    if links is not None:
        answer["links"] = links
    return answer


# Rows of a list are alike, and lists are few.
@lru_cache(maxsize=256)
def _columns(
    names: tuple[str, ...], without: tuple[str, ...], *renamed: tuple[str, str]
) -> Sequence[tuple[str, str, str | None]]:
    """Return of each column its name, as what it is shown, and the name of its decimals if any."""
    shown_as = dict(renamed)
    columns = []
    for name in names:
        if name not in without:
            as_shown = shown_as.get(name, name)
            is_amount = as_shown.endswith(_MINOR)
            columns.append((name, as_shown, as_shown.removesuffix(_MINOR) if is_amount else None))
    return columns
