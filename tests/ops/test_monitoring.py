"""Alert rules, dashboard and runbooks: they load, and what they name is there."""

import json
import re
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import promql_parser
import psycopg
import pytest
import typer
import yaml
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier, Literal

from ops.cli import app
from tests.api.conftest import fresh_database, serving
from tests.conftest import Server

OPS: Final = Path(__file__).parent.parent.parent / "ops"
RUNBOOKS: Final = OPS / "runbooks"
RULES: Final = [
    rule
    for group in yaml.safe_load((OPS / "monitoring/alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
DASHBOARD: Final = json.loads((OPS / "monitoring/dashboard.json").read_text())
PANELS: Final = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
OF_PROMETHEUS: Final = {"up", "ALERTS"}
"""Metrics that Prometheus makes itself."""


def names_in(expression: str) -> set[str]:
    """Return the metrics that an expression names; raises ValueError when it is none."""
    parsed = promql_parser.parse(expression.replace("$__rate_interval", "5m"))
    # As the parser writes it, every selector has braces, and nothing else has.
    return set(re.findall(r"([a-zA-Z_:][\w:]*)\{", str(parsed)))


def expressions() -> Iterator[tuple[str, str]]:
    for rule in RULES:
        yield rule["alert"], rule["expr"]
    for panel in PANELS:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


@pytest.fixture(scope="module")
def exposed(postgres: Server) -> Iterator[set[str]]:
    """Give the names in what ``/metrics`` really answers, once everything has happened."""
    with fresh_database(postgres) as dsn, serving(dsn) as room:
        room.funded("Riverboat", 5000)
        room.post("/v1/hands", [{}], role="game-server")
        room.project()
        room.sql(
            "INSERT INTO audit.checks (checked_at, position, digest, seals, findings, seconds)"
            " VALUES (now(), 1, '', 0, 0, 1) RETURNING id"
        )
        with psycopg.connect(postgres.admin, autocommit=True) as connection:
            connection.execute(
                SQL("ALTER DATABASE {} SET cardroom.backed_up_at = {}").format(
                    Identifier(str(conninfo_to_dict(dsn)["dbname"])),
                    Literal(datetime.now(UTC).isoformat()),
                )
            )
        text = room.http.get("/metrics").text
        yield {re.split(r"[{ ]", line)[0] for line in text.splitlines() if line[0] != "#"}


@pytest.mark.parametrize(
    ("where", "expression"), [pytest.param(*one, id=one[0]) for one in expressions()]
)
def test_every_metric_that_is_named_is_there(
    where: str, expression: str, exposed: set[str]
) -> None:
    names = names_in(expression)
    assert names, where
    assert names - OF_PROMETHEUS <= exposed


def test_expressions_that_are_none_are_told() -> None:
    assert names_in('rate(a_total{x="y"}[5m]) > 1 or b') == {"a_total", "b"}
    with pytest.raises(ValueError, match="bracket"):
        names_in("rate(a_total[5m)")


def test_every_alert_says_how_bad_it_is_and_what_to_read() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES) >= 10
    for rule in RULES:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"] == {"severity": rule["labels"]["severity"]}
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert set(rule["annotations"]) == {"summary", "description", "runbook"}
        assert re.fullmatch(r"\d+[mh]", rule.get("for", "1m"))


def test_the_configuration_of_prometheus_names_the_rules_and_the_job_that_they_go_by() -> None:
    told = yaml.safe_load((OPS / "monitoring/prometheus.yml").read_text())
    assert told["rule_files"] == ["alerts.yml"]
    assert [job["job_name"] for job in told["scrape_configs"]] == ["cardroom"]


# -- the dashboard -------------------------------------------------------------------------------


def test_the_dashboard_has_the_shape_that_grafana_reads() -> None:
    assert DASHBOARD["schemaVersion"] >= 36
    assert DASHBOARD["uid"]
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(numbers)) == len(numbers)
    [variable] = DASHBOARD["templating"]["list"]
    assert (variable["name"], variable["type"], variable["query"]) == (
        "datasource",
        "datasource",
        "prometheus",
    )
    for panel in PANELS:
        assert panel["title"]
        assert panel["description"]
        assert panel["datasource"]["uid"] == "${datasource}"
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references) >= 1
        assert panel["fieldConfig"]["defaults"]["unit"]


def test_no_panel_lies_on_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


# -- the runbooks --------------------------------------------------------------------------------

SECTIONS: Final = (
    "What it means",
    "What is at risk",
    "Look first",
    "Do",
    "Verify",
    "Escalate",
)
PAGES: Final = sorted((RUNBOOKS / "alarms").glob("*.md"))
COMMANDS: Final[Any] = typer.main.get_command(app)


def test_every_alert_has_its_page_and_every_page_its_alert() -> None:
    linked = {rule["annotations"]["runbook"]: rule["alert"] for rule in RULES}
    assert sorted(linked) == [str(page.relative_to(OPS.parent)) for page in PAGES]
    for path, alert in linked.items():
        assert (OPS.parent / path).read_text().startswith(f"# {alert}\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_is_built_alike(page: Path) -> None:
    assert tuple(re.findall(r"^## (.*)$", page.read_text(), re.MULTILINE)) == SECTIONS


def test_the_index_names_every_page() -> None:
    index = (RUNBOOKS / "README.md").read_text()
    linked = re.findall(r"\]\(([\w./-]+\.md)\)", index)
    pages = [str(page.relative_to(RUNBOOKS)) for page in RUNBOOKS.rglob("*.md")]
    assert sorted(linked) == sorted(set(pages) - {"README.md"})


def lines_of(page: Path) -> Iterator[str]:
    """Give the command lines of a page's blocks; a line that is indented further goes on."""
    for block in re.findall(r"(?:^ {4,}\S.*\n)+", page.read_text(), re.MULTILINE):
        lines = block.splitlines()
        base = len(lines[0]) - len(lines[0].lstrip())
        whole = ""
        for line in lines:
            if whole and len(line) - len(line.lstrip()) == base:
                yield whole
                whole = ""
            whole = f"{whole} {line.strip()}".strip()
        yield whole


def called() -> Iterator[tuple[str, list[str]]]:
    for page in sorted(RUNBOOKS.rglob("*.md")):
        inline = re.findall(r"`(cardroom [^`]+)`", page.read_text())
        for line in [*lines_of(page), *inline]:
            found = re.search(r"\$\(cardroom ([^)]*)\)", line) or re.match(
                r"(?:\$ )?cardroom (.*)", line
            )
            if found:
                words = shlex.split(found[1])
                yield page.name, words[: words.index(">")] if ">" in words else words


@pytest.mark.parametrize(("page", "words"), list(called()), ids=str)
def test_commands_that_a_runbook_names_exist(page: str, words: list[str]) -> None:
    command, rest = COMMANDS, list(words)
    while hasattr(command, "commands"):
        assert rest, page
        assert rest[0] in command.commands, rest[0]
        command = command.commands[rest.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("-")} <= known


def questions() -> Iterator[tuple[str, str]]:
    for page, words in called():
        if words[0] == "sql" and len(words) > 1:
            yield page, next(word for word in words[1:] if not word.startswith("-"))


def test_questions_in_runbooks_are_answered(postgres: Server) -> None:
    asked = list(questions())
    assert len(asked) > 5
    with fresh_database(postgres) as dsn, serving(dsn) as room:
        room.funded("Riverboat", 5000)
        room.project()
        with psycopg.connect(dsn, autocommit=True) as connection:
            for page, question in asked:
                cursor = connection.execute(question.encode())
                assert cursor.description, (page, question)


def test_paths_that_a_runbook_asks_for_are_the_apis() -> None:
    from tests.api.test_access import document

    paths = [re.sub(r"\{\w+\}", "[^/]+", path) for path in document()["paths"]]
    for page in RUNBOOKS.rglob("*.md"):
        for path in re.findall(r"\$URL(/[\w/{}.-]+)", page.read_text()):
            assert any(re.fullmatch(known, path) for known in paths), (page.name, path)
