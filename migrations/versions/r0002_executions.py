"""Executions: an approval is carried out once, and by two people, whatever the code says."""

from alembic import op

from migrations.versions.r0001_journal import GUARD

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

EXECUTIONS = """
CREATE TABLE journal.executions (
    network     text COLLATE "C" NOT NULL,
    approval    text COLLATE "C" NOT NULL,
    maker       text COLLATE "C" NOT NULL,
    checker     text COLLATE "C" NOT NULL,
    digest      bytea NOT NULL CHECK (octet_length(digest) = 32),
    recorded_at timestamptz NOT NULL,
    CONSTRAINT executions_pkey PRIMARY KEY (network, approval),
    CONSTRAINT executions_two_people_check CHECK (maker <> checker)
);
COMMENT ON TABLE journal.executions IS
  'One row per approval that was carried out, in the append that has its events: it refuses a '
  'second time, and one person in both parts.';
COMMENT ON COLUMN journal.executions.network IS 'The network of the approval.';
COMMENT ON COLUMN journal.executions.approval IS 'The approval''s id; its stream has the command.';
COMMENT ON COLUMN journal.executions.maker IS 'Subject of the token that it was asked for with.';
COMMENT ON COLUMN journal.executions.checker IS 'Subject of the token that it was granted with.';
COMMENT ON COLUMN journal.executions.digest IS 'SHA-256 of the exact command that both saw.';
COMMENT ON COLUMN journal.executions.recorded_at IS 'The database''s clock, as of the commit.';
"""


def upgrade() -> None:
    """Create the guard table."""
    connection = op.get_bind()
    connection.exec_driver_sql(EXECUTIONS)
    connection.exec_driver_sql(GUARD.format(table="journal.executions"))
