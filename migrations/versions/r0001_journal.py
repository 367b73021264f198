"""The journal, the vault of names and the log of reads.

There is no way down: dropping the journal would destroy the books.
"""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

APPEND_ONLY = ("journal.events", "journal.commits", "journal.requests", "journal.refused_hands")

SCHEMAS = """
CREATE SCHEMA IF NOT EXISTS journal;
COMMENT ON SCHEMA journal IS 'What happened, in the order in which it was recorded. Append-only.';
CREATE SCHEMA vault;
COMMENT ON SCHEMA vault IS 'Personal data. The only place where it is kept; rows can be erased.';
CREATE SCHEMA audit;
COMMENT ON SCHEMA audit IS 'Who read what about whom. Append-only.';
CREATE SCHEMA book;
COMMENT ON SCHEMA book IS
  'Views over the projections'' live generation; the tables are in schemas book_1, book_2 ...';
"""

# The texts that a key begins with are compared as bytes: quicker, and the same on every system.
# Only appended to, the tables are vacuumed for their visibility map and against wraparound only.
EVENTS = """
CREATE TABLE journal.events (
    originator_id      text COLLATE "C" NOT NULL,
    originator_version bigint NOT NULL CHECK (originator_version > 0),
    topic              text COLLATE "C" NOT NULL,
    state              bytea NOT NULL,
    notification_id    bigint NOT NULL CHECK (notification_id > 0),
    CONSTRAINT events_pkey PRIMARY KEY (originator_id, originator_version),
    CONSTRAINT events_notification_id_key UNIQUE (notification_id)
);
COMMENT ON TABLE journal.events IS 'One row per event. Never updated, never deleted.';
COMMENT ON COLUMN journal.events.originator_id IS 'The stream: category:network:key.';
COMMENT ON COLUMN journal.events.originator_version IS 'The place in its stream, from 1.';
COMMENT ON COLUMN journal.events.topic IS 'The stored name of the event, e.g. hand.staked.v1.';
COMMENT ON COLUMN journal.events.state IS
  'The event as JSON in UTF-8: convert_from(state, ''UTF8'').';
COMMENT ON COLUMN journal.events.notification_id IS
  'The position: from 1, without gaps, in the order of the commits.';
"""

COMMITS = """
CREATE TABLE journal.commits (
    last_position  bigint NOT NULL,
    first_position bigint NOT NULL,
    recorded_at    timestamptz NOT NULL,
    writer         text NOT NULL,
    digest         bytea NOT NULL CHECK (octet_length(digest) = 32),
    CONSTRAINT commits_pkey PRIMARY KEY (last_position),
    CONSTRAINT commits_first_position_key UNIQUE (first_position),
    CONSTRAINT commits_positions_check
        CHECK (0 < first_position AND first_position <= last_position)
);
CREATE INDEX commits_recorded_at_idx ON journal.commits (recorded_at, last_position);
COMMENT ON TABLE journal.commits IS
  'One row per append. A reader ends at a last_position: it never sees half an append.';
COMMENT ON COLUMN journal.commits.last_position IS 'Position of the last event of this append.';
COMMENT ON COLUMN journal.commits.first_position IS 'Position of the first event of this append.';
COMMENT ON COLUMN journal.commits.recorded_at IS
  'The database''s clock, never earlier than in the row before. "Recorded as of T" is a position.';
COMMENT ON COLUMN journal.commits.writer IS 'The process that appended.';
COMMENT ON COLUMN journal.commits.digest IS
  'SHA-256 over the digest before and the rows of this append: a changed or missing row shows.';
"""

REQUESTS = """
CREATE TABLE journal.requests (
    network     text COLLATE "C" NOT NULL,
    client      text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    fields      jsonb NOT NULL,
    outcome     jsonb NOT NULL,
    position    bigint,
    recorded_at timestamptz NOT NULL,
    CONSTRAINT requests_pkey PRIMARY KEY (network, client, key)
);
COMMENT ON TABLE journal.requests IS
  'The result of every request that carried an idempotency key, refusals included. Never expires.';
COMMENT ON COLUMN journal.requests.network IS 'The network that the request was for.';
COMMENT ON COLUMN journal.requests.client IS 'The client of the token that the request came with.';
COMMENT ON COLUMN journal.requests.key IS 'The Idempotency-Key as the client gave it.';
COMMENT ON COLUMN journal.requests.fields IS
  'Path of each field to a keyed digest of it: tells what differs, holds nothing personal.';
COMMENT ON COLUMN journal.requests.outcome IS 'What was answered, and is answered again.';
COMMENT ON COLUMN journal.requests.position IS
  'The last position that the answer is true for; NULL when nothing was appended.';
COMMENT ON COLUMN journal.requests.recorded_at IS 'The database''s clock.';
"""

REFUSED_HANDS = """
CREATE TABLE journal.refused_hands (
    network     text COLLATE "C" NOT NULL,
    hand        text COLLATE "C" NOT NULL,
    game_number text COLLATE "C" NOT NULL,
    table_id    text COLLATE "C",
    code        text COLLATE "C" NOT NULL,
    retry       text COLLATE "C" NOT NULL CHECK (retry IN ('never', 'after-fix', 'later')),
    digest      bytea NOT NULL,
    record      bytea NOT NULL,
    dictionary  smallint NOT NULL,
    refused_at  timestamptz NOT NULL,
    CONSTRAINT refused_hands_pkey PRIMARY KEY (network, hand, digest)
);
CREATE INDEX refused_hands_waiting_idx ON journal.refused_hands (network, refused_at)
    WHERE retry = 'later';
COMMENT ON TABLE journal.refused_hands IS
  'Hands that were posted and not booked: what waits, and what a corrected hand is linked to.';
COMMENT ON COLUMN journal.refused_hands.network IS 'The network that the hand was played on.';
COMMENT ON COLUMN journal.refused_hands.hand IS 'The stream that the hand would have had.';
COMMENT ON COLUMN journal.refused_hands.game_number IS 'The hand''s number as posted.';
COMMENT ON COLUMN journal.refused_hands.table_id IS 'The table, when it was known.';
COMMENT ON COLUMN journal.refused_hands.code IS 'The code of the refusal.';
COMMENT ON COLUMN journal.refused_hands.retry IS
  'later: depends on the books, the hand waits; after-fix: the content is wrong; never.';
COMMENT ON COLUMN journal.refused_hands.digest IS 'SHA-256 of the posted content.';
COMMENT ON COLUMN journal.refused_hands.record IS
  'The posted hand, compressed; names are replaced by their keyed hashes.';
COMMENT ON COLUMN journal.refused_hands.dictionary IS 'The dictionary that it is compressed with.';
COMMENT ON COLUMN journal.refused_hands.refused_at IS 'When it was refused.';
"""

CACHES = """
CREATE TABLE journal.snapshots (
    originator_id      text COLLATE "C" NOT NULL,
    originator_version bigint NOT NULL,
    topic              text COLLATE "C" NOT NULL,
    state              bytea NOT NULL,
    CONSTRAINT snapshots_pkey PRIMARY KEY (originator_id, originator_version)
);
COMMENT ON TABLE journal.snapshots IS
  'States of streams, kept to load them faster. A cache: its rows may be deleted at any time.';
COMMENT ON COLUMN journal.snapshots.originator_id IS 'The stream.';
COMMENT ON COLUMN journal.snapshots.originator_version IS 'The version that the state includes.';
COMMENT ON COLUMN journal.snapshots.topic IS 'The name of the state''s type and version.';
COMMENT ON COLUMN journal.snapshots.state IS 'The state as JSON in UTF-8.';
CREATE TABLE journal.tracking (
    application_name text COLLATE "C" NOT NULL,
    notification_id  bigint NOT NULL,
    CONSTRAINT tracking_pkey PRIMARY KEY (application_name)
);
COMMENT ON TABLE journal.tracking IS 'How far each reader of the journal has come.';
COMMENT ON COLUMN journal.tracking.application_name IS 'The reader.';
COMMENT ON COLUMN journal.tracking.notification_id IS 'The last position that it has applied.';
"""

VAULT = """
CREATE TABLE vault.names (
    network    text COLLATE "C" NOT NULL,
    player_id  uuid NOT NULL,
    nickname   text NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT names_pkey PRIMARY KEY (network, player_id)
);
COMMENT ON TABLE vault.names IS
  'Names of players. May be changed and erased; events hold ids only.';
COMMENT ON COLUMN vault.names.network IS 'The network that the player plays on.';
COMMENT ON COLUMN vault.names.player_id IS 'The player, as events name him.';
COMMENT ON COLUMN vault.names.nickname IS 'His name at the tables.';
COMMENT ON COLUMN vault.names.updated_at IS 'When the name was last set.';
"""

READS = """
CREATE TABLE audit.reads (
    id         bigint GENERATED ALWAYS AS IDENTITY,
    read_at    timestamptz NOT NULL,
    actor      text NOT NULL,
    network    text NOT NULL,
    what       text NOT NULL,
    subject    text NOT NULL,
    request_id text NOT NULL,
    CONSTRAINT reads_pkey PRIMARY KEY (id)
);
CREATE INDEX reads_subject_idx ON audit.reads (network, subject, read_at);
COMMENT ON TABLE audit.reads IS
  'Every read of a player or a case by staff, written before the answer leaves.';
COMMENT ON COLUMN audit.reads.id IS 'The order of writing; numbers may be missing.';
COMMENT ON COLUMN audit.reads.read_at IS 'When it was read.';
COMMENT ON COLUMN audit.reads.actor IS 'Who read.';
COMMENT ON COLUMN audit.reads.network IS 'The network of what was read.';
COMMENT ON COLUMN audit.reads.what IS 'Which answer was given.';
COMMENT ON COLUMN audit.reads.subject IS 'The stream that it was about.';
COMMENT ON COLUMN audit.reads.request_id IS 'The request, as the logs name it.';
"""

REFUSE_CHANGE = """
CREATE FUNCTION journal.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'insufficient_privilege';
END
$$;
COMMENT ON FUNCTION journal.refuse_change() IS
  'Refuses UPDATE, DELETE and TRUNCATE to everyone, the owner included.';
"""

# ENABLE ALWAYS: they fire under session_replication_role = replica as well. Row triggers, since
# an applying replication worker fires no statement triggers other than those for TRUNCATE.
GUARD = """
CREATE TRIGGER append_only_rows BEFORE UPDATE OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION journal.refuse_change();
CREATE TRIGGER append_only_table BEFORE TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION journal.refuse_change();
ALTER TABLE {table} ENABLE ALWAYS TRIGGER append_only_rows;
ALTER TABLE {table} ENABLE ALWAYS TRIGGER append_only_table;
"""


def upgrade() -> None:
    """Create everything that is not a projection."""
    connection = op.get_bind()
    parts = (SCHEMAS, EVENTS, COMMITS, REQUESTS, REFUSED_HANDS, CACHES, VAULT, READS)
    for part in parts:
        connection.exec_driver_sql(part)
    connection.exec_driver_sql(REFUSE_CHANGE.replace("%", "%%"))
    for table in (*APPEND_ONLY, "audit.reads"):
        connection.exec_driver_sql(GUARD.format(table=table))
