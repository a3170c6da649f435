"""The demo behind a stock Octavia, as people run it."""

import subprocess
import sys
from pathlib import Path

import pytest

from evenkeel.demo.device_kinds.leftovers import haproxy_pids
from tests.demo.patience import PAUSE_SECONDS
from tests.services import mariadb
from tests.services.installation import NotInstallable
from tests.services.octavia import installed

ROOT = Path(__file__).parents[3]


@pytest.mark.acceptance
@pytest.mark.timeout(2400)
def test_demo_behind_octavia_keeps_its_promises(tmp_path: Path) -> None:
    if reason := mariadb.missing():
        pytest.skip(reason)
    try:
        venv = installed()
    except NotInstallable as error:
        pytest.skip(str(error))
    home = tmp_path / "demo"
    command = [sys.executable, "-m", "tests.demo.patient", str(PAUSE_SECONDS), "--octavia"]
    ran = subprocess.run(
        [*command, "--octavia-environment", str(venv), "--once", "--directory", str(home)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1400,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "all as promised" in ran.stdout
    failed = next(line for line in ran.stdout.splitlines() if "requests failed" in line)
    assert failed.split("│")[2].strip() == "0"
    assert haproxy_pids(str(home)) == []
