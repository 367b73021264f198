"""Who is in a hand, with which chips, and at which table: the post against itself and the books."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final

from ledger.hands.contributions import Tally
from ledger.hands.findings import Findings
from ledger.hands.ohh import Hand
from ledger.rulebooks import Rulebook
from ledger.tables.events import TableState

CLOCK_SKEW: Final = timedelta(minutes=5)
"""How far a game server's clock may be ahead of the ledger's."""

_NAME: Final = attrgetter("name")
_SEAT: Final = attrgetter("seat")


def check_players(hand: Hand, tally: Tally, findings: Findings) -> None:
    """Check that each player is there once and that only they act."""
    players = hand.players
    count = len(players)
    if len(tally.players) < count:
        findings.add("duplicate-player", "players", "Two players have the same id.")
        return
    if len(set(map(_NAME, players))) < count:
        findings.add("duplicate-player", "players", "A player is in the hand twice.")
    if len(set(map(_SEAT, players))) < count:
        findings.add("duplicate-player", "players", "Two players have the same seat.")
    for number, index in tally.strays:
        where = f"rounds[{number}].actions[{index}].player_id"
        findings.add("unknown-player", where, "Nobody with this id is in the hand.")
    for player_id in tally.undealt_actors:
        findings.add(
            "illegal-action",
            "rounds",
            "A player acts who is said not to be dealt in.",
            posted=[{"player": player_id}],
        )


def check_stakes(hand: Hand, tally: Tally, findings: Findings) -> None:
    """Check that nobody stakes more than the chips in front of him. Source: E (table stakes)."""
    if not tally.overdrawn:
        return
    for index, who in enumerate(tally.players.values()):
        if who.live + who.dead > who.stack:
            findings.add(
                "stake-exceeds-chips",
                f"players[{index}].starting_stack",
                "The player staked more than the chips in front of him.",
                expected=findings.text(who.stack),
                posted=findings.text(who.put_in),
            )


def check_game(hand: Hand, tally: Tally, rulebook: Rulebook, findings: Findings) -> None:
    """Check that the rulebook knows the game, the currency and so many players."""
    game = rulebook.games.get(hand.game)  # type: ignore[call-overload]
    if game is None:
        known = ", ".join(rulebook.games)
        where = "game_type"
        findings.add("unknown-game", where, "The rulebook has no such game.", expected=known)
    elif tally.dealt > game.max_players:
        findings.add(
            "too-many-players",
            "players",
            "More players were dealt in than the game seats.",
            expected=game.max_players,
            posted=tally.dealt,
        )
    if not hand.tournament and not rulebook.allows_currency(hand.money):
        findings.add(
            "currency-mismatch",
            "currency",
            "The rulebook does not allow tables in this currency.",
            expected=list(rulebook.currencies),
            posted=hand.money,
        )


def check_added(tally: Tally, rulebook: Rulebook, findings: Findings) -> None:
    """Refuse money from outside the players unless the rulebook says who pays it."""
    if tally.added and rulebook.add_to_pot_paid_by == "none":
        findings.add(
            "money-not-conserved",
            "rounds",
            "Money was added to the pot, and the rulebook names no account that pays it.",
            expected=findings.text(0),
            posted=findings.text(tally.added),
        )


def check_likeness(hand: Hand, table: TableState, findings: Findings) -> None:
    """Check that the table is open, and that currency, game, limit and stakes are its own."""
    if table.status != "open":
        findings.add("table-closed", "table_name", "The table is closed.", later=True)
    if hand.money != table.currency:
        findings.add(
            "currency-mismatch",
            "currency",
            "The table plays in another currency.",
            expected=table.currency,
            posted=hand.money,
        )
        return
    if (
        hand.game == table.game
        and hand.bet_limit.bet_type == table.bet_type
        and hand.table_size == table.size
        and hand.small_blind_amount == table.small_blind_minor
        and hand.big_blind_amount == table.big_blind_minor
        and hand.ante_amount == table.ante_minor
        and not hand.x_spread
        and hand.x_small_bet is None
        and hand.x_big_bet is None
        and hand.x_bring_in is None
        and hand.x_hole_cards == table.hole_cards
    ):
        return
    text = findings.text
    same = [
        ("game_type", hand.game, table.game),
        ("bet_limit.bet_type", hand.bet_limit.bet_type, table.bet_type),
        ("table_size", hand.table_size, table.size),
        ("small_blind_amount", text(hand.small_blind_amount or 0), text(table.small_blind_minor)),
        ("big_blind_amount", text(hand.big_blind_amount or 0), text(table.big_blind_minor)),
        ("ante_amount", text(hand.ante_amount or 0), text(table.ante_minor)),
        ("x_spread", findings.texts(hand.x_spread), findings.texts(table.spread_minor)),
    ]
    for where, posted, expected in same:
        if posted != expected and (where != "x_spread" or hand.x_spread):
            findings.add(
                "unlike-table", where, "The table is another.", expected=expected, posted=posted
            )
    _check_optional(hand, table, findings)


def _check_optional(hand: Hand, table: TableState, findings: Findings) -> None:
    """What a post may leave out is compared only where it says something."""
    for where, posted, expected in (
        ("x_small_bet", hand.x_small_bet, table.small_bet_minor),
        ("x_big_bet", hand.x_big_bet, table.big_bet_minor),
        ("x_bring_in", hand.x_bring_in, table.bring_in_minor),
    ):
        if posted is not None and expected is not None and posted != expected:
            findings.add(
                "unlike-table",
                where,
                "The table has other stakes.",
                expected=findings.text(expected),
                posted=findings.text(posted),
            )
    cards = hand.x_hole_cards
    if cards is not None and table.hole_cards is not None and cards != table.hole_cards:
        findings.add(
            "unlike-table",
            "x_hole_cards",
            "The table deals another number of hole cards.",
            expected=table.hole_cards,
            posted=cards,
        )


def check_seats(
    hand: Hand,
    tally: Tally,
    table: TableState,
    player_ids: Sequence[str | None],
    findings: Findings,
) -> None:
    """Check that everyone whose money moves sits where the table has him, with his chips.

    ``player_ids`` are the players of the hand, in its order, as the nickname claims have them.
    """
    seats = table.seats
    for index, player in enumerate(hand.players):
        who = tally.players[player.id]
        player_id = player_ids[index]
        if player_id is None:
            where = f"players[{index}].name"
            findings.add("unknown-player", where, "No player has this nickname.", later=True)
            continue
        if not who.dealt and not who.put_in and player.id not in _winners(hand):
            continue
        seat = seats.get(player.seat)
        if seat is None or seat.player != player_id:
            where = f"players[{index}].seat"
            findings.add("unknown-player", where, "The player does not sit there.", later=True)
        elif seat.chips_minor != player.starting_stack:
            findings.add(
                "wrong-starting-stack",
                f"players[{index}].starting_stack",
                "The player has other chips in front of him.",
                expected=findings.text(seat.chips_minor),
                posted=findings.text(player.starting_stack),
                later=True,
            )


def _winners(hand: Hand) -> set[int]:
    return {win.player_id for pot in hand.pots for win in pot.player_wins}


def check_order(hand: Hand, table: TableState, findings: Findings) -> None:
    """Flag a hand that began before the one that was booked before it at the table."""
    last = table.last_started_at
    if last is not None and hand.started_at < last:
        findings.add(
            "out-of-sequence",
            "start_date_utc",
            "The hand began before the one that the table booked last.",
            expected=last.isoformat(),
            posted=hand.start_date_utc,
        )


def check_clock(hand: Hand, at: datetime, findings: Findings) -> None:
    """Refuse a hand that begins in the future, by the clock at which it was posted.

    Its day decides which rules it is judged by and until when it may be protested, and all hands
    of its table that follow would be out of sequence. Later it may be right.
    """
    # Not added to the clock: an import's is the hand's own, up to the end of the calendar.
    if hand.started_at - at > CLOCK_SKEW:
        findings.add(
            "malformed",
            "start_date_utc",
            "The hand begins in the future.",
            expected=f"not after {at.isoformat()}",
            posted=hand.start_date_utc,
            later=True,
        )
