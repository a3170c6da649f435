"""The demo as people run it: whole processes, one of them killed."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.acceptance
def test_the_demo_keeps_its_promises(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "evenkeel.demo", "--once", "--directory", str(tmp_path / "demo")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "all as promised" in ran.stdout
    failed = next(line for line in ran.stdout.splitlines() if "requests failed" in line)
    assert failed.split("│")[2].strip() == "0"
