"""Hands that are bet on, written short, and what is found about their betting alone."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ledger.hands.betting import check_betting
from ledger.hands.contributions import tally
from ledger.hands.findings import Finding, Findings
from ledger.rulebooks import Rulebook
from tests.ledger.hands.posts import a_post, read, rules

Play = str | list[tuple[str, str]]
"""The first round of a hand, or its rounds with their streets."""

FOUR = {"ann": "100", "bob": "100", "cat": "100", "dan": "100"}
"""Dan is the dealer: ann has the small blind, bob the big one, cat acts first."""

TWO = {"ann": "100", "bob": "100"}


def findings(
    play: Play,
    stacks: Mapping[str, str] = FOUR,
    *,
    rulebook: str | Rulebook = "entraction",
    limit: str = "NL",
    cap: str = "0",
    game: str = "Holdem",
    running: bool = True,
    deal: str = "????",
    **root: Any,
) -> list[Finding]:
    """Check the betting of a hand that has come so far; blinds of 1.00 and 2.00 at six seats.

    Everyone is dealt ``deal`` first.
    """
    first = "Preflop" if game in ("Holdem", "Omaha", "OmahaHiLo") else "Deal"
    rounds = [(first, play)] if isinstance(play, str) else list(play)
    if deal:
        dealt = ", ".join([f"{name} deal {deal}" for name in stacks])
        rounds[0] = (rounds[0][0], f"{dealt}, {rounds[0][1]}")
    if running:
        root["x_status"] = "running"
    post = a_post(
        rounds,
        [],
        stacks,
        game_type=game,
        bet_limit={"bet_type": limit, "bet_cap": Decimal(cap)},
        **root,
    )
    return checked(post, rules(rulebook) if isinstance(rulebook, str) else rulebook)


def checked(post: Any, rulebook: Rulebook) -> list[Finding]:
    """Check the betting of a post."""
    hand = read(post)
    findings = Findings(rulebook.findings, hand.money)
    check_betting(hand, tally(hand), rulebook, None, findings)
    return findings


def codes(play: Play, stacks: Mapping[str, str] = FOUR, **more: Any) -> list[str]:
    """Name what is found."""
    return [one.code for one in findings(play, stacks, **more)]
