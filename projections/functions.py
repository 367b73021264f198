"""The functions in schema ``book``: what the views show, as of any instant.

An instant is a pair: what was recorded up to a position, and happened up to an instant. The
functions read nothing but the views, with the rights of whoever calls them.
"""

from typing import Final, NamedTuple

from projections.schema import BLOCK
from projections.views import (
    BANKROLLS,
    CHIPS_AT_TABLES,
    CLIENT_FUNDS,
    JACKPOTS,
    PLACEHOLDERS,
    PROTEST_WINDOWS,
    TRIAL_BALANCE,
    View,
)

ENTRIES_APART: Final = 50_000
"""Positions so far apart are bridged by the sums of components, where an account is alone in one.

Otherwise an account's own entries are added up.
"""

LATER_BLOCKS: Final = 256
"""Blocks in which an account's entries of later are looked for, to be taken off its balance.

Where more blocks hold some, as when much is backdated, all entries between them are looked at.
Blocks that follow each other are looked through at once.
"""

FEW_ACCOUNTS: Final = 50
"""Accounts of which entries are looked for one account after the other."""


class Function(NamedTuple):
    """A function: its arguments and result as they are declared, its body, what it answers.

    ``settings`` hold while it runs, whoever calls it: compiling a plan would take longer than that.
    """

    name: str
    arguments: str
    returns: str
    language: str
    body: str
    comment: str
    settings: str = ""


_INSTANT: Final = "at_position bigint, occurred_until timestamptz DEFAULT NULL"
_OF_INSTANT: Final = "at_position, occurred_until"
_MEANING: Final = (
    "by the entries that are recorded up to at_position and happened up to and including"
    " occurred_until (NULL: whenever they happened)"
)

POSITION_AT: Final = Function(
    "position_at",
    "recorded_until timestamptz",
    "bigint",
    "sql",
    """
    SELECT coalesce((SELECT last_position FROM book.commits WHERE recorded_at <= recorded_until
                      ORDER BY recorded_at DESC, last_position DESC LIMIT 1), 0)
    """,
    "The last position that was recorded up to and including an instant; 0 if there was none yet.",
)

# An entry counts if its position is not above at_position and it did not happen after
# occurred_until. The entries lie in this plane as follows:
#
#   - Those recorded on whole days and happened in whole hours are in the totals. Without an
#     occurred_until nothing is taken from there: then the blocks alone say it.
#   - The others are in blocks. A run of blocks all of whose entries count is the difference of what
#     the components add up to at its ends.
#   - In the blocks that are left, a few unless much is backdated, the entries are added up. OFFSET
#     keeps it block by block: the planner would rather read all entries once.
SUMS_AS_OF: Final = Function(
    "sums_as_of",
    _INSTANT,
    "TABLE (component_id integer, debit_minor bigint, credit_minor bigint)",
    "plpgsql",
    """
#variable_conflict use_column
DECLARE
    at_end constant bigint := (SELECT position FROM book.generation);
    upto constant bigint := least(at_position, at_end);
    last_block constant integer := upto / {block};
    this_hour constant timestamptz := date_trunc('hour', occurred_until, 'UTC');
    this_day constant date := (occurred_until AT TIME ZONE 'UTC')::date;
    -- The first day of recording, and its first position, of which not all entries count.
    rest_day date := 'infinity';
    rest_from bigint := upto + 1;
    rest_block integer := last_block + 1;
    run_from integer[] := ARRAY[0];
    run_to integer[] := ARRAY[last_block - 1];
    mixed integer[] := ARRAY[last_block];
BEGIN
    IF occurred_until IS NULL THEN
        rest_from := 0;
    ELSE
        IF upto < at_end THEN
            SELECT (recorded_at AT TIME ZONE 'UTC')::date INTO rest_day FROM book.commits
             WHERE last_position > upto ORDER BY last_position LIMIT 1;
            SELECT coalesce(max(last_position), 0) + 1 INTO rest_from
              FROM (SELECT last_position FROM book.commits
                     WHERE recorded_at < rest_day::timestamp AT TIME ZONE 'UTC'
                     ORDER BY recorded_at DESC, last_position DESC LIMIT 1) AS before;
            rest_block := rest_from / {block};
        END IF;
        WITH candidate AS (
            SELECT block, first_occurred_at, last_occurred_at FROM book.blocks
             WHERE block BETWEEN rest_block AND last_block AND first_occurred_at <= occurred_until
            UNION ALL
            SELECT block, first_occurred_at, last_occurred_at
              FROM book.hour_blocks JOIN book.blocks USING (block)
             WHERE occurred_hour = this_hour AND block < rest_block
               AND first_occurred_at <= occurred_until
        ), judged AS (
            SELECT block, last_occurred_at <= occurred_until
                   AND (block::bigint * {block} >= rest_from OR first_occurred_at >= this_hour)
                   AND block::bigint * {block} + {block} - 1 <= upto AS whole
              FROM candidate
        ), run AS (
            SELECT min(block) AS first, max(block) AS last
              FROM (SELECT block, block - row_number() OVER (ORDER BY block) AS island
                      FROM judged WHERE whole) AS numbered
             GROUP BY island
        )
        SELECT (SELECT array_agg(first ORDER BY first) FROM run),
               (SELECT array_agg(last ORDER BY first) FROM run),
               (SELECT array_agg(block) FROM judged WHERE NOT whole)
          INTO run_from, run_to, mixed;
    END IF;
    RETURN QUERY
    SELECT component_id, sum(debit)::bigint, sum(credit)::bigint FROM (
        SELECT component_id, debit_minor AS debit, credit_minor AS credit FROM book.totals
         WHERE occurred_until IS NOT NULL
           AND occurred_day < this_day AND recorded_day < rest_day
        UNION ALL
        SELECT component_id, debit_minor, credit_minor FROM book.hour_totals
         WHERE occurred_until IS NOT NULL
           AND occurred_hour >= this_day::timestamp AT TIME ZONE 'UTC'
           AND occurred_hour < this_hour AND recorded_day < rest_day
        UNION ALL
        SELECT c.component_id, upto.debit_minor - coalesce(before.debit_minor, 0),
               upto.credit_minor - coalesce(before.credit_minor, 0)
          FROM unnest(run_from, run_to) AS run (first, last)
         CROSS JOIN book.components c
         CROSS JOIN LATERAL (
            SELECT debit_minor, credit_minor FROM book.component_blocks b
             WHERE b.component_id = c.component_id AND block BETWEEN run.first AND run.last
             ORDER BY block DESC LIMIT 1) AS upto
          LEFT JOIN LATERAL (
            SELECT debit_minor, credit_minor FROM book.component_blocks b
             WHERE b.component_id = c.component_id AND block < run.first
             ORDER BY block DESC LIMIT 1) AS before ON true
        UNION ALL
        SELECT a.component_id, e.debit, e.credit
          FROM (SELECT account, sum(greatest(amount_minor, 0)) AS debit,
                       sum(greatest(-amount_minor, 0)) AS credit
                  FROM unnest(mixed) AS block
                 CROSS JOIN LATERAL (
                    SELECT account, amount_minor FROM book.lines
                     WHERE position BETWEEN block::bigint * {block}
                                        AND least(block::bigint * {block} + {block} - 1, upto)
                       AND (occurred_until IS NULL OR occurred_at <= occurred_until)
                       AND (position >= rest_from OR occurred_at >= this_hour)
                    OFFSET 0) AS counted
                 GROUP BY account) AS e
          JOIN book.accounts a USING (account)
    ) AS part GROUP BY component_id;
END
    """,
    f"What each component adds up to, {_MEANING}; components without any are left out.",
    "SET jit = off",
)

COMPONENTS_AS_OF: Final = Function(
    "components_as_of",
    _INSTANT,
    "SETOF book.components",
    "sql",
    """
    SELECT c.component_id, c.network, c.component, c.side, c.partner, c.currency,
           s.debit_minor, s.credit_minor,
           CASE WHEN c.side IN {debit_sides} THEN s.debit_minor - s.credit_minor
                ELSE s.credit_minor - s.debit_minor END
      FROM book.sums_as_of(at_position, occurred_until) s
      JOIN book.components c USING (component_id)
    """,
    f"The view components, {_MEANING}.",
)

# Entries before some position all happened by then, those after another all later. At the second an
# account's running balance is what it held, but for what lies before and happened later: that is
# in the blocks that hold such entries, and is taken off. Where they are many, the entries between
# the two are looked through instead; before them its running balance is what they add up to.
LATER_BLOCKS_OF: Final = Function(
    "later_blocks",
    _INSTANT,
    "TABLE (upto bigint, open_to bigint, blocks integer, first integer[], last integer[])",
    "plpgsql",
    """
#variable_conflict use_column
DECLARE
    this_day constant date := (occurred_until AT TIME ZONE 'UTC')::date;
BEGIN
    upto := least(at_position, (SELECT position FROM book.generation));
    open_to := upto;
    blocks := 0;
    IF occurred_until IS NOT NULL THEN
        SELECT b.block::bigint * {block} + {block} - 1 INTO open_to FROM book.blocks b
         WHERE b.block <= (SELECT max(last_position) FROM book.days
                            WHERE occurred_day <= this_day) / {block}
           AND first_occurred_at <= occurred_until ORDER BY b.block DESC LIMIT 1;
        open_to := least(coalesce(open_to, 0), upto);
        WITH later AS (
            SELECT block FROM book.blocks
             WHERE block BETWEEN (SELECT min(first_position) FROM book.days
                                   WHERE occurred_day >= this_day) / {block}
                             AND open_to / {block}
               AND last_occurred_at > occurred_until ORDER BY block LIMIT {later_blocks} + 1
        ), run AS (
            SELECT min(block) AS begins, max(block) AS ends
              FROM (SELECT block, block - row_number() OVER (ORDER BY block) AS island
                      FROM later) AS numbered
             GROUP BY island
        )
        SELECT coalesce(sum(ends - begins + 1), 0), array_agg(begins ORDER BY begins),
               array_agg(ends ORDER BY begins)
          INTO blocks, first, last FROM run;
    END IF;
    RETURN NEXT;
END
    """,
    "A part of accounts_as_of: the last position asked for; the last at which anything may have"
    " happened by then; and the runs of blocks before it in which something happened later, so many"
    " in all, no more of them than are looked through.",
    "SET plan_cache_mode = auto",
)

# Of a few accounts each is looked up in the index, whatever else there is: one plan does for all.
ACCOUNTS_ONE_BY_ONE: Final = Function(
    "accounts_one_by_one",
    "accounts integer[], upto bigint, occurred_until timestamptz, open_to bigint,"
    " later_from integer[], later_to integer[]",
    "SETOF book.accounts",
    "plpgsql",
    """
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT a.account, a.code, a.currency, a.network, a.component, a.side, a.partner, a.player,
           a.table_id, a.component_id,
           (CASE WHEN a.side IN {debit_sides} THEN 1 ELSE -1 END
             * (before.held - coalesce(late.held, 0)))::bigint,
           a.first_position
      FROM (SELECT DISTINCT unnest(accounts) AS account) AS asked
     CROSS JOIN LATERAL (
        SELECT * FROM book.accounts
         WHERE account = asked.account AND first_position <= upto OFFSET 0) AS a
     CROSS JOIN LATERAL (
        SELECT e.balance_minor AS held FROM book.lines e
         WHERE e.account = asked.account AND e.position <= open_to
         ORDER BY e.position DESC, e.line DESC LIMIT 1) AS before
     CROSS JOIN LATERAL (
        SELECT sum(e.amount_minor) AS held
          FROM unnest(later_from, later_to) AS run (first, last)
         CROSS JOIN LATERAL (
            SELECT amount_minor FROM book.lines
             WHERE account = asked.account
               AND position BETWEEN run.first::bigint * {block}
                   AND least(run.last::bigint * {block} + {block} - 1, open_to)
               AND occurred_at > occurred_until OFFSET 0) AS e) AS late
     WHERE late.held IS NULL
        OR EXISTS (SELECT FROM book.lines e WHERE e.account = asked.account
                      AND e.position <= open_to AND e.occurred_at <= occurred_until);
END
    """,
    "A part of accounts_as_of: a few accounts, by what book.later_blocks answers.",
    "SET plan_cache_mode = force_generic_plan SET jit = off",
)

# How many accounts are asked for decides how: no plan is made for all cases.
ACCOUNTS_AS_OF: Final = Function(
    "accounts_as_of",
    f"{_INSTANT}, accounts integer[] DEFAULT NULL",
    "SETOF book.accounts",
    "plpgsql",
    """
#variable_conflict use_column
DECLARE
    later record;
    open_from bigint;
    late_account integer[] := '{{}}';
    late_minor numeric[] := '{{}}';
    alone integer[] := '{{}}';
BEGIN
    SELECT * INTO later FROM book.later_blocks(at_position, occurred_until);
    open_from := least(coalesce(later.first[1]::bigint * {block}, later.upto + 1),
                       later.open_to + 1);
    IF later.blocks <= {later_blocks} THEN
        open_from := later.open_to + 1;
        IF cardinality(accounts) <= {few_accounts} THEN
            RETURN QUERY
            SELECT * FROM book.accounts_one_by_one(
                accounts, later.upto, occurred_until, later.open_to, later.first, later.last);
            RETURN;
        END IF;
        SELECT array_agg(account), array_agg(amount) INTO late_account, late_minor
          FROM (SELECT e.account, sum(e.amount_minor) AS amount
                  FROM unnest(later.first, later.last) AS run (first, last)
                 CROSS JOIN LATERAL (
                    SELECT account, amount_minor FROM book.lines
                     WHERE position BETWEEN run.first::bigint * {block}
                           AND least(run.last::bigint * {block} + {block} - 1, later.open_to)
                       AND occurred_at > occurred_until OFFSET 0) AS e
                 GROUP BY e.account) AS summed;
    ELSIF later.open_to - open_from > {apart} THEN
        alone := ARRAY(
            SELECT account FROM book.accounts a
             WHERE player IS NULL AND table_id IS NULL
               AND (accounts IS NULL OR account = ANY (accounts))
               AND NOT EXISTS (SELECT FROM book.accounts other
                                WHERE other.component_id = a.component_id
                                  AND other.account <> a.account));
    END IF;
    RETURN QUERY
    SELECT a.account, a.code, a.currency, a.network, a.component, a.side, a.partner, a.player,
           a.table_id, a.component_id,
           (CASE WHEN a.side IN {debit_sides} THEN 1 ELSE -1 END * (coalesce(before.held, 0)
             - coalesce(late.held, 0) + coalesce(open.held, 0)))::bigint,
           a.first_position
      FROM book.accounts a
      LEFT JOIN LATERAL (
        SELECT e.balance_minor AS held FROM book.lines e
         WHERE e.account = a.account AND e.position < open_from
         ORDER BY e.position DESC, e.line DESC LIMIT 1) AS before ON true
      LEFT JOIN unnest(late_account, late_minor) AS late (account, held)
        ON late.account = a.account
      LEFT JOIN (
        SELECT e.account, sum(e.amount_minor) AS held FROM book.lines e
         WHERE occurred_until IS NOT NULL
           AND e.position BETWEEN open_from AND later.open_to AND e.occurred_at <= occurred_until
           AND (accounts IS NULL OR e.account = ANY (accounts)) AND e.account <> ALL (alone)
         GROUP BY e.account) AS open ON open.account = a.account
     WHERE a.first_position <= later.upto AND (accounts IS NULL OR a.account = ANY (accounts))
       AND a.account <> ALL (alone) AND coalesce(before.held, open.held) IS NOT NULL
       AND (late.account IS NULL OR EXISTS (
             SELECT FROM book.lines e WHERE e.account = a.account AND e.position <= later.open_to
                AND e.occurred_at <= occurred_until));
    IF cardinality(alone) > 0 THEN
        RETURN QUERY
        SELECT a.account, a.code, a.currency, a.network, a.component, a.side, a.partner, a.player,
               a.table_id, a.component_id,
               CASE WHEN a.side IN {debit_sides} THEN s.debit_minor - s.credit_minor
                    ELSE s.credit_minor - s.debit_minor END,
               a.first_position
          FROM book.sums_as_of(at_position, occurred_until) s
          JOIN book.accounts a USING (component_id)
         WHERE a.account = ANY (alone);
    END IF;
END
    """,
    f"The view accounts, {_MEANING}; accounts without any are left out. accounts: the numbers of"
    " those asked for (NULL: all).",
    "SET plan_cache_mode = force_custom_plan SET jit = off",
)


def _of_components(view: View) -> Function:
    return Function(
        f"{view.name}_as_of",
        _INSTANT,
        f"SETOF book.{view.name}",
        "sql",
        _over(view, components=f"book.components_as_of({_OF_INSTANT}) AS components"),
        f"The view {view.name}, {_MEANING}.",
    )


def _of_accounts(view: View, which: str, more_arguments: str = "") -> Function:
    """Make the function of a view over some accounts."""
    numbers = f"ARRAY(SELECT account FROM book.accounts WHERE {which})"  # noqa: S608
    return Function(
        f"{view.name}_as_of",
        _INSTANT + more_arguments,
        f"SETOF book.{view.name}",
        "sql",
        _over(view, accounts=f"book.accounts_as_of({_OF_INSTANT}, {numbers})"),
        f"The view {view.name}, {_MEANING}"
        + ("; players: the ids of those asked for (NULL: all)." if more_arguments else "."),
    )


def _over(view: View, **sources: str) -> str:
    return view.query.format(**{**PLACEHOLDERS, **sources})


_PLAYERS: Final = ", players uuid[] DEFAULT NULL"
_ASKED: Final = "(players IS NULL OR player = ANY (players))"

PROTEST_WINDOWS_AS_OF: Final = Function(
    "protest_windows_as_of",
    f"{_INSTANT}, players uuid[] DEFAULT NULL",
    f"SETOF book.{PROTEST_WINDOWS.name}",
    "sql",
    _over(
        PROTEST_WINDOWS,
        player_lines="""
        book.player_lines WHERE (players IS NULL OR player = ANY (players))
           AND position <= at_position AND (occurred_until IS NULL OR occurred_at <= occurred_until)
        """,
        upto="at_position",
    ),
    f"The view protest_windows, {_MEANING}; players: the ids of those asked for (NULL: all).",
)

# What closes in a range of time happened in another, which the longest and the shortest window
# bound, give or take changed clocks; the blocks tell where the entries of that time are.
_CLOSING_LINES: Final = """
(SELECT l.* FROM (
   SELECT closing_from - make_interval(days => max(window_days) + 1, hours => 3) AS occurred_from,
          closing_before - make_interval(days => min(window_days), hours => -3) AS occurred_before
     FROM book.rulebook_versions WHERE network = of_network) AS span
  CROSS JOIN LATERAL (
    SELECT DISTINCT block FROM book.components
      JOIN book.component_blocks USING (component_id) JOIN book.blocks USING (block)
     WHERE network = of_network AND partner = of_partner AND side <> 'income'
       AND first_occurred_at < span.occurred_before AND last_occurred_at >= span.occurred_from
   ) AS candidate
  CROSS JOIN LATERAL (
    SELECT * FROM book.player_lines
     WHERE position BETWEEN block::bigint * {block}
               AND least(block::bigint * {block} + {block} - 1,
                         coalesce(at_position, (SELECT position FROM book.generation)))
       AND network = of_network AND partner = of_partner
       AND occurred_at >= span.occurred_from AND occurred_at < span.occurred_before OFFSET 0) AS l
) AS candidates
"""
_CLOSING: Final = """
SELECT * FROM ({windows}) AS windows
 WHERE window_kind = 'days' AND closes_at >= closing_from AND closes_at < closing_before
 ORDER BY closes_at, first_position
"""
PROTEST_WINDOWS_CLOSING: Final = Function(
    "protest_windows_closing",
    "of_network text, of_partner text, closing_from timestamptz, closing_before timestamptz,"
    " at_position bigint DEFAULT NULL",
    f"SETOF book.{PROTEST_WINDOWS.name}",
    "sql",
    _CLOSING.format(
        windows=_over(
            PROTEST_WINDOWS,
            player_lines=_CLOSING_LINES.format(block=BLOCK),
            upto="at_position",
        )
    ),
    "The windows of a partner's players that close in a range of time (its end not included), in"
    " the order in which they close, by the entries recorded up to at_position (NULL: all).",
)

# What was done about a finding up to the instant decides; what was said of it before it was last
# opened again no longer counts. Of most findings nobody said anything: then no step is looked for,
# which has to be said inside of each part; said of the join, it finds those that somebody did.
_STEP_OF: Final = """
        SELECT * FROM book.finding_steps s
         WHERE f.changed_position IS NOT NULL AND s.finding = f.position
           AND s.became = '{became}' AND s.position BETWEEN done.opened_position AND at_position
           AND (occurred_until IS NULL OR s.occurred_at <= occurred_until)
         ORDER BY s.position DESC LIMIT 1"""
FINDINGS_AS_OF: Final = Function(
    "findings_as_of",
    _INSTANT,
    "SETOF book.findings",
    "sql",
    f"""
    SELECT f.position, f.network, f.table_id, f.game_number, f.number, f.game_server,
           f.occurred_at, f.code, f.level, f.place, f.expected, f.posted, f.message, f.currency,
           f.amount_minor,
           CASE WHEN resolved.position IS NOT NULL THEN 'resolved'
                WHEN explained.position IS NOT NULL THEN 'explained' ELSE 'open' END,
           done.changed_position,
           explained.occurred_at, explained.actor, explained.text, resolved.occurred_at,
           resolved.actor, resolved.resolution, resolved.text, resolved.corrected_by
      FROM book.findings f
      LEFT JOIN LATERAL (
        SELECT max(position) AS changed_position,
               coalesce(max(position) FILTER (WHERE became = 'open'), 0) AS opened_position
          FROM book.finding_steps s
         WHERE f.changed_position IS NOT NULL AND s.finding = f.position
           AND s.position <= at_position
           AND (occurred_until IS NULL OR s.occurred_at <= occurred_until)
        ) AS done ON f.changed_position IS NOT NULL
      LEFT JOIN LATERAL ({_STEP_OF.format(became="explained")}) AS explained ON true
      LEFT JOIN LATERAL ({_STEP_OF.format(became="resolved")}) AS resolved ON true
     WHERE f.position <= at_position
       AND (occurred_until IS NULL OR f.occurred_at <= occurred_until)
    """,  # noqa: S608
    "The view findings as it was: of those recorded up to at_position, of hands played up to"
    " occurred_until (NULL: whenever), what had been said of them by then.",
)

JACKPOT_HITS_AS_OF: Final = Function(
    "jackpot_hits_as_of",
    _INSTANT,
    "SETOF book.jackpot_hits",
    "sql",
    """
    SELECT h.network, h.jackpot, h.currency, h.number, h.game_number, h.table_id, h.position,
           h.occurred_at, h.rulebook, h.losers, h.winners, h.dealt, h.doubts, h.waits,
           CASE WHEN decided THEN h.status WHEN released THEN 'released'
                WHEN h.waits THEN 'waiting' ELSE 'open' END,
           CASE WHEN released THEN h.released_position END,
           CASE WHEN released THEN h.released_at END,
           CASE WHEN decided THEN h.decided_position END,
           CASE WHEN decided THEN h.decided_at END,
           CASE WHEN decided THEN h.pool_minor END, CASE WHEN decided THEN h.paid_minor END,
           CASE WHEN decided THEN h.left_minor END, CASE WHEN decided THEN h.ground END,
           CASE WHEN decided THEN h.reason END
      FROM book.jackpot_hits h
     CROSS JOIN LATERAL (
        SELECT h.decided_position <= at_position
               AND (occurred_until IS NULL OR h.decided_at <= occurred_until) AS decided,
               h.released_position <= at_position
               AND (occurred_until IS NULL OR h.released_at <= occurred_until) AS released
        ) AS by_then
     WHERE h.position <= at_position
       AND (occurred_until IS NULL OR h.occurred_at <= occurred_until)
    """,
    "The view jackpot_hits as it was: of those recorded up to at_position, in hands played up to"
    " occurred_until (NULL: whenever), what had become of them by then.",
)

_CONSTANTS: Final = {
    **PLACEHOLDERS,
    "block": str(BLOCK),
    "apart": str(ENTRIES_APART),
    "later_blocks": str(LATER_BLOCKS),
    "few_accounts": str(FEW_ACCOUNTS),
}

FUNCTIONS: Final = (
    POSITION_AT,
    *(
        function._replace(body=function.body.format(**_CONSTANTS))
        for function in (
            SUMS_AS_OF,
            COMPONENTS_AS_OF,
            LATER_BLOCKS_OF,
            ACCOUNTS_ONE_BY_ONE,
            ACCOUNTS_AS_OF,
        )
    ),
    _of_components(TRIAL_BALANCE),
    _of_components(CLIENT_FUNDS),
    _of_accounts(BANKROLLS, f"player IS NOT NULL AND {_ASKED}", _PLAYERS),
    _of_accounts(CHIPS_AT_TABLES, f"component = 'chips' AND {_ASKED}", _PLAYERS),
    _of_accounts(JACKPOTS, "component = 'jackpot'"),
    PROTEST_WINDOWS_AS_OF,
    PROTEST_WINDOWS_CLOSING,
    FINDINGS_AS_OF,
    JACKPOT_HITS_AS_OF,
)
"""In the order in which they are made: none names one that follows."""
