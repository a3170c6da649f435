"""The demo as people run it: whole processes, one of them killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from evenkeel.demo.cluster import DEVICES
from evenkeel.demo.device_kinds.leftovers import haproxies_of

ROOT = Path(__file__).parents[2]


@pytest.mark.acceptance
@pytest.mark.timeout(900)
@pytest.mark.parametrize("device", DEVICES)
def test_the_demo_keeps_its_promises(tmp_path: Path, device: str) -> None:
    home = tmp_path / "demo"
    command = [sys.executable, "-m", "tests.demo.patient", "--once", "--device", device, "--directory", str(home)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=840, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "all as promised" in ran.stdout
    failed = next(line for line in ran.stdout.splitlines() if "requests failed" in line)
    assert failed.split("│")[2].strip() == "0"
    assert haproxies_of(str(home)) == []
