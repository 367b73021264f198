"""What a judged hand becomes: the hand as posted, and its money's way, one event a movement.

Events are written out field by field here, though they have much in common: a keyword is four
times cheaper than a dictionary of them, and this is the busiest place of the book.
"""

from collections.abc import Mapping
from typing import Final

from ledger.core import Event
from ledger.hands import record
from ledger.hands.events import (
    BadBeatHit,
    HandAwarded,
    HandFlagged,
    HandPosted,
    HandRaked,
    HandReturned,
    HandStaked,
    JackpotContributed,
    PotAdded,
    SeatedPlayer,
)
from ledger.hands.findings import Finding
from ledger.hands.judge import Judgement
from ledger.hands.rake import by_partner
from ledger.hands.settlement import Settlement
from ledger.money import divide
from ledger.rulebooks.fees import Jackpot
from ledger.tables.events import HandSettled, TableState

DEFAULT_JACKPOT: Final = "bad-beat"
"""The pool of what a site took from pots for a jackpot, where the table names none."""


class Booking:
    """A judged hand of a table, with what all its events say alike.

    ``players`` are the players' ids by their ids in the hand.
    """

    __slots__ = (
        "actor",
        "judgement",
        "occurred_at",
        "players",
        "request_id",
        "rulebook",
        "settled",
        "table",
    )

    def __init__(
        self,
        table: TableState,
        judgement: Judgement,
        players: Mapping[int, str],
        *,
        actor: str,
        request_id: str,
    ) -> None:
        settled = judgement.settlement
        assert settled is not None, judgement.hand.game_number
        self.table = table
        self.judgement = judgement
        self.settled: Settlement = settled
        self.players = players
        self.actor = actor
        self.request_id = request_id
        self.occurred_at = judgement.hand.started_at
        self.rulebook = judgement.rulebook.ref

    def posted(self, digest: str) -> HandPosted:
        """Write down the hand itself; ``digest`` is that of the bytes that were posted."""
        judgement, players = self.judgement, self.players
        hand, findings = judgement.hand, judgement.findings
        content = record.encode(hand)
        seated = [
            SeatedPlayer(one.id, one.seat, players[one.id], one.starting_stack)
            for one in hand.players
        ]
        return HandPosted(
            occurred_at=self.occurred_at,
            actor=self.actor,
            request_id=self.request_id,
            rulebook=self.rulebook,
            game_number=hand.game_number,
            network=self.table.network,
            table=self.table.table_id,
            game=hand.game,
            currency=hand.money,
            players=tuple(seated),
            record=record.pack(content),
            dictionary=record.CURRENT,
            posted_digest=digest,
            content_digest=record.digest_of(hand, content),
            verdict=findings.verdict,
            jackpot_contribution_minor=judgement.contribution.booked_minor,
            expected=judgement.expected() if findings or judgement.bad_beat else None,
        )

    def events(self, posted: HandPosted) -> list[Event]:
        """Write down all that goes into the hand's own stream, the posted hand first."""
        events: list[Event] = [posted]
        self._move(events)
        hit = self.hit()
        if hit is not None:
            events.append(hit)
        for finding in self.judgement.findings:
            events.append(self._flagged(finding))
        return events

    def _move(self, events: list[Event]) -> None:
        """Write down every movement: stakes, returns, rake, jackpot, awards; they sum to zero."""
        for who in self.judgement.tally.players.values():
            amount = who.live + who.dead
            if amount:
                events.append(self._staked(who.player_id, amount, who.dead))
        if self.judgement.tally.added:
            events.append(self._added(self.judgement.tally.added))
        for one in self.settled.returns:
            if one.amount:
                events.append(self._returned(one.player_id, one.amount, one.reason))
        shares: dict[str, int] = {}
        if self.settled.rake:
            shares = by_partner(self.settled.rake, self._staked_by_partner())
            events.append(self._raked(shares))
        if self.judgement.contribution.booked_minor:
            events.append(self._contributed(shares))
        for pot in self.settled.pots:
            for win in pot.player_wins:
                if win.win_amount:
                    award = self._awarded(win.player_id, pot.number, win.win_amount, win.x_half)
                    events.append(award)

    def settlement(self) -> HandSettled:
        """Mirror the hand on its table: net chips per seat."""
        players = self.judgement.tally.players
        net = {who.seat: -(who.live + who.dead) for who in players.values()}
        for one in self.settled.returns:
            net[players[one.player_id].seat] += one.amount
        for pot in self.settled.pots:
            for win in pot.player_wins:
                net[players[win.player_id].seat] += win.win_amount
        return HandSettled(
            occurred_at=self.occurred_at,
            actor=self.actor,
            request_id=self.request_id,
            rulebook=self.rulebook,
            game_number=self.judgement.hand.game_number,
            started_at=self.occurred_at,
            net_minor={seat: amount for seat, amount in net.items() if amount},
            jackpot_carry=self.judgement.contribution.carry,
        )

    def hit(self) -> BadBeatHit | None:
        """Say who hit the table's jackpot, if it was hit."""
        table, found, rules = self.table, self.judgement.bad_beat, self.judgement.rulebook.jackpot
        if found is None or table.jackpot is None or not isinstance(rules, Jackpot):
            return None
        losers, winners, dealt = (
            tuple([self.players[player] for player in players])
            for players in (found.losers, found.winners, found.dealt)
        )
        return BadBeatHit(
            occurred_at=self.occurred_at,
            actor=self.actor,
            request_id=self.request_id,
            rulebook=self.rulebook,
            network=table.network,
            game_number=self.judgement.hand.game_number,
            table=table.table_id,
            currency=table.currency,
            jackpot=table.jackpot,
            losers=losers,
            winners=winners,
            dealt=dealt,
            loser_bps=rules.loser_bps,
            winner_bps=rules.winner_bps,
            dealt_in_bps=rules.dealt_in_bps,
            dealt_in_includes_winner_and_loser=rules.dealt_in_includes_winner_and_loser,
            review=rules.review,
            doubts=tuple(found.doubts),
        )

    def _flagged(self, finding: Finding) -> HandFlagged:
        return HandFlagged(
            occurred_at=self.occurred_at,
            actor=self.actor,
            request_id=self.request_id,
            rulebook=self.rulebook,
            finding=finding,
        )

    def _staked(self, player_id: int, amount: int, dead: int) -> HandStaked:
        table = self.table
        return HandStaked(
            occurred_at=self.occurred_at,
            actor=self.actor,
            request_id=self.request_id,
            rulebook=self.rulebook,
            network=table.network,
            table=table.table_id,
            currency=table.currency,
            player=self.players[player_id],
            amount_minor=amount,
            dead_minor=dead,
        )

    def _added(self, amount: int) -> PotAdded:
        table = self.table
        return PotAdded(
            occurred_at=self.occurred_at,
            actor=self.actor,
            request_id=self.request_id,
            rulebook=self.rulebook,
            network=table.network,
            table=table.table_id,
            currency=table.currency,
            paid_by=self.judgement.rulebook.add_to_pot_paid_by,
            amount_minor=amount,
        )

    def _returned(self, player_id: int, amount: int, reason: str | None) -> HandReturned:
        table = self.table
        return HandReturned(
            occurred_at=self.occurred_at,
            actor=self.actor,
            request_id=self.request_id,
            rulebook=self.rulebook,
            network=table.network,
            table=table.table_id,
            currency=table.currency,
            player=self.players[player_id],
            amount_minor=amount,
            reason=reason,
        )

    def _raked(self, shares: dict[str, int]) -> HandRaked:
        table = self.table
        return HandRaked(
            occurred_at=self.occurred_at,
            actor=self.actor,
            request_id=self.request_id,
            rulebook=self.rulebook,
            network=table.network,
            table=table.table_id,
            currency=table.currency,
            amount_minor=self.settled.rake,
            by_partner_minor=shares,
        )

    def _contributed(self, rake: Mapping[str, int]) -> JackpotContributed:
        """The partners whose rake it is bear the pool's share of it in the same proportion."""
        table, booked = self.table, self.judgement.contribution.booked_minor
        from_rake = booked - self.settled.jackpot
        parts = divide(from_rake, list(rake.values())) if from_rake else []
        return JackpotContributed(
            occurred_at=self.occurred_at,
            actor=self.actor,
            request_id=self.request_id,
            rulebook=self.rulebook,
            network=table.network,
            table=table.table_id,
            currency=table.currency,
            jackpot=table.jackpot or DEFAULT_JACKPOT,
            amount_minor=booked,
            from_pot_minor=self.settled.jackpot,
            from_rake_minor={
                partner: part for partner, part in zip(rake, parts, strict=False) if part
            },
        )

    def _awarded(self, player_id: int, pot: int, amount: int, half: str | None) -> HandAwarded:
        table = self.table
        return HandAwarded(
            occurred_at=self.occurred_at,
            actor=self.actor,
            request_id=self.request_id,
            rulebook=self.rulebook,
            network=table.network,
            table=table.table_id,
            currency=table.currency,
            player=self.players[player_id],
            pot=pot,
            amount_minor=amount,
            half=half,
        )

    def _staked_by_partner(self) -> dict[str, int]:
        """Add up what the players of each partner put into the pots, returned bets left out."""
        seats, returned = self.table.seats, self.settled.returned()
        staked: dict[str, int] = {}
        for who in self.judgement.tally.players.values():
            stake = who.live + who.dead
            if stake:
                partner = seats[who.seat].partner
                stake -= returned.get(who.player_id, 0)
                staked[partner] = staked.get(partner, 0) + stake
        if not any(staked.values()):
            # All that is left in the pots came from outside: nobody's players weigh more.
            staked = dict.fromkeys(staked or [one.partner for one in seats.values()], 1)
        return staked
