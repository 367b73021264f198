"""A second opinion on a post."""

from typing import Any, Final

from tests.fuzz.betting import STRUCTURES, STUD, check_betting
from tests.fuzz.facts import Facts, Unsure, Wrong, must, read
from tests.fuzz.paying import check_paying

_SEATS: Final = {
    "Holdem": 10, "Omaha": 8, "Omaha5": 8, "OmahaHiLo": 8, "Soko": 8, "Stud": 8, "StudHiLo": 8,
    "FiveCardDraw": 6, "TripleDraw27": 6, "Telesina": 6, "Americana": 6,
}  # fmt: skip


def opinion(document: Any, book: str) -> str:
    """Say ``right``, ``wrong: why`` or ``unsure: why`` of a decoded post."""
    try:
        facts = read(document)
        _check_table(facts, book)
        unsure = _try(facts, book)
    except Wrong as wrong:
        return f"wrong: {wrong}"
    except Unsure as unknown:
        return f"unsure: {unknown}"
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError, IndexError) as error:
        return f"wrong: unreadable ({type(error).__name__}: {error})"
    return f"unsure: {unsure}" if unsure else "right"


def _try(facts: Facts, book: str) -> str | None:
    """Check betting and paying; what one of them is unsure of, the other may know to be wrong."""
    unsure = None
    for check in (check_paying, check_betting):
        try:
            check(facts, book)
        except Unsure as unknown:
            unsure = unsure or str(unknown)
    return unsure


def _check_table(facts: Facts, book: str) -> None:
    if facts.limit not in STRUCTURES:
        raise Unsure("PokerKit has no such limit")
    most = _SEATS.get(facts.game, 0)
    if book == "as-posted" and facts.game in ("Omaha", "Omaha5", "OmahaHiLo"):
        most = 10
    must(len(facts.ring) <= most, "more players than seats")
    if book == "entraction" and not facts.tournament:
        must(facts.currency in ("EUR", "XPM"), "another currency")
    if facts.said.get("x_status") == "running":
        raise Unsure("a hand that is not finished")
    if facts.game in STUD and facts.header("x_small_bet") == 0:
        raise Unsure("no stakes")
