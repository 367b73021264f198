"""Whether the process lives, whether it can serve, and what it counts."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, get_args

import psycopg
from fastapi import APIRouter, FastAPI, Request, Response
from pydantic import BaseModel, ConfigDict

from api.edge import Edge, edge_of, respond
from api.hand_records import waiting_of
from api.metrics import CONTENT_TYPE, Gauge
from api.problems import Problem
from api.reads import Connection, of_the_book, projected_of
from ledger.rulebooks.values import CardCode, RuleCode

router = APIRouter(tags=["operations"])


class Alive(BaseModel):
    """The process answers."""

    status: str


class Readiness(BaseModel):
    """What must hold for the process to serve, and whether it does."""

    model_config = ConfigDict(extra="forbid")

    status: str
    database: bool
    queue: bool
    projections: bool
    journal_position: int | None
    projected_position: int | None
    lag_seconds: float | None


class Lag(NamedTuple):
    """How far the projections are behind the journal."""

    journal: int
    projected: int
    seconds: float


@router.head("/livez", include_in_schema=False)
@router.get("/livez", response_model=Alive, summary="Does the process live?")
async def livez() -> Response:
    """Answer as long as the process can; a failure means: restart it."""
    return respond({"status": "alive"})


@router.head("/readyz", include_in_schema=False)
@router.get(
    "/readyz",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "Send requests elsewhere for now."}},
    summary="Can the process serve?",
)
def readyz(request: Request) -> Response:
    """Answer 200 while the database answers, the queue has room and the projections keep up."""
    edge = edge_of(request)
    lag: Lag | None
    try:
        with edge.reads.snapshot() as connection:
            lag = lag_of(connection)
    except Problem:
        lag = None
    queue = edge.writer.depth < edge.settings.queue_limit
    projections = lag is not None and lag.seconds <= edge.settings.ready_lag_seconds
    ready = lag is not None and queue and projections
    found = {
        "status": "ready" if ready else "not ready",
        "database": lag is not None,
        "queue": queue,
        "projections": projections,
        "journal_position": lag.journal if lag else None,
        "projected_position": lag.projected if lag else None,
        "lag_seconds": lag.seconds if lag else None,
    }
    return respond(found, 200 if ready else 503)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    summary="Counters and gauges for Prometheus",
)
def get_metrics(request: Request) -> Response:
    """Show what this process counts, and what the database says at this moment."""
    return Response(request.app.state.metrics.exposition(), media_type=CONTENT_TYPE)


def gauges(app: FastAPI) -> Iterable[Gauge]:
    """Look the gauges up; those of the database are left out while it does not answer."""
    edge: Edge = app.state.edge
    yield Gauge("cardroom_queue_depth", "Commands that wait to be decided.", edge.writer.depth)
    decisions = edge.writer.decisions
    yield Gauge("cardroom_batches", "Batches carried out since the start.", decisions.batches)
    yield Gauge(
        "cardroom_batches_decided_again",
        "Batches decided more than once, because another process wrote first.",
        decisions.again,
    )
    yield Gauge(
        "cardroom_batch_decisions_most",
        "Times that the batch that was decided most often was decided; 2 unless one was lost.",
        decisions.most,
    )
    try:
        with edge.reads.snapshot() as connection:
            found = [*_database_gauges(connection)]
    except Problem:
        return
    yield from found


def _database_gauges(connection: Connection) -> Iterator[Gauge]:
    lag = lag_of(connection)
    waiting = waiting_of(connection)
    yield Gauge("cardroom_journal_position", "Events in the journal.", lag.journal)
    yield Gauge(
        "cardroom_projector_lag_positions",
        "Events that the projections do not include yet.",
        lag.journal - lag.projected,
    )
    yield Gauge(
        "cardroom_projector_lag_seconds",
        "Age of the oldest commit that the projections do not include.",
        lag.seconds,
    )
    yield Gauge("cardroom_waiting_hands", "Refused hands that may still be booked.", waiting)
    yield from _finding_gauges(connection)
    pending = of_the_book(connection, _PENDING)
    yield Gauge("cardroom_pending_approvals", "Requests that wait for a second person.", pending)
    overdue = of_the_book(connection, f"{_PENDING} AND expires_at < clock_timestamp()")
    yield Gauge(
        "cardroom_overdue_approvals",
        "Pending requests whose time is over: the worker lets them expire within seconds.",
        overdue,
    )
    yield from _coverage_gauges(connection)
    yield from _backup_gauges(connection)
    yield from _check_gauges(connection)
    yield from _server_gauges(connection)


# Of a series that begins with its first finding, Prometheus sees no increase: all that can be filed
# are counted from nought.
FILED: Final = (
    *((code, "flag") for code in (*get_args(RuleCode), *get_args(CardCode))),
    ("cards-unknown", "unverified"),
    ("different-content", "refuse"),
)
"""Codes of findings of booked hands, with the levels that they can have."""

_FINDINGS: Final = """
SELECT code, level, sum(findings), sum(findings) FILTER (WHERE status <> 'resolved')
  FROM book.finding_counts GROUP BY code, level
"""


def _finding_gauges(connection: Connection) -> Iterator[Gauge]:
    """Tell how many findings there are of each kind, and how many of them wait for somebody."""
    filed = dict.fromkeys(FILED, 0)
    unresolved = dict.fromkeys((code for code, _ in FILED), 0)
    try:
        with connection.transaction():
            found = connection.execute(_FINDINGS).fetchall()
    except psycopg.errors.UndefinedTable:
        found = []
    for code, level, findings, left in found:
        filed[code, level] = int(findings)
        unresolved[code] = unresolved.get(code, 0) + int(left)
    for code, left in unresolved.items():
        help_text = "Findings that nobody has resolved."
        yield Gauge("cardroom_open_findings", help_text, left, {"code": code})
    for (code, level), findings in filed.items():
        yield Gauge(
            "cardroom_findings",
            "Findings of booked hands, by kind and level.",
            findings,
            {"code": code, "level": level},
            counts=True,
        )


_COVERAGE: Final = """
SELECT network, currency,
       CASE WHEN liability_minor > 0 THEN div(assets_minor::numeric * 10000, liability_minor)
            WHEN assets_minor < 0 THEN 0 END
  FROM book.client_funds WHERE money = 'real'
"""


def _coverage_gauges(connection: Connection) -> Iterator[Gauge]:
    """Tell how far player funds are covered; where nothing is owed there is nothing to tell."""
    try:
        with connection.transaction():
            found = connection.execute(_COVERAGE).fetchall()
    except psycopg.errors.UndefinedTable:
        return
    for network, currency, coverage in found:
        if coverage is not None:
            yield Gauge(
                "cardroom_coverage_bps",
                "Bank and transit per liability to players in 1/10000; below 10000 is short.",
                float(coverage),
                {"network": network, "currency": currency},
            )


# ``cardroom backup`` leaves the time in a setting of the database, under this name.
_BACKUP: Final = """
SELECT coalesce(last_failed_time > last_archived_time, last_failed_time IS NOT NULL)::int,
       (SELECT extract(epoch FROM clock_timestamp() - split_part(setting, '=', 2)::timestamptz)
          FROM pg_db_role_setting, unnest(setconfig) AS setting
         WHERE setrole = 0 AND setting LIKE 'cardroom.backed_up_at=%%'
           AND setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()))
  FROM pg_stat_archiver
"""


def _backup_gauges(connection: Connection) -> Iterator[Gauge]:
    row = connection.execute(_BACKUP, {}).fetchone()
    assert row is not None
    yield Gauge(
        "cardroom_wal_archive_failing",
        "1 while PostgreSQL's log does not reach the archive, and fills its disk instead.",
        row[0],
    )
    if row[1] is not None:
        yield Gauge("cardroom_backup_age_seconds", "Age of the newest backup.", float(row[1]))


_CHECK: Final = """
SELECT extract(epoch FROM clock_timestamp() - checked_at), findings, position, seconds
  FROM audit.checks ORDER BY id DESC LIMIT 1
"""


def _check_gauges(connection: Connection) -> Iterator[Gauge]:
    """Tell when the books were last proven, and whether they held."""
    row = connection.execute(_CHECK, {}).fetchone()
    if row is None:
        return
    age, findings, position, seconds = map(float, row)
    yield Gauge("cardroom_check_age_seconds", "Age of the last check of the books.", age)
    yield Gauge("cardroom_check_findings", "What the last check found not to hold.", findings)
    yield Gauge("cardroom_check_position", "The position that it was made at.", position)
    yield Gauge("cardroom_check_seconds", "How long it took.", seconds)


_SERVER: Final = """
SELECT pg_database_size(datid), sessions_abandoned + sessions_fatal + sessions_killed,
       (SELECT count(*) FROM pg_stat_activity a WHERE a.datid = d.datid),
       (SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)
          FROM pg_stat_activity a WHERE a.datid = d.datid AND backend_type = 'client backend')
  FROM pg_stat_database d WHERE datname = current_database()
"""


def _server_gauges(connection: Connection) -> Iterator[Gauge]:
    """Tell what PostgreSQL says of the database: its size, and who is or was connected."""
    row = connection.execute(_SERVER, {}).fetchone()
    assert row is not None
    size, lost, sessions, oldest = map(float, row)
    yield Gauge("cardroom_database_bytes", "Size of the database on disk.", size)
    yield Gauge("cardroom_database_sessions", "Sessions that are open.", sessions)
    yield Gauge(
        "cardroom_database_sessions_lost",
        "Sessions that ended by a lost connection, a fatal error or a kill, since its statistics"
        " were last reset.",
        lost,
    )
    yield Gauge(
        "cardroom_oldest_transaction_seconds",
        "Age of the oldest open transaction: it keeps a rebuild from its swap, and vacuum back.",
        oldest,
    )


_PENDING: Final = "SELECT count(*) FROM book.approvals WHERE status = 'pending'"

_LAG: Final = """
SELECT coalesce((SELECT max(last_position) FROM journal.commits), 0),
       coalesce((SELECT extract(epoch FROM clock_timestamp() - recorded_at)
                   FROM journal.commits WHERE last_position > %(projected)s
                  ORDER BY last_position LIMIT 1), 0)
"""


def lag_of(connection: Connection) -> Lag:
    """Measure how far the projections are behind."""
    projected = projected_of(connection)
    row = connection.execute(_LAG, {"projected": projected}).fetchone()
    assert row is not None
    return Lag(int(row[0]), projected, max(float(row[1]), 0.0))
