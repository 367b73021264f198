"""The cards of a hand: no card twice, only cards of the deck, the right number of them."""

from collections.abc import Collection

from ledger.hands import deck
from ledger.hands.contributions import Tally
from ledger.hands.dealing import Cards, read_dealt
from ledger.hands.deck import UNKNOWN
from ledger.hands.drawing import read_draws
from ledger.hands.findings import Findings
from ledger.hands.games import GamePlay
from ledger.hands.ohh import Hand
from ledger.rulebooks.play import GameRules


def read_cards(hand: Hand, play: GamePlay, rules: GameRules, tally: Tally) -> Cards:
    """Read which cards each player has, and what is on the board; what is wrong comes as faults."""
    if play.draws:
        return read_draws(hand, play, rules, tally)
    return read_dealt(hand, play, rules, tally)


def check_cards(
    hand: Hand, cards: Cards, rules: GameRules, tally: Tally, findings: Findings
) -> None:
    """Check the cards that are known. A draw game's own dealing was checked as it was read."""
    for fault in cards.faults:
        findings.add(
            fault.code, fault.where, fault.message, expected=fault.expected, posted=fault.posted
        )
    every = list(cards.on_board)
    for own in cards.own.values():
        every += own
    found = set(every)
    if UNKNOWN in found:
        found.discard(UNKNOWN)
        every = [card for card in every if card != UNKNOWN]
    lowest = rules.deck(tally.dealt).lowest
    pack = deck.deck(lowest)
    if len(found) < len(every):
        _check_twice(hand, cards, every, findings)
    if not (found <= pack and cards.seen <= pack):
        _check_deck(hand, cards, (found | cards.seen) - pack, lowest, findings)


def _check_twice(hand: Hand, cards: Cards, every: list[str], findings: Findings) -> None:
    twice = {card for card in every if every.count(card) > 1}
    _mark(cards, twice)
    if any(fault.code == "duplicate-card" for fault in cards.faults):
        return
    findings.add(
        "duplicate-card",
        _where(hand, twice),
        "A card is in two places.",
        posted=sorted(twice),
    )


def _check_deck(
    hand: Hand, cards: Cards, strange: Collection[str], lowest: str, findings: Findings
) -> None:
    _mark(cards, strange)
    findings.add(
        "card-not-in-deck",
        _where(hand, strange),
        "A card is not in the deck that this game has for so many players.",
        expected=f"four suits from {lowest} to A",
        posted=sorted(strange),
    )


def _mark(cards: Cards, wrong: Collection[str]) -> None:
    """Note whose cards cannot be relied on."""
    cards.faulty.update(
        player for player, own in cards.own.items() if not set(own).isdisjoint(wrong)
    )
    if not set(cards.on_board).isdisjoint(wrong):
        cards.board_faulty = True


def _where(hand: Hand, cards: Collection[str]) -> str:
    """Find the last place in a post where one of these cards stands."""
    where = "rounds"
    for number, round_ in enumerate(hand.rounds):
        if not set(round_.cards or ()).isdisjoint(cards):
            where = f"rounds[{number}].cards"
        for index, action in enumerate(round_.actions):
            if not set(action.cards or ()).isdisjoint(cards):
                where = f"rounds[{number}].actions[{index}].cards"
    return where
