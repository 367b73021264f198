"""The operators' rules as dated data: what they say, how they are read, which one is in force."""

from ledger.rulebooks.loader import RulebookError, parse, shipped, shipped_texts, text_of
from ledger.rulebooks.lookup import UnknownRulebook, adopted
from ledger.rulebooks.schema import Rulebook

__all__ = [
    "Rulebook",
    "RulebookError",
    "UnknownRulebook",
    "adopted",
    "parse",
    "shipped",
    "shipped_texts",
    "text_of",
]
