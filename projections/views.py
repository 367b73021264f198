"""The views in schema ``book``: what auditors, the API and ``cardroom check`` read."""

from typing import Final, NamedTuple

from ledger.money import CHIPS, CREDITS, PLAY_MONEY
from projections.schema import IN_TRANSIT


class View(NamedTuple):
    """A view: its query over the tables of a generation, and what its columns mean."""

    name: str
    comment: str
    query: str
    columns: dict[str, str]


# Amounts in the tables are debits above zero; a view shows what an account holds on its own side.
DEBIT_SIDES: Final = ("asset", "expense", "equity", "suspense")
"""Sides whose accounts a debit raises."""

# A window ends with a midnight of its zone: with the first where the clocks are put back over it,
# and with the change where they are put forward over it.
END_OF_WINDOW: Final = """
      LEFT JOIN LATERAL (
        SELECT date_trunc('day', t.occurred_at AT TIME ZONE v.window_zone)
               + make_interval(days => v.window_days + 1) AS midnight
         WHERE v.window_kind = 'days') AS local ON true
      LEFT JOIN LATERAL (SELECT midnight AT TIME ZONE v.window_zone AS usual) AS one ON true
      LEFT JOIN LATERAL (
        SELECT (midnight - ((usual - interval '24 hours') AT TIME ZONE v.window_zone
                 - (usual - interval '24 hours') AT TIME ZONE 'UTC')) AT TIME ZONE 'UTC'
               AS unchanged) AS other ON true
      LEFT JOIN LATERAL (
        SELECT least(usual, CASE WHEN unchanged AT TIME ZONE v.window_zone = midnight
                                 THEN unchanged END, '9999-12-31 23:59:59.999999+00') AS closes_at
         WHERE midnight IS NOT NULL) AS day ON true
"""

PLACEHOLDERS: Final = {
    "debit_sides": f"{DEBIT_SIDES}",
    "not_real": f"('{PLAY_MONEY}', '{CREDITS}', '{CHIPS}')",
    "components": "book.components",
    "accounts": "book.accounts",
    "player_lines": "book.player_lines",
    "upto": "(SELECT position FROM book.generation)",
    "in_transit": IN_TRANSIT,
    "end_of_window": END_OF_WINDOW,
}
"""What the views' queries name besides ``book`` and ``number``, the generation's.

The same queries over other components and accounts, those of an instant, are the functions.
"""

_CURRENCY: Final = "Currency code; amounts are in its minor units."
_NETWORK: Final = "The network."
_PLAYER: Final = "The player's id."
_PARTNER: Final = "The partner whose player or income it is; NULL for the house's own."
_TABLE: Final = "The table's id."

GENERATION: Final = View(
    "generation",
    "Which generation of the projections is live, and how far it has come.",
    "SELECT {number} AS generation, coalesce((SELECT notification_id FROM journal.tracking"
    " WHERE application_name = '{book}'), 0) AS position",
    {
        "generation": "Its number; its tables are in schema book_<number>.",
        "position": "The last journal position that every row of every view includes.",
    },
)

ACCOUNTS: Final = View(
    "accounts",
    "One row per account and currency, with what it holds now.",
    """
    SELECT a.account, a.code, a.currency, a.network, c.name AS component, c.side, c.partner,
           a.player, a.table_id, a.component AS component_id,
           CASE WHEN c.side IN {debit_sides} THEN a.balance_minor ELSE -a.balance_minor END
             AS balance_minor, a.first_position
      FROM {book}.accounts a LEFT JOIN {book}.components c USING (component)
    """,
    {
        "account": "Number, in order of first appearance.",
        "code": "component:network[:part...].",
        "currency": _CURRENCY,
        "network": _NETWORK,
        "component": "First part of the code: bankroll, chips, rake ...",
        "side": "Side of the book.",
        "partner": _PARTNER,
        "player": "The player whose account it is, if one player's.",
        "table_id": "The table, for chips and pots.",
        "component_id": "Number of the component of that network, partner and currency.",
        "balance_minor": "Above zero on the account's own side: assets, expenses, equity and"
        " suspense debit, all others credit.",
        "first_position": "Position of its first entry.",
    },
)

ENTRIES: Final = View(
    "entries",
    "One row per line of every event that moves money. Key: position, line.",
    """
    SELECT e.position, e.line, a.code, a.currency, a.network, c.name AS component, c.partner,
           a.player, a.table_id,
           greatest(e.amount_minor, 0) AS debit_minor,
           greatest(-e.amount_minor, 0) AS credit_minor,
           CASE WHEN c.side IN {debit_sides} THEN e.balance_minor ELSE -e.balance_minor END
             AS balance_minor,
           e.occurred_at,
           (SELECT m.recorded_at FROM journal.commits m WHERE m.last_position >= e.position
             ORDER BY m.last_position LIMIT 1) AS recorded_at,
           k.name AS event, j.originator_id AS stream,
           convert_from(j.state, 'UTF8')::jsonb ->> 'request_id' AS request_id,
           e.account, e.kind
      FROM {book}.entries e
      JOIN {book}.accounts a USING (account)
      JOIN {book}.components c ON c.component = a.component
      JOIN {book}.kinds k USING (kind)
      LEFT JOIN journal.events j ON j.notification_id = e.position
    """,
    {
        "position": "The event's position in the journal.",
        "line": "The line of the event's postings, from 0.",
        "code": "The account.",
        "currency": _CURRENCY,
        "network": _NETWORK,
        "component": "The account's component.",
        "partner": _PARTNER,
        "player": "The player whose account it is, if one player's.",
        "table_id": "The table, for chips and pots.",
        "debit_minor": "The amount, if it is a debit, else 0.",
        "credit_minor": "The amount, if it is a credit, else 0.",
        "balance_minor": "What the account held after this line, above zero on its own side.",
        "occurred_at": "When it happened.",
        "recorded_at": "When it was recorded: the database's clock at the commit.",
        "event": "The event's stored name.",
        "stream": "The stream that the event belongs to.",
        "request_id": "The request that it came from: entries of one request are one transaction.",
        "account": "The account's number.",
        "kind": "The number of the event's stored name.",
    },
)

COMPONENTS: Final = View(
    "components",
    "Debits, credits and balance per network, component, partner and currency.",
    """
    SELECT component AS component_id, network, name AS component, side, partner, currency,
           debit_minor, credit_minor,
           CASE WHEN side IN {debit_sides} THEN debit_minor - credit_minor
                ELSE credit_minor - debit_minor END AS balance_minor
      FROM {book}.components
    """,
    {
        "component_id": "Number, in order of first appearance.",
        "network": _NETWORK,
        "component": "First part of the account codes.",
        "side": "Side of the book.",
        "partner": _PARTNER,
        "currency": _CURRENCY,
        "debit_minor": "Sum of all debits.",
        "credit_minor": "Sum of all credits.",
        "balance_minor": "Above zero on the component's own side.",
    },
)

TRIAL_BALANCE: Final = View(
    "trial_balance",
    "Debits and credits per network, component and currency; they are equal per currency.",
    """
    SELECT network, currency, component, side,
           sum(debit_minor)::bigint AS debit_minor, sum(credit_minor)::bigint AS credit_minor,
           greatest(sum(debit_minor - credit_minor), 0)::bigint AS debit_balance_minor,
           greatest(sum(credit_minor - debit_minor), 0)::bigint AS credit_balance_minor
      FROM {components} GROUP BY network, currency, component, side
    """,
    {
        "network": _NETWORK,
        "currency": _CURRENCY,
        "component": "First part of the account codes.",
        "side": "Side of the book.",
        "debit_minor": "Sum of all debits.",
        "credit_minor": "Sum of all credits.",
        "debit_balance_minor": "What the debits are above the credits, else 0.",
        "credit_balance_minor": "What the credits are above the debits, else 0.",
    },
)

CLIENT_FUNDS: Final = View(
    "client_funds",
    "What is owed to players and what covers it, per network and currency; each apart.",
    """
    SELECT network, currency,
           CASE WHEN currency IN {not_real} THEN 'play' ELSE 'real' END AS money,
           coalesce(-sum(held) FILTER (WHERE component = 'bankroll'), 0)::bigint
             AS bankroll_minor,
           coalesce(-sum(held) FILTER (WHERE component = 'frozen'), 0)::bigint
             AS frozen_minor,
           coalesce(-sum(held) FILTER (WHERE component = 'withdrawal'), 0)::bigint
             AS withdrawal_minor,
           coalesce(-sum(held) FILTER (WHERE component = 'chips'), 0)::bigint
             AS chips_minor,
           coalesce(-sum(held) FILTER (WHERE component = 'pot'), 0)::bigint
             AS pot_minor,
           coalesce(-sum(held) FILTER (WHERE component = 'jackpot'), 0)::bigint
             AS jackpot_minor,
           coalesce(-sum(held) FILTER (WHERE side = 'player-funds'), 0)::bigint AS liability_minor,
           coalesce(sum(held) FILTER (WHERE component = 'bank'), 0)::bigint AS bank_minor,
           coalesce(sum(held) FILTER (WHERE component = 'transit'), 0)::bigint AS transit_minor,
           coalesce(sum(held) FILTER (WHERE component IN ('bank', 'transit')), 0)::bigint
             AS assets_minor,
           coalesce(sum(held) FILTER (WHERE component = 'debt'), 0)::bigint AS debt_minor
      FROM (SELECT *, debit_minor - credit_minor AS held FROM {components}) AS summed
     GROUP BY network, currency
    """,
    {
        "network": _NETWORK,
        "currency": _CURRENCY,
        "money": "real, or play: what has no value (fun money, credits, tournament chips).",
        "bankroll_minor": "Cash on the players' accounts.",
        "frozen_minor": "Held during investigations.",
        "withdrawal_minor": "Requested and not yet paid.",
        "chips_minor": "In front of players at tables.",
        "pot_minor": "In the pots of hands that are not settled: 0.",
        "jackpot_minor": "In the jackpots' pools.",
        "liability_minor": "Player funds: the sum of the six before it.",
        "bank_minor": "On the client-funds account.",
        "transit_minor": "Confirmed by providers, not yet at the bank.",
        "assets_minor": "Bank and transit: what covers the liability.",
        "debt_minor": "What players owe; never netted against what others are owed.",
    },
)

BANKROLLS: Final = View(
    "bankrolls",
    "What each player has and owes, per currency.",
    """
    SELECT a.network, a.player, p.partner, a.currency,
           coalesce(sum(a.balance_minor) FILTER (WHERE a.component = 'bankroll'), 0)::bigint
             AS cash_minor,
           coalesce(sum(a.balance_minor) FILTER (WHERE a.component = 'frozen'), 0)::bigint
             AS frozen_minor,
           coalesce(sum(a.balance_minor) FILTER (WHERE a.component = 'withdrawal'), 0)::bigint
             AS pending_minor,
           coalesce(sum(a.balance_minor) FILTER (WHERE a.component = 'chips'), 0)::bigint
             AS chips_minor,
           coalesce(sum(a.balance_minor) FILTER (WHERE a.component = 'debt'), 0)::bigint
             AS debt_minor
      FROM {accounts} a
      LEFT JOIN book.players p ON p.network = a.network AND p.player = a.player
     WHERE a.player IS NOT NULL GROUP BY a.network, a.player, p.partner, a.currency
    """,
    {
        "network": _NETWORK,
        "player": _PLAYER,
        "partner": "His partner.",
        "currency": _CURRENCY,
        "cash_minor": "Cash on his account.",
        "frozen_minor": "Frozen during an investigation.",
        "pending_minor": "Withdrawals requested and not yet paid.",
        "chips_minor": "Chips in front of him, at all tables.",
        "debt_minor": "What he owes.",
    },
)

CHIPS_AT_TABLES: Final = View(
    "chips",
    "Chips in front of each player at each table, by the postings.",
    """
    SELECT a.network, a.table_id, a.player, a.currency, a.balance_minor AS chips_minor
      FROM {accounts} a WHERE a.component = 'chips' AND a.balance_minor <> 0
    """,
    {
        "network": _NETWORK,
        "table_id": _TABLE,
        "player": _PLAYER,
        "currency": _CURRENCY,
        "chips_minor": "Chips in front of him.",
    },
)

JACKPOTS: Final = View(
    "jackpots",
    "What each jackpot's pool holds.",
    """
    SELECT a.network, split_part(a.code, ':', 3) AS jackpot, a.currency,
           a.balance_minor AS pool_minor
      FROM {accounts} a WHERE a.component = 'jackpot'
    """,
    {
        "network": _NETWORK,
        "jackpot": "Its name.",
        "currency": _CURRENCY,
        "pool_minor": "What it owes to players.",
    },
)

_JACKPOT: Final = "The jackpot's name."
_HIT_HAND: Final = "The number of the hand that hit it."

JACKPOT_STANDINGS: Final = View(
    "jackpot_standings",
    "How far each jackpot has come with its hits, by its own stream; none before the first.",
    """
    SELECT network, state ->> 'jackpot' AS jackpot, state ->> 'currency' AS currency,
           (state ->> 'hits')::int AS hits, (state ->> 'paid_minor')::bigint AS paid_minor,
           state ->> 'released' AS released, position
      FROM {book}.jackpots
    """,
    {
        "network": _NETWORK,
        "jackpot": _JACKPOT,
        "currency": _CURRENCY,
        "hits": "Hits that were settled or annulled: the next one has the number after it.",
        "paid_minor": "What was paid for all of them.",
        "released": "The next hit's hand, when it waited and was released.",
        "position": "The last event of its stream.",
    },
)

JACKPOT_HITS: Final = View(
    "jackpot_hits",
    "Every hit of a jackpot, in order; who gets what is in jackpot_shares. Key: position.",
    """
    SELECT network, jackpot, currency, number, game_number, table_id, position, occurred_at,
           rulebook, hit -> 'losers' AS losers, hit -> 'winners' AS winners,
           hit -> 'dealt' AS dealt, hit -> 'doubts' AS doubts, waits,
           CASE WHEN decision IS NOT NULL THEN decision ->> 'status'
                WHEN released_position IS NOT NULL THEN 'released'
                WHEN waits THEN 'waiting' ELSE 'open' END AS status,
           released_position, released_at, decided_position, decided_at,
           (decision ->> 'pool_minor')::bigint AS pool_minor,
           (decision ->> 'pool_minor')::bigint - (decision ->> 'left_minor')::bigint AS paid_minor,
           (decision ->> 'left_minor')::bigint AS left_minor,
           decision ->> 'ground' AS ground, decision ->> 'reason' AS reason
      FROM {book}.jackpot_hits
    """,
    {
        "network": _NETWORK,
        "jackpot": _JACKPOT,
        "currency": _CURRENCY,
        "number": "Counts the hits of the jackpot by their positions, from 1.",
        "game_number": _HIT_HAND,
        "table_id": _TABLE,
        "position": "The event of the hand that says that it hit the jackpot.",
        "occurred_at": "When the hand was played.",
        "rulebook": "The version that judged the hand, and says the shares.",
        "losers": "Who lost with the high hand: one player, or several with equal hands.",
        "winners": "Who won the main pot with the highest hand.",
        "dealt": "Everybody who was dealt in.",
        "doubts": "Why it is not certain that it is one: run-twice, cards-unknown, flagged.",
        "waits": "Whether a second person has to release it: the rulebook wants it, or doubts do.",
        "status": "open (to be settled), waiting (for a release), released, settled or annulled.",
        "released_position": "The event that released it.",
        "released_at": "When it was released.",
        "decided_position": "The event that settled or annulled it.",
        "decided_at": "When that was.",
        "pool_minor": "What was in the pool when it was hit, earlier hits paid.",
        "paid_minor": "What the shares add up to.",
        "left_minor": "What they left in the pool.",
        "ground": "On what ground it was annulled.",
        "reason": "Why it was annulled.",
    },
)

JACKPOT_SHARES: Final = View(
    "jackpot_shares",
    "Every share that was paid for a hit of a jackpot. Key: position.",
    """
    SELECT network, jackpot, currency, game_number, player, part, amount_minor, position,
           occurred_at
      FROM {book}.jackpot_shares
    """,
    {
        "network": _NETWORK,
        "jackpot": _JACKPOT,
        "currency": _CURRENCY,
        "game_number": _HIT_HAND,
        "player": _PLAYER,
        "part": "loser, winner or dealt-in; one player may have several.",
        "amount_minor": "What he got.",
        "position": "The event that booked it.",
        "occurred_at": "When it was settled.",
    },
)

JACKPOT_DAYS: Final = View(
    "jackpot_days",
    "What each table paid into a jackpot by the day on which it was played.",
    """
    SELECT network, jackpot, currency, occurred_day, table_id, hands, contribution_minor
      FROM {book}.jackpot_days
    """,
    {
        "network": _NETWORK,
        "jackpot": _JACKPOT,
        "currency": _CURRENCY,
        "occurred_day": "The day, UTC.",
        "table_id": _TABLE,
        "hands": "Hands that paid something in.",
        "contribution_minor": "What they paid in.",
    },
)

PLAYERS: Final = View(
    "players",
    "Every player, without his name: that is in the vault.",
    """
    SELECT network, player, partner, status,
           (state ->> 'registered_at')::timestamptz AS registered_at,
           (state ->> 'inferred')::boolean AS inferred, position, first_position,
           state ->> 'rulebook' AS rulebook
      FROM {book}.players
    """,
    {
        "network": _NETWORK,
        "player": _PLAYER,
        "partner": "The partner whose player he is.",
        "status": "active, suspended or closed.",
        "registered_at": "When he registered.",
        "inferred": "Whether an import inferred him from a hand history.",
        "position": "The last event of his stream.",
        "first_position": "The first event of his stream.",
        "rulebook": "Name of the rulebook that his deposits and withdrawals are judged by.",
    },
)

TABLES: Final = View(
    "tables",
    "Every cash table as it stands.",
    """
    SELECT network, table_id, state ->> 'name' AS name, status, state ->> 'rulebook' AS rulebook,
           state ->> 'game' AS game, state ->> 'bet_type' AS bet_type,
           state ->> 'currency' AS currency, (state ->> 'size')::int AS size,
           (state ->> 'small_blind_minor')::bigint AS small_blind_minor,
           (state ->> 'big_blind_minor')::bigint AS big_blind_minor,
           (state ->> 'ante_minor')::bigint AS ante_minor,
           (state ->> 'small_bet_minor')::bigint AS small_bet_minor,
           (state ->> 'big_bet_minor')::bigint AS big_bet_minor,
           (state ->> 'min_buy_in_minor')::bigint AS min_buy_in_minor,
           (state ->> 'max_buy_in_minor')::bigint AS max_buy_in_minor,
           state ->> 'jackpot' AS jackpot, state -> 'seats' AS seats,
           state ->> 'running' AS running, state ->> 'last_hand' AS last_hand,
           (state ->> 'last_started_at')::timestamptz AS last_started_at,
           (state ->> 'hands')::bigint AS hands, (state ->> 'inferred')::boolean AS inferred,
           position, first_position
      FROM {book}.tables
    """,
    {
        "network": _NETWORK,
        "table_id": _TABLE,
        "name": "Its name.",
        "status": "open or closed.",
        "rulebook": "Name of the rulebook that it is played by.",
        "game": "The game.",
        "bet_type": "The limit: NL, PL, FL, SL, HPL.",
        "currency": _CURRENCY,
        "size": "How many seats it has.",
        "small_blind_minor": "Small blind.",
        "big_blind_minor": "Big blind.",
        "ante_minor": "Ante.",
        "small_bet_minor": "Lower limit, where there is one.",
        "big_bet_minor": "Upper limit, where there is one.",
        "min_buy_in_minor": "Least that a player sits down with.",
        "max_buy_in_minor": "Most that a player sits down with, where there is a most.",
        "jackpot": "The jackpot that is played for.",
        "seats": "Seat number -> player, partner, chips_minor.",
        "running": "Game number of the hand that is being played, if that was said.",
        "last_hand": "Game number of the hand that was booked last.",
        "last_started_at": "When that hand began.",
        "hands": "Hands booked.",
        "inferred": "Whether an import inferred it from a hand history.",
        "position": "The last event of its stream.",
        "first_position": "The first event of its stream.",
    },
)

TABLE_DAYS: Final = View(
    "table_days",
    "Hands, rake and jackpot contribution of each table by the day on which they were played.",
    """
    SELECT network, table_id, occurred_day, currency, hands, rake_minor, contribution_minor
      FROM {book}.table_days
    """,
    {
        "network": _NETWORK,
        "table_id": _TABLE,
        "occurred_day": "The day, UTC.",
        "currency": _CURRENCY,
        "hands": "Hands played.",
        "rake_minor": "Rake of all partners, before the contribution.",
        "contribution_minor": "What of it went to the jackpot.",
    },
)

TABLE_RAKE: Final = View(
    "table_rake",
    "Rake of each table by day and by the partner whose players paid it.",
    """
    SELECT network, table_id, occurred_day, currency, partner, hands, rake_minor
      FROM {book}.table_rake
    """,
    {
        "network": _NETWORK,
        "table_id": _TABLE,
        "occurred_day": "The day, UTC.",
        "currency": _CURRENCY,
        "partner": "The partner.",
        "hands": "Hands in which its players paid rake.",
        "rake_minor": "The rake.",
    },
)

FINDINGS: Final = View(
    "findings",
    "What was found wrong with booked hands, how each finding stands, and what is at stake in it.",
    """
    SELECT position, network, table_id, game_number, number, game_server, occurred_at, code, level,
           finding ->> 'where' AS place, finding -> 'expected' AS expected,
           finding -> 'posted' AS posted, finding ->> 'message' AS message, currency, amount_minor,
           status, changed_position, explained_at, explained_by, explanation, resolved_at,
           resolved_by, resolution, reason, corrected_by
      FROM {book}.findings
    """,
    {
        "position": "The event that told it.",
        "network": _NETWORK,
        "table_id": _TABLE,
        "game_number": "The hand's number.",
        "number": "Which of the hand's findings it is, from 1.",
        "game_server": "Who posted the hand, or the other content of it.",
        "occurred_at": "When the hand was played, or contested.",
        "code": "What kind of finding it is.",
        "level": "How the rulebook weighs it: flag, refuse, or unverified.",
        "place": "Where in the posted hand.",
        "expected": "What the rules give.",
        "posted": "What was posted.",
        "message": "The finding in words.",
        "currency": _CURRENCY,
        "amount_minor": "At stake: what is not where the rules have it. NULL where the finding is"
        " not about amounts.",
        "status": "open, explained (and still open), or resolved.",
        "changed_position": "The last event about it; NULL while nobody said anything.",
        "explained_at": "When it was explained the last time.",
        "explained_by": "Who explained it.",
        "explanation": "What was found out.",
        "resolved_at": "When it was resolved.",
        "resolved_by": "Who resolved it.",
        "resolution": "What was decided: site-was-right, corrected-by-adjustment, written-off,"
        " game-server-fixed or cannot-be-verified.",
        "reason": "Why, in words.",
        "corrected_by": "The request that moved the money, where a booking of its own did.",
    },
)

FINDING_STEPS: Final = View(
    "finding_steps",
    "What was done about findings: each explanation, resolution and reopening.",
    """
    SELECT s.position, s.finding, f.network, f.table_id, f.game_number, f.number, s.became,
           s.occurred_at, s.actor, s.text, s.resolution, s.corrected_by
      FROM {book}.finding_steps s JOIN {book}.findings f ON f.position = s.finding
    """,
    {
        "position": "The event.",
        "finding": "The position of the finding that it is about.",
        "network": _NETWORK,
        "table_id": _TABLE,
        "game_number": "The hand's number.",
        "number": "Which of the hand's findings it is, from 1.",
        "became": "What became of it: explained, resolved, or open again.",
        "occurred_at": "When.",
        "actor": "Who.",
        "text": "What was found out, or why.",
        "resolution": "What was decided, if it was resolved.",
        "corrected_by": "The request that moved the money, where a booking of its own did.",
    },
)

FINDING_COUNTS: Final = View(
    "finding_counts",
    "How many findings there are of each kind, and how they stand.",
    """
    SELECT network, code, level, status, findings FROM {book}.finding_counts
    """,
    {
        "network": _NETWORK,
        "code": "What kind of finding.",
        "level": "How the rulebook weighs it: flag, refuse, or unverified.",
        "status": "open, explained or resolved.",
        "findings": "How many.",
    },
)

DEPOSITS: Final = View(
    "deposits",
    "Every deposit and what became of it.",
    """
    SELECT network, deposit, player, state ->> 'provider' AS provider,
           state ->> 'currency' AS currency, (state ->> 'amount_minor')::bigint AS amount_minor,
           status, position, first_position
      FROM {book}.deposits
    """,
    {
        "network": _NETWORK,
        "deposit": "Its id.",
        "player": _PLAYER,
        "provider": "The payment provider.",
        "currency": _CURRENCY,
        "amount_minor": "The amount.",
        "status": "announced, confirmed, failed or charged-back.",
        "position": "The last event of its stream.",
        "first_position": "The first event of its stream.",
    },
)

WITHDRAWALS: Final = View(
    "withdrawals",
    "Every withdrawal and what became of it.",
    """
    SELECT network, withdrawal, player,
           state ->> 'currency' AS currency, (state ->> 'amount_minor')::bigint AS amount_minor,
           status, position, first_position
      FROM {book}.withdrawals
    """,
    {
        "network": _NETWORK,
        "withdrawal": "Its id.",
        "player": _PLAYER,
        "currency": _CURRENCY,
        "amount_minor": "The amount.",
        "status": "requested, in-review, released, paid or rejected.",
        "position": "The last event of its stream.",
        "first_position": "The first event of its stream.",
    },
)

APPROVALS: Final = View(
    "approvals",
    "What needs a second person: who asked, who decided, and what became of it.",
    """
    SELECT network, state ->> 'approval' AS approval, state ->> 'action' AS action, status,
           state #>> '{{summary,words}}' AS words, state -> 'summary' AS summary,
           state ->> 'currency' AS currency, (state ->> 'amount_minor')::bigint AS amount_minor,
           maker, state ->> 'request_id' AS request_id, state ->> 'checker' AS checker,
           (state ->> 'requested_at')::timestamptz AS requested_at,
           (state ->> 'expires_at')::timestamptz AS expires_at,
           (state ->> 'decided_at')::timestamptz AS decided_at,
           state ->> 'code' AS code, state ->> 'reason' AS reason,
           state ->> 'rulebook' AS rulebook, state ->> 'digest' AS digest,
           first_position, position
      FROM {book}.approvals
    """,
    {
        "network": _NETWORK,
        "approval": "Its id.",
        "action": "What is to be done, as the rulebook's thresholds name it.",
        "status": "pending, granted, rejected, withdrawn or expired.",
        "words": "What is to be done, in one sentence.",
        "summary": "What it would do when it was asked for, and what it concerns.",
        "currency": "Currency code; NULL where no money is moved.",
        "amount_minor": "The amount that the rulebook's threshold is compared with.",
        "maker": "Who asked: the subject of his token.",
        "request_id": "The request that asked for it, whose entries the grant books.",
        "checker": "Who granted or rejected it: never the maker.",
        "requested_at": "When it was asked for.",
        "expires_at": "Until when it can be decided.",
        "decided_at": "When it was granted, rejected, withdrawn, or expired.",
        "code": "Why it was rejected.",
        "reason": "The same in words.",
        "rulebook": "The version that asks for a second person.",
        "digest": "SHA-256 of the exact command, in hexadecimal.",
        "first_position": "The event that asked for it.",
        "position": "The last event of its stream.",
    },
)

IN_TRANSIT_DEPOSITS: Final = View(
    "deposits_in_transit",
    "Deposits that their provider has not paid yet, and charge-backs that he has not kept back yet,"
    " by the settlements that named them.",
    """
    SELECT network, state ->> 'provider' AS provider, state ->> 'currency' AS currency, deposit,
           player, status, (state ->> 'confirmed_at')::timestamptz AS confirmed_at,
           CASE status WHEN 'confirmed' THEN 1 ELSE -1 END * (state ->> 'amount_minor')::bigint
             AS open_minor
      FROM {book}.deposits WHERE {in_transit}
    """,
    {
        "network": _NETWORK,
        "provider": "The payment provider.",
        "currency": _CURRENCY,
        "deposit": "The deposit's id.",
        "player": _PLAYER,
        "status": "confirmed, or charged-back: paid by the provider and to be kept back by him.",
        "confirmed_at": "Since when the money is in transit.",
        "open_minor": "What the provider has yet to pay; below zero, what he has yet to keep back.",
    },
)

PAYMENTS: Final = View(
    "payments",
    "Paid withdrawals, and where the bank's statement shows them.",
    """
    SELECT network, withdrawal, player, state ->> 'currency' AS currency,
           (state ->> 'amount_minor')::bigint AS amount_minor,
           state ->> 'bank_reference' AS bank_reference, position
      FROM {book}.withdrawals WHERE status = 'paid'
    """,
    {
        "network": _NETWORK,
        "withdrawal": "Its id.",
        "player": _PLAYER,
        "currency": _CURRENCY,
        "amount_minor": "The amount.",
        "bank_reference": "What the bank's statement calls it; NULL until it is matched.",
        "position": "The last event of its stream.",
    },
)

PROVIDERS: Final = View(
    "providers",
    "What each payment provider has paid to the client-funds account, in sums.",
    """
    SELECT network, state ->> 'provider' AS provider, state ->> 'currency' AS currency,
           (state ->> 'settlements')::bigint AS settlements,
           (state ->> 'gross_minor')::bigint AS gross_minor,
           (state ->> 'fee_minor')::bigint AS fee_minor,
           (state ->> 'paid_minor')::bigint AS paid_minor,
           (state ->> 'unlisted_minor')::bigint AS unlisted_minor, position
      FROM {book}.providers
    """,
    {
        "network": _NETWORK,
        "provider": "The payment provider.",
        "currency": _CURRENCY,
        "settlements": "How many settlements were booked.",
        "gross_minor": "What of the money in transit they covered: deposits less charge-backs.",
        "fee_minor": "What the provider kept for himself.",
        "paid_minor": "What reached the bank.",
        "unlisted_minor": "The part of the gross for which no deposits were named.",
        "position": "The last settlement.",
    },
)

TREASURY: Final = View(
    "treasury",
    "What the operator moved on the client-funds account, and whether it covers player funds.",
    """
    SELECT network, state ->> 'currency' AS currency, state ->> 'status' AS status,
           (state ->> 'since')::timestamptz AS since,
           (state ->> 'movements')::bigint AS movements,
           (state ->> 'swept_minor')::bigint AS swept_minor,
           (state ->> 'own_funds_minor')::bigint AS own_funds_minor, position
      FROM {book}.treasuries
    """,
    {
        "network": _NETWORK,
        "currency": _CURRENCY,
        "status": "covered, or short: what the coverage alert said last.",
        "since": "Since when; NULL from the beginning.",
        "movements": "Sweeps, top-ups and corrections booked.",
        "swept_minor": "Earned rake that the operator took out.",
        "own_funds_minor": "The operator's own money that it put in.",
        "position": "The last event.",
    },
)

PARTNERS: Final = View(
    "partners",
    "What was settled with each partner: apart from player funds, no longer the room's.",
    """
    SELECT network, state ->> 'partner' AS partner, state ->> 'currency' AS currency,
           (state ->> 'settled_minor')::bigint AS settled_minor,
           (state ->> 'discharged_minor')::bigint AS discharged_minor,
           (state ->> 'settled_minor')::bigint - (state ->> 'discharged_minor')::bigint
             AS owed_minor, position
      FROM {book}.partners
    """,
    {
        "network": _NETWORK,
        "partner": "The partner.",
        "currency": _CURRENCY,
        "settled_minor": "Withdrawals that were paid to the partner.",
        "discharged_minor": "What of it the partner reported to have paid to the players.",
        "owed_minor": "What the partner owes to his players.",
        "position": "The last event.",
    },
)

PERIODS: Final = View(
    "periods",
    "Calendar months (UTC) that were closed; the others are open.",
    """
    SELECT network, state ->> 'month' AS month, state ->> 'status' AS status,
           CASE state ->> 'status' WHEN 'closed' THEN position END AS closing_position,
           (state ->> 'closed_at')::timestamptz AS closed_at, state ->> 'closed_by' AS closed_by,
           state ->> 'closed_under' AS closed_under,
           (state ->> 'times_closed')::bigint AS times_closed,
           (state ->> 'reopened_at')::timestamptz AS reopened_at,
           state ->> 'reopened_by' AS reopened_by, state ->> 'reason' AS reason, position
      FROM {book}.periods
    """,
    {
        "network": _NETWORK,
        "month": "The month, as in 2026-10.",
        "status": "closed, or reopened and to be closed again.",
        "closing_position": "The position that its figures are fixed at; NULL while reopened.",
        "closed_at": "When it was closed the last time.",
        "closed_by": "Who asked for that.",
        "closed_under": "The request that asked for it; another person approved it.",
        "times_closed": "How often it was closed.",
        "reopened_at": "When it was reopened the last time.",
        "reopened_by": "Who asked for that.",
        "reason": "Why it was reopened.",
        "position": "The last event.",
    },
)

TOTALS: Final = View(
    "totals",
    "Debits and credits of each component by the day they occurred and the day they were recorded.",
    """
    SELECT network, name AS component, side, partner, currency, occurred_day, recorded_day,
           t.debit_minor, t.credit_minor, component AS component_id
      FROM {book}.totals t JOIN {book}.components USING (component)
    """,
    {
        "network": _NETWORK,
        "component": "First part of the account codes.",
        "side": "Side of the book.",
        "partner": _PARTNER,
        "currency": _CURRENCY,
        "occurred_day": "The day on which it happened, UTC.",
        "recorded_day": "The day on which it was recorded, UTC.",
        "debit_minor": "Sum of the debits.",
        "credit_minor": "Sum of the credits.",
        "component_id": "The component's number.",
    },
)

HOUR_TOTALS: Final = View(
    "hour_totals",
    "Debits and credits of each component by the hour they occurred and the day they were"
    " recorded: the days of any zone add up from these.",
    """
    SELECT network, name AS component, side, partner, currency, occurred_hour, recorded_day,
           t.debit_minor, t.credit_minor, component AS component_id
      FROM {book}.hour_totals t JOIN {book}.components USING (component)
    """,
    {
        "network": _NETWORK,
        "component": "First part of the account codes.",
        "side": "Side of the book.",
        "partner": _PARTNER,
        "currency": _CURRENCY,
        "occurred_hour": "The instant at which the hour in which it happened began.",
        "recorded_day": "The day on which it was recorded, UTC.",
        "debit_minor": "Sum of the debits.",
        "credit_minor": "Sum of the credits.",
        "component_id": "The component's number.",
    },
)

COMMITS: Final = View(
    "commits",
    "The appends to the journal: every instant of recording is a position.",
    """
    SELECT first_position, last_position, recorded_at, writer, encode(digest, 'hex') AS digest
      FROM journal.commits
    """,
    {
        "first_position": "Position of its first event.",
        "last_position": "Position of its last event.",
        "recorded_at": "When it was recorded: never earlier than the one before.",
        "writer": "The process that wrote it.",
        "digest": "SHA-256 over the digest before and its rows: two books with the same digest at"
        " a position are the same up to it.",
    },
)

TRANSACTIONS: Final = View(
    "transactions",
    "Where the entries of each request are; a hand's are found by its stream.",
    "SELECT network, request_id, position FROM {book}.transactions",
    {
        "network": _NETWORK,
        "request_id": "The request.",
        "position": "An event of it that moves money.",
    },
)

LINES: Final = View(
    "lines",
    "The entries as they are stored, for questions that page through them.",
    "SELECT position, line, account, kind, amount_minor, balance_minor, occurred_at"
    " FROM {book}.entries",
    {
        "position": "The event's position in the journal.",
        "line": "The line of the event's postings, from 0.",
        "account": "The account's number.",
        "kind": "The number of the event's stored name.",
        "amount_minor": "The amount: debits above zero, credits below.",
        "balance_minor": "What the account held after it: debits above zero, whatever its side.",
        "occurred_at": "When it happened.",
    },
)

KINDS: Final = View(
    "kinds",
    "The stored names of events that move money.",
    "SELECT kind, name FROM {book}.kinds",
    {"kind": "Number, in order of first appearance.", "name": "The stored name."},
)

COMPONENT_BLOCKS: Final = View(
    "component_blocks",
    "In which blocks of 512 positions a component has entries, and what all of its entries add up"
    " to at the end of each.",
    "SELECT component AS component_id, block, debit_minor, credit_minor"
    " FROM {book}.component_blocks",
    {
        "component_id": "The component's number.",
        "block": "Position divided by 512.",
        "debit_minor": "Sum of its debits from the beginning to the end of the block.",
        "credit_minor": "Sum of its credits from the beginning to the end of the block.",
    },
)

KIND_BLOCKS: Final = View(
    "kind_blocks",
    "In which blocks of 512 positions a kind of event has entries.",
    "SELECT kind, block FROM {book}.kind_blocks",
    {"kind": "The kind's number.", "block": "Position divided by 512."},
)

BLOCKS: Final = View(
    "blocks",
    "Between which instants the entries of each block of 512 positions happened.",
    "SELECT block, first_occurred_at, last_occurred_at FROM {book}.blocks",
    {
        "block": "Position divided by 512.",
        "first_occurred_at": "The earliest instant.",
        "last_occurred_at": "The latest instant.",
    },
)

HOUR_BLOCKS: Final = View(
    "hour_blocks",
    "In which blocks of 512 positions the entries are that happened in an hour.",
    "SELECT occurred_hour, block FROM {book}.hour_blocks",
    {
        "occurred_hour": "The instant at which the hour began.",
        "block": "Position divided by 512.",
    },
)

DAYS: Final = View(
    "days",
    "Between which positions the entries of a day are.",
    "SELECT occurred_day, first_position, last_position FROM {book}.days",
    {
        "occurred_day": "The day on which they happened, UTC.",
        "first_position": "The first of them.",
        "last_position": "The last of them.",
    },
)

RULEBOOK_VERSIONS: Final = View(
    "rulebook_versions",
    "The rulebook versions that were adopted, with the protest window that each gives.",
    """
    SELECT network, rulebook, name, valid_from, revision, window_kind, window_days, window_zone,
           position
      FROM {book}.rulebook_versions
    """,
    {
        "network": _NETWORK,
        "rulebook": "The version as events name it: name@2013-01-01, with .r2 if it was revised.",
        "name": "The rulebook's name.",
        "valid_from": "The first day on which it applies.",
        "revision": "Above 1 when it corrects a text of the same day.",
        "window_kind": "Of protests: days, until-next-hand-ends, or none.",
        "window_days": "How many days after the day of the transaction it is open.",
        "window_zone": "The zone in which the days are counted.",
        "position": "The event that adopted it.",
    },
)

RULEBOOK_DAYS: Final = View(
    "rulebook_days",
    "Which versions judged what moved players' money, by the day on which it happened.",
    """
    SELECT network, occurred_day, rulebook, first_position, last_position
      FROM {book}.rulebook_days
    """,
    {
        "network": _NETWORK,
        "occurred_day": "The day, UTC.",
        "rulebook": "The version; empty where the events name none.",
        "first_position": "The first event that it judged.",
        "last_position": "The last event that it judged.",
    },
)

# What an entry's event and commit say is looked up for each entry: the planner would rather read
# the whole journal.
PLAYER_LINES: Final = View(
    "player_lines",
    "The entries on players' accounts, with what their events say of them.",
    """
    SELECT e.position, e.line, e.account, a.network, a.player, c.name AS component, c.partner,
           a.currency, a.table_id, e.amount_minor, e.occurred_at, said.stream, said.event,
           said.request_id, said.actor, said.rulebook,
           (SELECT m.last_position FROM journal.commits m WHERE m.last_position >= e.position
             ORDER BY m.last_position LIMIT 1) AS commit_position
      FROM {book}.entries e
      JOIN {book}.accounts a ON a.account = e.account AND a.player IS NOT NULL
      JOIN {book}.components c ON c.component = a.component
     CROSS JOIN LATERAL (
        SELECT j.originator_id AS stream, j.topic AS event, event ->> 'request_id' AS request_id,
               event ->> 'actor' AS actor, coalesce(event ->> 'rulebook', '') AS rulebook
          FROM journal.events j, LATERAL (SELECT convert_from(j.state, 'UTF8')::jsonb) AS f (event)
         WHERE j.notification_id = e.position OFFSET 0) AS said
    """,
    {
        "position": "The event's position in the journal.",
        "line": "The line of the event's postings, from 0.",
        "account": "The account's number.",
        "network": _NETWORK,
        "player": _PLAYER,
        "component": "The account's component.",
        "partner": "His partner.",
        "currency": _CURRENCY,
        "table_id": "The table, for chips.",
        "amount_minor": "The amount: debits above zero, credits below.",
        "occurred_at": "When it happened.",
        "stream": "The stream that the event belongs to.",
        "event": "The event's stored name.",
        "request_id": "The request that it came from.",
        "actor": "Who asked for it.",
        "rulebook": "The version that it was judged by; empty where the event names none.",
        "commit_position": "The last position of its commit.",
    },
)

PROTEST_WINDOWS: Final = View(
    "protest_windows",
    "Until when each transaction of a player may be protested; for the transactions of one player:"
    " protest_windows_closing() finds what closes soon.",
    """
    SELECT t.network, t.player, t.partner, coalesce(t.hand, t.request_id) AS transaction, t.event,
           t.table_id, t.first_position, t.last_position, t.occurred_at, t.currency,
           t.gross_minor, t.net_minor, coalesce(t.rulebook, v.rulebook) AS rulebook,
           CASE WHEN v.window_kind = 'until-next-hand-ends' AND t.table_id IS NULL THEN 'none'
                ELSE coalesce(v.window_kind, 'unknown') END AS window_kind,
           v.window_days, v.window_zone, coalesce(day.closes_at, next.recorded_at) AS closes_at
      FROM (
        SELECT network, player, partner, currency, request_id, hand, max(table_id) AS table_id,
               max(stream) AS stream, max(nullif(rulebook, '')) AS rulebook,
               (array_agg(event ORDER BY position, line))[1] AS event,
               min(position) AS first_position, max(position) AS last_position,
               min(occurred_at) AS occurred_at,
               sum(greatest(amount_minor, 0))::bigint AS gross_minor,
               sum(amount_minor)::bigint AS net_minor
          FROM (SELECT *, CASE WHEN stream LIKE 'hand:%' THEN stream END AS hand
                  FROM {player_lines}) AS moved
         GROUP BY network, player, partner, currency, commit_position, request_id, actor, hand
      ) AS t
      LEFT JOIN LATERAL (
        SELECT r.* FROM book.rulebook_versions r
         WHERE r.network = t.network AND r.rulebook = t.rulebook
        UNION ALL
        (SELECT r.* FROM book.rulebook_versions r
           JOIN book.players p ON p.network = t.network AND p.player = t.player
          WHERE t.rulebook IS NULL AND r.network = t.network AND r.name = p.rulebook
            AND r.position < t.first_position
          ORDER BY r.valid_from > (t.occurred_at AT TIME ZONE 'UTC')::date,
                   abs(r.valid_from - (t.occurred_at AT TIME ZONE 'UTC')::date), r.revision DESC
          LIMIT 1)) AS v ON true
      {end_of_window}
      LEFT JOIN LATERAL (
        SELECT m.recorded_at FROM book.commits m
         WHERE v.window_kind = 'until-next-hand-ends' AND m.last_position >= (
           SELECT l.position FROM book.lines l
             JOIN book.accounts a USING (account) JOIN book.kinds k USING (kind)
            WHERE a.code = concat_ws(':', 'pot', t.network, t.table_id)
              AND a.currency = t.currency AND k.name = 'hand.staked.v1'
              AND l.position > t.last_position AND l.position <= {upto}
              AND NOT EXISTS (SELECT FROM book.player_lines same
                               WHERE same.position = l.position AND same.stream = t.stream)
            ORDER BY l.position LIMIT 1)
         ORDER BY m.last_position LIMIT 1) AS next ON true
    """,
    {
        "network": _NETWORK,
        "player": _PLAYER,
        "partner": "His partner.",
        "transaction": "The request that it came from, or the hand's stream.",
        "event": "The stored name of its first event on his accounts.",
        "table_id": "The table, for hands and chips.",
        "first_position": "Its first event on his accounts.",
        "last_position": "Its last event on his accounts.",
        "occurred_at": "When it happened, and the window opened.",
        "currency": _CURRENCY,
        "gross_minor": "At stake, gross: what was taken from his accounts, even where it went to"
        " another of his.",
        "net_minor": "At stake, net: what left him altogether; below zero when he got more.",
        "rulebook": "The version that it was judged by; where its events name none, the one of the"
        " player's rulebook in force that day.",
        "window_kind": "days, until-next-hand-ends, none, or unknown.",
        "window_days": "How many days after its own the window is open.",
        "window_zone": "The zone in which the days are counted.",
        "closes_at": "The first instant at which it can be protested no more. NULL: never open, or"
        " open until the table's next hand ends. By the database's time zone data; what counts is"
        " the ledger's, which 'cardroom check' compares it with.",
    },
)

VIEWS: Final = (
    GENERATION,
    ACCOUNTS,
    ENTRIES,
    COMPONENTS,
    TRIAL_BALANCE,
    CLIENT_FUNDS,
    PLAYERS,
    BANKROLLS,
    CHIPS_AT_TABLES,
    JACKPOTS,
    JACKPOT_STANDINGS,
    JACKPOT_HITS,
    JACKPOT_SHARES,
    JACKPOT_DAYS,
    TABLES,
    TABLE_DAYS,
    TABLE_RAKE,
    FINDINGS,
    FINDING_STEPS,
    FINDING_COUNTS,
    DEPOSITS,
    WITHDRAWALS,
    APPROVALS,
    IN_TRANSIT_DEPOSITS,
    PAYMENTS,
    PROVIDERS,
    TREASURY,
    PARTNERS,
    PERIODS,
    TOTALS,
    HOUR_TOTALS,
    COMMITS,
    TRANSACTIONS,
    LINES,
    KINDS,
    COMPONENT_BLOCKS,
    KIND_BLOCKS,
    BLOCKS,
    HOUR_BLOCKS,
    DAYS,
    RULEBOOK_VERSIONS,
    RULEBOOK_DAYS,
    PLAYER_LINES,
    PROTEST_WINDOWS,
)
