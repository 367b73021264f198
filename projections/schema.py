"""The tables of one generation of the projections, and the views that everybody reads.

The tables of generation n are in schema ``book_<n>``, the views in schema ``book``. Nothing here is
numbered by a sequence or dated by a clock: the same events give the same rows, always.
"""

import hashlib
from typing import Final

from ledger import catalogue

PARTITION: Final = 10_000_000
"""Positions in one partition of the entries."""

BLOCK: Final = 512
"""Positions in one block of the sparse indexes on component and kind: about sixty hands."""

FOLLOWED: Final = {
    "player": "players",
    "table": "tables",
    "deposit": "deposits",
    "withdrawal": "withdrawals",
    "approval": "approvals",
    "provider": "providers",
    "partner": "partners",
    "treasury": "treasuries",
    "period": "periods",
    "jackpot": "jackpots",
}
"""Categories of streams of which the folded state is kept, and in which table."""

# Alignment decides the size of the busiest table: the wide columns come first.
ENTRIES: Final = """
CREATE TABLE {book}.entries (
    position      bigint NOT NULL,
    amount_minor  bigint NOT NULL,
    balance_minor bigint NOT NULL,
    occurred_at   timestamptz NOT NULL,
    account       integer NOT NULL,
    line          smallint NOT NULL,
    kind          smallint NOT NULL,
    PRIMARY KEY (position, line)
) PARTITION BY RANGE (position);
CREATE INDEX entries_account ON {book}.entries (account, position);
CREATE TABLE {book}.kinds (
    kind smallint PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
);
"""

ACCOUNTS: Final = """
CREATE TABLE {book}.components (
    component    integer PRIMARY KEY,
    network      text COLLATE "C" NOT NULL,
    name         text COLLATE "C" NOT NULL,
    side         text COLLATE "C" NOT NULL,
    partner      text COLLATE "C",
    currency     text COLLATE "C" NOT NULL,
    debit_minor  bigint NOT NULL,
    credit_minor bigint NOT NULL,
    UNIQUE NULLS NOT DISTINCT (network, name, partner, currency)
) WITH (fillfactor = 50);
CREATE TABLE {book}.accounts (
    account        integer PRIMARY KEY,
    component      integer NOT NULL,
    balance_minor  bigint NOT NULL,
    first_position bigint NOT NULL,
    player         uuid,
    code           text COLLATE "C" NOT NULL,
    currency       text COLLATE "C" NOT NULL,
    network        text COLLATE "C" NOT NULL,
    table_id       text COLLATE "C",
    UNIQUE (code, currency)
) WITH (fillfactor = 60);
CREATE INDEX accounts_component ON {book}.accounts (component, account);
CREATE INDEX accounts_player ON {book}.accounts (player) WHERE player IS NOT NULL;
CREATE INDEX accounts_house ON {book}.accounts (network)
    WHERE player IS NULL AND table_id IS NULL;
CREATE INDEX accounts_table ON {book}.accounts (network, table_id) WHERE table_id IS NOT NULL;
CREATE TABLE {book}.totals (
    component    integer NOT NULL,
    occurred_day date NOT NULL,
    recorded_day date NOT NULL,
    debit_minor  bigint NOT NULL,
    credit_minor bigint NOT NULL,
    PRIMARY KEY (component, occurred_day, recorded_day)
) WITH (fillfactor = 70);
CREATE TABLE {book}.hour_totals (
    occurred_hour timestamptz NOT NULL,
    component     integer NOT NULL,
    recorded_day  date NOT NULL,
    debit_minor   bigint NOT NULL,
    credit_minor  bigint NOT NULL,
    PRIMARY KEY (occurred_hour, component, recorded_day)
) WITH (fillfactor = 70);
"""

# Where to look for an entry that is not asked for by its account, and what each component's entries
# add up to at the end of each block: what lies between two blocks is a difference.
SIGNPOSTS: Final = """
CREATE TABLE {book}.component_blocks (
    component    integer NOT NULL,
    block        integer NOT NULL,
    debit_minor  bigint NOT NULL,
    credit_minor bigint NOT NULL,
    PRIMARY KEY (component, block)
) WITH (fillfactor = 90);
CREATE TABLE {book}.kind_blocks (
    kind  smallint NOT NULL,
    block integer NOT NULL,
    PRIMARY KEY (kind, block)
);
CREATE TABLE {book}.blocks (
    block             integer PRIMARY KEY,
    first_occurred_at timestamptz NOT NULL,
    last_occurred_at  timestamptz NOT NULL
) WITH (fillfactor = 90);
CREATE TABLE {book}.hour_blocks (
    occurred_hour timestamptz NOT NULL,
    block         integer NOT NULL,
    PRIMARY KEY (occurred_hour, block)
);
CREATE TABLE {book}.days (
    occurred_day   date PRIMARY KEY,
    first_position bigint NOT NULL,
    last_position  bigint NOT NULL
) WITH (fillfactor = 70);
CREATE TABLE {book}.transactions (
    network    text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    position   bigint NOT NULL,
    PRIMARY KEY (network, request_id, position)
);
"""

# The state is what the ledger's own evolve makes of the stream; the columns are read out of it.
STREAM: Final = """
CREATE TABLE {{book}}.{table} (
    stream         text COLLATE "C" PRIMARY KEY,
    position       bigint NOT NULL,
    first_position bigint NOT NULL,
    state          jsonb NOT NULL,
    network  text COLLATE "C" NOT NULL GENERATED ALWAYS AS (split_part(stream, ':', 2)) STORED,
    status   text COLLATE "C" NOT NULL GENERATED ALWAYS AS (state ->> 'status') STORED{columns}
) WITH (fillfactor = 60);
"""
PLAYER_COLUMN: Final = (
    ",\n    player   uuid NOT NULL GENERATED ALWAYS AS ((state ->> 'player')::uuid) STORED"
)
STREAMS: Final = (
    STREAM.format(
        table="players",
        columns=PLAYER_COLUMN + ',\n    partner  text COLLATE "C" NOT NULL'
        " GENERATED ALWAYS AS (state ->> 'partner') STORED",
    )
    + STREAM.format(
        table="tables",
        columns=',\n    table_id text COLLATE "C" NOT NULL'
        " GENERATED ALWAYS AS (state ->> 'table_id') STORED",
    )
    + "".join(
        STREAM.format(
            table=f"{payment}s",
            columns=f'{PLAYER_COLUMN},\n    {payment} text COLLATE "C" NOT NULL'
            f" GENERATED ALWAYS AS (state ->> '{payment}') STORED",
        )
        for payment in ("deposit", "withdrawal")
    )
    + STREAM.format(
        table="approvals",
        columns=',\n    maker    text COLLATE "C" NOT NULL'
        " GENERATED ALWAYS AS (state ->> 'maker') STORED",
    )
    + """
CREATE INDEX players_partner ON {book}.players (network, partner, player);
CREATE UNIQUE INDEX players_network ON {book}.players (network, player);
CREATE UNIQUE INDEX tables_network ON {book}.tables (network, table_id);
CREATE INDEX deposits_player ON {book}.deposits (player, deposit);
CREATE INDEX deposits_status ON {book}.deposits (network, status, deposit);
CREATE INDEX withdrawals_player ON {book}.withdrawals (player, withdrawal);
CREATE INDEX withdrawals_status ON {book}.withdrawals (network, status, withdrawal);
CREATE INDEX approvals_network ON {book}.approvals (network, first_position);
CREATE INDEX approvals_status ON {book}.approvals (network, status, first_position);
CREATE INDEX approvals_maker ON {book}.approvals (network, maker, first_position);
CREATE INDEX approvals_pending ON {book}.approvals (first_position) WHERE status = 'pending';
"""
)

# What a provider has yet to pay, and what it has yet to keep back, is found without the rest.
IN_TRANSIT: Final = (
    "status = 'confirmed' AND state ->> 'settled_in' IS NULL"
    " OR status = 'charged-back' AND state ->> 'settled_in' IS NOT NULL"
    " AND state ->> 'charge_back_settled_in' IS NULL"
)
FUNDS: Final = (
    "".join(
        f"""
CREATE TABLE {{book}}.{table} (
    stream         text COLLATE "C" PRIMARY KEY,
    position       bigint NOT NULL,
    first_position bigint NOT NULL,
    state          jsonb NOT NULL,
    network  text COLLATE "C" NOT NULL GENERATED ALWAYS AS (split_part(stream, ':', 2)) STORED
) WITH (fillfactor = 60);
"""
        for table in ("providers", "partners", "treasuries", "periods", "jackpots")
    )
    + f"""
CREATE INDEX deposits_in_transit ON {{book}}.deposits (network, deposit) WHERE {IN_TRANSIT};
CREATE INDEX withdrawals_unmatched ON {{book}}.withdrawals (network, withdrawal)
    WHERE status = 'paid' AND state ->> 'bank_reference' IS NULL;
"""
)

HANDS: Final = """
CREATE TABLE {book}.table_days (
    network            text COLLATE "C" NOT NULL,
    table_id           text COLLATE "C" NOT NULL,
    occurred_day       date NOT NULL,
    currency           text COLLATE "C" NOT NULL,
    hands              bigint NOT NULL,
    rake_minor         bigint NOT NULL,
    contribution_minor bigint NOT NULL,
    PRIMARY KEY (network, table_id, occurred_day, currency)
) WITH (fillfactor = 60);
CREATE TABLE {book}.table_rake (
    network      text COLLATE "C" NOT NULL,
    table_id     text COLLATE "C" NOT NULL,
    occurred_day date NOT NULL,
    currency     text COLLATE "C" NOT NULL,
    partner      text COLLATE "C" NOT NULL,
    hands        bigint NOT NULL,
    rake_minor   bigint NOT NULL,
    PRIMARY KEY (network, table_id, occurred_day, currency, partner)
) WITH (fillfactor = 60);
"""

# Findings of most kinds are few; cards that were never shown may leave very many, which nobody
# looks at. So each kind has its index, and what was looked at has one.
FINDINGS: Final = """
CREATE TABLE {book}.findings (
    position         bigint PRIMARY KEY,
    amount_minor     bigint,
    changed_position bigint,
    occurred_at      timestamptz NOT NULL,
    explained_at     timestamptz,
    resolved_at      timestamptz,
    number           integer NOT NULL,
    network          text COLLATE "C" NOT NULL,
    table_id         text COLLATE "C" NOT NULL,
    game_number      text COLLATE "C" NOT NULL,
    game_server      text COLLATE "C" NOT NULL,
    code             text COLLATE "C" NOT NULL,
    level            text COLLATE "C" NOT NULL,
    currency         text COLLATE "C" NOT NULL,
    status           text COLLATE "C" NOT NULL,
    explained_by     text COLLATE "C",
    explanation      text COLLATE "C",
    resolved_by      text COLLATE "C",
    resolution       text COLLATE "C",
    reason           text COLLATE "C",
    corrected_by     text COLLATE "C",
    finding          jsonb NOT NULL
) WITH (fillfactor = 90);
CREATE INDEX findings_table ON {book}.findings (network, table_id, position);
CREATE INDEX findings_code ON {book}.findings (network, code, position);
CREATE INDEX findings_hand ON {book}.findings (network, game_number, position);
CREATE INDEX findings_unresolved ON {book}.findings (network, position)
    WHERE status <> 'resolved';
CREATE INDEX findings_changed ON {book}.findings (network, position)
    WHERE changed_position IS NOT NULL;
CREATE INDEX findings_amount ON {book}.findings (network, currency, amount_minor DESC, position)
    WHERE amount_minor IS NOT NULL;
CREATE TABLE {book}.finding_steps (
    position     bigint PRIMARY KEY,
    finding      bigint NOT NULL,
    occurred_at  timestamptz NOT NULL,
    became       text COLLATE "C" NOT NULL,
    actor        text COLLATE "C" NOT NULL,
    text         text COLLATE "C" NOT NULL,
    resolution   text COLLATE "C",
    corrected_by text COLLATE "C"
);
CREATE INDEX finding_steps_finding ON {book}.finding_steps (finding, position);
CREATE TABLE {book}.finding_counts (
    network  text COLLATE "C" NOT NULL,
    code     text COLLATE "C" NOT NULL,
    level    text COLLATE "C" NOT NULL,
    status   text COLLATE "C" NOT NULL,
    findings bigint NOT NULL,
    PRIMARY KEY (network, code, level, status)
) WITH (fillfactor = 50);
"""

# A hit is decided long after others that come later were seen; it is found by its number.
JACKPOTS: Final = """
CREATE TABLE {book}.jackpot_hits (
    position          bigint PRIMARY KEY,
    released_position bigint,
    decided_position  bigint,
    occurred_at       timestamptz NOT NULL,
    released_at       timestamptz,
    decided_at        timestamptz,
    number            integer NOT NULL,
    waits             boolean NOT NULL,
    network           text COLLATE "C" NOT NULL,
    jackpot           text COLLATE "C" NOT NULL,
    currency          text COLLATE "C" NOT NULL,
    game_number       text COLLATE "C" NOT NULL,
    table_id          text COLLATE "C" NOT NULL,
    rulebook          text COLLATE "C" NOT NULL,
    hit               jsonb NOT NULL,
    decision          jsonb,
    UNIQUE (network, jackpot, currency, number)
) WITH (fillfactor = 70);
CREATE INDEX jackpot_hits_undecided ON {book}.jackpot_hits (position)
    WHERE decided_position IS NULL;
CREATE TABLE {book}.jackpot_shares (
    position     bigint PRIMARY KEY,
    occurred_at  timestamptz NOT NULL,
    network      text COLLATE "C" NOT NULL,
    jackpot      text COLLATE "C" NOT NULL,
    currency     text COLLATE "C" NOT NULL,
    game_number  text COLLATE "C" NOT NULL,
    player       uuid NOT NULL,
    part         text COLLATE "C" NOT NULL,
    amount_minor bigint NOT NULL
);
CREATE INDEX jackpot_shares_hand ON {book}.jackpot_shares (network, game_number, position);
CREATE TABLE {book}.jackpot_days (
    network            text COLLATE "C" NOT NULL,
    jackpot            text COLLATE "C" NOT NULL,
    currency           text COLLATE "C" NOT NULL,
    occurred_day       date NOT NULL,
    table_id           text COLLATE "C" NOT NULL,
    hands              bigint NOT NULL,
    contribution_minor bigint NOT NULL,
    PRIMARY KEY (network, jackpot, currency, occurred_day, table_id)
) WITH (fillfactor = 60);
"""

RULEBOOKS: Final = """
CREATE TABLE {book}.rulebook_versions (
    network     text COLLATE "C" NOT NULL,
    rulebook    text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    valid_from  date NOT NULL,
    revision    integer NOT NULL,
    position    bigint NOT NULL,
    window_kind text COLLATE "C" NOT NULL,
    window_days integer,
    window_zone text COLLATE "C",
    PRIMARY KEY (network, rulebook)
);
CREATE TABLE {book}.rulebook_days (
    network        text COLLATE "C" NOT NULL,
    occurred_day   date NOT NULL,
    rulebook       text COLLATE "C" NOT NULL,
    first_position bigint NOT NULL,
    last_position  bigint NOT NULL,
    PRIMARY KEY (network, occurred_day, rulebook)
) WITH (fillfactor = 70);
"""

TABLES: Final = (ENTRIES, ACCOUNTS, SIGNPOSTS, STREAMS, FUNDS, HANDS, FINDINGS, JACKPOTS, RULEBOOKS)


def book_of(generation: int) -> str:
    """Name the schema of a generation, which is also the name that its checkpoint has."""
    return f"book_{generation}"


def definition() -> str:
    """Digest what the tables depend on besides the events: their DDL and the folded states."""
    parts = [*TABLES, *(catalogue.SNAPSHOTS[category] for category in FOLLOWED)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
