"""A Prometheus of our own, with the rules of the repository."""

import json
import shutil
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.services.process import Server

SCRAPE_INTERVAL = "2s"


def missing() -> str:
    """Why it cannot be started here; empty if it can."""
    return "" if shutil.which("prometheus") else "Prometheus is not installed (Debian: prometheus)"


class Prometheus(Server):
    """``jobs``: addresses by name of the job. The rules are those of the file, without waiting (``for``)."""

    def __init__(self, jobs: Mapping[str, list[str]], rules: Path) -> None:
        super().__init__("evenkeel-prometheus-")
        scraped = [{"job_name": job, "static_configs": [{"targets": targets}]} for job, targets in jobs.items()]
        times = {"scrape_interval": SCRAPE_INTERVAL, "scrape_timeout": SCRAPE_INTERVAL, "evaluation_interval": "1s"}
        configuration = {"global": times, "rule_files": ["rules.yml"], "scrape_configs": scraped}
        (self._home / "prometheus.yml").write_text(yaml.safe_dump(configuration))
        (self._home / "rules.yml").write_text(yaml.safe_dump(_at_once(rules)))

    def start(self) -> None:
        """Start; nothing to do if it runs."""
        if not self.running:
            files = (f"--config.file={self._home}/prometheus.yml", f"--storage.tsdb.path={self._home}/data")
            self._begin(["prometheus", *files, f"--web.listen-address=127.0.0.1:{self.port}"])

    def firing(self) -> set[str]:
        """Names of the alerts that fire now."""
        alerts = self._get("/api/v1/alerts")["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def up(self) -> set[str]:
        """Addresses that were scraped."""
        targets = self._get("/api/v1/targets")["data"]["activeTargets"]
        return {target["labels"]["instance"] for target in targets if target["health"] == "up"}

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
            return json.load(answer)

    def _serves(self) -> bool:
        try:
            self._get("/api/v1/alerts")
        except OSError:
            return False
        return True

    def _environment(self) -> dict[str, str]:
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self._home)}


def _at_once(rules: Path) -> Any:
    """The rules, of which none waits until its condition has lasted."""
    read = yaml.safe_load(rules.read_text())
    for group in read["groups"]:
        for rule in group["rules"]:
            rule.pop("for", None)
    return read
