"""The command line: ``cardroom``.

A further command is a function in a module of its own, and two lines here: its import, and
``app.command("name")(module.function)``.
"""

import sys
from datetime import timedelta
from importlib.metadata import version as installed_version
from typing import Annotated

import typer
from pydantic_settings import BaseSettings

from api.settings import EdgeSettings
from ops import database, logging, projections, supervisor, tokens
from ops import migrate as migrations
from ops import settings as configuration
from ops.backup import cli as backups
from ops.backup.manifest import NoBackup
from ops.backup.restore import RestoreRefused
from ops.backup.take import BackupFailed
from ops.bench.run import bench
from ops.check import check_books, print_anchors
from ops.demo.run import demo
from ops.desk import approvals
from ops.desk.connection import DeskProblem
from ops.desk.findings import finding, findings
from ops.desk.hand import hand
from ops.desk.jackpots import jackpots
from ops.desk.player import player
from ops.desk.statement import statement
from ops.desk.tables import tables
from ops.desk.windows import windows
from ops.embedded import DatabaseProblem
from ops.importer.cli import import_hands
from ops.importer.run import ImportStopped
from ops.judge import judge_hands
from ops.serving import NotServing
from ops.sql import NoAuditor, ask
from projections.generations import StaleGenerationError
from projections.rebuild import RebuildRunningError, SwapBlockedError

app = typer.Typer(
    name="cardroom",
    help="The money and compliance book of an online card room.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

EXPECTED = (
    configuration.UnusableSettings,
    DatabaseProblem,
    migrations.UnusableDatabase,
    supervisor.GaveUp,
    ImportStopped,
    StaleGenerationError,
    RebuildRunningError,
    SwapBlockedError,
    NotServing,
    DeskProblem,
    BackupFailed,
    NoBackup,
    RestoreRefused,
    NoAuditor,
    OSError,
)
"""What is reported in a line, and not as a defect."""


@app.command()
def serve() -> None:
    """Run database, API, projections and worker until Ctrl-C or SIGTERM."""
    settings = configuration.load()
    logging.configure("supervisor", settings.log_level)
    supervisor.Supervisor(settings).run()


@app.command()
def migrate() -> None:
    """Bring the database to the tables of this version."""
    with database.database(configuration.load()) as found:
        print(f"The database is at revision {migrations.migrate(found.owner)}.")


@app.command()
def token(
    role: Annotated[str, typer.Argument(help=f"One of {', '.join(tokens.roles())}.")],
    partner: Annotated[str | None, typer.Option(help="Whose players a partner sees.")] = None,
    network: Annotated[str | None, typer.Option(help="Instead of the one of the settings.")] = None,
    subject: Annotated[str | None, typer.Option(help="Who acts: it stands in every event.")] = None,
    hours: Annotated[int, typer.Option(min=1, help="How long it is valid.")] = 24 * 7,
) -> None:
    """Print a token of the local issuer."""
    settings = configuration.stated()
    if settings.jwt_key is None and tokens.own_issuer(settings):
        # A key that is made now would be nobody's: in a wrong folder its tokens open nothing.
        database.require_installed(settings)
        settings = configuration.load()
    try:
        print(
            tokens.token(
                settings,
                role,
                partner=partner,
                network=network,
                subject=subject,
                lifetime=timedelta(hours=hours),
            )
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@app.command()
def settings() -> None:
    """List what can be set in the environment, with the defaults."""
    described: dict[str, str] = {}
    classes: tuple[type[BaseSettings], ...] = (configuration.Settings, EdgeSettings)
    for group in classes:
        for name, field in group.model_fields.items():
            default = "" if field.is_required() or field.default is None else f" [{field.default}]"
            text = " ".join((field.description or "").split())
            described.setdefault(f"CARDROOM_{name.upper()}", f"{default}\n    {text}")
    for name, text in described.items():
        print(f"{name}{text}")


@app.command()
def version() -> None:
    """Print the version."""
    print(installed_version("cardroom-ledger"))


app.command("import")(import_hands)
app.command("judge")(judge_hands)
app.command("bench")(bench)
app.command("check")(check_books)
app.command("backup")(backups.backup)
app.command("restore")(backups.restore)
app.command("anchor")(print_anchors)
app.command("sql")(ask)
app.add_typer(projections.app, name="projections")
app.command("demo")(demo)
app.command("player")(player)
app.command("statement")(statement)
app.command("hand")(hand)
app.command("tables")(tables)
app.command("windows")(windows)
app.command("jackpots")(jackpots)
app.add_typer(approvals.app, name="approvals")
app.command("findings")(findings)
app.command("finding")(finding)


def main() -> None:
    """Run a command; what the operator can put right is said in a line, with exit status 1."""
    try:
        app()
    except EXPECTED as problem:
        print(f"cardroom: {problem}", file=sys.stderr)
        sys.exit(1)
