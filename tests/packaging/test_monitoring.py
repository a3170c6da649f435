"""Alert rules, runbooks and dashboards against the registry of metrics, the command line, and Prometheus' own tools."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from evenkeel.cli.main import EvenKeelApp
from evenkeel.cmd.configuration.commands import COMMANDS
from tests.packaging.metric_names import ROOT, metric_names, script

RULES = ROOT / "packaging" / "prometheus" / "alerts.yml"
CONFIGURATION = ROOT / "packaging" / "prometheus" / "prometheus.yml"
DASHBOARDS = sorted((ROOT / "packaging" / "grafana").glob("*.json"))
RUNBOOKS = ROOT / "docs" / "how-to" / "alerts.md"
OF_OTHERS = ("up", "process_cpu_seconds_total")
NAME = re.compile(r"\b(?:evenkeel_\w+|up(?=\{)|process_\w+)\b")
COMMAND = re.compile(r"`evenkeel ([^`]+)`")


def rules() -> dict[str, dict[str, Any]]:
    """By name."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def expressions(board: Path) -> list[str]:
    """Those of all panels, without Grafana's variables."""
    panels = json.loads(board.read_text())["panels"]
    found = [target["expr"] for panel in panels for target in panel["targets"]]
    return [each.replace("$__rate_interval", "5m").replace("$instance", ".*") for each in found]


def unknown(text: str) -> set[str]:
    """Names of metrics in the text that no process has."""
    series = {f"{name}{suffix}" for name in metric_names() for suffix in ("", "_bucket", "_count", "_sum")}
    return set(NAME.findall(text)) - series - set(OF_OTHERS)


def promtool(*words: str | Path) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed: it comes with Debian's package prometheus")
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_reference_is_that_of_the_registry() -> None:
    done = subprocess.run([sys.executable, script(), "--check"], timeout=240, check=False)
    assert done.returncode == 0, "run scripts/generate_metrics_reference.py"


def sections() -> dict[str, str]:
    """Runbooks: the text below each heading of the page, by alert."""
    parts = re.split(r"^## (.+)\n", RUNBOOKS.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", rules())
def test_alert_uses_existing_metrics_and_links_to_its_section(name: str) -> None:
    rule = rules()[name]
    section = sections()[name]
    assert rule["annotations"]["runbook"] == f"{RUNBOOKS.relative_to(ROOT)}#{name.lower()}"
    assert f"```promql\n{rule['expr']}\n```" in section, "the page shows another expression"
    assert f"Severity: {rule['labels']['severity']}." in section
    assert "**Effect.**" in section and "**What to do.**" in section
    assert unknown(rule["expr"]) == set()
    assert unknown(section) == set()


def test_each_section_is_the_runbook_of_an_alert() -> None:
    assert list(sections()) == list(rules())


@pytest.mark.parametrize("name", rules())
def test_commands_of_a_runbook_are_those_of_the_command_line(name: str) -> None:
    app = EvenKeelApp(COMMANDS)
    for line in COMMAND.findall(sections()[name]):
        words = [{"…": "x", "LB": "x"}.get(word, word) for word in line.split()]
        if words[0] == "status":
            continue
        factory, _, rest = app.command_manager.find_command(words)
        factory(app, None, cmd_name=line).get_parser(line).parse_args(rest)


@pytest.mark.parametrize("board", DASHBOARDS, ids=lambda board: board.stem)
def test_a_dashboard_shows_metrics_that_there_are(board: Path, tmp_path: Path) -> None:
    found = expressions(board)
    assert found and unknown("\n".join(found)) == set()
    recorded = [{"record": f"panel:{number}", "expr": expr} for number, expr in enumerate(found)]
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": recorded}]}))
    promtool("check", "rules", file)


def test_prometheus_takes_rules_and_configuration() -> None:
    promtool("check", "rules", RULES)
    promtool("check", "config", CONFIGURATION)


@pytest.mark.parametrize("name", rules())
def test_jobs_of_an_alert_are_those_of_the_configuration(name: str) -> None:
    jobs = {each["job_name"] for each in yaml.safe_load(CONFIGURATION.read_text())["scrape_configs"]}
    assert set(re.findall(r'job="([^"]+)"', rules()[name]["expr"])) <= jobs
