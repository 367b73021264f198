"""Seals: what stands beside the chain of events cannot be changed unseen either; and checks."""

from alembic import op

from migrations.versions.r0001_journal import GUARD

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

SEALS = """
CREATE TABLE journal.seals (
    number bigint NOT NULL CHECK (number > 0),
    sealed text COLLATE "C" NOT NULL,
    rows   bytea NOT NULL CHECK (octet_length(rows) > 0 AND octet_length(rows) % 32 = 0),
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    CONSTRAINT seals_pkey PRIMARY KEY (number)
);
COMMENT ON TABLE journal.seals IS
  'A chain over the rows that are written beside the events: a seal per statement that adds some. '
  'A row that was changed, added or taken away past it shows in ''cardroom check''.';
COMMENT ON COLUMN journal.seals.number IS 'From 1, without gaps.';
COMMENT ON COLUMN journal.seals.sealed IS 'The table of the rows, in schema journal.';
COMMENT ON COLUMN journal.seals.rows IS
  'SHA-256 of each row (its values as a JSON array), one after the other.';
COMMENT ON COLUMN journal.seals.digest IS
  'SHA-256 over the digest before, the number, the table''s name after its length, and the rows.';
"""

# The values of a row, as one JSON array: quoted, so that no two rows read alike.
VALUES = {
    "requests": "r.network, r.client, r.key, r.fields, r.outcome, r.position,"
    " (extract(epoch FROM r.recorded_at) * 1000000)::bigint",
    "refused_hands": "r.network, r.hand, r.game_number, r.table_id, r.code, r.retry,"
    " encode(r.digest, 'hex'), encode(r.record, 'hex'), r.dictionary,"
    " (extract(epoch FROM r.refused_at) * 1000000)::bigint",
    "executions": "r.network, r.approval, r.maker, r.checker, encode(r.digest, 'hex'),"
    " (extract(epoch FROM r.recorded_at) * 1000000)::bigint",
}

# It runs with the owner's rights: the application adds seals by adding rows, and in no other way.
# The append lock is held already by whoever adds such a row; taken again it costs nothing.
CHAIN = """
CREATE FUNCTION journal.seal(sealed text, rows bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last journal.seals;
BEGIN
    PERFORM pg_advisory_xact_lock(7215501113);
    SELECT * INTO last FROM journal.seals ORDER BY number DESC LIMIT 1;
    last.number := coalesce(last.number, 0) + 1;
    INSERT INTO journal.seals VALUES (last.number, sealed, rows, sha256(
        coalesce(last.digest, decode(repeat('00', 32), 'hex')) || int8send(last.number)
        || int4send(octet_length(sealed)) || convert_to(sealed, 'UTF8') || rows));
END
$$;
REVOKE ALL ON FUNCTION journal.seal(text, bytea) FROM PUBLIC;
COMMENT ON FUNCTION journal.seal(text, bytea) IS 'Adds a seal to the chain.';
"""
ROWS = """
string_agg(sha256(convert_to(jsonb_build_array({values})::text, 'UTF8')), ''::bytea)
"""
TRIGGER = """
CREATE FUNCTION journal.seal_{table}() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    digests bytea;
BEGIN
    SELECT {rows} INTO digests FROM added r;
    IF digests IS NOT NULL THEN
        PERFORM journal.seal('{table}', digests);
    END IF;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION journal.seal_{table}() FROM PUBLIC;
COMMENT ON FUNCTION journal.seal_{table}() IS 'Seals the rows that a statement has added.';
CREATE TRIGGER seal AFTER INSERT ON journal.{table} REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION journal.seal_{table}();
"""
WHAT_IS_THERE = """
SELECT journal.seal('{table}', rows)
  FROM (SELECT {rows} AS rows FROM journal.{table} r) AS found WHERE rows IS NOT NULL
"""

CHECKS = """
CREATE TABLE audit.checks (
    id         bigint GENERATED ALWAYS AS IDENTITY,
    checked_at timestamptz NOT NULL,
    position   bigint NOT NULL,
    digest     text COLLATE "C" NOT NULL,
    seals      bigint NOT NULL,
    findings   bigint NOT NULL,
    seconds    real NOT NULL,
    CONSTRAINT checks_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE audit.checks IS 'Every run of ''cardroom check'', and what it found. Append-only.';
COMMENT ON COLUMN audit.checks.id IS 'The order of writing; numbers may be missing.';
COMMENT ON COLUMN audit.checks.checked_at IS 'When it ended: the database''s clock.';
COMMENT ON COLUMN audit.checks.position IS 'The last position of the journal that it saw.';
COMMENT ON COLUMN audit.checks.digest IS 'The journal''s digest there, in hex.';
COMMENT ON COLUMN audit.checks.seals IS 'The number of the last seal that it saw.';
COMMENT ON COLUMN audit.checks.findings IS 'How many things did not hold: 0 when all was well.';
COMMENT ON COLUMN audit.checks.seconds IS 'How long it took.';
"""


def upgrade() -> None:
    """Create the seals, seal what is there, and create the log of checks."""
    connection = op.get_bind()
    connection.exec_driver_sql(SEALS.replace("%", "%%"))
    connection.exec_driver_sql(CHAIN)
    for table, values in VALUES.items():
        rows = ROWS.format(values=values).strip()
        connection.exec_driver_sql(TRIGGER.format(table=table, rows=rows))
        connection.exec_driver_sql(WHAT_IS_THERE.format(table=table, rows=rows))
    connection.exec_driver_sql(CHECKS)
    for table in ("journal.seals", "audit.checks"):
        connection.exec_driver_sql(GUARD.format(table=table))
