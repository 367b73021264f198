"""The journal is vacuumed while its newest pages are in memory, not when a fifth of it is new."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# Nothing is ever deleted there, but its rows must be frozen some day. Left for long, its pages are
# read again, written again, and logged whole: that is dearer than the appends themselves.
SOON = """
ALTER TABLE journal.events SET (
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 500000
)
"""


def upgrade() -> None:
    op.execute(SOON)
