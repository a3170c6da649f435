"""Alerts whose causes are defects, or take long: they fire for series that show them, and not for others."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.packaging.metric_names import ROOT

RULES = ROOT / "packaging" / "prometheus" / "alerts.yml"
REQUESTS = "evenkeel_api_request_duration_seconds_bucket"


def slow(le: str, values: str) -> dict[str, str]:
    return {"series": f'{REQUESTS}{{instance="c:1",method="GET",route="/v2",le="{le}"}}', "values": values}


FAILURES = 'evenkeel_controller_loop_failures_total{instance="c:1",loop="sweeper",kind="error"}'
PROBLEMS = 'evenkeel_haproxyd_partition_problems{instance="h:1"}'
WORKER = 'evenkeel_controller_worker_up{instance="c:1",worker="2"}'
DAY = 86_400
OWN = 'evenkeel_own_certificate_ends_timestamp_seconds{instance="c:1",certificate="message broker mq:5671"}'
OLDEST = 'evenkeel_notification_oldest_seconds{instance="c:1"}'
DROPPED = 'evenkeel_notifications_dropped_total{instance="c:1"}'
RENEWALS = 'evenkeel_acme_orders_total{{instance="c:1",result="{}"}}'
FLOWS, FLOWS_MAX, FLOWS_DROPPED = (
    f'evenkeel_haproxyd_{name}{{instance="h:1"}}' for name in ("flows", "flows_max", "flows_dropped_total")
)
OF_DAEMONS = {"EvenKeelConnectionTableFull", "EvenKeelFlowsDropped", "EvenKeelPartitionProblems"}
CASES: dict[str, tuple[list[dict[str, str]], list[dict[str, str]]]] = {
    "EvenKeelApiSlow": (
        [slow("2.5", "0+1x40"), slow("5.0", "0+100x40"), slow("+Inf", "0+100x40")],
        [slow("2.5", "0+100x40"), slow("1.0", "0+100x40"), slow("+Inf", "0+100x40")],
    ),
    "EvenKeelBackgroundWorkFails": (
        [{"series": FAILURES, "values": "0+1x40"}],
        [{"series": FAILURES, "values": "0 1 1+0x38"}],
    ),
    "EvenKeelOwnCertificateExpiring": (
        [{"series": OWN, "values": f"{3 * DAY}+0x40"}],
        [{"series": OWN, "values": f"{8 * DAY}+0x40"}],
    ),
    "EvenKeelControllerDown": (
        [{"series": WORKER, "values": "1+0x35 0 0 0 0"}],
        [{"series": WORKER, "values": "1+0x35 0 1 1 1"}],
    ),
    "EvenKeelCertificateRenewalsFail": (
        [{"series": RENEWALS.format("renewal_failed"), "values": "0 1+0x39"}],
        [{"series": RENEWALS.format(result), "values": "0 1+0x39"} for result in ("failed", "renewal_begun")],
    ),
    "EvenKeelNotificationsLate": (
        [{"series": OLDEST, "values": "0+60x40"}],
        [{"series": OLDEST, "values": "0+60x10 0+60x10 0+60x3 0+0x20"}],
    ),
    "EvenKeelNotificationsDropped": (
        [{"series": DROPPED, "values": "0+0x20 5+0x20"}],
        [{"series": DROPPED, "values": "5+0x40"}],
    ),
    "EvenKeelConnectionTableFull": (
        [{"series": FLOWS, "values": "95+0x40"}, {"series": FLOWS_MAX, "values": "100+0x40"}],
        [{"series": FLOWS, "values": "85+0x40"}, {"series": FLOWS_MAX, "values": "100+0x40"}],
    ),
    "EvenKeelFlowsDropped": (
        [{"series": FLOWS_DROPPED, "values": "0+0x35 3+0x5"}],
        [{"series": FLOWS_DROPPED, "values": "3+0x40"}],
    ),
    "EvenKeelPartitionProblems": (
        [{"series": PROBLEMS, "values": "0 1+0x39"}],
        [{"series": PROBLEMS, "values": "0 1 0+0x38"}],
    ),
}
"""Name -> series that make it fire, and series that do not. A value a minute."""


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("fires", [True, False])
def test_an_alert_fires_for_its_cause_only(tmp_path: Path, name: str, fires: bool) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed: it comes with Debian's package prometheus")
    (tmp_path / "rules.yml").write_text(_without_annotations())
    series = CASES[name][0 if fires else 1]
    labels = {"severity": "warning", "instance": "h:1" if name in OF_DAEMONS else "c:1"}
    if name == "EvenKeelConnectionTableFull":
        labels["severity"] = "critical"
    if "Own" in name:
        labels = {"severity": "warning", "certificate": "message broker mq:5671"}
    if "Notifications" in name or "Renewals" in name:
        labels = {"severity": "critical" if "Dropped" in name else "warning"}
    if "Background" in name:
        labels["loop"] = "sweeper"
    if "Controller" in name:
        labels["worker"] = "2"
    expected: dict[str, Any] = {"eval_time": "40m", "alertname": name}
    expected["exp_alerts"] = [{"exp_labels": labels}] if fires else []
    test = {
        "rule_files": ["rules.yml"],
        "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": [expected]}],
    }
    (tmp_path / "test.yml").write_text(yaml.safe_dump(test))
    done = subprocess.run(
        [program, "test", "rules", "test.yml"], cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _without_annotations() -> str:
    """They hold values, and are not what is tried here."""
    rules = yaml.safe_load(RULES.read_text())
    for rule in rules["groups"][0]["rules"]:
        del rule["annotations"]
    return str(yaml.safe_dump(rules))
