"""The money of a hand: what went back, what the pots hold, and what left them.

Each check compares what was posted with what the rules give. What follows from an earlier
discrepancy is no finding of its own: pots are checked after the posted returns.
"""

from collections.abc import Mapping, Sequence

from ledger.hands import ohh
from ledger.hands.contributions import Tally
from ledger.hands.findings import Findings
from ledger.hands.ohh import Hand, UncalledReturn
from ledger.hands.pots import Pot, Uncalled, pots_of, uncalled
from ledger.hands.rake import over_pots, rake_of
from ledger.jackpots.contribution import contributes, drop_of
from ledger.rulebooks import Rulebook


class Settlement:
    """A hand's money as it was posted, ready to be booked, in minor units.

    ``rakes`` and ``jackpots`` stand beside ``pots``, the main pot first.
    """

    __slots__ = ("jackpot", "jackpots", "pot_total", "pots", "rake", "rakes", "returns")

    def __init__(
        self,
        returns: list[UncalledReturn],
        pots: list[ohh.Pot],
        *,
        pot_total: int,
        rake: int,
        jackpot: int,
    ) -> None:
        self.returns = returns
        self.pots = pots
        self.rakes = [rake]
        self.jackpots = [jackpot]
        self.pot_total = pot_total
        self.rake = rake
        self.jackpot = jackpot

    def returned(self) -> dict[int, int]:
        """Add up what went back to each player."""
        total: dict[int, int] = {}
        for one in self.returns:
            total[one.player_id] = total.get(one.player_id, 0) + one.amount
        return total


def conserve(hand: Hand, tally: Tally, findings: Findings) -> Settlement | None:
    """Check that no money appears or is lost; None when it does, for nothing can follow then."""
    pots = hand.pots
    if len(pots) > 1:
        pots = sorted(pots, key=lambda pot: pot.number)
    pot_total = won = rake = jackpot = 0
    for pot in pots:
        pot_total += pot.amount
        rake += pot.rake
        jackpot += pot.jackpot
        for win in pot.player_wins:
            won += win.win_amount
    returns = _returns(hand, tally, pot_total, findings)
    if returns is None:
        return None
    if pot_total - rake - jackpot != won:
        findings.add(
            "money-not-conserved",
            "pots",
            "The pots less rake and jackpot are not what was won.",
            expected=findings.text(pot_total - rake - jackpot),
            posted=findings.text(won),
        )
        return None
    if not all([pot.amount for pot in pots]):
        pots = [pot for pot in pots if pot.amount or pot.player_wins]
    settlement = Settlement(returns, pots, pot_total=pot_total, rake=rake, jackpot=jackpot)
    if len(pots) != 1:
        _spread(hand, settlement)
    return settlement


def _spread(hand: Hand, settlement: Settlement) -> None:
    """Set out which pot paid what of the posted rake and jackpot."""
    pots = settlement.pots
    if not hand.x_rake_is_for_hand:
        settlement.rakes = [pot.rake for pot in pots]
        settlement.jackpots = [pot.jackpot for pot in pots]
        return
    amounts = [pot.amount for pot in pots]
    settlement.rakes = over_pots(settlement.rake, amounts)
    left = [amount - rake for amount, rake in zip(amounts, settlement.rakes, strict=True)]
    settlement.jackpots = over_pots(settlement.jackpot, left)


def _returns(
    hand: Hand, tally: Tally, pot_total: int, findings: Findings
) -> list[UncalledReturn] | None:
    put_in, posted = tally.put_in, hand.x_uncalled_returned
    if posted is None:
        left = put_in - pot_total
        if left == 0:
            return []
        top = uncalled(tally, {})
        if top is not None and 0 < left <= tally.players[top.player_id].live:
            return [UncalledReturn(player_id=top.player_id, amount=left)]
    else:
        back = sum([one.amount for one in posted])
        if put_in - back == pot_total:
            if not _possible(posted, tally, findings):
                return None
            return [one for one in posted if one.amount]
        put_in -= back
    findings.add(
        "money-not-conserved",
        "pots",
        "What was put in, less what was returned, is not what the pots hold.",
        expected=findings.text(put_in),
        posted=findings.text(pot_total),
    )
    return None


def _possible(posted: Sequence[UncalledReturn], tally: Tally, findings: Findings) -> bool:
    """Check that nobody gets back more than he put in."""
    back: dict[int, int] = {}
    for number, one in enumerate(posted):
        back[one.player_id] = back.get(one.player_id, 0) + one.amount
        who = tally.players.get(one.player_id)
        if who is None:
            where = f"x_uncalled_returned[{number}].player_id"
            findings.add("unknown-player", where, "Nobody with this id is in the hand.")
            return False
        if back[one.player_id] > who.put_in:
            findings.add(
                "money-not-conserved",
                f"x_uncalled_returned[{number}].amount",
                "More is returned to the player than he put in.",
                expected=findings.text(who.put_in),
                posted=findings.text(back[one.player_id]),
            )
            return False
    return True


# -- uncalled bets -----------------------------------------------------------------------------


def reasoned(hand: Hand, tally: Tally) -> dict[int, int]:
    """Return what the rules give back besides uncalled bets: the posts of who was not dealt in."""
    if not hand.x_uncalled_returned:
        return {}
    return {
        one.player_id: tally.players[one.player_id].put_in
        for one in hand.x_uncalled_returned
        if one.reason and one.player_id in tally.players and _only_posted(tally, one.player_id)
    }


def _only_posted(tally: Tally, player_id: int) -> bool:
    who = tally.players[player_id]
    return who.posted and not who.dealt and not who.bet


def due_back(
    tally: Tally, apart: Mapping[int, int], rulebook: Rulebook, posted_any: bool
) -> Uncalled | None:
    """Find the uncalled bet that the rulebook returns.

    ``apart`` is what goes back for other reasons. Where unmatched blinds are treated as the site
    treats them, ``posted_any`` says whether it returned anything.
    """
    top = uncalled(tally, apart)
    if top is not None and top.blind:
        rule = rulebook.all_in.unmatched_blind
        if rule == "stays-in-pot" or (rule == "as-posted" and not posted_any):
            return None
    return top


def check_returns(
    hand: Hand, tally: Tally, settlement: Settlement, rulebook: Rulebook, findings: Findings
) -> None:
    """Compare the posted returns with the rules. Source: K 10.1.5, G."""
    apart = reasoned(hand, tally)
    plain = settlement.returns
    if apart:
        plain = [one for one in plain if one.player_id not in apart]
    due = due_back(tally, apart, rulebook, bool(plain))
    if due is None:
        right = not plain
    else:
        right = (
            len(plain) == 1
            and plain[0].player_id == due.player_id
            and plain[0].amount == due.amount
        )
    back = settlement.returned() if apart else {}
    if right and all(back[player] == amount for player, amount in apart.items()):
        return
    expected = dict(apart)
    if due is not None:
        expected[due.player_id] = due.amount
    findings.add(
        "wrong-uncalled-return",
        "x_uncalled_returned",
        "What nobody covered goes back to the player who bet it, and nothing else.",
        expected=_by_player(expected, findings),
        posted=_by_player(settlement.returned(), findings),
    )


def _by_player(amounts: Mapping[int, int], findings: Findings) -> list[dict[str, object]]:
    return [
        {"player": player, "amount": findings.text(amount)} for player, amount in amounts.items()
    ]


# -- pots --------------------------------------------------------------------------------------


def check_pots(
    tally: Tally, settlement: Settlement, rulebook: Rulebook, findings: Findings
) -> list[Pot] | None:
    """Compare the posted pots with the rules; None when they cannot be compared further."""
    posted = settlement.pots
    for number, pot in enumerate(posted):
        for win in pot.player_wins:
            if win.player_id not in tally.players:
                where = f"pots[{number}].player_wins"
                findings.add("unknown-player", where, "Nobody with this id is in the hand.")
                return None
    returned = settlement.returned() if settlement.returns else {}
    expected = pots_of(tally, returned, rulebook.all_in.rule)
    if [pot.amount for pot in posted] == [pot.amount for pot in expected]:
        if [pot.number for pot in posted] != list(range(len(posted))):
            findings.add(
                "wrong-pot",
                "pots",
                "The main pot is number 0, and the side pots follow.",
                expected=list(range(len(posted))),
                posted=[pot.number for pot in posted],
            )
        return expected
    findings.add(
        "wrong-pot",
        "pots",
        "The main pot and the side pots follow from what each player put in.",
        expected=findings.texts(pot.amount for pot in expected),
        posted=findings.texts(pot.amount for pot in posted),
    )
    return None


# -- rake and jackpot --------------------------------------------------------------------------


def rake_due(hand: Hand, tally: Tally, pot_total: int, rake_posted: int, rulebook: Rulebook) -> int:
    """Work out the rake of the whole hand. Source: K 10.1.9, D."""
    rules = rulebook.rake
    if rules == "as-posted":
        return rake_posted
    return rake_of(
        rules,
        game=hand.game,
        bet_type=hand.bet_limit.bet_type,
        currency=hand.money,
        lower_limit_minor=lower_limit(hand, rulebook),
        pot_minor=pot_total,
        players_dealt=tally.dealt,
        streets_seen=tally.streets,
    )


def lower_limit(hand: Hand, rulebook: Rulebook) -> int:
    """Return the stakes that a rake schedule goes by: the big blind, of ante games the small bet.

    Source: D.
    """
    spread = hand.x_spread
    least = spread[0] if spread else hand.ante_amount
    game = rulebook.games.get(hand.game)  # type: ignore[call-overload]
    if game is not None and game.forced_bets == "ante":
        return hand.x_small_bet or least or hand.big_blind_amount or 0
    return hand.big_blind_amount or hand.x_small_bet or least or 0


def drop_due(
    hand: Hand, pot_total: int, rake_minor: int, jackpot_posted: int, rulebook: Rulebook
) -> int:
    """Work out what leaves the pot for a jackpot besides the rake. Source: D."""
    rules = rulebook.jackpot
    if rules == "as-posted":
        return jackpot_posted
    if not takes_part(hand, rulebook):
        return 0
    return drop_of(rules, pot_minor=pot_total, rake_minor=rake_minor)


def takes_part(hand: Hand, rulebook: Rulebook) -> bool:
    """Tell whether hands of this kind contribute to the rulebook's jackpot. Source: D."""
    rules = rulebook.jackpot
    return rules != "as-posted" and contributes(
        rules,
        game=hand.game,
        table_size=hand.table_size,
        tournament=bool(hand.tournament),
        currency=hand.money,
    )


def check_rake(
    hand: Hand, tally: Tally, settlement: Settlement, rulebook: Rulebook, findings: Findings
) -> None:
    """Compare the posted rake, its division over the pots, and the jackpot with the rules."""
    total, posted = settlement.pot_total, settlement.rake
    due = rake_due(hand, tally, total, posted, rulebook)
    if due != posted:
        findings.add(
            "wrong-rake",
            "pots[0].rake",
            "The rake follows from limit, stakes, players dealt in and the pots together.",
            expected=findings.text(due),
            posted=findings.text(posted),
        )
    elif len(settlement.pots) > 1 and not hand.x_rake_is_for_hand and rulebook.rake != "as-posted":
        shares = over_pots(posted, [pot.amount for pot in settlement.pots])
        if shares != settlement.rakes:
            findings.add(
                "wrong-rake",
                "pots",
                "The rake is divided over the pots by their size.",
                expected=findings.texts(shares),
                posted=findings.texts(settlement.rakes),
            )
    drop = drop_due(hand, total, due, settlement.jackpot, rulebook)
    if drop != settlement.jackpot:
        findings.add(
            "wrong-jackpot",
            "pots[0].jackpot",
            "What leaves the pot for the jackpot is what the rulebook says.",
            expected=findings.text(drop),
            posted=findings.text(settlement.jackpot),
        )


def expected_pots(
    hand: Hand, tally: Tally, settlement: Settlement, rulebook: Rulebook
) -> tuple[dict[int, int], list[Pot]]:
    """Work out what the rules return and which pots they make, whatever was posted."""
    apart = reasoned(hand, tally)
    plain = [one for one in settlement.returns if one.player_id not in apart]
    returned = dict(apart)
    due = due_back(tally, apart, rulebook, bool(plain))
    if due is not None:
        returned[due.player_id] = due.amount
    return returned, pots_of(tally, returned, rulebook.all_in.rule)
