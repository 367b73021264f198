"""The operators' rules as dated data: what they say, how they are read, which one is in force."""

from ledger.rulebooks.loader import RulebookError, parse, shipped, shipped_texts, text_of
from ledger.rulebooks.lookup import UnknownRulebook, adopted
from ledger.rulebooks.schema import Rulebook
from ledger.rulebooks.thresholds import asked

__all__ = [
    "Rulebook",
    "RulebookError",
    "UnknownRulebook",
    "adopted",
    "asked",
    "parse",
    "shipped",
    "shipped_texts",
    "text_of",
]
