"""The demo as people run it: whole processes, one of them killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from evenkeel.demo.acme.server import HTTP_PORT
from evenkeel.demo.addresses import is_free
from evenkeel.demo.cluster import DEVICE_KINDS
from evenkeel.demo.device_kinds.leftovers import haproxy_pids
from tests.demo.patience import PAUSE_SECONDS

ROOT = Path(__file__).parents[2]
SHORT_PAUSE_SECONDS = 0.02
"""Between a client's requests, as in people's demo."""

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]


@pytest.mark.parametrize("device", DEVICE_KINDS)
def test_the_demo_keeps_its_promises(tmp_path: Path, device: str) -> None:
    keeps_its_promises(tmp_path / "demo", device, PAUSE_SECONDS)


@pytest.mark.parametrize("device", DEVICE_KINDS)
def test_the_demo_keeps_its_promises_to_ten_times_the_requests(tmp_path: Path, device: str) -> None:
    keeps_its_promises(tmp_path / "demo", device, SHORT_PAUSE_SECONDS)


def keeps_its_promises(home: Path, device: str, pause_seconds: float) -> None:
    patient = [sys.executable, "-m", "tests.demo.patient", str(pause_seconds)]
    command = [*patient, "--once", "--device", device, "--directory", str(home)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=840, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "all as promised" in ran.stdout
    proof = "answered the challenge" if is_free("127.0.0.2", HTTP_PORT) else "has proven the name"
    assert proof in ran.stdout and "the certificate is issued" in ran.stdout
    failed = next(line for line in ran.stdout.splitlines() if "requests failed" in line)
    assert failed.split("│")[2].strip() == "0"
    assert haproxy_pids(str(home)) == []
