"""Rows of the book's views as answers: their amounts in decimals too, their columns explained."""

from collections.abc import Iterable
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, create_model

from api.edge import worded
from api.links import LINKS, Links
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
    renamed = renamed or {}
    answer = worded(
        {renamed.get(name, name): value for name, value in row.items() if name not in without}
    )
    if links is not None:
        answer["links"] = links
    return answer
